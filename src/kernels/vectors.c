/*
 * kernels/vectors.c: picks the table of row kernels for the CPU path in use.
 */
#include "kernels/vectors.h"

#include "cpu/cpu.h"

#include <stdatomic.h>

static const struct attnzoo_vectors *choose(void)
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

const struct attnzoo_vectors *attnzoo_kernel_vectors(void)
{
    /* The choice is always the same one, so that it does not matter which thread makes it. */
    static _Atomic(const struct attnzoo_vectors *) chosen;
    const struct attnzoo_vectors *vectors = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (vectors == NULL) {
        vectors = choose();
        atomic_store_explicit(&chosen, vectors, memory_order_relaxed);
    }
    return vectors;
}
