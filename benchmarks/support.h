/*
 * benchmarks/support.h: what the benchmark programs share: tensors, modules and masks, and ending on errors.
 */
#ifndef ATTNZOO_BENCHMARKS_SUPPORT_H
#define ATTNZOO_BENCHMARKS_SUPPORT_H

#include <attnzoo/attnzoo.h>

#include <stddef.h>

/** A tensor with memory of its own. */
struct benchmark_tensor {
    void *data;
    attnzoo_tensor *view;
};

/** Of float32, filled with numbers from -1 to 1. */
struct benchmark_tensor benchmark_make_tensor(int32_t rank, const int64_t *shape);

/** As benchmark_make_tensor(), but of any floating-point type. */
struct benchmark_tensor benchmark_make_tensor_of(int32_t dtype, int32_t rank, const int64_t *shape);

void benchmark_free_tensor(struct benchmark_tensor *tensor);

/** Query, key, value and context of one call of scaled_dot_product. */
struct benchmark_problem {
    struct benchmark_tensor query;
    struct benchmark_tensor key;
    struct benchmark_tensor value;
    struct benchmark_tensor context;
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

/** Memory that is not there ends the program; free() frees it. */
void *benchmark_allocate(size_t size);

struct benchmark_problem benchmark_make_problem(const struct benchmark_shape *shape);
void benchmark_free_problem(struct benchmark_problem *problem);

/** A prepared module of scaled_dot_product with its defaults. */
attnzoo_module *benchmark_make_module(void);

/** A parameter to be filled with small numbers. */
struct benchmark_parameter {
    const char *name;
    int32_t rank;
    int64_t shape[3];
};

/**
 * A prepared module of any mechanism. options: "name=value" with spaces between, or NULL. Parameters come to numbers
 * from -1/sqrt(n) to 1/sqrt(n), n their last size.
 */
attnzoo_module *benchmark_make_module_of(const char *mechanism, const char *options,
                                         const struct benchmark_parameter *parameters, int parameter_count);

/** A mask that is causal or hides nothing. */
attnzoo_mask *benchmark_make_mask(int32_t is_causal);

/** Memory of so many floats, all touched, from -1 to 1. */
float *benchmark_make_floats(size_t count);

#endif
