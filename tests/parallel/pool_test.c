/*
 * tests/parallel/pool_test.c: every item once, phases in order, scratch memory apart, turns, forks, cancellation,
 * and the floating-point environment.
 */
#include "parallel/pool.h"

#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 500, SCRATCH = 100, SHARED = 200 };

struct job {
    _Atomic int done[ITEMS];
    _Atomic int sum_before_second_phase;
    _Atomic int second_phase_items;
    atomic_bool is_wrong;
};

static void mark_item(const void *context, int64_t item, void *scratch)
{
    struct job *job = (struct job *)(uintptr_t)context;
    if ((uintptr_t)scratch % ATTNZOO_POOL_ALIGNMENT != 0)
        atomic_store(&job->is_wrong, true);
    /* Another thread that had the same scratch would change it meanwhile. */
    memset(scratch, (int)(item % 256), SCRATCH);
    sched_yield();
    for (int i = 0; i < SCRATCH; i++)
        if (((unsigned char *)scratch)[i] != item % 256)
            atomic_store(&job->is_wrong, true);
    atomic_fetch_add(&job->done[item], 1);
    atomic_fetch_add(&job->sum_before_second_phase, 1);
}

static void check_phase(const void *context, int64_t item, void *scratch)
{
    (void)item, (void)scratch;
    struct job *job = (struct job *)(uintptr_t)context;
    if (atomic_load(&job->sum_before_second_phase) != ITEMS)
        atomic_store(&job->is_wrong, true);
    atomic_fetch_add(&job->second_phase_items, 1);
}

static void run_and_check(struct attnzoo_pool *pool)
{
    static _Thread_local struct job job;
    memset(&job, 0, sizeof job);
    const struct attnzoo_pool_needs needs = {.threads_wanted = 100, .scratch_bytes = SCRATCH, .shared_bytes = SHARED};
    struct attnzoo_pool_claim claim;
    assert_int_equal(attnzoo_pool_claim(&claim, pool, &needs), ATTNZOO_STATUS_OK);
    assert_int_equal((uintptr_t)claim.shared % ATTNZOO_POOL_ALIGNMENT, 0);
    memset(claim.shared, 1, SHARED);
    attnzoo_pool_do(&claim, &(struct attnzoo_pool_phase){mark_item, &job, ITEMS, NULL});
    attnzoo_pool_do(&claim, &(struct attnzoo_pool_phase){check_phase, &job, 7, NULL});
    attnzoo_pool_do(&claim, &(struct attnzoo_pool_phase){check_phase, &job, 0, NULL});
    for (int i = 0; i < SHARED; i++)
        assert_int_equal(((char *)claim.shared)[i], 1);
    attnzoo_pool_release(&claim);
    for (int item = 0; item < ITEMS; item++)
        assert_int_equal(atomic_load(&job.done[item]), 1);
    assert_int_equal(atomic_load(&job.second_phase_items), 7);
    assert_false(atomic_load(&job.is_wrong));
}

static void every_item_is_done_once(void **state)
{
    (void)state;
    for (int32_t threads = 0; threads <= 5; threads++) {
        struct attnzoo_pool *pool = NULL;
        assert_int_equal(attnzoo_pool_create(&pool, threads), ATTNZOO_STATUS_OK);
        for (int round = 0; round < 20; round++)
            run_and_check(pool);
        attnzoo_pool_destroy(pool);
    }
    run_and_check(NULL);
}

/* Scratch that says whether it was prepared for this phase. */
struct readiness {
    int phase;
    _Atomic int preparations;
    atomic_bool is_wrong;
};

static void get_ready(const void *context, void *scratch)
{
    struct readiness *readiness = (struct readiness *)(uintptr_t)context;
    memcpy(scratch, &readiness->phase, sizeof readiness->phase);
    atomic_fetch_add(&readiness->preparations, 1);
}

static void check_ready(const void *context, int64_t item, void *scratch)
{
    (void)item;
    struct readiness *readiness = (struct readiness *)(uintptr_t)context;
    if (memcmp(scratch, &readiness->phase, sizeof readiness->phase) != 0)
        atomic_store(&readiness->is_wrong, true);
    sched_yield();
}

