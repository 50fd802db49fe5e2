/*
 * test_heat_labels.c: texts in a heat map, with the system's fonts and, run by CTest once more with none to be found,
 * with libgd's own: labels keep to their room, and nothing depends on a font being there.
 */
#include "heat_layout.h"
#include "heat_map.h"
#include "heat_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gd.h>

enum { PAPER = 0xffffff };

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

/* Whether anything stands in a part of the picture. */
static bool has_ink(gdImagePtr image, int left, int top, int right, int bottom)
{
    for (int y = top; y < bottom; y++) {
        for (int x = left; x < right; x++) {
            if ((gdImageGetTrueColorPixel(image, x, y) & 0xffffff) != PAPER)
                return true;
        }
    }
    return false;
}

/* A map of `count` queries and keys, all weights alike. */
static struct heat_map map_of(int count, const float *weights, char *const *query_labels, char *const *key_labels)
{
    return (struct heat_map){"title", weights, 1, 1, count, count, NULL, NULL, query_labels, key_labels};
}

static void test_the_paper_is_white_and_opaque(void **state)
{
    (void)state;
    const float weight = 1.0f;
    const struct heat_map map = map_of(1, &weight, NULL, NULL);
    gdImagePtr image = draw(&map);
    for (int x = 0; x < gdImageSX(image); x++) {
        assert_int_equal(gdImageGetTrueColorPixel(image, x, 0), PAPER);
        assert_int_equal(gdImageGetTrueColorPixel(image, x, gdImageSY(image) - 1), PAPER);
    }
    gdImageDestroy(image);
}

/* Where all weights are 0, what stands at the colour bar is what stands there where the highest is 1. */
static void test_a_scale_for_no_weights(void **state)
{
    (void)state;
    const float zeros[4] = {0}, ones[4] = {0.0f, 0.0f, 0.0f, 1.0f}, tenths[4] = {0.0f, 0.0f, 0.0f, 0.1f};
    const float *const weights[] = {zeros, ones, tenths};
    gdImagePtr images[3];
    struct heat_layout layout;
    for (int index = 0; index < 3; index++) {
        const struct heat_map map = map_of(2, weights[index], NULL, NULL);
        layout = heat_map_layout(&map);
        images[index] = draw(&map);
    }
    int differing = 0;
    for (int y = 0; y < layout.height; y++) {
        for (int x = layout.colour_bar_left; x < layout.width; x++) {
            int pixel = gdImageGetTrueColorPixel(images[0], x, y);
            assert_int_equal(pixel, gdImageGetTrueColorPixel(images[1], x, y));
            differing += pixel != gdImageGetTrueColorPixel(images[2], x, y);
        }
    }
    assert_true(differing > 0);
    for (int row = 0; row < 2; row++)
        assert_int_equal(
            gdImageGetTrueColorPixel(images[0], layout.left + 2, layout.top + row * layout.cell_height + 2), 0x440154);
    for (int index = 0; index < 3; index++)
        gdImageDestroy(images[index]);
}

static void test_labels_stand_beside_their_rows_and_columns(void **state)
{
    (void)state;
    const float weights[9] = {0};
    static char one[] = "Wg", none[] = "";
    char *const labels[] = {none, one, none};
    const struct heat_map map = map_of(3, weights, labels, labels);
    struct heat_layout layout = heat_map_layout(&map);
    gdImagePtr image = draw(&map);
    for (int index = 0; index < 3; index++) {
        int y = layout.top + index * layout.cell_height, x = layout.left + index * layout.cell_width;
        int below = layout.top + layout.panel_height + 6;
        /* The tick is left out of sight. */
        assert_int_equal(has_ink(image, layout.left - layout.beside + 2, y, layout.left - 6, y + layout.cell_height),
                         index == 1);
        assert_int_equal(has_ink(image, x, below, x + layout.cell_width, below + 14), index == 1);
    }
    gdImageDestroy(image);
}

static void test_long_labels_keep_to_their_room(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    static char text[400], wide[400];
    char *labels[COUNT];
    const float weights[COUNT * COUNT] = {0};
    memset(text, 'W', sizeof text - 1);
    for (size_t index = 0; index + 3 < sizeof wide; index += 3)
        memcpy(wide + index, "\xe4\xb8\xad", 3);
    for (int index = 0; index < COUNT; index++)
        labels[index] = index % 2 == 0 ? text : wide;
    const struct heat_map map = map_of(COUNT, weights, labels, labels);
    struct heat_layout layout = heat_map_layout(&map);
    gdImagePtr image = draw(&map);
    assert_true(layout.has_upright_labels);
    assert_true(layout.beside < 200 && layout.below < 200);
    /* Between the name of the axis and the labels, and likewise below, where the name may rise into the last row. */
    int left = layout.left - layout.beside, bottom = layout.top + layout.panel_height + layout.below;
    assert_false(has_ink(image, left - 4, layout.top, left, layout.top + layout.panel_height));
    assert_false(has_ink(image, layout.left, bottom - 2, layout.left + layout.panel_width, bottom - 1));
    gdImageDestroy(image);
}

