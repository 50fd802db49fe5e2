/*
 * tests/kernels/few_rows_test.c: products of a few rows with keys and values, in every element type and on every CPU
 * path, against sums in double precision. The operands end right before a page that cannot be touched.
 */
#define _DEFAULT_SOURCE

#include "vector_paths.h"

#include "kernels/few_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS_MOST = 9, KEYS_MOST = 70, COLUMNS_MOST = 140, STEP_MOST = COLUMNS_MOST + 5 };

static const double UNIT_ROUNDOFF = 0x1p-24;

static uint32_t random_state = 1;

static float random_float(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (float)(random_state >> 8) * 0x1p-23f - 1.0f;
}

/* Keys in one element type, and the same as floats. */
struct keys {
    unsigned char *map;
    size_t map_bytes;
    unsigned char *end;
    void *data;
    float values[KEYS_MOST * STEP_MOST];
};

static void create_keys(struct keys *keys)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = sizeof keys->values;
    room = (room + page - 1) / page * page;
    keys->map_bytes = room + page;
    keys->map = mmap(NULL, keys->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(keys->map != MAP_FAILED);
    assert_int_equal(mprotect(keys->map + room, page, PROT_NONE), 0);
    keys->end = keys->map + room;
}

/* count elements before the end, those between rows included. */
static void fill_keys(struct keys *keys, int32_t dtype, int64_t count)
{
    int64_t size = attnzoo_base_dtype_size(dtype);
    keys->data = keys->end - count * size;
    for (int64_t i = 0; i < count; i++) {
        char *place = (char *)keys->data + i * size;
        float value = random_float();
        attnzoo_kernel_narrow(place, dtype, 1, &value, 1);
        attnzoo_kernel_widen(&keys->values[i], place, dtype, 1, 1);
    }
}

static const struct attnzoo_few_rows_kernels *kernels_of(const struct attnzoo_vectors *vectors, int32_t dtype)
{
    return dtype == ATTNZOO_DTYPE_FLOAT32   ? &vectors->few_rows_float32
           : dtype == ATTNZOO_DTYPE_FLOAT16 ? &vectors->few_rows_float16
                                            : &vectors->few_rows_bfloat16;
}

/* A sum of products of so many terms, in any order, and what else rounds once each. */
static void assert_near(float got, double want, double magnitude, int64_t roundings, const char *what, const char *path)
{
    double bound = (double)roundings * UNIT_ROUNDOFF * 1.0001 * magnitude;
    if (!(fabs((double)got - want) <= bound))
        fail_msg("%s on %s: got %.9g, want %.9g within %.3g", what, path, (double)got, want, bound);
}

static void check_scores(const struct vector_path *path, const struct keys *keys, int32_t dtype,
                         struct attnzoo_few_rows product)
{
    static float queries[ROWS_MOST * STEP_MOST], scores[ROWS_MOST * (KEYS_MOST + 3)];
    int64_t query_step = product.columns + 2;
    for (int i = 0; i < ROWS_MOST * STEP_MOST; i++)
        queries[i] = random_float();
    for (int i = 0; i < ROWS_MOST * (KEYS_MOST + 3); i++)
        scores[i] = NAN;
    product.scores = scores;
    kernels_of(path->vectors, dtype)->score(&product, queries, query_step);
    for (int64_t row = 0; row < ROWS_MOST; row++)
        for (int64_t key = 0; key < product.score_step; key++) {
            float got = scores[row * product.score_step + key];
            double want = 0.0, magnitude = 0.0;
            if (row >= product.row_count || key >= product.key_count) {
                assert_true(isnan(got));
                continue;
            }
            for (int64_t column = 0; column < product.columns; column++) {
                double term = (double)queries[row * query_step + column] *
                              (double)keys->values[key * product.key_step + column] * (double)product.scale;
                want += term;
                magnitude += fabs(term);
            }
            assert_near(got, want, magnitude, product.columns + 1, "score", path->name);
        }
}

static void check_sums(const struct vector_path *path, const struct keys *keys, int32_t dtype,
                       struct attnzoo_few_rows product)
{
    static float weights[ROWS_MOST * (KEYS_MOST + 3)], before[ROWS_MOST * STEP_MOST], context[ROWS_MOST * STEP_MOST];
    int64_t context_step = product.columns + 1;
    for (int i = 0; i < ROWS_MOST * (KEYS_MOST + 3); i++)
        weights[i] = random_float();
    for (int i = 0; i < ROWS_MOST * STEP_MOST; i++)
        before[i] = random_float();
    memcpy(context, before, sizeof context);
    product.scores = weights;
    kernels_of(path->vectors, dtype)->add(&product, context, context_step);
    for (int64_t row = 0; row < ROWS_MOST; row++)
        for (int64_t column = 0; column < context_step; column++) {
            int64_t place = row * context_step + column;
            double want = (double)before[place], magnitude = fabs(want);
            if (row >= product.row_count || column >= product.columns) {
                assert_true(context[place] == before[place]);
                continue;
            }
            for (int64_t key = 0; key < product.key_count; key++) {
                double term = (double)weights[row * product.score_step + key] *
                              (double)keys->values[key * product.key_step + column];
                want += term;
                magnitude += fabs(term);
            }
            assert_near(context[place], want, magnitude, product.key_count + 1, "sum", path->name);
        }
}

