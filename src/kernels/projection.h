/*
 * kernels/projection.h: linear layers, y = x W^T + b with W [outputs, inputs], over the rows of a tensor. One product
 * may serve several parts, such as query, key and value of self-attention, each of which goes to a place of its own.
 * Planned before a pool is claimed, solved within the claim.
 */
#ifndef ATTNZOO_KERNELS_PROJECTION_H
#define ATTNZOO_KERNELS_PROJECTION_H

#include "kernels/grid.h"
#include "kernels/mask.h"
#include "parallel/pool.h"

enum { ATTNZOO_PROJECTION_PARTS = 3 };

struct attnzoo_projection {
    /** [B, 1, N, inputs] */
    struct attnzoo_grid input;
    /** [outputs, inputs] */
    const float *weight;
    /** Floats from row to row of the weight; 0 for a compact one. */
    int64_t weight_step;
    /** [outputs], or NULL. */
    const float *bias;
    /** Where the outputs go, in order: [B, heads, N, columns] each takes heads * columns of them. */
    struct attnzoo_grid parts[ATTNZOO_PROJECTION_PARTS];
    int32_t part_count;
    /**
     * By part, [B]: the rows that the part wants; NULL for all rows. Rows that no part wants are not read. A part's
     * other rows are left alone, or cleared.
     */
    const struct attnzoo_key_span *spans[ATTNZOO_PROJECTION_PARTS];
    bool clears_unwanted;
    /** Each row is a product of its own, so that its outputs do not depend, in the last bit, on how many
     * rows there are. */
    bool is_row_by_row;
};

struct attnzoo_projection_plan {
    const struct attnzoo_projection *projection;
    int64_t inputs;
    int64_t outputs;
    /** Rows of all batches one after another, and how they and the outputs are cut into items. */
    int64_t row_count;
    int64_t rows_per_item;
    int64_t outputs_per_item;
    int64_t row_blocks;
    int64_t output_blocks;
    int64_t scratch_bytes;
    int64_t threads_wanted;
};

/** y [rows, outputs] = x [rows, inputs] W^T + b, all compact; b may be NULL. x has a spare row behind it. */
void attnzoo_projection_apply(int64_t rows, int64_t inputs, int64_t outputs, const float *x, const float *weight,
                              const float *bias, float *y);

/** Pointers to data may still change; the plan refers to the projection. */
attnzoo_status attnzoo_projection_make_plan(struct attnzoo_projection_plan *plan,
                                            const struct attnzoo_projection *projection);

void attnzoo_projection_solve(const struct attnzoo_projection_plan *plan, const struct attnzoo_pool_claim *claim);

#endif
