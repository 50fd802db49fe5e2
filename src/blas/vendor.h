/*
 * blas/vendor.h: what BLAS libraries offer beyond CBLAS, for the files of src/blas. All are weak references, so that the
 * library can run on any BLAS.
 */
#ifndef ATTNZOO_BLAS_VENDOR_H
#define ATTNZOO_BLAS_VENDOR_H

#include "base/common.h"

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

static inline bool attnzoo_blas_has_openblas(void)
{
    return openblas_get_num_threads != NULL && openblas_set_num_threads != NULL;
}

static inline bool attnzoo_blas_has_blis(void)
{
    return bli_thread_get_num_threads != NULL && bli_thread_set_num_threads != NULL;
}

#endif