static void products_are_sums_of_products(void **state)
{
    (void)state;
    static const int32_t dtypes[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    static const int64_t columns[] = {1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 128, 131, 140};
    static const int64_t key_counts[] = {1, 2, 3, 4, 5, 31, 32, 33, 64, 70};
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    struct keys *keys = malloc(sizeof *keys);
    assert_non_null(keys);
    create_keys(keys);
    for (size_t type = 0; type < 3; type++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (size_t k = 0; k < sizeof key_counts / sizeof *key_counts; k++)
                for (int64_t rows = 1; rows <= ROWS_MOST; rows++) {
                    int64_t key_step = columns[c] + (rows % 2 == 0 ? 5 : 0);
                    fill_keys(keys, dtypes[type], (key_counts[k] - 1) * key_step + columns[c]);
                    const struct attnzoo_few_rows product = {.score_step = key_counts[k] + 3,
                                                             .row_count = rows,
                                                             .keys = keys->data,
                                                             .key_step = key_step,
                                                             .key_count = key_counts[k],
                                                             .columns = columns[c],
                                                             .scale = 0.3f,
                                                             .keys_ahead = rows};
                    for (int path = 0; path < path_count; path++) {
                        check_scores(&paths[path], keys, dtypes[type], product);
                        check_sums(&paths[path], keys, dtypes[type], product);
                    }
                }
    munmap(keys->map, keys->map_bytes);
    free(keys);
}

static void nan_and_infinity_stay(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int place = 0; place < 37; place++) {
            float key[37] = {0}, query[37] = {0}, score = 0.0f, context[37] = {0};
            const struct attnzoo_few_rows product = {.scores = &score,
                                                     .score_step = 1,
                                                     .row_count = 1,
                                                     .keys = key,
                                                     .key_step = 37,
                                                     .key_count = 1,
                                                     .columns = 37,
                                                     .scale = 1.0f,
                                                     .keys_ahead = 1};
            key[place] = NAN;
            paths[path].vectors->few_rows_float32.score(&product, query, 37);
            assert_true(isnan(score));
            key[place] = INFINITY;
            query[place] = 1.0f;
            paths[path].vectors->few_rows_float32.score(&product, query, 37);
            assert_true(score == INFINITY);
            score = 0.5f;
            paths[path].vectors->few_rows_float32.add(&product, context, 37);
            for (int i = 0; i < 37; i++)
                assert_true(context[i] == (i == place ? INFINITY : 0.0f));
        }
}

/*
 * Keys are those of the strip, of its tile, batch and head, and rows are as far apart as the grid says. No key but one
 * has anything in it, so that its place in the scores says which was read, exactly.
 */
static void a_strip_takes_its_own_keys(void **state)
{
    (void)state;
    enum { BATCHES = 2, HEADS = 3, ROWS = 11, COLUMNS = 5, STEP = 7, COUNT = BATCHES * HEADS * ROWS * STEP, KEYS = 4 };
    static const int32_t dtypes[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    const float query[COLUMNS] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f}, weights[KEYS] = {1.0f, 2.0f, 3.0f, 4.0f};
    /* The strip's first key is row 2 + 3, and the one that counts is the second after it. */
    const struct attnzoo_tile tile = {
        .batch = 1, .first_head = 2, .head_count = 1, .query_count = 1, .first_key = 2, .key_count = 9};
    const int64_t marked = ((int64_t)tile.batch * HEADS + 2) * ROWS * STEP + (2 + 3 + 2) * STEP;
    for (int type = 0; type < 3; type++) {
        float numbers[COUNT] = {0}, storage[COUNT], scores[KEYS + 1], context[COLUMNS + 1] = {0};
        for (int column = 0; column < COLUMNS; column++)
            numbers[marked + column] = (float)(column + 1);
        attnzoo_kernel_narrow((char *)storage, dtypes[type], 1, numbers, COUNT);
        const struct attnzoo_grid keys = {.data = (char *)storage,
                                          .dtype = dtypes[type],
                                          .size = {BATCHES, HEADS, ROWS, COLUMNS},
                                          .stride = {HEADS * ROWS * STEP, ROWS * STEP, STEP, 1}};
        struct attnzoo_strip strip = {
            .tile = &tile, .row_count = 1, .first_key = 3, .key_count = KEYS, .scores = scores, .step = KEYS + 1};
        scores[KEYS] = 77.0f;
        attnzoo_few_rows_score(&strip, &keys, 2, 2.0f, query, COLUMNS);
        for (int key = 0; key < KEYS; key++)
            assert_true(scores[key] == (key == 2 ? 30.0f : 0.0f));
        assert_true(scores[KEYS] == 77.0f);
        memcpy(scores, weights, sizeof weights);
        attnzoo_few_rows_add(&strip, &keys, 2, context, COLUMNS);
        for (int column = 0; column < COLUMNS; column++)
            assert_true(context[column] == 3.0f * (float)(column + 1));
        assert_true(context[COLUMNS] == 0.0f);
    }
}

/* Many rows and short keys are a BLAS' work, and so is what does not lie side by side. */
static void they_suit_few_rows_of_long_keys(void **state)
{
    (void)state;
    struct attnzoo_grid keys = {.size = {1, 1, 64, 64}, .stride = {0, 0, 64, 1}, .dtype = ATTNZOO_DTYPE_FLOAT16};
    assert_true(attnzoo_few_rows_suit(1, &keys));
    assert_true(attnzoo_few_rows_suit(8, &keys));
    assert_false(attnzoo_few_rows_suit(9, &keys));
    keys.size[ATTNZOO_ROW] = 63;
    assert_false(attnzoo_few_rows_suit(1, &keys));
    keys.size[ATTNZOO_ROW] = 64;
    keys.stride[ATTNZOO_COLUMN] = 2;
    assert_false(attnzoo_few_rows_suit(1, &keys));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_sums_of_products),
        cmocka_unit_test(nan_and_infinity_stay),
        cmocka_unit_test(a_strip_takes_its_own_keys),
        cmocka_unit_test(they_suit_few_rows_of_long_keys),
    };
    return cmocka_run_group_tests_name("few rows", tests, NULL, NULL);
}
