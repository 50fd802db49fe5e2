/*
 * tests/support/attention_case.c: from the description of a call to the library's handles and the call itself. What is
 * asked of the reference and how results are compared is in attention_compare.c.
 */
#include "support/attention_case.h"

#include "support/testing.h"

#include <math.h>

void attention_case_plan(struct attention_case *test, struct attention_sizes sizes)
{
    int64_t B = sizes.batch, H = sizes.heads, G = sizes.key_heads, N = sizes.queries, M = sizes.keys;
    *test = (struct attention_case){.sizes = sizes, .scale = NAN, .is_masked = true};
    const int32_t dtype = ATTNZOO_DTYPE_FLOAT32;
    test->query = test_tensor_plan(dtype, 4, (int64_t[]){B, H, N, sizes.head_size});
    test->key = test_tensor_plan(dtype, 4, (int64_t[]){B, G, M, sizes.head_size});
    test->value = test_tensor_plan(dtype, 4, (int64_t[]){B, G, M, sizes.value_size});
    test->context = test_tensor_plan(dtype, 4, (int64_t[]){B, H, N, sizes.value_size});
    test->attention = test_tensor_plan(dtype, 4, (int64_t[]){B, H, N, M});
    test->log_sum_exp = test_tensor_plan(dtype, 3, (int64_t[]){B, H, N});
}

void attention_case_plan_boolean(struct attention_case *test, int64_t batch, int64_t heads, int64_t queries,
                                 int64_t keys)
{
    test->boolean = test_tensor_plan(ATTNZOO_DTYPE_BOOL, 4, (int64_t[]){batch, heads, queries, keys});
}

void attention_case_plan_bias(struct attention_case *test, int64_t batch, int64_t heads, int64_t queries, int64_t keys)
{
    test->bias = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 4, (int64_t[]){batch, heads, queries, keys});
}

void attention_case_plan_key_lengths(struct attention_case *test)
{
    test->key_lengths = test_tensor_plan(ATTNZOO_DTYPE_INT64, 1, &test->sizes.batch);
}

void attention_case_plan_query_lengths(struct attention_case *test)
{
    test->query_lengths = test_tensor_plan(ATTNZOO_DTYPE_INT64, 1, &test->sizes.batch);
}

enum { TENSOR_COUNT = 13 };

static void all_tensors(struct attention_case *test, struct test_tensor *tensors[TENSOR_COUNT])
{
    struct test_tensor *all[TENSOR_COUNT] = {&test->query,       &test->key,           &test->value,   &test->offsets,
                                             &test->key_lengths, &test->query_lengths, &test->boolean, &test->bias,
                                             &test->slopes,      &test->segments,      &test->context, &test->attention,
                                             &test->log_sum_exp};
    for (int i = 0; i < TENSOR_COUNT; i++)
        tensors[i] = all[i];
}

enum { INPUT_TENSOR_COUNT = 10 };

void attention_case_allocate(struct attention_case *test)
{
    struct test_tensor *tensors[TENSOR_COUNT];
    all_tensors(test, tensors);
    for (int i = 0; i < TENSOR_COUNT; i++)
        test_tensor_allocate(tensors[i]);
}

void attention_case_fill(struct attention_case *test, struct random_source *source, double magnitude)
{
    test_tensor_fill(&test->query, source, -magnitude, magnitude);
    test_tensor_fill(&test->key, source, -magnitude, magnitude);
    test_tensor_fill(&test->value, source, -2.0, 2.0);
    test_tensor_fill(&test->bias, source, -3.0, 3.0);
    test_tensor_fill(&test->slopes, source, 0.0, 0.5);
    test_tensor_fill(&test->boolean, source, 0.0, 1.0);
    for (int64_t i = 0; i < test->boolean.count; i++)
        test->boolean.values[i] = random_chance(source, 0.5);
    test_tensor_fill(&test->key_lengths, source, 0.0, (double)test->sizes.keys);
    test_tensor_fill(&test->query_lengths, source, 0.0, (double)test->sizes.queries);
    test_tensor_fill(&test->segments, source, 0.0, 3.0);
}

