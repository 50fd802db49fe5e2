/*
 * tests/support/executors.c: executors of several thread counts.
 */
#include "support/executors.h"

#include "support/testing.h"

int executors_create(void **state)
{
    static struct executors executors;
    for (int32_t count = 1; count < EXECUTOR_COUNT; count++)
        assert_ok(attnzoo_executor_create(&executors.by_thread_count[count], count));
    *state = &executors;
    return 0;
}

int executors_destroy(void **state)
{
    struct executors *executors = *state;
    for (int count = 1; count < EXECUTOR_COUNT; count++)
        attnzoo_executor_destroy(executors->by_thread_count[count]);
    return 0;
}
