/*
 * tests/support/watched_allocator.h: takes the place of the C library's allocation functions in the program it is
 * linked into, counts what they are asked for, and makes chosen ones fail. What the BLAS library and
 * its OpenMP ask for is counted apart and never fails: they have no way to say so, and OpenMP ends the program. For
 * glibc, and not for sanitizers, which take the same place.
 */
#ifndef ATTNZOO_TESTS_WATCHED_ALLOCATOR_H
#define ATTNZOO_TESTS_WATCHED_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

struct allocation_counts {
    int64_t calls;      /* allocations, anonymous mappings among them */
    int64_t bytes;      /* that they asked for */
    int64_t live;       /* allocations less frees, of all callers; mappings left out */
    int64_t blas_calls; /* allocations from inside the BLAS library */
    int64_t threads;    /* threads started */
};

/* Counts from here on, in all threads. */
void allocator_watch(void);

/* What was counted since, and an end of it. */
struct allocation_counts allocator_stop(void);

/* From allocator_watch() on, the allocation of this number (1 the first) and none other fails; 0 for none. */
void allocator_fail(int64_t number);

/* As above for pthread_create(). */
void allocator_fail_thread(int64_t number);

/* Did what was to fail come about? */
bool allocator_has_failed(void);

/* Where the last allocation that was counted in calls came from, as "object+offset". */
const char *allocator_last_caller(void);

#endif
