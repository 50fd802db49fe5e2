/*
 * kernels/softmax.h: softmax whose scores come in parts: running maxima and sums, and contexts that are rescaled when
 * a maximum rises. The one softmax of the library. struct attnzoo_softmax_rows is in attention_plan.h.
 */
#ifndef ATTNZOO_KERNELS_SOFTMAX_H
#define ATTNZOO_KERNELS_SOFTMAX_H

#include "kernels/attention_plan.h"

/** Rows that have seen nothing. */
void attnzoo_softmax_start(const struct attnzoo_softmax_rows *rows, int64_t row_count, int64_t columns);

/**
 * Adding scores to a row takes two steps, so that a caller can take the first for several rows before the second.
 * First the row meets them: its maximum rises to theirs, and what it has is rescaled. are_saturated says that scores a
 * query sees are at least the lowest float and -infinity means hidden; otherwise all of the scores are seen.
 */
void attnzoo_softmax_meet(const struct attnzoo_softmax_rows *rows, int64_t row, int64_t columns, float *scores,
                          int64_t count, bool are_saturated);

/** Then they become weights relative to the maximum, and are summed. Returns whether all weights are finite. */
bool attnzoo_softmax_weigh(const struct attnzoo_softmax_rows *rows, int64_t row, float *scores, int64_t count);

/**
 * scores[i] = log(sigmoid(scores[i])), so that their softmax is sigmoid(score) over the sum of sigmoids, and stays so
 * where every sigmoid is too small for a float. Within 4 units in the last place; -infinity and NaN stay.
 */
void attnzoo_softmax_log_sigmoids(float *scores, int64_t count);

/** rows += part, for all rows, as though part's scores had been added to rows. */
void attnzoo_softmax_merge(const struct attnzoo_softmax_rows *rows, const struct attnzoo_softmax_rows *part,
                           int64_t row_count, int64_t columns);

/** One more score of a row that has no value. A row that has seen nothing stays as it is. */
void attnzoo_softmax_add_sink(const struct attnzoo_softmax_rows *rows, int64_t row, int64_t columns, float score);

/** finished [columns] = a row's context divided by its sum; zeros for a row that has seen nothing. The two may be the
 * same. */
void attnzoo_softmax_finish_context(const struct attnzoo_softmax_rows *rows, int64_t row, const float *context,
                                    float *finished, int64_t columns);

/** Turns scores of a row, masked as they were when added, into its attention weights. */
void attnzoo_softmax_finish_weights(const struct attnzoo_softmax_rows *rows, int64_t row, float *scores, int64_t count,
                                    bool are_saturated);

/** log of the sum of exp(score); -infinity for a row that has seen nothing. */
float attnzoo_softmax_log_sum(const struct attnzoo_softmax_rows *rows, int64_t row);

#endif
