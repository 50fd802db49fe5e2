/*
 * memory_file.h: a file that lies in memory alone and yet has a path, and a pipe that has one.
 */
#ifndef TESTS_FUZZ_MEMORY_FILE_H
#define TESTS_FUZZ_MEMORY_FILE_H

#include <stddef.h>

enum { MEMORY_PATH_SIZE = 64 };

struct memory_file {
    int descriptor;
    char path[MEMORY_PATH_SIZE];
};

/* A regular file of these bytes. */
struct memory_file memory_file_create(const void *bytes, size_t size);

/* The most that memory_pipe_create() takes: what a pipe holds without a reader. */
enum { MEMORY_PIPE_MAX = 4096 };

/* A pipe that gives these bytes and ends. */
struct memory_file memory_pipe_create(const void *bytes, size_t size);

void memory_file_destroy(struct memory_file *file);

#endif
