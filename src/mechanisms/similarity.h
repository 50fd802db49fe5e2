/*
 * mechanisms/similarity.h: what the mechanisms whose scores come from layers of query and key of their own share, the
 * additive similarity first: parameters, shapes, the projections of query, key and value where there are any. How often
 * and with what location terms scores are made, and from what else, is the mechanism's own.
 */
#ifndef ATTNZOO_MECHANISMS_SIMILARITY_H
#define ATTNZOO_MECHANISMS_SIMILARITY_H

#include "kernels/additive.h"
#include "kernels/attention_plan.h"
#include "kernels/projection.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/shapes.h"

/** Options and parameters that come first in such a mechanism's tables. */
enum { ATTNZOO_SIMILARITY_NUM_HEADS, ATTNZOO_SIMILARITY_NUM_KV_HEADS, ATTNZOO_SIMILARITY_OPTION_COUNT };

enum {
    ATTNZOO_SIMILARITY_QUERY_WEIGHT,
    ATTNZOO_SIMILARITY_QUERY_BIAS,
    ATTNZOO_SIMILARITY_KEY_WEIGHT,
    ATTNZOO_SIMILARITY_KEY_BIAS,
    ATTNZOO_SIMILARITY_VALUE_WEIGHT,
    ATTNZOO_SIMILARITY_VALUE_BIAS,
    ATTNZOO_SIMILARITY_BIAS,
    ATTNZOO_SIMILARITY_SCORE_WEIGHT,
    ATTNZOO_SIMILARITY_SCORE_BIAS,
    ATTNZOO_SIMILARITY_PARAMETER_COUNT
};

/** The layers alone, in the order of the enumeration; and all. */
#define ATTNZOO_SIMILARITY_LAYER_PARAMETERS                                                                            \
    [ATTNZOO_SIMILARITY_QUERY_WEIGHT] = {"query_proj.weight", "[H*A, Eq]",                                             \
                                         "Wq; without it the query is used as it is, and Eq = H*A", 2, false},         \
    [ATTNZOO_SIMILARITY_QUERY_BIAS] = {"query_proj.bias", "[H*A]", "added to the projected query", 1, false},          \
    [ATTNZOO_SIMILARITY_KEY_WEIGHT] = {"key_proj.weight", "[G*A, Ek]",                                                 \
                                       "Wk; without it the key is used as it is, and Ek = G*A", 2, false},             \
    [ATTNZOO_SIMILARITY_KEY_BIAS] = {"key_proj.bias", "[G*A]", "added to the projected key", 1, false},                \
    [ATTNZOO_SIMILARITY_VALUE_WEIGHT] = {"value_proj.weight", "[G*Dv, Ev]",                                            \
                                         "without it the value is used as it is, and Ev = G*Dv", 2, false},            \
    [ATTNZOO_SIMILARITY_VALUE_BIAS] = {"value_proj.bias", "[G*Dv]", "added to the projected value", 1, false}

#define ATTNZOO_SIMILARITY_PARAMETERS                                                                                  \
    ATTNZOO_SIMILARITY_LAYER_PARAMETERS,                                                                               \
        [ATTNZOO_SIMILARITY_BIAS] = {"bias", "[A]", "b, added before the tanh", 1, false},                             \
        [ATTNZOO_SIMILARITY_SCORE_WEIGHT] = {"score_proj.weight", "[1, A]", "w, which sums the hidden units", 2,       \
                                             true},                                                                    \
        [ATTNZOO_SIMILARITY_SCORE_BIAS] = {"score_proj.bias", "[1]", "b_w, added to every score", 1, false}

/** What prepare makes. First in a mechanism's own prepared data, if it has more. */
struct attnzoo_similarity {
    int64_t head_count;
    int64_t key_head_count;
    /** A of each head. */
    int64_t hidden_size;
    struct attnzoo_layer query;
    struct attnzoo_layer key;
    struct attnzoo_layer value;
    const float *score_weight;
    const float *bias;
    float score_bias;
};

attnzoo_status attnzoo_similarity_prepare(const struct attnzoo_instance *instance,
                                          struct attnzoo_similarity *similarity);

/** The part of it that is the same without score_proj: reads and checks the layers. Heads are set already. */
attnzoo_status attnzoo_similarity_prepare_layers(const struct attnzoo_instance *instance,
                                                 struct attnzoo_similarity *similarity);

attnzoo_status attnzoo_similarity_output_shape(const struct attnzoo_instance *instance,
                                               const struct attnzoo_view *const *inputs,
                                               const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                               int64_t *shape);

/** The same for a similarity that was not prepared as such; outputs that have no columns are [B, N] or [B, H, N]. */
attnzoo_status attnzoo_similarity_tell_shape(const struct attnzoo_similarity *similarity,
                                             const struct attnzoo_view *const *inputs, int32_t output, int32_t *rank,
                                             int64_t *shape);

enum { ATTNZOO_SIMILARITY_LAYERS = 3 };

/** A call between its checks and its run. */
struct attnzoo_similarity_call {
    const struct attnzoo_similarity *similarity;
    const struct attnzoo_call *call;
    /** Query, key and value as they are attended to: views of the inputs, or projected. Scale 1, additive source. */
    struct attnzoo_attention problem;
    struct attnzoo_additive additive;
    /** [B, H, N, M], or NULL data if it is not wanted. */
    struct attnzoo_grid attention;
    /** The layers of query, key and value; weight NULL where the input is used as it is. */
    struct attnzoo_projection layers[ATTNZOO_SIMILARITY_LAYERS];
    struct attnzoo_projection_plan layer_plans[ATTNZOO_SIMILARITY_LAYERS];
    /** Bytes of the call's memory before each projected tensor; -1 for one that lies elsewhere. */
    int64_t offsets[ATTNZOO_SIMILARITY_LAYERS];
};

/** Checks a call and describes it. */
attnzoo_status attnzoo_similarity_open(struct attnzoo_similarity_call *opened, const struct attnzoo_instance *instance,
                                       const struct attnzoo_call *call);

/** The same for a similarity that was not prepared as such; it must outlive the call. */
attnzoo_status attnzoo_similarity_open_as(struct attnzoo_similarity_call *opened,
                                          const struct attnzoo_similarity *similarity, const struct attnzoo_call *call);

/** Plans the layers, and gives what they make a place in the call's memory, unless data is set already. */
attnzoo_status attnzoo_similarity_plan(struct attnzoo_similarity_call *opened, int64_t *end,
                                       struct attnzoo_pool_needs *needs);

/** Points the layers' outputs into the call's memory. */
void attnzoo_similarity_point(struct attnzoo_similarity_call *opened, char *memory);

/** Runs the layers. Spans [B] of rows to be read of queries, and of keys and values. */
void attnzoo_similarity_project(struct attnzoo_similarity_call *opened, const struct attnzoo_pool_claim *claim,
                                const struct attnzoo_key_span *queries, const struct attnzoo_key_span *keys);

/**
 * For a call that projects once, before its scores: plans the layers, claims the pool with all memory, the `own` bytes
 * that the caller has placed among it, and runs the layers. needs are those of what follows, but for shared memory; the
 * caller's is at the beginning of claim->shared.
 */
attnzoo_status attnzoo_similarity_begin(struct attnzoo_similarity_call *opened, int64_t own,
                                        struct attnzoo_pool_needs *needs, struct attnzoo_pool_claim *claim);

/** Runs a call that is one attention by its problem's scores. */
attnzoo_status attnzoo_similarity_run(struct attnzoo_similarity_call *opened);

#endif
