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

/** Some rows of the open block against some keys of the open tile, and what is computed for them. */
struct attnzoo_strip {
    const struct attnzoo_tile *tile;
    /** Counted from the block's first row and the tile's first key. */
    int64_t first_row;
    int64_t row_count;
    int64_t first_key;
    int64_t key_count;
    /** [row_count, key_count], step floats from row to row. */
    float *scores;
    int64_t step;
};

/**
 * Where scores come from. A tile's rows are its heads one after another, each with its queries in order. memory is
 * the source's own, aligned, memory_floats() long, the same in all calls for a block.
 */
struct attnzoo_score_source {
    /** What a column of query or key costs, in multiply-adds. */
    int64_t column_cost;

    /** Scores of a few rows at a time cost no more than those of many, in tiles that say that strips are short. */
    bool takes_short_strips;

    /**
     * Floats of memory for blocks of up to row_count rows and tiles of up to key_count keys, with short strips or
     * without; false if too many.
     */
    bool (*memory_floats)(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          bool has_short_strips, int64_t *floats);

    /** A new block of queries: the tile's keys mean nothing yet. */
    void (*open_queries)(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory);

    /** A new tile of keys for the block. NULL if there is nothing to do. */
    void (*open_keys)(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory);

    /** Fills a strip's scores, scaled by attnzoo_attention_product_scale() at least: the core sees to a scale of 0. */
    void (*fill)(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory);

    /**
     * Multiplies weights of a query against some keys from first_key on by factors of the source's own, after they have
     * been summed: what the query's attention adds up to is then less than 1. NULL for none.
     */
    void (*damp)(const struct attnzoo_attention *problem, int64_t batch, int64_t query, int64_t first_key,
                 int64_t count, float *weights);

    /*
     * The rest is for a source whose values depend on the pair of query and key: it sums weights in columns of its own
     * behind the context, which the softmax treats alike. NULL, all three, for a source without.
     */

    /** How many columns. */
    int64_t (*extra_columns)(const struct attnzoo_attention *problem);

    /** Adds a strip's weights to its rows' extra columns, context_step floats from row to row. */
    void (*add_weights)(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *extra,
                        int64_t context_step);

    /** context [Dv] += what the finished extra columns of a row come to. */
    void (*finish)(const struct attnzoo_attention *problem, float *context, const float *extra);
};

/** A problem, its shapes checked by the caller. */
struct attnzoo_attention {
    /** [B, H, N, D], [B, G, M, D], [B, G, M, Dv] */
    struct attnzoo_grid query;
    struct attnzoo_grid key;
    struct attnzoo_grid value;
    /** [B, H, N, Dv]; [B, H, N, M], or [B, 1, N, M] if it is averaged over the heads; [B, H, N, 1] */
    struct attnzoo_grid context;
    struct attnzoo_grid attention;
    struct attnzoo_grid log_sum_exp;
    bool wants_attention;
    bool averages_heads;
    bool wants_log_sum_exp;
    /** The queries to solve, of the N that the grids and the mask have. */
    int64_t first_query;
    int64_t query_count;
    float scale;
    /** 0 for none. */
    float softcap;
    /** Weighs keys by sigmoid(score) over the sum of sigmoids, rather than by exp(score) over the sum of those. */
    bool is_smoothed;
    /** Weights are exp(score) as they are, not divided by their sum. Not with is_smoothed or averages_heads. */
    bool is_unnormalised;
    /** [H]: a score that joins the softmax of each row of the head that sees a key, but has no value; NULL for none. */
    const float *sinks;
    struct attnzoo_mask_plan mask;
    const struct attnzoo_score_source *source;
    /** The source's own. */
    const void *source_data;
};

/** What products are scaled by: with 0 a BLAS would skip them, and a NaN in them would be lost. */
static inline float attnzoo_attention_product_scale(const struct attnzoo_attention *problem)
{
    return problem->scale == 0.0f ? 1.0f : problem->scale;
}

/** The head of keys and values that a tile's heads share. */
static inline int64_t attnzoo_attention_key_head(const struct attnzoo_attention *problem,
                                                 const struct attnzoo_tile *tile)
{
    return tile->first_head / (problem->query.size[ATTNZOO_HEAD] / problem->key.size[ATTNZOO_HEAD]);
}

/** Solves a problem. The outcome is the same to the bit for any pool. Fails only before any output is written. */
attnzoo_status attnzoo_attention_run(const struct attnzoo_attention *problem, struct attnzoo_pool *pool);

#endif
