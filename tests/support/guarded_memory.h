/*
 * tests/support/guarded_memory.h: memory whose neighbours cannot be touched: a page that may be neither read nor
 * written lies before it and another right after its last byte.
 */
#ifndef ATTNZOO_TESTS_GUARDED_MEMORY_H
#define ATTNZOO_TESTS_GUARDED_MEMORY_H

#include <stddef.h>

struct guarded_memory {
    unsigned char *bytes; /* the memory asked for; what follows it cannot be touched */
    size_t size;
    unsigned char *pages; /* the whole pages that may be touched; bytes ends where they end */
    size_t pages_size;
};

enum {
    /* What all touchable pages are filled with at first: a NaN in every type of number, true, and -1. */
    GUARDED_MEMORY_FILL = 0xff
};

struct guarded_memory guarded_memory_create(size_t size);

void guarded_memory_destroy(struct guarded_memory *memory);

#endif
