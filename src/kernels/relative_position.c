/*
 * kernels/relative_position.c: content and position scores, a strip at a time. Softcap and masks come after, in the
 * core.
 *
 * The source's memory, D floats a row:
 *
 *   | q + u of the block | a spare row | q + v of the block | a spare row | position scores of some rows
 *   | keys of the tile, transposed, if its strips are short | rows of the table for the tile, the same |
 *
 * Keys are projected by the mechanism, so they lie where a product can read them, and no others are packed.
 *
 * THE SHIFT. Query i and key j need table row p = M - 1 - (M - N + i - j) = N - 1 - i + j. Rows of queries i0 .. i1 and
 * keys j0 .. j1 need p from N - 1 - i1 + j0 on, and in the product of those queries with those table rows the scores of
 * query i start i1 - i further right than those of i1.
 */
#include "kernels/relative_position.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/dot_product.h"
#include "kernels/key_tile.h"
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

/* Table rows that a block's queries need for a tile of keys. */
static int64_t table_rows(int64_t query_count, int64_t key_count)
{
    return query_count + key_count - 1;
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          bool has_short_strips, int64_t *floats)
{
    int64_t scores, keys, transposed = 0;
    if (has_short_strips)
        transposed = attnzoo_key_tile_transposed_step(table_rows(row_count, key_count));
    return attnzoo_base_multiply(2 * (row_count + ATTNZOO_SPARE_ROWS) + transposed, head_size(problem), floats) &&
           attnzoo_base_multiply(SHIFT_ROWS, table_step(key_count), &scores) &&
           attnzoo_base_add(*floats, scores, floats) &&
           attnzoo_key_tile_floats(problem, key_count, has_short_strips, &keys) &&
           attnzoo_base_add(*floats, keys, floats);
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

static float *key_memory(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return shift_memory(problem, tile, memory) + SHIFT_ROWS * table_step(tile->key_count);
}

/* Where strips are short the table is transposed too, unless heads share the keys but not the table. */
static bool transposes_table(const struct attnzoo_tile *tile)
{
    return tile->has_short_strips && tile->head_count == 1;
}

static float *transposed_table(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    return key_memory(problem, tile, memory) + attnzoo_key_tile_transposed_step(tile->key_count) * head_size(problem);
}

static int64_t transposed_table_step(const struct attnzoo_tile *tile)
{
    return attnzoo_key_tile_transposed_step(table_rows(tile->query_count, tile->key_count));
}

/* The table row that a query needs for a key. */
static int64_t table_row(const struct attnzoo_attention *problem, int64_t query, int64_t key)
{
    return problem->query.size[ATTNZOO_ROW] - 1 - query + key;
}

static int64_t table_batch(const struct attnzoo_grid *table, const struct attnzoo_tile *tile)
{
    return table->size[ATTNZOO_BATCH] > 1 ? tile->batch : 0;
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    const struct attnzoo_relative_position *relative = problem->source_data;
    int64_t columns = head_size(problem);
    attnzoo_kernel_pack_queries(problem, block, relative->content_bias, columns, memory);
    attnzoo_kernel_pack_queries(problem, block, relative->position_bias, columns,
                                position_queries(problem, block, memory));
}

static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    const struct attnzoo_relative_position *relative = problem->source_data;
    const struct attnzoo_grid *table = relative->table;
    attnzoo_key_tile_open(problem, tile, key_memory(problem, tile, memory));
    int64_t first = table_row(problem, tile->first_query + tile->query_count - 1, tile->first_key);
    int64_t known =
        attnzoo_base_minimum(table_rows(tile->query_count, tile->key_count), table->size[ATTNZOO_ROW] - first);
    if (!transposes_table(tile) || known <= 0)
        return;
    struct attnzoo_rows rows = attnzoo_grid_rows(table, table_batch(table, tile), tile->first_head, first, known, NULL);
    attnzoo_kernel_vectors()->transpose(transposed_table(problem, tile, memory), transposed_table_step(tile), rows.data,
                                        rows.step, known, head_size(problem));
}

/* Rows of a strip that belong to one head, at most SHIFT_ROWS. */
struct part {
    int64_t first_row;
    int64_t row_count;
    int64_t head;
    int64_t last_query;
};

/* The product of a part's queries with known table rows from `first` on. */
static void multiply_table(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile,
                           const struct part *part, int64_t first, int64_t known, float *memory)
{
    const struct attnzoo_relative_position *relative = problem->source_data;
    const struct attnzoo_grid *table = relative->table;
    int64_t columns = head_size(problem), query_step = attnzoo_base_maximum(columns, 1);
    int64_t step = table_step(tile->key_count);
    const float *queries = position_queries(problem, tile, memory) + part->first_row * columns;
    float *shifted = shift_memory(problem, tile, memory);
    float scale = attnzoo_attention_product_scale(problem);
    if (transposes_table(tile)) {
        int64_t offset = first - table_row(problem, tile->first_query + tile->query_count - 1, tile->first_key);
        attnzoo_blas_multiply(part->row_count, known, columns, scale, queries, query_step,
                              transposed_table(problem, tile, memory) + offset, transposed_table_step(tile), shifted,
                              step);
        return;
    }
    struct attnzoo_rows rows = attnzoo_grid_rows(table, table_batch(table, tile), part->head, first, known, NULL);
    attnzoo_blas_multiply_transposed(part->row_count, known, columns, scale, queries, query_step, rows.data, rows.step,
                                     shifted, step);
}

/* Adds the position scores of some rows of one head. Table rows that do not exist belong to keys that are hidden. */
static void add_positions(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip,
                          const struct part *part, float *memory)
{
    const struct attnzoo_relative_position *relative = problem->source_data;
    const struct attnzoo_tile *tile = strip->tile;
    int64_t step = table_step(tile->key_count);
    int64_t first = table_row(problem, part->last_query, tile->first_key + strip->first_key);
    int64_t known =
        attnzoo_base_minimum(table_rows(part->row_count, strip->key_count), relative->table->size[ATTNZOO_ROW] - first);
    float *shifted = shift_memory(problem, tile, memory);
    /* No stray NaN may be left for a BLAS that multiplies what it overwrites by zero. */
    memset(shifted, 0, (size_t)(part->row_count * step) * sizeof *shifted);
    if (known > 0)
        multiply_table(problem, tile, part, first, known, memory);
    for (int64_t row = 0; row < part->row_count; row++)
        attnzoo_kernel_vectors()->add_scaled(strip->scores + (part->first_row - strip->first_row + row) * strip->step,
                                             shifted + row * step + (part->row_count - 1 - row), strip->key_count,
                                             1.0f);
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_tile *tile = strip->tile;
    int64_t columns = head_size(problem), step = attnzoo_base_maximum(columns, 1);
    attnzoo_key_tile_products(problem, strip, memory + strip->first_row * step, step,
                              key_memory(problem, tile, memory));
    int64_t row = strip->first_row, end = strip->first_row + strip->row_count;
    while (row < end) {
        int64_t query_in_block = row % tile->query_count;
        int64_t rows = attnzoo_base_minimum(end - row, tile->query_count - query_in_block);
        rows = attnzoo_base_minimum(rows, SHIFT_ROWS);
        const struct part part = {.first_row = row,
                                  .row_count = rows,
                                  .head = tile->first_head + row / tile->query_count,
                                  .last_query = tile->first_query + query_in_block + rows - 1};
        add_positions(problem, strip, &part, memory);
        row += rows;
    }
}

const struct attnzoo_score_source attnzoo_kernel_relative_position = {
    .column_cost = 2,
    .takes_short_strips = true,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
};
