/*
 * kernels/lanes.h: a vector of floats as the compiler's own vector type, so that one source serves every
 * instruction set. Included by vectors_template.h alone, which sets the width in ATTNZOO_VECTOR_BYTES.
 */
#ifndef ATTNZOO_KERNELS_LANES_H
#define ATTNZOO_KERNELS_LANES_H

#include "base/common.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__SSE__)
#include <immintrin.h>
#endif

enum { LANES = ATTNZOO_VECTOR_BYTES / 4 };

typedef float lanes __attribute__((vector_size(ATTNZOO_VECTOR_BYTES)));
typedef int32_t lanes_int __attribute__((vector_size(ATTNZOO_VECTOR_BYTES)));
typedef uint32_t lanes_bits __attribute__((vector_size(ATTNZOO_VECTOR_BYTES)));
typedef uint16_t lanes_half __attribute__((vector_size(ATTNZOO_VECTOR_BYTES / 2)));
typedef uint8_t lanes_bytes __attribute__((vector_size(ATTNZOO_VECTOR_BYTES / 4)));
/* The narrowest vector, to which wider ones fold. */
typedef float four_lanes __attribute__((vector_size(16)));
typedef int32_t four_lanes_int __attribute__((vector_size(16)));

static inline lanes splat(float value)
{
    return value - (lanes){0};
}

static inline lanes load(const float *source)
{
    lanes result;
    memcpy(&result, source, sizeof result);
    return result;
}

static inline void store(float *destination, lanes value)
{
    memcpy(destination, &value, sizeof value);
}

#if ATTNZOO_VECTOR_BYTES == 32
/* All ones in the first count lanes. */
static inline __m256i first_lanes(int64_t count)
{
    static const int32_t edge[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(edge + LANES - count));
}
#endif

/* The first count elements, at most LANES, the rest filled. */
static inline lanes load_part(const float *source, int64_t count, float filler)
{
    lanes result = splat(filler);
#if ATTNZOO_VECTOR_BYTES == 64
    result = (lanes)_mm512_mask_loadu_ps((__m512)result, (__mmask16)((1u << count) - 1u), source);
#elif ATTNZOO_VECTOR_BYTES == 32
    __m256i mask = first_lanes(count);
    result = (lanes)_mm256_blendv_ps((__m256)result, _mm256_maskload_ps(source, mask), _mm256_castsi256_ps(mask));
#else
    memcpy(&result, source, (size_t)count * sizeof(float));
#endif
    return result;
}

static inline void store_part(float *destination, lanes value, int64_t count)
{
#if ATTNZOO_VECTOR_BYTES == 64
    _mm512_mask_storeu_ps(destination, (__mmask16)((1u << count) - 1u), (__m512)value);
#elif ATTNZOO_VECTOR_BYTES == 32
    _mm256_maskstore_ps(destination, first_lanes(count), (__m256)value);
#else
    memcpy(destination, &value, (size_t)count * sizeof(float));
#endif
}

/* condition is all ones or all zeros in each lane, as comparisons give it. */
static inline lanes choose(lanes_int condition, lanes yes, lanes no)
{
    return (lanes)((condition & (lanes_int)yes) | (~condition & (lanes_int)no));
}

#if ATTNZOO_VECTOR_BYTES == 64
/* Lanes of two vectors by number, those of the second from LANES on. */
static inline lanes lanes_of_two(lanes first, lanes second, lanes_int chosen)
{
    return (lanes)_mm512_permutex2var_ps((__m512)first, (__m512i)chosen, (__m512)second);
}
#endif

/* NaN in value is passed over; floor must not be NaN. The compiler does not see the instruction that does just this. */
static inline lanes at_least(lanes value, lanes floor_value)
{
#if ATTNZOO_VECTOR_BYTES == 64
    return (lanes)_mm512_max_ps((__m512)value, (__m512)floor_value);
#elif ATTNZOO_VECTOR_BYTES == 32
    return (lanes)_mm256_max_ps((__m256)value, (__m256)floor_value);
#elif defined(__SSE__)
    return (lanes)_mm_max_ps((__m128)value, (__m128)floor_value);
#else
    return choose(value > floor_value, value, floor_value);
#endif
}

