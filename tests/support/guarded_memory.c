/*
 * tests/support/guarded_memory.c: guarded memory by mmap and mprotect.
 */
#include "support/guarded_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded_memory guarded_memory_create(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages_size = (size + page - 1) / page * page;
    unsigned char *map = mmap(NULL, pages_size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* Not for no pages at all, which qemu refuses. */
    if (map == MAP_FAILED || (pages_size > 0 && mprotect(map + page, pages_size, PROT_READ | PROT_WRITE) != 0)) {
        perror("guarded_memory_create");
        abort();
    }
    memset(map + page, GUARDED_MEMORY_FILL, pages_size);
    return (struct guarded_memory){
        .bytes = map + page + pages_size - size, .size = size, .pages = map + page, .pages_size = pages_size};
}

void guarded_memory_destroy(struct guarded_memory *memory)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (memory->pages != NULL)
        munmap(memory->pages - page, memory->pages_size + 2 * page);
    *memory = (struct guarded_memory){0};
}
