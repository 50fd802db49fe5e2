/*
 * kernels/few_rows.c: when and on what the products of a few rows are made. How is in few_rows_template.h.
 */
#include "kernels/few_rows.h"

#include "base/checked.h"
#include "kernels/vectors.h"

enum {
    /* More rows are enough work to pay for a BLAS' copy. */
    FEW_ROWS = 8,
    /* Elements of keys below which it does not matter, and calls of a BLAS are as good. */
    ELEMENTS_ENOUGH = 4096,
    /* How far ahead keys are fetched: the fastest of those tried between 1 and 32 KB. */
    BYTES_AHEAD = 6144
};

bool attnzoo_few_rows_suit(int64_t row_count, const struct attnzoo_grid *keys)
{
    int64_t columns = keys->size[ATTNZOO_COLUMN];
    return row_count <= FEW_ROWS && columns > 0 && keys->stride[ATTNZOO_COLUMN] == 1 &&
           keys->size[ATTNZOO_ROW] >= ELEMENTS_ENOUGH / columns;
}

/* A strip and some keys' rows as the kernels take them. */
static struct attnzoo_few_rows product_of(const struct attnzoo_strip *strip, const struct attnzoo_grid *keys,
                                          int64_t key_head)
{
    int64_t first_key = strip->tile->first_key + strip->first_key;
    int64_t row_bytes = keys->size[ATTNZOO_COLUMN] * attnzoo_base_dtype_size(keys->dtype);
    return (struct attnzoo_few_rows){.scores = strip->scores,
                                     .score_step = strip->step,
                                     .row_count = strip->row_count,
                                     .keys = attnzoo_grid_at(keys, strip->tile->batch, key_head, first_key, 0),
                                     .key_step = keys->stride[ATTNZOO_ROW],
                                     .key_count = strip->key_count,
                                     .columns = keys->size[ATTNZOO_COLUMN],
                                     .keys_ahead = BYTES_AHEAD / attnzoo_base_maximum(row_bytes, 1) + 1};
}

static const struct attnzoo_few_rows_kernels *kernels_for(int32_t dtype)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    switch (dtype) {
    case ATTNZOO_DTYPE_FLOAT16:
        return &vectors->few_rows_float16;
    case ATTNZOO_DTYPE_BFLOAT16:
        return &vectors->few_rows_bfloat16;
    default:
        return &vectors->few_rows_float32;
    }
}

void attnzoo_few_rows_score(const struct attnzoo_strip *strip, const struct attnzoo_grid *keys, int64_t key_head,
                            float scale, const float *queries, int64_t query_step)
{
    struct attnzoo_few_rows product = product_of(strip, keys, key_head);
    product.scale = scale;
    kernels_for(keys->dtype)->score(&product, queries, query_step);
}

void attnzoo_few_rows_add(const struct attnzoo_strip *strip, const struct attnzoo_grid *values, int64_t value_head,
                          float *context, int64_t context_step)
{
    struct attnzoo_few_rows product = product_of(strip, values, value_head);
    kernels_for(values->dtype)->add(&product, context, context_step);
}
