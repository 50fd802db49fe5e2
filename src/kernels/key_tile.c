/*
 * kernels/key_tile.c: packs the keys of a tile and multiplies them.
 *
 * The memory:  | keys transposed [D, a step], where strips are short
 *              | keys [keys, D], where they are not float32 side by side |
 */
#include "kernels/key_tile.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/vectors.h"

static int64_t head_size(const struct attnzoo_attention *problem)
{
    return problem->query.size[ATTNZOO_COLUMN];
}

int64_t attnzoo_key_tile_transposed_step(int64_t key_count)
{
    /* An odd number of cache lines, so that the rows do not all fall into a few sets of a cache. */
    enum { LINE_FLOATS = 16 };
    return (attnzoo_base_divide_up(key_count, LINE_FLOATS) | 1) * LINE_FLOATS;
}

bool attnzoo_key_tile_floats(const struct attnzoo_attention *problem, int64_t key_count, bool has_short_strips,
                             int64_t *floats)
{
    int64_t rows = attnzoo_grid_is_direct(&problem->key) ? 0 : key_count;
    if (has_short_strips)
        rows += attnzoo_key_tile_transposed_step(key_count);
    return attnzoo_base_multiply(rows, head_size(problem), floats);
}

/* Behind the transposed ones. */
static float *packed_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return memory +
           (tile->has_short_strips ? attnzoo_key_tile_transposed_step(tile->key_count) * head_size(problem) : 0);
}

void attnzoo_key_tile_open(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    if (!tile->has_short_strips && attnzoo_grid_is_direct(&problem->key))
        return;
    struct attnzoo_rows keys = attnzoo_grid_rows(&problem->key, tile->batch, attnzoo_attention_key_head(problem, tile),
                                                 tile->first_key, tile->key_count, packed_keys(problem, tile, memory));
    if (tile->has_short_strips)
        attnzoo_kernel_vectors()->transpose(memory, attnzoo_key_tile_transposed_step(tile->key_count), keys.data,
                                            keys.step, tile->key_count, head_size(problem));
}

void attnzoo_key_tile_products(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip,
                               const float *queries, int64_t query_step, float *memory)
{
    const struct attnzoo_tile *tile = strip->tile;
    float scale = attnzoo_attention_product_scale(problem);
    if (tile->has_short_strips) {
        attnzoo_blas_multiply(strip->row_count, strip->key_count, head_size(problem), scale, queries, query_step,
                              memory + strip->first_key, attnzoo_key_tile_transposed_step(tile->key_count),
                              strip->scores, strip->step);
        return;
    }
    struct attnzoo_rows keys = {packed_keys(problem, tile, memory), attnzoo_base_maximum(head_size(problem), 1)};
    if (attnzoo_grid_is_direct(&problem->key))
        keys = attnzoo_grid_rows(&problem->key, tile->batch, attnzoo_attention_key_head(problem, tile), tile->first_key,
                                 tile->key_count, NULL);
    attnzoo_blas_multiply_transposed(strip->row_count, strip->key_count, head_size(problem), scale, queries, query_step,
                                     keys.data + strip->first_key * keys.step, keys.step, strip->scores, strip->step);
}
