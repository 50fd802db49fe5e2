/*
 * tests/support/output_copy.h: a copy of what a call wrote, byte for byte, to hold later calls against.
 */
#ifndef ATTNZOO_TESTS_OUTPUT_COPY_H
#define ATTNZOO_TESTS_OUTPUT_COPY_H

#include "support/test_tensor.h"

struct output_copy {
    unsigned char *context, *attention;
};

struct output_copy output_copy_create(const struct test_tensor *context, const struct test_tensor *attention);

bool output_copy_is_same(const struct output_copy *copy, const struct test_tensor *context,
                         const struct test_tensor *attention);

void output_copy_destroy(struct output_copy *copy);

#endif
