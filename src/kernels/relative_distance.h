/*
 * kernels/relative_distance.h: scores and contexts with a learned vector for each clipped distance (Shaw et al. 2018,
 * arXiv 1803.02155, equations 3 and 4): score_ij = s q_i . (k_j + aK_c), context_i = sum_j A_ij (v_j + aV_c) with
 * c = clip(j - i - (M - N), -k, k) + k.
 */
#ifndef ATTNZOO_KERNELS_RELATIVE_DISTANCE_H
#define ATTNZOO_KERNELS_RELATIVE_DISTANCE_H

#include "kernels/attention.h"

/** The source_data of a problem. */
struct attnzoo_relative_distance {
    /** aK [2k + 1, D] */
    const float *keys;
    /** aV [2k + 1, Dv], or NULL for none; which of the two sources is to be used. */
    const float *values;
    /** k */
    int64_t largest;
};

/** Without and with aV. */
extern const struct attnzoo_score_source attnzoo_kernel_relative_distance;
extern const struct attnzoo_score_source attnzoo_kernel_relative_distance_with_values;

#endif
