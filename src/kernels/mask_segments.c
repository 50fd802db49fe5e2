/*
 * kernels/mask_segments.c: sequences packed into one, each of which sees only itself. Usually the keys of a segment lie
 * side by side: then segments are spans of keys, and cost nothing where they hide.
 */
#include "kernels/mask.h"

#include "base/checked.h"

/* A block of queries that meets more segments than this takes their keys one by one: looking for each costs a walk over
 * all keys. */
enum { SEGMENTS_MOST = 8 };

static int64_t segment_id(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t position)
{
    const struct attnzoo_view *ids = &plan->description->segments.view;
    int64_t index = position * ids->strides[ids->rank - 1] + (ids->rank == 2 ? batch * ids->strides[0] : 0);
    return attnzoo_kernel_integer_at(ids->data + index * attnzoo_base_dtype_size(ids->dtype), ids->dtype);
}

struct id_range {
    int64_t lowest;
    int64_t highest;
};

static struct id_range segment_ids(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t first, int64_t count)
{
    int64_t id = segment_id(plan, batch, first);
    struct id_range range = {id, id};
    for (int64_t i = 1; i < count; i++) {
        id = segment_id(plan, batch, first + i);
        range.lowest = attnzoo_base_minimum(range.lowest, id);
        range.highest = attnzoo_base_maximum(range.highest, id);
    }
    return range;
}

enum attnzoo_tile_cover attnzoo_mask_segments_cover(const struct attnzoo_mask_plan *plan,
                                                    const struct attnzoo_tile *tile)
{
    /* Queries past their length have no position that must exist, and no key to see either. */
    int64_t query_count = attnzoo_mask_query_length(plan, tile->batch) - tile->first_query;
    query_count = attnzoo_base_minimum(query_count, tile->query_count);
    if (query_count <= 0)
        return ATTNZOO_TILE_HIDDEN;
    int64_t position = attnzoo_mask_position(plan, tile->batch, tile->first_query);
    struct id_range queries = segment_ids(plan, tile->batch, position, query_count);
    struct id_range keys = segment_ids(plan, tile->batch, tile->first_key, tile->key_count);
    if (queries.highest < keys.lowest || keys.highest < queries.lowest)
        return ATTNZOO_TILE_HIDDEN;
    bool is_one_id = queries.lowest == queries.highest && keys.lowest == keys.highest;
    return is_one_id ? ATTNZOO_TILE_CLEAR : ATTNZOO_TILE_MIXED;
}

void attnzoo_mask_fill_segment_row(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query,
                                   int64_t first_key, int64_t count, uint8_t *allowed)
{
    int64_t id = segment_id(plan, batch, attnzoo_mask_position(plan, batch, query));
    for (int64_t i = 0; i < count; i++)
        allowed[i] = segment_id(plan, batch, first_key + i) == id;
}

bool attnzoo_mask_is_one_segment(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query, int64_t key)
{
    return segment_id(plan, batch, attnzoo_mask_position(plan, batch, query)) == segment_id(plan, batch, key);
}

/* The keys of a segment from the first to the last; returns whether all of those are its own. */
static bool find_keys(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t id, struct attnzoo_key_span *keys)
{
    int64_t count = 0;
    *keys = (struct attnzoo_key_span){0, 0};
    for (int64_t key = 0; key < plan->key_count; key++) {
        if (segment_id(plan, batch, key) != id)
            continue;
        keys->first = count == 0 ? key : keys->first;
        keys->end = key + 1;
        count++;
    }
    return keys->end - keys->first == count;
}

static void narrow(struct attnzoo_key_span *span, struct attnzoo_key_span keys)
{
    span->first = attnzoo_base_maximum(span->first, keys.first);
    span->end = attnzoo_base_minimum(span->end, keys.end);
}

bool attnzoo_mask_narrow_to_segments(const struct attnzoo_mask_plan *plan, const struct attnzoo_tile *block,
                                     struct attnzoo_key_span *spans)
{
    int64_t length = attnzoo_mask_query_length(plan, block->batch) - block->first_query;
    int64_t id_before = 0, segments = 0;
    struct attnzoo_key_span keys = {0, 0};
    for (int64_t query = 0; query < attnzoo_base_minimum(length, block->query_count); query++) {
        int64_t position = attnzoo_mask_position(plan, block->batch, block->first_query + query);
        int64_t id = segment_id(plan, block->batch, position);
        if (segments == 0 || id != id_before) {
            if (segments == SEGMENTS_MOST || !find_keys(plan, block->batch, id, &keys))
                return false;
            segments++;
        }
        id_before = id;
        for (int64_t head = 0; head < block->head_count; head++)
            narrow(&spans[head * block->query_count + query], keys);
    }
    return true;
}
