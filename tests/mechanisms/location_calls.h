/*
 * tests/mechanisms/location_calls.h: small modules and calls of location, over queries of 0 and one batch, for the tests
 * of what it does by numbers worked out by hand and of what its state carries.
 */
#ifndef ATTNZOO_TESTS_LOCATION_CALLS_H
#define ATTNZOO_TESTS_LOCATION_CALLS_H

#include <attnzoo/attnzoo.h>
#include <stdbool.h>
#include <stdint.h>

/* 64 zeros. */
extern const float location_zeros[];

attnzoo_tensor *view_of(const float *data, int32_t rank, int64_t first, int64_t second, int64_t third);

attnzoo_status set(attnzoo_module *module, const char *name, const float *data, int32_t rank, int64_t first,
                   int64_t second);

/* With a flavor and nothing else. */
attnzoo_module *new_module(const char *flavor);

/* Gaussians [3, K] that do not depend on the query, whose size is 1; not prepared. */
attnzoo_module *mixture_of(int64_t components, const float *bias, bool is_normalized);

/* W_p and v_p of nothing, so that p = S / 2; not prepared. */
attnzoo_module *local_of(int64_t window);

enum { MOST = 64 };

/* One batch of queries [count, 1] that are 0, over keys whose values are ones [1]. */
struct call {
    float query[MOST], value[MOST], context[MOST], attention[MOST * MOST];
    int64_t queries, keys;
};

struct call new_call(int64_t queries, int64_t keys);
attnzoo_status run(struct call *call, const attnzoo_module *module, const attnzoo_mask *mask, attnzoo_state *state);

/* Key lengths [1]. The caller destroys both. */
attnzoo_mask *mask_of_length(int32_t *length, attnzoo_tensor **view);

/* Off by a few roundings of a number, an exponent below 32 times its own among them: 64 u. */
void assert_near(float got, double expected);

#endif
