/*
 * attention_picture.c: reads an attention's axes, and hands it to the heat map.
 */
#include "attention_picture.h"

#include "heat_map.h"

#include <inttypes.h>
#include <stdlib.h>

/* Lengths as the heat map takes them, which the caller frees; false if there is no memory. */
static bool widen_lengths(const struct array *lengths, int64_t **widened)
{
    *widened = NULL;
    if (lengths->data == NULL)
        return true;
    int64_t count = array_element_count(lengths);
    *widened = calloc((size_t)count + 1, sizeof **widened);
    for (int64_t index = 0; index < count && *widened != NULL; index++)
        (*widened)[index] = array_integer(lengths, index);
    return *widened != NULL;
}

/* What the picture is of. */
static void write_title(char *title, size_t capacity, const char *mechanism, const struct heat_map *map)
{
    int length = snprintf(title, capacity, "%s: attention of %" PRId64 " %s to %" PRId64 " %s", mechanism, map->queries,
                          map->queries == 1 ? "query" : "queries", map->keys, map->keys == 1 ? "key" : "keys");
    if (map->heads != 1)
        snprintf(title + length, capacity - (size_t)length, ", %" PRId64 " heads", map->heads);
}

enum outcome attention_picture_write(const struct attention_picture *picture, FILE *stream)
{
    int32_t rank = picture->attention->rank;
    const int64_t *shape = picture->attention->shape;
    if (rank < 2 || rank > 4)
        return fail("the attention of %s has %d axes; only 2 to 4 can be drawn", picture->mechanism, (int)rank);
    struct heat_map map = {.attention = picture->attention->data,
                           .batches = 1,
                           .heads = 1,
                           .queries = shape[rank - 2],
                           .keys = shape[rank - 1],
                           .query_labels = picture->query_labels,
                           .key_labels = picture->key_labels};
    if (rank == 4 || (rank == 3 && picture->has_batches))
        map.batches = shape[0];
    if (rank == 4 || (rank == 3 && !picture->has_batches))
        map.heads = shape[rank - 3];
    char title[256];
    write_title(title, sizeof title, picture->mechanism, &map);
    map.title = title;
    int64_t *real_queries = NULL, *real_keys = NULL;
    enum outcome outcome = OUTCOME_OK;
    if (!widen_lengths(picture->query_lengths, &real_queries) || !widen_lengths(picture->key_lengths, &real_keys))
        outcome = fail("not enough memory for the heat map");
    map.query_lengths = real_queries;
    map.key_lengths = real_keys;
    if (outcome == OUTCOME_OK)
        outcome = heat_map_write(&map, stream);
    free(real_queries);
    free(real_keys);
    return outcome;
}
