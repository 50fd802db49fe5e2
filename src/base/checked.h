/*
 * base/checked.h: sizes that must not wrap. Products and sums say whether they fit 63 bits.
 */
#ifndef ATTNZOO_BASE_CHECKED_H
#define ATTNZOO_BASE_CHECKED_H

#include "base/common.h"

static inline bool attnzoo_base_multiply(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool attnzoo_base_add(int64_t a, int64_t b, int64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/** The bytes that so many floats take; false where they pass what can be addressed, be it 32 bits or 64. */
static inline bool attnzoo_base_float_bytes(int64_t count, int64_t *bytes)
{
    return attnzoo_base_multiply(count, (int64_t)sizeof(float), bytes) && (uint64_t)*bytes <= SIZE_MAX / 2;
}

static inline int64_t attnzoo_base_minimum(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t attnzoo_base_maximum(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/** a / b rounded up, for a >= 0 and b > 0, without the overflow of (a + b - 1). */
static inline int64_t attnzoo_base_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

#endif
