/*
 * tests/mechanisms/pitfalls.c: helpers of the tests of known pitfalls.
 */
#include "mechanisms/pitfalls.h"

#include <inttypes.h>
#include <math.h>

void plan_one_head(struct attention_case *test, int64_t queries, int64_t keys)
{
    attention_case_plan(test, (struct attention_sizes){1, 1, 1, queries, keys, 8, 8});
}

void allocate_and_fill(struct attention_case *test)
{
    struct random_source source = {42};
    attention_case_allocate(test);
    attention_case_fill(test, &source, 1.0);
}

void check(struct attention_case *test)
{
    attention_case_check(test, NULL);
}

void check_everywhere(struct attention_case *test)
{
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    attention_case_check(test, executor);
    attnzoo_executor_destroy(executor);
    struct test_tensor attention = test->attention;
    test->attention = (struct test_tensor){0};
    attention_case_check(test, NULL);
    test->attention = attention;
    attention_case_check(test, NULL);
}

void set_all(struct test_tensor *tensor, double value)
{
    for (int64_t i = 0; i < tensor->count; i++)
        tensor->values[i] = value;
}

void assert_attention_pattern(const struct attention_case *test, int64_t batch, int64_t head,
                              const char *const *pattern)
{
    struct attention_sizes sizes = test->sizes;
    for (int64_t i = 0; i < sizes.queries; i++)
        for (int64_t j = 0; j < sizes.keys; j++) {
            int64_t row = (batch * sizes.heads + head) * sizes.queries + i;
            bool is_seen = test->attention.values[row * sizes.keys + j] > 0.0;
            if (is_seen != (pattern[i][j] == 'x'))
                fail_msg("query %" PRId64 " %s key %" PRId64, i, is_seen ? "sees" : "does not see", j);
        }
}

void assert_row_is_empty(const struct attention_case *test, int64_t row)
{
    for (int64_t d = 0; d < test->sizes.value_size; d++)
        assert_true(test->context.values[row * test->sizes.value_size + d] == 0.0);
    for (int64_t j = 0; j < test->sizes.keys; j++)
        assert_true(test->attention.values[row * test->sizes.keys + j] == 0.0);
    assert_true(test->log_sum_exp.values[row] == -INFINITY);
}

void assert_row_is_nan(const struct attention_case *test, int64_t row)
{
    for (int64_t d = 0; d < test->sizes.value_size; d++)
        assert_true(isnan(test->context.values[row * test->sizes.value_size + d]));
    for (int64_t j = 0; j < test->sizes.keys; j++)
        assert_true(isnan(test->attention.values[row * test->sizes.keys + j]));
    assert_true(isnan(test->log_sum_exp.values[row]));
}
