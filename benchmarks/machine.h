/*
 * benchmarks/machine.h: what the numbers were measured on.
 */
#ifndef ATTNZOO_BENCHMARKS_MACHINE_H
#define ATTNZOO_BENCHMARKS_MACHINE_H

#include <jansson.h>

/** CPU, caches, the library's build, the compiler, and the environment variables that BLAS and library heed. */
json_t *benchmark_describe_machine(void);

/** The same as a list in Markdown on standard output. machine: what benchmark_describe_machine() gave. */
void benchmark_print_machine(json_t *machine);

#endif
