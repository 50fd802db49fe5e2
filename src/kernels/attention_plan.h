/*
 * kernels/attention_plan.h: how a problem is cut into blocks, tiles and chunks, and what memory that takes. For the
 * files of the tiled core, and for mechanisms in which attention is one step of several: these plan it before they
 * claim a pool and solve it within the claim.
 *
 * A block is some rows (queries of one head, or the queries of several heads that share keys) against all keys; the
 * unit of work. Where there are too few blocks to go round, the keys are cut into chunks, each solved by itself and
 * merged at the end. All of it follows from the problem's shape and the cache, never from the number of threads, so
 * that results do not depend on that number either.
 */
#ifndef ATTNZOO_KERNELS_ATTENTION_PLAN_H
#define ATTNZOO_KERNELS_ATTENTION_PLAN_H

#include "kernels/attention.h"

struct attnzoo_attention_plan {
    const struct attnzoo_attention *problem;
    /** The most rows a block has and keys a tile has. */
    int64_t row_count;
    int64_t key_count;
    /** Tiles have a whole number of so many keys, but for the last. */
    int64_t key_step;
    /** The most rows that are scored, weighed and multiplied by values together. */
    int64_t strip_rows;
    bool has_short_strips;
    int64_t heads_per_group;
    int64_t heads_per_block;
    int64_t queries_per_block;
    /** Blocks along the heads of a group, and along the queries. */
    int64_t head_blocks;
    int64_t query_blocks;
    int64_t block_count;
    int64_t chunk_count;
    int64_t keys_per_chunk;
    /** Dv and the source's extra columns. */
    int64_t context_columns;
    bool may_hide;
    /** Scores stay where the attention is wanted until the sums are known, rather than be made again. */
    bool keeps_scores;
    /** Bytes of a thread's scratch before each zone; see attnzoo_attention_scratch_at(). */
    int64_t context_offset;
    int64_t maximum_offset;
    int64_t sum_offset;
    int64_t span_offset;
    int64_t mask_offset;
    int64_t source_offset;
    int64_t value_offset;
    int64_t mended_offset;
    int64_t average_offset;
    int64_t scratch_bytes;
    /** Bytes of the partial result of one chunk of one block. */
    int64_t partial_bytes;
    /** Bytes of the shared memory before the maxima and the sums of all rows. */
    int64_t maxima_offset;
    int64_t sums_offset;
    int64_t shared_bytes;
    int64_t threads_wanted;
};

/** The data pointers of the problem's grids may still change; the plan refers to the problem. */
attnzoo_status attnzoo_attention_make_plan(struct attnzoo_attention_plan *plan,
                                           const struct attnzoo_attention *problem);

/** Solves within a claim that has the plan's scratch_bytes. shared: the plan's shared_bytes, aligned. */
void attnzoo_attention_solve(const struct attnzoo_attention_plan *plan, const struct attnzoo_pool_claim *claim,
                             void *shared);

/** The rows of a block: batch, heads and queries; keys are left at 0. */
struct attnzoo_tile attnzoo_attention_block(const struct attnzoo_attention_plan *plan, int64_t number);

/** Softmax as far as it has come, row by row. */
struct attnzoo_softmax_rows {
    /** [rows, columns], not yet divided by the sums. */
    float *context;
    /** [rows], -infinity before the first key. */
    float *maximum;
    /** [rows], of exp(score - maximum). Double, so that a million keys add up. */
    double *sum;
    /** The maxima stay 0, and nothing is divided by the sums. */
    bool is_unnormalised;
};

/** A thread's scratch memory, zone by zone. */
struct attnzoo_attention_scratch {
    /** [rows, keys], never holding NaN between products. */
    float *scores;
    struct attnzoo_softmax_rows rows;
    /** [rows]: what each may see. */
    struct attnzoo_key_span *spans;
    float *mask_memory;
    float *source_memory;
    /** [keys, Dv] each: values widened, and values with what is not finite taken out. */
    float *value_memory;
    float *mended_values;
    /** [rows per head, keys]: attention summed over the heads. */
    float *average;
};

struct attnzoo_attention_scratch attnzoo_attention_scratch_at(const struct attnzoo_attention_plan *plan, void *memory);

/** Maxima and sums of a block's rows, kept for the average over the heads in memory that all threads share. */
float *attnzoo_attention_maxima_at(const struct attnzoo_attention_plan *plan, void *shared, int64_t block);
double *attnzoo_attention_sums_at(const struct attnzoo_attention_plan *plan, void *shared, int64_t block);

/** The partial result of a chunk, in memory that all threads share. */
struct attnzoo_softmax_rows attnzoo_attention_partial_at(const struct attnzoo_attention_plan *plan, void *shared,
                                                         int64_t block, int64_t chunk);

#endif
