/*
 * benchmarks/support.h: what the benchmark programs share: making problems, ending on errors, time.
 */
#ifndef ATTNZOO_BENCHMARKS_SUPPORT_H
#define ATTNZOO_BENCHMARKS_SUPPORT_H

#include <attnzoo/attnzoo.h>

#include <stddef.h>

/** Query, key, value and context of one call of scaled_dot_product, in memory filled with numbers from -1 to 1. */
struct benchmark_problem {
    float *query_data;
    float *key_data;
    float *value_data;
    float *context_data;
    attnzoo_tensor *query;
    attnzoo_tensor *key;
    attnzoo_tensor *value;
    attnzoo_tensor *context;
};

struct benchmark_shape {
    int64_t batch;
    int64_t heads;
    int64_t queries;
    int64_t keys;
    int64_t head_size;
};

/** Prints what went wrong and ends the program unless status is OK. */
void benchmark_check(attnzoo_status status);

struct benchmark_problem benchmark_make_problem(const struct benchmark_shape *shape);
void benchmark_free_problem(struct benchmark_problem *problem);

/** A prepared module of scaled_dot_product with its defaults. */
attnzoo_module *benchmark_make_module(void);

/** A mask that is causal or hides nothing. */
attnzoo_mask *benchmark_make_mask(int32_t is_causal);

/** Memory of so many floats, all touched. */
float *benchmark_make_floats(size_t count);

/** Seconds on a clock that never jumps. */
double benchmark_seconds(void);

#endif
