/*
 * random_from_input.h: where the choices of support/random.h come from in a fuzz target.
 */
#ifndef TESTS_FUZZ_RANDOM_FROM_INPUT_H
#define TESTS_FUZZ_RANDOM_FROM_INPUT_H

#include "support/random.h"

#include <stddef.h>

/* From here on choices follow this input. */
void random_follow(const uint8_t *data, size_t size);

/* Has every byte been taken? */
bool random_input_is_spent(void);

#endif
