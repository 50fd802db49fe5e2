/*
 * tests/mechanisms/multi_head_random_test.c: thousands of random calls of multi_head against the reference, each within
 * the bound derived for it. ATTNZOO_TEST_CASES sets how many; each has its own seed, so that ATTNZOO_TEST_SEED with the
 * number that a failure prints and ATTNZOO_TEST_CASES=1 repeats it alone.
 */
#include "mechanisms/multi_head_random_case.h"
#include "support/testing.h"

static void random_calls_agree_with_the_reference(void **state)
{
    (void)state;
    multi_head_random_calls(REFERENCE_PLAIN, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_agree_with_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
