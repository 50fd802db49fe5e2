/*
 * tests/mechanisms/recurrence_pitfalls_test.c: known pitfalls of location_aware as a recurrence: what the first step
 * sees, what padding feeds, steps that see nothing, NaN from step to step. That keys are projected once is tested in
 * kept_keys_test.c.
 */
#include "support/output_copy.h"
#include "mechanisms/recurrence.h"
#include "support/tanh_part.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>

/* A convolution that only the first filter takes part in, with a score that follows it: tanh(alpha_(t-1)). */
static void score_the_alignment(struct tanh_case *test)
{
    for (int i = 0; i < TANH_PARAMETER_COUNT; i++)
        for (int64_t k = 0; k < test->parameters[i].count; k++)
            test->parameters[i].values[k] = 0.0;
    int64_t channels = test->parameters[TANH_CONV_WEIGHT].shape[1];
    for (int64_t c = 0; c < channels; c++)
        test->parameters[TANH_CONV_WEIGHT].values[c * test->sizes.width + test->sizes.width / 2] = 1.0;
    test->parameters[TANH_LOCATION_WEIGHT].values[0] = 1.0;
    test->parameters[TANH_SCORE_WEIGHT].values[0] = 1.0;
}

/* One head; M keys; the first step's attention is softmax(tanh(alpha_0)). */
static void check_first_step(enum reference_initial initial, const double *alpha, const bool *seen, int64_t keys)
{
    struct tanh_case test;
    struct tanh_sizes sizes = recurrence_sizes(1, 1, keys);
    sizes.heads = 1;
    for (enum reference_feedback feedback = REFERENCE_PREVIOUS; feedback <= REFERENCE_BOTH; feedback++) {
        recurrence_plan(&test, sizes, feedback);
        test.initial = initial;
        attention_case_plan_boolean(&test.call, 1, 1, 1, keys);
        tanh_case_allocate_and_fill(&test);
        score_the_alignment(&test);
        double sum = 0.0;
        /* With both, the two channels add up to twice the alignment. */
        double factor = feedback == REFERENCE_BOTH ? 2.0 : 1.0;
        for (int64_t j = 0; j < keys; j++) {
            test.call.boolean.values[j] = seen[j];
            sum += seen[j] ? exp(tanh(factor * alpha[j])) : 0.0;
        }
        tanh_case_check(&test, NULL);
        for (int64_t j = 0; j < keys; j++) {
            double expected = seen[j] ? exp(tanh(factor * alpha[j])) / sum : 0.0;
            assert_true(fabs(test.call.attention.values[j] - expected) < 1e-6);
        }
        tanh_case_destroy(&test);
    }
}

static void p38_the_first_step_sees_what_initial_says(void **state)
{
    (void)state;
    const bool all[] = {true, true, true, true};
    const bool some[] = {false, true, true, false};
    const double zeros[] = {0.0, 0.0, 0.0, 0.0};
    const double quarters[] = {0.25, 0.25, 0.25, 0.25};
    const double halves[] = {0.0, 0.5, 0.5, 0.0};
    const double first[] = {1.0, 0.0, 0.0, 0.0};
    check_first_step(REFERENCE_ZEROS, zeros, all, 4);
    check_first_step(REFERENCE_ZEROS, zeros, some, 4);
    check_first_step(REFERENCE_UNIFORM, quarters, all, 4);
    check_first_step(REFERENCE_UNIFORM, halves, some, 4);
    check_first_step(REFERENCE_FIRST, first, all, 4);
    /* Where the first key is hidden there is no first alignment. */
    check_first_step(REFERENCE_FIRST, zeros, some, 4);
}

