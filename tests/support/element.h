/*
 * tests/support/element.h: reading and writing one element of any type as a double, with the tests' own conversions of
 * float16 and bfloat16.
 */
#ifndef ATTNZOO_TESTS_ELEMENT_H
#define ATTNZOO_TESTS_ELEMENT_H

#include <stdint.h>

/* The element at place, whatever its alignment. */
double element_read(const void *place, int32_t dtype);

/* Writes the value as element_rounded() gives it. */
void element_write(void *place, int32_t dtype, double value);

/* The value of the type that is nearest to the given one, the even one on a tie. */
double element_rounded(int32_t dtype, double value);

/* What rounding a number of at most this magnitude to the type may change. */
double element_rounding(int32_t dtype, double magnitude);

#endif
