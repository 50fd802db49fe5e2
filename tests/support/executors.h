/*
 * tests/support/executors.h: executors of several thread counts, made once for a group of tests.
 */
#ifndef ATTNZOO_TESTS_EXECUTORS_H
#define ATTNZOO_TESTS_EXECUTORS_H

#include <attnzoo/attnzoo.h>

enum { EXECUTOR_COUNT = 4 };

struct executors {
    attnzoo_executor *by_thread_count[EXECUTOR_COUNT]; /* [0]: none */
};

/* Setup and teardown for CMocka: the state points at the executors. */
int executors_create(void **state);
int executors_destroy(void **state);

#endif
