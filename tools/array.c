/*
 * array.c: memory for arrays, and what is done with it between file and library.
 */
#include "array.h"

#include "byte_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool array_byte_size(int32_t dtype, int32_t rank, const int64_t *shape, size_t *size)
{
    bool is_empty = false;
    for (int32_t axis = 0; axis < rank; axis++)
        is_empty = is_empty || shape[axis] == 0;
    int64_t bytes = is_empty ? 0 : attnzoo_dtype_size(dtype);
    for (int32_t axis = 0; axis < rank; axis++) {
        if (__builtin_mul_overflow(bytes, shape[axis], &bytes))
            return false;
    }
    *size = (size_t)bytes;
    return (uint64_t)bytes <= PTRDIFF_MAX;
}

enum outcome array_allocate(struct array *array, int32_t dtype, int32_t rank, const int64_t *shape, const char *name)
{
    *array = (struct array){.dtype = dtype, .rank = rank};
    if (rank > 0)
        memcpy(array->shape, shape, (size_t)rank * sizeof *shape);
    char text[ARRAY_SHAPE_TEXT_SIZE];
    size_t size;
    if (!array_byte_size(dtype, rank, shape, &size))
        return fail("%s: shape %s is too large", name, array_shape_text(array, text));
    array->data = malloc(size > 0 ? size : 1);
    if (array->data == NULL)
        return fail("%s: not enough memory for %s of shape %s", name, attnzoo_dtype_name(dtype),
                    array_shape_text(array, text));
    return OUTCOME_OK;
}

void array_free(struct array *array)
{
    free(array->data);
    *array = (struct array){0};
}

int64_t array_element_count(const struct array *array)
{
    size_t size;
    if (!array_byte_size(array->dtype, array->rank, array->shape, &size))
        return 0;
    return (int64_t)size / attnzoo_dtype_size(array->dtype);
}

int64_t array_integer(const struct array *array, int64_t index)
{
    if (array->dtype == ATTNZOO_DTYPE_INT32)
        return ((const int32_t *)array->data)[index];
    return ((const int64_t *)array->data)[index];
}

void array_swap_bytes(struct array *array)
{
    size_t size = (size_t)attnzoo_dtype_size(array->dtype);
    unsigned char *element = array->data;
    for (int64_t left = array_element_count(array); left > 0; left--, element += size) {
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            unsigned char byte = element[low];
            element[low] = element[high];
            element[high] = byte;
        }
    }
}

void array_write(const struct array *array, FILE *stream)
{
    int64_t count = array_element_count(array);
    size_t size = (size_t)attnzoo_dtype_size(array->dtype);
    if (!host_is_big_endian()) {
        fwrite(array->data, size, (size_t)count, stream);
        return;
    }
    const unsigned char *bytes = array->data;
    for (int64_t index = 0; index < count; index++, bytes += size) {
        for (size_t byte = size; byte > 0; byte--)
            fputc(bytes[byte - 1], stream);
    }
}

enum outcome array_reorder_from_fortran(struct array *array, const char *name)
{
    struct array ordered;
    enum outcome outcome = array_allocate(&ordered, array->dtype, array->rank, array->shape, name);
    if (outcome != OUTCOME_OK)
        return outcome;
    size_t size = (size_t)attnzoo_dtype_size(array->dtype);
    int64_t steps[ATTNZOO_RANK_MAX], place[ATTNZOO_RANK_MAX] = {0}, step = 1, source = 0;
    for (int32_t axis = 0; axis < array->rank; axis++) {
        steps[axis] = step;
        step *= array->shape[axis];
    }
    int64_t count = array_element_count(array);
    for (int64_t target = 0; target < count; target++) {
        /* array_allocate() got it, or said otherwise. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
        memcpy((char *)ordered.data + (size_t)target * size, (char *)array->data + (size_t)source * size, size);
        for (int32_t axis = array->rank - 1; axis >= 0; axis--) {
            /* cppcheck-suppress uninitvar; as many are set above as are read here */
            source += steps[axis]; /* NOLINT(clang-analyzer-core.uninitialized.Assign) as above */
            if (++place[axis] < array->shape[axis])
                break;
            source -= steps[axis] * place[axis];
            place[axis] = 0;
        }
    }
    array_free(array);
    *array = ordered;
    return OUTCOME_OK;
}

static bool can_join_rows(const struct array *front, const struct array *back)
{
    if (front->rank != back->rank || front->rank < 2)
        return false;
    for (int32_t axis = 0; axis < front->rank; axis++) {
        if (axis != front->rank - 2 && front->shape[axis] != back->shape[axis])
            return false;
    }
    return true;
}

enum outcome array_join_rows(struct array *joined, const struct array *front, const char *front_name,
                             const struct array *back, const char *back_name)
{
    if (front->dtype != back->dtype)
        return fail("%s is %s but %s is %s; they must agree", front_name, attnzoo_dtype_name(front->dtype), back_name,
                    attnzoo_dtype_name(back->dtype));
    char front_text[ARRAY_SHAPE_TEXT_SIZE], back_text[ARRAY_SHAPE_TEXT_SIZE];
    if (!can_join_rows(front, back))
        return fail("%s has shape %s and %s has shape %s; they must agree in all axes but the one before the last",
                    front_name, array_shape_text(front, front_text), back_name, array_shape_text(back, back_text));
    int32_t row_axis = front->rank - 2;
    int64_t shape[ATTNZOO_RANK_MAX], blocks = 1;
    memcpy(shape, back->shape, sizeof shape);
    if (__builtin_add_overflow(front->shape[row_axis], back->shape[row_axis], &shape[row_axis]))
        return fail("%s and %s are too large together", front_name, back_name);
    enum outcome outcome = array_allocate(joined, back->dtype, back->rank, shape, back_name);
    if (outcome != OUTCOME_OK || array_element_count(joined) == 0)
        return outcome;
    for (int32_t axis = 0; axis < row_axis; axis++)
        blocks *= shape[axis];
    size_t row_size = (size_t)(attnzoo_dtype_size(back->dtype) * shape[row_axis + 1]);
    size_t front_size = (size_t)front->shape[row_axis] * row_size, back_size = (size_t)back->shape[row_axis] * row_size;
    char *target = joined->data;
    for (int64_t block = 0; block < blocks; block++) {
        memcpy(target, (char *)front->data + (size_t)block * front_size, front_size);
        memcpy(target + front_size, (char *)back->data + (size_t)block * back_size, back_size);
        target += front_size + back_size;
    }
    return OUTCOME_OK;
}

const char *array_shape_text(const struct array *array, char *text)
{
    int length = sprintf(text, "[");
    for (int32_t axis = 0; axis < array->rank; axis++)
        length += sprintf(text + length, "%s%" PRId64, axis == 0 ? "" : ", ", array->shape[axis]);
    sprintf(text + length, "]");
    return text;
}