/* Rows of a few pixels cannot have a label each: between those that are drawn there is paper. */
static void test_labels_are_thinned(void **state)
{
    (void)state;
    enum { COUNT = 1500 };
    float *weights = calloc((size_t)COUNT * COUNT, sizeof *weights);
    char **labels = calloc(COUNT, sizeof *labels);
    static char text[] = "HHHH";
    for (int index = 0; index < COUNT; index++)
        labels[index] = text;
    const struct heat_map map = map_of(COUNT, weights, labels, labels);
    struct heat_layout layout = heat_map_layout(&map);
    gdImagePtr image = draw(&map);
    int blank = 0, inked = 0;
    for (int y = layout.top; y < layout.top + layout.panel_height; y++) {
        bool is_inked = has_ink(image, layout.left - layout.beside + 2, y, layout.left - 6, y + 1);
        inked += is_inked;
        blank += !is_inked;
    }
    assert_true(inked > layout.panel_height / 4 && blank > layout.panel_height / 16);
    gdImageDestroy(image);
    free(labels);
    free(weights);
}

static void test_few_labels_make_room_for_all(void **state)
{
    (void)state;
    enum { QUERIES = 40, KEYS = 600 };
    float *weights = calloc((size_t)QUERIES * KEYS, sizeof *weights);
    static char text[] = "H";
    char *labels[QUERIES];
    for (int index = 0; index < QUERIES; index++)
        labels[index] = text;
    struct heat_map map = {"title", weights, 1, 1, QUERIES, KEYS, NULL, NULL, NULL, NULL};
    int plain = heat_map_layout(&map).cell_height;
    map.query_labels = labels;
    int labelled = heat_map_layout(&map).cell_height;
    heat_text_start();
    assert_true(plain < heat_text_height(HEAT_TEXT_PLAIN) && labelled > heat_text_height(HEAT_TEXT_PLAIN));
    heat_text_stop();
    free(weights);
}

/* Labels of the one axis that cannot all be shown leave those of the other as they are. */
static void test_many_labels_take_no_room_from_few(void **state)
{
    (void)state;
    enum { FEW = 24, MANY = 290, HEADS = 8 };
    float *weights = calloc((size_t)HEADS * FEW * MANY, sizeof *weights);
    static char text[] = "frame";
    char *labels[MANY];
    for (int index = 0; index < MANY; index++)
        labels[index] = text;
    struct heat_map wide = {"title", weights, 1, HEADS, FEW, MANY, NULL, NULL, labels, labels};
    struct heat_map tall = {"title", weights, 1, 2, MANY, FEW, NULL, NULL, labels, labels};
    heat_text_start();
    assert_true(heat_map_layout(&wide).cell_height > heat_text_height(HEAT_TEXT_PLAIN));
    assert_true(heat_map_layout(&wide).cell_width < heat_text_height(HEAT_TEXT_PLAIN));
    assert_true(heat_map_layout(&tall).cell_width > heat_text_height(HEAT_TEXT_PLAIN));
    assert_true(heat_map_layout(&tall).cell_height < heat_text_height(HEAT_TEXT_PLAIN));
    heat_text_stop();
    free(weights);
}

static void test_shortening(void **state)
{
    (void)state;
    char text[HEAT_TEXT_SHORT_SIZE];
    heat_text_start();
    int width = heat_text_width(HEAT_TEXT_PLAIN, "a long label");
    assert_string_equal(heat_text_shorten(HEAT_TEXT_PLAIN, "a long label", width, text), "a long label");
    heat_text_shorten(HEAT_TEXT_PLAIN, "a long label", width - 1, text);
    assert_string_equal(text + strlen(text) - 3, "...");
    assert_true(heat_text_width(HEAT_TEXT_PLAIN, text) < width);
    /* U+2026 would be an empty box in some fonts for Chinese. */
    heat_text_offer("\xe4\xb8\xad\xe6\x96\x87");
    heat_text_shorten(HEAT_TEXT_PLAIN, "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad", 30, text);
    assert_string_equal(text + strlen(text) - 3, "...");
    assert_null(strstr(text, "\xe2\x80\xa6"));
    /* Never within a character. */
    for (int room = 1; room < 60; room += 3) {
        heat_text_shorten(HEAT_TEXT_PLAIN, "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\xc3\xa9\xe4\xb8\xad", room, text);
        for (const char *end = text; *end != '\0';) {
            unsigned char byte = (unsigned char)*end;
            int size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
            assert_true(byte < 0x80 || byte >= 0xc0);
            assert_true(strlen(end) >= (size_t)size);
            end += size;
        }
    }
    assert_int_equal(heat_text_width(HEAT_TEXT_PLAIN, ""), 0);
    heat_text_stop();
}

