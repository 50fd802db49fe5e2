/*
 * test_heat_map.c: what a heat map shows, cell by cell and in the pixels of the picture.
 */
#include "attention_picture.h"
#include "colour_scale.h"
#include "heat_cells.h"
#include "heat_layout.h"
#include "heat_map.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gd.h>

static gdImagePtr draw(const struct heat_map *map)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&bytes, &size);
    assert_non_null(stream);
    if (heat_map_write(map, stream) != OUTCOME_OK)
        fail_msg("%s", problem_text());
    assert_int_equal(fclose(stream), 0);
    gdImagePtr image = gdImageCreateFromPngPtr((int)size, bytes);
    assert_non_null(image);
    free(bytes);
    return image;
}

/* The colour in the middle of a cell. */
static int cell_colour(gdImagePtr image, const struct heat_map *map, int batch, int head, int row, int column)
{
    struct heat_layout layout = heat_layout_make(map->batches, map->heads, map->queries, map->keys, NULL);
    int x = heat_layout_panel_x(&layout, head) + column * layout.cell_width + layout.cell_width / 2;
    int y = heat_layout_panel_y(&layout, batch, head) + row * layout.cell_height + layout.cell_height / 2;
    return gdImageGetTrueColorPixel(image, x, y) & 0xffffff;
}

static void test_colour_scale_rises_in_lightness(void **state)
{
    (void)state;
    double before = -1.0;
    for (int step = 0; step <= 100; step++) {
        int colour = colour_scale(step / 100.0);
        double lightness = 0.2126 * (colour >> 16) + 0.7152 * (colour >> 8 & 255) + 0.0722 * (colour & 255);
        assert_true(lightness > before);
        before = lightness;
    }
    assert_int_equal(colour_scale(0.0), 0x440154);
    assert_int_equal(colour_scale(0.5), 0x21918c);
    assert_int_equal(colour_scale(1.0), 0xfde725);
    assert_int_equal(colour_scale(-1.0), colour_scale(0.0));
    assert_int_equal(colour_scale(2.0), colour_scale(1.0));
}

static void test_each_weight_has_its_cell(void **state)
{
    (void)state;
    /* Two heads, 2 x 3; the highest weight of all is in the second. */
    const float weights[] = {0.0f, 0.25f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f};
    struct heat_map map = {"title", weights, 1, 2, 2, 3, NULL, NULL, NULL, NULL};
    gdImagePtr image = draw(&map);
    assert_int_equal(cell_colour(image, &map, 0, 0, 0, 0), colour_scale(0.0));
    assert_int_equal(cell_colour(image, &map, 0, 0, 0, 1), colour_scale(0.5));
    assert_int_equal(cell_colour(image, &map, 0, 1, 1, 2), colour_scale(1.0));
    assert_int_equal(cell_colour(image, &map, 0, 1, 0, 1), colour_scale(0.0));
    gdImageDestroy(image);
}

/* Four heads of one weight each: the last is far above the others, and stays apart from the top of the scale alone. */
static void test_one_sharp_head_does_not_darken_the_others(void **state)
{
    (void)state;
    const float weights[] = {0.0f, 0.125f, 0.25f, 1.0f}, others[] = {0.0f, 0.5f, 0.5f, 1.0f};
    struct heat_map map = {"title", weights, 1, 4, 1, 1, NULL, NULL, NULL, NULL};
    gdImagePtr image = draw(&map);
    /* Those above 0 are 0.125, 0.25, 1, the middle one 0.25, the top of the scale 0.5. */
    assert_int_equal(cell_colour(image, &map, 0, 1, 0, 0), colour_scale(0.5));
    assert_int_equal(cell_colour(image, &map, 0, 2, 0, 0), colour_scale(sqrt(0.5)));
    assert_int_equal(cell_colour(image, &map, 0, 3, 0, 0), colour_scale(1.0));
    gdImageDestroy(image);
    map.attention = others;
    image = draw(&map);
    assert_int_equal(cell_colour(image, &map, 0, 1, 0, 0), colour_scale(sqrt(0.5)));
    assert_int_equal(cell_colour(image, &map, 0, 3, 0, 0), colour_scale(1.0));
    gdImageDestroy(image);
}

/* P59 */
static void test_nan_has_its_own_colour_and_leaves_the_scale_alone(void **state)
{
    (void)state;
    const float weights[] = {NAN, 0.25f, INFINITY, 1.0f};
    struct heat_map map = {"title", weights, 1, 1, 2, 2, NULL, NULL, NULL, NULL};
    gdImagePtr image = draw(&map);
    assert_int_equal(cell_colour(image, &map, 0, 0, 0, 1), colour_scale(0.5));
    assert_int_equal(cell_colour(image, &map, 0, 0, 1, 1), colour_scale(1.0));
    int broken = cell_colour(image, &map, 0, 0, 0, 0);
    assert_int_equal(cell_colour(image, &map, 0, 0, 1, 0), broken);
    for (int step = 0; step <= 100; step++)
        assert_int_not_equal(broken, colour_scale(step / 100.0));
    gdImageDestroy(image);
    const float all_nan[] = {NAN, NAN};
    map = (struct heat_map){"title", all_nan, 1, 1, 1, 2, NULL, NULL, NULL, NULL};
    image = draw(&map);
    assert_int_equal(cell_colour(image, &map, 0, 0, 0, 1), broken);
    gdImageDestroy(image);
}

