/*
 * scratch.h: a temporary folder for a test's files, and how to put bytes there and get them back.
 */
#ifndef TESTS_TOOLS_SCRATCH_H
#define TESTS_TOOLS_SCRATCH_H

#include <stddef.h>

/* CMocka's setup and teardown: a new folder, empty, and its removal with all that is in it. */
int scratch_create(void **state);
int scratch_remove(void **state);

/* The path of a file in the folder; good until the fourth call from here. */
const char *scratch_path(const char *name);

/* Writes a file and returns its path. */
const char *scratch_write(const char *name, const void *bytes, size_t size);

/* A file's bytes, to be freed; `size` receives how many. Fails the test if it cannot be read. */
unsigned char *scratch_read(const char *name, size_t *size);

/* How many files and folders there are. */
int scratch_count(void);

#endif
