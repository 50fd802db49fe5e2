/*
 * heat_map.h: a picture of attention: a panel a head, keys across and queries down, with one colour scale for all.
 */
#ifndef TOOLS_HEAT_MAP_H
#define TOOLS_HEAT_MAP_H

#include "heat_layout.h"
#include "problem.h"

#include <stdint.h>
#include <stdio.h>

struct heat_map {
    const char *title;
    /* [batches, heads, queries, keys] */
    const float *attention;
    int64_t batches, heads, queries, keys;
    /* [batches], or NULL where all are real. */
    const int64_t *query_lengths;
    const int64_t *key_lengths;
    /* [queries] and [keys], texts in UTF-8, or NULL for numbers. */
    char *const *query_labels;
    char *const *key_labels;
};

/* Where everything stands in the picture. */
struct heat_layout heat_map_layout(const struct heat_map *map);

/* Writes the picture as PNG. Whether all was written is told by the stream. */
enum outcome heat_map_write(const struct heat_map *map, FILE *stream);

#endif
