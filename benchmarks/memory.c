/*
 * benchmarks/memory.c: how much memory a long causal call takes beyond its inputs and outputs: N = M = 16384, one head,
 * D = 64, float32. An N x M matrix of scores alone would be 1 GiB. Ends with 1 if it is 16 MiB or more.
 *
 * The peak of resident memory is set back before the library is first used, so that what the BLAS touches in its own
 * buffers counts too. Linux only.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_KIB = 16 * 1024 };

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

int main(void)
{
    const struct benchmark_shape shape = {1, 1, 16384, 16384, 64};
    struct benchmark_problem problem = benchmark_make_problem(&shape);
    long before = read_status_kib("VmRSS");
    if (!reset_peak() || before < 0) {
        fprintf(stderr, "this system does not tell a process its peak of memory (/proc/self/clear_refs)\n");
        return 1;
    }
    attnzoo_module *module = benchmark_make_module();
    attnzoo_mask *mask = benchmark_make_mask(1);
    attnzoo_executor *executor = NULL;
    benchmark_check(attnzoo_executor_create(&executor, 0));
    benchmark_check(attnzoo_module_forward(module, executor, problem.query, problem.key, problem.value, mask, NULL,
                                           problem.context, NULL));
    long extra = read_status_kib("VmHWM") - before;
    printf("%s\n", attnzoo_build_information());
    printf("causal, N = M = 16384, D = 64, one head, %d threads: %.1f MiB beyond inputs and outputs (limit %d MiB)\n",
           (int)attnzoo_executor_thread_count(executor), (double)extra / 1024.0, LIMIT_KIB / 1024);
    attnzoo_executor_destroy(executor);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    benchmark_free_problem(&problem);
    return extra < LIMIT_KIB ? 0 : 1;
}