/* P5A */
static void test_padding_is_not_drawn_as_weights(void **state)
{
    (void)state;
    float weights[2 * 3 * 4];
    for (size_t index = 0; index < 24; index++)
        weights[index] = 0.5f;
    /* Beyond the lengths, where it must not set the scale either. */
    weights[23] = 9.0f;
    struct heat_map map = {"title", weights, 2, 1, 3, 4, (const int64_t[]){3, 2}, (const int64_t[]){4, 1}, NULL, NULL};
    gdImagePtr image = draw(&map);
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 4; column++) {
            assert_int_equal(cell_colour(image, &map, 0, 0, row, column), colour_scale(1.0));
            int colour = cell_colour(image, &map, 1, 0, row, column);
            bool is_grey = colour >> 16 == (colour & 255) && colour >> 16 == (colour >> 8 & 255);
            assert_int_equal(is_grey, row >= 2 || column >= 1);
        }
    }
    gdImageDestroy(image);
}

/* P5A */
static void test_panels_are_not_forced_square(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{24, 290}, {700, 1500}, {5, 4000}, {6, 12}};
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        struct heat_layout wide = heat_layout_make(1, 1, sizes[index][0], sizes[index][1], NULL);
        assert_true(wide.panel_width >= 3 * wide.panel_height / 2);
        struct heat_layout tall = heat_layout_make(1, 1, sizes[index][1], sizes[index][0], NULL);
        assert_int_equal(tall.panel_width, wide.panel_height);
        assert_int_equal(tall.panel_height, wide.panel_width);
    }
    struct heat_layout square = heat_layout_make(1, 8, 62, 62, NULL);
    assert_int_equal(square.panel_width, square.panel_height);
}

static void test_pictures_stay_of_a_size_that_can_be_shown(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 7, 40, 300, 1000, 100000};
    static const int64_t counts[][2] = {{1, 1}, {1, 8}, {1, 33}, {2, 1}, {4, 8}, {100, 100}};
    enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };
    for (int index = 0; index < SIZE_COUNT * SIZE_COUNT; index++) {
        int64_t queries = sizes[index / SIZE_COUNT], keys = sizes[index % SIZE_COUNT];
        for (size_t count = 0; count < sizeof counts / sizeof *counts; count++) {
            struct heat_layout layout = heat_layout_make(counts[count][0], counts[count][1], queries, keys, NULL);
            assert_true(layout.width <= 2400 && layout.height <= 3200);
            assert_true(layout.rows >= 1 && layout.rows <= queries);
            assert_true(layout.columns >= 1 && layout.columns <= keys);
            int right = heat_layout_panel_x(&layout, layout.heads - 1) + layout.panel_width;
            int bottom = heat_layout_panel_y(&layout, layout.batches - 1, layout.heads - 1) + layout.panel_height;
            assert_true(right < layout.width && bottom < layout.height);
        }
    }
}

static void test_a_narrow_diagonal_survives_reduction(void **state)
{
    (void)state;
    enum { QUERIES = 1100, KEYS = 1300 };
    float *weights = calloc(QUERIES * KEYS, sizeof *weights);
    for (int query = 0; query < QUERIES; query++)
        weights[query * KEYS + query] = 1.0f;
    struct heat_map map = {"title", weights, 1, 1, QUERIES, KEYS, NULL, NULL, NULL, NULL};
    struct heat_layout layout = heat_layout_make(1, 1, QUERIES, KEYS, NULL);
    gdImagePtr image = draw(&map);
    assert_true(layout.rows < QUERIES && layout.columns < KEYS);
    for (int row = 0; row < layout.rows; row++) {
        int lit = 0;
        for (int column = 0; column < layout.columns; column++)
            lit += cell_colour(image, &map, 0, 0, row, column) == colour_scale(1.0);
        assert_true(lit >= 1 && lit <= 4);
    }
    gdImageDestroy(image);
    free(weights);
}

static void test_reduction_covers_each_weight_once(void **state)
{
    (void)state;
    enum { QUERIES = 7, KEYS = 11, ROWS = 3, COLUMNS = 4 };
    for (int place = 0; place < QUERIES * KEYS; place++) {
        float weights[QUERIES * KEYS] = {0};
        struct heat_cell cells[ROWS * COLUMNS];
        const struct heat_plane plane = {weights, QUERIES, KEYS, QUERIES, KEYS};
        weights[place] = 1.0f;
        heat_cells_fill(cells, ROWS, COLUMNS, &plane);
        int found = 0;
        for (int cell = 0; cell < ROWS * COLUMNS; cell++)
            found += cells[cell].weight > 0.0f;
        assert_int_equal(found, 1);
    }
}

