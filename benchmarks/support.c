/*
 * benchmarks/support.c: what the benchmark programs share. They end the program on any error: there is nothing to
 * measure then.
 */
#define _POSIX_C_SOURCE 200809L

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

struct benchmark_tensor benchmark_make_tensor(int32_t rank, const int64_t *shape)
{
    struct benchmark_tensor tensor = {NULL, NULL};
    size_t count = 1;
    for (int32_t axis = 0; axis < rank; axis++)
        count *= (size_t)shape[axis];
    tensor.data = benchmark_make_floats(count);
    benchmark_check(attnzoo_tensor_create(&tensor.view, tensor.data, ATTNZOO_DTYPE_FLOAT32, rank, shape, NULL));
    return tensor;
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
    float bound = 1.0f / sqrtf((float)parameter->shape[parameter->rank - 1]);
    for (int64_t i = 0; i < attnzoo_tensor_element_count(tensor.view); i++)
        tensor.data[i] *= bound;
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

double benchmark_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

struct benchmark_timing benchmark_time(void (*call)(void *context), void *context, int repetitions)
{
    double times[BENCHMARK_REPETITIONS_MAX];
    call(context);
    for (int i = 0; i < repetitions; i++) {
        double start = benchmark_seconds();
        call(context);
        times[i] = benchmark_seconds() - start;
    }
    qsort(times, (size_t)repetitions, sizeof *times, compare);
    double median = times[repetitions / 2];
    return (struct benchmark_timing){median, (times[repetitions * 3 / 4] - times[repetitions / 4]) / median};
}

int benchmark_repetitions(int argument_count, char **arguments, int otherwise)
{
    int repetitions = argument_count > 1 ? atoi(arguments[1]) : otherwise;
    if (repetitions >= 1 && repetitions <= BENCHMARK_REPETITIONS_MAX)
        return repetitions;
    fprintf(stderr, "usage: %s [REPETITIONS, 1 to %d]\n", arguments[0], (int)BENCHMARK_REPETITIONS_MAX);
    exit(2);
}

extern void openblas_set_num_threads(int threads) __attribute__((weak));

void benchmark_limit_blas(void)
{
    if (openblas_set_num_threads != NULL)
        openblas_set_num_threads(1);
}