static void scratch_is_prepared_once_a_thread_and_phase(void **state)
{
    (void)state;
    for (int32_t threads = 0; threads <= 4; threads++) {
        struct attnzoo_pool *pool = NULL;
        if (threads > 0)
            assert_int_equal(attnzoo_pool_create(&pool, threads), ATTNZOO_STATUS_OK);
        const struct attnzoo_pool_needs needs = {.threads_wanted = 100, .scratch_bytes = SCRATCH};
        struct attnzoo_pool_claim claim;
        assert_int_equal(attnzoo_pool_claim(&claim, pool, &needs), ATTNZOO_STATUS_OK);
        for (int phase = 1; phase <= 50; phase++) {
            struct readiness readiness = {.phase = phase};
            /* None, one, which the caller does alone, and more than there are threads. */
            int items = phase % 5 == 0 ? 0 : phase % 5 == 1 ? 1 : 3 * phase;
            attnzoo_pool_do(&claim, &(struct attnzoo_pool_phase){check_ready, &readiness, items, get_ready});
            int preparations = atomic_load(&readiness.preparations);
            assert_false(atomic_load(&readiness.is_wrong));
            assert_true(items == 0 ? preparations == 0
                                   : preparations >= 1 && preparations <= (threads > 0 ? threads : 1));
        }
        attnzoo_pool_release(&claim);
        if (pool != NULL)
            attnzoo_pool_destroy(pool);
    }
}

static void assert_zeros(const void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(((const unsigned char *)memory)[i], 0);
}

static void check_zeros(const void *context, int64_t item, void *scratch)
{
    (void)context, (void)item;
    assert_zeros(scratch, SCRATCH);
}

/* Whatever lay there before: some BLAS multiply what they overwrite by 0, which leaves a NaN as it is. */
static void memory_that_no_call_has_used_holds_zeros(void **state)
{
    (void)state;
    const struct attnzoo_pool_needs needs = {.threads_wanted = 1, .scratch_bytes = SCRATCH, .shared_bytes = SHARED};
    for (int has_pool = 0; has_pool < 2; has_pool++) {
        struct attnzoo_pool *pool = NULL;
        if (has_pool != 0)
            assert_int_equal(attnzoo_pool_create(&pool, 1), ATTNZOO_STATUS_OK);
        /* NaNs that the heap may well give out again: too large for its lists of small pieces, which are given out
         * whole, and too small to go back to the system. */
        enum { LEFT = 1 << 16 };
        unsigned char *left = malloc(LEFT);
        assert_non_null(left);
        /* Volatile, since a compiler may leave out what is written before free(). */
        for (int i = 0; i < LEFT; i++)
            ((volatile unsigned char *)left)[i] = 255;
        free(left);
        struct attnzoo_pool_claim claim;
        assert_int_equal(attnzoo_pool_claim(&claim, pool, &needs), ATTNZOO_STATUS_OK);
        assert_zeros(claim.shared, SHARED);
        attnzoo_pool_do(&claim, &(struct attnzoo_pool_phase){check_zeros, NULL, 1, NULL});
        attnzoo_pool_release(&claim);
        if (pool != NULL)
            attnzoo_pool_destroy(pool);
    }
}

static void *run_often(void *pool)
{
    for (int round = 0; round < 20; round++)
        run_and_check(pool);
    return NULL;
}

static void calls_from_several_threads_take_turns(void **state)
{
    (void)state;
    struct attnzoo_pool *pool = NULL;
    pthread_t threads[4];
    assert_int_equal(attnzoo_pool_create(&pool, 3), ATTNZOO_STATUS_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, pool), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    attnzoo_pool_destroy(pool);
}

static void a_forked_child_gets_threads_of_its_own(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    print_message("not under ThreadSanitizer, which cannot follow threads that a forked child starts\n");
    skip();
#endif
    struct attnzoo_pool *pool = NULL;
    assert_int_equal(attnzoo_pool_create(&pool, 3), ATTNZOO_STATUS_OK);
    run_and_check(pool);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        run_and_check(pool);
        run_and_check(pool);
        attnzoo_pool_destroy(pool);
        _exit(0);
    }
    int outcome = -1;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    run_and_check(pool);
    attnzoo_pool_destroy(pool);
}

static void *run_once(void *pool)
{
    run_and_check(pool);
    return NULL;
}

/* While one thread of a child starts the pool's threads anew, another forks: whatever the first held meanwhile
 * would never be free in the grandchild. */
static void a_child_may_fork_while_its_threads_start(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    print_message("not under this sanitizer, which cannot follow a fork beside threads that start\n");
    skip();
#endif
    struct attnzoo_pool *pool = NULL;
    assert_int_equal(attnzoo_pool_create(&pool, 64), ATTNZOO_STATUS_OK);
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            pthread_t other;
            if (pthread_create(&other, NULL, run_once, pool) != 0)
                _exit(1);
            usleep((useconds_t)round * 20);
            pid_t grandchild = fork();
            if (grandchild == 0) {
                alarm(30);
                run_and_check(pool);
                _exit(0);
            }
            int outcome = -1;
            pthread_join(other, NULL);
            _exit(waitpid(grandchild, &outcome, 0) == grandchild && outcome == 0 ? 0 : 1);
        }
        int outcome = -1;
        assert_int_equal(waitpid(child, &outcome, 0), child);
        assert_int_equal(outcome, 0);
    }
    attnzoo_pool_destroy(pool);
}

