/*
 * tests/mechanisms/location_calls.c: making modules, calls and masks of one batch.
 */
#include "mechanisms/location_calls.h"

#include "support/testing.h"

#include <math.h>
#include <string.h>

attnzoo_tensor *view_of(const float *data, int32_t rank, int64_t first, int64_t second, int64_t third)
{
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, (void *)(uintptr_t)data, ATTNZOO_DTYPE_FLOAT32, rank,
                                    (int64_t[]){first, second, third}, NULL));
    return view;
}

attnzoo_status set(attnzoo_module *module, const char *name, const float *data, int32_t rank, int64_t first,
                   int64_t second)
{
    attnzoo_tensor *view = view_of(data, rank, first, second, 1);
    attnzoo_status status = attnzoo_module_set_parameter(module, name, view);
    attnzoo_tensor_destroy(view);
    return status;
}

attnzoo_module *new_module(const char *flavor)
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "location"));
    assert_ok(attnzoo_module_set_option_text(module, "flavor", flavor));
    return module;
}

const float location_zeros[64];

attnzoo_module *mixture_of(int64_t components, const float *bias, bool is_normalized)
{
    attnzoo_module *module = new_module("gaussian_mixture");
    assert_ok(attnzoo_module_set_option_bool(module, "normalized", is_normalized));
    assert_ok(set(module, "window_proj.weight", location_zeros, 2, 3 * components, 1));
    assert_ok(set(module, "window_proj.bias", bias, 1, 3 * components, 1));
    return module;
}

attnzoo_status run(struct call *call, const attnzoo_module *module, const attnzoo_mask *mask, attnzoo_state *state)
{
    attnzoo_tensor *query = view_of(call->query, 3, 1, call->queries, 1);
    attnzoo_tensor *value = view_of(call->value, 3, 1, call->keys, 1);
    attnzoo_tensor *context = view_of(call->context, 3, 1, call->queries, 1);
    attnzoo_tensor *attention = view_of(call->attention, 3, 1, call->queries, call->keys);
    attnzoo_status status = attnzoo_module_forward(module, NULL, query, NULL, value, mask, state, context, attention);
    attnzoo_tensor_destroy(query);
    attnzoo_tensor_destroy(value);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(attention);
    return status;
}

struct call new_call(int64_t queries, int64_t keys)
{
    struct call call = {.queries = queries, .keys = keys};
    for (int64_t i = 0; i < keys; i++)
        call.value[i] = 1.0f;
    memset(call.context, 0x7f, sizeof call.context);
    memset(call.attention, 0x7f, sizeof call.attention);
    return call;
}

void assert_near(float got, double expected)
{
    if (!(fabs((double)got - expected) <= 64.0 * 0x1p-24 * fabs(expected) + 1e-44))
        fail_msg("%.9g is not %.9g", (double)got, expected);
}

attnzoo_module *local_of(int64_t window)
{
    attnzoo_module *module = new_module("local_p");
    assert_ok(attnzoo_module_set_option_int(module, "window", window));
    assert_ok(set(module, "query_proj.weight", location_zeros, 2, 2, 1));
    assert_ok(set(module, "score_proj.weight", location_zeros, 2, 1, 2));
    return module;
}

attnzoo_mask *mask_of_length(int32_t *length, attnzoo_tensor **view)
{
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_tensor_create(view, length, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){1}, NULL));
    assert_ok(attnzoo_mask_set_key_lengths(mask, *view));
    return mask;
}
