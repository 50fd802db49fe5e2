/*
 * kernels/attention.h: the tiled core of the dot-product family: for each block of queries, the keys' scores a
 * tile at a time, softmax as the tiles come, and the values summed by it. Never an N x M buffer, unless the caller
 * asks for the attention itself. Where scores come from is a score source; the core does not know which.
 *
 * Online softmax: Milakov and Gimelshein 2018 (arXiv 1805.02867); its use for attention: Rabe and Staats 2021
 * (arXiv 2112.05682), Dao et al. 2022 (arXiv 2205.14135).
 */
#ifndef ATTNZOO_KERNELS_ATTENTION_H
#define ATTNZOO_KERNELS_ATTENTION_H

#include "base/common.h"
#include "kernels/grid.h"
#include "kernels/mask.h"
#include "parallel/pool.h"

struct attnzoo_attention;

/**
 * Where scores come from. A tile's rows are its heads one after another, each with its queries in order. memory is
 * the source's own, aligned, memory_floats() long, the same in all calls for a block.
 */
struct attnzoo_score_source {
    /** Floats of memory for blocks of up to row_count rows and tiles of up to key_count keys; false if too many. */
    bool (*memory_floats)(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          int64_t *floats);

    /** A new block of queries: the tile's keys mean nothing yet. */
    void (*open_queries)(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory);

    /** A new tile of keys for the block. */
    void (*open_keys)(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory);

    /**
     * Scores of the open block's rows [first_row, first_row + row_count) against keys [first_key, first_key +
     * key_count), counted from the open tile's first: scores [row_count, key_count], step floats from row to row.
     */
    void (*fill)(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, int64_t first_row,
                 int64_t row_count, int64_t first_key, int64_t key_count, float *scores, int64_t step, float *memory);
};

/** A problem, its shapes checked by the caller. */
struct attnzoo_attention {
    /** [B, H, N, D], [B, G, M, D], [B, G, M, Dv] */
    struct attnzoo_grid query;
    struct attnzoo_grid key;
    struct attnzoo_grid value;
    /** [B, H, N, Dv], [B, H, N, M], [B, H, N, 1] */
    struct attnzoo_grid context;
    struct attnzoo_grid attention;
    struct attnzoo_grid log_sum_exp;
    bool wants_attention;
    bool wants_log_sum_exp;
    float scale;
    /** 0 for none. */
    float softcap;
    struct attnzoo_mask_plan mask;
    const struct attnzoo_score_source *source;
};

/** Solves a problem. The outcome is the same to the bit for any pool. Fails only before any output is written. */
attnzoo_status attnzoo_attention_run(const struct attnzoo_attention *problem, struct attnzoo_pool *pool);

#endif
