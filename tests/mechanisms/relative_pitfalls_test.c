/*
 * tests/mechanisms/relative_pitfalls_test.c: known pitfalls of relative positions, named by their number: which row of
 * a table stands for which pair of query and key.
 */
#include "support/multi_head_case.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>

/* One head of size 1 whose scores come of the table alone: the query is 0, v is 1. */
static void plan_positions_alone(struct multi_head_case *test, int64_t queries, int64_t keys)
{
    multi_head_case_plan(test, (struct multi_head_sizes){.flavor = REFERENCE_TRANSFORMER_XL,
                                                         .batch = 1,
                                                         .heads = 1,
                                                         .key_heads = 1,
                                                         .queries = queries,
                                                         .keys = keys,
                                                         .head_size = 1,
                                                         .value_size = 1,
                                                         .query_width = 1,
                                                         .key_width = 1,
                                                         .value_width = 1,
                                                         .position_width = 1});
}

static void plan_distances_alone(struct multi_head_case *test, int64_t queries, int64_t keys, int64_t farthest)
{
    plan_positions_alone(test, queries, keys);
    struct multi_head_sizes sizes = test->sizes;
    sizes.flavor = REFERENCE_SHAW;
    sizes.farthest = farthest;
    multi_head_case_plan(test, sizes);
}

static void fill_positions_alone(struct multi_head_case *test)
{
    struct random_source source = {3};
    multi_head_case_allocate(test);
    multi_head_case_fill(test, &source, 1.0);
    for (int64_t i = 0; i < test->base.query.count; i++)
        test->base.query.values[i] = 0.0;
    test->parameters[POSITION_WEIGHT].values[0] = 1.0;
    test->parameters[U_BIAS].values[0] = 0.0;
    test->parameters[V_BIAS].values[0] = 1.0;
    for (int64_t p = 0; p < test->position.count; p++)
        test->position.values[p] = 0.0;
}

/* The key that a query sees most of, or -1 where none stands out. */
static int64_t likeliest_key(const struct multi_head_case *test, int64_t query)
{
    int64_t keys = test->base.sizes.keys;
    const double *row = test->base.attention.values + query * keys;
    for (int64_t j = 0; j < keys; j++)
        if (row[j] > 0.99)
            return j;
    return -1;
}

/* With one row of the table at 30, every query looks at the key of that distance, if there is one. Rows of every kind
 * of shape, where a shift by padding and reshaping would take other rows' numbers; many tiles too. */
static void p35_every_pair_has_the_row_of_its_distance(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{1, 1}, {4, 4}, {3, 7}, {7, 3}, {1, 9}, {9, 1}, {70, 130}, {130, 70}, {300, 310}};
    for (int i = 0; i < 9; i++) {
        int64_t N = sizes[i][0], M = sizes[i][1];
        struct multi_head_case test;
        plan_positions_alone(&test, N, M);
        fill_positions_alone(&test);
        int64_t step = N > 200 ? 61 : N > 60 ? 13 : 1;
        for (int64_t p = 0; p < M + N - 1; p += step) {
            memset(test.position.values, 0, (size_t)test.position.count * sizeof(double));
            test.position.values[p] = 30.0;
            multi_head_case_check(&test, NULL);
            for (int64_t query = 0; query < N; query++) {
                int64_t key = M - N + query - (M - 1 - p);
                if (M > 1)
                    assert_int_equal(likeliest_key(&test, query), key >= 0 && key < M ? key : -1);
            }
        }
        multi_head_case_destroy(&test);
    }
}

/* The mask's positions say what may be seen; the table goes by the query's place behind the keys all the same. */
static void p35_distances_do_not_follow_the_alignment_of_the_mask(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_positions_alone(&test, 3, 6);
    test.base.alignment = ATTNZOO_ALIGNMENT_TOP_LEFT;
    test.base.has_window = true;
    test.base.window_left = 1;
    test.base.window_right = 2;
    fill_positions_alone(&test);
    /* Distance 1 from query to key: row 4. Query 0 at 3 would look at 2, which it sees; 1 at 4 looks at 3; 2 at 5 at 4.
     */
    test.position.values[4] = 30.0;
    multi_head_case_check(&test, NULL);
    for (int64_t query = 0; query < 3; query++)
        assert_int_equal(likeliest_key(&test, query), 2 + query);
    multi_head_case_destroy(&test);
}

