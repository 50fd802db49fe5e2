/*
 * kernels/attention_block.c: what adding keys to a block and writing its outputs have in common: spans, scores, masks.
 */
#include "kernels/attention_block.h"

#include "base/checked.h"
#include "kernels/softmax.h"
#include "kernels/vectors.h"

#include <string.h>

/* Where a causal or window frontier crosses a tile, rows go in strips of this many, each against the keys that it
 * can see: that cuts the work on the frontier's tiles by almost half. Small products stay fast with fewer rows. */
enum { FRONTIER_ROWS = 64, FRONTIER_ROWS_OF_SHORT_STRIPS = 32 };

static void find_spans(struct attnzoo_attention_worker *worker)
{
    const struct attnzoo_mask_plan *mask = &worker->problem->mask;
    struct attnzoo_key_span *spans = worker->scratch.spans, all = {0, worker->problem->key.size[ATTNZOO_ROW]};
    int64_t row_count = attnzoo_attention_row_count(worker);
    bool has_spans = attnzoo_mask_has_spans(mask);
    for (int64_t row = 0; row < row_count; row++)
        spans[row] = has_spans
                         ? attnzoo_mask_head_span(mask, worker->block.batch, attnzoo_attention_row_head(worker, row),
                                                  attnzoo_attention_row_query(worker, row))
                         : all;
    if (mask->description->segments.is_set)
        worker->segments_are_spans = attnzoo_mask_narrow_to_segments(mask, &worker->block, spans);
    worker->common_span = all;
    for (int64_t row = 0; row < row_count; row++) {
        worker->common_span.first = attnzoo_base_maximum(worker->common_span.first, spans[row].first);
        worker->common_span.end = attnzoo_base_minimum(worker->common_span.end, spans[row].end);
    }
}

void attnzoo_attention_open_block(struct attnzoo_attention_worker *worker, const struct attnzoo_attention_plan *plan,
                                  int64_t number, void *scratch)
{
    const struct attnzoo_attention *problem = plan->problem;
    *worker = (struct attnzoo_attention_worker){.plan = plan,
                                                .problem = problem,
                                                .scratch = attnzoo_attention_scratch_at(plan, scratch),
                                                .block = attnzoo_attention_block(plan, number),
                                                .block_number = number};
    find_spans(worker);
    problem->source->open_queries(problem, &worker->block, worker->scratch.source_memory);
}

struct attnzoo_key_span attnzoo_attention_row_span(const struct attnzoo_attention_worker *worker, int64_t row,
                                                   int64_t first, int64_t end)
{
    struct attnzoo_key_span span = worker->scratch.spans[row];
    return (struct attnzoo_key_span){attnzoo_base_maximum(span.first, first), attnzoo_base_minimum(span.end, end)};
}

struct attnzoo_key_span attnzoo_attention_rows_span(const struct attnzoo_attention_worker *worker, int64_t first_row,
                                                    int64_t rows, int64_t first, int64_t end)
{
    if (attnzoo_attention_all_see(worker, first, end) && rows > 0)
        return (struct attnzoo_key_span){first, end};
    struct attnzoo_key_span all = {end, first};
    for (int64_t row = first_row; row < first_row + rows; row++) {
        struct attnzoo_key_span span = attnzoo_attention_row_span(worker, row, first, end);
        if (attnzoo_attention_is_empty(span))
            continue;
        all.first = attnzoo_base_minimum(all.first, span.first);
        all.end = attnzoo_base_maximum(all.end, span.end);
    }
    return all;
}

/* Cuts a span of keys into tiles of about the same size, rather than leave a sliver at the end. */
static int64_t even_tile_keys(const struct attnzoo_attention_plan *plan, int64_t key_count)
{
    int64_t tiles = attnzoo_base_divide_up(key_count, plan->key_count), step = plan->key_step;
    int64_t keys = attnzoo_base_divide_up(attnzoo_base_divide_up(key_count, tiles), step) * step;
    return attnzoo_base_minimum(keys, plan->key_count);
}

