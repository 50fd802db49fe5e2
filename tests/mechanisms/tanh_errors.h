/*
 * tests/mechanisms/tanh_errors.h: the calls of additive and location_aware that the tests of errors spoil.
 */
#ifndef ATTNZOO_TESTS_TANH_ERRORS_H
#define ATTNZOO_TESTS_TANH_ERRORS_H

#include "support/tanh_case.h"

/* [0] additive, [1] location_aware */
extern const char *const tanh_errors_names[2];

/* No two sizes are equal, so that a message with the wrong one is noticed. */
struct tanh_sizes tanh_errors_sizes(bool is_location_aware);

/* A good call, stored, of which some parameters are absent. */
void tanh_errors_create(struct tanh_case *test, int which, uint32_t absent);

#endif
