/*
 * tests/mechanisms/random_case.h: draws calls of scaled_dot_product at random, with everything that the contract
 * allows; and, for the other mechanisms, the parts: masks, element types and layouts.
 */
#ifndef ATTNZOO_TESTS_RANDOM_CASE_H
#define ATTNZOO_TESTS_RANDOM_CASE_H

#include "support/attention_case.h"
#include "support/random.h"

/* An allocated and filled case. The caller destroys it. */
void random_case_create(struct attention_case *test, struct random_source *source);

/* The same with sizes that are given; at most 3 batches. */
void random_case_create_sized(struct attention_case *test, struct random_source *source, struct attention_sizes sizes);

/* One of the types of data, float32 most often. */
int32_t random_float_type(struct random_source *source);

/* Any layout of at least so many axes; that of an input may repeat elements. */
void random_plan_input(struct test_tensor *tensor, struct random_source *source, int32_t dtype, int32_t least_rank);
void random_plan_output(struct test_tensor *tensor, struct random_source *source, int32_t dtype, int32_t least_rank);

/* Plans every kind of mask for the sizes of a planned case. After the case was filled come the masks' own values. */
void random_masks_plan(struct attention_case *test, struct random_source *source);
void random_masks_fill(struct attention_case *test, struct random_source *source);

#endif
