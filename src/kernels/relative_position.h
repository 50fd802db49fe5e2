/*
 * kernels/relative_position.h: scores of a content and a position term, score_ij = s ((q_i + u) . k_j + (q_i + v) .
 * r_p) with r_p the row of a table for the distance from key j to query i (Dai et al. 2019, arXiv 1901.02860, section
 * 3.3). Only the part of the position scores that a strip needs is made at a time, and shifted there.
 */
#ifndef ATTNZOO_KERNELS_RELATIVE_POSITION_H
#define ATTNZOO_KERNELS_RELATIVE_POSITION_H

#include "kernels/attention.h"

/** The source_data of a problem. Row p of the table stands for the distance M - 1 - p; query i is at M - N + i. */
struct attnzoo_relative_position {
    /** u and v [H, D], or NULL. */
    const float *content_bias;
    const float *position_bias;
    /** r [B or 1, H, P, D], compact float32. */
    const struct attnzoo_grid *table;
};

extern const struct attnzoo_score_source attnzoo_kernel_relative_position;

#endif
