/*
 * kernels/mixture_window.h: a window over the keys that is a mixture of K Gaussians (Graves 2013, arXiv 1308.0850,
 * equations 46 to 51), as a score source: a key's score is the logarithm of its weight. Also what leads from a linear
 * layer to the windows: centres that move on step by step, and which keys a window reaches.
 */
#ifndef ATTNZOO_KERNELS_MIXTURE_WINDOW_H
#define ATTNZOO_KERNELS_MIXTURE_WINDOW_H

#include "kernels/attention.h"

/** The windows of all queries. */
struct attnzoo_mixture_window {
    /**
     * [B, N, 3 K], compact: of each query K logarithms of heights, K logarithms of sharpnesses, and K centres: first the
     * logarithms of how far they move, then, by attnzoo_mixture_window_move(), where they are.
     */
    float *numbers;
    /** [B, K]: where the centres are before the first query, and, once they have moved, behind the last one. */
    float *centres;
    /** [B, N]: the keys that have a weight above 0 as a float, all keys where a number is NaN; or NULL. */
    struct attnzoo_key_span *spans;
    int64_t component_count;
    int64_t query_count;
    /** What the first key counts as. */
    int64_t first_position;
};

/** Fills scores with ln sum_k exp(height_k - exp(sharpness_k) (centre_k - u)^2), u the key's position. */
extern const struct attnzoo_score_source attnzoo_kernel_mixture_window;

/**
 * Moves the centres on with the queries that come before their batch's length: centre_t = centre_t-1 + exp(move_t), at
 * most the largest float; and finds the spans.
 */
void attnzoo_mixture_window_move(const struct attnzoo_mixture_window *window, const struct attnzoo_mask_plan *mask,
                                 const struct attnzoo_pool_claim *claim);

#endif
