/*
 * kernels/vectors_avx512.c: the row kernels for x86-64 with AVX-512 F, BW, DQ and VL; the build compiles this file for
 * them.
 */
#define ATTNZOO_VECTOR_BYTES 64
#define ATTNZOO_VECTORS_TABLE attnzoo_kernel_vectors_avx512

#include "kernels/vectors_template.h"
