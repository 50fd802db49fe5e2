/*
 * tests/blas/fork_test.c: a fork while another thread makes products. The BLAS must not be in the middle of one, for
 * whatever locks it holds there would never be free in the child.
 */
#include "blas/blas.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_bool is_open, is_closed;

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
    atomic_store(&is_closed, true);
    return NULL;
}

static void a_fork_waits_for_open_spans(void **state)
{
    (void)state;
    assert_int_equal(attnzoo_blas_watch(), ATTNZOO_STATUS_OK);
    for (int round = 0; round < 3; round++) {
        pthread_t holder;
        atomic_store(&is_closed, false);
        assert_int_equal(pthread_create(&holder, NULL, hold_a_span, NULL), 0);
        /* It may end before the fork, and the child cannot join it. */
        assert_int_equal(pthread_detach(holder), 0);
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
        assert_false(was_open);
        while (!atomic_load(&is_closed))
            sched_yield();
        /* And here, once the fork is over. */
        attnzoo_blas_open(1);
        attnzoo_blas_close(1);
    }
}

/* As a signal handler may that was called in the middle of a product: to start a debugger, say. */
static void a_fork_does_not_wait_for_its_own_thread(void **state)
{
    (void)state;
    assert_int_equal(attnzoo_blas_watch(), ATTNZOO_STATUS_OK);
    attnzoo_blas_open(1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        /* It may return from there and go on. */
        attnzoo_blas_close(1);
        attnzoo_blas_open(1);
        attnzoo_blas_close(1);
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(0);
        int outcome = -1;
        _exit(waitpid(grandchild, &outcome, 0) == grandchild ? outcome : 1);
    }
    attnzoo_blas_close(1);
    int outcome = -1;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
}

int main(void)
{
    alarm(240);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_waits_for_open_spans),
        cmocka_unit_test(a_fork_does_not_wait_for_its_own_thread),
    };
    return cmocka_run_group_tests_name("fork beside products", tests, NULL, NULL);
}
