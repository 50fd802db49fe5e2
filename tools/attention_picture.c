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

enum outcome attention_picture_write(const char *mechanism, const struct array *attention, bool has_batches,
                                     const struct array *query_lengths, const struct array *key_lengths, FILE *stream)
{
    int32_t rank = attention->rank;
    const int64_t *shape = attention->shape;
    if (rank < 2 || rank > 4)
        return fail("the attention of %s has %d axes; only 2 to 4 can be drawn", mechanism, (int)rank);
    struct heat_map map = {.attention = attention->data,
                           .batches = 1,
                           .heads = 1,
                           .queries = shape[rank - 2],
                           .keys = shape[rank - 1]};
    if (rank == 4 || (rank == 3 && has_batches))
        map.batches = shape[0];
    if (rank == 4 || (rank == 3 && !has_batches))
        map.heads = shape[rank - 3];
    char title[256];
    int length = snprintf(title, sizeof title, "%s: attention of %" PRId64 " %s to %" PRId64 " %s", mechanism,
                          map.queries, map.queries == 1 ? "query" : "queries", map.keys,
                          map.keys == 1 ? "key" : "keys");
    if (map.heads != 1)
        snprintf(title + length, sizeof title - (size_t)length, ", %" PRId64 " heads", map.heads);
    map.title = title;
    int64_t *real_queries = NULL, *real_keys = NULL;
    enum outcome outcome = OUTCOME_OK;
    if (!widen_lengths(query_lengths, &real_queries) || !widen_lengths(key_lengths, &real_keys))
        outcome = fail("not enough memory for the heat map");
    map.query_lengths = real_queries;
    map.key_lengths = real_keys;
    if (outcome == OUTCOME_OK)
        outcome = heat_map_write(&map, stream);
    free(real_queries);
    free(real_keys);
    return outcome;
}
