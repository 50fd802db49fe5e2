/*
 * difference.h: how far two arrays of one shape are apart, element by element.
 */
#ifndef TOOLS_DIFFERENCE_H
#define TOOLS_DIFFERENCE_H

#include "array.h"

/* Elements a and b agree where |a - b| <= absolute + relative |b|. Neither is negative. */
struct tolerance {
    double absolute;
    double relative;
};

/* Places count elements in row-major order; -1 is none. */
struct difference {
    int64_t count;
    int64_t disagreeing;
    int64_t first_disagreeing;
    /* Over elements of which neither is NaN; infinite where one is infinite and the other is something else. */
    double largest_absolute;
    int64_t largest_absolute_at;
    /* |a - b| / |b| of the same elements; infinite where b alone is 0 or one is infinite. */
    double largest_relative;
    int64_t largest_relative_at;
    /* NaN agrees with NaN and with nothing else. */
    int64_t nan_in_left, nan_in_right, nan_in_both;
};

/* Measures `left` by `right`; the shapes must be the same. Integers are compared as such, all else as double. */
struct difference difference_measure(const struct array *left, const struct array *right,
                                     const struct tolerance *tolerance);

enum { ELEMENT_TEXT_SIZE = 32 };

/* An element as text with all digits that its type tells apart, into `text` of ELEMENT_TEXT_SIZE, which is returned. */
const char *element_text(const struct array *array, int64_t index, char *text);

#endif
