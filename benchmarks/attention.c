/*
 * benchmarks/attention.c: scaled_dot_product against the limit of the machine: how near its rate comes to that of a
 * plain cblas_sgemm of 1024 x 1024 matrices, in one thread each, in the same run. Prints a table in Markdown.
 *
 *   benchmark_attention [REPETITIONS]
 *
 * The rate is 4 B H N M D floating-point operations over the median time, a causal call counted in full. The spread is
 * the range of the middle half of the times, over the median.
 */
#include "support.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

enum { SGEMM_SIZE = 1024, REPETITIONS_MAX = 1000 };

struct timing {
    double median;
    double spread;
};

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

static struct timing summarise(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    double median = times[count / 2];
    return (struct timing){median, (times[count * 3 / 4] - times[count / 4]) / median};
}

/* The library keeps the BLAS to one thread inside its calls; this call is outside them, and so asks by itself. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

static struct timing time_sgemm(int repetitions)
{
    size_t count = (size_t)SGEMM_SIZE * SGEMM_SIZE;
    float *a = benchmark_make_floats(count), *b = benchmark_make_floats(count), *c = benchmark_make_floats(count);
    double times[REPETITIONS_MAX];
    if (openblas_set_num_threads != NULL)
        openblas_set_num_threads(1);
    for (int i = -1; i < repetitions; i++) {
        double start = benchmark_seconds();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SGEMM_SIZE, SGEMM_SIZE, SGEMM_SIZE, 1.0f, a, SGEMM_SIZE,
                    b, SGEMM_SIZE, 0.0f, c, SGEMM_SIZE);
        if (i >= 0)
            times[i] = benchmark_seconds() - start;
    }
    free(a);
    free(b);
    free(c);
    return summarise(times, repetitions);
}

static struct timing time_attention(const attnzoo_module *module, attnzoo_executor *executor,
                                    struct benchmark_problem *problem, int32_t is_causal, int repetitions)
{
    attnzoo_mask *mask = benchmark_make_mask(is_causal);
    double times[REPETITIONS_MAX];
    for (int i = -1; i < repetitions; i++) {
        double start = benchmark_seconds();
        benchmark_check(attnzoo_module_forward(module, executor, problem->query, problem->key, problem->value, mask,
                                               NULL, problem->context, NULL));
        if (i >= 0)
            times[i] = benchmark_seconds() - start;
    }
    attnzoo_mask_destroy(mask);
    return summarise(times, repetitions);
}

static void print_row(const struct benchmark_shape *shape, double sgemm_rate, int repetitions)
{
    struct benchmark_problem problem = benchmark_make_problem(shape);
    attnzoo_module *module = benchmark_make_module();
    attnzoo_executor *executor = NULL;
    benchmark_check(attnzoo_executor_create(&executor, 1));
    struct timing full = time_attention(module, executor, &problem, 0, repetitions);
    struct timing causal = time_attention(module, executor, &problem, 1, repetitions);
    double operations = 4.0 * (double)shape->batch * (double)shape->heads * (double)shape->queries *
                        (double)shape->keys * (double)shape->head_size;
    printf("| %d, %d, %d, %d, %d | %.2f | %.0f%% | %.1f | %.2f | %.2f |\n", (int)shape->batch, (int)shape->heads,
           (int)shape->queries, (int)shape->keys, (int)shape->head_size, full.median * 1e3, full.spread * 100.0,
           operations / full.median * 1e-9, operations / full.median / sgemm_rate, causal.median / full.median);
    fflush(stdout);
    attnzoo_executor_destroy(executor);
    attnzoo_module_destroy(module);
    benchmark_free_problem(&problem);
}

int main(int argument_count, char **arguments)
{
    static const struct benchmark_shape shapes[] = {{1, 8, 512, 512, 64},   {1, 12, 1024, 1024, 64},
                                                    {1, 8, 2048, 2048, 64}, {1, 8, 2048, 2048, 128},
                                                    {8, 12, 128, 128, 64},  {1, 32, 1, 4096, 128}};
    int repetitions = argument_count > 1 ? atoi(arguments[1]) : 9;
    if (repetitions < 1 || repetitions > REPETITIONS_MAX) {
        fprintf(stderr, "usage: %s [REPETITIONS, 1 to %d]\n", arguments[0], (int)REPETITIONS_MAX);
        return 2;
    }
    struct timing sgemm = time_sgemm(repetitions);
    double size = SGEMM_SIZE, sgemm_rate = 2.0 * size * size * size / sgemm.median;
    printf("%s\n\ncblas_sgemm at 1024 cubed, one thread: %.1f GFLOP/s, spread %.0f%%; %d repetitions\n\n",
           attnzoo_build_information(), sgemm_rate * 1e-9, sgemm.spread * 100.0, repetitions);
    printf("| B, H, N, M, D | ms | spread | GFLOP/s | of sgemm | causal / full time |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        print_row(&shapes[i], sgemm_rate, repetitions);
    return 0;
}
