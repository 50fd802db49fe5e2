/*
 * tests/core/state_fixture.h: a small module of location_aware with a state, for the tests of states as such.
 */
#ifndef ATTNZOO_TESTS_STATE_FIXTURE_H
#define ATTNZOO_TESTS_STATE_FIXTURE_H

#include "support/tanh_part.h"
#include "support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, H = 2, N = 3, M = 7, FIELD_COUNT = B * H * M };

/* B, H, N and M, and a size of its own for everything else. */
struct tanh_sizes state_fixture_sizes(void);

struct fixture {
    struct tanh_case test;
    attnzoo_module *module;
    attnzoo_state *state;
};

void fixture_create(struct fixture *fixture, struct tanh_sizes sizes, enum reference_feedback feedback);
void fixture_destroy(struct fixture *fixture);

/* A call of all N queries. */
attnzoo_status step(struct fixture *fixture, attnzoo_state *state);

/* What a state holds, NaN past its end. */
struct fields {
    int64_t length;
    float alignment[FIELD_COUNT], cumulative[FIELD_COUNT];
};

struct fields fields_of(const attnzoo_state *state);

/* To the bit. */
void assert_holds(const attnzoo_state *state, const struct fields *expected);

#endif
