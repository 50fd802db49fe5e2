/*
 * kernels/vectors_avx2.c: the row kernels for x86-64 with AVX2, FMA and F16C; the build compiles this file for them.
 */
#define ATTNZOO_VECTOR_BYTES 32
#define ATTNZOO_VECTORS_TABLE attnzoo_kernel_vectors_avx2

#include "kernels/vectors_template.h"
