/*
 * tests/reference/reference_test.c: the reference against small numbers that were worked out by hand, so that it is not
 * trusted merely because it agrees with what it checks.
 */
#include "reference/rounding.h"
#include "reference/scaled_dot_product.h"
#include "support/element.h"
#include "support/testing.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void assert_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12 * fmax(1.0, fabs(expected)))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static struct reference_problem no_mask(int64_t queries, int64_t keys)
{
    return (struct reference_problem){.batch = 1,
                                      .heads = 1,
                                      .key_heads = 1,
                                      .queries = queries,
                                      .keys = keys,
                                      .head_size = 1,
                                      .value_size = 1,
                                      .scale = 1.0,
                                      .window_left = -1,
                                      .window_right = -1};
}

/* Scores log 1, log 2, log 5 weigh 1/8, 2/8, 5/8. */
static void weights_are_exponentials_over_their_sum(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(1, 3);
    problem.query = (const double[]){2.0};
    problem.key = (const double[]){log(1.0), log(2.0), log(5.0)};
    problem.value = (const double[]){8.0, 80.0, -16.0};
    problem.scale = 0.5;
    struct reference_result result = reference_compute(&problem);
    assert_near(result.attention[0], 0.125);
    assert_near(result.attention[1], 0.25);
    assert_near(result.attention[2], 0.625);
    assert_near(result.context[0], 1.0 + 20.0 - 10.0);
    assert_near(result.log_sum_exp[0], log(8.0));
    assert_true(result.context_bound[0] > 0.0 && result.context_bound[0] < 1e-4);
    reference_result_destroy(&result);
}

/* Batches, grouped heads and Dv: with one key the context is that key's value, whatever the score. */
static void query_head_reads_key_head_h_over_group(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(1, 1);
    problem.batch = 2;
    problem.heads = 4;
    problem.key_heads = 2;
    problem.value_size = 2;
    problem.query = (const double[8]){0};
    problem.key = (const double[4]){0};
    problem.value = (const double[]){1, 2, 3, 4, 5, 6, 7, 8};
    const double expected[] = {1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 8, 7, 8};
    struct reference_result result = reference_compute(&problem);
    for (int i = 0; i < 16; i++)
        assert_near(result.context[i], expected[i]);
    reference_result_destroy(&result);
}

/* Softcap comes before biases: 2 tanh(x / 2) at x = 2 atanh(1/2) is 1, and the bias of log 3 makes 3 e out of e. */
static void softcap_comes_before_biases(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(1, 2);
    problem.query = (const double[]){1.0};
    problem.key = (const double[]){2.0 * atanh(0.5), 2.0 * atanh(0.5)};
    problem.value = (const double[]){1.0, 0.0};
    problem.softcap = 2.0;
    problem.bias = (struct reference_dense){(const double[]){log(3.0), 0.0}, {0, 0, 0, 1}};
    struct reference_result result = reference_compute(&problem);
    assert_near(result.context[0], 0.75);
    assert_near(result.log_sum_exp[0], 1.0 + log(4.0));
    reference_result_destroy(&result);
}

/* pattern: one string a query, x where it sees the key. */
static void assert_sees(const struct reference_problem *problem, const char *const *pattern)
{
    for (int64_t i = 0; i < problem->queries; i++)
        for (int64_t j = 0; j < problem->keys; j++)
            if (reference_sees(problem, 0, 0, i, j) != (pattern[i][j] == 'x'))
                fail_msg("query %d, key %d", (int)i, (int)j);
}

static void causal_follows_the_alignment(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(2, 5);
    problem.causal = true;
    assert_sees(&problem, (const char *[]){"xxxx.", "xxxxx"});
    problem.alignment = ATTNZOO_ALIGNMENT_TOP_LEFT;
    assert_sees(&problem, (const char *[]){"x....", "xx..."});
    problem.alignment = ATTNZOO_ALIGNMENT_LENGTHS;
    problem.key_lengths = (const double[]){3.0};
    assert_sees(&problem, (const char *[]){"xx...", "xxx.."});
    problem.query_lengths = (const double[]){1.0};
    assert_sees(&problem, (const char *[]){"xxx..", "....."});
    problem.offsets = (const double[]){-1.0};
    problem.query_lengths = NULL;
    assert_sees(&problem, (const char *[]){".....", "x...."});
    struct reference_problem tall = no_mask(5, 2);
    tall.causal = true;
    assert_sees(&tall, (const char *[]){"..", "..", "..", "x.", "xx"});
}

static void window_counts_from_the_position(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(4, 4);
    problem.window_left = 0;
    problem.window_right = 0;
    assert_sees(&problem, (const char *[]){"x...", ".x..", "..x.", "...x"});
    problem.window_left = 2;
    assert_sees(&problem, (const char *[]){"x...", "xx..", "xxx.", ".xxx"});
    problem.window_left = 1;
    problem.window_right = -1;
    assert_sees(&problem, (const char *[]){"xxxx", "xxxx", ".xxx", "..xx"});
}

static void dense_masks_and_segments_hide(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(2, 3);
    problem.boolean = (struct reference_dense){(const double[]){1.0, 0.0, 1.0}, {0, 0, 0, 1}};
    assert_sees(&problem, (const char *[]){"x.x", "x.x"});
    problem.bias = (struct reference_dense){(const double[]){-INFINITY, 0.0}, {0, 0, 1, 0}};
    assert_sees(&problem, (const char *[]){"...", "x.x"});
    struct reference_problem packed = no_mask(3, 3);
    packed.segments = (const double[]){4.0, 4.0, 7.0};
    assert_sees(&packed, (const char *[]){"xx.", "xx.", "..x"});
}

