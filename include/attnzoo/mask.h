/*
 * attnzoo/mask.h: masks. A mask is an intersection of constraints on which keys a query may see, plus a sum
 * of biases on the scores. One mask serves every mechanism.
 *
 * A new mask hides nothing. Each setter below sets one constraint or bias, replacing what was set for it
 * before; the tensor setters take NULL to remove it. All that are set hold together: a key is seen only if
 * every constraint lets it be seen.
 *
 * POSITIONS. Query i stands at position p(i) = offset + i, key j at position j. Where the offset comes
 * from is the mask's alignment (attnzoo_mask_set_alignment()). Causal, window, linear bias and segments
 * use positions; lengths and dense masks use plain indices.
 *
 * WHAT IS GUARANTEED
 *  - A query that may see no key gets context 0, attention 0 and log-sum-exp -infinity, never NaN. (Where a mechanism
 *    has a projection of the context, the 0 goes through it: what comes out is the bias.)
 *  - Keys and values beyond a key length, or outside causal and window for every query of a call, are never
 *    read (but that a key/value cache keeps what is before the key length, for later calls). A key that a dense mask
 *    hides from every query of its batch and head cannot change the result, whatever it holds.
 *  - A NaN or +infinity among the scores that a query sees makes that query's result NaN, and no other's. (With
 *    normalizer=smoothing only NaN does: the sigmoid of +infinity is 1.)
 *  - A score that a query sees and that falls below the float range counts as the lowest float, so that
 *    finite "hidden" values (-1e9 and the like) never turn into -infinity: a row of them is uniform.
 *
 * OWNERSHIP. A mask copies the views it is given, not the memory behind them: that memory must hold until
 * the mask is destroyed or given another view, and may be changed between forward calls.
 *
 * Tensor shapes are checked against the call by the forward functions, which know B, H, N and M.
 */
#ifndef ATTNZOO_MASK_H
#define ATTNZOO_MASK_H

#include "api.h"
#include "status.h"
#include "tensor.h"

ATTNZOO_BEGIN_DECLARATIONS

/** Constraints on what may be seen, and biases on scores. */
typedef struct attnzoo_mask attnzoo_mask;

/** Where the queries' positions start. An int32_t wherever one is passed. */
enum {
    /** offset = M - N: the last query stands at the last key. The default. */
    ATTNZOO_ALIGNMENT_BOTTOM_RIGHT = 0,
    /** offset = 0: the first query stands at the first key. */
    ATTNZOO_ALIGNMENT_TOP_LEFT = 1,
    /** offset = key length - query length of each batch (M and N where no lengths are set). */
    ATTNZOO_ALIGNMENT_LENGTHS = 2
};

/**
 * Makes a mask that hides nothing.
 *
 * @param mask  receives the new mask on success, which the caller owns; untouched otherwise.
 * @return OK; INVALID_ARGUMENT: mask is NULL; OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_create(attnzoo_mask **mask);

/** Frees a mask. NULL is fine. Since 1.0. */
ATTNZOO_API void attnzoo_mask_destroy(attnzoo_mask *mask);

