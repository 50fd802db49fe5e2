/*
 * tests/support/test_tensor.h: tensors of the tests: the same numbers once as compact doubles, for the reference, and
 * once in memory laid out in any way, shown by a view of the library. The memory lies between pages that cannot be
 * touched, and every byte of it that the view does not cover is known, so that stray reads and writes are found.
 *
 *   plan (test_tensor_plan, then change its fields) -> allocate -> fill values -> store
 */
#ifndef ATTNZOO_TESTS_TEST_TENSOR_H
#define ATTNZOO_TESTS_TEST_TENSOR_H

#include "support/guarded_memory.h"
#include "support/random.h"

#include <attnzoo/tensor.h>
#include <stdbool.h>
#include <stdint.h>

enum { TEST_TENSOR_RANK_MAX = 4 };

struct test_tensor {
    /* The plan. */
    int32_t dtype;
    int32_t rank; /* 0: there is no such tensor, and view stays NULL */
    int64_t shape[TEST_TENSOR_RANK_MAX];
    int32_t order[TEST_TENSOR_RANK_MAX];   /* the axes as they lie in memory, outermost first */
    int64_t padding[TEST_TENSOR_RANK_MAX]; /* free elements behind each run along an axis */
    int64_t step;                          /* elements from one to the next along the innermost axis in memory */
    bool reversed[TEST_TENSOR_RANK_MAX];   /* a negative stride */
    bool repeated[TEST_TENSOR_RANK_MAX];   /* a zero stride: all indices show the same elements */
    int32_t left_out;                      /* leading axes of size 1 that the view does not show */

    /* From allocate on. */
    int64_t strides[TEST_TENSOR_RANK_MAX];
    int64_t count;  /* of elements by index, those that repeat counted each time */
    double *values; /* compact, by index */
    struct guarded_memory memory;
    int64_t first; /* where in memory the element at index 0 of every axis lies, in elements */
    attnzoo_tensor *view;
};

/* Compact row-major. */
struct test_tensor test_tensor_plan(int32_t dtype, int32_t rank, const int64_t *shape);

/* Draws an order of axes, gaps and directions at random, leaves out leading axes of size 1 down to a rank, and, where
 * may_repeat says so, lets axes repeat. */
void test_tensor_plan_any_layout(struct test_tensor *tensor, struct random_source *source, int32_t least_rank,
                                 bool may_repeat);

/* Values start as 0, memory as GUARDED_MEMORY_FILL. Does nothing to an absent tensor, as do the others. */
void test_tensor_allocate(struct test_tensor *tensor);

/* Draws values that the element type has exactly, the same along axes that repeat. */
void test_tensor_fill(struct test_tensor *tensor, struct random_source *source, double lowest, double highest);

/* Sets each value from its compact index. Not for axes that repeat. */
void test_tensor_set(struct test_tensor *tensor, const double *values);

/* Does an axis repeat? */
bool test_tensor_repeats(const struct test_tensor *tensor);

/* Gives all indices that show the same element the same value. */
void test_tensor_make_repeats_equal(struct test_tensor *tensor);

/* values -> memory */
void test_tensor_store(struct test_tensor *tensor);

/* memory -> values */
void test_tensor_load(struct test_tensor *tensor);

/* Makes every byte of the memory GUARDED_MEMORY_FILL again. */
void test_tensor_poison(struct test_tensor *tensor);

/* Are the bytes outside of the view still GUARDED_MEMORY_FILL? */
bool test_tensor_gaps_are_untouched(const struct test_tensor *tensor);

/* Are all bytes still GUARDED_MEMORY_FILL? */
bool test_tensor_is_untouched(const struct test_tensor *tensor);

void test_tensor_destroy(struct test_tensor *tensor);

#endif
