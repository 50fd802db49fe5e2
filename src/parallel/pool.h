/*
 * parallel/pool.h: threads that share out numbered items of work, and the scratch memory that goes with them.
 * The machinery behind attnzoo_executor; knows nothing of attention.
 */
#ifndef ATTNZOO_PARALLEL_POOL_H
#define ATTNZOO_PARALLEL_POOL_H

#include "base/common.h"

#include <attnzoo/status.h>

struct attnzoo_pool;

enum { ATTNZOO_POOL_THREADS_MAX = 256, ATTNZOO_POOL_ALIGNMENT = 64 };

/** Makes a pool of so many threads, the calling one included; 0 for as many as the process may use. */
attnzoo_status attnzoo_pool_create(struct attnzoo_pool **pool, int32_t thread_count);
void attnzoo_pool_destroy(struct attnzoo_pool *pool);
int32_t attnzoo_pool_thread_count(const struct attnzoo_pool *pool);

/** Does item number item, with scratch memory of the thread's own and memory that all threads share. */
typedef void attnzoo_pool_task(const void *job, int64_t item, void *scratch, void *shared);

/** A task and how many items it has. */
struct attnzoo_pool_phase {
    attnzoo_pool_task *task;
    int64_t item_count;
};

enum { ATTNZOO_POOL_PHASES_MAX = 2 };

struct attnzoo_pool_work {
    const void *job;
    /** Done one after the other; a phase sees all that the one before wrote. */
    struct attnzoo_pool_phase phases[ATTNZOO_POOL_PHASES_MAX];
    int32_t phase_count;
    /** The most threads that are worth waking for this. */
    int64_t threads_wanted;
    int64_t scratch_bytes;
    int64_t shared_bytes;
};

/**
 * Does every item of each phase once, in any order; returns when all are done. Fails only before the first item. Scratch and shared memory are aligned to ATTNZOO_POOL_ALIGNMENT, and hold zeros or what an earlier task
 * left there. Calls from several threads take turns. A NULL pool does the work in the calling thread, with memory
 * for this call alone.
 */
attnzoo_status attnzoo_pool_run(struct attnzoo_pool *pool, const struct attnzoo_pool_work *work);

#endif
