/*
 * tests/support/attention_compare.c: puts a case to the reference and compares what the library gave.
 */
#include "support/attention_case.h"

#include "support/element.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>

static struct reference_dense dense_of(const struct test_tensor *tensor)
{
    struct reference_dense dense = {.values = tensor->values};
    int64_t stride = 1;
    for (int32_t axis = tensor->rank - 1; axis >= 0; axis--) {
        dense.strides[4 - tensor->rank + axis] = tensor->shape[axis] == 1 ? 0 : stride;
        stride *= tensor->shape[axis];
    }
    return dense;
}

struct reference_problem attention_case_problem(const struct attention_case *test)
{
    struct attention_sizes sizes = test->sizes;
    struct reference_problem problem = {.batch = sizes.batch,
                                        .heads = sizes.heads,
                                        .key_heads = sizes.key_heads,
                                        .queries = sizes.queries,
                                        .keys = sizes.keys,
                                        .head_size = sizes.head_size,
                                        .value_size = sizes.value_size,
                                        .query = test->query.values,
                                        .key = test->key.values,
                                        .value = test->value.values,
                                        .softcap = test->softcap,
                                        .causal = test->causal,
                                        .alignment = test->alignment,
                                        .offsets = test->offsets.values,
                                        .key_lengths = test->key_lengths.values,
                                        .query_lengths = test->query_lengths.values,
                                        .boolean = dense_of(&test->boolean),
                                        .bias = dense_of(&test->bias),
                                        .slopes = test->slopes.values,
                                        .segments = test->segments.values};
    problem.scale = isnan(test->scale) ? 1.0 / sqrt((double)sizes.head_size) : test->scale;
    problem.window_left = test->has_window ? test->window_left : -1;
    problem.window_right = test->has_window ? test->window_right : -1;
    return problem;
}

static bool is_within(double got, double expected, double bound)
{
    if (isnan(expected))
        return isnan(got);
    if (isinf(expected))
        return got == expected;
    return fabs(got - expected) <= bound;
}

bool attention_case_compare_tensor(const struct test_tensor *got, const double *expected, const double *bound,
                                   const char *name)
{
    for (int64_t i = 0; i < got->count; i++) {
        double magnitude = fabs(expected[i]) + bound[i];
        double limit = bound[i] == 0.0 && expected[i] == 0.0
                           ? 0.0
                           : bound[i] + (isfinite(magnitude) ? element_rounding(got->dtype, magnitude) : 0.0);
        if (is_within(got->values[i], expected[i], limit))
            continue;
        print_error("%s[%" PRId64 "] is %.9g, expected %.9g within %.3g\n", name, i, got->values[i], expected[i],
                    limit);
        return false;
    }
    if (!test_tensor_gaps_are_untouched(got)) {
        print_error("bytes around %s were written\n", name);
        return false;
    }
    return true;
}

bool attention_case_compare_with(const struct attention_case *test, const struct reference_result *expected)
{
    return attention_case_compare_tensor(&test->context, expected->context, expected->context_bound, "context") &&
           attention_case_compare_tensor(&test->attention, expected->attention, expected->attention_bound,
                                         "attention") &&
           attention_case_compare_tensor(&test->log_sum_exp, expected->log_sum_exp, expected->log_sum_exp_bound,
                                         "log_sum_exp");
}

bool attention_case_compare(const struct attention_case *test)
{
    struct reference_problem problem = attention_case_problem(test);
    /* The reference takes one offset a batch. */
    double offsets[64];
    if (test->has_offset) {
        assert_true(problem.batch <= 64);
        for (int64_t b = 0; b < problem.batch; b++)
            offsets[b] = (double)test->offset;
        problem.offsets = offsets;
    }
    struct reference_result expected = reference_compute(&problem);
    bool is_same = attention_case_compare_with(test, &expected);
    reference_result_destroy(&expected);
    return is_same;
}

static void print_tensor(const char *name, const struct test_tensor *tensor)
{
    if (tensor->rank == 0)
        return;
    print_error("  %s: %s", name, attnzoo_dtype_name(tensor->dtype));
    for (int32_t axis = 0; axis < tensor->rank; axis++)
        print_error("%s%" PRId64 " step %" PRId64, axis == 0 ? " [" : ", ", tensor->shape[axis], tensor->strides[axis]);
    print_error("], %d axes left out\n", (int)tensor->left_out);
}

void attention_case_print(const struct attention_case *test)
{
    struct attention_sizes sizes = test->sizes;
    print_error("case: B %" PRId64 " H %" PRId64 " G %" PRId64 " N %" PRId64 " M %" PRId64 " D %" PRId64 " Dv %" PRId64
                ", scale %g, softcap %g, mask %d, causal %d, alignment %d\n",
                sizes.batch, sizes.heads, sizes.key_heads, sizes.queries, sizes.keys, sizes.head_size, sizes.value_size,
                test->scale, test->softcap, test->is_masked, test->causal, (int)test->alignment);
    if (test->has_window)
        print_error("  window %" PRId64 ", %" PRId64 "\n", test->window_left, test->window_right);
    if (test->has_offset)
        print_error("  offset %" PRId64 "\n", test->offset);
    print_tensor("query", &test->query);
    print_tensor("key", &test->key);
    print_tensor("value", &test->value);
    print_tensor("offsets", &test->offsets);
    print_tensor("key lengths", &test->key_lengths);
    print_tensor("query lengths", &test->query_lengths);
    print_tensor("boolean", &test->boolean);
    print_tensor("bias", &test->bias);
    print_tensor("slopes", &test->slopes);
    print_tensor("segments", &test->segments);
    print_tensor("context", &test->context);
    print_tensor("attention", &test->attention);
    print_tensor("log_sum_exp", &test->log_sum_exp);
}
