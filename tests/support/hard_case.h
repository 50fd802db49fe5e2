/*
 * tests/support/hard_case.h: one call of hard, described once and put to the library and to the reference. Inputs,
 * parameters, mask, context and attention are a tanh_case's, the rest is here.
 *
 *   hard_case_plan around a planned tanh_case -> change plans -> hard_case_allocate -> fill the tanh_case
 *   -> hard_case_run -> hard_case_compare -> hard_case_destroy
 */
#ifndef ATTNZOO_TESTS_HARD_CASE_H
#define ATTNZOO_TESTS_HARD_CASE_H

#include "reference/hard.h"
#include "support/tanh_case.h"

struct hard_case {
    struct tanh_case tanh;
    bool is_additive, is_sampled;
    uint64_t seed;
    bool has_seed_input; /* otherwise the option, which goes up to 2^53 */
    struct test_tensor seed_input, index, log_probability, entropy;
};

/* Plans what is not the tanh_case's own, which is planned already. All outputs, argmax, dot products. */
void hard_case_plan(struct hard_case *test);
void hard_case_allocate(struct hard_case *test);

/* A prepared module. The caller destroys it. */
attnzoo_module *hard_case_module(const struct hard_case *test);

/* Stores, makes a module and a mask, calls the library and loads. */
attnzoo_status hard_case_run(struct hard_case *test, attnzoo_executor *executor);

/* Is each output what the reference allows? Prints what is not. */
bool hard_case_compare(struct hard_case *test);

void hard_case_print(const struct hard_case *test);
void hard_case_destroy(struct hard_case *test);

#endif
