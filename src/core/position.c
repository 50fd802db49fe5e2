/*
 * core/position.c: attnzoo/position.h.
 */
#include "core/handles.h"

#include "base/checked.h"
#include "kernels/grid.h"

#include <inttypes.h>
#include <math.h>

/* Columns done at a time, in memory on the stack. */
enum { PIECE = 128 };

/* Column `column` of `columns`, of position x. In double: positions of millions keep their phase. */
static float sinusoid(double x, int64_t column, int64_t columns, int32_t arrangement)
{
    int64_t sines = (columns + 1) / 2;
    bool is_cosine = arrangement == ATTNZOO_SINUSOID_HALVES ? column >= sines : column % 2 == 1;
    int64_t number = arrangement == ATTNZOO_SINUSOID_HALVES ? column % sines : column / 2;
    double angle = x / pow(10000.0, 2.0 * (double)number / (double)columns);
    return (float)(is_cosine ? cos(angle) : sin(angle));
}

static void fill_row(const struct attnzoo_grid *grid, int64_t row, double x, int32_t arrangement)
{
    int64_t columns = grid->size[ATTNZOO_COLUMN];
    for (int64_t first = 0; first < columns; first += PIECE) {
        float values[PIECE];
        int64_t count = attnzoo_base_minimum(PIECE, columns - first);
        for (int64_t i = 0; i < count; i++)
            values[i] = sinusoid(x, first + i, columns, arrangement);
        for (int64_t batch = 0; batch < grid->size[ATTNZOO_BATCH]; batch++)
            attnzoo_kernel_narrow(attnzoo_grid_at(grid, batch, 0, row, first), grid->dtype,
                                  grid->stride[ATTNZOO_COLUMN], values, count);
    }
}

attnzoo_status attnzoo_fill_sinusoidal_positions(attnzoo_tensor *table, int64_t first, int64_t step,
                                                 int32_t arrangement)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(table, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE(arrangement == ATTNZOO_SINUSOID_INTERLEAVED || arrangement == ATTNZOO_SINUSOID_HALVES,
                    ATTNZOO_STATUS_INVALID_ARGUMENT, "arrangement is %d, must be 0 or 1", (int)arrangement);
    const struct attnzoo_view *view = &table->view;
    char shape[ATTNZOO_SHAPE_TEXT_SIZE];
    ATTNZOO_REQUIRE(view->rank == 2 || view->rank == 3, ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "table has shape %s, must have 2 or 3 axes",
                    attnzoo_base_shape_text(shape, view->rank, view->shape));
    attnzoo_status status = attnzoo_core_check_writable(view, "table");
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_grid grid = attnzoo_grid_without_heads(view);
    int64_t rows = grid.size[ATTNZOO_ROW], reach, last;
    ATTNZOO_REQUIRE(rows == 0 ||
                        (attnzoo_base_multiply(rows - 1, step, &reach) && attnzoo_base_add(first, reach, &last)),
                    ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "positions from %" PRId64 " in %" PRId64 " steps of %" PRId64 " pass 63 bits", first, rows, step);
    /* Rows without elements may be more than can be walked over. */
    bool is_empty = attnzoo_base_view_element_count(view) == 0;
    for (int64_t row = 0; row < rows && !is_empty; row++)
        fill_row(&grid, row, (double)(first + row * step), arrangement);
    return ATTNZOO_STATUS_OK;
}
