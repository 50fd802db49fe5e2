/*
 * tests/reference/multi_head_reference_test.c: the reference of the mechanisms with projected heads against small
 * numbers that were worked out by hand.
 */
#include "reference/multi_head.h"
#include "reference/rounding.h"
#include "support/testing.h"

#include <math.h>

static void assert_all_near(const double *got, const double *expected, int count)
{
    for (int i = 0; i < count; i++)
        if (fabs(got[i] - expected[i]) > 1e-12 * fmax(1.0, fabs(expected[i])))
            fail_msg("number %d: got %.17g, expected %.17g", i, got[i], expected[i]);
}

static const double ONE[] = {1.0};

/* One head of size 1 on numbers of one feature, projected by factors of 1. */
static struct reference_multi_head plain(int64_t queries, int64_t keys)
{
    struct reference_linear same = {.weight = ONE, .inputs = 1, .outputs = 1};
    return (struct reference_multi_head){.core = {.batch = 1,
                                                  .heads = 1,
                                                  .key_heads = 1,
                                                  .queries = queries,
                                                  .keys = keys,
                                                  .head_size = 1,
                                                  .value_size = 1,
                                                  .scale = 1.0,
                                                  .window_left = -1,
                                                  .window_right = -1},
                                         .query_proj = same,
                                         .key_proj = same,
                                         .value_proj = same};
}

/* With one key the context is its value: [1, 2] through a layer of two outputs a head, for two heads, joined as
 * [head 0, head 1], then through out_proj. */
static void layers_are_x_w_transposed_plus_b(void **state)
{
    (void)state;
    struct reference_multi_head problem = plain(1, 1);
    problem.core.heads = problem.core.key_heads = 2;
    problem.core.value_size = 2;
    problem.query = problem.key = ONE;
    problem.query_proj = problem.key_proj =
        (struct reference_linear){.weight = (double[]){1.0, 1.0}, .inputs = 1, .outputs = 2};
    problem.value = (double[]){1.0, 2.0};
    problem.value_proj = (struct reference_linear){
        .weight = (double[]){1, 0, 0, 1, 1, 1, 1, -1}, .bias = (double[]){0, 0, 0, 0.5}, .inputs = 2, .outputs = 4};
    struct reference_multi_head_result result = reference_multi_head_compute(&problem);
    assert_all_near(result.context, (double[]){1.0, 2.0, 3.0, -0.5}, 4);
    reference_multi_head_result_destroy(&result);
    problem.out_proj = (struct reference_linear){
        .weight = (double[]){1, 10, 100, 1000, 1, 1, 1, 1}, .bias = (double[]){0, 7}, .inputs = 4, .outputs = 2};
    result = reference_multi_head_compute(&problem);
    assert_all_near(result.context, (double[]){-179.0, 12.5}, 2);
    assert_true(result.context_bound[0] > 0.0 && result.context_bound[0] < 1e-2);
    reference_multi_head_result_destroy(&result);
}

/* Query 0, so that every score is 0 and each key weighs the same: heads 0 and 1 see two keys and one key. */
static void attention_is_averaged_over_heads(void **state)
{
    (void)state;
    struct reference_multi_head problem = plain(1, 2);
    problem.core.heads = 2;
    problem.query = (double[]){0.0};
    problem.key = problem.value = (double[]){1.0, 3.0};
    problem.query_proj = (struct reference_linear){.weight = (double[]){1.0, 1.0}, .inputs = 1, .outputs = 2};
    problem.core.boolean = (struct reference_dense){(double[]){1, 1, 0, 1}, {0, 2, 0, 1}};
    problem.averages_heads = true;
    struct reference_multi_head_result result = reference_multi_head_compute(&problem);
    assert_all_near(result.attention, (double[]){0.25, 0.75}, 2);
    assert_all_near(result.context, (double[]){2.0, 3.0}, 2);
    reference_multi_head_result_destroy(&result);
}

/* N = 2, M = 3: query 0 stands at 1, query 1 at 2. Row p is the distance 2 - p from query to key, so query 0 meets rows
 * 1, 2, 3 and query 1 rows 0, 1, 2. Rows hold logarithms, so that weights are whole numbers. */
