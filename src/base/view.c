/*
 * base/view.c: checks a view's description. What may share memory with what is in overlap.c.
 */
#include "base/view.h"

#include "base/checked.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>

int64_t attnzoo_base_dtype_size(int32_t dtype)
{
    switch (dtype) {
    case ATTNZOO_DTYPE_BOOL:
        return 1;
    case ATTNZOO_DTYPE_FLOAT16:
    case ATTNZOO_DTYPE_BFLOAT16:
        return 2;
    case ATTNZOO_DTYPE_FLOAT32:
    case ATTNZOO_DTYPE_INT32:
        return 4;
    case ATTNZOO_DTYPE_INT64:
        return 8;
    default:
        return 0;
    }
}

/* Not always its size: i386 aligns int64 to 4 bytes. */
static int64_t dtype_alignment(int32_t dtype)
{
    return dtype == ATTNZOO_DTYPE_INT64 ? (int64_t) _Alignof(int64_t) : attnzoo_base_dtype_size(dtype);
}

const char *attnzoo_base_dtype_name(int32_t dtype)
{
    static const char *const names[] = {"unknown", "float32", "float16", "bfloat16", "bool", "int32", "int64"};
    return names[attnzoo_base_dtype_size(dtype) > 0 ? dtype : 0];
}

bool attnzoo_base_dtype_is_float(int32_t dtype)
{
    return dtype == ATTNZOO_DTYPE_FLOAT32 || dtype == ATTNZOO_DTYPE_FLOAT16 || dtype == ATTNZOO_DTYPE_BFLOAT16;
}

bool attnzoo_base_dtype_is_integer(int32_t dtype)
{
    return dtype == ATTNZOO_DTYPE_INT32 || dtype == ATTNZOO_DTYPE_INT64;
}

int64_t attnzoo_base_view_element_count(const struct attnzoo_view *view)
{
    int64_t count = 1;
    for (int32_t axis = 0; axis < view->rank; axis++)
        count *= view->shape[axis];
    return count;
}

const char *attnzoo_base_shape_text(char text[ATTNZOO_SHAPE_TEXT_SIZE], int32_t rank, const int64_t *shape)
{
    size_t used = 0;
    for (int32_t axis = 0; axis < rank; axis++) {
        int length =
            snprintf(text + used, ATTNZOO_SHAPE_TEXT_SIZE - used, "%s%" PRId64, axis == 0 ? "[" : ", ", shape[axis]);
        used += (size_t)length;
    }
    snprintf(text + used, ATTNZOO_SHAPE_TEXT_SIZE - used, "%s", rank == 0 ? "[]" : "]");
    return text;
}

static attnzoo_status check_shape(int32_t dtype, int32_t rank, const int64_t *shape, int64_t *element_count)
{
    if (attnzoo_base_dtype_size(dtype) == 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "dtype %d is no element type", (int)dtype);
    if (rank < 1 || rank > ATTNZOO_RANK_MAX)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "rank is %d, must be 1 to %d", (int)rank,
                                 (int)ATTNZOO_RANK_MAX);
    if (shape == NULL)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "shape is NULL");
    /* The product of the sizes other than 0 must fit too: it bounds the compact strides. */
    int64_t count = attnzoo_base_dtype_size(dtype);
    bool is_empty = false;
    for (int32_t axis = 0; axis < rank; axis++) {
        if (shape[axis] < 0)
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "shape[%d] is %" PRId64 ", must not be negative",
                                     (int)axis, shape[axis]);
        if (shape[axis] == 0)
            is_empty = true;
        else if (!attnzoo_base_multiply(count, shape[axis], &count))
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                     "the shape's sizes, up to shape[%d] = %" PRId64 ", pass 63 bits of bytes",
                                     (int)axis, shape[axis]);
    }
    *element_count = is_empty ? 0 : count / attnzoo_base_dtype_size(dtype);
    return ATTNZOO_STATUS_OK;
}

/* How far, in bytes, the elements reach below and above the data pointer. */
static attnzoo_status measure_reach(const struct attnzoo_view *view, int64_t *below, int64_t *above)
{
    int64_t element_size = attnzoo_base_dtype_size(view->dtype);
    int64_t low = 0, high = element_size;
    for (int32_t axis = 0; axis < view->rank; axis++) {
        int64_t reach, *side = view->strides[axis] < 0 ? &low : &high;
        if (!attnzoo_base_multiply(view->shape[axis] - 1, view->strides[axis], &reach) ||
            !attnzoo_base_multiply(reach, element_size, &reach) || !attnzoo_base_add(*side, reach, side))
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                     "strides[%d] = %" PRId64 " with shape[%d] = %" PRId64 " reaches past 63 bits",
                                     (int)axis, view->strides[axis], (int)axis, view->shape[axis]);
    }
    *below = low;
    *above = high;
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_memory(const struct attnzoo_view *view, int64_t element_count, const void *data)
{
    if (element_count == 0)
        return ATTNZOO_STATUS_OK;
    if (data == NULL)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "data is NULL, but the view has %" PRId64 " elements",
                                 element_count);
    uintptr_t address = (uintptr_t)data;
    uintptr_t alignment = (uintptr_t)dtype_alignment(view->dtype);
    /* No view is described before its type is checked. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    if (address % alignment != 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "data at %p is not aligned to the %d bytes of a %s",
                                 data, (int)alignment, attnzoo_base_dtype_name(view->dtype));
    int64_t below = 0, above = 0;
    attnzoo_status status = measure_reach(view, &below, &above);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    /* Compared in 64 bits, though addresses may have 32. */
    /* cppcheck-suppress knownConditionTrueFalse; it does not see that below was measured */
    if (0 - (uint64_t)below > address || (uint64_t)above > UINTPTR_MAX - address)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "the view at %p passes the end of the address space",
                                 data);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_base_view_describe(struct attnzoo_view *view, const void *data, bool readonly, int32_t dtype,
                                          int32_t rank, const int64_t *shape, const int64_t *strides)
{
    int64_t element_count = 0;
    attnzoo_status status = check_shape(dtype, rank, shape, &element_count);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_view made = {.dtype = dtype, .rank = rank, .readonly = readonly};
    int64_t compact = 1;
    for (int32_t axis = rank - 1; axis >= 0; axis--) {
        made.shape[axis] = shape[axis];
        made.strides[axis] = strides == NULL ? compact : strides[axis];
        compact *= attnzoo_base_maximum(shape[axis], 1);
    }
    status = check_memory(&made, element_count, data);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    made.data = (char *)(uintptr_t)data;
    *view = made;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_base_view_point(struct attnzoo_view *view, const void *data, bool readonly)
{
    attnzoo_status status = check_memory(view, attnzoo_base_view_element_count(view), data);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    view->data = (char *)(uintptr_t)data;
    view->readonly = readonly;
    return ATTNZOO_STATUS_OK;
}

int64_t attnzoo_base_view_row_count(const struct attnzoo_view *view)
{
    int64_t columns = view->shape[view->rank - 1];
    return columns == 0 ? 0 : attnzoo_base_view_element_count(view) / columns;
}

char *attnzoo_base_view_row(const struct attnzoo_view *view, int32_t axis_count, int64_t row)
{
    int64_t offset = 0;
    for (int32_t axis = axis_count - 1; axis >= 0; axis--) {
        offset += row % view->shape[axis] * view->strides[axis];
        row /= view->shape[axis];
    }
    return view->data + offset * attnzoo_base_dtype_size(view->dtype);
}
