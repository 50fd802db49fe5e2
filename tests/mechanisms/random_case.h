/*
 * tests/mechanisms/random_case.h: draws calls of scaled_dot_product at random, with everything that the contract
 * allows.
 */
#ifndef ATTNZOO_TESTS_RANDOM_CASE_H
#define ATTNZOO_TESTS_RANDOM_CASE_H

#include "support/attention_case.h"
#include "support/random.h"

/* An allocated and filled case. The caller destroys it. */
void random_case_create(struct attention_case *test, struct random_source *source);

#endif
