/*
 * kernels/value_tile.c: opens the values of a tile and adds them to contexts.
 */
#include "kernels/value_tile.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/few_rows.h"
#include "kernels/vectors.h"

#include <string.h>

/*
 * A value that is NaN or infinite must reach only the rows that see its key, but a product multiplies it by the
 * others' weight of 0 too. So its key is added row by row to those that see it, and the product gets zeros in its
 * place.
 */
static const float *mend_values(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip,
                                struct attnzoo_rows *values)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    const struct attnzoo_tile *tile = strip->tile;
    int64_t columns = worker->problem->value.size[ATTNZOO_COLUMN];
    const float *source = values->data + strip->first_key * values->step;
    float *mended = NULL;
    for (int64_t key = 0; key < strip->key_count; key++) {
        const float *value = source + key * values->step;
        if (vectors->all_finite(value, columns))
            continue;
        if (mended == NULL) {
            mended = worker->scratch.mended_values;
            for (int64_t other = 0; other < strip->key_count; other++)
                memcpy(mended + other * columns, source + other * values->step, (size_t)columns * sizeof(float));
        }
        memset(mended + key * columns, 0, (size_t)columns * sizeof(float));
        for (int64_t row = strip->first_row; row < strip->first_row + strip->row_count; row++)
            if (attnzoo_mask_sees(&worker->problem->mask, tile->batch, attnzoo_attention_row_head(worker, row),
                                  attnzoo_attention_row_query(worker, row), tile->first_key + strip->first_key + key))
                vectors->add_scaled(attnzoo_attention_row_context(worker, row), value, columns,
                                    attnzoo_attention_row_scores(strip, row - strip->first_row)[key]);
    }
    if (mended == NULL)
        return source;
    values->step = attnzoo_base_maximum(columns, 1);
    return mended;
}

void attnzoo_value_tile_add(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip,
                            const struct attnzoo_value_tile *values, float *context, int64_t context_step)
{
    const struct attnzoo_grid *grid = &worker->problem->value;
    if (values->are_in_place) {
        attnzoo_few_rows_add(strip, grid, values->head, context, context_step);
        return;
    }
    struct attnzoo_rows rows = values->rows;
    const float *source = rows.data + strip->first_key * rows.step;
    if (values->need_mending)
        source = mend_values(worker, strip, &rows);
    attnzoo_blas_multiply_add(strip->row_count, grid->size[ATTNZOO_COLUMN], strip->key_count, strip->scores,
                              strip->step, source, rows.step, context, context_step);
}

struct attnzoo_value_tile attnzoo_value_tile_open(const struct attnzoo_attention_worker *worker,
                                                  const struct attnzoo_tile *tile, bool may_hide)
{
    const struct attnzoo_grid *grid = &worker->problem->value;
    struct attnzoo_value_tile values = {.head = tile->first_head / worker->plan->heads_per_group};
    values.are_in_place = !may_hide && attnzoo_few_rows_suit(attnzoo_attention_row_count(worker), grid);
    if (values.are_in_place)
        return values;
    values.rows = attnzoo_grid_rows(grid, tile->batch, values.head, tile->first_key, tile->key_count,
                                    worker->scratch.value_memory);
    /* Rows that lie one behind the other are one long row. */
    int64_t columns = grid->size[ATTNZOO_COLUMN], rows = values.rows.step == columns ? 1 : tile->key_count;
    int64_t length = values.rows.step == columns ? tile->key_count * columns : columns;
    for (int64_t row = 0; may_hide && !values.need_mending && row < rows; row++)
        values.need_mending = !attnzoo_kernel_vectors()->all_finite(values.rows.data + row * values.rows.step, length);
    return values;
}
