/*
 * tests/mechanisms/tanh_random_case.h: draws calls of additive and location_aware at random, with everything that the
 * contract allows.
 */
#ifndef ATTNZOO_TESTS_TANH_RANDOM_CASE_H
#define ATTNZOO_TESTS_TANH_RANDOM_CASE_H

#include "support/random.h"
#include "support/tanh_case.h"

/* An allocated and filled case. The caller destroys it. */
void tanh_random_case_create(struct tanh_case *test, struct random_source *source, const char *mechanism);

/* The same with sizes that are given; which parameters are absent is drawn all the same. */
void tanh_random_case_create_sized(struct tanh_case *test, struct random_source *source, const char *mechanism,
                                   struct tanh_sizes sizes);

#endif
