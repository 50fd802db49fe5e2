/*
 * byte_order.h: the order of bytes in numbers, of this machine and of files.
 */
#ifndef TOOLS_BYTE_ORDER_H
#define TOOLS_BYTE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

/* The number in `size` bytes, the lowest first. */
static inline uint64_t little_endian_number(const unsigned char *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t index = size; index > 0; index--)
        number = number << 8 | bytes[index - 1];
    return number;
}

#endif
