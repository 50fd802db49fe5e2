/*
 * mechanisms/recurrence.c: states of the mechanisms that are recurrences over the queries.
 */
#include "mechanisms/recurrence.h"

#include "base/checked.h"
#include "base/error.h"

#include <inttypes.h>

attnzoo_status attnzoo_recurrence_check_room(const struct attnzoo_state_content *state, int64_t key_count,
                                             const char *input)
{
    if (key_count <= state->capacity)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                             "the state has room for %" PRId64 " keys, but %s has %" PRId64, state->capacity, input,
                             key_count);
}

attnzoo_status attnzoo_recurrence_check_state(const struct attnzoo_state_content *state, int64_t batch_count,
                                              int64_t key_count, const char *input)
{
    if (state == NULL)
        return ATTNZOO_STATUS_OK;
    if (state->batch != batch_count)
        return attnzoo_shapes_differ("batch sizes", "query", batch_count, "the state", state->batch);
    if (state->is_started && state->length != key_count)
        return attnzoo_shapes_differ("numbers of keys", input, key_count, "the state", state->length);
    return attnzoo_recurrence_check_room(state, key_count, input);
}

/* Which rows are still to be made so that a state knows the wanted ones; what it then knows goes to known. */
static struct attnzoo_key_span unknown_rows(struct attnzoo_key_span wanted, struct attnzoo_key_span *known)
{
    bool is_joined = wanted.first >= known->first && wanted.first <= known->end;
    if (wanted.first >= wanted.end)
        return wanted;
    if (!is_joined) {
        *known = wanted;
        return wanted;
    }
    struct attnzoo_key_span unknown = {known->end, wanted.end};
    known->end = attnzoo_base_maximum(known->end, wanted.end);
    return unknown;
}

void attnzoo_recurrence_find_rows(struct attnzoo_state_content *state, const struct attnzoo_view *first,
                                  const struct attnzoo_view *second, const struct attnzoo_mask_plan *mask,
                                  struct attnzoo_key_span *of_queries, struct attnzoo_key_span *of_keys)
{
    bool is_known = state != NULL && state->has_views && attnzoo_base_views_equal(&state->views[0], first) &&
                    attnzoo_base_views_equal(&state->views[1], second);
    for (int64_t batch = 0; batch < mask->batch_count; batch++) {
        of_queries[batch] = (struct attnzoo_key_span){0, attnzoo_mask_query_length(mask, batch)};
        of_keys[batch] = attnzoo_mask_batch_span(mask, batch);
        if (state != NULL && !is_known)
            state->known[batch] = (struct attnzoo_key_span){0, 0};
        if (state != NULL)
            of_keys[batch] = unknown_rows(of_keys[batch], &state->known[batch]);
    }
    if (state == NULL)
        return;
    state->views[0] = *first;
    state->views[1] = *second;
    state->has_views = true;
}

struct attnzoo_projection attnzoo_recurrence_layer(const struct attnzoo_grid *input, const struct attnzoo_layer *layer,
                                                   const struct attnzoo_grid *output)
{
    return (struct attnzoo_projection){
        .input = *input, .weight = layer->weight, .bias = layer->bias, .parts = {*output}, .part_count = 1};
}