attnzoo_module *attention_case_module(const struct attention_case *test)
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    if (!isnan(test->scale))
        assert_ok(attnzoo_module_set_option_float(module, "scale", test->scale));
    if (test->softcap != 0.0)
        assert_ok(attnzoo_module_set_option_float(module, "softcap", test->softcap));
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

attnzoo_mask *attention_case_mask(const struct attention_case *test)
{
    if (!test->is_masked)
        return NULL;
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_causal(mask, test->causal));
    if (test->has_window)
        assert_ok(attnzoo_mask_set_window(mask, test->window_left, test->window_right));
    assert_ok(attnzoo_mask_set_alignment(mask, test->alignment));
    if (test->has_offset)
        assert_ok(attnzoo_mask_set_query_offset(mask, test->offset));
    if (test->offsets.rank > 0)
        assert_ok(attnzoo_mask_set_query_offsets(mask, test->offsets.view));
    assert_ok(attnzoo_mask_set_key_lengths(mask, test->key_lengths.view));
    assert_ok(attnzoo_mask_set_query_lengths(mask, test->query_lengths.view));
    assert_ok(attnzoo_mask_set_boolean(mask, test->boolean.view));
    assert_ok(attnzoo_mask_set_bias(mask, test->bias.view));
    assert_ok(attnzoo_mask_set_linear_bias(mask, test->slopes.view));
    assert_ok(attnzoo_mask_set_segments(mask, test->segments.view));
    return mask;
}

void attention_case_store(struct attention_case *test)
{
    struct test_tensor *tensors[TENSOR_COUNT];
    all_tensors(test, tensors);
    for (int i = 0; i < INPUT_TENSOR_COUNT; i++)
        test_tensor_store(tensors[i]);
    for (int i = INPUT_TENSOR_COUNT; i < TENSOR_COUNT; i++)
        test_tensor_poison(tensors[i]);
}

attnzoo_status attention_case_forward(struct attention_case *test, const attnzoo_module *module,
                                      attnzoo_executor *executor, const attnzoo_mask *mask)
{
    if (test->log_sum_exp.view == NULL)
        return attnzoo_module_forward(module, executor, test->query.view, test->key.view, test->value.view, mask, NULL,
                                      test->context.view, test->attention.view);
    const attnzoo_tensor *inputs[] = {[ATTNZOO_INPUT_QUERY] = test->query.view,
                                      [ATTNZOO_INPUT_KEY] = test->key.view,
                                      [ATTNZOO_INPUT_VALUE] = test->value.view};
    attnzoo_tensor *outputs[] = {[ATTNZOO_OUTPUT_CONTEXT] = test->context.view,
                                 [ATTNZOO_OUTPUT_ATTENTION] = test->attention.view,
                                 [ATTNZOO_OUTPUT_LOG_SUM_EXP] = test->log_sum_exp.view};
    return attnzoo_module_forward_slots(module, executor, inputs, 3, mask, NULL, outputs, 3);
}

void attention_case_load(struct attention_case *test)
{
    test_tensor_load(&test->context);
    test_tensor_load(&test->attention);
    test_tensor_load(&test->log_sum_exp);
}

attnzoo_status attention_case_run(struct attention_case *test, attnzoo_executor *executor)
{
    attention_case_store(test);
    attnzoo_module *module = attention_case_module(test);
    attnzoo_mask *mask = attention_case_mask(test);
    attnzoo_status status = attention_case_forward(test, module, executor, mask);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    attention_case_load(test);
    return status;
}

void attention_case_check(struct attention_case *test, attnzoo_executor *executor)
{
    assert_ok(attention_case_run(test, executor));
    if (!attention_case_compare(test)) {
        attention_case_print(test);
        fail();
    }
}

void attention_case_destroy(struct attention_case *test)
{
    struct test_tensor *tensors[TENSOR_COUNT];
    all_tensors(test, tensors);
    for (int i = 0; i < TENSOR_COUNT; i++)
        test_tensor_destroy(tensors[i]);
}
