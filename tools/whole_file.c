/*
 * whole_file.c: reads pieces, each as long as all before it, until there is no more.
 */
#include "whole_file.h"

#include "input_file.h"
#include "progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PIECE = 1 << 16 };

static enum outcome read_all(struct whole_file *file, const struct input_file *input)
{
    /* One byte more than is expected, so that the end is seen without another piece. */
    size_t room = input->remaining >= 0 ? (size_t)input->remaining + 1 : FIRST_PIECE;
    for (;;) {
        char *bytes = realloc(file->bytes, room);
        if (bytes == NULL)
            return fail("%s: not enough memory", input->path);
        file->bytes = bytes;
        errno = 0;
        file->size += fread(bytes + file->size, 1, room - file->size, input->stream);
        if (ferror(input->stream))
            return fail("%s: %s", input->path, strerror(errno != 0 ? errno : EIO));
        if (file->size < room)
            return OUTCOME_OK;
        if (__builtin_mul_overflow(room, (size_t)2, &room))
            return fail("%s: not enough memory", input->path);
    }
}

enum outcome whole_file_read(struct whole_file *file, const char *path)
{
    *file = (struct whole_file){0};
    struct input_file input;
    progress_set("reading", path);
    enum outcome outcome = input_file_open(&input, path);
    if (outcome == OUTCOME_OK)
        outcome = read_all(file, &input);
    input_file_close(&input);
    return outcome;
}

void whole_file_free(struct whole_file *file)
{
    free(file->bytes);
    *file = (struct whole_file){0};
}
