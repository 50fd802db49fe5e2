/*
 * kernels/location.h: what a recurrent attention makes of the alignment before it: location features by a convolution
 * over the keys (Chorowski et al. 2015, arXiv 1506.07503, equation 8), windows around its peak, and the first
 * alignment. Alignments are [B, H, M] compact float32, here with a step of capacity from head to head.
 */
#ifndef ATTNZOO_KERNELS_LOCATION_H
#define ATTNZOO_KERNELS_LOCATION_H

#include "kernels/grid.h"
#include "kernels/mask.h"
#include "parallel/pool.h"

/** Alignments of the last step, or their sums: head h of batch b begins at data + (b * H + h) * step. */
struct attnzoo_alignment {
    float *data;
    int64_t step;
};

/** The layers between alignments and scores: f = conv(alignments), l = U f. */
struct attnzoo_location_layers {
    /** [F, channels, W], with W odd; a bias [F] or NULL. */
    const float *convolution;
    const float *convolution_bias;
    int64_t filter_count;
    int64_t channel_count;
    int64_t width;
    /** U [A, F], NULL to use f as it is; a bias [A] or NULL. */
    const float *projection;
    const float *projection_bias;
    int64_t hidden_size;
    bool has_tanh;
};

enum { ATTNZOO_LOCATION_SOURCES = 2 };

/** One step's location terms for all keys of all batches. */
struct attnzoo_location {
    const struct attnzoo_location_layers *layers;
    /** The channels: all heads of the first source, then all heads of the second, if there is one. */
    struct attnzoo_alignment sources[ATTNZOO_LOCATION_SOURCES];
    int32_t source_count;
    int64_t batch_count;
    int64_t head_count;
    /** More than 1 where the mask's heads each have terms of their own: so many batches here are one of the mask's. */
    int64_t heads_apart;
    int64_t key_count;
    /** Keys beyond a batch's length count as 0. */
    const struct attnzoo_mask_plan *mask;
    /** [B, M, A], compact. */
    float *terms;
};

/** Bytes of scratch that a thread needs; false if too many. */
bool attnzoo_location_scratch_bytes(const struct attnzoo_location *location, int64_t *bytes);

/** Makes the terms of all keys before their batch's length. */
void attnzoo_location_solve(const struct attnzoo_location *location, const struct attnzoo_pool_claim *claim);

/**
 * The keys within `reach` of each head's largest weight (the first of equals), into spans [B, H]; all keys for an
 * alignment of zeros.
 */
void attnzoo_location_windows(const struct attnzoo_alignment *alignment, const struct attnzoo_mask_plan *mask,
                              int64_t reach, struct attnzoo_key_span *spans);

enum attnzoo_first_alignment { ATTNZOO_FIRST_ZEROS, ATTNZOO_FIRST_UNIFORM, ATTNZOO_FIRST_KEY };

/** The alignment before the first step, over the keys that query 0 may see. */
void attnzoo_location_start(const struct attnzoo_alignment *alignment, const struct attnzoo_mask_plan *mask,
                            enum attnzoo_first_alignment first);

#endif
