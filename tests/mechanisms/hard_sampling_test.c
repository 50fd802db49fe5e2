/*
 * tests/mechanisms/hard_sampling_test.c: what select=sample draws: frequencies that agree with the softmax, in
 * chi-square tests along queries, batches and seeds and of neighbours together; the same draw whatever else is in the
 * call; scores of any size. Seeds are fixed, so that a test that passes once always does.
 *
 * Critical values are those that chance passes once in a thousand times: of 9 degrees of freedom 27.877, of 15 37.697
 * (any table of the chi-square distribution).
 */
#include "mechanisms/hard_calls.h"
#include "reference/hard.h"
#include "support/executors.h"
#include "support/testing.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { KEYS = 10 };

static const double CRITICAL_9 = 27.877, CRITICAL_15 = 37.697;
static const float SCORES[KEYS] = {0.5f, -1.0f, 1.25f, 0.0f, -2.0f, 1.0f, -0.5f, 0.75f, -1.5f, 0.25f};

static double chi_square(const int64_t *counts, const double *probabilities, int count, int64_t draws)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        double expected = probabilities[i] * (double)draws;
        assert_true(expected >= 5.0);
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    }
    return sum;
}

static void fill_probabilities(double probabilities[KEYS])
{
    double sum = 0.0;
    for (int j = 0; j < KEYS; j++)
        sum += exp(SCORES[j]);
    for (int j = 0; j < KEYS; j++)
        probabilities[j] = exp(SCORES[j]) / sum;
}

static void assert_softmax(const int64_t counts[KEYS], int64_t draws)
{
    double probabilities[KEYS];
    fill_probabilities(probabilities);
    double sum = chi_square(counts, probabilities, KEYS, draws);
    if (!(sum < CRITICAL_9))
        fail_msg("chi-square is %g, must be below %g", sum, CRITICAL_9);
}

static void count_draws(const struct hard_call *call, int64_t counts[KEYS])
{
    for (int64_t i = 0; i < call->batch * call->queries; i++) {
        assert_in_range(call->index[i], 0, KEYS - 1);
        counts[call->index[i]]++;
    }
}

static void queries_draw_by_the_softmax(void **state)
{
    const struct executors *executors = *state;
    for (int64_t seed = 1; seed <= 3; seed++) {
        struct hard_call call = {.batch = 1,
                                 .queries = 50000,
                                 .keys = KEYS,
                                 .key = SCORES,
                                 .is_sampled = true,
                                 .seed = seed,
                                 .executor = executors->by_thread_count[2]};
        int64_t counts[KEYS] = {0};
        hard_call_run(&call);
        count_draws(&call, counts);
        assert_softmax(counts, call.queries);
        hard_call_destroy(&call);
    }
}

static void batches_draw_by_the_softmax(void **state)
{
    (void)state;
    struct hard_call call = {.batch = 20000, .queries = 1, .keys = KEYS, .key = SCORES, .is_sampled = true, .seed = -9};
    int64_t counts[KEYS] = {0};
    hard_call_run(&call);
    count_draws(&call, counts);
    assert_softmax(counts, call.batch);
    hard_call_destroy(&call);
}

static void seeds_draw_by_the_softmax(void **state)
{
    (void)state;
    int64_t counts[KEYS] = {0};
    enum { SEEDS = 5000 };
    for (int64_t seed = 0; seed < SEEDS; seed++) {
        struct hard_call call = {
            .batch = 1, .queries = 1, .keys = KEYS, .key = SCORES, .is_sampled = true, .seed = seed};
        hard_call_run(&call);
        count_draws(&call, counts);
        hard_call_destroy(&call);
    }
    assert_softmax(counts, SEEDS);
}

/* Four equal keys: each pair of neighbouring queries is one of sixteen, all equally likely. */
static void neighbours_draw_apart(void **state)
{
    (void)state;
    enum { EQUAL = 4, PAIRS = EQUAL * EQUAL };
    struct hard_call call = {.batch = 1, .queries = 40000, .keys = EQUAL, .is_sampled = true, .seed = 77};
    int64_t counts[PAIRS] = {0};
    double probabilities[PAIRS];
    hard_call_run(&call);
    for (int64_t i = 0; i < call.queries; i += 2)
        counts[call.index[i] * EQUAL + call.index[i + 1]]++;
    for (int i = 0; i < PAIRS; i++)
        probabilities[i] = 1.0 / PAIRS;
    assert_true(chi_square(counts, probabilities, PAIRS, call.queries / 2) < CRITICAL_15);
    hard_call_destroy(&call);
}

