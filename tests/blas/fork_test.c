/*
 * tests/blas/fork_test.c: a fork while another thread makes products. A BLAS that does not look after its own locks
 * must not be in the middle of one.
 */
#include "blas/blas.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_bool is_open;

/* Holds a span open for a while that any fork would end in. */
static void *hold_a_span(void *argument)
{
    (void)argument;
    const struct timespec a_while = {0, 200 * 1000 * 1000};
    attnzoo_blas_open(1);
    atomic_store(&is_open, true);
    nanosleep(&a_while, NULL);
    atomic_store(&is_open, false);
    attnzoo_blas_close(1);
    return NULL;
}

static void a_fork_waits_for_open_spans(void **state)
{
    (void)state;
    bool looks_after_itself = strstr(attnzoo_blas_description(), "OpenBLAS") != NULL;
    assert_int_equal(attnzoo_blas_watch(), ATTNZOO_STATUS_OK);
    for (int round = 0; round < 3; round++) {
        pthread_t holder;
        assert_int_equal(pthread_create(&holder, NULL, hold_a_span, NULL), 0);
        while (!atomic_load(&is_open))
            sched_yield();
        pid_t child = fork();
        bool was_open = atomic_load(&is_open);
        if (child == 0) {
            /* A span can be opened here at once, whatever the parent's threads had open. */
            alarm(60);
            attnzoo_blas_open(1);
            attnzoo_blas_close(1);
            _exit(0);
        }
        int outcome = -1;
        assert_int_equal(waitpid(child, &outcome, 0), child);
        assert_int_equal(outcome, 0);
        assert_int_equal(pthread_join(holder, NULL), 0);
        if (!looks_after_itself)
            assert_false(was_open);
        /* And here, once the fork is over. */
        attnzoo_blas_open(1);
        attnzoo_blas_close(1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fork_waits_for_open_spans)};
    return cmocka_run_group_tests_name("fork beside products", tests, NULL, NULL);
}
