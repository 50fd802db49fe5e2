/*
 * tests/reference/multi_head.h: multi-head attention, with relative positions or without and with a key/value cache or
 * without, in plain loops of double precision, and a bound for what a float32 computation may differ by: items 7 to 10a
 * of rounding.h around what scaled_dot_product.h says. It shares no code with the library.
 *
 * All arrays are compact row-major doubles. Letters as in attnzoo/attnzoo.h; T keys are past ones, from a cache, and M
 * counts those of the call alone.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_MULTI_HEAD_H
#define ATTNZOO_TESTS_REFERENCE_MULTI_HEAD_H

#include "reference/scaled_dot_product.h"

/* y = x W^T + b */
struct reference_linear {
    const double *weight; /* [outputs, inputs]; NULL: y = x, and no bias */
    const double *bias;   /* [outputs] or NULL */
    int64_t inputs, outputs;
};

/* Turns queries and keys of the call by their positions. */
struct reference_rotary {
    bool is_on, is_interleaved;
    int64_t size; /* R */
    double base;
    const double *cosines, *sines; /* [1 or B, P, R/2], in place of the base; or NULL */
    int64_t table_batch, table_rows;
    const double *query_positions; /* [1 or B, N]; NULL: where the mask says that queries stand */
    const double *key_positions;   /* [1 or B, M]; NULL: T, T + 1 ... */
    int64_t query_position_batch, key_position_batch;
};

enum reference_flavor { REFERENCE_PLAIN, REFERENCE_TRANSFORMER_XL, REFERENCE_SHAW };

struct reference_multi_head {
    /* Sizes, scale, softcap and mask, where keys counts T + M; query, key and value there mean nothing. */
    struct reference_problem core;
    enum reference_flavor flavor;
    const double *query, *key, *value;            /* [B, N, Eq], [B, M, Ek], [B, M, Ev] */
    struct reference_linear query_proj;           /* to H D */
    struct reference_linear key_proj, value_proj; /* to G D and G Dv */
    struct reference_linear out_proj;             /* from H Dv */
    int64_t past;                                 /* T */
    const double *past_key, *past_value;          /* [B, G, T, D], [B, G, T, Dv], exact */
    bool is_cached;                               /* keys beyond a key length are zeros */
    bool averages_heads;                          /* attention [B, N, T + M] */

    /* transformer_xl. Row p stands for the distance T + M - 1 - p from query to key. */
    const double *position; /* [1 or B, P, E] */
    int64_t position_batch, position_rows;
    struct reference_linear pos_proj; /* to H D */
    const double *u_bias, *v_bias;    /* [H, D] or NULL */

    /* shaw. */
    const double *relative_key, *relative_value; /* [2 k + 1, D], [2 k + 1, Dv] or NULL */
    int64_t farthest;                            /* k */

    struct reference_rotary rotary; /* zeros for none; past keys are turned already */
};

/* Each array belongs to the result. */
struct reference_multi_head_result {
    double *context, *context_bound;     /* [B, N, outputs of out_proj] */
    double *attention, *attention_bound; /* [B, H, N, T + M] or [B, N, T + M] */
    double *key, *key_bound;             /* [B, G, T + M, D] */
    double *value, *value_bound;         /* [B, G, T + M, Dv] */
};

struct reference_multi_head_result reference_multi_head_compute(const struct reference_multi_head *problem);

void reference_multi_head_result_destroy(struct reference_multi_head_result *result);

#endif