/* A font for Chinese may have no full stops; what is drawn in their place must not be the sign for what is missing. */
static void test_full_stops_are_drawn_as_such(void **state)
{
    (void)state;
    static const char text[] = "\xe4\xb8\xad...";
    enum { SIDE = 120, MARGIN = 10 };
    heat_text_start();
    heat_text_offer("\xe4\xb8\xad\xe6\x96\x87");
    int width = heat_text_width(HEAT_TEXT_PLAIN, text), stops = heat_text_width(HEAT_TEXT_PLAIN, "...");
    int height = heat_text_height(HEAT_TEXT_PLAIN), begin = MARGIN + width - stops, end = MARGIN + width + 1;
    assert_true(width > stops && end < SIDE);
    gdImagePtr image = gdImageCreateTrueColor(SIDE, SIDE);
    gdImageFilledRectangle(image, 0, 0, SIDE - 1, SIDE - 1, PAPER);
    heat_text_draw(image, HEAT_TEXT_PLAIN, MARGIN, MARGIN, text);
    assert_true(has_ink(image, MARGIN, MARGIN, begin, MARGIN + height / 2));
    assert_false(has_ink(image, begin + 1, MARGIN, end, MARGIN + height / 2));
    assert_true(has_ink(image, begin, MARGIN + height / 2, end, MARGIN + height));
    assert_false(has_ink(image, end, 0, SIDE, SIDE));
    gdImageFilledRectangle(image, 0, 0, SIDE - 1, SIDE - 1, PAPER);
    heat_text_draw_up(image, HEAT_TEXT_PLAIN, MARGIN, SIDE - MARGIN, text);
    assert_true(has_ink(image, MARGIN, SIDE - begin, MARGIN + height / 2, SIDE - MARGIN));
    assert_false(has_ink(image, MARGIN, SIDE - end, MARGIN + height / 2, SIDE - begin - 1));
    assert_true(has_ink(image, MARGIN + height / 2, SIDE - end, MARGIN + height, SIDE - begin));
    assert_false(has_ink(image, 0, 0, SIDE, SIDE - end - 1));
    gdImageDestroy(image);
    heat_text_stop();
}

/* libgd's text would take this for one character. */
static void test_entities_are_not_read(void **state)
{
    (void)state;
    heat_text_start();
    assert_true(heat_text_width(HEAT_TEXT_PLAIN, "&lt;") > 2 * heat_text_width(HEAT_TEXT_PLAIN, "<"));
    assert_true(heat_text_width(HEAT_TEXT_PLAIN, "&#38;") > 2 * heat_text_width(HEAT_TEXT_PLAIN, "&"));
    heat_text_stop();
}

/* More scripts and more characters than are kept in mind. */
static void test_many_characters(void **state)
{
    (void)state;
    heat_text_start();
    for (unsigned character = 0x80; character < 0x10000; character += 37) {
        if (character >= 0xd800 && character < 0xe000)
            continue;
        char text[4] = {(char)(0xe0 | character >> 12), (char)(0x80 | (character >> 6 & 63)),
                        (char)(0x80 | (character & 63)), '\0'};
        if (character < 0x800) {
            text[0] = (char)(0xc0 | character >> 6);
            text[1] = (char)(0x80 | (character & 63));
            text[2] = '\0';
        }
        heat_text_offer(text);
    }
    assert_true(heat_text_width(HEAT_TEXT_PLAIN, "\xe4\xb8\xad\xe6\x96\x87") > 0);
    assert_true(heat_text_width(HEAT_TEXT_PLAIN, "\xf0\x9f\x98\x80") > 0);
    heat_text_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_paper_is_white_and_opaque),
        cmocka_unit_test(test_a_scale_for_no_weights),
        cmocka_unit_test(test_labels_stand_beside_their_rows_and_columns),
        cmocka_unit_test(test_long_labels_keep_to_their_room),
        cmocka_unit_test(test_labels_are_thinned),
        cmocka_unit_test(test_few_labels_make_room_for_all),
        cmocka_unit_test(test_many_labels_take_no_room_from_few),
        cmocka_unit_test(test_shortening),
        cmocka_unit_test(test_full_stops_are_drawn_as_such),
        cmocka_unit_test(test_entities_are_not_read),
        cmocka_unit_test(test_many_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
