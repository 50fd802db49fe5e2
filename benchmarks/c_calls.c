/*
 * benchmarks/c_calls.c: a loop of calls from C, for python_overhead.py, which loads it and times the same calls from Python.
 */
#define _POSIX_C_SOURCE 200809L

#include <attnzoo/attnzoo.h>
#include <time.h>

/* For the loader alone; no header declares it, and the build hides what is not marked. */
__attribute__((visibility("default"))) double
benchmark_c_calls(const attnzoo_module *module, attnzoo_executor *executor, int64_t heads, int64_t length, int64_t size,
                  const float *const *inputs, float *context, int64_t count);

/* Seconds that `count` calls on [1, heads, length, size] took; negative if one failed. Views are made once, as C would. */
double benchmark_c_calls(const attnzoo_module *module, attnzoo_executor *executor, int64_t heads, int64_t length,
                         int64_t size, const float *const *inputs, float *context, int64_t count)
{
    const int64_t shape[] = {1, heads, length, size};
    attnzoo_tensor *views[3] = {NULL}, *output = NULL;
    int failed = attnzoo_tensor_create(&output, context, ATTNZOO_DTYPE_FLOAT32, 4, shape, NULL);
    for (int i = 0; i < 3 && !failed; i++)
        failed = attnzoo_tensor_create_readonly(&views[i], inputs[i], ATTNZOO_DTYPE_FLOAT32, 4, shape, NULL);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int64_t i = 0; i < count && !failed; i++)
        failed = attnzoo_module_forward(module, executor, views[0], views[1], views[2], NULL, NULL, output, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (int i = 0; i < 3; i++)
        attnzoo_tensor_destroy(views[i]);
    attnzoo_tensor_destroy(output);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    return failed ? -1.0 : seconds;
}