/* Padded keys hold NaN; the same utterance without its padding gives the same. */
static void p38_padding_gets_no_weight_and_feeds_no_convolution(void **state)
{
    (void)state;
    for (enum reference_feedback feedback = REFERENCE_PREVIOUS; feedback <= REFERENCE_BOTH; feedback++) {
        struct tanh_case padded, bare;
        recurrence_plan(&padded, recurrence_sizes(1, 6, 40), feedback);
        recurrence_plan(&bare, recurrence_sizes(1, 6, 25), feedback);
        padded.initial = bare.initial = REFERENCE_UNIFORM;
        attention_case_plan_key_lengths(&padded.call);
        tanh_case_allocate_and_fill(&padded);
        tanh_case_allocate_and_fill(&bare);
        padded.call.key_lengths.values[0] = 25.0;
        for (int64_t i = 0; i < 40 * 4; i++)
            padded.call.key.values[i] = i < 25 * 4 ? bare.call.key.values[i] : (double)NAN;
        for (int64_t i = 0; i < 40 * 3; i++)
            padded.call.value.values[i] = i < 25 * 3 ? bare.call.value.values[i] : (double)NAN;
        memcpy(padded.call.query.values, bare.call.query.values, 6 * 5 * sizeof(double));
        for (int i = 0; i < TANH_PARAMETER_COUNT; i++)
            test_tensor_set(&padded.parameters[i], bare.parameters[i].values);
        tanh_case_check(&padded, NULL);
        tanh_case_check(&bare, NULL);
        for (int64_t i = 0; i < bare.call.context.count; i++)
            assert_true(fabs(padded.call.context.values[i] - bare.call.context.values[i]) < 1e-4);
        for (int64_t row = 0; row < 12; row++)
            for (int64_t j = 25; j < 40; j++)
                assert_true(padded.call.attention.values[row * 40 + j] == 0.0);
        tanh_case_destroy(&padded);
        tanh_case_destroy(&bare);
    }
}

/* An alignment that was loaded with weight beyond the key length, NaN even: as one with zeros there. */
static void p38_loaded_weight_on_padding_counts_as_zero(void **state)
{
    (void)state;
    for (int64_t window = 0; window <= 2; window += 2) {
        struct tanh_case test;
        recurrence_plan(&test, recurrence_sizes(1, 3, 12), REFERENCE_BOTH);
        test.window = window;
        attention_case_plan_key_lengths(&test.call);
        tanh_case_allocate_and_fill(&test);
        test.call.key_lengths.values[0] = 8.0;
        struct output_copy copies[3];
        const float padding[] = {0.0f, 0.9f, NAN};
        attnzoo_module *module = NULL;
        for (int i = 0; i < 3; i++) {
            float alignment[2 * 12];
            for (int j = 0; j < 24; j++)
                alignment[j] = j % 12 < 8 ? 0.01f * (float)(j * 7 % 11 + 1) : padding[i];
            tanh_case_store(&test);
            module = tanh_case_module(&test);
            attnzoo_mask *mask = attention_case_mask(&test.call);
            attnzoo_state *carried = tanh_case_state(&test, module);
            attnzoo_tensor *view = NULL;
            assert_ok(attnzoo_tensor_create(&view, alignment, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){1, 2, 12}, NULL));
            assert_ok(attnzoo_state_set_fields(carried, (const attnzoo_tensor *const[]){view, view}, 2));
            assert_ok(tanh_case_forward(&test, module, NULL, mask, carried));
            copies[i] = output_copy_create(&test.call.context, &test.call.attention);
            attnzoo_tensor_destroy(view);
            attnzoo_state_destroy(carried);
            attnzoo_mask_destroy(mask);
            attnzoo_module_destroy(module);
        }
        assert_true(output_copy_is_same(&copies[0], &test.call.context, &test.call.attention));
        assert_memory_equal(copies[1].context, copies[0].context, test.call.context.memory.pages_size);
        for (int i = 0; i < 3; i++)
            output_copy_destroy(&copies[i]);
        tanh_case_destroy(&test);
    }
}

/* A step that sees nothing gives zeros, and the next one sees an alignment of zeros. */
static void p39_a_step_that_sees_nothing_gives_zeros(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct tanh_case test;
        recurrence_plan(&test, recurrence_sizes(1, 5, 30), (enum reference_feedback)(i % 3));
        test.smoothing = i % 2 == 0;
        test.window = i / 6 * 3;
        attention_case_plan_boolean(&test.call, 1, 1, 5, 30);
        tanh_case_allocate_and_fill(&test);
        for (int64_t k = 0; k < 5 * 30; k++)
            test.call.boolean.values[k] = k / 30 != 0 && k / 30 != 3;
        tanh_case_check(&test, NULL);
        for (int64_t d = 0; d < 12; d++)
            assert_true(test.call.context.values[d] == 0.0 && test.call.context.values[3 * 12 + d] == 0.0);
        for (int64_t h = 0; h < 2; h++)
            for (int64_t j = 0; j < 30; j++)
                assert_true(test.call.attention.values[h * 150 + j] == 0.0 &&
                            test.call.attention.values[h * 150 + 90 + j] == 0.0);
        tanh_case_destroy(&test);
    }
}

