/*
 * tests/kernels/vector_paths.h: the row kernels of every CPU path that this machine has.
 */
#ifndef ATTNZOO_TESTS_VECTOR_PATHS_H
#define ATTNZOO_TESTS_VECTOR_PATHS_H

#include "kernels/vectors.h"

#include "cpu/cpu.h"

struct vector_path {
    const char *name;
    const struct attnzoo_vectors *vectors;
};

enum { VECTOR_PATHS_MAX = 3 };

/* Fills paths and returns how many there are. */
static inline int find_vector_paths(struct vector_path paths[VECTOR_PATHS_MAX])
{
    int count = 0;
    paths[count++] = (struct vector_path){"baseline", &attnzoo_kernel_vectors_baseline};
#if defined(__x86_64__)
    if (attnzoo_cpu_path() >= ATTNZOO_CPU_AVX2)
        paths[count++] = (struct vector_path){"avx2", &attnzoo_kernel_vectors_avx2};
    if (attnzoo_cpu_path() >= ATTNZOO_CPU_AVX512)
        paths[count++] = (struct vector_path){"avx512", &attnzoo_kernel_vectors_avx512};
#endif
    return count;
}

#endif
