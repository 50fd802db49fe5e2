/*
 * parallel/pool.h: threads that share out numbered items of work, and the scratch memory that goes with them.
 * The machinery behind attnzoo_executor; knows nothing of attention.
 */
#ifndef ATTNZOO_PARALLEL_POOL_H
#define ATTNZOO_PARALLEL_POOL_H

#include "base/checked.h"
#include "base/common.h"

#include <attnzoo/status.h>

struct attnzoo_pool;

enum { ATTNZOO_POOL_THREADS_MAX = 256, ATTNZOO_POOL_ALIGNMENT = 64 };

/** Makes a pool of so many threads, the calling one included; 0 for as many as the process may use. */
attnzoo_status attnzoo_pool_create(struct attnzoo_pool **pool, int32_t thread_count);
void attnzoo_pool_destroy(struct attnzoo_pool *pool);
int32_t attnzoo_pool_thread_count(const struct attnzoo_pool *pool);

/** Does item number item, with scratch memory of the thread's own. */
typedef void attnzoo_pool_task(const void *job, int64_t item, void *scratch);

/** Makes scratch memory ready, which holds zeros or what an earlier phase or call left there. */
typedef void attnzoo_pool_preparation(const void *job, void *scratch);

/** Numbered items of work that do not depend on each other. */
struct attnzoo_pool_phase {
    attnzoo_pool_task *task;
    const void *job;
    int64_t item_count;
    /** Called by each thread that takes part, before its first item. NULL for nothing. */
    attnzoo_pool_preparation *prepare;
};

/** What a call needs in all its phases. */
struct attnzoo_pool_needs {
    /** Bytes for each thread, and for the call as a whole. */
    int64_t scratch_bytes;
    int64_t shared_bytes;
    /** The most threads that are worth waking. */
    int64_t threads_wanted;
};

/** Gives a zone of count * each elements its place in a call's memory, and moves the end; false if that does
 * not fit. */
static inline bool attnzoo_pool_place(int64_t *end, int64_t *offset, int64_t count, int64_t each, int64_t element_size)
{
    int64_t bytes;
    *offset = *end;
    return attnzoo_base_multiply(count, each, &bytes) && attnzoo_base_multiply(bytes, element_size, &bytes) &&
           attnzoo_base_add(bytes, ATTNZOO_POOL_ALIGNMENT - 1, &bytes) &&
           attnzoo_base_add(*end, bytes / ATTNZOO_POOL_ALIGNMENT * ATTNZOO_POOL_ALIGNMENT, end);
}

/** Needs what a further phase needs, too. */
static inline void attnzoo_pool_add_needs(struct attnzoo_pool_needs *needs, int64_t scratch_bytes,
                                          int64_t threads_wanted)
{
    needs->scratch_bytes = attnzoo_base_maximum(needs->scratch_bytes, scratch_bytes);
    needs->threads_wanted = attnzoo_base_maximum(needs->threads_wanted, threads_wanted);
}

/** A pool taken by one call. */
struct attnzoo_pool_claim {
    /** NULL where the calling thread works alone. */
    struct attnzoo_pool *pool;
    char *memory;
    /** Aligned to ATTNZOO_POOL_ALIGNMENT, as scratch is; holds zeros or what an earlier call left there. */
    void *shared;
    int64_t scratch_offset;
    int64_t scratch_step;
    int32_t threads;
    int32_t entered;
    /** Whether the calling thread can be cancelled, but for this call. */
    int cancel_state;
};

/**
 * Takes a pool for a call: waits for its turn and gets all memory, so that nothing can fail from then on. A NULL pool
 * does the work in the calling thread, with memory for this call alone. Products may be made until the release.
 */
attnzoo_status attnzoo_pool_claim(struct attnzoo_pool_claim *claim, struct attnzoo_pool *pool,
                                  const struct attnzoo_pool_needs *needs);

/** Does every item of a phase once, in any order; returns when all are done, and what they wrote is seen by all. */
void attnzoo_pool_do(const struct attnzoo_pool_claim *claim, const struct attnzoo_pool_phase *phase);

/** Gives the pool back. */
void attnzoo_pool_release(struct attnzoo_pool_claim *claim);

#endif
