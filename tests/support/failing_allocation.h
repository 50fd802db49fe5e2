/*
 * tests/support/failing_allocation.h: a call tried with each of its allocations, or thread starts, failing in turn. For
 * programs that are linked with watched_allocator.c.
 */
#ifndef ATTNZOO_TESTS_FAILING_ALLOCATION_H
#define ATTNZOO_TESTS_FAILING_ALLOCATION_H

#include "support/test_tensor.h"

#include <attnzoo/attnzoo.h>

#include <stdbool.h>

enum { FAILING_OUTPUTS = 3 };

struct failing_call {
    const char *name;
    /* The call, and all that it takes to make and to give back. */
    attnzoo_status (*run)(void *context);
    /* Looks at what must be as it was after a failure; NULL for nothing. */
    void (*check)(void *context);
    void *context;
    /* What a failed run must not touch; NULL where there are fewer. */
    struct test_tensor *outputs[FAILING_OUTPUTS];
    /* Thread starts fail, rather than allocations. */
    bool is_thread;
};

/* Runs the call until no failure is left, asserts that each was told, left nothing behind and wrote nothing, and that the
 * call then succeeds. Returns how many there were. */
int64_t fail_in_turn(const struct failing_call *call);

#endif
