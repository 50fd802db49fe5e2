/*
 * blas/threads.c: keeps whatever BLAS is linked to one thread a call while the library makes products in threads
 * of its own, and gives the application its setting back.
 *
 * Three kinds of setting exist. OpenBLAS on pthreads and BLIS have one number for the process: it is set to 1
 * when the first span opens and set back when the last one closes. OpenMP has a number for each thread, which
 * each thread that makes products sets and sets back; OpenBLAS on OpenMP follows it, but keeps a number of its own
 * besides. A serial BLAS has none. The vendors' functions are weak references, so that the library can run on any.
 */
#include "blas/blas.h"

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_parallel(void) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));
extern int omp_get_max_threads(void) __attribute__((weak));
extern void omp_set_num_threads(int threads) __attribute__((weak));
extern int64_t bli_thread_get_num_threads(void) __attribute__((weak));
extern void bli_thread_set_num_threads(int64_t threads) __attribute__((weak));
extern const char *bli_info_get_version_str(void) __attribute__((weak));
extern int64_t bli_info_get_enable_threading(void) __attribute__((weak));

/* What openblas_get_parallel() answers. */
enum { OPENBLAS_UNKNOWN = -1, OPENBLAS_SERIAL = 0, OPENBLAS_PTHREADS = 1, OPENBLAS_OPENMP = 2 };

/* Where a BLAS tells no limit of its own. */
enum { THREAD_LIMIT = 256 };

static pthread_mutex_t span_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t span_closed = PTHREAD_COND_INITIALIZER;
static int32_t threads_inside;
static int32_t spans_open;
/* Forks that wait for spans to close; no span opens meanwhile. */
static int32_t forks_waiting;
static int64_t application_setting;
/* A fork left the setting at 1 in the child while a span was open. */
static bool setting_is_owed;
static bool is_watching;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int32_t thread_limit;
static char description[128];

static bool has_openblas(void)
{
    return openblas_get_num_threads != NULL && openblas_set_num_threads != NULL;
}

/* A static link may leave out what only weak references ask for: then the kind is not known. */
static int openblas_kind(void)
{
    return openblas_get_parallel != NULL ? openblas_get_parallel() : OPENBLAS_UNKNOWN;
}

static bool has_blis(void)
{
    return bli_thread_get_num_threads != NULL && bli_thread_set_num_threads != NULL;
}

static int64_t get_process_setting(void)
{
    if (has_openblas())
        return openblas_get_num_threads();
    return has_blis() ? bli_thread_get_num_threads() : 1;
}

static void set_process_setting(int64_t threads)
{
    if (has_openblas())
        openblas_set_num_threads((int)threads);
    else if (has_blis())
        bli_thread_set_num_threads(threads);
}

/* "OpenBLAS 0.3.21 NO_LAPACKE ..." to "OpenBLAS 0.3.21". */
static int name_and_version_length(const char *config)
{
    const char *space = strchr(config, ' ');
    if (space != NULL)
        space = strchr(space + 1, ' ');
    return space == NULL ? (int)strlen(config) : (int)(space - config);
}

static int32_t read_thread_limit(const char *config)
{
    /* A serial OpenBLAS bears one caller at a time, unless it was built with locks; its configuration says so then. */
    if (has_openblas() && openblas_kind() == OPENBLAS_SERIAL && strstr(config, "USE_LOCKING") == NULL)
        return 1;
    /* A BLIS built without threads has no locks around its memory either. */
    if (!has_openblas() && has_blis() && bli_info_get_enable_threading != NULL && bli_info_get_enable_threading() == 0)
        return 1;
    /* As many threads as it would use itself are safe, even if nothing more is known: a serial one says 1. */
    if (has_openblas() && (openblas_kind() == OPENBLAS_UNKNOWN || config[0] == '\0'))
        return openblas_get_num_threads() < 1 ? 1 : openblas_get_num_threads();
    /* Any OpenBLAS ends the process when more threads call it than it has buffers for; it says how many it has. */
    const char *limit = strstr(config, "MAX_THREADS=");
    int threads = limit != NULL ? atoi(limit + strlen("MAX_THREADS=")) : THREAD_LIMIT;
    return threads < 1 ? 1 : threads > THREAD_LIMIT ? THREAD_LIMIT : threads;
}

/* Once, because openblas_get_config() writes into a buffer that all threads share. */
static void read_description(void)
{
    static const char *const threading[] = {"serial", "pthreads", "OpenMP"};
    const char *config = openblas_get_config != NULL ? openblas_get_config() : "";
    if (has_openblas()) {
        int kind = openblas_kind();
        snprintf(description, sizeof description, "%.*s, %s, %s kernels", name_and_version_length(config), config,
                 kind >= OPENBLAS_SERIAL && kind <= OPENBLAS_OPENMP ? threading[kind] : "unknown threading",
                 openblas_get_corename != NULL ? openblas_get_corename() : "unknown");
    } else if (has_blis()) {
        snprintf(description, sizeof description, "BLIS %s",
                 bli_info_get_version_str != NULL ? bli_info_get_version_str() : "of unknown version");
    } else {
        snprintf(description, sizeof description, "a CBLAS that does not tell its name");
    }
    thread_limit = read_thread_limit(config);
}

int32_t attnzoo_blas_thread_limit(void)
{
    pthread_once(&once, read_description);
    return thread_limit;
}

const char *attnzoo_blas_description(void)
{
    pthread_once(&once, read_description);
    return description;
}

void attnzoo_blas_open(int32_t threads)
{
    int32_t limit = attnzoo_blas_thread_limit();
    pthread_mutex_lock(&span_lock);
    while (forks_waiting > 0 || (threads_inside > 0 && threads_inside + threads > limit))
        pthread_cond_wait(&span_closed, &span_lock);
    threads_inside += threads;
    if (spans_open++ == 0) {
        if (!setting_is_owed)
            application_setting = get_process_setting();
        setting_is_owed = false;
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
 * A BLAS that does not look after its own locks (BLIS 0.9) must not be in the middle of a product: the child would wait for
 * ever for a lock that a thread of the parent held. OpenBLAS looks after its own.
 */
static void lock_before_fork(void)
{
    pthread_mutex_lock(&span_lock);
    forks_waiting++;
    while (!has_openblas() && threads_inside > 0)
        pthread_cond_wait(&span_closed, &span_lock);
}

static void unlock_in_parent(void)
{
    forks_waiting--;
    pthread_cond_broadcast(&span_closed);
    pthread_mutex_unlock(&span_lock);
}

/* The spans that other threads of the parent had open will never close here. The setting is given back by the
 * next span: setting it here could start BLAS threads in the middle of a fork. */
static void forget_in_child(void)
{
    setting_is_owed = setting_is_owed || spans_open > 0;
    spans_open = 0;
    threads_inside = 0;
    forks_waiting = 0;
    pthread_cond_init(&span_closed, NULL);
    pthread_mutex_unlock(&span_lock);
}

attnzoo_status attnzoo_blas_watch(void)
{
    attnzoo_status status = ATTNZOO_STATUS_OK;
    pthread_mutex_lock(&span_lock);
    if (!is_watching) {
        is_watching = pthread_atfork(lock_before_fork, unlock_in_parent, forget_in_child) == 0;
        if (!is_watching)
            status = attnzoo_base_fail(ATTNZOO_STATUS_OUT_OF_MEMORY, "could not register a fork handler");
    }
    pthread_mutex_unlock(&span_lock);
    return status;
}