static void test_reduced_cells_at_the_edge_of_padding(void **state)
{
    (void)state;
    const float weights[] = {0.1f, 0.2f, 0.3f, NAN};
    const struct heat_plane plane = {weights, 1, 4, 1, 3};
    struct heat_cell cells[2];
    heat_cells_fill(cells, 1, 2, &plane);
    assert_int_equal(cells[1].kind, HEAT_CELL_WEIGHT);
    assert_true(cells[1].weight == weights[2]);
    const struct heat_plane shorter = {weights, 1, 4, 1, 2};
    heat_cells_fill(cells, 1, 2, &shorter);
    assert_int_equal(cells[1].kind, HEAT_CELL_OUTSIDE);
}

static void test_nothing_to_draw(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {{0, 2, 3, 4}, {2, 0, 3, 4}, {1, 2, 0, 4}, {1, 2, 3, 0}};
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        struct heat_map map = {
            "title", NULL, sizes[index][0], sizes[index][1], sizes[index][2], sizes[index][3], NULL, NULL, NULL, NULL};
        gdImageDestroy(draw(&map));
    }
}

/* The picture of weights 0, 1, 2, ... of this shape, to be freed. */
static char *picture_of(int32_t rank, const int64_t *shape, bool has_batches, const struct array *key_lengths,
                        size_t *size)
{
    const struct array none = {0};
    struct array attention;
    assert_int_equal(array_allocate(&attention, ATTNZOO_DTYPE_FLOAT32, rank, shape, "attention"), OUTCOME_OK);
    for (int64_t index = 0; index < array_element_count(&attention); index++)
        ((float *)attention.data)[index] = (float)index;
    char *bytes = NULL;
    FILE *stream = open_memstream(&bytes, size);
    assert_non_null(stream);
    const struct attention_picture picture = {
        "mechanism", &attention, has_batches, &none, key_lengths == NULL ? &none : key_lengths, NULL, NULL};
    enum outcome outcome = attention_picture_write(&picture, stream);
    assert_int_equal(fclose(stream), 0);
    array_free(&attention);
    if (outcome != OUTCOME_OK) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static void check_same_picture(int32_t rank, const int64_t *shape, bool has_batches, const int64_t *whole_shape)
{
    size_t size, whole_size;
    char *picture = picture_of(rank, shape, has_batches, NULL, &size);
    char *whole = picture_of(4, whole_shape, true, NULL, &whole_size);
    assert_int_equal(size, whole_size);
    assert_memory_equal(picture, whole, size);
    free(picture);
    free(whole);
}

static void test_axes_that_are_left_out(void **state)
{
    (void)state;
    check_same_picture(2, (int64_t[]){3, 5}, false, (int64_t[]){1, 1, 3, 5});
    check_same_picture(3, (int64_t[]){2, 3, 5}, false, (int64_t[]){1, 2, 3, 5});
    check_same_picture(3, (int64_t[]){2, 3, 5}, true, (int64_t[]){2, 1, 3, 5});
    size_t size;
    assert_null(picture_of(1, (int64_t[]){3}, false, NULL, &size));
    assert_null(picture_of(5, (int64_t[]){1, 1, 1, 3, 5}, true, NULL, &size));
    assert_non_null(strstr(problem_text(), "has 5 axes"));
}

static void test_lengths_of_either_type(void **state)
{
    (void)state;
    int32_t narrow[] = {5, 2};
    int64_t wide[] = {5, 2};
    const struct array narrow_lengths = {ATTNZOO_DTYPE_INT32, 1, {2}, narrow};
    const struct array wide_lengths = {ATTNZOO_DTYPE_INT64, 1, {2}, wide};
    const int64_t shape[] = {2, 1, 3, 5};
    size_t narrow_size, wide_size, plain_size;
    char *narrow_picture = picture_of(4, shape, true, &narrow_lengths, &narrow_size);
    char *wide_picture = picture_of(4, shape, true, &wide_lengths, &wide_size);
    char *plain = picture_of(4, shape, true, NULL, &plain_size);
    assert_int_equal(narrow_size, wide_size);
    assert_memory_equal(narrow_picture, wide_picture, wide_size);
    assert_true(plain_size != wide_size || memcmp(plain, wide_picture, wide_size) != 0);
    free(narrow_picture);
    free(wide_picture);
    free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colour_scale_rises_in_lightness),
        cmocka_unit_test(test_each_weight_has_its_cell),
        cmocka_unit_test(test_one_sharp_head_does_not_darken_the_others),
        cmocka_unit_test(test_nan_has_its_own_colour_and_leaves_the_scale_alone),
        cmocka_unit_test(test_padding_is_not_drawn_as_weights),
        cmocka_unit_test(test_panels_are_not_forced_square),
        cmocka_unit_test(test_pictures_stay_of_a_size_that_can_be_shown),
        cmocka_unit_test(test_a_narrow_diagonal_survives_reduction),
        cmocka_unit_test(test_reduction_covers_each_weight_once),
        cmocka_unit_test(test_reduced_cells_at_the_edge_of_padding),
        cmocka_unit_test(test_nothing_to_draw),
        cmocka_unit_test(test_axes_that_are_left_out),
        cmocka_unit_test(test_lengths_of_either_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
