/*
 * kernels/selection.h: one key chosen for each query, by the scores, masks and softmax of the tiled core
 * (attention_block.h), whose walk over tiles it goes: no row of probabilities exists unless the caller asks for the
 * one-hot attention.
 *
 *   argmax  the key with the largest score; of equal ones the first
 *   sample  key j with probability p_j = exp(score_j) / sum exp(score), by the Gumbel-max trick (Gumbel 1954; Maddison,
 *           Tarlow and Minka 2014, arXiv 1411.0030, section 2): the key with the largest score_j + g_j, where
 *           g_j = -ln(-ln(1 - v_j)) and v_j is uniform in (0, 1)
 *
 * v_j is a function of seed, batch, head, query and key alone. Philox's key is the seed; its counter, by words, is (j / 2,
 * query, head, batch); key j's two words of the block are 2 (j % 2) and the next, the high one first.
 */
#ifndef ATTNZOO_KERNELS_SELECTION_H
#define ATTNZOO_KERNELS_SELECTION_H

#include "kernels/attention_plan.h"

/** The most of batches, heads and queries that can be told apart in sampling; of keys twice as many. */
#define ATTNZOO_SELECTION_COUNT_MAX (INT64_C(1) << 32)

/** A problem, its shapes checked by the caller. */
struct attnzoo_selection {
    /** Query, key, value, scale, softcap, mask and source; context; attention (one-hot), if that is wanted. */
    const struct attnzoo_attention *problem;
    bool is_sampled;
    uint64_t seed;
    /** [B, H, N, 1] each; int32 or int64, float32, float32. */
    bool wants_index;
    struct attnzoo_grid index;
    bool wants_log_probability;
    struct attnzoo_grid log_probability;
    bool wants_entropy;
    struct attnzoo_grid entropy;
};

struct attnzoo_selection_plan {
    const struct attnzoo_selection *selection;
    /** The problem as far as scores and their sums go: values of no columns. */
    struct attnzoo_attention scoring;
    /** Of scoring. */
    struct attnzoo_attention_plan plan;
    /** Bytes of a thread's scratch before the rows' choices and before a row of scores. */
    int64_t choices_offset;
    int64_t scores_offset;
    int64_t scratch_bytes;
    /** Bytes of the shared memory before the choices of all chunks. */
    int64_t parts_offset;
    int64_t shared_bytes;
    int64_t threads_wanted;
};

/** The data pointers of the problem's grids may still change; the plan refers to the selection and to itself. */
attnzoo_status attnzoo_selection_make_plan(struct attnzoo_selection_plan *plan,
                                           const struct attnzoo_selection *selection);

/** Solves within a claim that has the plan's scratch_bytes. shared: the plan's shared_bytes, aligned. */
void attnzoo_selection_solve(struct attnzoo_selection_plan *plan, const struct attnzoo_pool_claim *claim, void *shared);

#endif
