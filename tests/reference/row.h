/*
 * tests/reference/row.h: one query against all keys, in double: from scores and how far each may be off to attention
 * and context and how far these may be off. For the references whose scores are not products alone. The bounds are
 * items 2 to 5 of rounding.h, and items 13 and 14 of rounding_tanh.h.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_ROW_H
#define ATTNZOO_TESTS_REFERENCE_ROW_H

#include "reference/rounding_tanh.h"
#include "reference/scaled_dot_product.h"

#include <stdbool.h>
#include <stdint.h>

/* By key. weight and weight_error hold attention once the row is normalised: 0 where the key is not seen. */
struct reference_row {
    int64_t keys;
    bool *seen;
    double *score, *score_error;
    double *weight, *weight_error;
    bool sees_anything;
    bool is_nan; /* a NaN or +infinity among the scores that it sees */
    struct row_rounding rounding;
};

struct reference_row reference_row_create(int64_t keys);
void reference_row_destroy(struct reference_row *row);

/* Sees nothing, all zeros. */
void reference_row_clear(struct reference_row *row);

/* The key is seen and has this score; biases of the mask are added to it here, and scores below the floats raised. */
void reference_row_add(struct reference_row *row, const struct reference_problem *mask, int64_t batch, int64_t head,
                       int64_t query, int64_t key, double score, double error);

/* Replaces the scores by log sigmoid(score), so that the softmax of the row is sigmoid over the sum of sigmoids. */
void reference_row_log_sigmoids(struct reference_row *row);

/* Scores to attention. */
void reference_row_normalise(struct reference_row *row);

/* Sums values [M, columns], step numbers from key to key, each with its bound, by the attention. */
void reference_row_context(const struct reference_row *row, const double *value, const double *value_error,
                           int64_t step, int64_t columns, double *context, double *bound);

/* So many doubles, all 0. */
double *reference_zeros(int64_t count);

#endif
