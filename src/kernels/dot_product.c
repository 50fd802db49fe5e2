/*
 * kernels/dot_product.c: score_ij = s q_i . k_j, a tile at a time. Softcap and masks come after, in the core.
 *
 * The source's memory:  | queries of the block [rows, D] | a spare row | keys of the tile [keys, D], if they are packed |
 */
#include "kernels/dot_product.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/vectors.h"

enum { SPARE_ROWS = 1 };

static int64_t head_size(const struct attnzoo_attention *problem)
{
    return problem->query.size[ATTNZOO_COLUMN];
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          int64_t *floats)
{
    int64_t packed_keys = attnzoo_grid_is_direct(&problem->key) ? 0 : key_count;
    return attnzoo_base_multiply(row_count + SPARE_ROWS + packed_keys, head_size(problem), floats);
}

/*
 * Queries are packed wherever they lie: rows of several heads can be one operand only side by side, and BLIS up to 1.0
 * reads one row past the end of a left operand, which in the caller's memory may be the end of a page.
 */
static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    int64_t floats_per_head = block->query_count * head_size(problem);
    for (int64_t head = 0; head < block->head_count; head++)
        for (int64_t query = 0; query < block->query_count; query++)
            attnzoo_kernel_widen(memory + head * floats_per_head + query * head_size(problem),
                                 attnzoo_grid_at(&problem->query, block->batch, block->first_head + head,
                                                 block->first_query + query, 0),
                                 problem->query.dtype, problem->query.stride[ATTNZOO_COLUMN], head_size(problem));
}

/* Where a tile's keys are packed: behind the queries of its block. */
static float *packed_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return memory + (tile->head_count * tile->query_count + SPARE_ROWS) * head_size(problem);
}

static int64_t key_head(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile)
{
    return tile->first_head / (problem->query.size[ATTNZOO_HEAD] / problem->key.size[ATTNZOO_HEAD]);
}

static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    if (!attnzoo_grid_is_direct(&problem->key))
        attnzoo_grid_rows(&problem->key, tile->batch, key_head(problem, tile), tile->first_key, tile->key_count,
                          packed_keys(problem, tile, memory));
}

static struct attnzoo_rows tile_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile,
                                     float *memory)
{
    if (attnzoo_grid_is_direct(&problem->key))
        return attnzoo_grid_rows(&problem->key, tile->batch, key_head(problem, tile), tile->first_key,
                                 tile->key_count, NULL);
    return (struct attnzoo_rows){packed_keys(problem, tile, memory), attnzoo_base_maximum(head_size(problem), 1)};
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, int64_t first_row,
                 int64_t row_count, int64_t first_key, int64_t key_count, float *scores, int64_t step, float *memory)
{
    int64_t query_step = attnzoo_base_maximum(head_size(problem), 1);
    struct attnzoo_rows keys = tile_keys(problem, tile, memory);
    /* With a scale of 0 a BLAS skips the product, and a NaN in it would be lost. */
    float scale = problem->scale == 0.0f ? 1.0f : problem->scale;
    attnzoo_blas_multiply_transposed(row_count, key_count, head_size(problem), scale,
                                     memory + first_row * query_step, query_step,
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
