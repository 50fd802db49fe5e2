/*
 * kernels/relative_distance.c: vectors for clipped distances. Queries meet the 2k + 1 vectors once a block; each strip
 * then picks its distances. For the values, weights are summed by distance in extra columns of the context, which meet
 * the vectors when the row is finished.
 *
 * The source's memory:  | queries of the block [rows, D] | a spare row
 *                       | their scores with each distance [rows, 2k + 1]
 *                       | keys of the tile, if they are packed |
 */
#include "kernels/relative_distance.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/dot_product.h"
#include "kernels/key_tile.h"
#include "kernels/vectors.h"

#include <string.h>

static int64_t head_size(const struct attnzoo_attention *problem)
{
    return problem->query.size[ATTNZOO_COLUMN];
}

static int64_t distance_count(const struct attnzoo_attention *problem)
{
    const struct attnzoo_relative_distance *relative = problem->source_data;
    return 2 * relative->largest + 1;
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          bool has_short_strips, int64_t *floats)
{
    int64_t scores, keys;
    return attnzoo_base_multiply(row_count + ATTNZOO_SPARE_ROWS, head_size(problem), floats) &&
           attnzoo_base_multiply(row_count, distance_count(problem), &scores) &&
           attnzoo_base_add(*floats, scores, floats) &&
           attnzoo_key_tile_floats(problem, key_count, has_short_strips, &keys) &&
           attnzoo_base_add(*floats, keys, floats);
}

static float *distance_scores(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return memory + (tile->head_count * tile->query_count + ATTNZOO_SPARE_ROWS) * head_size(problem);
}

static float *key_memory(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return distance_scores(problem, tile, memory) + tile->head_count * tile->query_count * distance_count(problem);
}

static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    attnzoo_key_tile_open(problem, tile, key_memory(problem, tile, memory));
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    const struct attnzoo_relative_distance *relative = problem->source_data;
    int64_t rows = block->head_count * block->query_count, step = attnzoo_base_maximum(head_size(problem), 1);
    float *scores = distance_scores(problem, block, memory);
    attnzoo_kernel_pack_queries(problem, block, NULL, 0, memory);
    /* No stray NaN may be left for a BLAS that multiplies what it overwrites by zero. */
    memset(scores, 0, (size_t)(rows * distance_count(problem)) * sizeof *scores);
    attnzoo_blas_multiply_transposed(rows, distance_count(problem), head_size(problem),
                                     attnzoo_attention_product_scale(problem), memory, step, relative->keys, step,
                                     scores, distance_count(problem));
}

/*
 * The keys of a strip as one query sees them: before `near` all count as the farthest on the left, from `far` on as the
 * farthest on the right, and between them each has a distance of its own, that of `near` being number `first`.
 */
struct distances {
    int64_t near;
    int64_t far;
    int64_t first;
};

static struct distances distances_of(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip,
                                     int64_t row)
{
    const struct attnzoo_relative_distance *relative = problem->source_data;
    const struct attnzoo_tile *tile = strip->tile;
    int64_t query = tile->first_query + (strip->first_row + row) % tile->query_count;
    int64_t position = problem->key.size[ATTNZOO_ROW] - problem->query.size[ATTNZOO_ROW] + query;
    int64_t leftmost = position - relative->largest - (tile->first_key + strip->first_key);
    int64_t near = attnzoo_base_maximum(0, attnzoo_base_minimum(leftmost, strip->key_count));
    int64_t end = leftmost + distance_count(problem);
    return (struct distances){.near = near,
                              .far = attnzoo_base_maximum(near, attnzoo_base_minimum(end, strip->key_count)),
                              .first = near - leftmost};
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_tile *tile = strip->tile;
    int64_t columns = head_size(problem), step = attnzoo_base_maximum(columns, 1), count = distance_count(problem);
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    attnzoo_key_tile_products(problem, strip, memory + strip->first_row * step, step,
                              key_memory(problem, tile, memory));
    for (int64_t row = 0; row < strip->row_count; row++) {
        const float *by_distance = distance_scores(problem, tile, memory) + (strip->first_row + row) * count;
        const struct distances distances = distances_of(problem, strip, row);
        float *scores = strip->scores + row * strip->step;
        vectors->add_value(scores, distances.near, by_distance[0]);
        for (int64_t key = distances.near; key < distances.far; key++)
            scores[key] += by_distance[distances.first + key - distances.near];
        vectors->add_value(scores + distances.far, strip->key_count - distances.far, by_distance[count - 1]);
    }
}

static void add_weights(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *extra,
                        int64_t context_step)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    int64_t count = distance_count(problem);
    for (int64_t row = 0; row < strip->row_count; row++) {
        const struct distances distances = distances_of(problem, strip, row);
        const float *weights = strip->scores + row * strip->step;
        float *sums = extra + row * context_step;
        sums[0] += vectors->sum(weights, distances.near);
        for (int64_t key = distances.near; key < distances.far; key++)
            sums[distances.first + key - distances.near] += weights[key];
        sums[count - 1] += vectors->sum(weights + distances.far, strip->key_count - distances.far);
    }
}

static void finish(const struct attnzoo_attention *problem, float *context, const float *extra)
{
    const struct attnzoo_relative_distance *relative = problem->source_data;
    int64_t columns = problem->value.size[ATTNZOO_COLUMN];
    /* Distances that were not seen stay out: their vectors may hold anything, as those of a causal model for the
     * future. */
    for (int64_t distance = 0; distance < distance_count(problem); distance++)
        if (extra[distance] != 0.0f)
            attnzoo_kernel_vectors()->add_scaled(context, relative->values + distance * columns, columns,
                                                 extra[distance]);
}

const struct attnzoo_score_source attnzoo_kernel_relative_distance = {
    .column_cost = 1,
    .takes_short_strips = true,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
};

const struct attnzoo_score_source attnzoo_kernel_relative_distance_with_values = {
    .column_cost = 1,
    .takes_short_strips = true,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
    .extra_columns = distance_count,
    .add_weights = add_weights,
    .finish = finish,
};