/* NaN in value stays; floor must not be NaN. */
static inline lanes raised_to(lanes value, lanes floor_value)
{
#if ATTNZOO_VECTOR_BYTES == 64
    return (lanes)_mm512_max_ps((__m512)floor_value, (__m512)value);
#elif ATTNZOO_VECTOR_BYTES == 32
    return (lanes)_mm256_max_ps((__m256)floor_value, (__m256)value);
#elif defined(__SSE__)
    return (lanes)_mm_max_ps((__m128)floor_value, (__m128)value);
#else
    return choose(value < floor_value, floor_value, value);
#endif
}

#if defined(__FMA__)
/* left * right + addend, rounded once: where the first rounding would be lost, no compiler may choose. */
static inline lanes fused(lanes left, lanes right, lanes addend)
{
#if ATTNZOO_VECTOR_BYTES == 64
    return (lanes)_mm512_fmadd_ps((__m512)left, (__m512)right, (__m512)addend);
#elif ATTNZOO_VECTOR_BYTES == 32
    return (lanes)_mm256_fmadd_ps((__m256)left, (__m256)right, (__m256)addend);
#else
    return (lanes)_mm_fmadd_ps((__m128)left, (__m128)right, (__m128)addend);
#endif
}
#endif

static inline four_lanes larger_of_four(four_lanes left, four_lanes right)
{
    four_lanes_int is_larger = left > right;
    return (four_lanes)((is_larger & (four_lanes_int)left) | (~is_larger & (four_lanes_int)right));
}

/* No lane may be NaN. */
static inline float largest_lane(lanes value)
{
    four_lanes parts[LANES / 4];
    memcpy(parts, &value, sizeof parts);
    for (int width = LANES / 8; width > 0; width /= 2)
        for (int part = 0; part < width; part++)
            parts[part] = larger_of_four(parts[part], parts[part + width]);
    float even = parts[0][0] > parts[0][2] ? parts[0][0] : parts[0][2];
    float odd = parts[0][1] > parts[0][3] ? parts[0][1] : parts[0][3];
    return even > odd ? even : odd;
}

static inline float sum_of_lanes(lanes value)
{
    four_lanes parts[LANES / 4];
    memcpy(parts, &value, sizeof parts);
    for (int width = LANES / 8; width > 0; width /= 2)
        for (int part = 0; part < width; part++)
            parts[part] += parts[part + width];
    return (parts[0][0] + parts[0][2]) + (parts[0][1] + parts[0][3]);
}

#if !defined(__F16C__)
/* Half to float in integer arithmetic: move the fields, then mend the exponent; subnormal halves are made by
 * subtracting the implied bit from a number that has it. */
static inline lanes widen_half_bits(lanes_bits half)
{
    lanes_bits sign = (half & 0x8000u) << 16;
    lanes_bits magnitude = (half & 0x7fffu) << 13;
    lanes_bits normal = magnitude + ((127u - 15u) << 23);
    lanes_bits special = magnitude + ((255u - 31u) << 23);
    lanes subnormal = (lanes)(magnitude + (113u << 23)) - (lanes)((lanes_bits){0} + (113u << 23));
    lanes result = choose(magnitude < (1u << 23), subnormal, (lanes)normal);
    result = choose(magnitude >= (31u << 23), (lanes)special, result);
    return (lanes)((lanes_bits)result | sign);
}
#endif

static inline lanes widen_brain_half(const uint16_t *source)
{
    lanes_half upper;
    memcpy(&upper, source, sizeof upper);
    return (lanes)(__builtin_convertvector(upper, lanes_bits) << 16);
}

static inline lanes widen_half(const uint16_t *source)
{
#if defined(__F16C__) && ATTNZOO_VECTOR_BYTES == 64
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)source));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)source));
#else
    lanes_half half;
    memcpy(&half, source, sizeof half);
    return widen_half_bits(__builtin_convertvector(half, lanes_bits));
#endif
}

#endif
