/*
 * kernels/key_tile.h: the keys of a tile, as the sources of the dot-product family multiply them: where they lie, or
 * packed. Products of all their rows with queries, a strip at a time.
 *
 * Where strips are short, keys are transposed once a tile: the BLAS makes products that small without copying their
 * operands, if none is transposed, and a strip's scores stay in the first-level cache from their product to that with
 * the values. The plan decides (attention_plan.c).
 */
#ifndef ATTNZOO_KERNELS_KEY_TILE_H
#define ATTNZOO_KERNELS_KEY_TILE_H

#include "kernels/attention.h"

/** Floats from row to row of so many keys transposed. */
int64_t attnzoo_key_tile_transposed_step(int64_t key_count);

/** Floats of memory for a tile of up to key_count keys, with short strips or without; false if too many. */
bool attnzoo_key_tile_floats(const struct attnzoo_attention *problem, int64_t key_count, bool has_short_strips,
                             int64_t *floats);

/** Packs a tile's keys, if they need it. */
void attnzoo_key_tile_open(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory);

/** Fills a strip with queries [row_count, D] times its keys transposed, by attnzoo_attention_product_scale(). */
void attnzoo_key_tile_products(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip,
                               const float *queries, int64_t query_step, float *memory);

#endif
