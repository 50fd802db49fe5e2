/*
 * benchmarks/limits.h: what the machine can do at most: the rate of a plain cblas_sgemm, and that of reading memory.
 * Both are calls to be timed in turn with those that they are the limit of.
 */
#ifndef ATTNZOO_BENCHMARKS_LIMITS_H
#define ATTNZOO_BENCHMARKS_LIMITS_H

#include <stddef.h>

enum { BENCHMARK_THREADS_MAX = 256 };

/** Keeps an OpenBLAS called directly to one thread, as the library does inside its calls. */
void benchmark_limit_blas(void);

/** Products of 1024 x 1024 matrices, one in each of so many threads at the same time. */
struct benchmark_products;

struct benchmark_products *benchmark_make_products(int threads);
void benchmark_free_products(struct benchmark_products *products);
void benchmark_run_products(void *products);

/** The floating-point operations of one run. */
double benchmark_products_operations(const struct benchmark_products *products);

/**
 * The rate in floating-point operations a second of one such product in so many of the BLAS's own threads; 0 where the
 * BLAS lets nobody say how many. It leaves the BLAS at one thread.
 */
double benchmark_own_threads_rate(int threads, int repetitions);

/** The sum of a buffer that no cache holds, in so many threads at once, each a part of it. */
struct benchmark_reading;

struct benchmark_reading *benchmark_make_reading(int threads);
void benchmark_free_reading(struct benchmark_reading *reading);
void benchmark_run_reading(void *reading);

/** The bytes of one run. */
double benchmark_reading_bytes(void);

#endif
