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

enum { SGEMM_SIZE = 1024 };

struct matrices {
    float *a;
    float *b;
    float *c;
};

static void call_sgemm(void *context)
{
    const struct matrices *matrices = context;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SGEMM_SIZE, SGEMM_SIZE, SGEMM_SIZE, 1.0f, matrices->a,
                SGEMM_SIZE, matrices->b, SGEMM_SIZE, 0.0f, matrices->c, SGEMM_SIZE);
}

static struct benchmark_timing time_sgemm(int repetitions)
{
    size_t count = (size_t)SGEMM_SIZE * SGEMM_SIZE;
    struct matrices matrices = {benchmark_make_floats(count), benchmark_make_floats(count),
                                benchmark_make_floats(count)};
    benchmark_limit_blas();
    struct benchmark_timing timing = benchmark_time(call_sgemm, &matrices, repetitions);
    free(matrices.a);
    free(matrices.b);
    free(matrices.c);
    return timing;
}

struct call {
    const attnzoo_module *module;
    attnzoo_executor *executor;
    attnzoo_mask *mask;
    struct benchmark_problem *problem;
};

static void call_attention(void *context)
{
    const struct call *call = context;
    benchmark_check(attnzoo_module_forward(call->module, call->executor, call->problem->query.view,
                                           call->problem->key.view, call->problem->value.view, call->mask, NULL,
                                           call->problem->context.view, NULL));
}

static struct benchmark_timing time_attention(const attnzoo_module *module, attnzoo_executor *executor,
                                              struct benchmark_problem *problem, int32_t is_causal, int repetitions)
{
    struct call call = {module, executor, benchmark_make_mask(is_causal), problem};
    struct benchmark_timing timing = benchmark_time(call_attention, &call, repetitions);
    attnzoo_mask_destroy(call.mask);
    return timing;
}

static void print_row(const struct benchmark_shape *shape, double sgemm_rate, int repetitions)
{
    struct benchmark_problem problem = benchmark_make_problem(shape);
    attnzoo_module *module = benchmark_make_module();
    attnzoo_executor *executor = NULL;
    benchmark_check(attnzoo_executor_create(&executor, 1));
    struct benchmark_timing full = time_attention(module, executor, &problem, 0, repetitions);
    struct benchmark_timing causal = time_attention(module, executor, &problem, 1, repetitions);
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
    int repetitions = benchmark_repetitions(argument_count, arguments, 9);
    struct benchmark_timing sgemm = time_sgemm(repetitions);
    double size = SGEMM_SIZE, sgemm_rate = 2.0 * size * size * size / sgemm.median;
    printf("%s\n\ncblas_sgemm at 1024 cubed, one thread: %.1f GFLOP/s, spread %.0f%%; %d repetitions\n\n",
           attnzoo_build_information(), sgemm_rate * 1e-9, sgemm.spread * 100.0, repetitions);
    printf("| B, H, N, M, D | ms | spread | GFLOP/s | of sgemm | causal / full time |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        print_row(&shapes[i], sgemm_rate, repetitions);
    return 0;
}
