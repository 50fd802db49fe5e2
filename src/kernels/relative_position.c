/*
 * kernels/relative_position.c: content and position scores, a strip at a time. Softcap and masks come after, in the
 * core.
 *
 * The source's memory, D floats a row:
 *
 *   | q + u of the block | a spare row | q + v of the block | a spare row | position scores of some rows |
 *
 * Keys are projected by the mechanism, so they lie where a product can read them.
 *
 * THE SHIFT. Query i and key j need table row p = M - 1 - (M - N + i - j) = N - 1 - i + j. Rows of queries i0 .. i1 and
 * keys j0 .. j1 need p from N - 1 - i1 + j0 on, and in the product of those queries with those table rows the scores of
 * query i start i1 - i further right than those of i1.
 */
#include "kernels/relative_position.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/dot_product.h"
#include "kernels/vectors.h"

#include <string.h>

/* So many queries share a product with the table: few, since it has as many columns to spare as rows. */
enum { SHIFT_ROWS = 64 };

static int64_t head_size(const struct attnzoo_attention *problem)
{
    return problem->query.size[ATTNZOO_COLUMN];
}

static int64_t table_step(int64_t key_count)
{
    return SHIFT_ROWS + key_count;
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          int64_t *floats)
{
    int64_t scores;
    return attnzoo_base_multiply(2 * (row_count + ATTNZOO_SPARE_ROWS), head_size(problem), floats) &&
           attnzoo_base_multiply(SHIFT_ROWS, table_step(key_count), &scores) &&
           attnzoo_base_add(*floats, scores, floats);
}

static int64_t row_count(const struct attnzoo_tile *tile)
{
    return tile->head_count * tile->query_count;
}

/* q + v, behind q + u. */
static float *position_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return memory + (row_count(tile) + ATTNZOO_SPARE_ROWS) * head_size(problem);
}

static float *shift_memory(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return memory + 2 * (row_count(tile) + ATTNZOO_SPARE_ROWS) * head_size(problem);
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    const struct attnzoo_relative_position *relative = problem->source_data;
    int64_t columns = head_size(problem);
    attnzoo_kernel_pack_queries(problem, block, relative->content_bias, columns, memory);
    attnzoo_kernel_pack_queries(problem, block, relative->position_bias, columns,
                                position_queries(problem, block, memory));
}

/* Rows of a strip that belong to one head, at most SHIFT_ROWS. */
struct part {
    int64_t first_row;
    int64_t row_count;
    int64_t head;
    int64_t last_query;
};

/* Adds the position scores of some rows of one head. Table rows that do not exist belong to keys that are hidden. */
static void add_positions(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip,
                          const struct part *part, float scale, float *memory)
{
    const struct attnzoo_relative_position *relative = problem->source_data;
    const struct attnzoo_grid *table = relative->table;
    const struct attnzoo_tile *tile = strip->tile;
    int64_t columns = head_size(problem), query_step = attnzoo_base_maximum(columns, 1);
    int64_t wanted = strip->key_count + part->row_count - 1, step = table_step(tile->key_count);
    int64_t first = problem->query.size[ATTNZOO_ROW] - 1 - part->last_query + tile->first_key + strip->first_key;
    int64_t known = attnzoo_base_minimum(wanted, table->size[ATTNZOO_ROW] - first);
    float *shifted = shift_memory(problem, tile, memory);
    /* No stray NaN may be left for a BLAS that multiplies what it overwrites by zero. */
    memset(shifted, 0, (size_t)(part->row_count * step) * sizeof *shifted);
    if (known > 0) {
        int64_t batch = table->size[ATTNZOO_BATCH] > 1 ? tile->batch : 0;
        struct attnzoo_rows rows = attnzoo_grid_rows(table, batch, part->head, first, known, NULL);
        attnzoo_blas_multiply_transposed(part->row_count, known, columns, scale,
                                         position_queries(problem, tile, memory) + part->first_row * columns,
                                         query_step, rows.data, rows.step, shifted, step);
    }
    for (int64_t row = 0; row < part->row_count; row++)
        attnzoo_kernel_vectors()->add_scaled(strip->scores + (part->first_row - strip->first_row + row) * strip->step,
                                             shifted + row * step + (part->row_count - 1 - row), strip->key_count,
                                             1.0f);
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_tile *tile = strip->tile;
    int64_t columns = head_size(problem), step = attnzoo_base_maximum(columns, 1);
    /* With a scale of 0 a BLAS skips the product, and a NaN in it would be lost. */
    float scale = problem->scale == 0.0f ? 1.0f : problem->scale;
    int64_t key_head = tile->first_head / (problem->query.size[ATTNZOO_HEAD] / problem->key.size[ATTNZOO_HEAD]);
    struct attnzoo_rows keys = attnzoo_grid_rows(&problem->key, tile->batch, key_head,
                                                 tile->first_key + strip->first_key, strip->key_count, NULL);
    attnzoo_kernel_scaled_products(strip, columns, scale, memory + strip->first_row * step, step, keys.data, keys.step);
    int64_t row = strip->first_row, end = strip->first_row + strip->row_count;
    while (row < end) {
        int64_t query_in_block = row % tile->query_count;
        int64_t rows = attnzoo_base_minimum(end - row, tile->query_count - query_in_block);
        rows = attnzoo_base_minimum(rows, SHIFT_ROWS);
        const struct part part = {.first_row = row,
                                  .row_count = rows,
                                  .head = tile->first_head + row / tile->query_count,
                                  .last_query = tile->first_query + query_in_block + rows - 1};
        add_positions(problem, strip, &part, scale, memory);
        row += rows;
    }
    for (row = 0; problem->scale == 0.0f && row < strip->row_count; row++) {
        float *scores = strip->scores + row * strip->step;
        attnzoo_kernel_vectors()->scale(scores, scores, strip->key_count, 0.0f);
    }
}

const struct attnzoo_score_source attnzoo_kernel_relative_position = {
    .column_cost = 2,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .fill = fill,
};
