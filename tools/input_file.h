/*
 * input_file.h: a file that is read from front to back, with a message for each way in which that can fail.
 */
#ifndef TOOLS_INPUT_FILE_H
#define TOOLS_INPUT_FILE_H

#include "problem.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct input_file {
    const char *path;
    FILE *stream;
    /* Bytes from the place of reading to the end; -1 where they cannot be known, as of a pipe. */
    int64_t remaining;
};

enum outcome input_file_open(struct input_file *file, const char *path);

/* Does nothing for a file that was not opened. */
void input_file_close(struct input_file *file);

/* Fails if the file is known to end before `size` more bytes. `what` is what messages call these bytes. */
enum outcome input_file_expect(const struct input_file *file, uint64_t size, const char *what);

/* Reads exactly `size` bytes. */
enum outcome input_file_read(struct input_file *file, void *bytes, size_t size, const char *what);

#endif