static void a_row_of_positions_is_a_distance(void **state)
{
    (void)state;
    struct reference_multi_head problem = plain(2, 3);
    problem.flavor = REFERENCE_TRANSFORMER_XL;
    problem.query = (double[]){1.0, 2.0};
    problem.key = (double[]){0.0, 0.0, 0.0};
    problem.value = (double[]){1.0, 10.0, 100.0};
    problem.position = (double[]){log(1.0), log(2.0), log(3.0), log(5.0)};
    problem.position_batch = 1;
    problem.position_rows = 4;
    problem.pos_proj = problem.query_proj;
    struct reference_multi_head_result result = reference_multi_head_compute(&problem);
    /* exp of the row once for query 1, squared for query 2. */
    assert_all_near(result.attention, (double[]){0.2, 0.3, 0.5, 1.0 / 14, 4.0 / 14, 9.0 / 14}, 6);
    assert_all_near(result.context, (double[]){53.2, 941.0 / 14}, 2);
    reference_multi_head_result_destroy(&result);
    /* v = 1 counts with positions alone, u = -1 with keys alone. */
    problem.v_bias = ONE;
    problem.query = (double[]){0.0, 1.0};
    problem.u_bias = (double[]){-1.0};
    problem.key = (double[]){0.0, log(2.0), 0.0};
    result = reference_multi_head_compute(&problem);
    assert_all_near(result.attention, (double[]){2 / 8.5, 1.5 / 8.5, 5 / 8.5, 1.0 / 14, 4.0 / 14, 9.0 / 14}, 6);
    reference_multi_head_result_destroy(&result);
}

/* N = 2, M = 3, k = 1: query 0 at 1 meets distances -1, 0, 1, query 1 at 2 meets -2 and -1, both clipped to -1, and 0.
 */
static void distances_are_clipped(void **state)
{
    (void)state;
    struct reference_multi_head problem = plain(2, 3);
    problem.flavor = REFERENCE_SHAW;
    problem.farthest = 1;
    problem.query = (double[]){1.0, 1.0};
    problem.key = (double[]){0.0, 0.0, 0.0};
    problem.value = (double[]){1.0, 10.0, 100.0};
    problem.relative_key = (double[]){log(2.0), log(3.0), log(5.0)};
    struct reference_multi_head_result result = reference_multi_head_compute(&problem);
    assert_all_near(result.attention, (double[]){0.2, 0.3, 0.5, 2.0 / 7, 2.0 / 7, 3.0 / 7}, 6);
    assert_all_near(result.context, (double[]){53.2, 322.0 / 7}, 2);
    reference_multi_head_result_destroy(&result);
    problem.relative_value = (double[]){7.0, 0.0, -2.0};
    result = reference_multi_head_compute(&problem);
    assert_all_near(result.context, (double[]){53.2 + 1.4 - 1.0, 322.0 / 7 + 4.0}, 2);
    reference_multi_head_result_destroy(&result);
}

/* One key kept, two new ones, of which the second lies beyond the length: it is kept as 0. */
static void past_keys_come_first_and_padded_ones_are_zeros(void **state)
{
    (void)state;
    struct reference_multi_head problem = plain(1, 3);
    problem.past = 1;
    problem.past_key = (double[]){5.0};
    problem.past_value = (double[]){6.0};
    problem.key = (double[]){3.0, NAN};
    problem.value = (double[]){4.0, 8.0};
    problem.query = (double[]){0.0};
    problem.is_cached = true;
    problem.core.key_lengths = (double[]){2.0};
    struct reference_multi_head_result result = reference_multi_head_compute(&problem);
    assert_all_near(result.key, (double[]){5.0, 3.0, 0.0}, 3);
    assert_all_near(result.value, (double[]){6.0, 4.0, 0.0}, 3);
    assert_all_near(result.attention, (double[]){0.5, 0.5, 0.0}, 3);
    assert_all_near(result.context, (double[]){5.0}, 1);
    assert_true(result.key_bound[0] == 0.0 && result.key_bound[1] > 0.0 && result.key_bound[2] == 0.0);
    reference_multi_head_result_destroy(&result);
}

static void bounds_have_the_size_that_their_derivation_says(void **state)
{
    (void)state;
    const double u = 0x1p-24;
    double error = rounding_of_linear(6, 2.0, 0.0);
    assert_true(error > 15.99 * u && error < 16.01 * u);
    assert_true(rounding_of_linear(6, 2.0, 1.0) > 1.0);
    /* A query off by 1 u and a key off by 2 u, 3 . 5: 5 u + 6 u beyond the rounding of the product. */
    struct score_parts exact = {.terms = 1, .product_magnitude = 15.0, .product = 15.0, .capped = 15.0};
    struct score_parts off = exact;
    off.product_error = 11.0 * u;
    double more = rounding_of_score(&off) - rounding_of_score(&exact);
    assert_true(more > 10.99 * u && more < 11.01 * u);
    double average = rounding_of_average(2, 0.5, u);
    assert_true(average > 2.99 * u && average < 3.01 * u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_x_w_transposed_plus_b),
        cmocka_unit_test(attention_is_averaged_over_heads),
        cmocka_unit_test(a_row_of_positions_is_a_distance),
        cmocka_unit_test(distances_are_clipped),
        cmocka_unit_test(past_keys_come_first_and_padded_ones_are_zeros),
        cmocka_unit_test(bounds_have_the_size_that_their_derivation_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
