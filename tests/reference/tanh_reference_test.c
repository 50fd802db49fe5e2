/*
 * tests/reference/tanh_reference_test.c: the references of additive and location_aware against small numbers that were
 * worked out by hand, so that they are not trusted merely because they agree with what they check.
 */
#include "reference/location_aware.h"
#include "support/testing.h"

#include <math.h>

static void assert_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12 * fmax(1.0, fabs(expected)))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static const double ZEROS[9];
static const double VALUES[] = {8.0, 80.0, -16.0, 1.0, 2.0};
static const double ONE[] = {1.0};
static const double TAPS[] = {1.0, 2.0, 3.0};

/* One head of A = 1 without projections: score = score_weight * tanh(q + k). */
static struct reference_additive plain(int64_t queries, int64_t keys)
{
    return (struct reference_additive){.mask = {.batch = 1,
                                                .heads = 1,
                                                .key_heads = 1,
                                                .queries = queries,
                                                .keys = keys,
                                                .value_size = 1,
                                                .window_left = -1,
                                                .window_right = -1},
                                       .attention_size = 1,
                                       .query = ZEROS,
                                       .key = ZEROS,
                                       .value = VALUES,
                                       .query_proj = {.inputs = 1, .outputs = 1},
                                       .key_proj = {.inputs = 1, .outputs = 1},
                                       .value_proj = {.inputs = 1, .outputs = 1},
                                       .score_weight = ONE,
                                       .sharpening = 1.0};
}

/* tanh(atanh(1/2)) log 9 is log 3: weights 1/4 and 3/4. */
static void scores_are_weighted_tangents(void **state)
{
    (void)state;
    struct reference_additive problem = plain(1, 2);
    problem.query = (const double[]){1.0};
    problem.key = (const double[]){-3.0, atanh(0.5) - 3.0};
    problem.bias = (const double[]){2.0};
    problem.score_weight = (const double[]){log(9.0)};
    problem.score_bias = 7.0;
    struct reference_result result = reference_additive_compute(&problem);
    assert_near(result.attention[0], 0.25);
    assert_near(result.attention[1], 0.75);
    assert_near(result.context[0], 62.0);
    assert_true(result.context_bound[0] > 0.0 && result.context_bound[0] < 1e-3);
    reference_result_destroy(&result);
}

/* Sharpening multiplies the score, its bias too, but not the mask's: 2 (log 3 + c) + log 5 against 2 c. */
static void sharpening_comes_before_biases(void **state)
{
    (void)state;
    struct reference_additive problem = plain(1, 2);
    problem.key = (const double[]){0.0, atanh(0.5)};
    problem.score_weight = (const double[]){log(9.0)};
    problem.score_bias = 7.0;
    problem.sharpening = 2.0;
    problem.mask.bias = (struct reference_dense){(const double[]){0.0, log(5.0)}, {0, 0, 0, 1}};
    struct reference_result result = reference_additive_compute(&problem);
    assert_near(result.attention[0], 1.0 / 46.0);
    reference_result_destroy(&result);
}

static void layers_are_x_times_w_transposed(void **state)
{
    (void)state;
    const struct reference_layer layer = {
        .weight = (const double[]){1, 2, 3, 4, 5, 6}, .bias = (const double[]){100, 200}, .inputs = 3, .outputs = 2};
    struct reference_bounded result = reference_project(&layer, (const double[]){1, 10, 100, -1, 0, 1}, 2);
    const double expected[] = {421, 854, 102, 202};
    for (int i = 0; i < 4; i++)
        assert_near(result.value[i], expected[i]);
    assert_true(result.bound[0] > 0.0 && result.bound[0] < 1e-3);
    reference_bounded_destroy(&result);
}

/* alpha_0 is 1 at the first key. */
static struct reference_location_aware located(int64_t queries, int64_t keys)
{
    return (struct reference_location_aware){
        .model = plain(queries, keys), .filters = 1, .width = 3, .conv_weight = TAPS, .initial = REFERENCE_FIRST};
}

