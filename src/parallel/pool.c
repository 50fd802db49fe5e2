/*
 * parallel/pool.c: the thread pool. Workers wait until a call posts work, take items until none is left, and report
 * back. Who waits looks for a moment before he sleeps: the phases of a call follow each other faster than a system wakes
 * a thread. How the BLAS behaves in several threads is the BLAS layer's affair; it is told of each span.
 */
#include "parallel/pool.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/fork.h"
#include "blas/blas.h"
#include "cpu/cpu.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    struct attnzoo_pool *pool;
    pthread_t thread;
    int32_t number;
};

struct attnzoo_pool {
    /* Held by the one call that is using the pool. */
    pthread_mutex_t turn;
    pthread_mutex_t lock;
    pthread_cond_t posted;
    pthread_cond_t finished;
    /* Changed under lock; read without it by those who look before they sleep. */
    _Atomic uint64_t post_number;
    _Atomic int32_t workers_busy;
    /* Guarded by lock. */
    int32_t workers_wanted;
    bool is_ending;
    /* Set by the call that has the turn, before it posts. */
    const struct attnzoo_pool_claim *claim;
    struct attnzoo_pool_phase phase;
    fenv_t environment;
    _Atomic int64_t next_item;
    char *memory;
    int64_t memory_bytes;
    _Atomic uint32_t fork_generation;
    int32_t thread_count;
    int32_t workers_started;
    /* [thread_count - 1] */
    struct worker workers[];
};

static int64_t round_up(int64_t bytes)
{
    return attnzoo_base_divide_up(bytes, ATTNZOO_POOL_ALIGNMENT) * ATTNZOO_POOL_ALIGNMENT;
}

/* Shared memory comes first, then each thread's scratch:
 *
 *   | shared | scratch of the caller | scratch of worker 1 | ... |       each part aligned
 */
static void *scratch_of(const struct attnzoo_pool_claim *claim, int32_t number)
{
    return claim->memory + claim->scratch_offset + number * claim->scratch_step;
}

static void prepare_scratch(const struct attnzoo_pool_phase *phase, void *scratch)
{
    if (phase->prepare != NULL)
        phase->prepare(phase->job, scratch);
}

static void take_items(struct attnzoo_pool *pool, int32_t number)
{
    const struct attnzoo_pool_phase *phase = &pool->phase;
    void *scratch = scratch_of(pool->claim, number);
    for (bool is_first = true;; is_first = false) {
        int64_t item = atomic_fetch_add_explicit(&pool->next_item, 1, memory_order_relaxed);
        if (item >= phase->item_count)
            break;
        if (is_first)
            prepare_scratch(phase, scratch);
        phase->task(phase->job, item, scratch);
    }
}

/* Tens of microseconds at most. */
enum { LOOKS = 1000 };

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void look_for_post(const struct attnzoo_pool *pool, uint64_t seen)
{
    for (int look = 0; look < LOOKS && atomic_load_explicit(&pool->post_number, memory_order_relaxed) == seen; look++)
        pause_briefly();
}

static void *serve(void *argument)
{
    struct worker *worker = argument;
    struct attnzoo_pool *pool = worker->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->is_ending && atomic_load(&pool->post_number) == seen)
            pthread_cond_wait(&pool->posted, &pool->lock);
        if (pool->is_ending)
            break;
        seen = atomic_load(&pool->post_number);
        if (worker->number > pool->workers_wanted)
            continue;
        pthread_mutex_unlock(&pool->lock);
        int32_t entered = attnzoo_blas_enter();
        /* As the caller rounds and treats subnormal numbers now, which may be otherwise than when the thread was started. */
        fesetenv(&pool->environment);
        take_items(pool, worker->number);
        attnzoo_blas_leave(entered);
        pthread_mutex_lock(&pool->lock);
        if (atomic_fetch_sub(&pool->workers_busy, 1) == 1)
            pthread_cond_signal(&pool->finished);
        pthread_mutex_unlock(&pool->lock);
        look_for_post(pool, seen);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void end_workers(struct attnzoo_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t started = 0; started < pool->workers_started; started++)
        pthread_join(pool->workers[started].thread, NULL);
    pool->workers_started = 0;
    pool->is_ending = false;
}

