/*
 * kernels/vectors.h: the vectorised row kernels, as one table of functions for each CPU path. All come from one
 * source, vectors_template.h. Rows are contiguous float32 unless a kernel says otherwise; lengths may be 0.
 *
 * ACCURACY. exponentials and hyperbolic_tangents are within 2 units in the last place of the exact value for
 * every float, subnormal results included; tests/kernels holds them to it over the whole range. Over all floats the
 * worst seen, on x86-64 with gcc 12 at -O3, was 1.41 (tanh); of exp 1.37, or 1.02 with FMA. softmax weights differ
 * from exp only where the result would be subnormal: there they are 0.
 */
#ifndef ATTNZOO_KERNELS_VECTORS_H
#define ATTNZOO_KERNELS_VECTORS_H

#include "base/common.h"

/** A product of a few rows with keys, or of their scores with values, which are keys here, too. */
struct attnzoo_few_rows {
    /** [row_count, key_count], score_step floats from row to row. */
    float *scores;
    int64_t score_step;
    int64_t row_count;
    /** [key_count, columns], key_step elements from row to row. */
    const void *keys;
    int64_t key_step;
    int64_t key_count;
    int64_t columns;
    /** Which scores are multiplied by. */
    float scale;
    /** How many rows of keys ahead to fetch. */
    int64_t keys_ahead;
};

struct attnzoo_few_rows_kernels {
    /** scores = scale * queries [row_count, columns] times keys transposed. */
    void (*score)(const struct attnzoo_few_rows *product, const float *queries, int64_t query_step);

    /** context [row_count, columns] += scores times keys. */
    void (*add)(const struct attnzoo_few_rows *product, float *context, int64_t context_step);
};

struct attnzoo_vectors {
    /** values[i] = exp(values[i]). */
    void (*exponentials)(float *values, int64_t count);

    /** values[i] = tanh(values[i]). */
    void (*hyperbolic_tangents)(float *values, int64_t count);

    /** scores[i] = cap * tanh(scores[i] / cap), cap > 0. */
    void (*cap_scores)(float *scores, int64_t count, float cap);

    /** The largest value, NaN aside; -infinity for none. */
    float (*maximum)(const float *values, int64_t count);

    /**
     * scores[i] = exp(scores[i] - maximum), 0 where that would be subnormal; returns their sum. No score may be
     * above the maximum by more than rounding, and the maximum not -infinity.
     */
    float (*softmax_weights)(float *scores, int64_t count, float maximum);

    /** The sum of weights[i] * tanh(left[i] + right[i] + extra[i]), in any order. extra may be NULL for none. */
    float (*tanh_dot)(const float *weights, const float *left, const float *right, const float *extra, int64_t count);

    /** destination[i] = source[i] * factor. The two may be the same row. */
    void (*scale)(float *destination, const float *source, int64_t count, float factor);

    /** values[i] += value. */
    void (*add_value)(float *values, int64_t count, float value);

    /** The sum of the values, by as many partial sums as a vector has lanes. */
    float (*sum)(const float *values, int64_t count);

    /**
     * destination [columns, rows] = source [rows, columns] transposed; steps in floats from row to row. What lies in a
     * row of the destination behind its rows is left alone.
     */
    void (*transpose)(float *destination, int64_t destination_step, const float *source, int64_t source_step,
                      int64_t rows, int64_t columns);

    /** destination[i] += source[i] * factor. */
    void (*add_scaled)(float *destination, const float *source, int64_t count, float factor);

    /** Raises scores[i] below the lowest finite float to it; NaN stays. */
    void (*saturate)(float *scores, int64_t count);

    /** scores[i] += bias[i], saturated; -infinity where bias[i] is, whatever scores[i] was. */
    void (*add_bias)(float *scores, const float *bias, int64_t count);

    /** scores[i] -= slope * |distance - i|, saturated. Distances beyond 2^31 keep a float's accuracy. */
    void (*add_linear_bias)(float *scores, int64_t count, float slope, int64_t distance);

    /** scores[i] = -infinity where allowed[i] is 0; the others are raised to at least the lowest, NaN aside. */
    void (*hide)(float *scores, const uint8_t *allowed, int64_t count, float lowest);

    /** Whether no value is NaN or infinite. */
    bool (*all_finite)(const float *values, int64_t count);

    /** The sum of the values' squares, by partial sums as sum() has. */
    float (*sum_of_squares)(const float *values, int64_t count);

    /** values[i] *= factors[i]. */
    void (*multiply)(float *values, const float *factors, int64_t count);

    /**
     * values[i] = (values[i] / maximum)^exponent, for maximum > 0, no value above it, and exponent >= 1. With the quotient
     * q taken as it is, within (8 |exponent ln q| + 4) units of 2^-24 of the result; 0 where that would be subnormal, and
     * below the normal floats unless exponent is 1. NaN stays.
     */
    void (*powers)(float *values, int64_t count, float maximum, float exponent);

    /** values[i] *= 1 - weight * amounts[i]. */
    void (*erase)(float *values, const float *amounts, int64_t count, float weight);

    /** IEEE binary16 and bfloat16 to float32, exactly. */
    void (*widen_float16)(float *destination, const uint16_t *source, int64_t count);
    void (*widen_bfloat16)(float *destination, const uint16_t *source, int64_t count);

    /** By the type of the keys. */
    struct attnzoo_few_rows_kernels few_rows_float32;
    struct attnzoo_few_rows_kernels few_rows_float16;
    struct attnzoo_few_rows_kernels few_rows_bfloat16;
};

/** The table for the CPU path in use. */
const struct attnzoo_vectors *attnzoo_kernel_vectors(void);

/** The tables by path, for attnzoo_kernel_vectors() and for tests. Each may run only where the path exists. */
extern const struct attnzoo_vectors attnzoo_kernel_vectors_baseline;
#if defined(__x86_64__)
extern const struct attnzoo_vectors attnzoo_kernel_vectors_avx2;
extern const struct attnzoo_vectors attnzoo_kernel_vectors_avx512;
#endif

#endif
