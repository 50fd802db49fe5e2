/*
 * kernels/few_rows.h: products of a few rows with a tile of keys or values. Memory bounds these, not arithmetic: a BLAS
 * would copy the tile before it multiplies, or read it again for each row, and has no 16-bit floats. The row kernels
 * read the tile once, where it lies, in its own type.
 */
#ifndef ATTNZOO_KERNELS_FEW_ROWS_H
#define ATTNZOO_KERNELS_FEW_ROWS_H

#include "kernels/attention.h"

/** Whether row_count rows are few enough, and keys (or values) long enough, to be multiplied so. */
bool attnzoo_few_rows_suit(int64_t row_count, const struct attnzoo_grid *keys);

/** Fills a strip with scale * queries [row_count, D] times its keys transposed. */
void attnzoo_few_rows_score(const struct attnzoo_strip *strip, const struct attnzoo_grid *keys, int64_t key_head,
                            float scale, const float *queries, int64_t query_step);

/** context [row_count, Dv] += a strip's weights times its values. */
void attnzoo_few_rows_add(const struct attnzoo_strip *strip, const struct attnzoo_grid *values, int64_t value_head,
                          float *context, int64_t context_step);

#endif
