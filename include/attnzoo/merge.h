/*
 * attnzoo/merge.h: putting together attention that was computed over parts of the keys.
 */
#ifndef ATTNZOO_MERGE_H
#define ATTNZOO_MERGE_H

#include "api.h"
#include "status.h"
#include "tensor.h"

ATTNZOO_BEGIN_DECLARATIONS

/**
 * Merges two partial contexts of the same queries over two disjoint sets of keys, so that keys may be split
 * over calls or machines and put together exactly:
 *
 *   L = log(exp(La) + exp(Lb));  context = exp(La - L) context_a + exp(Lb - L) context_b
 *
 * where La and Lb are the log-sum-exps that ATTNZOO_OUTPUT_LOG_SUM_EXP gives. A part with log-sum-exp
 * -infinity saw no key and counts for nothing; two such give context 0 and -infinity. (Milakov and Gimelshein
 * 2018, arXiv 1805.02867, section 3.1; Rabe and Staats 2021, arXiv 2112.05682.)
 *
 * Repeat it for more than two parts: the order makes no difference beyond rounding.
 *
 * @param context_a      [B, H, N, Dv], or any shape [..., Dv] of rank 2 or more. float32, float16 or bfloat16.
 * @param log_sum_exp_a  [B, H, N], context_a's shape without its last axis. float32.
 * @param context_b      as context_a, of the same shape.
 * @param log_sum_exp_b  as log_sum_exp_a, of the same shape.
 * @param context        output, of the same shape. May be the very view context_a (to accumulate in place);
 *                       may not overlap the inputs otherwise. float32, float16 or bfloat16.
 * @param log_sum_exp    output, float32, of the same shape as log_sum_exp_a; may be that very view.
 *                       NULL if it is not wanted.
 * @return OK; INVALID_ARGUMENT: NULL, an output is read-only; SHAPE_MISMATCH; DTYPE_MISMATCH; OVERLAP.
 *         On error no output was written.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_merge_contexts(const attnzoo_tensor *context_a, const attnzoo_tensor *log_sum_exp_a,
                                                  const attnzoo_tensor *context_b, const attnzoo_tensor *log_sum_exp_b,
                                                  attnzoo_tensor *context, attnzoo_tensor *log_sum_exp);

ATTNZOO_END_DECLARATIONS

#endif