/* Many tiles of keys, of equal scores: sixteen parts of them, all equally likely. */
static void many_keys_draw_evenly(void **state)
{
    const struct executors *executors = *state;
    enum { PARTS = 16 };
    struct hard_call call = {.batch = 1,
                             .queries = 4000,
                             .keys = PARTS * 625,
                             .is_sampled = true,
                             .seed = 3,
                             .executor = executors->by_thread_count[2]};
    int64_t counts[PARTS] = {0};
    double probabilities[PARTS];
    hard_call_run(&call);
    for (int64_t i = 0; i < call.queries; i++)
        counts[call.index[i] / 625]++;
    for (int i = 0; i < PARTS; i++)
        probabilities[i] = 1.0 / PARTS;
    assert_true(chi_square(counts, probabilities, PARTS, call.queries) < CRITICAL_15);
    hard_call_destroy(&call);
}

/* Equal scores: the noise alone decides, and every machine must draw the same. */
static void draws_are_those_of_the_generator(void **state)
{
    const struct executors *executors = *state;
    for (int threads = 0; threads < EXECUTOR_COUNT; threads++) {
        struct hard_call call = {.batch = 3,
                                 .queries = 40,
                                 .keys = 1001,
                                 .is_sampled = true,
                                 .seed = INT64_C(-8070450532247928832),
                                 .executor = executors->by_thread_count[threads]};
        hard_call_run(&call);
        for (int64_t i = 0; i < call.batch * call.queries; i++) {
            int64_t best = 0;
            double most = -INFINITY;
            for (int64_t j = 0; j < call.keys; j++) {
                double noise = reference_hard_noise((uint64_t)call.seed, i / call.queries, 0, i % call.queries, j);
                best = noise > most ? j : best;
                most = fmax(noise, most);
            }
            assert_int_equal(call.index[i], best);
        }
        hard_call_destroy(&call);
    }
}

static void draws_do_not_depend_on_what_else_is_drawn(void **state)
{
    (void)state;
    struct hard_call all = {.batch = 3, .queries = 50, .keys = KEYS, .key = SCORES, .is_sampled = true, .seed = 12};
    struct hard_call some = {.batch = 2, .queries = 7, .keys = KEYS, .key = SCORES, .is_sampled = true, .seed = 12};
    struct hard_call other = {.batch = 2, .queries = 7, .keys = KEYS, .key = SCORES, .is_sampled = true, .seed = 13};
    hard_call_run(&all);
    hard_call_run(&some);
    hard_call_run(&other);
    int same = 0;
    for (int64_t b = 0; b < some.batch; b++)
        for (int64_t i = 0; i < some.queries; i++) {
            assert_int_equal(some.index[b * some.queries + i], all.index[b * all.queries + i]);
            same += some.index[b * some.queries + i] == other.index[b * some.queries + i];
        }
    assert_in_range(same, 0, 10);
    hard_call_destroy(&all);
    hard_call_destroy(&some);
    hard_call_destroy(&other);
}

/* Scores so large that noise added to them would be lost: equal ones still draw evenly, others never. */
static void scores_of_any_size_keep_their_noise(void **state)
{
    (void)state;
    const float sizes[] = {3e38f, -3e38f, 1e20f, -1e20f};
    for (int s = 0; s < 4; s++) {
        const float keys[] = {-FLT_MAX, sizes[s], sizes[s], -FLT_MAX, sizes[s], sizes[s]};
        struct hard_call call = {.batch = 1, .queries = 4000, .keys = 6, .key = keys, .is_sampled = true, .seed = s};
        int64_t counts[6] = {0};
        hard_call_run(&call);
        for (int64_t i = 0; i < call.queries; i++) {
            counts[call.index[i]]++;
            assert_true(fabs((double)call.log_probability[i] + log(4.0)) < 1e-6);
            assert_true(fabs((double)call.entropy[i] - log(4.0)) < 1e-6);
        }
        assert_int_equal(counts[0] + counts[3], 0);
        /* Five standard deviations of a binomial of 4000 and 1/4. */
        for (int j = 1; j < 6; j += j == 2 ? 2 : 1)
            assert_in_range(counts[j], 1000 - 137, 1000 + 137);
        hard_call_destroy(&call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_draw_by_the_softmax),
        cmocka_unit_test(batches_draw_by_the_softmax),
        cmocka_unit_test(seeds_draw_by_the_softmax),
        cmocka_unit_test(neighbours_draw_apart),
        cmocka_unit_test(many_keys_draw_evenly),
        cmocka_unit_test(draws_are_those_of_the_generator),
        cmocka_unit_test(draws_do_not_depend_on_what_else_is_drawn),
        cmocka_unit_test(scores_of_any_size_keep_their_noise),
    };
    return cmocka_run_group_tests(tests, executors_create, executors_destroy);
}
