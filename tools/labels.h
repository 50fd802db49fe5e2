/*
 * labels.h: what rows and columns of a heat map are called, from a text file.
 */
#ifndef TOOLS_LABELS_H
#define TOOLS_LABELS_H

#include "problem.h"

#include <stdint.h>

/* All zero is no labels and may be freed. */
struct labels {
    char **texts;
    int64_t count;
};

/*
 * Reads a text file in UTF-8, a label a line, for `wanted` things, called `what` in messages; `option` is the one that
 * names the file. Line ends of either kind and a byte order mark are taken off, other control characters become spaces,
 * and a label of spaces alone becomes the sign for one. Of a file with more lines no more is read than tells so.
 */
enum outcome labels_read(struct labels *labels, const char *path, const char *option, int64_t wanted, const char *what);

void labels_free(struct labels *labels);

#endif
