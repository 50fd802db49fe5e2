/*
 * array_checks.h: what the targets that read files hold arrays to.
 */
#ifndef TESTS_FUZZ_ARRAY_CHECKS_H
#define TESTS_FUZZ_ARRAY_CHECKS_H

#include "array.h"

/* Nothing was left in the array, and there is a message of one line. */
void check_refusal(const struct array *array);

/* Are these, in the given order, the bytes of element `index`? */
bool element_is(const struct array *array, int64_t index, const uint8_t *bytes, bool is_big_endian);

/* Type, shape and bytes. */
bool arrays_are_same(const struct array *left, const struct array *right);

#endif
