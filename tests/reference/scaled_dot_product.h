/*
 * tests/reference/scaled_dot_product.h: scaled dot-product attention in plain loops of double precision, with
 * everything that masks can say, and a bound for what a float32 computation may differ by. It shares no code with the
 * library.
 *
 * All arrays are compact row-major doubles, lengths, positions and ids included (whole numbers far below 2^53). Letters
 * as in attnzoo/attnzoo.h.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_H
#define ATTNZOO_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

/* A dense mask: values read at any index of [B, H, N, M] by strides, zero along the axes that repeat. */
struct reference_dense {
    const double *values; /* NULL where there is none */
    int64_t strides[4];
};

/* Keys and values that stand for the distance of a pair: key less query, where query i stands at M - N + i whatever the
 * mask's positions are. They are rows of tables, numbered by the distance less the lowest one; a distance beyond an end
 * counts as the end. */
struct reference_distances {
    int64_t lowest, highest;
    const double *query, *query_error; /* [B, H, N, D], multiplied with key; NULL for no such term */
    const double *key, *key_error;     /* [rows, D] of batch b and head h from b strides[0] + h strides[1] on */
    int64_t key_strides[2];
    const double *value; /* [rows, Dv], added to the value; or NULL */
};

/* T5's: row b of the table is added, head by head, to the scores of pairs whose distance is in bucket b. */
struct reference_buckets {
    const double *table; /* [count, H]; NULL for none */
    int64_t count, max_distance;
    bool is_bidirectional;
};

struct reference_problem {
    int64_t batch, heads, key_heads, queries, keys, head_size, value_size;
    const double *query; /* [B, H, N, D] */
    const double *key;   /* [B, G, M, D] */
    const double *value; /* [B, G, M, Dv] */
    double scale;
    double softcap; /* 0 for none */

    bool causal;
    int64_t window_left, window_right; /* -1 for no limit */
    int32_t alignment;                 /* an ATTNZOO_ALIGNMENT_ number */
    const double *offsets;             /* [B]; in place of the alignment; or NULL */
    const double *key_lengths;         /* [B] or NULL */
    const double *query_lengths;       /* [B] or NULL */
    struct reference_dense boolean;
    struct reference_dense bias;
    const double *slopes;   /* [H] or NULL */
    const double *segments; /* [B, M] or NULL */

    /* How far query, key and value may be off where they were computed themselves; NULL for exact ones. */
    const double *query_error, *key_error, *value_error;
    struct reference_distances distances; /* zeros for none */
    struct reference_buckets buckets;     /* zeros for none */
    const double *sinks;                  /* [H] or NULL */
};

/* Each array belongs to the result. A row with a NaN or +infinity among its scores is NaN throughout, for keys that it
 * does not see too. */
struct reference_result {
    double *context, *context_bound;         /* [B, H, N, Dv] */
    double *attention, *attention_bound;     /* [B, H, N, M] */
    double *log_sum_exp, *log_sum_exp_bound; /* [B, H, N] */
};

/* Where query i of a batch stands. */
int64_t reference_position(const struct reference_problem *problem, int64_t batch, int64_t query);

/* May the query see the key? */
bool reference_sees(const struct reference_problem *problem, int64_t batch, int64_t head, int64_t query, int64_t key);

/* Dense and linear bias of a pair; each may be asked for alone. */
double reference_dense_bias(const struct reference_problem *problem, int64_t batch, int64_t head, int64_t query,
                            int64_t key);
double reference_linear_bias(const struct reference_problem *problem, int64_t batch, int64_t head, int64_t query,
                             int64_t key);

/* The bucket of a relative position, key less query. */
int64_t reference_bucket(const struct reference_buckets *buckets, int64_t relative_position);

struct reference_result reference_compute(const struct reference_problem *problem);

void reference_result_destroy(struct reference_result *result);

#endif
