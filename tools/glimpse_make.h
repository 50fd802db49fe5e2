/*
 * glimpse_make.h: what `attnzoo glimpse` makes of its inputs, once the command line is read.
 */
#ifndef TOOLS_GLIMPSE_MAKE_H
#define TOOLS_GLIMPSE_MAKE_H

#include "array.h"
#include "glimpse_arguments.h"

#include <stdio.h>

/* Text, image or audio -> float32 [N, E]. */
enum outcome glimpse_make(struct array *glimpses, const struct glimpse_arguments *arguments);

/*
 * How many tiles there are in all, of a raw input that is cut along `axis_count` axes. That there is none is an error: of
 * all that it could mean, nobody wants it.
 */
enum outcome glimpse_count_tiles(const struct glimpse_arguments *arguments, int32_t axis_count, const int64_t *sizes,
                                 int64_t *total);

/* Reads picture and attention, and writes the one drawn on the other as PNG. */
enum outcome glimpse_draw(const struct glimpse_arguments *arguments, FILE *stream);

#endif
