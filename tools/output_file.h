/*
 * output_file.h: files that appear whole or not at all. What is written goes to a temporary file beside the target,
 * which takes the target's place at the end; until then an older file stays as it was.
 */
#ifndef TOOLS_OUTPUT_FILE_H
#define TOOLS_OUTPUT_FILE_H

#include "problem.h"

#include <stdbool.h>
#include <stdio.h>

/* All zero is a file that was not asked for; all functions but output_file_open() pass over it. */
struct output_file {
    /* As the user wrote it. */
    const char *name;
    /* What is to be replaced, symbolic links resolved; the name itself where nothing is. */
    char *target;
    /* NULL where the target is a device or pipe, which is written in place. */
    char *temporary;
    FILE *stream;
};

/* Has temporary files removed when a signal ends the command. To be called once, before any file is opened. */
void output_file_handle_signals(void);

enum outcome output_file_open(struct output_file *file, const char *name);

/* Whether two files would replace the same target. */
bool output_file_is_same(const struct output_file *left, const struct output_file *right);

/* Whether the file would replace the one at `path`, which has no symbolic links. */
bool output_file_replaces(const struct output_file *file, const char *path);

/*
 * Ends writing: after it the temporary file is safe on disk, and the target as it was. To be called right after the
 * last write, so that errno still tells why one failed.
 */
enum outcome output_file_finish(struct output_file *file);

/* Puts a finished file in its target's place. */
enum outcome output_file_commit(struct output_file *file);

/* Frees everything, and removes a temporary file that was not committed. */
void output_file_discard(struct output_file *file);

#endif
