/*
 * kernels/local_window.h: a Gaussian around a predicted position, laid over an alignment by position (Luong et al. 2015,
 * arXiv 1508.04025, section 3.2, "local-p"), as a score source: scores are those of the alignment, and their weights,
 * once the softmax has summed them, are damped by exp(-distance^2 / (2 sigma^2)).
 */
#ifndef ATTNZOO_KERNELS_LOCAL_WINDOW_H
#define ATTNZOO_KERNELS_LOCAL_WINDOW_H

#include "kernels/attention.h"

struct attnzoo_local_window {
    /** [B, N]: where each query's window is centred. */
    double *centres;
    int64_t query_count;
    /** The largest distance of a key from the centre: 2 sigma. */
    double reach;
    /** What the first key counts as. */
    int64_t first_position;
    /** Scores are queries times keys; otherwise all are alike. */
    bool has_keys;
};

extern const struct attnzoo_score_source attnzoo_kernel_local_window;

/** What centres are predicted from: S sigmoid(weight . tanh(hidden) + bias), S the keys before their batch's length. */
struct attnzoo_local_prediction {
    struct attnzoo_local_window *window;
    const struct attnzoo_mask_plan *mask;
    /** [B, N, A], compact; [A]; A zeros. */
    const float *hidden;
    const float *weight;
    const float *zeros;
    int64_t hidden_size;
    float bias;
    /** [B, N]: the keys within reach of each centre; all keys where it is NaN. */
    struct attnzoo_key_span *spans;
};

/** Predicts the centres of all queries, and finds the spans. */
void attnzoo_local_window_predict(const struct attnzoo_local_prediction *prediction,
                                  const struct attnzoo_pool_claim *claim);

#endif
