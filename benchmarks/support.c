/*
 * benchmarks/support.c: what the benchmark programs share. They end the program on any error: there is nothing to
 * measure then.
 */
#define _POSIX_C_SOURCE 200809L

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void benchmark_check(attnzoo_status status)
{
    if (status == ATTNZOO_STATUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", attnzoo_status_name(status), attnzoo_last_error());
    exit(1);
}

float *benchmark_make_floats(size_t count)
{
    float *floats = malloc(count * sizeof *floats + 1);
    if (floats == NULL) {
        fprintf(stderr, "no memory for %zu floats\n", count);
        exit(1);
    }
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        floats[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    return floats;
}

static attnzoo_tensor *make_tensor(float **data, int64_t batch, int64_t heads, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {batch, heads, rows, columns};
    attnzoo_tensor *tensor = NULL;
    *data = benchmark_make_floats((size_t)(batch * heads * rows * columns));
    benchmark_check(attnzoo_tensor_create(&tensor, *data, ATTNZOO_DTYPE_FLOAT32, 4, shape, NULL));
    return tensor;
}

struct benchmark_problem benchmark_make_problem(const struct benchmark_shape *shape)
{
    struct benchmark_problem problem;
    problem.query = make_tensor(&problem.query_data, shape->batch, shape->heads, shape->queries, shape->head_size);
    problem.key = make_tensor(&problem.key_data, shape->batch, shape->heads, shape->keys, shape->head_size);
    problem.value = make_tensor(&problem.value_data, shape->batch, shape->heads, shape->keys, shape->head_size);
    problem.context = make_tensor(&problem.context_data, shape->batch, shape->heads, shape->queries, shape->head_size);
    return problem;
}

void benchmark_free_problem(struct benchmark_problem *problem)
{
    attnzoo_tensor_destroy(problem->query);
    attnzoo_tensor_destroy(problem->key);
    attnzoo_tensor_destroy(problem->value);
    attnzoo_tensor_destroy(problem->context);
    free(problem->query_data);
    free(problem->key_data);
    free(problem->value_data);
    free(problem->context_data);
}

attnzoo_module *benchmark_make_module(void)
{
    attnzoo_module *module = NULL;
    benchmark_check(attnzoo_module_create(&module, "scaled_dot_product"));
    benchmark_check(attnzoo_module_prepare(module));
    return module;
}

attnzoo_mask *benchmark_make_mask(int32_t is_causal)
{
    attnzoo_mask *mask = NULL;
    benchmark_check(attnzoo_mask_create(&mask));
    benchmark_check(attnzoo_mask_set_causal(mask, is_causal));
    return mask;
}

double benchmark_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
