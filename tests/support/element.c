/*
 * tests/support/element.c: element types, by arithmetic on doubles and by nothing that the library or the CPU has for
 * it.
 */
#include "support/element.h"

#include <attnzoo/tensor.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A binary floating-point type: the bits of its significand, the exponents of its smallest step and of its overflow. */
struct format {
    int precision;
    int smallest_step;
    int overflow;
};

static struct format format_of(int32_t dtype)
{
    switch (dtype) {
    case ATTNZOO_DTYPE_FLOAT16:
        return (struct format){11, -24, 16};
    case ATTNZOO_DTYPE_BFLOAT16:
        return (struct format){8, -133, 128};
    case ATTNZOO_DTYPE_FLOAT32:
        return (struct format){24, -149, 128};
    default:
        abort();
    }
}

static double step_at(struct format format, double magnitude)
{
    int exponent;
    frexp(magnitude, &exponent);
    int step = exponent - format.precision;
    return ldexp(1.0, step > format.smallest_step ? step : format.smallest_step);
}

double element_rounded(int32_t dtype, double value)
{
    if (dtype == ATTNZOO_DTYPE_BOOL)
        return value != 0.0;
    if (dtype == ATTNZOO_DTYPE_INT32 || dtype == ATTNZOO_DTYPE_INT64)
        return nearbyint(value);
    if (dtype == ATTNZOO_DTYPE_FLOAT32)
        return (float)value;
    if (!isfinite(value) || value == 0.0)
        return value;
    struct format format = format_of(dtype);
    double step = step_at(format, value);
    double rounded = nearbyint(value / step) * step;
    return fabs(rounded) >= ldexp(1.0, format.overflow) ? copysign(INFINITY, value) : rounded;
}

double element_rounding(int32_t dtype, double magnitude)
{
    struct format format = format_of(dtype);
    return ldexp(magnitude, -format.precision) + ldexp(1.0, format.smallest_step - 1);
}

static double double_of_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    int fraction = bits & 1023;
    double magnitude;
    if (exponent == 31)
        magnitude = fraction != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, -24);
    else
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 != 0 ? -magnitude : magnitude;
}

/* The value is one that half has. */
static uint16_t half_of_double(double value)
{
    unsigned sign = signbit(value) ? 0x8000u : 0u;
    double magnitude = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (isinf(value))
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x1p-14)
        return (uint16_t)(sign | (unsigned)(magnitude * 0x1p24));
    int exponent;
    double significand = frexp(magnitude, &exponent);
    unsigned fraction = (unsigned)(significand * 2048.0) - 1024u;
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | fraction);
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

double element_read(const void *place, int32_t dtype)
{
    unsigned char bytes[8] = {0};
    memcpy(bytes, place, (size_t)attnzoo_dtype_size(dtype));
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    int64_t wide;
    memcpy(&wide, bytes, sizeof wide);
    switch (dtype) {
    case ATTNZOO_DTYPE_FLOAT32:
        return float_of_bits(word);
    case ATTNZOO_DTYPE_FLOAT16:
        return double_of_half(half);
    case ATTNZOO_DTYPE_BFLOAT16:
        return float_of_bits((uint32_t)half << 16);
    case ATTNZOO_DTYPE_BOOL:
        return bytes[0] != 0;
    case ATTNZOO_DTYPE_INT32:
        return (int32_t)word;
    case ATTNZOO_DTYPE_INT64:
        return (double)wide;
    default:
        abort();
    }
}

void element_write(void *place, int32_t dtype, double value)
{
    double rounded = element_rounded(dtype, value);
    switch (dtype) {
    case ATTNZOO_DTYPE_FLOAT32:
        memcpy(place, &(float){(float)rounded}, 4);
        return;
    case ATTNZOO_DTYPE_FLOAT16:
        memcpy(place, &(uint16_t){half_of_double(rounded)}, 2);
        return;
    case ATTNZOO_DTYPE_BFLOAT16:
        memcpy(place, &(uint16_t){(uint16_t)(bits_of_float((float)rounded) >> 16)}, 2);
        return;
    case ATTNZOO_DTYPE_BOOL:
        memcpy(place, &(unsigned char){rounded != 0.0}, 1);
        return;
    case ATTNZOO_DTYPE_INT32:
        memcpy(place, &(int32_t){(int32_t)rounded}, 4);
        return;
    case ATTNZOO_DTYPE_INT64:
        memcpy(place, &(int64_t){(int64_t)rounded}, 8);
        return;
    default:
        abort();
    }
}
