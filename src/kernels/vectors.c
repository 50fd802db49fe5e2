/*
 * kernels/vectors.c: picks the table of row kernels for the CPU path in use.
 */
#include "kernels/vectors.h"

#include "cpu/cpu.h"

const struct attnzoo_vectors *attnzoo_kernel_vectors(void)
{
#if defined(__x86_64__)
    switch (attnzoo_cpu_path()) {
    case ATTNZOO_CPU_AVX512:
        return &attnzoo_kernel_vectors_avx512;
    case ATTNZOO_CPU_AVX2:
        return &attnzoo_kernel_vectors_avx2;
    default:
        break;
    }
#endif
    return &attnzoo_kernel_vectors_baseline;
}