/* Signals belong to the application's threads, so the workers take none. */
static attnzoo_status start_workers(struct attnzoo_pool *pool)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int error = 0;
    while (error == 0 && pool->workers_started < pool->thread_count - 1) {
        struct worker *worker = &pool->workers[pool->workers_started];
        worker->pool = pool;
        worker->number = pool->workers_started + 1;
        error = pthread_create(&worker->thread, NULL, serve, worker);
        if (error == 0)
            pool->workers_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        return ATTNZOO_STATUS_OK;
    int32_t started = pool->workers_started;
    end_workers(pool);
    return attnzoo_base_fail(ATTNZOO_STATUS_SYSTEM, "could start only %d of %d threads (error %d)", (int)started + 1,
                             (int)pool->thread_count, error);
}

static void make_locks(struct attnzoo_pool *pool)
{
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->finished, NULL);
    atomic_store(&pool->post_number, 0);
    atomic_store(&pool->workers_busy, 0);
    pool->workers_started = 0;
}

attnzoo_status attnzoo_pool_create(struct attnzoo_pool **pool, int32_t thread_count)
{
    if (thread_count < 0 || thread_count > ATTNZOO_POOL_THREADS_MAX)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "thread_count is %d, must be 0 to %d",
                                 (int)thread_count, (int)ATTNZOO_POOL_THREADS_MAX);
    if (thread_count == 0)
        thread_count = attnzoo_cpu_allowed_count();
    thread_count = (int32_t)attnzoo_base_minimum(thread_count, attnzoo_blas_thread_limit());
    attnzoo_status status = attnzoo_base_fork_watch();
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_blas_watch();
    if (status != ATTNZOO_STATUS_OK)
        return status;
    size_t bytes = sizeof(struct attnzoo_pool) + (size_t)(thread_count - 1) * sizeof(struct worker);
    struct attnzoo_pool *made = calloc(1, bytes);
    if (made == NULL)
        return attnzoo_base_fail_memory(bytes);
    made->thread_count = thread_count;
    make_locks(made);
    status = start_workers(made);
    if (status != ATTNZOO_STATUS_OK) {
        free(made);
        return status;
    }
    made->fork_generation = attnzoo_base_fork_generation();
    *pool = made;
    return ATTNZOO_STATUS_OK;
}

void attnzoo_pool_destroy(struct attnzoo_pool *pool)
{
    if (pool->fork_generation == attnzoo_base_fork_generation())
        end_workers(pool);
    free(pool->memory);
    free(pool);
}

int32_t attnzoo_pool_thread_count(const struct attnzoo_pool *pool)
{
    return pool->thread_count;
}

/* In a forked child the pool has no workers and its locks may be held by threads that do not exist. */
static attnzoo_status revive_after_fork(struct attnzoo_pool *pool)
{
    attnzoo_status status = ATTNZOO_STATUS_OK;
    attnzoo_base_fork_hold();
    if (pool->fork_generation != attnzoo_base_fork_generation()) {
        make_locks(pool);
        status = start_workers(pool);
        if (status == ATTNZOO_STATUS_OK)
            pool->fork_generation = attnzoo_base_fork_generation();
    }
    attnzoo_base_fork_let();
    return status;
}

/* Lays out a claim's memory; false if it passes what can be addressed. */
static bool lay_out(struct attnzoo_pool_claim *claim, const struct attnzoo_pool_needs *needs, int64_t *bytes)
{
    int64_t limit = INT64_MAX - ATTNZOO_POOL_ALIGNMENT, scratch;
    if (needs->scratch_bytes > limit || needs->shared_bytes > limit)
        return false;
    claim->scratch_offset = round_up(needs->shared_bytes);
    claim->scratch_step = round_up(needs->scratch_bytes);
    return attnzoo_base_multiply(claim->scratch_step, claim->threads, &scratch) &&
           attnzoo_base_add(scratch, claim->scratch_offset, bytes) && (uint64_t)*bytes <= SIZE_MAX / 2;
}

/* Zeroed, so that no product ever starts from a stray NaN. */
static char *get_memory(int64_t bytes)
{
    char *memory = aligned_alloc(ATTNZOO_POOL_ALIGNMENT, (size_t)attnzoo_base_maximum(bytes, ATTNZOO_POOL_ALIGNMENT));
    if (memory != NULL)
        memset(memory, 0, (size_t)bytes);
    return memory;
}

