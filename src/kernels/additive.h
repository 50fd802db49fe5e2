/*
 * kernels/additive.h: scores by an additive similarity, score_ij = s (w . tanh(q_i + k_j + l_j + b) + b_w) (Bahdanau et
 * al. 2015, arXiv 1409.0473, appendix A.1.2; with the location term l_j: Chorowski et al. 2015, arXiv 1506.07503,
 * equation 9). The hidden activations of a pair live in registers alone: nothing of the size N x M x A ever exists.
 */
#ifndef ATTNZOO_KERNELS_ADDITIVE_H
#define ATTNZOO_KERNELS_ADDITIVE_H

#include "kernels/attention.h"

/** The source_data of a problem: the score's parameters. A is the problem's head size. */
struct attnzoo_additive {
    /** w [A] */
    const float *score_weight;
    float score_bias;
    /** b [A], or NULL. */
    const float *bias;
    /** l [B, 1, M, A], float32 rows that can be read where they lie; data NULL for none. */
    struct attnzoo_grid location;
};

extern const struct attnzoo_score_source attnzoo_kernel_additive;

#endif