static void linear_bias_counts_the_distance(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(1, 3);
    problem.slopes = (const double[]){0.5};
    assert_near(reference_linear_bias(&problem, 0, 0, 0, 0), -1.0);
    assert_near(reference_linear_bias(&problem, 0, 0, 0, 2), 0.0);
    problem.alignment = ATTNZOO_ALIGNMENT_TOP_LEFT;
    assert_near(reference_linear_bias(&problem, 0, 0, 0, 2), -1.0);
}

static void rows_without_keys_are_zero_and_faults_stay_in_their_row(void **state)
{
    (void)state;
    struct reference_problem problem = no_mask(3, 2);
    problem.causal = true;
    problem.query = (const double[]){1.0, 1.0, 1.0};
    problem.key = (const double[]){0.0, NAN};
    problem.value = (const double[]){5.0, 6.0};
    struct reference_result result = reference_compute(&problem);
    assert_near(result.context[0], 0.0);
    assert_true(result.log_sum_exp[0] == -INFINITY);
    assert_near(result.attention[0], 0.0);
    assert_near(result.context[1], 5.0);
    assert_near(result.log_sum_exp[1], 0.0);
    assert_true(isnan(result.context[2]) && isnan(result.log_sum_exp[2]));
    assert_true(isnan(result.attention[4]) && isnan(result.attention[5]));
    reference_result_destroy(&result);
}

static void bounds_have_the_size_that_their_derivation_says(void **state)
{
    (void)state;
    const double u = 0x1p-24;
    assert_near(rounding_gamma(1.0) / u, 1.0 / (1.0 - u));
    /* D = 1, |s q k| = 1, no softcap, no biases: gamma(4), then gamma(3) of the score and its error. */
    struct score_parts parts = {.terms = 1, .product_magnitude = 1.0, .product = 1.0, .capped = 1.0};
    double error = rounding_of_score(&parts);
    assert_true(error > 6.99 * u && error < 7.01 * u);
    /* One key: T = 1, so 10 u, at a weight of 1. */
    double weight_error = rounding_of_weight(0.0, 0.0, 1);
    assert_true(weight_error > 9.99 * u && weight_error < 10.01 * u);
    /* A score far below the others with a large error of its own still weighs nothing. */
    assert_true(rounding_of_weight(-1e30, 1e23, 1) < 1e-30);
    struct row_rounding row = rounding_of_sum(1, 1.0, 0.0);
    assert_true(row.sum_relative > 0.99 * u && row.sum_relative < 1.01 * u);
}

static void elements_are_rounded_to_nearest_even(void **state)
{
    (void)state;
    static const struct {
        int32_t dtype;
        double value, rounded;
    } cases[] = {
        {ATTNZOO_DTYPE_FLOAT16, 1.0 + 0x1p-11, 1.0},  {ATTNZOO_DTYPE_FLOAT16, 1.0 + 3 * 0x1p-11, 1.0 + 0x1p-9},
        {ATTNZOO_DTYPE_FLOAT16, 65519.0, 65504.0},    {ATTNZOO_DTYPE_FLOAT16, 65520.0, INFINITY},
        {ATTNZOO_DTYPE_FLOAT16, 0x1p-25, 0.0},        {ATTNZOO_DTYPE_FLOAT16, 0x1.8p-24, 0x1p-23},
        {ATTNZOO_DTYPE_BFLOAT16, 1.0 + 0x1p-8, 1.0},  {ATTNZOO_DTYPE_BFLOAT16, -1.0 - 3 * 0x1p-8, -1.0 - 0x1p-6},
        {ATTNZOO_DTYPE_FLOAT32, 1.0 + 0x1p-24, 1.0},  {ATTNZOO_DTYPE_FLOAT32, 0x1p-149, 0x1p-149},
        {ATTNZOO_DTYPE_BFLOAT16, 0x1p-133, 0x1p-133}, {ATTNZOO_DTYPE_FLOAT16, -INFINITY, -INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char place[8];
        element_write(place, cases[i].dtype, cases[i].value);
        assert_true(element_read(place, cases[i].dtype) == cases[i].rounded);
    }
    unsigned char half[2];
    uint16_t half_bits = 0x3555; /* 0.333251953125 */
    memcpy(half, &half_bits, sizeof half);
    assert_true(element_read(half, ATTNZOO_DTYPE_FLOAT16) == 0.333251953125);
    half_bits = 0;
    element_write(half, ATTNZOO_DTYPE_FLOAT16, 1.0 / 3.0);
    memcpy(&half_bits, half, sizeof half);
    assert_int_equal(half_bits, 0x3555);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_exponentials_over_their_sum),
        cmocka_unit_test(query_head_reads_key_head_h_over_group),
        cmocka_unit_test(softcap_comes_before_biases),
        cmocka_unit_test(causal_follows_the_alignment),
        cmocka_unit_test(window_counts_from_the_position),
        cmocka_unit_test(dense_masks_and_segments_hide),
        cmocka_unit_test(linear_bias_counts_the_distance),
        cmocka_unit_test(rows_without_keys_are_zero_and_faults_stay_in_their_row),
        cmocka_unit_test(bounds_have_the_size_that_their_derivation_says),
        cmocka_unit_test(elements_are_rounded_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
