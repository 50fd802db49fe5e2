/*
 * blas/threads.c: keeps whatever BLAS is linked to one thread a call while the library makes products in threads
 * of its own, and gives the application its setting back.
 *
 * Three kinds of setting exist. OpenBLAS on pthreads and BLIS have one number for the process: it is set to 1
 * when the first span opens and set back when the last one closes. OpenMP has a number for each thread, which
 * each thread that makes products sets and sets back; OpenBLAS on OpenMP follows it, but keeps a number of its own
 * besides. A serial BLAS has none.
 */
#include "blas/blas.h"

#include "base/error.h"
#include "blas/vendor.h"

#include <pthread.h>

static pthread_mutex_t span_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t span_closed = PTHREAD_COND_INITIALIZER;
static int32_t threads_inside;
static int32_t spans_open;
/* What of these two is this thread's own. */
static _Thread_local int32_t threads_of_thread;
static _Thread_local int32_t spans_of_thread;
/* Forks that wait for spans to close; no span opens meanwhile. */
static int32_t forks_waiting;
static int64_t application_setting;
static bool is_watching;

static int64_t get_process_setting(void)
{
    if (attnzoo_blas_has_openblas())
        return openblas_get_num_threads();
    return attnzoo_blas_has_blis() ? bli_thread_get_num_threads() : 1;
}

static void set_process_setting(int64_t threads)
{
    if (attnzoo_blas_has_openblas())
        openblas_set_num_threads((int)threads);
    else if (attnzoo_blas_has_blis())
        bli_thread_set_num_threads(threads);
}

void attnzoo_blas_open(int32_t threads)
{
    int32_t limit = attnzoo_blas_thread_limit();
    pthread_mutex_lock(&span_lock);
    while (forks_waiting > 0 || (threads_inside > 0 && threads_inside + threads > limit))
        pthread_cond_wait(&span_closed, &span_lock);
    threads_inside += threads;
    threads_of_thread += threads;
    spans_of_thread++;
    if (spans_open++ == 0) {
        application_setting = get_process_setting();
        if (application_setting > 1)
            set_process_setting(1);
    }
    pthread_mutex_unlock(&span_lock);
}

/* Gives the setting back, unless the application has meanwhile chosen another. */
static void restore_setting(void)
{
    if (application_setting > 1 && get_process_setting() <= 1)
        set_process_setting(application_setting);
}

void attnzoo_blas_close(int32_t threads)
{
    pthread_mutex_lock(&span_lock);
    threads_inside -= threads;
    threads_of_thread -= threads;
    spans_of_thread--;
    if (--spans_open == 0)
        restore_setting();
    pthread_cond_broadcast(&span_closed);
    pthread_mutex_unlock(&span_lock);
}

int32_t attnzoo_blas_enter(void)
{
    if (omp_get_max_threads == NULL || omp_set_num_threads == NULL)
        return 0;
    int32_t threads = omp_get_max_threads();
    if (threads > 1)
        omp_set_num_threads(1);
    return threads;
}

void attnzoo_blas_leave(int32_t entered)
{
    if (entered > 0)
        omp_set_num_threads(entered);
}

/*
 * No product may be under way: the child would wait for ever for a lock of the BLAS that a thread of the parent held.
 * OpenBLAS, too, has one: that of its buffers, which its own fork handler leaves alone. A thread that forks from a
 * signal handler inside a span cannot wait for itself.
 */
static void lock_before_fork(void)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&span_lock);
    forks_waiting++;
    while (spans_of_thread == 0 && spans_open > 0)
        pthread_cond_wait(&span_closed, &span_lock);
    pthread_setcancelstate(cancel_state, NULL);
}

static void unlock_in_parent(void)
{
    forks_waiting--;
    pthread_cond_broadcast(&span_closed);
    pthread_mutex_unlock(&span_lock);
}

/* The forking thread is the only one there is. */
static void forget_others_in_child(void)
{
    threads_inside = threads_of_thread;
    spans_open = spans_of_thread;
    forks_waiting = 0;
    pthread_cond_init(&span_closed, NULL);
    pthread_mutex_unlock(&span_lock);
}

attnzoo_status attnzoo_blas_watch(void)
{
    attnzoo_status status = ATTNZOO_STATUS_OK;
    pthread_mutex_lock(&span_lock);
    if (!is_watching) {
        is_watching = pthread_atfork(lock_before_fork, unlock_in_parent, forget_others_in_child) == 0;
        if (!is_watching)
            status = attnzoo_base_fail(ATTNZOO_STATUS_OUT_OF_MEMORY, "could not register a fork handler");
    }
    pthread_mutex_unlock(&span_lock);
    return status;
}
