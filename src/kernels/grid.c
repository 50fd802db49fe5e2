/*
 * kernels/grid.c: grids, their rows, and the element types' conversions to and from float32.
 */
#include "kernels/grid.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/vectors.h"

#include <string.h>

struct attnzoo_grid attnzoo_grid_of(const struct attnzoo_view *view)
{
    struct attnzoo_grid grid = {.data = view->data, .size = {1, 1, 1, 1}, .dtype = view->dtype};
    /* Strides that lead to no element may be any number. */
    bool is_empty = attnzoo_base_view_element_count(view) == 0;
    for (int32_t axis = 0; axis < view->rank; axis++) {
        int32_t place = ATTNZOO_GRID_RANK - view->rank + axis;
        grid.size[place] = view->shape[axis];
        grid.stride[place] = view->shape[axis] > 1 && !is_empty ? view->strides[axis] : 0;
    }
    if (grid.size[ATTNZOO_COLUMN] <= 1 || is_empty)
        grid.stride[ATTNZOO_COLUMN] = 1;
    return grid;
}

struct attnzoo_grid attnzoo_grid_without_heads(const struct attnzoo_view *view)
{
    struct attnzoo_grid grid = attnzoo_grid_of(view);
    grid.size[ATTNZOO_BATCH] = grid.size[ATTNZOO_HEAD];
    grid.stride[ATTNZOO_BATCH] = grid.stride[ATTNZOO_HEAD];
    grid.size[ATTNZOO_HEAD] = 1;
    grid.stride[ATTNZOO_HEAD] = 0;
    return grid;
}

struct attnzoo_grid attnzoo_grid_split_heads(const struct attnzoo_grid *grid, int64_t head_count)
{
    struct attnzoo_grid split = *grid;
    split.size[ATTNZOO_HEAD] = head_count;
    split.size[ATTNZOO_COLUMN] = grid->size[ATTNZOO_COLUMN] / head_count;
    split.stride[ATTNZOO_HEAD] = split.size[ATTNZOO_COLUMN] * grid->stride[ATTNZOO_COLUMN];
    return split;
}

bool attnzoo_grid_make_compact(struct attnzoo_grid *grid, int64_t batches, int64_t heads, int64_t rows, int64_t columns)
{
    int64_t per_head, per_batch, all, bytes;
    if (!attnzoo_base_multiply(rows, columns, &per_head) || !attnzoo_base_multiply(per_head, heads, &per_batch) ||
        !attnzoo_base_multiply(per_batch, batches, &all) || !attnzoo_base_multiply(all, (int64_t)sizeof(float), &bytes))
        return false;
    *grid = (struct attnzoo_grid){.size = {batches, heads, rows, columns},
                                  .stride = {per_batch, per_head, columns, 1},
                                  .dtype = ATTNZOO_DTYPE_FLOAT32};
    return true;
}

bool attnzoo_grid_is_direct(const struct attnzoo_grid *grid)
{
    if (grid->dtype != ATTNZOO_DTYPE_FLOAT32 || grid->stride[ATTNZOO_COLUMN] != 1)
        return false;
    if (grid->size[ATTNZOO_ROW] <= 1)
        return grid->size[ATTNZOO_COLUMN] <= ATTNZOO_BLAS_STEP_MAX;
    return grid->stride[ATTNZOO_ROW] >= grid->size[ATTNZOO_COLUMN] && grid->stride[ATTNZOO_ROW] > 0 &&
           grid->stride[ATTNZOO_ROW] <= ATTNZOO_BLAS_STEP_MAX;
}

struct attnzoo_rows attnzoo_grid_rows(const struct attnzoo_grid *grid, int64_t batch, int64_t head, int64_t first,
                                      int64_t count, float *memory)
{
    int64_t columns = grid->size[ATTNZOO_COLUMN];
    /* A BLAS wants a step of at least the row's length and at least 1, even where there is one row. */
    int64_t shortest = columns > 1 ? columns : 1;
    if (attnzoo_grid_is_direct(grid)) {
        int64_t step = grid->stride[ATTNZOO_ROW] > shortest ? grid->stride[ATTNZOO_ROW] : shortest;
        return (struct attnzoo_rows){(const float *)(const void *)attnzoo_grid_at(grid, batch, head, first, 0), step};
    }
    attnzoo_grid_copy_rows(memory, grid, batch, head, first, count);
    return (struct attnzoo_rows){memory, shortest};
}