/* sigmoid(-200) is below every float. */
static void p39_smoothing_of_very_low_scores_is_no_division_by_zero(void **state)
{
    (void)state;
    const double biases[] = {-90.0, -200.0, -1e4, 200.0};
    for (int i = 0; i < 4; i++) {
        struct tanh_case test;
        recurrence_plan(&test, recurrence_sizes(1, 4, 30), REFERENCE_PREVIOUS);
        test.smoothing = true;
        tanh_case_allocate_and_fill(&test);
        test.parameters[TANH_SCORE_BIAS].values[0] = biases[i];
        tanh_case_check(&test, NULL);
        for (int64_t row = 0; row < 8; row++) {
            double sum = 0.0;
            for (int64_t j = 0; j < 30; j++)
                sum += test.call.attention.values[row * 30 + j];
            assert_true(fabs(sum - 1.0) < 1e-5);
        }
        tanh_case_destroy(&test);
    }
}

/* Scores log(1), log(3) have sigmoids 1/2 and 3/4: attention 0.4 and 0.6, where softmax would give 0.25 and 0.75. */
static void smoothing_is_sigmoids_over_their_sum(void **state)
{
    (void)state;
    struct tanh_case test;
    struct tanh_sizes sizes = recurrence_sizes(1, 1, 2);
    sizes.heads = 1;
    recurrence_plan(&test, sizes, REFERENCE_PREVIOUS);
    test.smoothing = true;
    attention_case_plan_bias(&test.call, 1, 1, 1, 2);
    tanh_case_allocate_and_fill(&test);
    score_the_alignment(&test);
    test.call.bias.values[0] = 0.0;
    test.call.bias.values[1] = (float)log(3.0);
    tanh_case_check(&test, NULL);
    assert_true(fabs(test.call.attention.values[0] - 0.4) < 1e-6);
    assert_true(fabs(test.call.attention.values[1] - 0.6) < 1e-6);
    tanh_case_destroy(&test);
}

/* Sharpening multiplies scores, not the biases of the mask, which are added after. */
static void sharpening_leaves_the_mask_s_biases_alone(void **state)
{
    (void)state;
    struct tanh_case test;
    struct tanh_sizes sizes = recurrence_sizes(1, 1, 2);
    sizes.heads = 1;
    recurrence_plan(&test, sizes, REFERENCE_PREVIOUS);
    test.sharpening = 3.0;
    attention_case_plan_bias(&test.call, 1, 1, 1, 2);
    tanh_case_allocate_and_fill(&test);
    score_the_alignment(&test);
    test.call.bias.values[0] = 0.0;
    test.call.bias.values[1] = (float)log(3.0);
    tanh_case_check(&test, NULL);
    assert_true(fabs(test.call.attention.values[0] - 0.25) < 1e-6);
    tanh_case_destroy(&test);
}

/* Channels come in the order of heads, then the sums: taps of different channels shift differently. */
static void both_feeds_alignments_first_and_then_their_sums(void **state)
{
    (void)state;
    struct tanh_case test;
    struct tanh_sizes sizes = recurrence_sizes(1, 3, 9);
    recurrence_plan(&test, sizes, REFERENCE_BOTH);
    test.initial = REFERENCE_FIRST;
    tanh_case_allocate_and_fill(&test);
    tanh_case_check(&test, NULL);
    /* The taps that read alignments and those that read sums change places: at the first step, where sums are
     * alignments, nothing changes; later all does. */
    double before[2 * 3 * 9];
    memcpy(before, test.call.attention.values, sizeof before);
    double *weight = test.parameters[TANH_CONV_WEIGHT].values;
    for (int64_t f = 0; f < 3; f++)
        for (int64_t i = 0; i < 2 * 5; i++) {
            double kept = weight[f * 20 + i];
            weight[f * 20 + i] = weight[f * 20 + 10 + i];
            weight[f * 20 + 10 + i] = kept;
        }
    tanh_case_check(&test, NULL);
    double first_step = 0.0, later_steps = 0.0;
    for (int i = 0; i < 54; i++) {
        double moved = fabs(test.call.attention.values[i] - before[i]);
        *(i % 27 < 9 ? &first_step : &later_steps) = fmax(i % 27 < 9 ? first_step : later_steps, moved);
    }
    assert_true(first_step < 1e-6 && later_steps > 1e-5);
    tanh_case_destroy(&test);
}

/* NaN at step 1 spoils the batch from there on, as its alignment feeds the next step; a step that sees nothing ends
 * that with feedback=previous, and never with sums. The other batch has no part in it. */
