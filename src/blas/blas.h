/*
 * blas/blas.h: the matrix products the kernels need, by whatever CBLAS is linked, always in one thread.
 * Only src/blas includes <cblas.h> or knows a vendor.
 *
 * Matrices are row-major float32. Sizes are 64-bit: products too large for the BLAS' int are split. Sizes of 0
 * never reach the BLAS, some of which end the process over them.
 */
#ifndef ATTNZOO_BLAS_BLAS_H
#define ATTNZOO_BLAS_BLAS_H

#include "base/common.h"

#include <attnzoo/status.h>

/** The longest step between rows that a product takes. */
enum { ATTNZOO_BLAS_STEP_MAX = 0x7fffffff };

/**
 * c [rows, columns] = scale * a [rows, inner] * b [columns, inner] transposed.
 * c must not hold NaN before: some BLAS builds multiply what they overwrite by zero.
 */
void attnzoo_blas_multiply_transposed(int64_t rows, int64_t columns, int64_t inner, float scale, const float *a,
                                      int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_step);

/** c [rows, columns] = scale * a [rows, inner] * b [inner, columns]. c must not hold NaN before, as above. */
void attnzoo_blas_multiply(int64_t rows, int64_t columns, int64_t inner, float scale, const float *a, int64_t a_step,
                           const float *b, int64_t b_step, float *c, int64_t c_step);

/** c [rows, columns] += a [rows, inner] * b [inner, columns]. */
void attnzoo_blas_multiply_add(int64_t rows, int64_t columns, int64_t inner, const float *a, int64_t a_step,
                               const float *b, int64_t b_step, float *c, int64_t c_step);

/** c [rows, columns] += a [rows, inner] * b [columns, inner] transposed. */
void attnzoo_blas_multiply_transposed_add(int64_t rows, int64_t columns, int64_t inner, const float *a, int64_t a_step,
                                          const float *b, int64_t b_step, float *c, int64_t c_step);

/** The first two with the largest size that one BLAS call is given, so that tests can split small products. */
void attnzoo_blas_multiply_transposed_split(int64_t largest, int64_t rows, int64_t columns, int64_t inner, float scale,
                                            const float *a, int64_t a_step, const float *b, int64_t b_step, float *c,
                                            int64_t c_step);
void attnzoo_blas_multiply_add_split(int64_t largest, int64_t rows, int64_t columns, int64_t inner, const float *a,
                                     int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_step);

/**
 * Opens a span of calls in which so many threads (at most attnzoo_blas_thread_limit()) make products, and closes
 * it. Inside, the BLAS is kept to one thread a call; when the last open span closes, the application's setting is
 * as it was. Waits while more threads than the BLAS can bear would be making products.
 */
void attnzoo_blas_open(int32_t threads);
void attnzoo_blas_close(int32_t threads);

/**
 * Around the products of one thread; returns what attnzoo_blas_leave() must be given. The thread that opens a span
 * enters before and leaves after it: opening and closing may change the thread's own setting too.
 */
int32_t attnzoo_blas_enter(void);
void attnzoo_blas_leave(int32_t entered);

/** Starts to watch for forks, which the spans must survive. Before the first attnzoo_blas_open(). */
attnzoo_status attnzoo_blas_watch(void);

/** How many threads may make products at once. */
int32_t attnzoo_blas_thread_limit(void);

/**
 * Up to how many multiply-adds the BLAS makes a product of operands as they lie, neither transposed, without copying
 * them first; 0 if it always copies. Such products are the faster way where operands stay in a cache.
 */
int64_t attnzoo_blas_work_without_copy(void);

/** The name, version and threading of the BLAS that is linked; static. */
const char *attnzoo_blas_description(void);

#endif
