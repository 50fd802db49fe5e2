/*
 * tests/mechanisms/pitfalls.h: what the tests of known pitfalls share. Each of those tests is named after one way in
 * which attention libraries have failed their users; its number is that of the project's list of them.
 */
#ifndef ATTNZOO_TESTS_PITFALLS_H
#define ATTNZOO_TESTS_PITFALLS_H

#include "support/attention_case.h"
#include "support/testing.h"

/* A planned case of one batch and one head with D = Dv = 8. */
void plan_one_head(struct attention_case *test, int64_t queries, int64_t keys);

/* Allocates and fills with a fixed seed. */
void allocate_and_fill(struct attention_case *test);

/* Compares with the reference once without an executor, once with two threads, once without the attention. */
void check_everywhere(struct attention_case *test);

/* Sets every value to the same number. */
void set_all(struct test_tensor *tensor, double value);

/* pattern: one string a query, x where the attention must be above 0, any other where it must be 0. */
void assert_attention_pattern(const struct attention_case *test, int64_t batch, int64_t head,
                              const char *const *pattern);

/* Context 0, attention 0 and log-sum-exp -infinity; the row is counted over batches and heads too. */
void assert_row_is_empty(const struct attention_case *test, int64_t row);

/* NaN throughout: context, log-sum-exp and attention. */
void assert_row_is_nan(const struct attention_case *test, int64_t row);

/* Runs and compares; the caller changes values between calls. */
void check(struct attention_case *test);

#endif
