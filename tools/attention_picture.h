/*
 * attention_picture.h: from the attention of a call to its heat map.
 */
#ifndef TOOLS_ATTENTION_PICTURE_H
#define TOOLS_ATTENTION_PICTURE_H

#include "array.h"

#include <stdio.h>

struct attention_picture {
    const char *mechanism;
    /* float32, rank 2 to 4. */
    const struct array *attention;
    /* Whether the first of three axes counts batches or heads. */
    bool has_batches;
    /* [batches] of int32 or int64, without data where there are none. */
    const struct array *query_lengths;
    const struct array *key_lengths;
    /* One for each query and for each key, or NULL for numbers. */
    char *const *query_labels;
    char *const *key_labels;
};

/* Writes a heat map as PNG. Whether all was written is told by the stream. */
enum outcome attention_picture_write(const struct attention_picture *picture, FILE *stream);

#endif
