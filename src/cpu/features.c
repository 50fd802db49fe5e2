/*
 * cpu/features.c: instruction sets and caches, detected once. How many CPUs may be used is in allowed.c.
 */
#include "cpu/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum attnzoo_cpu_path chosen_path;
static int64_t second_level_cache;

static enum attnzoo_cpu_path detect_path(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    unsigned int eax, ebx, ecx = 0, edx;
    bool has_half_precision = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_half_precision)
        return ATTNZOO_CPU_BASELINE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return ATTNZOO_CPU_AVX2;
    return ATTNZOO_CPU_AVX512;
#else
    return ATTNZOO_CPU_BASELINE;
#endif
}

static void detect(void)
{
    chosen_path = detect_path();
    /* Sound as long as the program does not change its environment. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *forced = getenv("ATTNZOO_CPU");
    for (int path = ATTNZOO_CPU_BASELINE; forced != NULL && path < (int)chosen_path; path++)
        if (strcmp(forced, attnzoo_cpu_path_name((enum attnzoo_cpu_path)path)) == 0)
            chosen_path = (enum attnzoo_cpu_path)path;
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    second_level_cache = bytes > 0 ? bytes : 256L * 1024;
}

enum attnzoo_cpu_path attnzoo_cpu_path(void)
{
    pthread_once(&once, detect);
    return chosen_path;
}

const char *attnzoo_cpu_path_name(enum attnzoo_cpu_path path)
{
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    return names[path];
}

int64_t attnzoo_cpu_second_level_cache(void)
{
    pthread_once(&once, detect);
    return second_level_cache;
}
