/*
 * kernels/merge.h: two partial contexts into one by their log-sum-exps.
 */
#ifndef ATTNZOO_KERNELS_MERGE_H
#define ATTNZOO_KERNELS_MERGE_H

#include "base/common.h"
#include "base/view.h"

/** Contexts [..., Dv] and log-sum-exps [...], shapes checked. log_sum_exp is NULL if it is not wanted. */
struct attnzoo_merge {
    const struct attnzoo_view *context_a;
    const struct attnzoo_view *log_sum_exp_a;
    const struct attnzoo_view *context_b;
    const struct attnzoo_view *log_sum_exp_b;
    const struct attnzoo_view *context;
    const struct attnzoo_view *log_sum_exp;
};

void attnzoo_kernel_merge(const struct attnzoo_merge *merge);

#endif
