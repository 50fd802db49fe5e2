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
                          bool has_short_strips, int64_t *floats)
{
    (void)has_short_strips;
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

/* Keys are read where they lie unless they must be widened, or rows are enough to pay for adding the location once. */
static bool packs_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile)
{
    enum { ROWS_THAT_PAY = 3 };
    const struct attnzoo_additive *additive = problem->source_data;
    return !attnzoo_grid_is_direct(&problem->key) ||
           (additive->location.data != NULL && tile->head_count * tile->query_count >= ROWS_THAT_PAY);
}

static const float *location_of(const struct attnzoo_additive *additive, int64_t batch, int64_t key)
{
    if (additive->location.data == NULL)
        return NULL;
    return (const float *)(const void *)attnzoo_grid_at(&additive->location, batch, 0, key, 0);
}

static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    const struct attnzoo_additive *additive = problem->source_data;
    int64_t columns = hidden_size(problem);
    float *keys = packed_keys(problem, tile, memory);
    if (!packs_keys(problem, tile))
        return;
    attnzoo_grid_copy_rows(keys, &problem->key, tile->batch, attnzoo_attention_key_head(problem, tile), tile->first_key,
                           tile->key_count);
    for (int64_t key = 0; additive->location.data != NULL && key < tile->key_count; key++)
        attnzoo_kernel_vectors()->add_scaled(keys + key * columns,
                                             location_of(additive, tile->batch, tile->first_key + key), columns, 1.0f);
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_additive *additive = problem->source_data;
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    const struct attnzoo_tile *tile = strip->tile;
    int64_t columns = hidden_size(problem), first_key = tile->first_key + strip->first_key;
    bool is_packed = packs_keys(problem, tile);
    struct attnzoo_rows keys = {packed_keys(problem, tile, memory) + strip->first_key * columns, columns};
    if (!is_packed)
        keys = attnzoo_grid_rows(&problem->key, tile->batch, attnzoo_attention_key_head(problem, tile), first_key,
                                 strip->key_count, NULL);
    for (int64_t row = 0; row < strip->row_count; row++) {
        const float *query = memory + (strip->first_row + row) * columns;
        float *scores = strip->scores + row * strip->step;
        for (int64_t key = 0; key < strip->key_count; key++) {
            const float *location = is_packed ? NULL : location_of(additive, tile->batch, first_key + key);
            float sum =
                vectors->tanh_dot(additive->score_weight, query, keys.data + key * keys.step, location, columns);
            scores[key] = problem->scale * (sum + additive->score_bias);
        }
    }
}

const struct attnzoo_score_source attnzoo_kernel_additive = {
    .column_cost = TANH_COST,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
};
