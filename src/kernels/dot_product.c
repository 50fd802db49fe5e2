/*
 * kernels/dot_product.c: score_ij = s q_i . k_j, a tile at a time. Softcap and masks come after, in the core.
 *
 * The source's memory:  | queries of the block [rows, D] | a spare row
 *                       | keys of the tile, if they are packed |
 */
#include "kernels/dot_product.h"

#include "base/checked.h"
#include "kernels/few_rows.h"
#include "kernels/key_tile.h"
#include "kernels/vectors.h"

#include <string.h>

static int64_t head_size(const struct attnzoo_attention *problem)
{
    return problem->query.size[ATTNZOO_COLUMN];
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          bool has_short_strips, int64_t *floats)
{
    int64_t queries;
    return attnzoo_base_multiply(row_count + ATTNZOO_SPARE_ROWS, head_size(problem), &queries) &&
           attnzoo_key_tile_floats(problem, key_count, has_short_strips, floats) &&
           attnzoo_base_add(*floats, queries, floats);
}

/*
 * Queries are packed wherever they lie: rows of several heads can be one operand only side by side, and BLIS up to 1.0
 * reads one row past the end of a left operand, which in the caller's memory may be the end of a page.
 */
void attnzoo_kernel_pack_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block,
                                 const float *bias, int64_t bias_step, float *memory)
{
    const struct attnzoo_grid *queries = &problem->query;
    int64_t columns = head_size(problem), count = block->query_count;
    int64_t length = attnzoo_mask_query_length(&problem->mask, block->batch) - block->first_query;
    int64_t read = attnzoo_base_minimum(attnzoo_base_maximum(length, 0), count);
    for (int64_t head = block->first_head; head < block->first_head + block->head_count; head++) {
        attnzoo_grid_copy_rows(memory, queries, block->batch, head, block->first_query, read);
        memset(memory + read * columns, 0, (size_t)((count - read) * columns) * sizeof *memory);
        for (int64_t row = 0; bias != NULL && row < count; row++)
            attnzoo_kernel_vectors()->add_scaled(memory + row * columns, bias + head * bias_step, columns, 1.0f);
        memory += count * columns;
    }
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    attnzoo_kernel_pack_queries(problem, block, NULL, 0, memory);
}

/* Behind the queries of the block. */
static float *key_memory(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return memory + (tile->head_count * tile->query_count + ATTNZOO_SPARE_ROWS) * head_size(problem);
}

static bool has_few_rows(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile)
{
    return attnzoo_few_rows_suit(tile->head_count * tile->query_count, &problem->key);
}

static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    if (!has_few_rows(problem, tile))
        attnzoo_key_tile_open(problem, tile, key_memory(problem, tile, memory));
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    int64_t query_step = attnzoo_base_maximum(head_size(problem), 1);
    const float *queries = memory + strip->first_row * query_step;
    if (has_few_rows(problem, strip->tile)) {
        attnzoo_few_rows_score(strip, &problem->key, attnzoo_attention_key_head(problem, strip->tile), problem->scale,
                               queries, query_step);
        return;
    }
    attnzoo_key_tile_products(problem, strip, queries, query_step, key_memory(problem, strip->tile, memory));
}

const struct attnzoo_score_source attnzoo_kernel_dot_product = {
    .column_cost = 1,
    .takes_short_strips = true,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
};
