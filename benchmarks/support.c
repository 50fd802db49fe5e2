/*
 * benchmarks/support.c: what the benchmark programs share. They end the program on any error: there is nothing to
 * measure then.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void benchmark_check(attnzoo_status status)
{
    if (status == ATTNZOO_STATUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", attnzoo_status_name(status), attnzoo_last_error());
    exit(1);
}

void *benchmark_allocate(size_t size)
{
    void *memory = malloc(size + 1);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", size);
        exit(1);
    }
    return memory;
}

static uint32_t next_random(uint32_t state)
{
    return state * 1664525u + 1013904223u;
}

float *benchmark_make_floats(size_t count)
{
    float *floats = benchmark_allocate(count * sizeof *floats);
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = next_random(state);
        floats[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    return floats;
}

/* Numbers of 16 bits with a random sign and fraction, and the exponent that makes them from 1/2 to 1. */
static uint16_t *make_halves(size_t count, uint32_t random_bits, uint32_t exponent)
{
    uint16_t *halves = benchmark_allocate(count * sizeof *halves);
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = next_random(state);
        halves[i] = (uint16_t)(((state >> 16) & random_bits) | exponent);
    }
    return halves;
}

struct benchmark_tensor benchmark_make_tensor_of(int32_t dtype, int32_t rank, const int64_t *shape)
{
    struct benchmark_tensor tensor = {NULL, NULL};
    size_t count = 1;
    for (int32_t axis = 0; axis < rank; axis++)
        count *= (size_t)shape[axis];
    if (dtype == ATTNZOO_DTYPE_FLOAT16)
        tensor.data = make_halves(count, 0x83ff, 0x3800);
    else if (dtype == ATTNZOO_DTYPE_BFLOAT16)
        tensor.data = make_halves(count, 0x807f, 0x3f00);
    else
        tensor.data = benchmark_make_floats(count);
    benchmark_check(attnzoo_tensor_create(&tensor.view, tensor.data, dtype, rank, shape, NULL));
    return tensor;
}

struct benchmark_tensor benchmark_make_tensor(int32_t rank, const int64_t *shape)
{
    return benchmark_make_tensor_of(ATTNZOO_DTYPE_FLOAT32, rank, shape);
}

void benchmark_free_tensor(struct benchmark_tensor *tensor)
{
    attnzoo_tensor_destroy(tensor->view);
    free(tensor->data);
}

struct benchmark_problem benchmark_make_problem(const struct benchmark_shape *shape)
{
    const int64_t queries[] = {shape->batch, shape->heads, shape->queries, shape->head_size};
    const int64_t keys[] = {shape->batch, shape->heads, shape->keys, shape->head_size};
    return (struct benchmark_problem){.query = benchmark_make_tensor(4, queries),
                                      .key = benchmark_make_tensor(4, keys),
                                      .value = benchmark_make_tensor(4, keys),
                                      .context = benchmark_make_tensor(4, queries)};
}

void benchmark_free_problem(struct benchmark_problem *problem)
{
    benchmark_free_tensor(&problem->query);
    benchmark_free_tensor(&problem->key);
    benchmark_free_tensor(&problem->value);
    benchmark_free_tensor(&problem->context);
}

static void set_parameter(attnzoo_module *module, const struct benchmark_parameter *parameter)
{
    struct benchmark_tensor tensor = benchmark_make_tensor(parameter->rank, parameter->shape);
    float *numbers = tensor.data;
    float bound = 1.0f / sqrtf((float)parameter->shape[parameter->rank - 1]);
    for (int64_t i = 0; i < attnzoo_tensor_element_count(tensor.view); i++)
        numbers[i] *= bound;
    benchmark_check(attnzoo_module_set_parameter(module, parameter->name, tensor.view));
    benchmark_free_tensor(&tensor);
}

/* options: "name=value name=value" */
static void set_options(attnzoo_module *module, const char *options)
{
    char text[256], name[64], value[64];
    snprintf(text, sizeof text, "%s", options);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        if (sscanf(word, "%63[^=]=%63s", name, value) == 2)
            benchmark_check(attnzoo_module_set_option_text(module, name, value));
}

attnzoo_module *benchmark_make_module_of(const char *mechanism, const char *options,
                                         const struct benchmark_parameter *parameters, int parameter_count)
{
    attnzoo_module *module = NULL;
    benchmark_check(attnzoo_module_create(&module, mechanism));
    if (options != NULL)
        set_options(module, options);
    for (int i = 0; i < parameter_count; i++)
        set_parameter(module, &parameters[i]);
    benchmark_check(attnzoo_module_prepare(module));
    return module;
}

attnzoo_module *benchmark_make_module(void)
{
    return benchmark_make_module_of("scaled_dot_product", NULL, NULL, 0);
}

attnzoo_mask *benchmark_make_mask(int32_t is_causal)
{
    attnzoo_mask *mask = NULL;
    benchmark_check(attnzoo_mask_create(&mask));
    benchmark_check(attnzoo_mask_set_causal(mask, is_causal));
    return mask;
}
