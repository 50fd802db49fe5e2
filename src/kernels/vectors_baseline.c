/*
 * kernels/vectors_baseline.c: the row kernels for any CPU: 16-byte vectors (SSE2 on x86-64, NEON on arm64, whatever the
 * compiler has elsewhere).
 */
#define ATTNZOO_VECTOR_BYTES 16
#define ATTNZOO_VECTORS_TABLE attnzoo_kernel_vectors_baseline

#include "kernels/vectors_template.h"
