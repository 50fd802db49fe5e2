/*
 * cpu/cpu.h: what the machine is: instruction sets, cache sizes, how many CPUs this process may use.
 */
#ifndef ATTNZOO_CPU_CPU_H
#define ATTNZOO_CPU_CPU_H

#include "base/common.h"

/** Which build of the vector kernels runs. Each needs all of those before it. */
enum attnzoo_cpu_path {
    ATTNZOO_CPU_BASELINE = 0,
    /** x86-64 with AVX2, FMA and F16C. */
    ATTNZOO_CPU_AVX2 = 1,
    /** x86-64 with AVX-512 F, BW, DQ and VL. */
    ATTNZOO_CPU_AVX512 = 2
};

/** The best path of this machine, or the one that the environment variable ATTNZOO_CPU lowers it to. */
enum attnzoo_cpu_path attnzoo_cpu_path(void);

const char *attnzoo_cpu_path_name(enum attnzoo_cpu_path path);

/** Bytes of second-level cache a core has; a modest guess where the system does not say. */
int64_t attnzoo_cpu_second_level_cache(void);

/** How many CPUs this process may use now: its affinity, capped by the CPU quota of its control group. At least 1. */
int32_t attnzoo_cpu_allowed_count(void);

#endif
