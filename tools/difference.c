/*
 * difference.c: walks along two arrays.
 */
#include "difference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One element; a whole number is in `integer` as well, as a double does not hold all of them. */
struct element {
    double number;
    int64_t integer;
    bool is_integer;
};

static double half_number(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = ldexp(fraction, -24);
    if (exponent == 31)
        magnitude = fraction == 0 ? INFINITY : NAN;
    else if (exponent > 0)
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 != 0 ? -magnitude : magnitude;
}

static double bfloat16_number(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float number;
    memcpy(&number, &wide, sizeof number);
    return (double)number;
}

static struct element read_element(const struct array *array, int64_t index)
{
    struct element element = {0};
    switch (array->dtype) {
    case ATTNZOO_DTYPE_FLOAT32:
        element.number = (double)((const float *)array->data)[index];
        return element;
    case ATTNZOO_DTYPE_FLOAT16:
        element.number = half_number(((const uint16_t *)array->data)[index]);
        return element;
    case ATTNZOO_DTYPE_BFLOAT16:
        element.number = bfloat16_number(((const uint16_t *)array->data)[index]);
        return element;
    case ATTNZOO_DTYPE_BOOL:
        element.integer = ((const unsigned char *)array->data)[index] != 0;
        break;
    default:
        element.integer = array_integer(array, index);
    }
    element.is_integer = true;
    element.number = (double)element.integer;
    return element;
}

static bool are_equal(const struct element *left, const struct element *right)
{
    if (left->is_integer && right->is_integer)
        return left->integer == right->integer;
    return left->number == right->number;
}

/* How far two elements are apart that are neither equal nor NaN. */
static double distance(const struct element *left, const struct element *right)
{
    if (!left->is_integer || !right->is_integer)
        return fabs(left->number - right->number);
    uint64_t a = (uint64_t)left->integer, b = (uint64_t)right->integer;
    return (double)(left->integer > right->integer ? a - b : b - a);
}

/* Counts what is NaN, and says whether either is. */
static bool count_nan(struct difference *difference, const struct element *left, const struct element *right)
{
    bool left_is = isnan(left->number), right_is = isnan(right->number);
    difference->nan_in_both += left_is && right_is;
    difference->nan_in_left += left_is && !right_is;
    difference->nan_in_right += right_is && !left_is;
    return left_is || right_is;
}

/* Notes how far two numbers are apart that are not equal, and says whether they still agree. */
static bool measure(struct difference *difference, int64_t place, const struct element *left,
                    const struct element *right, const struct tolerance *tolerance)
{
    double absolute = distance(left, right), size = fabs(right->number);
    double relative = isinf(size) || size <= 0.0 ? INFINITY : absolute / size;
    if (absolute > difference->largest_absolute) {
        difference->largest_absolute = absolute;
        difference->largest_absolute_at = place;
    }
    if (relative > difference->largest_relative) {
        difference->largest_relative = relative;
        difference->largest_relative_at = place;
    }
    /* A part of infinity would let anything pass. */
    return isfinite(absolute) && absolute <= tolerance->absolute + tolerance->relative * size;
}

struct difference difference_measure(const struct array *left, const struct array *right,
                                     const struct tolerance *tolerance)
{
    struct difference difference = {.count = array_element_count(left),
                                    .first_disagreeing = -1,
                                    .largest_absolute_at = -1,
                                    .largest_relative_at = -1};
    for (int64_t place = 0; place < difference.count; place++) {
        struct element a = read_element(left, place), b = read_element(right, place);
        bool agrees = are_equal(&a, &b);
        if (!agrees && count_nan(&difference, &a, &b))
            agrees = isnan(a.number) && isnan(b.number);
        else if (!agrees)
            agrees = measure(&difference, place, &a, &b, tolerance);
        if (agrees)
            continue;
        if (difference.disagreeing++ == 0)
            difference.first_disagreeing = place;
    }
    return difference;
}

const char *element_text(const struct array *array, int64_t index, char *text)
{
    struct element element = read_element(array, index);
    if (array->dtype == ATTNZOO_DTYPE_BOOL)
        snprintf(text, ELEMENT_TEXT_SIZE, "%s", element.integer != 0 ? "true" : "false");
    else if (element.is_integer)
        snprintf(text, ELEMENT_TEXT_SIZE, "%" PRId64, element.integer);
    else
        snprintf(text, ELEMENT_TEXT_SIZE, "%.*g", array->dtype == ATTNZOO_DTYPE_FLOAT32 ? 9 : 5, element.number);
    return text;
}
