/*
 * tests/support/tanh_relatives.h: general and concat as relatives of additive: a tanh_case holds what they have in
 * additive's parameters, from which theirs are made. general: query_proj.weight is its score_proj.weight transposed, the
 * key has no layer. concat: query_proj.weight and key_proj.weight are the two sides of its concat_proj.weight, bias is its
 * concat_proj.bias.
 */
#ifndef ATTNZOO_TESTS_TANH_RELATIVES_H
#define ATTNZOO_TESTS_TANH_RELATIVES_H

#include "support/tanh_case.h"

#include <stdbool.h>

bool tanh_relatives_is_general(const char *mechanism);
bool tanh_relatives_is_concat(const char *mechanism);

/* Which of the parameters are absent, of those that were to be. */
uint32_t tanh_relatives_absent(const char *mechanism, uint32_t absent);

/* Options and parameters. */
void tanh_relatives_set_up(const struct tanh_case *test, attnzoo_module *module);

#endif