/* Row 0 is the farthest past, row M - 1 the query's own place, and what follows is the future. */
static void p36_the_past_comes_first(void **state)
{
    (void)state;
    for (int is_one_sided = 0; is_one_sided < 2; is_one_sided++) {
        struct multi_head_case test;
        plan_positions_alone(&test, 4, 6);
        test.base.causal = is_one_sided != 0;
        if (is_one_sided != 0)
            multi_head_case_plan_position(&test, false, 6);
        fill_positions_alone(&test);
        test.position.values[0] = 30.0;
        multi_head_case_check(&test, NULL);
        assert_int_equal(likeliest_key(&test, 3), 0);
        assert_int_equal(likeliest_key(&test, 2), -1);
        test.position.values[0] = 0.0;
        test.position.values[5] = 30.0;
        multi_head_case_check(&test, NULL);
        for (int64_t query = 0; query < 4; query++)
            assert_int_equal(likeliest_key(&test, query), 2 + query);
        if (is_one_sided == 0) {
            test.position.values[5] = 0.0;
            test.position.values[8] = 30.0;
            multi_head_case_check(&test, NULL);
            assert_int_equal(likeliest_key(&test, 0), 5);
        }
        multi_head_case_destroy(&test);
    }
}

/* The table that the helper fills as its comment says has distance 0, all sines 0 and all cosines 1, in row M - 1. */
static void p36_the_sinusoidal_table_fits(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_positions_alone(&test, 5, 8);
    test.sizes.position_width = 6;
    multi_head_case_plan(&test, test.sizes);
    struct random_source source = {11};
    multi_head_case_allocate(&test);
    multi_head_case_fill(&test, &source, 1.0);
    assert_ok(attnzoo_fill_sinusoidal_positions(test.position.view, 8 - 1, -1, ATTNZOO_SINUSOID_INTERLEAVED));
    test_tensor_load(&test.position);
    assert_true(test.position.values[7 * 6] == 0.0 && test.position.values[7 * 6 + 1] == 1.0);
    /* Row 0: sin 7; row 11: sin -4. */
    assert_true(fabs(test.position.values[0] - sin(7.0)) < 1e-6);
    assert_true(fabs(test.position.values[11 * 6] - sin(-4.0)) < 1e-6);
    multi_head_case_check(&test, NULL);
    multi_head_case_destroy(&test);
}

/* The reference was given the two-sided table: its later rows mean nothing under a causal mask. */
static void a_one_sided_table_is_the_first_rows_of_a_two_sided_one(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_positions_alone(&test, 5, 9);
    test.base.causal = true;
    struct random_source source = {5};
    multi_head_case_allocate(&test);
    multi_head_case_fill(&test, &source, 1.0);
    multi_head_case_check(&test, NULL);
    attnzoo_tensor *whole = test.position.view;
    attnzoo_tensor *part = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&part, attnzoo_tensor_data(whole), ATTNZOO_DTYPE_FLOAT32, 2,
                                             (int64_t[]){9, 1}, NULL));
    test.position.view = part;
    attnzoo_module *module = multi_head_case_module(&test);
    attnzoo_mask *mask = attention_case_mask(&test.base);
    multi_head_case_store(&test);
    assert_ok(multi_head_case_forward(&test, module, NULL, mask, NULL));
    multi_head_case_load(&test);
    assert_true(multi_head_case_compare(&test));
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    test.position.view = whole;
    attnzoo_tensor_destroy(part);
    multi_head_case_destroy(&test);
}

/* k = 2, one row of relative_key at 30: query i at M - N + i looks at the key of that distance, and the rows at the
 * ends stand for all that is farther. */
