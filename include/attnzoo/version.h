/*
 * attnzoo/version.h: which version this is, and how it was built.
 */
#ifndef ATTNZOO_VERSION_H
#define ATTNZOO_VERSION_H

#include "api.h"

/** The version of this header: another number breaks programs. attnzoo_version_number() tells the library's own. */
#define ATTNZOO_VERSION_MAJOR 1
/** The version of this header: a higher number has more functions. */
#define ATTNZOO_VERSION_MINOR 0
/** The version of this header: a higher number has faults mended. */
#define ATTNZOO_VERSION_PATCH 0
/** Major * 10000 + minor * 100 + patch. */
#define ATTNZOO_VERSION_NUMBER (ATTNZOO_VERSION_MAJOR * 10000 + ATTNZOO_VERSION_MINOR * 100 + ATTNZOO_VERSION_PATCH)

ATTNZOO_BEGIN_DECLARATIONS

/** The version of the library that runs, major * 10000 + minor * 100 + patch. Threads: any. Since 1.0. */
ATTNZOO_API int32_t attnzoo_version_number(void);

/** The version of the library that runs, such as "1.0.0"; static. Threads: any. Since 1.0. */
ATTNZOO_API const char *attnzoo_version_string(void);

/**
 * How the library was built and what it runs on, in one line for people and bug reports: the CPU path chosen,
 * small or large products, the BLAS with its version and threading, the compiler. Its form is not fixed.
 *
 * Two environment variables, each read once, at the first call into the library that needs it, are for tests and for
 * comparing speed; results differ by rounding. ATTNZOO_CPU (baseline, avx2, avx512) forces a CPU path that the machine
 * has. ATTNZOO_PRODUCTS forces how attention is cut: "small" into products of few rows, which some BLAS kernels
 * (OpenBLAS' for AVX-512) make without copying their operands, "large" into products that fill the second-level cache.
 *
 * @return static, never NULL; not to be freed. Threads: any. Since 1.0.
 */
ATTNZOO_API const char *attnzoo_build_information(void);

ATTNZOO_END_DECLARATIONS

#endif
