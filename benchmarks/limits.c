/*
 * benchmarks/limits.c: the rate of a plain cblas_sgemm and of reading memory, in one thread and in several.
 */
#define _POSIX_C_SOURCE 200809L

#include "limits.h"

#include "support.h"
#include "turns.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PRODUCT_SIZE = 1024 };
static const size_t reading_count = (size_t)64 << 20;

extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_parallel(void) __attribute__((weak));

void benchmark_limit_blas(void)
{
    if (openblas_set_num_threads != NULL)
        openblas_set_num_threads(1);
}

/* Runs work on each of count parts of the given size, the first in the calling thread and each other in its own. */
static void run_parts(void *(*work)(void *part), void *parts, size_t part_size, int count)
{
    pthread_t threads[BENCHMARK_THREADS_MAX];
    char *first = parts;
    for (int i = 1; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, first + (size_t)i * part_size) != 0) {
            fprintf(stderr, "a thread could not be started\n");
            exit(1);
        }
    work(first);
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
}

struct product {
    float *a;
    float *b;
    float *c;
};

struct benchmark_products {
    int threads;
    struct product parts[BENCHMARK_THREADS_MAX];
};

static void *multiply(void *part)
{
    const struct product *product = part;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, PRODUCT_SIZE, PRODUCT_SIZE, PRODUCT_SIZE, 1.0f, product->a,
                PRODUCT_SIZE, product->b, PRODUCT_SIZE, 0.0f, product->c, PRODUCT_SIZE);
    return NULL;
}

void benchmark_run_products(void *context)
{
    struct benchmark_products *products = context;
    run_parts(multiply, products->parts, sizeof *products->parts, products->threads);
}

struct benchmark_products *benchmark_make_products(int threads)
{
    /* An OpenBLAS without threads may have no locks either: one caller at a time. */
    int is_serial = openblas_get_parallel != NULL && openblas_get_parallel() == 0;
    size_t count = (size_t)PRODUCT_SIZE * PRODUCT_SIZE;
    struct benchmark_products *products = benchmark_allocate(sizeof *products);
    benchmark_limit_blas();
    products->threads = is_serial ? 1 : threads;
    for (int i = 0; i < products->threads; i++)
        products->parts[i] =
            (struct product){benchmark_make_floats(count), benchmark_make_floats(count), benchmark_make_floats(count)};
    return products;
}

void benchmark_free_products(struct benchmark_products *products)
{
    for (int i = 0; i < products->threads; i++) {
        free(products->parts[i].a);
        free(products->parts[i].b);
        free(products->parts[i].c);
    }
    free(products);
}

double benchmark_products_operations(const struct benchmark_products *products)
{
    return 2.0 * PRODUCT_SIZE * PRODUCT_SIZE * PRODUCT_SIZE * products->threads;
}

double benchmark_own_threads_rate(int threads, int repetitions)
{
    if (openblas_set_num_threads == NULL)
        return 0.0;
    struct benchmark_products *products = benchmark_make_products(1);
    struct benchmark_call call = {.run = benchmark_run_products, .context = products};
    openblas_set_num_threads(threads);
    benchmark_take_turns(&call, 1, repetitions);
    benchmark_limit_blas();
    /* Its threads look out for more work for a while. */
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    double rate = benchmark_products_operations(products) / call.timing.median;
    benchmark_free_products(products);
    return rate;
}

struct part {
    const float *floats;
    size_t count;
    float sum;
};

struct benchmark_reading {
    int threads;
    float *floats;
    struct part parts[BENCHMARK_THREADS_MAX];
};

typedef float lanes __attribute__((vector_size(32)));

enum { LANES = 8, ACCUMULATORS = 8, STEP = LANES * ACCUMULATORS };

/* Several sums side by side, so that none has to wait for its own last addition. count: a multiple of STEP. */
static inline __attribute__((always_inline)) float sum_lanes(const float *floats, size_t count)
{
    lanes sums[ACCUMULATORS] = {{0.0f}};
    const lanes *vectors = (const lanes *)(const void *)floats;
    float sum = 0.0f;
    for (size_t i = 0; i < count / LANES; i += ACCUMULATORS)
        for (size_t k = 0; k < ACCUMULATORS; k++)
            sums[k] += vectors[i + k];
    for (size_t k = 0; k < ACCUMULATORS; k++)
        for (size_t lane = 0; lane < LANES; lane++)
            sum += sums[k][lane];
    return sum;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static float sum_avx2(const float *floats, size_t count)
{
    return sum_lanes(floats, count);
}

static float sum_of(const float *floats, size_t count)
{
    return __builtin_cpu_supports("avx2") ? sum_avx2(floats, count) : sum_lanes(floats, count);
}
#else
static float sum_of(const float *floats, size_t count)
{
    return sum_lanes(floats, count);
}
#endif

static void *sum_part(void *context)
{
    struct part *part = context;
    part->sum = sum_of(part->floats, part->count);
    return NULL;
}

void benchmark_run_reading(void *context)
{
    struct benchmark_reading *reading = context;
    run_parts(sum_part, reading->parts, sizeof *reading->parts, reading->threads);
}

struct benchmark_reading *benchmark_make_reading(int threads)
{
    struct benchmark_reading *reading = benchmark_allocate(sizeof *reading);
    size_t count = reading_count / (size_t)threads / STEP * STEP;
    reading->threads = threads;
    reading->floats = aligned_alloc(64, reading_count * sizeof *reading->floats);
    if (reading->floats == NULL) {
        fprintf(stderr, "no memory for %zu floats\n", reading_count);
        exit(1);
    }
    for (size_t i = 0; i < reading_count; i++)
        reading->floats[i] = (float)(i % 8);
    for (int i = 0; i < threads; i++)
        reading->parts[i] = (struct part){reading->floats + (size_t)i * count, count, 0.0f};
    return reading;
}

void benchmark_free_reading(struct benchmark_reading *reading)
{
    free(reading->floats);
    free(reading);
}

double benchmark_reading_bytes(void)
{
    return (double)(reading_count * sizeof(float));
}
