/*
 * tests/mechanisms/multi_head_random_case.h: draws calls of multi_head and relative_multi_head at random, with
 * everything that the contract allows, and runs many of them.
 */
#ifndef ATTNZOO_TESTS_MULTI_HEAD_RANDOM_CASE_H
#define ATTNZOO_TESTS_MULTI_HEAD_RANDOM_CASE_H

#include "support/multi_head_case.h"
#include "support/random.h"

/* An allocated and filled case. The caller destroys it. */
void multi_head_random_case_create(struct multi_head_case *test, struct random_source *source,
                                   enum reference_flavor flavor);

/* The same with sizes that are given. */
void multi_head_random_case_create_sized(struct multi_head_case *test, struct random_source *source,
                                         struct multi_head_sizes sizes);

/* So many random calls, or as many as ATTNZOO_TEST_CASES says: each within the reference's bounds, and the same to the
 * bit without an executor, with one thread and with three. Seeds count from ATTNZOO_TEST_SEED on. */
void multi_head_random_calls(enum reference_flavor flavor, uint64_t cases);

#endif