static void assert_attention(const struct reference_location_aware *problem, const double *scores)
{
    int64_t keys = problem->model.mask.keys;
    struct reference_alignment alignment = reference_alignment_create(1, problem->model.mask.heads, keys);
    struct reference_result result = reference_location_aware_compute(problem, &alignment);
    double sum = 0.0;
    for (int64_t j = 0; j < keys; j++)
        sum += exp(scores[j]);
    for (int64_t j = 0; j < keys; j++)
        assert_near(result.attention[j], exp(scores[j]) / sum);
    reference_result_destroy(&result);
    reference_alignment_destroy(&alignment);
}

/* f_j = C_0 alpha_(j-1) + C_1 alpha_j + C_2 alpha_(j+1). */
static void the_convolution_is_a_correlation(void **state)
{
    (void)state;
    struct reference_location_aware problem = located(1, 4);
    assert_attention(&problem, (const double[]){tanh(2.0), tanh(1.0), 0.0, 0.0});
    problem.conv_bias = (const double[]){0.5};
    problem.proj_weight = (const double[]){-2.0};
    problem.proj_bias = (const double[]){3.0};
    assert_attention(&problem, (const double[]){tanh(-2.0), tanh(0.0), tanh(2.0), tanh(2.0)});
    problem.has_tanh = true;
    assert_attention(&problem, (const double[]){tanh(tanh(-2.0)), 0.0, tanh(tanh(2.0)), tanh(tanh(2.0))});
}

/* Channels: the heads' alignments, then their sums. At the first step both are alpha_0. */
static void channels_are_heads_and_then_sums(void **state)
{
    (void)state;
    struct reference_location_aware problem = located(1, 3);
    problem.model.mask.heads = 2;
    problem.model.query_proj.inputs = problem.model.query_proj.outputs = 2;
    problem.feedback = REFERENCE_BOTH;
    problem.width = 1;
    problem.conv_weight = (const double[]){0.125, 0.25, 0.5, 1.0};
    /* Head 1 sees not the first key, so that alpha_0 of it is all zero. */
    problem.model.mask.boolean = (struct reference_dense){(const double[]){1, 1, 1, 0, 1, 1}, {0, 3, 0, 1}};
    assert_attention(&problem, (const double[]){tanh(0.625), 0.0, 0.0});
}

/* Step 2 of 1 + 1: the alignment is that of step 1, the sum one more. */
static void the_alignment_is_carried_on(void **state)
{
    (void)state;
    for (enum reference_feedback feedback = REFERENCE_PREVIOUS; feedback <= REFERENCE_CUMULATIVE; feedback++) {
        struct reference_location_aware problem = located(1, 2);
        problem.feedback = feedback;
        problem.width = 1;
        problem.conv_weight = (const double[]){1.0};
        struct reference_alignment alignment = reference_alignment_create(1, 1, 2);
        struct reference_result first = reference_location_aware_compute(&problem, &alignment);
        double alpha = exp(tanh(1.0)) / (exp(tanh(1.0)) + 1.0);
        assert_near(first.attention[0], alpha);
        assert_near(alignment.alignment.value[0], alpha);
        assert_near(alignment.cumulative.value[0], alpha + 1.0);
        struct reference_result second = reference_location_aware_compute(&problem, &alignment);
        double seen = feedback == REFERENCE_PREVIOUS ? alpha : alpha + 1.0;
        double ratio = exp(tanh(seen) - tanh(1.0 - alpha));
        assert_near(second.attention[0], ratio / (1.0 + ratio));
        assert_true(second.attention_bound[0] > first.attention_bound[0]);
        reference_result_destroy(&first);
        reference_result_destroy(&second);
        reference_alignment_destroy(&alignment);
    }
}

static void smoothing_is_sigmoids_over_their_sum(void **state)
{
    (void)state;
    struct reference_location_aware problem = located(1, 2);
    problem.initial = REFERENCE_ZEROS;
    problem.smoothing = true;
    problem.model.mask.bias = (struct reference_dense){(const double[]){0.0, log(3.0)}, {0, 0, 0, 1}};
    assert_attention(&problem, (const double[]){log(2.0), log(3.0)});
}

