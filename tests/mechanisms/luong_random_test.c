/*
 * tests/mechanisms/luong_random_test.c: thousands of random calls of general and of concat against the reference, each
 * within the bound derived for it, and the same to the bit for any number of threads. ATTNZOO_TEST_CASES sets how many; each
 * has its own seed, so that ATTNZOO_TEST_SEED with the number that a failure prints and ATTNZOO_TEST_CASES=1 repeats it
 * alone.
 */
#include "mechanisms/tanh_random_case.h"
#include "support/executors.h"
#include "support/output_copy.h"
#include "support/testing.h"

#include <inttypes.h>
#include <string.h>

enum { DEFAULT_CASES = 3000 };

/* Runs on each executor; false where one gives other bits than the last. */
static bool agrees_with_other_executors(const struct executors *executors, struct tanh_case *test)
{
    struct output_copy copy = output_copy_create(&test->call.context, &test->call.attention);
    bool is_same = true;
    for (int i = 0; i < EXECUTOR_COUNT && is_same; i++)
        is_same = tanh_case_run(test, executors->by_thread_count[i]) == ATTNZOO_STATUS_OK &&
                  output_copy_is_same(&copy, &test->call.context, &test->call.attention);
    output_copy_destroy(&copy);
    if (!is_same)
        print_error("another number of threads gives other bits\n");
    return is_same;
}

static void run_case(const struct executors *executors, const char *mechanism, uint64_t seed)
{
    struct random_source source = {seed * UINT64_C(0x9e3779b97f4a7c15)};
    struct tanh_case test;
    tanh_random_case_create(&test, &source, mechanism);
    /* concat has neither. */
    if (random_chance(&source, 0.3))
        test.call.scale = random_real(&source, -1.5, 1.5);
    if (random_chance(&source, 0.3))
        test.call.softcap = strcmp(mechanism, "general") == 0 ? random_real(&source, 0.5, 10.0) : 0.0;
    int64_t threads = random_between(&source, 0, EXECUTOR_COUNT - 1);
    attnzoo_status status = tanh_case_run(&test, executors->by_thread_count[threads]);
    if (status != ATTNZOO_STATUS_OK)
        print_error("forward: %s: %s\n", attnzoo_status_name(status), attnzoo_last_error());
    if (status != ATTNZOO_STATUS_OK || !tanh_case_compare(&test) ||
        (seed % 5 == 0 && !agrees_with_other_executors(executors, &test))) {
        print_error("ATTNZOO_TEST_SEED=%" PRIu64 " ATTNZOO_TEST_CASES=1 repeats it; threads %" PRId64 "\n", seed,
                    threads);
        tanh_case_print(&test);
        fail();
    }
    tanh_case_destroy(&test);
}

static void run_cases(const struct executors *executors, const char *mechanism)
{
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20150817);
    uint64_t cases = number_from_environment("ATTNZOO_TEST_CASES", DEFAULT_CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(executors, mechanism, seed + i);
}

static void general_agrees_with_the_reference(void **state)
{
    run_cases(*state, "general");
}

static void concat_agrees_with_the_reference(void **state)
{
    run_cases(*state, "concat");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(general_agrees_with_the_reference, executors_create, executors_destroy),
        cmocka_unit_test_setup_teardown(concat_agrees_with_the_reference, executors_create, executors_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
