/*
 * hostile.h: handles that do not fit: views of a tensor's memory with other shapes, strides and types, numbers at the ends
 * of their ranges, masks set at random. The memory that views show is always there: a view of other memory is a fault
 * that a library in C cannot see.
 */
#ifndef TESTS_FUZZ_HOSTILE_H
#define TESTS_FUZZ_HOSTILE_H

#include "subject.h"

/* A whole number, often one at an end of some range. */
int64_t hostile_number(struct random_source *source);

/* Any view of the tensor's memory; NULL where none was made. The caller destroys it. */
attnzoo_tensor *hostile_view(const struct test_tensor *tensor, struct random_source *source);

/* One of the subject's tensors. */
struct test_tensor *hostile_tensor(struct subject *subject, struct random_source *source);

/* A mask of random settings, some of them refused, that points into the subject's memory. The caller destroys it. */
attnzoo_mask *hostile_mask(struct subject *subject, struct random_source *source);

/* Describes views that nothing will read, of any shape and any strides: what is accepted must be what was asked for, and
 * within 63 bits. */
void hostile_descriptions(struct random_source *source);

#endif