static void note_rounding(const void *context, int64_t item, void *scratch)
{
    (void)item, (void)scratch;
    if (fegetround() != FE_UPWARD)
        atomic_store(&((struct job *)(uintptr_t)context)->is_wrong, true);
    sched_yield();
}

/* Also where the caller chose it after the threads had started: which thread takes an item must make no difference. */
static void every_thread_rounds_as_the_caller_does(void **state)
{
    (void)state;
    static struct job job;
    const struct attnzoo_pool_needs needs = {.threads_wanted = 4};
    struct attnzoo_pool *pool = NULL;
    struct attnzoo_pool_claim claim;
    assert_int_equal(attnzoo_pool_create(&pool, 4), ATTNZOO_STATUS_OK);
    run_and_check(pool);
    assert_int_equal(fesetround(FE_UPWARD), 0);
    for (int round = 0; round < 20; round++) {
        assert_int_equal(attnzoo_pool_claim(&claim, pool, &needs), ATTNZOO_STATUS_OK);
        attnzoo_pool_do(&claim, &(struct attnzoo_pool_phase){note_rounding, &job, ITEMS, NULL});
        attnzoo_pool_release(&claim);
    }
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    assert_false(atomic_load(&job.is_wrong));
    attnzoo_pool_destroy(pool);
}

static void *be_cancelled_in_a_call(void *pool)
{
    const struct attnzoo_pool_needs needs = {.threads_wanted = 2};
    struct attnzoo_pool_claim claim;
    if (attnzoo_pool_claim(&claim, pool, &needs) != ATTNZOO_STATUS_OK)
        return NULL;
    pthread_cancel(pthread_self());
    pthread_testcancel();
    attnzoo_pool_release(&claim);
    pthread_testcancel();
    return NULL;
}

static void a_thread_is_cancelled_after_its_call(void **state)
{
    (void)state;
    struct attnzoo_pool *pool = NULL;
    assert_int_equal(attnzoo_pool_create(&pool, 2), ATTNZOO_STATUS_OK);
    for (int with_pool = 0; with_pool < 2; with_pool++) {
        pthread_t thread;
        void *ended = NULL;
        assert_int_equal(pthread_create(&thread, NULL, be_cancelled_in_a_call, with_pool != 0 ? pool : NULL), 0);
        assert_int_equal(pthread_join(thread, &ended), 0);
        assert_ptr_equal(ended, PTHREAD_CANCELED);
        alarm(60);
        run_and_check(with_pool != 0 ? pool : NULL);
        alarm(0);
    }
    attnzoo_pool_destroy(pool);
}

static void too_much_memory_is_refused(void **state)
{
    (void)state;
    struct attnzoo_pool_needs needs = {.threads_wanted = 1, .scratch_bytes = INT64_MAX};
    struct attnzoo_pool_claim claim;
    assert_int_equal(attnzoo_pool_claim(&claim, NULL, &needs), ATTNZOO_STATUS_OUT_OF_MEMORY);
    needs.scratch_bytes = INT64_MAX / 2;
    needs.shared_bytes = INT64_MAX / 2;
    assert_int_equal(attnzoo_pool_claim(&claim, NULL, &needs), ATTNZOO_STATUS_OUT_OF_MEMORY);
}

static void thread_counts_out_of_range_are_refused(void **state)
{
    (void)state;
    struct attnzoo_pool *pool = NULL;
    assert_int_equal(attnzoo_pool_create(&pool, -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_int_equal(attnzoo_pool_create(&pool, ATTNZOO_POOL_THREADS_MAX + 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_null(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(scratch_is_prepared_once_a_thread_and_phase),
        cmocka_unit_test(memory_that_no_call_has_used_holds_zeros),
        cmocka_unit_test(calls_from_several_threads_take_turns),
        cmocka_unit_test(a_forked_child_gets_threads_of_its_own),
        cmocka_unit_test(a_child_may_fork_while_its_threads_start),
        cmocka_unit_test(every_thread_rounds_as_the_caller_does),
        cmocka_unit_test(a_thread_is_cancelled_after_its_call),
        cmocka_unit_test(too_much_memory_is_refused),
        cmocka_unit_test(thread_counts_out_of_range_are_refused),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
