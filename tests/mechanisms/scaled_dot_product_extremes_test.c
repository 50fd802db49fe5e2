/*
 * tests/mechanisms/scaled_dot_product_extremes_test.c: scores at and beyond the ends of the float range, and NaN, where
 * a shortcut in the library could lose them. Pitfalls with a number are in the *_pitfalls_test.c files.
 */
#include "mechanisms/pitfalls.h"

#include <math.h>

/* A BLAS may skip a product that a scale of 0 multiplies, NaN and all. */
static void a_scale_of_zero_does_not_lose_nan(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 3, 40);
    test.scale = 0.0;
    allocate_and_fill(&test);
    check_everywhere(&test);
    test.query.values[1 * 8 + 5] = NAN;
    assert_ok(attention_case_run(&test, NULL));
    assert_row_is_nan(&test, 1);
    for (int64_t i = 0; i < 8; i++)
        assert_true(!isnan(test.context.values[i]) && !isnan(test.context.values[16 + i]));
    attention_case_destroy(&test);
}

/* The whole row of the attention, keys that are hidden from it included. */
static void a_row_with_nan_is_nan_in_hidden_places_too(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 600, 600);
    test.causal = true;
    allocate_and_fill(&test);
    test.query.values[200 * 8] = NAN;
    assert_ok(attention_case_run(&test, NULL));
    for (int64_t key = 0; key < 600; key++) {
        assert_true(isnan(test.attention.values[200 * 600 + key]));
        assert_true(!isnan(test.attention.values[199 * 600 + key]));
        assert_true(!isnan(test.attention.values[201 * 600 + key]));
    }
    attention_case_destroy(&test);
}

/* Products below the float range, beside keys that a dense mask or a causal one hides: the rest is uniform. */
static void scores_below_the_range_are_uniform_under_masks(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct attention_case test;
        plan_one_head(&test, 2, 130);
        if (way == 0)
            attention_case_plan_boolean(&test, 1, 1, 1, 130);
        test.causal = way == 1;
        if (way == 2)
            test.segments = test_tensor_plan(ATTNZOO_DTYPE_INT32, 1, (int64_t[]){130});
        allocate_and_fill(&test);
        set_all(&test.query, 1e30);
        set_all(&test.key, -1e30);
        for (int64_t key = 0; key < 130; key++) {
            if (way == 0)
                test.boolean.values[key] = key >= 30;
            if (way == 2)
                test.segments.values[key] = key >= 30;
        }
        assert_ok(attention_case_run(&test, NULL));
        for (int64_t key = 0; key < 130; key++) {
            double want = way == 1 ? (key < 129 ? 1.0 / 129.0 : 0.0) : (key >= 30 ? 1.0 / 100.0 : 0.0);
            assert_true(fabs(test.attention.values[key] - want) <= 4.0 * 0x1p-24 * want);
        }
        attention_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scale_of_zero_does_not_lose_nan),
        cmocka_unit_test(a_row_with_nan_is_nan_in_hidden_places_too),
        cmocka_unit_test(scores_below_the_range_are_uniform_under_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
