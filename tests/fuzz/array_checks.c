/*
 * array_checks.c: arrays and messages.
 */
#include "array_checks.h"

#include "byte_order.h"
#include "target.h"

#include <string.h>

void check_refusal(const struct array *array)
{
    const char *message = problem_text();
    require(array->data == NULL);
    require(message[0] != '\0');
    for (const char *place = message; *place != '\0'; place++)
        require((unsigned char)*place >= ' ' && *place != 0x7f);
}

bool element_is(const struct array *array, int64_t index, const uint8_t *bytes, bool is_big_endian)
{
    size_t size = (size_t)attnzoo_dtype_size(array->dtype);
    const uint8_t *element = (const uint8_t *)array->data + (size_t)index * size;
    for (size_t byte = 0; byte < size; byte++) {
        size_t other = is_big_endian == host_is_big_endian() ? byte : size - 1 - byte;
        if (element[byte] != bytes[other])
            return false;
    }
    return true;
}

bool arrays_are_same(const struct array *left, const struct array *right)
{
    if (left->dtype != right->dtype || left->rank != right->rank)
        return false;
    for (int32_t axis = 0; axis < left->rank; axis++)
        if (left->shape[axis] != right->shape[axis])
            return false;
    size_t size = (size_t)(array_element_count(left) * attnzoo_dtype_size(left->dtype));
    return memcmp(left->data, right->data, size) == 0;
}
