/*
 * tests/mechanisms/hard_random_test.c: thousands of random calls of hard against the reference: the key chosen, the
 * value given, its log-probability and the entropy within their bounds, and all the same to the bit for any number of
 * threads. ATTNZOO_TEST_SEED with the number that a failure prints and ATTNZOO_TEST_CASES=1 repeats it alone.
 */
#include "mechanisms/random_case.h"
#include "mechanisms/tanh_random_case.h"
#include "support/executors.h"
#include "support/hard_case.h"
#include "support/output_copy.h"
#include "support/testing.h"

#include <inttypes.h>

enum { DEFAULT_CASES = 5000 };

static bool is_same(const struct output_copy copies[3], const struct hard_case *test)
{
    const struct test_tensor none = {0};
    return output_copy_is_same(&copies[0], &test->tanh.call.context, &test->tanh.call.attention) &&
           output_copy_is_same(&copies[1], &test->index, &test->log_probability) &&
           output_copy_is_same(&copies[2], &test->entropy, &none);
}

/* Runs on each executor; false where one gives other bits than the last. */
static bool agrees_with_other_executors(const struct executors *executors, struct hard_case *test)
{
    const struct test_tensor none = {0};
    struct output_copy copies[3] = {output_copy_create(&test->tanh.call.context, &test->tanh.call.attention),
                                    output_copy_create(&test->index, &test->log_probability),
                                    output_copy_create(&test->entropy, &none)};
    bool agrees = true;
    for (int i = 0; i < EXECUTOR_COUNT && agrees; i++)
        agrees = hard_case_run(test, executors->by_thread_count[i]) == ATTNZOO_STATUS_OK && is_same(copies, test);
    for (int i = 0; i < 3; i++)
        output_copy_destroy(&copies[i]);
    if (!agrees)
        print_error("another number of threads gives other bits\n");
    return agrees;
}

static void create(struct hard_case *test, struct random_source *source)
{
    tanh_random_case_create(&test->tanh, source, "hard");
    hard_case_plan(test);
    test->is_additive = random_chance(source, 0.4);
    test->is_sampled = random_chance(source, 0.6);
    test->has_seed_input = random_chance(source, 0.5);
    test->seed = (uint64_t)random_between(source, 0, INT64_C(1) << 53);
    if (random_chance(source, 0.4))
        test->tanh.call.scale = random_real(source, -3.0, 3.0);
    if (random_chance(source, 0.3))
        test->tanh.call.softcap = random_real(source, 0.5, 10.0);
    random_plan_output(&test->index, source, random_chance(source, 0.5) ? ATTNZOO_DTYPE_INT32 : ATTNZOO_DTYPE_INT64, 1);
    random_plan_output(&test->log_probability, source, ATTNZOO_DTYPE_FLOAT32, 1);
    random_plan_output(&test->entropy, source, ATTNZOO_DTYPE_FLOAT32, 1);
    if (random_chance(source, 0.3))
        test->log_probability.rank = 0;
    if (random_chance(source, 0.3))
        test->entropy.rank = 0;
    hard_case_allocate(test);
}

static void run_case(const struct executors *executors, uint64_t seed)
{
    struct random_source source = {seed * UINT64_C(0x9e3779b97f4a7c15)};
    struct hard_case test;
    create(&test, &source);
    int64_t threads = random_between(&source, 0, EXECUTOR_COUNT - 1);
    attnzoo_status status = hard_case_run(&test, executors->by_thread_count[threads]);
    if (status != ATTNZOO_STATUS_OK)
        print_error("forward: %s: %s\n", attnzoo_status_name(status), attnzoo_last_error());
    if (status != ATTNZOO_STATUS_OK || !hard_case_compare(&test) ||
        (seed % 5 == 0 && !agrees_with_other_executors(executors, &test))) {
        print_error("ATTNZOO_TEST_SEED=%" PRIu64 " ATTNZOO_TEST_CASES=1 repeats it; threads %" PRId64 "\n", seed,
                    threads);
        hard_case_print(&test);
        fail();
    }
    hard_case_destroy(&test);
}

static void random_calls_agree_with_the_reference(void **state)
{
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20150210);
    uint64_t cases = number_from_environment("ATTNZOO_TEST_CASES", DEFAULT_CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(*state, seed + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_calls_agree_with_the_reference, executors_create, executors_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
