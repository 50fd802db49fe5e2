/*
 * memory_file.c: files of memfd_create(), named through /proc, so that no input costs a write to a disk.
 */
#include "memory_file.h"

#include "target.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void name_it(struct memory_file *file)
{
    snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->descriptor);
}

struct memory_file memory_file_create(const void *bytes, size_t size)
{
    struct memory_file file = {.descriptor = memfd_create("fuzz", MFD_CLOEXEC)};
    require(file.descriptor >= 0);
    require(size == 0 || write(file.descriptor, bytes, size) == (ssize_t)size);
    name_it(&file);
    return file;
}

struct memory_file memory_pipe_create(const void *bytes, size_t size)
{
    int ends[2];
    require(pipe(ends) == 0);
    require(size == 0 || write(ends[1], bytes, size) == (ssize_t)size);
    struct memory_file file = {.descriptor = ends[0]};
    name_it(&file);
    /* The reader opens the path before its own end is closed, and finds all bytes and then the end. */
    close(ends[1]);
    return file;
}

void memory_file_destroy(struct memory_file *file)
{
    close(file->descriptor);
    file->descriptor = -1;
}