/**
 * Causal: query i sees key j only if j <= p(i).
 *
 * @param enabled  1 sets the constraint, 0 removes it.
 * @return OK; INVALID_ARGUMENT: mask is NULL, enabled is neither 0 nor 1.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_causal(attnzoo_mask *mask, int32_t enabled);

/**
 * Sliding window: query i sees key j only if p(i) - left <= j <= p(i) + right. Left 0, right 0 is the
 * diagonal alone. (Beltagy et al. 2020, arXiv 2004.05150.)
 *
 * @param left   how many positions before its own a query sees, or -1 for no limit.
 * @param right  how many positions after its own a query sees, or -1 for no limit.
 * @return OK; INVALID_ARGUMENT: mask is NULL, left or right is below -1.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_window(attnzoo_mask *mask, int64_t left, int64_t right);

/**
 * Says where the queries' positions start, and drops any explicit offset set before.
 *
 * @param alignment  an ATTNZOO_ALIGNMENT_ number.
 * @return OK; INVALID_ARGUMENT: mask is NULL, no such alignment.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_alignment(attnzoo_mask *mask, int32_t alignment);

/**
 * Sets the offset itself, one for every batch: query i stands at offset + i. Negative is legal. Replaces
 * the alignment.
 *
 * @param offset  the position of query 0.
 * @return OK; INVALID_ARGUMENT: mask is NULL.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_query_offset(attnzoo_mask *mask, int64_t offset);

/**
 * Sets the offset of each batch. Replaces the alignment; NULL goes back to bottom-right.
 *
 * @param offsets  [B], int32 or int64; or NULL.
 * @return OK; INVALID_ARGUMENT: mask is NULL; DTYPE_MISMATCH; SHAPE_MISMATCH: rank is not 1.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_query_offsets(attnzoo_mask *mask, const attnzoo_tensor *offsets);

/**
 * Key lengths: in batch b only keys j < lengths[b] are seen; nothing beyond is read. A length of 0 is
 * legal; the forward call refuses one that is negative or above M.
 *
 * @param lengths  [B], int32 or int64; or NULL.
 * @return OK; INVALID_ARGUMENT: mask is NULL; DTYPE_MISMATCH; SHAPE_MISMATCH: rank is not 1.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_key_lengths(attnzoo_mask *mask, const attnzoo_tensor *lengths);

/**
 * Query lengths: in batch b queries i >= lengths[b] see nothing, like any query that may see no key.
 * A length of 0 is legal; the forward call refuses one that is negative or above N.
 *
 * @param lengths  [B], int32 or int64; or NULL.
 * @return OK; INVALID_ARGUMENT: mask is NULL; DTYPE_MISMATCH; SHAPE_MISMATCH: rank is not 1.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_query_lengths(attnzoo_mask *mask, const attnzoo_tensor *lengths);

/**
 * Dense boolean mask: TRUE MEANS ATTEND. Coming from a framework where true means "ignore" (such as
 * PyTorch's key_padding_mask), invert it first.
 *
 * @param allowed  broadcasts to [B, H, N, M] from the right: axes of size 1 repeat, missing leading axes
 *                 count as 1. So [B, M] is read as [N, M]; say [B, 1, 1, M] for padding. bool, or int32 and
 *                 int64 where any number but 0 is true. Read in place. Or NULL.
 * @return OK; INVALID_ARGUMENT: mask is NULL; DTYPE_MISMATCH; SHAPE_MISMATCH: rank above 4.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_boolean(attnzoo_mask *mask, const attnzoo_tensor *allowed);

/**
 * Dense additive bias: added to the scores after scale and softcap. -infinity hides the key.
 *
 * @param bias  broadcasts to [B, H, N, M] as in attnzoo_mask_set_boolean(). float32, float16 or bfloat16.
 *              Read in place. Or NULL.
 * @return OK; INVALID_ARGUMENT: mask is NULL; DTYPE_MISMATCH; SHAPE_MISMATCH: rank above 4.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_bias(attnzoo_mask *mask, const attnzoo_tensor *bias);

/**
 * Linear bias by distance (ALiBi; Press et al. 2022, arXiv 2108.12409): adds -slopes[h] * |p(i) - j|.
 *
 * @param slopes  [H], float32, float16 or bfloat16; or NULL.
 * @return OK; INVALID_ARGUMENT: mask is NULL; DTYPE_MISMATCH; SHAPE_MISMATCH: rank is not 1.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_linear_bias(attnzoo_mask *mask, const attnzoo_tensor *slopes);

/**
 * Segments, for several sequences packed into one: a query sees only keys with its own segment id. Query i
 * has the id at position p(i); the forward call refuses a query whose position lies outside 0 ... M-1
 * (queries past their query length aside).
 *
 * @param ids  [B, M] ([M] where B is 1), int32 or int64; or NULL.
 * @return OK; INVALID_ARGUMENT: mask is NULL; DTYPE_MISMATCH; SHAPE_MISMATCH: rank above 2.
 * Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_mask_set_segments(attnzoo_mask *mask, const attnzoo_tensor *ids);

ATTNZOO_END_DECLARATIONS

#endif
