/*
 * blas/description.c: which BLAS is linked, how many threads it bears, and which products it makes without copying.
 */
#include "blas/blas.h"
#include "blas/vendor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What openblas_get_parallel() answers. */
enum { OPENBLAS_UNKNOWN = -1, OPENBLAS_SERIAL = 0, OPENBLAS_PTHREADS = 1, OPENBLAS_OPENMP = 2 };

/* Where a BLAS tells no limit of its own. */
enum { THREAD_LIMIT = 256 };

/* OpenBLAS' own bound, 100 * 100 * 100. */
enum { SMALL_WORK = 1000000 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int32_t thread_limit;
static int64_t work_without_copy;
static char description[128];

/* A static link may leave out what only weak references ask for: then the kind is not known. */
static int openblas_kind(void)
{
    return openblas_get_parallel != NULL ? openblas_get_parallel() : OPENBLAS_UNKNOWN;
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
    if (attnzoo_blas_has_openblas() && openblas_kind() == OPENBLAS_SERIAL && strstr(config, "USE_LOCKING") == NULL)
        return 1;
    /* A BLIS built without threads has no locks around its memory either. */
    if (!attnzoo_blas_has_openblas() && attnzoo_blas_has_blis() && bli_info_get_enable_threading != NULL &&
        bli_info_get_enable_threading() == 0)
        return 1;
    /* As many threads as it would use itself are safe, even if nothing more is known: a serial one says 1. */
    if (attnzoo_blas_has_openblas() && (openblas_kind() == OPENBLAS_UNKNOWN || config[0] == '\0'))
        return openblas_get_num_threads() < 1 ? 1 : openblas_get_num_threads();
    /* Any OpenBLAS ends the process when more threads call it than it has buffers for; it says how many it has. */
    const char *limit = strstr(config, "MAX_THREADS=");
    /* OpenBLAS wrote it itself; anything but a number is 0. NOLINTNEXTLINE(cert-err34-c) */
    int threads = limit != NULL ? atoi(limit + strlen("MAX_THREADS=")) : THREAD_LIMIT;
    return threads < 1 ? 1 : threads > THREAD_LIMIT ? THREAD_LIMIT : threads;
}

/*
 * OpenBLAS has kernels that read small operands where they lie for CPUs with AVX-512: seen in 0.3.21, of older releases
 * not known. The environment variable ATTNZOO_PRODUCTS says otherwise, so that either way can be tested with any BLAS.
 */
static int64_t read_work_without_copy(const char *config)
{
    static const char *const cores[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    const char *core = attnzoo_blas_has_openblas() && openblas_get_corename != NULL ? openblas_get_corename() : "";
    /* Sound as long as the program does not change its environment. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *forced = getenv("ATTNZOO_PRODUCTS");
    if (forced != NULL && strcmp(forced, "small") == 0)
        return SMALL_WORK;
    if (forced != NULL && strcmp(forced, "large") == 0)
        return 0;
    int major = 0, minor = 0, patch = 0;
    /* NOLINTNEXTLINE(cert-err34-c) as above */
    bool is_known = sscanf(config, "OpenBLAS %d.%d.%d", &major, &minor, &patch) == 3;
    bool is_new = is_known && (major > 0 || minor > 3 || (minor == 3 && patch >= 21));
    for (size_t i = 0; is_new && i < sizeof cores / sizeof cores[0]; i++)
        if (strcasecmp(core, cores[i]) == 0)
            return SMALL_WORK;
    return 0;
}

/* Once, because openblas_get_config() writes into a buffer that all threads share. */
static void read_description(void)
{
    static const char *const threading[] = {"serial", "pthreads", "OpenMP"};
    const char *config = openblas_get_config != NULL ? openblas_get_config() : "";
    if (attnzoo_blas_has_openblas()) {
        int kind = openblas_kind();
        snprintf(description, sizeof description, "%.*s, %s, %s kernels", name_and_version_length(config), config,
                 kind >= OPENBLAS_SERIAL && kind <= OPENBLAS_OPENMP ? threading[kind] : "unknown threading",
                 openblas_get_corename != NULL ? openblas_get_corename() : "unknown");
    } else if (attnzoo_blas_has_blis()) {
        snprintf(description, sizeof description, "BLIS %s",
                 bli_info_get_version_str != NULL ? bli_info_get_version_str() : "of unknown version");
    } else {
        snprintf(description, sizeof description, "a CBLAS that does not tell its name");
    }
    thread_limit = read_thread_limit(config);
    work_without_copy = read_work_without_copy(config);
}

int32_t attnzoo_blas_thread_limit(void)
{
    pthread_once(&once, read_description);
    return thread_limit;
}

int64_t attnzoo_blas_work_without_copy(void)
{
    pthread_once(&once, read_description);
    return work_without_copy;
}

const char *attnzoo_blas_description(void)
{
    pthread_once(&once, read_description);
    return description;
}
