/*
 * tests/support/one_key.h: the score that a module gives to one query and one key.
 */
#ifndef ATTNZOO_TESTS_ONE_KEY_H
#define ATTNZOO_TESTS_ONE_KEY_H

#include <attnzoo/attnzoo.h>

/* Prepares the module and returns its score of a query and a key whose product is 1: the scale, then capped. */
double one_key_score(attnzoo_module *module);

#endif
