/*
 * tests/support/one_key.c: over one key the log-sum-exp is the score itself.
 */
#include "support/one_key.h"

#include "support/testing.h"

double one_key_score(attnzoo_module *module)
{
    static const float one = 1.0f;
    float results[2];
    attnzoo_tensor *input = NULL, *context = NULL, *log_sum_exp = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&input, &one, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
    assert_ok(attnzoo_tensor_create(&context, &results[0], ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
    assert_ok(attnzoo_tensor_create(&log_sum_exp, &results[1], ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){1}, NULL));
    const attnzoo_tensor *inputs[] = {input, input, input};
    attnzoo_tensor *outputs[] = {context, NULL, log_sum_exp};
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 3));
    attnzoo_tensor_destroy(input);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(log_sum_exp);
    return results[1];
}
