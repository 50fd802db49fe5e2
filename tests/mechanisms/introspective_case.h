/*
 * tests/mechanisms/introspective_case.h: calls of introspective: a module with parameters, inputs in any layout, and
 * compact outputs, for tests by the reference and by hand.
 */
#ifndef ATTNZOO_TESTS_INTROSPECTIVE_CASE_H
#define ATTNZOO_TESTS_INTROSPECTIVE_CASE_H

#include "reference/introspective.h"
#include "support/random.h"
#include "support/test_tensor.h"

#include <attnzoo/attnzoo.h>

struct introspective_sizes {
    int64_t batch, steps, rows, columns, reads, writes, reach, features; /* B, N, M, C, R, W, S, Eq */
};

struct introspective_case {
    struct introspective_sizes sizes;
    const char *read, *initial;                                               /* options, NULL for the default */
    struct test_tensor weights[REFERENCE_SIGNALS], biases[REFERENCE_SIGNALS]; /* biases of rank 0 are not set */
    struct test_tensor query, value;                                          /* [B, N, Eq], [B, M, C] */
    int64_t *row_lengths, *step_lengths;                                      /* [B], or NULL */
    attnzoo_module *module;
    attnzoo_mask *mask; /* NULL where there are no lengths */
};

/* Plans float32 tensors of all sizes. Layouts and types of query and value may be changed before they are allocated. */
void introspective_case_plan(struct introspective_case *test, struct introspective_sizes sizes);
/* All zeros, but for what the caller then puts into values; ends with introspective_case_prepare(). */
void introspective_case_allocate(struct introspective_case *test);
/* Stores all tensors, makes masks and module. */
void introspective_case_prepare(struct introspective_case *test);
void introspective_case_destroy(struct introspective_case *test);

/* What a call gives and leaves, compact float32. */
struct introspective_result {
    float *context;   /* [B, N, R C] */
    float *attention; /* [B, R + W, N, M] */
};

struct introspective_result introspective_result_create(const struct introspective_case *test);
void introspective_result_destroy(struct introspective_result *result);

/* Steps [first, first + count) with the case's own masks, value as `value` says; results into their places. */
attnzoo_status introspective_case_run(const struct introspective_case *test, attnzoo_executor *executor, int64_t first,
                                      int64_t count, bool has_value, attnzoo_state *state,
                                      struct introspective_result *result);

/* Fields of a state: memory [B, M, C] and weights [B, R + W, M]. */
void introspective_case_fields(const struct introspective_case *test, attnzoo_state *state, float *memory,
                               float *weights);

#endif
