/*
 * tests/mechanisms/scaled_dot_product_random_test.c: thousands of random calls against the reference, each within the
 * bound derived for it. ATTNZOO_TEST_CASES sets how many; each has its own seed, so that ATTNZOO_TEST_SEED with the
 * number that a failure prints and ATTNZOO_TEST_CASES=1 repeats it alone.
 */
#include "mechanisms/random_case.h"
#include "support/executors.h"
#include "support/testing.h"

#include <inttypes.h>

enum { DEFAULT_CASES = 5000 };

static void run_case(const struct executors *executors, uint64_t seed)
{
    struct random_source source = {seed * UINT64_C(0x9e3779b97f4a7c15)};
    struct attention_case test;
    random_case_create(&test, &source);
    int64_t threads = random_between(&source, 0, EXECUTOR_COUNT - 1);
    attnzoo_status status = attention_case_run(&test, executors->by_thread_count[threads]);
    if (status != ATTNZOO_STATUS_OK)
        print_error("forward: %s: %s\n", attnzoo_status_name(status), attnzoo_last_error());
    if (status != ATTNZOO_STATUS_OK || !attention_case_compare(&test)) {
        print_error("ATTNZOO_TEST_SEED=%" PRIu64 " ATTNZOO_TEST_CASES=1 repeats it; threads %" PRId64 "\n", seed,
                    threads);
        attention_case_print(&test);
        fail();
    }
    attention_case_destroy(&test);
}

static void random_calls_agree_with_the_reference(void **state)
{
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20170612);
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
