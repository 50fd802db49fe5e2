/*
 * whole_file.h: a file read into memory from front to back, be it a pipe.
 */
#ifndef TOOLS_WHOLE_FILE_H
#define TOOLS_WHOLE_FILE_H

#include "problem.h"

#include <stddef.h>

/* All zero is no file and may be freed. */
struct whole_file {
    char *bytes;
    size_t size;
};

enum outcome whole_file_read(struct whole_file *file, const char *path);

void whole_file_free(struct whole_file *file);

#endif
