/*
 * kernels/local_window.h: a Gaussian around a predicted position, laid over an alignment by position (Luong et al. 2015,
 * arXiv 1508.04025, section 3.2, "local-p"), as score sources. Twice through the core: first for the log-sum-exp of each
 * query's alignment within its window, then for weights exp(score - log-sum-exp - distance^2 / (2 sigma^2)).
 */
#ifndef ATTNZOO_KERNELS_LOCAL_WINDOW_H
#define ATTNZOO_KERNELS_LOCAL_WINDOW_H

#include "kernels/attention.h"

struct attnzoo_local_window {
    /** [B, N]: where each query's window is centred, and the log-sum-exp of its alignment. */
    const double *centres;
    const float *log_sums;
    int64_t query_count;
    /** The largest distance of a key from the centre: 2 sigma. */
    double reach;
    /** What the first key counts as. */
    int64_t first_position;
    /** Scores are queries times keys; otherwise all are alike. */
    bool has_keys;
};

/** The alignment alone. */
extern const struct attnzoo_score_source attnzoo_kernel_local_alignment;

/** The alignment, its log-sum-exp and the Gaussian together. */
extern const struct attnzoo_score_source attnzoo_kernel_local_window;

/** The keys, of so many, within reach of a query's centre; all keys where it is NaN. */
struct attnzoo_key_span attnzoo_local_window_span(const struct attnzoo_local_window *window, int64_t batch,
                                                  int64_t query, int64_t key_count);

#endif
