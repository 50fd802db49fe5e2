/*
 * tests/mechanisms/hard_calls.h: plain calls of hard by dot products, float32 and compact, for tests that know what must
 * come out: one head of one column, so that score_ij = query_i key_j.
 */
#ifndef ATTNZOO_TESTS_HARD_CALLS_H
#define ATTNZOO_TESTS_HARD_CALLS_H

#include <attnzoo/attnzoo.h>
#include <stdbool.h>
#include <stdint.h>

struct hard_call {
    int64_t batch, queries, keys;
    /* One number each for all batches: [queries] (NULL: 1 each), [keys] (NULL: 0 each). Values are the keys' numbers. */
    const float *query, *key;
    bool is_sampled;
    int64_t seed;
    attnzoo_executor *executor;
    const attnzoo_mask *mask;
    /* Outputs, for the test to free by hard_call_destroy(). [B, N] each. */
    float *context, *log_probability, *entropy;
    int64_t *index;
};

/* Runs the call, which must succeed. */
void hard_call_run(struct hard_call *call);
void hard_call_destroy(struct hard_call *call);

/* A prepared module: dot_product, argmax or sample, scale 1. */
attnzoo_module *hard_call_module(bool is_sampled);

#endif