/* Makes sure that a pool has so much memory. */
static attnzoo_status reserve(struct attnzoo_pool *pool, int64_t bytes)
{
    if (bytes <= pool->memory_bytes)
        return ATTNZOO_STATUS_OK;
    char *memory = get_memory(bytes);
    if (memory == NULL)
        return attnzoo_base_fail_memory((uint64_t)bytes);
    /* Freed last: a child forked meanwhile must not inherit a pointer to freed memory. */
    char *outgrown = pool->memory;
    pool->memory = memory;
    pool->memory_bytes = bytes;
    free(outgrown);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status get_ready(struct attnzoo_pool *pool)
{
    if (pool == NULL)
        return attnzoo_blas_watch();
    return pool->fork_generation == attnzoo_base_fork_generation() ? ATTNZOO_STATUS_OK : revive_after_fork(pool);
}

static attnzoo_status take_memory(struct attnzoo_pool_claim *claim, int64_t bytes)
{
    struct attnzoo_pool *pool = claim->pool;
    attnzoo_status status = ATTNZOO_STATUS_OK;
    if (pool == NULL) {
        claim->memory = get_memory(bytes);
        if (claim->memory == NULL)
            status = attnzoo_base_fail_memory((uint64_t)bytes);
    } else {
        pthread_mutex_lock(&pool->turn);
        status = reserve(pool, bytes);
        claim->memory = pool->memory;
        if (status != ATTNZOO_STATUS_OK)
            pthread_mutex_unlock(&pool->turn);
    }
    claim->shared = claim->memory;
    return status;
}

attnzoo_status attnzoo_pool_claim(struct attnzoo_pool_claim *claim, struct attnzoo_pool *pool,
                                  const struct attnzoo_pool_needs *needs)
{
    attnzoo_status status = get_ready(pool);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t threads = pool == NULL ? 1 : attnzoo_base_minimum(needs->threads_wanted, pool->thread_count), bytes;
    *claim = (struct attnzoo_pool_claim){.pool = pool, .threads = (int32_t)attnzoo_base_maximum(threads, 1)};
    if (!lay_out(claim, needs, &bytes))
        return attnzoo_base_fail_memory(UINT64_MAX);
    status = take_memory(claim, bytes);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    /* A thread cancelled in the waits of a call would leave locks behind that nobody opens again. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &claim->cancel_state);
    claim->entered = attnzoo_blas_enter();
    attnzoo_blas_open(claim->threads);
    return ATTNZOO_STATUS_OK;
}

static void wake_workers(struct attnzoo_pool *pool, int32_t workers)
{
    pthread_mutex_lock(&pool->lock);
    pool->workers_wanted = workers;
    atomic_store(&pool->workers_busy, workers);
    atomic_fetch_add(&pool->post_number, 1);
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
}

static void await_workers(struct attnzoo_pool *pool)
{
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load(&pool->workers_busy) == 0)
            return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->workers_busy) > 0)
        pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void attnzoo_pool_do(const struct attnzoo_pool_claim *claim, const struct attnzoo_pool_phase *phase)
{
    struct attnzoo_pool *pool = claim->pool;
    int32_t workers = (int32_t)attnzoo_base_minimum(phase->item_count, claim->threads) - 1;
    if (workers <= 0) {
        if (phase->item_count > 0)
            prepare_scratch(phase, scratch_of(claim, 0));
        for (int64_t item = 0; item < phase->item_count; item++)
            phase->task(phase->job, item, scratch_of(claim, 0));
        return;
    }
    pool->claim = claim;
    pool->phase = *phase;
    fegetenv(&pool->environment);
    atomic_store_explicit(&pool->next_item, 0, memory_order_relaxed);
    wake_workers(pool, workers);
    take_items(pool, 0);
    await_workers(pool);
}

void attnzoo_pool_release(struct attnzoo_pool_claim *claim)
{
    attnzoo_blas_close(claim->threads);
    attnzoo_blas_leave(claim->entered);
    if (claim->pool == NULL)
        free(claim->memory);
    else
        pthread_mutex_unlock(&claim->pool->turn);
    pthread_setcancelstate(claim->cancel_state, NULL);
    *claim = (struct attnzoo_pool_claim){0};
}
