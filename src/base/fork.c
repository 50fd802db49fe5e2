/*
 * base/fork.c: the fork generation. The handler is registered at the first call that needs it, never at load
 * time, and the C library drops it when the library is unloaded.
 */
#include "base/fork.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint32_t generation;
static atomic_bool is_watching;
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_before_fork(void)
{
    pthread_mutex_lock(&watch_lock);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&watch_lock);
}

static void count_in_child(void)
{
    atomic_fetch_add(&generation, 1);
    pthread_mutex_unlock(&watch_lock);
}

attnzoo_status attnzoo_base_fork_watch(void)
{
    if (atomic_load(&is_watching))
        return ATTNZOO_STATUS_OK;
    attnzoo_status status = ATTNZOO_STATUS_OK;
    pthread_mutex_lock(&watch_lock);
    if (!atomic_load(&is_watching)) {
        if (pthread_atfork(lock_before_fork, unlock_in_parent, count_in_child) == 0)
            atomic_store(&is_watching, true);
        else
            status = attnzoo_base_fail(ATTNZOO_STATUS_OUT_OF_MEMORY, "could not register a fork handler");
    }
    pthread_mutex_unlock(&watch_lock);
    return status;
}

uint32_t attnzoo_base_fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void attnzoo_base_fork_hold(void)
{
    pthread_mutex_lock(&watch_lock);
}

void attnzoo_base_fork_let(void)
{
    pthread_mutex_unlock(&watch_lock);
}
