/*
 * tests/mechanisms/softmax_pitfalls_test.c: pitfalls of scores and their softmax. Those of what masks let be seen are
 * in mask_pitfalls_test.c.
 */
#include "mechanisms/pitfalls.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* Rows take turns: one sees the last keys only, the next the first keys only. */
static bool p05_is_seen(int64_t row, int64_t key, int64_t keys)
{
    return row % 2 == 0 ? key >= keys - 10 : key < 3;
}

/* Whole leading or trailing tiles are hidden, whatever the size of a tile is. */
static void p05_tiles_hidden_whole_before_and_after_visible_ones(void **state)
{
    (void)state;
    const int64_t queries[] = {1, 5, 130};
    const int64_t keys[] = {9000, 5000, 1500};
    for (int i = 0; i < 12; i++) {
        struct attention_case test;
        int64_t rows = i % 6 < 3 ? 1 : queries[i % 3];
        plan_one_head(&test, queries[i % 3], keys[i % 3]);
        if (i < 6)
            attention_case_plan_boolean(&test, 1, 1, rows, keys[i % 3]);
        else
            attention_case_plan_bias(&test, 1, 1, rows, keys[i % 3]);
        allocate_and_fill(&test);
        for (int64_t k = 0; k < test.boolean.count + test.bias.count; k++) {
            bool is_seen = p05_is_seen(k / keys[i % 3], k % keys[i % 3], keys[i % 3]);
            if (i < 6)
                test.boolean.values[k] = is_seen;
            else
                test.bias.values[k] = is_seen ? 0.5 : -INFINITY;
        }
        check_everywhere(&test);
        attention_case_destroy(&test);
    }
}

/* Scores that rise or fall along a long row: maxima of parts of the keys differ by much. */
static void p05_maxima_that_differ_along_the_keys(void **state)
{
    (void)state;
    for (int64_t queries = 1; queries <= 3; queries++)
        for (int direction = -1; direction <= 1; direction += 2) {
            struct attention_case test;
            plan_one_head(&test, queries, 7000);
            attention_case_plan_bias(&test, 1, 1, 1, 7000);
            allocate_and_fill(&test);
            for (int64_t k = 0; k < 7000; k++)
                test.bias.values[k] = direction * (double)(k / 10) * 0.125;
            check_everywhere(&test);
            attention_case_destroy(&test);
        }
}

static void assert_uniform(const struct attention_case *test)
{
    double share = 1.0 / (double)test->sizes.keys;
    for (int64_t i = 0; i < test->attention.count; i++)
        if (!(fabs(test->attention.values[i] - share) <= 4.0 * 0x1p-24 * share))
            fail_msg("attention %d is %g, not %g", (int)i, test->attention.values[i], share);
}

static void p06_a_row_of_finite_hidden_values_is_uniform(void **state)
{
    (void)state;
    const double hidden[] = {-1e9, -1e30, -65504.0, -(double)FLT_MAX, -20000.0, -10000.0};
    for (int i = 0; i < 6; i++) {
        struct attention_case test;
        plan_one_head(&test, 3, 300);
        attention_case_plan_bias(&test, 1, 1, 3, 300);
        allocate_and_fill(&test);
        set_all(&test.query, 0.0);
        set_all(&test.bias, hidden[i]);
        check_everywhere(&test);
        assert_uniform(&test);
        attention_case_destroy(&test);
    }
}

/* -1e9 and scores of ordinary size: the scores vanish in the rounding, the row is uniform all the same. */
static void p06_hidden_values_swallow_ordinary_scores(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 3, 77);
    attention_case_plan_bias(&test, 1, 1, 1, 77);
    allocate_and_fill(&test);
    set_all(&test.bias, -1e30);
    assert_ok(attention_case_run(&test, NULL));
    assert_uniform(&test);
    attention_case_destroy(&test);
}

/* The lowest float from the bias and again from the linear bias, or from the product itself: still the lowest float. So
 * with a dense bias, a boolean mask, both or neither. */