static void shaw_distances_are_key_less_query_and_clipped(void **state)
{
    (void)state;
    for (int64_t row = 0; row < 5; row++) {
        struct multi_head_case test;
        plan_distances_alone(&test, 4, 7, 2);
        struct random_source source = {8};
        multi_head_case_allocate(&test);
        multi_head_case_fill(&test, &source, 1.0);
        for (int64_t i = 0; i < 7; i++)
            test.base.key.values[i] = 0.0;
        for (int64_t i = 0; i < 4; i++)
            test.base.query.values[i] = 1.0;
        test.parameters[QUERY_WEIGHT].values[0] = 1.0;
        for (int64_t r = 0; r < 5; r++)
            test.parameters[RELATIVE_KEY].values[r] = r == row ? 30.0 : 0.0;
        multi_head_case_check(&test, NULL);
        for (int64_t i = 0; i < 4; i++)
            for (int64_t j = 0; j < 7; j++) {
                int64_t distance = j - (3 + i);
                distance = distance < -2 ? -2 : distance > 2 ? 2 : distance;
                bool is_there = test.base.attention.values[i * 7 + j] > 0.01;
                /* Where no key has that distance all weigh the same. */
                bool is_anywhere = 3 + i + row - 2 < 7;
                if (is_anywhere)
                    assert_true(is_there == (distance == row - 2));
            }
        multi_head_case_destroy(&test);
    }
}

/* A row of NaN in the table is seen where its distance is. */
static void a_nan_in_the_table_stays_in_the_rows_that_use_it(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_positions_alone(&test, 4, 6);
    fill_positions_alone(&test);
    /* Distance 5 from query to key: the last query and the first key. */
    test.position.values[0] = NAN;
    multi_head_case_check(&test, NULL);
    for (int64_t query = 0; query < 4; query++)
        assert_true(isnan(test.base.context.values[query]) == (query == 3));
    multi_head_case_destroy(&test);
}

/* k = 2, causal: the row of distance 2 is never used, that of -2 and farther by queries 2 and 3. A scale of 0 hides no
 * NaN, though a BLAS skips a product that it is to multiply by 0. */
static void a_nan_by_distance_stays_in_the_rows_that_use_it(void **state)
{
    (void)state;
    const int parameters[] = {RELATIVE_KEY, RELATIVE_VALUE, RELATIVE_KEY, RELATIVE_VALUE};
    const double scales[] = {NAN, NAN, 0.0, 0.0}; /* NaN: the default */
    for (int i = 0; i < 4; i++)
        for (int64_t row = 0; row < 5; row += 4) {
            struct multi_head_case test;
            struct random_source source = {6};
            plan_distances_alone(&test, 4, 4, 2);
            test.base.causal = true;
            test.base.scale = scales[i];
            multi_head_case_allocate(&test);
            multi_head_case_fill(&test, &source, 1.0);
            test.parameters[parameters[i]].values[row] = (double)NAN;
            multi_head_case_check(&test, NULL);
            for (int64_t query = 0; query < 4; query++)
                assert_true(isnan(test.base.context.values[query]) == (row == 0 && query >= 2));
            multi_head_case_destroy(&test);
        }
}

/* k = 1, and no query sees the key at its own place: what the vectors of distance 0 hold does not matter. */
static void a_nan_by_a_distance_that_no_query_sees_stays_out(void **state)
{
    (void)state;
    const int parameters[] = {RELATIVE_KEY, RELATIVE_VALUE};
    for (int i = 0; i < 2; i++) {
        struct multi_head_case test;
        struct random_source source = {7};
        plan_distances_alone(&test, 4, 4, 1);
        attention_case_plan_boolean(&test.base, 1, 1, 4, 4);
        multi_head_case_allocate(&test);
        multi_head_case_fill(&test, &source, 1.0);
        for (int64_t pair = 0; pair < 16; pair++)
            test.base.boolean.values[pair] = pair / 4 != pair % 4;
        test.parameters[parameters[i]].values[1] = (double)NAN;
        multi_head_case_check(&test, NULL);
        for (int64_t query = 0; query < 4; query++)
            assert_true(!isnan(test.base.context.values[query]));
        multi_head_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p35_every_pair_has_the_row_of_its_distance),
        cmocka_unit_test(p35_distances_do_not_follow_the_alignment_of_the_mask),
        cmocka_unit_test(p36_the_past_comes_first),
        cmocka_unit_test(p36_the_sinusoidal_table_fits),
        cmocka_unit_test(a_one_sided_table_is_the_first_rows_of_a_two_sided_one),
        cmocka_unit_test(shaw_distances_are_key_less_query_and_clipped),
        cmocka_unit_test(a_nan_in_the_table_stays_in_the_rows_that_use_it),
        cmocka_unit_test(a_nan_by_distance_stays_in_the_rows_that_use_it),
        cmocka_unit_test(a_nan_by_a_distance_that_no_query_sees_stays_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