static void p13_nan_lasts_as_long_as_the_recurrence_carries_it(void **state)
{
    (void)state;
    for (enum reference_feedback feedback = REFERENCE_PREVIOUS; feedback <= REFERENCE_BOTH; feedback++) {
        struct tanh_case test;
        recurrence_plan(&test, recurrence_sizes(2, 6, 20), feedback);
        attention_case_plan_boolean(&test.call, 1, 1, 6, 20);
        tanh_case_allocate_and_fill(&test);
        for (int64_t k = 0; k < 6 * 20; k++)
            test.call.boolean.values[k] = k / 20 != 3;
        test.call.query.values[1 * 5 + 2] = NAN;
        tanh_case_check(&test, NULL);
        for (int64_t t = 0; t < 12; t++) {
            bool is_spoilt = t == 1 || t == 2 || (t > 3 && t < 6 && feedback != REFERENCE_PREVIOUS);
            assert_true(isnan(test.call.context.values[t * 12]) == is_spoilt);
        }
        tanh_case_destroy(&test);
    }
}

/* Causal steps: NaN from the one that sees the key of NaN on, with every feedback; never before, nor in the other
 * batch. */
static void p13_a_nan_key_spoils_the_steps_from_the_one_that_sees_it_on(void **state)
{
    (void)state;
    for (enum reference_feedback feedback = REFERENCE_PREVIOUS; feedback <= REFERENCE_BOTH; feedback++) {
        struct tanh_case test;
        recurrence_plan(&test, recurrence_sizes(2, 8, 8), feedback);
        test.call.causal = true;
        tanh_case_allocate_and_fill(&test);
        test.call.key.values[5 * 4 + 1] = NAN;
        tanh_case_check(&test, NULL);
        for (int64_t t = 0; t < 16; t++)
            for (int64_t d = 0; d < 12; d++)
                assert_true(isnan(test.call.context.values[t * 12 + d]) == (t >= 5 && t < 8));
        tanh_case_destroy(&test);
    }
}

/* A key outside of location_window is not seen, so that a NaN in it does nothing until the window reaches it. */
static void location_window_hides_as_a_mask_does(void **state)
{
    (void)state;
    struct tanh_case test;
    recurrence_plan(&test, recurrence_sizes(1, 1, 30), REFERENCE_PREVIOUS);
    test.window = 2;
    test.initial = REFERENCE_FIRST;
    tanh_case_allocate_and_fill(&test);
    test.call.key.values[3 * 4] = NAN;
    test.call.value.values[4 * 3] = NAN;
    tanh_case_check(&test, NULL);
    for (int64_t h = 0; h < 2; h++)
        for (int64_t j = 0; j < 30; j++)
            assert_true((test.call.attention.values[h * 30 + j] > 0.0) == (j <= 2));
    tanh_case_destroy(&test);
    /* The lowest index wins a tie: uniform over keys 5 to 30 starts at 5. */
    recurrence_plan(&test, recurrence_sizes(1, 1, 30), REFERENCE_PREVIOUS);
    test.window = 2;
    test.initial = REFERENCE_UNIFORM;
    attention_case_plan_boolean(&test.call, 1, 1, 1, 30);
    tanh_case_allocate_and_fill(&test);
    for (int64_t j = 0; j < 30; j++)
        test.call.boolean.values[j] = j >= 5;
    tanh_case_check(&test, NULL);
    for (int64_t j = 0; j < 30; j++)
        assert_true((test.call.attention.values[j] > 0.0) == (j >= 5 && j <= 7));
    tanh_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p38_the_first_step_sees_what_initial_says),
        cmocka_unit_test(p38_padding_gets_no_weight_and_feeds_no_convolution),
        cmocka_unit_test(p38_loaded_weight_on_padding_counts_as_zero),
        cmocka_unit_test(p39_a_step_that_sees_nothing_gives_zeros),
        cmocka_unit_test(p39_smoothing_of_very_low_scores_is_no_division_by_zero),
        cmocka_unit_test(smoothing_is_sigmoids_over_their_sum),
        cmocka_unit_test(sharpening_leaves_the_mask_s_biases_alone),
        cmocka_unit_test(both_feeds_alignments_first_and_then_their_sums),
        cmocka_unit_test(p13_nan_lasts_as_long_as_the_recurrence_carries_it),
        cmocka_unit_test(p13_a_nan_key_spoils_the_steps_from_the_one_that_sees_it_on),
        cmocka_unit_test(location_window_hides_as_a_mask_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