static void p06_sums_below_the_float_range_stay_finite(void **state)
{
    (void)state;
    for (int way = 0; way < 12; way++) {
        struct attention_case test;
        plan_one_head(&test, 2, 130);
        if (way % 3 == 0 || way / 3 % 2 == 0)
            attention_case_plan_bias(&test, 1, 1, 2, 130);
        if (way >= 6)
            attention_case_plan_boolean(&test, 1, 1, 1, 130);
        if (way % 3 < 2)
            test.slopes = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){1});
        test.has_offset = true;
        test.offset = 1000;
        allocate_and_fill(&test);
        set_all(&test.query, way % 3 == 2 ? 1e30 : 0.0);
        set_all(&test.key, way % 3 == 2 ? -1e30 : 0.0);
        set_all(&test.bias, way % 3 == 0 ? -(double)FLT_MAX : 0.0);
        set_all(&test.slopes, (double)FLT_MAX);
        set_all(&test.boolean, 1.0);
        for (int64_t i = 0; i < test.value.count; i++)
            test.value.values[i] = (double)(i % 8);
        assert_ok(attention_case_run(&test, NULL));
        assert_uniform(&test);
        for (int64_t i = 0; i < test.context.count; i++)
            assert_true(fabs(test.context.values[i] - (double)(i % 8)) < 1e-4);
        attention_case_destroy(&test);
    }
}

/* One visible key among hidden values: it takes all. */
static void p06_finite_hidden_values_lose_against_any_score(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 2, 600);
    attention_case_plan_bias(&test, 1, 1, 1, 600);
    allocate_and_fill(&test);
    set_all(&test.bias, -(double)FLT_MAX);
    test.bias.values[431] = 0.0;
    assert_ok(attention_case_run(&test, NULL));
    for (int64_t i = 0; i < test.attention.count; i++)
        assert_true(test.attention.values[i] == (i % 600 == 431 ? 1.0 : 0.0));
    attention_case_destroy(&test);
}

static void p07_softcap_does_not_let_hidden_keys_back_in(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct attention_case test;
        plan_one_head(&test, 3, 5);
        test.softcap = 2.0;
        if (way == 0)
            attention_case_plan_boolean(&test, 1, 1, 1, 5);
        else if (way < 3)
            attention_case_plan_bias(&test, 1, 1, 1, 5);
        test.causal = way == 3;
        allocate_and_fill(&test);
        test_tensor_set(&test.boolean, (const double[]){1, 0, 1, 1, 0});
        const double hidden = way == 1 ? -INFINITY : -1e9;
        test_tensor_set(&test.bias, (const double[]){0.0, hidden, 0.0, 0.0, hidden});
        check_everywhere(&test);
        assert_true(test.attention.values[4] == 0.0);
        attention_case_destroy(&test);
    }
}

static void p12_scores_of_minus_20000_throughout_are_uniform(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 3, 513);
    test.scale = 1.0;
    allocate_and_fill(&test);
    set_all(&test.query, 50.0);
    set_all(&test.key, -50.0);
    check_everywhere(&test);
    assert_uniform(&test);
    for (int64_t i = 0; i < 3; i++)
        assert_true(fabs(test.log_sum_exp.values[i] - (log(513.0) - 20000.0)) < 0.01);
    attention_case_destroy(&test);
}

static void p13_a_nan_or_infinite_score_spoils_its_own_row_only(void **state)
{
    (void)state;
    for (int way = 0; way < 5; way++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){2, 2, 1, 40, 300, 16, 8});
        attention_case_plan_bias(&test, 2, 2, 40, 300);
        allocate_and_fill(&test);
        const int64_t row = (1 * 2 + 0) * 40 + 17;
        if (way == 0)
            test.query.values[row * 16 + 3] = NAN;
        if (way == 1)
            test.bias.values[row * 300 + 280] = NAN;
        if (way == 2)
            test.bias.values[row * 300 + 3] = INFINITY;
        if (way == 3)
            for (int64_t d = 0; d < 16; d++)
                test.query.values[row * 16 + d] = test.key.values[(300 + 211) * 16 + d] > 0.0 ? 3e38 : -3e38;
        if (way == 3)
            for (int64_t d = 0; d < 16; d++)
                test.key.values[(300 + 211) * 16 + d] *= 40.0;
        if (way == 4)
            test.query.values[row * 16 + 3] = INFINITY;
        assert_ok(attention_case_run(&test, NULL));
        for (int64_t i = 0; i < 160 * 8; i++)
            assert_true(isnan(test.context.values[i]) == (i / 8 == row));
        assert_row_is_nan(&test, row);
        /* With infinite products the sums depend on their order; the other ways are plain. */
        if (way < 3)
            check_everywhere(&test);
        attention_case_destroy(&test);
    }
}

