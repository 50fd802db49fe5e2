/*
 * attention_picture.h: from the attention of a call to its heat map.
 */
#ifndef TOOLS_ATTENTION_PICTURE_H
#define TOOLS_ATTENTION_PICTURE_H

#include "array.h"

#include <stdio.h>

/*
 * Writes a heat map of `attention`, float32 of rank 2 to 4, as PNG. Lengths are arrays [batches] of int32 or int64,
 * or have no data where there are none. `has_batches` says whether the first of three axes counts batches or heads.
 */
enum outcome attention_picture_write(const char *mechanism, const struct array *attention, bool has_batches,
                                     const struct array *query_lengths, const struct array *key_lengths,
                                     FILE *stream);

#endif
