/*
 * tests/support/attention_case.h: one call of scaled_dot_product, described once and put to the library and to the
 * reference.
 *
 *   attention_case_plan -> change fields and plans -> attention_case_allocate -> attention_case_fill, or values by hand
 *   -> attention_case_run -> attention_case_compare -> attention_case_destroy
 */
#ifndef ATTNZOO_TESTS_ATTENTION_CASE_H
#define ATTNZOO_TESTS_ATTENTION_CASE_H

#include "reference/scaled_dot_product.h"
#include "support/test_tensor.h"

#include <attnzoo/attnzoo.h>

struct attention_sizes {
    int64_t batch, heads, key_heads, queries, keys, head_size, value_size;
};

struct attention_case {
    struct attention_sizes sizes;
    double scale;   /* NaN for the default */
    double softcap; /* 0 for none */

    bool is_masked; /* false: the call gets no mask at all, and what follows must be unset */
    bool causal;
    bool has_window;
    int64_t window_left, window_right;
    int32_t alignment;
    bool has_offset;
    int64_t offset;
    struct test_tensor offsets, key_lengths, query_lengths, boolean, bias, slopes, segments;

    struct test_tensor query, key, value;
    struct test_tensor context, attention, log_sum_exp;
};

/* Compact float32 inputs and all three outputs; a mask that hides nothing. */
void attention_case_plan(struct attention_case *test, struct attention_sizes sizes);

/* Plans the mask's tensors; shape as the setter takes it. */
void attention_case_plan_boolean(struct attention_case *test, int64_t batch, int64_t heads, int64_t queries,
                                 int64_t keys);
void attention_case_plan_bias(struct attention_case *test, int64_t batch, int64_t heads, int64_t queries, int64_t keys);
void attention_case_plan_key_lengths(struct attention_case *test);
void attention_case_plan_query_lengths(struct attention_case *test);

void attention_case_allocate(struct attention_case *test);

/* Draws query, key and value; booleans half true, biases and slopes small, lengths anywhere within bounds. */
void attention_case_fill(struct attention_case *test, struct random_source *source, double magnitude);

/* Stores the inputs, poisons the outputs, calls the library and loads what it gave. */
attnzoo_status attention_case_run(struct attention_case *test, attnzoo_executor *executor);

/* The parts of a run, for tests that call the library in their own way. The caller destroys module and mask. */
void attention_case_store(struct attention_case *test);
attnzoo_module *attention_case_module(const struct attention_case *test);
attnzoo_mask *attention_case_mask(const struct attention_case *test);
attnzoo_status attention_case_forward(struct attention_case *test, const attnzoo_module *module,
                                      attnzoo_executor *executor, const attnzoo_mask *mask);
void attention_case_load(struct attention_case *test);

/* What the reference is asked. Points into the case. */
struct reference_problem attention_case_problem(const struct attention_case *test);

/* Are all outputs within the reference's bounds, and the bytes around them untouched? Prints what is not. */
bool attention_case_compare(const struct attention_case *test);

/* As above, against a reference computed before. */
bool attention_case_compare_with(const struct attention_case *test, const struct reference_result *expected);

/* One output alone. */
bool attention_case_compare_tensor(const struct test_tensor *got, const double *expected, const double *bound,
                                   const char *name);

/* Run, which must succeed, and compare, which must find nothing. */
void attention_case_check(struct attention_case *test, attnzoo_executor *executor);

/* One line that says what the case is. */
void attention_case_print(const struct attention_case *test);

void attention_case_destroy(struct attention_case *test);

#endif
