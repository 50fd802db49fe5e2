/*
 * tests/support/tanh_part.h: some of a call's queries in a call of their own: views of their rows of the case's tensors
 * and a mask that says of them what the whole call's mask says. For stepping through a sequence with a state.
 */
#ifndef ATTNZOO_TESTS_TANH_PART_H
#define ATTNZOO_TESTS_TANH_PART_H

#include "support/tanh_case.h"

struct tanh_part {
    attnzoo_tensor *query, *context, *attention;
    attnzoo_tensor *boolean, *bias, *offsets, *query_lengths;
    attnzoo_mask *mask; /* NULL where the case has none */
    int64_t offset_of_batch[64], length_of_batch[64];
};

/* Queries first to first + count - 1. The part stays where it is: its mask points into it. */
void tanh_part_create(struct tanh_part *part, struct tanh_case *test, int64_t first, int64_t count);

attnzoo_status tanh_part_forward(const struct tanh_part *part, const struct tanh_case *test,
                                 const attnzoo_module *module, attnzoo_executor *executor, attnzoo_state *state);

void tanh_part_destroy(struct tanh_part *part);

/* Runs queries first to first + count - 1. */
attnzoo_status tanh_case_forward_part(struct tanh_case *test, int64_t first, int64_t count,
                                      const attnzoo_module *module, attnzoo_executor *executor, attnzoo_state *state);

/* A state for the case's calls, with room for its keys and often for a few more. */
attnzoo_state *tanh_case_state(const struct tanh_case *test, const attnzoo_module *module);

#endif
