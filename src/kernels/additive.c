/*
 * kernels/additive.c: additive scores, a tile at a time. Masks and softmax come after, in the core.
 *
 * The source's memory:  | queries of the block plus bias [rows, A] | keys of the tile plus location [keys, A] |
 */
#include "kernels/additive.h"

#include "base/checked.h"
#include "kernels/dot_product.h"
#include "kernels/vectors.h"

/* A tanh and what goes with it, in multiply-adds. */
enum { TANH_COST = 16 };

static int64_t hidden_size(const struct attnzoo_attention *problem)
{
    return problem->query.size[ATTNZOO_COLUMN];
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          int64_t *floats)
{
    return attnzoo_base_multiply(row_count + key_count, hidden_size(problem), floats);
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    const struct attnzoo_additive *additive = problem->source_data;
    attnzoo_kernel_pack_queries(problem, block, additive->bias, 0, memory);
}

static float *packed_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return memory + tile->head_count * tile->query_count * hidden_size(problem);
}

static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    const struct attnzoo_additive *additive = problem->source_data;
    int64_t columns = hidden_size(problem);
    int64_t key_head = tile->first_head / (problem->query.size[ATTNZOO_HEAD] / problem->key.size[ATTNZOO_HEAD]);
    float *keys = packed_keys(problem, tile, memory);
    for (int64_t key = tile->first_key; key < tile->first_key + tile->key_count; key++) {
        attnzoo_kernel_widen(keys, attnzoo_grid_at(&problem->key, tile->batch, key_head, key, 0), problem->key.dtype,
                             problem->key.stride[ATTNZOO_COLUMN], columns);
        if (additive->location.data != NULL) {
            const void *location = attnzoo_grid_at(&additive->location, tile->batch, 0, key, 0);
            attnzoo_kernel_vectors()->add_scaled(keys, location, columns, 1.0f);
        }
        keys += columns;
    }
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_additive *additive = problem->source_data;
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    int64_t columns = hidden_size(problem);
    const float *keys = packed_keys(problem, strip->tile, memory) + strip->first_key * columns;
    for (int64_t row = 0; row < strip->row_count; row++) {
        const float *query = memory + (strip->first_row + row) * columns;
        float *scores = strip->scores + row * strip->step;
        for (int64_t key = 0; key < strip->key_count; key++)
            scores[key] =
                problem->scale * (vectors->tanh_dot(additive->score_weight, query, keys + key * columns, columns) +
                                  additive->score_bias);
    }
}

const struct attnzoo_score_source attnzoo_kernel_additive = {
    .column_cost = TANH_COST,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
};
