/*
 * tests/reference/additive.h: additive attention (Bahdanau et al. 2015) in plain loops of double precision, and a bound
 * for what a float32 computation may differ by: items 11 to 13 of rounding_tanh.h. It shares no code with the library.
 * location_aware.h builds on its parts.
 *
 * All arrays are compact row-major doubles. Letters as in attnzoo/attnzoo.h; A is the attention size of one head.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_ADDITIVE_H
#define ATTNZOO_TESTS_REFERENCE_ADDITIVE_H

#include "reference/row.h"

/* y = x W^T + b; without a weight y = x. */
struct reference_layer {
    const double *weight; /* [outputs, inputs] or NULL, and then outputs = inputs */
    const double *bias;   /* [outputs] or NULL */
    int64_t inputs, outputs;
};

struct reference_additive {
    struct reference_problem mask; /* sizes B, H, G, N, M and the mask; D and the scale mean nothing */
    int64_t attention_size;
    const double *query;               /* [B, N, Eq] */
    const double *key;                 /* [B, M, Ek] */
    const double *value;               /* [B, M, Ev] */
    struct reference_layer query_proj; /* to H A */
    struct reference_layer key_proj;   /* to G A */
    struct reference_layer value_proj; /* to G Dv */
    const double *bias;                /* [A] or NULL */
    const double *score_weight;        /* [A] */
    double score_bias;
    double sharpening; /* multiplies the score before the biases of the mask */
};

/* Numbers and how far a float32 computation of them may be off. */
struct reference_bounded {
    double *value, *bound;
};

struct reference_bounded reference_bounded_create(int64_t count);
void reference_bounded_destroy(struct reference_bounded *numbers);

/* The layer applied to each of the rows. */
struct reference_bounded reference_project(const struct reference_layer *layer, const double *input, int64_t rows);

/* Query [B, N, H A], key [B, M, G A] and value [B, M, G Dv] after their layers. */
struct reference_projections {
    struct reference_bounded query, key, value;
};

struct reference_projections reference_projections_create(const struct reference_additive *problem);
void reference_projections_destroy(struct reference_projections *projections);

/* Enters the score of a key into the row. location: [A] added to the sum inside of the tanh, with its bounds; or NULL.
 */
void reference_additive_score(const struct reference_additive *problem, const struct reference_projections *projections,
                              struct reference_row *row, int64_t batch, int64_t head, int64_t query, int64_t key,
                              const double *location, const double *location_bound);

/* Writes the normalised row into the result: context [B, N, H Dv], attention [B, H, N, M]. */
void reference_additive_write(const struct reference_additive *problem, const struct reference_projections *projections,
                              const struct reference_row *row, struct reference_result *result, int64_t batch,
                              int64_t head, int64_t query);

/* Zeros, without a log-sum-exp. */
struct reference_result reference_additive_result(const struct reference_additive *problem);

struct reference_result reference_additive_compute(const struct reference_additive *problem);

#endif
