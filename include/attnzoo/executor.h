/*
 * attnzoo/executor.h: executors. An executor holds the threads and the scratch memory that forward calls use.
 */
#ifndef ATTNZOO_EXECUTOR_H
#define ATTNZOO_EXECUTOR_H

#include "api.h"
#include "status.h"

ATTNZOO_BEGIN_DECLARATIONS

/** Threads and scratch memory. */
typedef struct attnzoo_executor attnzoo_executor;

/**
 * Makes an executor. Its scratch memory grows to what the calls need: after the first call of a shape,
 * calls of that shape allocate nothing.
 *
 * Results do not depend on the number of threads: they are the same to the bit.
 *
 * Every product inside a call is made by single-threaded BLAS, whatever the application has set for
 * itself. Where the BLAS has only one setting for the whole process (OpenBLAS built on pthreads, BLIS),
 * it stands at 1 while any forward call runs and is as it was when the last one returns. An application
 * that sets it while a call runs is heeded, unless it sets it to 1, which cannot be told from the library's own
 * setting. fork() waits until the calls that run in other threads have returned, as the BLAS' locks are not looked
 * after by all that have some. For the same reason a signal handler that interrupted a call must not fork().
 *
 * All threads of a call round, and treat subnormal numbers, as the calling thread does at the time. A thread that is
 * cancelled inside a call ends at its first cancellation point after it.
 *
 * @param executor      receives the new executor on success, which the caller owns; untouched otherwise.
 * @param thread_count  how many threads work on a call, the calling one included; 0 for as many as the
 *                      process may use (CPU affinity and the container's CPU quota are heeded). At most 256;
 *                      fewer are made where the BLAS can bear fewer (OpenBLAS tells how many it was built for).
 * @return OK; INVALID_ARGUMENT: executor is NULL, thread_count out of range; OUT_OF_MEMORY; SYSTEM: a
 *         thread could not be started.
 * Threads: one executor may be used by several threads; their calls then take turns. After fork() the
 *         child may use it too, and gets threads of its own at its first call. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_executor_create(attnzoo_executor **executor, int32_t thread_count);

/** Ends the threads and frees the executor. NULL is fine. No call may be running on it. Since 1.0. */
ATTNZOO_API void attnzoo_executor_destroy(attnzoo_executor *executor);

/** How many threads work on a call, the calling one included; 0 if executor is NULL. Threads: any. Since 1.0. */
ATTNZOO_API int32_t attnzoo_executor_thread_count(const attnzoo_executor *executor);

ATTNZOO_END_DECLARATIONS

#endif
