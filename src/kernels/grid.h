/*
 * kernels/grid.h: a view brought to four axes [batch, head, row, column], which is how the kernels see every
 * tensor, and moving rows of it to and from packed float32.
 */
#ifndef ATTNZOO_KERNELS_GRID_H
#define ATTNZOO_KERNELS_GRID_H

#include "base/common.h"
#include "base/view.h"

enum { ATTNZOO_BATCH = 0, ATTNZOO_HEAD = 1, ATTNZOO_ROW = 2, ATTNZOO_COLUMN = 3, ATTNZOO_GRID_RANK = 4 };

struct attnzoo_grid {
    char *data;
    int64_t size[ATTNZOO_GRID_RANK];
    /** In elements. */
    int64_t stride[ATTNZOO_GRID_RANK];
    int32_t dtype;
};

/** Lines the view's axes up at the right; missing leading axes have size 1. The view's rank is at most 4. */
struct attnzoo_grid attnzoo_grid_of(const struct attnzoo_view *view);

/** The same for a view [batch, row, column], which has no axis of heads: their number is 1. The view's rank is
 * at most 3. */
struct attnzoo_grid attnzoo_grid_without_heads(const struct attnzoo_view *view);

/** A grid of one head with its columns dealt out to so many, which divides their number. */
struct attnzoo_grid attnzoo_grid_split_heads(const struct attnzoo_grid *grid, int64_t head_count);

/** A compact float32 grid whose memory is not there yet; false if it passes what can be addressed. */
bool attnzoo_grid_make_compact(struct attnzoo_grid *grid, int64_t batches, int64_t heads, int64_t rows,
                               int64_t columns);

/** How many elements a compact grid has; multiplied as attnzoo_grid_make_compact() does, whose steps all fit. */
static inline int64_t attnzoo_grid_element_count(const struct attnzoo_grid *grid)
{
    return grid->size[2] * grid->size[3] * grid->size[1] * grid->size[0];
}

/** The address of an element. */
static inline char *attnzoo_grid_at(const struct attnzoo_grid *grid, int64_t batch, int64_t head, int64_t row,
                                    int64_t column)
{
    int64_t offset =
        batch * grid->stride[0] + head * grid->stride[1] + row * grid->stride[2] + column * grid->stride[3];
    return grid->data + offset * attnzoo_base_dtype_size(grid->dtype);
}

/** Rows of a grid as a BLAS can read them: step floats from one to the next. */
struct attnzoo_rows {
    const float *data;
    int64_t step;
};

/** Whether the grid's rows can be handed to a BLAS where they lie. */
bool attnzoo_grid_is_direct(const struct attnzoo_grid *grid);

/**
 * count rows from first on: where they lie if the grid is direct, else packed into memory, which holds
 * count * size[3] floats (and may be NULL for a direct grid).
 */
struct attnzoo_rows attnzoo_grid_rows(const struct attnzoo_grid *grid, int64_t batch, int64_t head, int64_t first,
                                      int64_t count, float *memory);

/** count rows from first on, packed into memory. */
void attnzoo_grid_copy_rows(float *memory, const struct attnzoo_grid *grid, int64_t batch, int64_t head, int64_t first,
                            int64_t count);

/** Widens count elements, stride apart, of a float type to float32. */
void attnzoo_kernel_widen(float *destination, const char *source, int32_t dtype, int64_t stride, int64_t count);

/** Rounds count floats to a float type, written stride apart. */
void attnzoo_kernel_narrow(char *destination, int32_t dtype, int64_t stride, const float *source, int64_t count);

/** An element of an integer or bool type. */
int64_t attnzoo_kernel_integer_at(const char *source, int32_t dtype);

#endif
