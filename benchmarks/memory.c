/*
 * benchmarks/memory.c: how much memory long calls take beyond their inputs, outputs and parameters.
 *
 *   scaled_dot_product   causal, N = M = 16384, one head, D = 64: a matrix of scores alone would be 1 GiB; limit 6 MiB
 *   additive             N = M = 4096, A = 256: the hidden activations alone would be 16 GiB; limit 64 MiB
 *
 * Ends with 1 if a limit is passed. The peak of resident memory is set back before the library is used, so that what
 * the BLAS touches in its own buffers counts too. Linux only.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

static long read_status_kib(const char *field)
{
    char line[256], format[64];
    long kib = -1;
    snprintf(format, sizeof format, "%s: %%ld kB", field);
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && kib < 0 && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, format, &kib) != 1)
            kib = -1;
    if (status != NULL)
        fclose(status);
    return kib;
}

static int reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL)
        return 0;
    int written = fputs("5", file) >= 0;
    return fclose(file) == 0 && written;
}

/* Resident memory now, from where the peak is counted; ends the program where the system does not tell. */
static long start_counting(void)
{
    long before = read_status_kib("VmRSS");
    if (reset_peak() && before >= 0)
        return before;
    fprintf(stderr, "this system does not tell a process its peak of memory (/proc/self/clear_refs)\n");
    exit(1);
}

/* Prints what a call took; returns whether that is below the limit. */
static int report(const char *what, long before, const attnzoo_executor *executor, long limit_mib)
{
    double extra_mib = (double)(read_status_kib("VmHWM") - before) / 1024.0;
    printf("%s, %d threads: %.1f MiB beyond inputs, outputs and parameters (limit %ld MiB)\n", what,
           (int)attnzoo_executor_thread_count(executor), extra_mib, limit_mib);
    return extra_mib < (double)limit_mib;
}

static int measure_scaled_dot_product(void)
{
    const struct benchmark_shape shape = {1, 1, 16384, 16384, 64};
    struct benchmark_problem problem = benchmark_make_problem(&shape);
    attnzoo_module *module = benchmark_make_module();
    attnzoo_mask *mask = benchmark_make_mask(1);
    attnzoo_executor *executor = NULL;
    long before = start_counting();
    benchmark_check(attnzoo_executor_create(&executor, 0));
    benchmark_check(attnzoo_module_forward(module, executor, problem.query.view, problem.key.view, problem.value.view,
                                           mask, NULL, problem.context.view, NULL));
    int is_small = report("scaled_dot_product, causal, N = M = 16384, D = 64, one head", before, executor, 6);
    attnzoo_executor_destroy(executor);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    benchmark_free_problem(&problem);
    return is_small;
}

static int measure_additive(void)
{
    enum { LENGTH = 4096, SIZE = 256 };
    static const struct benchmark_parameter parameters[] = {{"query_proj.weight", 2, {SIZE, SIZE}},
                                                            {"key_proj.weight", 2, {SIZE, SIZE}},
                                                            {"score_proj.weight", 2, {1, SIZE}}};
    const int64_t shape[] = {1, LENGTH, SIZE};
    struct benchmark_tensor query = benchmark_make_tensor(3, shape), key = benchmark_make_tensor(3, shape);
    struct benchmark_tensor value = benchmark_make_tensor(3, shape), context = benchmark_make_tensor(3, shape);
    attnzoo_module *module = benchmark_make_module_of("additive", NULL, parameters, 3);
    attnzoo_executor *executor = NULL;
    long before = start_counting();
    benchmark_check(attnzoo_executor_create(&executor, 0));
    benchmark_check(
        attnzoo_module_forward(module, executor, query.view, key.view, value.view, NULL, NULL, context.view, NULL));
    int is_small = report("additive, N = M = 4096, A = 256", before, executor, 64);
    attnzoo_executor_destroy(executor);
    attnzoo_module_destroy(module);
    benchmark_free_tensor(&query);
    benchmark_free_tensor(&key);
    benchmark_free_tensor(&value);
    benchmark_free_tensor(&context);
    return is_small;
}

int main(void)
{
    printf("%s\n", attnzoo_build_information());
    int is_small = measure_scaled_dot_product();
    return measure_additive() && is_small ? 0 : 1;
}