void attnzoo_grid_copy_rows(float *memory, const struct attnzoo_grid *grid, int64_t batch, int64_t head, int64_t first,
                            int64_t count)
{
    int64_t columns = grid->size[ATTNZOO_COLUMN];
    /* Without elements there may be no memory to step through. */
    if (columns == 0)
        return;
    /* Rows that lie one behind the other are one long row. */
    bool is_whole = grid->stride[ATTNZOO_COLUMN] == 1 && grid->stride[ATTNZOO_ROW] == columns;
    int64_t pieces = is_whole && count > 0 ? 1 : count, length = is_whole ? count * columns : columns;
    for (int64_t piece = 0; piece < pieces; piece++)
        attnzoo_kernel_widen(memory + piece * columns, attnzoo_grid_at(grid, batch, head, first + piece, 0),
                             grid->dtype, grid->stride[ATTNZOO_COLUMN], length);
}

/* In bytes, from one of so many elements to the next. The stride of a single one leads nowhere and may be any number. */
static int64_t step_of(int64_t stride, int32_t dtype, int64_t count)
{
    return count > 1 ? stride * attnzoo_base_dtype_size(dtype) : 0;
}

static void widen_strided(float *destination, const char *source, int32_t dtype, int64_t stride, int64_t count)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    int64_t step = step_of(stride, dtype, count);
    if (dtype == ATTNZOO_DTYPE_FLOAT32) {
        for (int64_t i = 0; i < count; i++)
            memcpy(destination + i, source + i * step, sizeof *destination);
        return;
    }
    enum { BATCH = 64 };
    uint16_t gathered[BATCH];
    for (int64_t first = 0; first < count; first += BATCH) {
        int64_t part = count - first < BATCH ? count - first : BATCH;
        for (int64_t i = 0; i < part; i++)
            memcpy(gathered + i, source + (first + i) * step, sizeof *gathered);
        if (dtype == ATTNZOO_DTYPE_FLOAT16)
            vectors->widen_float16(destination + first, gathered, part);
        else
            vectors->widen_bfloat16(destination + first, gathered, part);
    }
}

void attnzoo_kernel_widen(float *destination, const char *source, int32_t dtype, int64_t stride, int64_t count)
{
    const void *start = source;
    /* A view without elements may have no memory at all. */
    if (count == 0)
        return;
    if (stride != 1)
        widen_strided(destination, source, dtype, stride, count);
    else if (dtype == ATTNZOO_DTYPE_FLOAT32)
        memcpy(destination, start, (size_t)count * sizeof *destination);
    else if (dtype == ATTNZOO_DTYPE_FLOAT16)
        attnzoo_kernel_vectors()->widen_float16(destination, start, count);
    else
        attnzoo_kernel_vectors()->widen_bfloat16(destination, start, count);
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Shifts out the low bits of a number, rounding to nearest, ties to even. */
static uint32_t shift_and_round(uint32_t bits, uint32_t shift)
{
    uint32_t half = 1u << (shift - 1);
    uint32_t odd = (bits >> shift) & 1u;
    return (bits + half - 1u + odd) >> shift;
}

static uint16_t to_float16(float value)
{
    uint32_t bits = float_bits(value);
    uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    /* 65520 and above round to infinity. */
    if (magnitude >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x38800000u)
        return (uint16_t)(sign | shift_and_round(magnitude - ((127u - 15u) << 23), 13));
    /* Subnormal halves count units of 2^-24. */
    uint32_t exponent = magnitude >> 23;
    if (exponent < 127u - 25u)
        return (uint16_t)sign;
    uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    return (uint16_t)(sign | shift_and_round(significand, 126u - exponent));
}

static uint16_t to_bfloat16(float value)
{
    uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)shift_and_round(bits, 16);
}

void attnzoo_kernel_narrow(char *destination, int32_t dtype, int64_t stride, const float *source, int64_t count)
{
    int64_t step = step_of(stride, dtype, count);
    if (count == 0)
        return;
    if (dtype == ATTNZOO_DTYPE_FLOAT32) {
        if (stride == 1) {
            memcpy(destination, source, (size_t)count * sizeof *source);
            return;
        }
        for (int64_t i = 0; i < count; i++)
            memcpy(destination + i * step, source + i, sizeof *source);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        uint16_t narrowed = dtype == ATTNZOO_DTYPE_FLOAT16 ? to_float16(source[i]) : to_bfloat16(source[i]);
        memcpy(destination + i * step, &narrowed, sizeof narrowed);
    }
}

int64_t attnzoo_kernel_integer_at(const char *source, int32_t dtype)
{
    int32_t narrow;
    int64_t wide;
    switch (dtype) {
    case ATTNZOO_DTYPE_INT32:
        memcpy(&narrow, source, sizeof narrow);
        return narrow;
    case ATTNZOO_DTYPE_INT64:
        memcpy(&wide, source, sizeof wide);
        return wide;
    default:
        return *(const uint8_t *)source;
    }
}