bool attnzoo_attention_next_tile(const struct attnzoo_attention_worker *worker, int64_t key, struct attnzoo_tile *tile)
{
    const struct attnzoo_attention_plan *plan = worker->plan;
    int64_t all_keys = worker->problem->key.size[ATTNZOO_ROW], rows = attnzoo_attention_row_count(worker);
    for (int64_t chunk = key / plan->keys_per_chunk; chunk * plan->keys_per_chunk < all_keys; chunk++) {
        int64_t first = chunk * plan->keys_per_chunk;
        struct attnzoo_key_span seen = attnzoo_attention_rows_span(
            worker, 0, rows, first, attnzoo_base_minimum(first + plan->keys_per_chunk, all_keys));
        if (attnzoo_attention_is_empty(seen) || seen.end <= key)
            continue;
        int64_t keys = even_tile_keys(plan, seen.end - seen.first);
        *tile = worker->block;
        tile->first_key = seen.first + attnzoo_base_maximum(key - seen.first, 0) / keys * keys;
        tile->key_count = attnzoo_base_minimum(keys, seen.end - tile->first_key);
        return true;
    }
    return false;
}

bool attnzoo_attention_next_strip(const struct attnzoo_attention_worker *worker, struct attnzoo_strip *strip)
{
    const struct attnzoo_tile *tile = strip->tile;
    int64_t first_key = tile->first_key, end_key = first_key + tile->key_count;
    int64_t all_rows = attnzoo_attention_row_count(worker), most = worker->plan->strip_rows;
    if (tile->head_count == 1 && !attnzoo_attention_all_see(worker, first_key, end_key))
        most = attnzoo_base_minimum(most, tile->has_short_strips ? FRONTIER_ROWS_OF_SHORT_STRIPS : FRONTIER_ROWS);
    for (int64_t row = strip->first_row + strip->row_count; row < all_rows; row += most) {
        int64_t rows = attnzoo_base_minimum(most, all_rows - row);
        struct attnzoo_key_span seen = attnzoo_attention_rows_span(worker, row, rows, first_key, end_key);
        if (attnzoo_attention_is_empty(seen))
            continue;
        *strip = (struct attnzoo_strip){.tile = tile,
                                        .first_row = row,
                                        .row_count = rows,
                                        .first_key = seen.first - first_key,
                                        .key_count = seen.end - seen.first,
                                        .scores = worker->scratch.scores,
                                        .step = worker->plan->key_count};
        return true;
    }
    return false;
}

void attnzoo_attention_score(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip)
{
    const struct attnzoo_attention *problem = worker->problem;
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    problem->source->fill(problem, strip, worker->scratch.source_memory);
    for (int64_t row = 0; problem->scale == 0.0f && row < strip->row_count; row++) {
        float *scores = attnzoo_attention_row_scores(strip, row);
        vectors->scale(scores, scores, strip->key_count, 0.0f);
    }
    for (int64_t row = 0; problem->softcap > 0.0f && row < strip->row_count; row++)
        vectors->cap_scores(attnzoo_attention_row_scores(strip, row), strip->key_count, problem->softcap);
}

struct attnzoo_key_span attnzoo_attention_mask_row(const struct attnzoo_attention_worker *worker,
                                                   const struct attnzoo_strip *strip, int64_t row_in_strip,
                                                   bool is_clear)
{
    const struct attnzoo_tile *tile = strip->tile;
    int64_t first_key = tile->first_key + strip->first_key, row = strip->first_row + row_in_strip;
    struct attnzoo_key_span span = attnzoo_attention_row_span(worker, row, first_key, first_key + strip->key_count);
    if (attnzoo_attention_is_empty(span))
        return (struct attnzoo_key_span){0, 0};
    float *scores = attnzoo_attention_row_scores(strip, row_in_strip) + (span.first - first_key);
    attnzoo_mask_apply(&worker->problem->mask, tile->batch, attnzoo_attention_row_head(worker, row),
                       attnzoo_attention_row_query(worker, row), span.first, span.end - span.first, is_clear, scores,
                       worker->scratch.mask_memory);
    if (worker->problem->is_smoothed)
        attnzoo_softmax_log_sigmoids(scores, span.end - span.first);
    return (struct attnzoo_key_span){span.first - first_key, span.end - first_key};
}

void attnzoo_attention_clear_outside(float *scores, struct attnzoo_key_span span, int64_t count)
{
    memset(scores, 0, (size_t)span.first * sizeof *scores);
    memset(scores + span.end, 0, (size_t)(count - span.end) * sizeof *scores);
}

void attnzoo_attention_clear_scores(const struct attnzoo_attention_worker *worker)
{
    memset(worker->scratch.scores, 0, (size_t)(worker->plan->row_count * worker->plan->key_count) * sizeof(float));
}

char *attnzoo_attention_output_at(const struct attnzoo_attention_worker *worker, int64_t row, int64_t key)
{
    return attnzoo_grid_at(&worker->problem->attention, worker->block.batch, attnzoo_attention_row_head(worker, row),
                           attnzoo_attention_row_query(worker, row), key);
}
