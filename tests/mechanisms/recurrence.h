/*
 * tests/mechanisms/recurrence.h: the small calls of location_aware that the tests of its recurrence begin with.
 */
#ifndef ATTNZOO_TESTS_RECURRENCE_H
#define ATTNZOO_TESTS_RECURRENCE_H

#include "support/tanh_case.h"

/* Two heads that share keys and values. */
struct tanh_sizes recurrence_sizes(int64_t batch, int64_t queries, int64_t keys);

void recurrence_plan(struct tanh_case *test, struct tanh_sizes sizes, enum reference_feedback feedback);

#endif