static void the_window_is_around_the_most_likely_key(void **state)
{
    (void)state;
    struct reference_location_aware problem = located(1, 5);
    problem.initial = REFERENCE_UNIFORM;
    problem.window = 1;
    problem.conv_weight = (const double[]){0.0, 0.0, 0.0};
    assert_attention(&problem, (const double[]){0.0, 0.0, -INFINITY, -INFINITY, -INFINITY});
    problem.model.mask.boolean = (struct reference_dense){(const double[]){0, 0, 1, 1, 1}, {0, 0, 0, 1}};
    assert_attention(&problem, (const double[]){-INFINITY, -INFINITY, 0.0, 0.0, -INFINITY});
    problem.initial = REFERENCE_ZEROS;
    assert_attention(&problem, (const double[]){-INFINITY, -INFINITY, 0.0, 0.0, 0.0});
    /* Two keys that rounding may put in either order: nothing is promised. */
    struct reference_alignment alignment = reference_alignment_create(1, 1, 5);
    alignment.is_fresh = false;
    alignment.alignment.value[2] = 0.5;
    alignment.alignment.value[4] = 0.5 - 1e-8;
    alignment.alignment.bound[4] = 1e-7;
    struct reference_result result = reference_location_aware_compute(&problem, &alignment);
    assert_true(isinf(result.attention_bound[2]) && alignment.is_uncertain[0]);
    reference_result_destroy(&result);
    reference_alignment_destroy(&alignment);
}

static void steps_that_see_nothing_are_zero(void **state)
{
    (void)state;
    struct reference_location_aware problem = located(2, 2);
    problem.model.mask.query_lengths = (const double[]){1.0};
    struct reference_alignment alignment = reference_alignment_create(1, 1, 2);
    struct reference_result result = reference_location_aware_compute(&problem, &alignment);
    assert_near(result.attention[0] + result.attention[1], 1.0);
    assert_near(result.attention[2], 0.0);
    assert_near(result.context[1], 0.0);
    assert_near(alignment.alignment.value[0], 0.0);
    assert_near(alignment.cumulative.value[0], 1.0 + result.attention[0]);
    reference_result_destroy(&result);
    reference_alignment_destroy(&alignment);
}

static void bounds_have_the_size_that_their_derivation_says(void **state)
{
    (void)state;
    const double u = 0x1p-24;
    /* Slope 1 - 1/4 at y = 1/2, and 4 u of it. */
    double error = rounding_of_tanh(0.5, u);
    assert_true(error > 2.74 * u && error < 2.76 * u);
    error = rounding_of_tanh_sum(2, 1.0);
    assert_true(error > 4.99 * u && error < 5.01 * u);
    /* sigmoid(0) = 1/2 of the error, and 8 u log 2. */
    error = rounding_of_log_sigmoid(0.0, -log(2.0), 2.0 * u);
    assert_true(error > 6.53 * u && error < 6.56 * u);
    error = rounding_of_location(2, 3, 1.0, 5.0 * u);
    assert_true(error > 13.99 * u && error < 14.01 * u);
    /* 2 beta |w U| max |C|. */
    struct reference_location_aware problem = located(1, 4);
    assert_near(reference_location_aware_growth(&problem), 6.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_weighted_tangents),
        cmocka_unit_test(sharpening_comes_before_biases),
        cmocka_unit_test(layers_are_x_times_w_transposed),
        cmocka_unit_test(the_convolution_is_a_correlation),
        cmocka_unit_test(channels_are_heads_and_then_sums),
        cmocka_unit_test(the_alignment_is_carried_on),
        cmocka_unit_test(smoothing_is_sigmoids_over_their_sum),
        cmocka_unit_test(the_window_is_around_the_most_likely_key),
        cmocka_unit_test(steps_that_see_nothing_are_zero),
        cmocka_unit_test(bounds_have_the_size_that_their_derivation_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
