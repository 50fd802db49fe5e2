/*
 * kernels/dot_product.c: score_ij = s q_i . k_j, a tile at a time. Softcap and masks come after, in the core.
 *
 * The source's memory:  | queries of the block [rows, D] | keys of the tile [keys, D] |   each only if it is packed.
 */
#include "kernels/dot_product.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/vectors.h"

/* Rows of several heads can be one operand only side by side. */
static bool packs_queries(const struct attnzoo_attention *problem, int64_t head_count)
{
    return head_count > 1 || !attnzoo_grid_is_direct(&problem->query);
}

static int64_t head_size(const struct attnzoo_attention *problem)
{
    return problem->query.size[ATTNZOO_COLUMN];
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          int64_t *floats)
{
    int64_t packed_keys = attnzoo_grid_is_direct(&problem->key) ? 0 : key_count;
    return attnzoo_base_multiply(row_count + packed_keys, head_size(problem), floats);
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    if (!packs_queries(problem, block->head_count))
        return;
    int64_t floats_per_head = block->query_count * head_size(problem);
    for (int64_t head = 0; head < block->head_count; head++)
        for (int64_t query = 0; query < block->query_count; query++)
            attnzoo_kernel_widen(memory + head * floats_per_head + query * head_size(problem),
                                 attnzoo_grid_at(&problem->query, block->batch, block->first_head + head,
                                                 block->first_query + query, 0),
                                 problem->query.dtype, problem->query.stride[ATTNZOO_COLUMN], head_size(problem));
}

static struct attnzoo_rows block_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block,
                                         float *memory)
{
    if (!packs_queries(problem, block->head_count))
        return attnzoo_grid_rows(&problem->query, block->batch, block->first_head, block->first_query,
                                 block->query_count, NULL);
    return (struct attnzoo_rows){memory, attnzoo_base_maximum(head_size(problem), 1)};
}

static int64_t key_head(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile)
{
    return tile->first_head / (problem->query.size[ATTNZOO_HEAD] / problem->key.size[ATTNZOO_HEAD]);
}

/* Packs what must be packed; asked again for direct rows, and for packed ones by their place. */
static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    if (attnzoo_grid_is_direct(&problem->key))
        return;
    float *packed = memory + tile->head_count * tile->query_count * head_size(problem);
    attnzoo_grid_rows(&problem->key, tile->batch, key_head(problem, tile), tile->first_key, tile->key_count, packed);
}

static struct attnzoo_rows tile_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile,
                                     float *memory)
{
    if (attnzoo_grid_is_direct(&problem->key))
        return attnzoo_grid_rows(&problem->key, tile->batch, key_head(problem, tile), tile->first_key,
                                 tile->key_count, NULL);
    float *packed = memory + tile->head_count * tile->query_count * head_size(problem);
    return (struct attnzoo_rows){packed, attnzoo_base_maximum(head_size(problem), 1)};
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, int64_t first_row,
                 int64_t row_count, int64_t first_key, int64_t key_count, float *scores, int64_t step, float *memory)
{
    struct attnzoo_rows queries = block_queries(problem, tile, memory);
    struct attnzoo_rows keys = tile_keys(problem, tile, memory);
    /* With a scale of 0 a BLAS skips the product, and a NaN in it would be lost. */
    float scale = problem->scale == 0.0f ? 1.0f : problem->scale;
    attnzoo_blas_multiply_transposed(row_count, key_count, head_size(problem), scale,
                                     queries.data + first_row * queries.step, queries.step,
                                     keys.data + first_key * keys.step, keys.step, scores, step);
    if (problem->scale == 0.0f)
        for (int64_t row = 0; row < row_count; row++)
            attnzoo_kernel_vectors()->scale(scores + row * step, scores + row * step, key_count, 0.0f);
}

const struct attnzoo_score_source attnzoo_kernel_dot_product = {
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
};
