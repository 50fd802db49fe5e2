/*
 * tests/mechanisms/hard_calls.c: plain calls of hard.
 */
#include "mechanisms/hard_calls.h"

#include "support/testing.h"

#include <stdlib.h>

attnzoo_module *hard_call_module(bool is_sampled)
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "hard"));
    assert_ok(attnzoo_module_set_option_text(module, "select", is_sampled ? "sample" : "argmax"));
    assert_ok(attnzoo_module_set_option_float(module, "scale", 1.0));
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

/* [batch, count, 1], the same numbers in each batch, or one number everywhere. */
static attnzoo_tensor *input_of(const float *numbers, const float *otherwise, int64_t batch, int64_t count)
{
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&view, numbers != NULL ? numbers : otherwise, ATTNZOO_DTYPE_FLOAT32, 3,
                                             (int64_t[]){batch, count, 1}, (int64_t[]){0, numbers != NULL, 1}));
    return view;
}

static attnzoo_tensor *output_of(void *memory, int32_t dtype, int32_t rank, int64_t batch, int64_t count)
{
    attnzoo_tensor *view = NULL;
    assert_non_null(memory);
    assert_ok(attnzoo_tensor_create(&view, memory, dtype, rank, (int64_t[]){batch, count, 1}, NULL));
    return view;
}

void hard_call_run(struct hard_call *call)
{
    static const float zero = 0.0f, one = 1.0f;
    int64_t batch = call->batch, queries = call->queries, keys = call->keys;
    size_t rows = (size_t)(batch * queries);
    call->context = calloc(rows + 1, sizeof *call->context);
    call->index = calloc(rows + 1, sizeof *call->index);
    call->log_probability = calloc(rows + 1, sizeof *call->log_probability);
    call->entropy = calloc(rows + 1, sizeof *call->entropy);
    attnzoo_tensor *inputs[ATTNZOO_INPUT_SEED + 1] = {[ATTNZOO_INPUT_QUERY] =
                                                          input_of(call->query, &one, batch, queries),
                                                      [ATTNZOO_INPUT_KEY] = input_of(call->key, &zero, batch, keys),
                                                      [ATTNZOO_INPUT_VALUE] = input_of(call->key, &zero, batch, keys)};
    assert_ok(attnzoo_tensor_create_readonly(&inputs[ATTNZOO_INPUT_SEED], &call->seed, ATTNZOO_DTYPE_INT64, 1,
                                             (int64_t[]){1}, NULL));
    attnzoo_tensor *outputs[ATTNZOO_OUTPUT_ENTROPY + 1] = {
        [ATTNZOO_OUTPUT_CONTEXT] = output_of(call->context, ATTNZOO_DTYPE_FLOAT32, 3, batch, queries),
        [ATTNZOO_OUTPUT_INDEX] = output_of(call->index, ATTNZOO_DTYPE_INT64, 2, batch, queries),
        [ATTNZOO_OUTPUT_LOG_PROBABILITY] = output_of(call->log_probability, ATTNZOO_DTYPE_FLOAT32, 2, batch, queries),
        [ATTNZOO_OUTPUT_ENTROPY] = output_of(call->entropy, ATTNZOO_DTYPE_FLOAT32, 2, batch, queries)};
    attnzoo_module *module = hard_call_module(call->is_sampled);
    assert_ok(attnzoo_module_forward_slots(module, call->executor, (const attnzoo_tensor *const *)inputs,
                                           ATTNZOO_INPUT_SEED + 1, call->mask, NULL, outputs,
                                           ATTNZOO_OUTPUT_ENTROPY + 1));
    attnzoo_module_destroy(module);
    for (int i = 0; i <= ATTNZOO_INPUT_SEED; i++)
        attnzoo_tensor_destroy(inputs[i]);
    for (int i = 0; i <= ATTNZOO_OUTPUT_ENTROPY; i++)
        attnzoo_tensor_destroy(outputs[i]);
}

void hard_call_destroy(struct hard_call *call)
{
    free(call->context);
    free(call->index);
    free(call->log_probability);
    free(call->entropy);
    call->context = call->log_probability = call->entropy = NULL;
    call->index = NULL;
}
