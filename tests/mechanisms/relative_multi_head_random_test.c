/*
 * tests/mechanisms/relative_multi_head_random_test.c: thousands of random calls of relative_multi_head, of each flavor,
 * against the reference, each within the bound derived for it. ATTNZOO_TEST_CASES and ATTNZOO_TEST_SEED as in
 * multi_head_random_test.c.
 */
#include "mechanisms/multi_head_random_case.h"
#include "support/testing.h"

static void random_calls_of_transformer_xl_agree_with_the_reference(void **state)
{
    (void)state;
    multi_head_random_calls(REFERENCE_TRANSFORMER_XL, 1500);
}

static void random_calls_of_shaw_agree_with_the_reference(void **state)
{
    (void)state;
    multi_head_random_calls(REFERENCE_SHAW, 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_of_transformer_xl_agree_with_the_reference),
        cmocka_unit_test(random_calls_of_shaw_agree_with_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
