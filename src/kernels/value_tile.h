/*
 * kernels/value_tile.h: the values of a tile, and products of a strip's weights with them. Weights are the softmax's
 * (attention.c).
 */
#ifndef ATTNZOO_KERNELS_VALUE_TILE_H
#define ATTNZOO_KERNELS_VALUE_TILE_H

#include "kernels/attention_block.h"

/** A tile's values, as a BLAS can read them or where they lie. */
struct attnzoo_value_tile {
    int64_t head;
    bool are_in_place;
    /** Some are NaN or infinite, and some row may not see their key. */
    bool need_mending;
    struct attnzoo_rows rows;
};

/** Opens a tile's values. may_hide: some row may not see some key. */
struct attnzoo_value_tile attnzoo_value_tile_open(const struct attnzoo_attention_worker *worker,
                                                  const struct attnzoo_tile *tile, bool may_hide);

/** context [row_count, Dv] += a strip's weights times its values. */
void attnzoo_value_tile_add(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip,
                            const struct attnzoo_value_tile *values, float *context, int64_t context_step);

#endif