/* A NaN key: rows that see it are NaN, rows from which it is hidden are not. */
static void p13_a_nan_key_spoils_the_rows_that_see_it(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct attention_case test;
        plan_one_head(&test, 200, 200);
        test.causal = way == 0;
        if (way == 1)
            attention_case_plan_boolean(&test, 1, 1, 200, 200);
        test.has_window = way == 2;
        test.window_left = 20;
        test.window_right = 3;
        allocate_and_fill(&test);
        test.key.values[90 * 8] = NAN;
        check_everywhere(&test);
        attention_case_destroy(&test);
    }
}

/* A NaN or infinite value reaches its own column of the rows that see its key, and nothing else. */
static void p13_a_nan_value_spoils_its_column_of_the_rows_that_see_it(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct attention_case test;
        plan_one_head(&test, way == 3 ? 1 : 200, 200);
        test.causal = way == 0;
        if (way == 1)
            attention_case_plan_boolean(&test, 1, 1, 200, 200);
        test.has_window = way == 2;
        test.window_left = 20;
        test.window_right = 3;
        allocate_and_fill(&test);
        test.value.values[90 * 8 + 5] = NAN;
        test.value.values[91 * 8 + 2] = INFINITY;
        check_everywhere(&test);
        attention_case_destroy(&test);
    }
}

#if defined(__SSE__)
static unsigned control_bits(void)
{
    return _mm_getcsr() & ~0x3fu; /* all but the flags of what has happened */
}

static void set_control_bits(unsigned bits)
{
    _mm_setcsr(bits);
}
#else
static unsigned control_bits(void)
{
    return (unsigned)fegetround();
}

static void set_control_bits(unsigned bits)
{
    fesetround((int)bits);
}
#endif

static void p14_far_scores_weigh_exactly_nothing(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 1, 8);
    attention_case_plan_bias(&test, 1, 1, 1, 8);
    allocate_and_fill(&test);
    set_all(&test.query, 0.0);
    test_tensor_set(&test.bias, (const double[]){0.0, -104.0, -150.0, -1e4, -88.0, -95.0, -103.0, -3e38});
    check_everywhere(&test);
    assert_true(test.attention.values[1] == 0.0 && test.attention.values[2] == 0.0);
    assert_true(test.attention.values[3] == 0.0 && test.attention.values[7] == 0.0);
    attention_case_destroy(&test);
}

static void p14_the_floating_point_environment_is_kept(void **state)
{
    (void)state;
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
    unsigned original = control_bits();
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    for (int i = 0; i < 6; i++) {
        struct attention_case test;
        plan_one_head(&test, 70, 300);
        allocate_and_fill(&test);
        fesetround(modes[i % 3]);
#if defined(__SSE__)
        if (i >= 3)
            set_control_bits(control_bits() | 0x8040u); /* flush to zero, denormals are zero */
#endif
        unsigned before = control_bits();
        attnzoo_status status = attention_case_run(&test, i % 2 == 0 ? executor : NULL);
        unsigned after = control_bits();
        int rounding = fegetround();
        set_control_bits(original);
        fesetround(FE_TONEAREST);
        assert_ok(status);
        assert_int_equal(before, after);
        assert_int_equal(rounding, modes[i % 3]);
        attention_case_destroy(&test);
    }
    attnzoo_executor_destroy(executor);
}

static void p15_a_million_equal_scores(void **state)
{
    (void)state;
    for (int64_t queries = 1; queries <= 3; queries += 2) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){1, 1, 1, queries, 1000000, 1, 1});
        attention_case_allocate(&test);
        set_all(&test.query, 1.0);
        set_all(&test.key, 0.25);
        set_all(&test.value, 3.0);
        assert_ok(attention_case_run(&test, NULL));
        for (int64_t i = 0; i < test.attention.count; i++)
            if (!(fabs(test.attention.values[i] - 1e-6) <= 4.0 * 0x1p-23 * 1e-6))
                fail_msg("attention %d is %.9g", (int)i, test.attention.values[i]);
        for (int64_t i = 0; i < queries; i++) {
            assert_true(fabs(test.context.values[i] - 3.0) <= 1e-4);
            assert_true(fabs(test.log_sum_exp.values[i] - (0.25 + log(1e6))) <= 4.0 * 0x1p-23 * 14.0);
        }
        attention_case_destroy(&test);
    }
}

