/*
 * tests/threads/thread_count_test.c: results do not depend on the number of threads, to the bit.
 */
#include "mechanisms/random_case.h"
#include "support/testing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 5 };

static const int32_t THREAD_COUNTS[COUNTS] = {0, 1, 2, 3, 5}; /* 0: no executor */

static attnzoo_executor *executors[COUNTS];

static int create_executors(void **state)
{
    (void)state;
    for (int i = 1; i < COUNTS; i++)
        assert_ok(attnzoo_executor_create(&executors[i], THREAD_COUNTS[i]));
    return 0;
}

static int destroy_executors(void **state)
{
    (void)state;
    for (int i = 1; i < COUNTS; i++)
        attnzoo_executor_destroy(executors[i]);
    return 0;
}

static unsigned char *copy_of(const struct test_tensor *tensor)
{
    unsigned char *copy = malloc(tensor->memory.size + 1);
    assert_non_null(copy);
    if (tensor->memory.size > 0)
        memcpy(copy, tensor->memory.bytes, tensor->memory.size);
    return copy;
}

/* Runs the case with every number of threads, the first time to have something to compare with. */
static void assert_same_bits(struct attention_case *test, uint64_t seed)
{
    struct test_tensor *outputs[] = {&test->context, &test->attention, &test->log_sum_exp};
    unsigned char *first[3] = {NULL};
    for (int count = 0; count < COUNTS; count++) {
        assert_ok(attention_case_run(test, executors[count]));
        for (int i = 0; i < 3; i++) {
            if (count == 0)
                first[i] = copy_of(outputs[i]);
            else if (outputs[i]->memory.size > 0 &&
                     memcmp(first[i], outputs[i]->memory.bytes, outputs[i]->memory.size) != 0)
                fail_msg("seed %" PRIu64 ": %d threads give other bits", seed, (int)THREAD_COUNTS[count]);
        }
    }
    for (int i = 0; i < 3; i++)
        free(first[i]);
}

static void p49_random_calls_do_not_depend_on_the_thread_count(void **state)
{
    (void)state;
    uint64_t first = number_from_environment("ATTNZOO_TEST_SEED", 1);
    uint64_t cases = number_from_environment("ATTNZOO_TEST_CASES", 300);
    for (uint64_t seed = first; seed < first + cases; seed++) {
        struct random_source source = {seed};
        struct attention_case test;
        random_case_create(&test, &source);
        assert_same_bits(&test, seed);
        attention_case_destroy(&test);
    }
}

/* Shapes that are worth splitting: over the keys of one query, over few long heads, over many short ones. */
static void p49_large_calls_do_not_depend_on_the_thread_count(void **state)
{
    (void)state;
    const struct attention_sizes shapes[] = {{1, 1, 1, 1, 20000, 64, 64},
                                             {1, 8, 2, 1, 5000, 64, 64},
                                             {1, 1, 1, 1500, 1500, 64, 64},
                                             {3, 12, 12, 60, 60, 64, 64}};
    for (int i = 0; i < 8; i++) {
        struct attention_case test;
        attention_case_plan(&test, shapes[i / 2]);
        test.causal = true;
        if (i % 2 == 0)
            test.attention.rank = 0;
        struct random_source source = {(uint64_t)i};
        attention_case_allocate(&test);
        attention_case_fill(&test, &source, 1.0);
        assert_same_bits(&test, (uint64_t)i);
        assert_true(attention_case_compare(&test));
        attention_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p49_random_calls_do_not_depend_on_the_thread_count),
        cmocka_unit_test(p49_large_calls_do_not_depend_on_the_thread_count),
    };
    return cmocka_run_group_tests(tests, create_executors, destroy_executors);
}
