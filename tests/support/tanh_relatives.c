/*
 * tests/support/tanh_relatives.c: parameters of general and concat from those of additive.
 */
#include "support/tanh_relatives.h"

#include "support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tanh_relatives_is_general(const char *mechanism)
{
    return strcmp(mechanism, "general") == 0;
}

bool tanh_relatives_is_concat(const char *mechanism)
{
    return strcmp(mechanism, "concat") == 0;
}

uint32_t tanh_relatives_absent(const char *mechanism, uint32_t absent)
{
    if (tanh_relatives_is_general(mechanism))
        return (absent | TANH_WITHOUT(TANH_QUERY_BIAS) | TANH_WITHOUT(TANH_KEY_WEIGHT) | TANH_WITHOUT(TANH_BIAS) |
                TANH_WITHOUT(TANH_SCORE_WEIGHT) | TANH_WITHOUT(TANH_SCORE_BIAS)) &
               ~TANH_WITHOUT(TANH_QUERY_WEIGHT);
    if (tanh_relatives_is_concat(mechanism))
        return (absent | TANH_WITHOUT(TANH_QUERY_BIAS) | TANH_WITHOUT(TANH_KEY_BIAS)) &
               ~(TANH_WITHOUT(TANH_QUERY_WEIGHT) | TANH_WITHOUT(TANH_KEY_WEIGHT));
    return absent;
}

static void set_floats(attnzoo_module *module, const char *name, int64_t rows, int64_t columns, const float *numbers)
{
    attnzoo_tensor *view = NULL;
    assert_ok(
        attnzoo_tensor_create_readonly(&view, numbers, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){rows, columns}, NULL));
    assert_ok(attnzoo_module_set_parameter(module, name, view));
    attnzoo_tensor_destroy(view);
}

static float *floats(int64_t count)
{
    float *numbers = calloc((size_t)count + 1, sizeof *numbers);
    assert_non_null(numbers);
    return numbers;
}

static void set_general(const struct tanh_case *test, attnzoo_module *module)
{
    int64_t rows = test->sizes.query_size, columns = test->sizes.attention_size;
    const double *transposed = test->parameters[TANH_QUERY_WEIGHT].values;
    float *weight = floats(rows * columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            weight[i * columns + j] = (float)transposed[j * rows + i];
    set_floats(module, "score_proj.weight", rows, columns, weight);
    free(weight);
    if (!isnan(test->call.scale))
        assert_ok(attnzoo_module_set_option_float(module, "scale", test->call.scale));
    if (test->call.softcap > 0.0)
        assert_ok(attnzoo_module_set_option_float(module, "softcap", test->call.softcap));
}

static void set_concat(const struct tanh_case *test, attnzoo_module *module)
{
    int64_t rows = test->sizes.attention_size, left = test->sizes.query_size, right = test->sizes.key_size;
    float *weight = floats(rows * (left + right));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < left; j++)
            weight[i * (left + right) + j] = (float)test->parameters[TANH_QUERY_WEIGHT].values[i * left + j];
        for (int64_t j = 0; j < right; j++)
            weight[i * (left + right) + left + j] = (float)test->parameters[TANH_KEY_WEIGHT].values[i * right + j];
    }
    set_floats(module, "concat_proj.weight", rows, left + right, weight);
    free(weight);
}

void tanh_relatives_set_up(const struct tanh_case *test, attnzoo_module *module)
{
    bool is_general = tanh_relatives_is_general(test->mechanism);
    const int kept[] = {TANH_VALUE_WEIGHT, TANH_VALUE_BIAS, TANH_SCORE_WEIGHT, TANH_SCORE_BIAS, TANH_BIAS};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *name = kept[i] == TANH_BIAS ? "concat_proj.bias" : tanh_parameter_name(kept[i]);
        if (test->parameters[kept[i]].rank > 0)
            assert_ok(attnzoo_module_set_parameter(module, name, test->parameters[kept[i]].view));
    }
    if (is_general)
        set_general(test, module);
    else
        set_concat(test, module);
}