/* Both paths are held to the same reference; here they are also held against each other. */
static void p16_asking_for_the_attention_does_not_change_the_context(void **state)
{
    (void)state;
    const int64_t queries[] = {1, 90, 300};
    for (int i = 0; i < 3; i++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){1, 4, 2, queries[i], 700, 64, 80});
        test.causal = true;
        allocate_and_fill(&test);
        check(&test);
        double *with = test.context.values;
        test.context.values = calloc((size_t)test.context.count, sizeof(double));
        struct test_tensor attention = test.attention;
        test.attention = (struct test_tensor){0};
        check(&test);
        for (int64_t k = 0; k < test.context.count; k++)
            assert_true(fabs(with[k] - test.context.values[k]) <= 1e-5);
        free(with);
        test.attention = attention;
        attention_case_destroy(&test);
    }
}

static void p17_a_nan_query_gives_nan_not_zeros(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 4, 600);
    attention_case_plan_boolean(&test, 1, 1, 4, 600);
    allocate_and_fill(&test);
    for (int64_t i = 0; i < 2 * 600; i++)
        test.boolean.values[i] = 0.0;
    test.query.values[1 * 8 + 2] = NAN; /* sees nothing: zeros */
    test.query.values[2 * 8 + 2] = NAN; /* sees something: NaN */
    check_everywhere(&test);
    assert_row_is_empty(&test, 0);
    assert_row_is_empty(&test, 1);
    assert_row_is_nan(&test, 2);
    assert_true(isfinite(test.context.values[3 * 8]));
    attention_case_destroy(&test);
}

static void p18_causal_with_a_lower_band(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 600, 600);
    test.causal = true;
    test.has_window = true;
    test.window_left = 10;
    test.window_right = -1;
    allocate_and_fill(&test);
    check_everywhere(&test);
    attention_case_destroy(&test);
}

static void p19_padding_and_causal_intersect(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 7, 7);
    test.causal = true;
    attention_case_plan_boolean(&test, 1, 1, 1, 7);
    allocate_and_fill(&test);
    test_tensor_set(&test.boolean, (const double[]){0, 1, 1, 0, 0, 1, 0});
    check_everywhere(&test);
    assert_attention_pattern(
        &test, 0, 0, (const char *[]){".......", ".x.....", ".xx....", ".xx....", ".xx....", ".xx..x.", ".xx..x."});
    assert_row_is_empty(&test, 0);
    attention_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p05_tiles_hidden_whole_before_and_after_visible_ones),
        cmocka_unit_test(p05_maxima_that_differ_along_the_keys),
        cmocka_unit_test(p06_a_row_of_finite_hidden_values_is_uniform),
        cmocka_unit_test(p06_hidden_values_swallow_ordinary_scores),
        cmocka_unit_test(p06_sums_below_the_float_range_stay_finite),
        cmocka_unit_test(p06_finite_hidden_values_lose_against_any_score),
        cmocka_unit_test(p07_softcap_does_not_let_hidden_keys_back_in),
        cmocka_unit_test(p12_scores_of_minus_20000_throughout_are_uniform),
        cmocka_unit_test(p13_a_nan_or_infinite_score_spoils_its_own_row_only),
        cmocka_unit_test(p13_a_nan_key_spoils_the_rows_that_see_it),
        cmocka_unit_test(p13_a_nan_value_spoils_its_column_of_the_rows_that_see_it),
        cmocka_unit_test(p14_far_scores_weigh_exactly_nothing),
        cmocka_unit_test(p14_the_floating_point_environment_is_kept),
        cmocka_unit_test(p15_a_million_equal_scores),
        cmocka_unit_test(p16_asking_for_the_attention_does_not_change_the_context),
        cmocka_unit_test(p17_a_nan_query_gives_nan_not_zeros),
        cmocka_unit_test(p18_causal_with_a_lower_band),
        cmocka_unit_test(p19_padding_and_causal_intersect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
