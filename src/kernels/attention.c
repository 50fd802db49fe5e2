/*
 * kernels/attention.c: the work on one block: tiles of scores, online softmax, sums of values. How a problem is cut
 * into blocks is in attention_plan.c; what masks do is in mask_*.c; where scores come from is a source; how values are
 * summed is in value_tile.c; what becomes of a finished block is in attention_output.c.
 */
#include "kernels/attention.h"

#include "base/checked.h"
#include "kernels/attention_block.h"
#include "kernels/softmax.h"
#include "kernels/value_tile.h"

#include <math.h>
#include <string.h>

/* Rows that are met before they are weighed. */
enum { ROWS_AT_A_TIME = 8 };

/* How the mask meets a tile. */
struct cover {
    /* No dense constraint hides any of it. */
    bool is_clear;
    /* Some row may not see some key. */
    bool may_hide;
    /* Scores are not what the softmax is given as they are. */
    bool is_masked;
};

/* Masks a row of a strip and raises its maximum; returns which of its scores count. */
static struct attnzoo_key_span meet_row(const struct attnzoo_attention_worker *worker,
                                        const struct attnzoo_strip *strip, int64_t row, struct cover cover)
{
    float *scores = attnzoo_attention_row_scores(strip, row);
    struct attnzoo_key_span span = {0, strip->key_count};
    if (cover.is_masked)
        span = attnzoo_attention_mask_row(worker, strip, row, cover.is_clear);
    int64_t count = span.end - span.first;
    if (attnzoo_attention_is_empty(span))
        return span;
    if (worker->plan->keeps_scores)
        memcpy(attnzoo_attention_output_at(worker, strip->first_row + row,
                                           strip->tile->first_key + strip->first_key + span.first),
               scores + span.first, (size_t)count * sizeof *scores);
    attnzoo_softmax_meet(&worker->scratch.rows, strip->first_row + row, worker->plan->context_columns,
                         scores + span.first, count, worker->problem->mask.is_dense);
    return span;
}

/* Has dense masks of the rows that are met next read while those of now are weighed. */
static void fetch_masks(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip,
                        int64_t first_row, struct cover cover)
{
    int64_t end_row = attnzoo_base_minimum(first_row + ROWS_AT_A_TIME, strip->row_count);
    for (int64_t row = first_row; cover.is_masked && worker->problem->mask.is_dense && row < end_row; row++)
        attnzoo_mask_prefetch(&worker->problem->mask, strip->tile->batch,
                              attnzoo_attention_row_head(worker, strip->first_row + row),
                              attnzoo_attention_row_query(worker, strip->first_row + row),
                              strip->tile->first_key + strip->first_key, strip->key_count);
}

/* Turns those of a row's scores that count into weights; returns whether all of them are finite. */
static bool weigh_row(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip, int64_t row,
                      struct attnzoo_key_span span)
{
    float *weights = attnzoo_attention_row_scores(strip, row) + span.first;
    int64_t count = span.end - span.first, first_key = strip->tile->first_key + strip->first_key + span.first;
    bool is_finite = attnzoo_softmax_weigh(&worker->scratch.rows, strip->first_row + row, weights, count);
    attnzoo_attention_damp(worker, strip->first_row + row, first_key, count, weights);
    return is_finite;
}

/*
 * Turns a strip's scores into weights; returns whether all of them are finite. Some rows at a time, so that a CPU finds
 * the largest score of one while it waits for another's; not so many that they leave the first-level cache.
 */
static bool weigh_strip(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip,
                        struct cover cover)
{
    bool is_finite = true;
    for (int64_t first = 0; first < strip->row_count; first += ROWS_AT_A_TIME) {
        struct attnzoo_key_span spans[ROWS_AT_A_TIME];
        int64_t rows = attnzoo_base_minimum(ROWS_AT_A_TIME, strip->row_count - first);
        for (int64_t row = 0; row < rows; row++)
            spans[row] = meet_row(worker, strip, first + row, cover);
        fetch_masks(worker, strip, first + ROWS_AT_A_TIME, cover);
        for (int64_t row = 0; row < rows; row++) {
            float *scores = attnzoo_attention_row_scores(strip, first + row);
            struct attnzoo_key_span span = spans[row];
            if (!attnzoo_attention_is_empty(span))
                is_finite &= weigh_row(worker, strip, first + row, span);
            attnzoo_attention_clear_outside(scores, span, strip->key_count);
        }
    }
    return is_finite;
}

static void add_strip(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip,
                      struct cover cover, const struct attnzoo_value_tile *values)
{
    const struct attnzoo_attention *problem = worker->problem;
    int64_t columns = problem->value.size[ATTNZOO_COLUMN];
    fetch_masks(worker, strip, 0, cover);
    attnzoo_attention_score(worker, strip);
    bool is_finite = weigh_strip(worker, strip, cover);
    float *context = attnzoo_attention_row_context(worker, strip->first_row);
    int64_t context_step = attnzoo_base_maximum(worker->plan->context_columns, 1);
    attnzoo_value_tile_add(worker, strip, values, context, context_step);
    if (problem->source->add_weights != NULL)
        problem->source->add_weights(problem, strip, context + columns, context_step);
    if (!is_finite)
        attnzoo_attention_clear_scores(worker);
}

/* A tile that dense constraints hide whole still has to say so where scores are kept. */
static void keep_hidden_tile(const struct attnzoo_attention_worker *worker, const struct attnzoo_tile *tile)
{
    if (!worker->plan->keeps_scores)
        return;
    for (int64_t row = 0; row < attnzoo_attention_row_count(worker); row++) {
        struct attnzoo_key_span span =
            attnzoo_attention_row_span(worker, row, tile->first_key, tile->first_key + tile->key_count);
        float *scores = (float *)(void *)attnzoo_attention_output_at(worker, row, 0);
        for (int64_t key = span.first; key < span.end; key++)
            scores[key] = -INFINITY;
    }
}

static void add_tile(const struct attnzoo_attention_worker *worker, const struct attnzoo_tile *tile)
{
    const struct attnzoo_attention *problem = worker->problem;
    enum attnzoo_tile_cover tile_cover = attnzoo_mask_tile_cover(&problem->mask, tile, worker->segments_are_spans);
    if (tile_cover == ATTNZOO_TILE_HIDDEN) {
        keep_hidden_tile(worker, tile);
        return;
    }
    if (problem->source->open_keys != NULL)
        problem->source->open_keys(problem, tile, worker->scratch.source_memory);
    bool crosses_frontier = !attnzoo_attention_all_see(worker, tile->first_key, tile->first_key + tile->key_count);
    struct cover cover = {.is_clear = tile_cover == ATTNZOO_TILE_CLEAR,
                          .may_hide = crosses_frontier || tile_cover == ATTNZOO_TILE_MIXED ||
                                      attnzoo_mask_biases_may_hide(&problem->mask),
                          .is_masked = crosses_frontier || problem->mask.is_dense || problem->is_smoothed};
    struct attnzoo_value_tile values = attnzoo_value_tile_open(worker, tile, cover.may_hide);
    struct attnzoo_strip strip = {.tile = tile};
    while (attnzoo_attention_next_strip(worker, &strip))
        add_strip(worker, &strip, cover, &values);
}

static void add_keys(const struct attnzoo_attention_worker *worker, int64_t first_key, int64_t end_key)
{
    struct attnzoo_tile tile;
    for (int64_t key = first_key; attnzoo_attention_next_tile(worker, key, &tile) && tile.first_key < end_key;
         key = tile.first_key + tile.key_count)
        add_tile(worker, &tile);
}

/* What the tasks are given. */
struct job {
    const struct attnzoo_attention_plan *plan;
    void *shared;
};

static void prepare_scratch(const void *context, void *memory)
{
    const struct job *job = context;
    const struct attnzoo_attention_worker worker = {.plan = job->plan,
                                                    .scratch = attnzoo_attention_scratch_at(job->plan, memory)};
    attnzoo_attention_clear_scores(&worker);
}

static void solve_block(const void *context, int64_t item, void *scratch)
{
    const struct job *job = context;
    struct attnzoo_attention_worker worker;
    attnzoo_attention_open_block(&worker, job->plan, item, scratch);
    attnzoo_softmax_start(&worker.scratch.rows, job->plan->row_count, job->plan->context_columns);
    add_keys(&worker, 0, job->plan->problem->key.size[ATTNZOO_ROW]);
    attnzoo_attention_write_outputs(&worker, job->shared);
}

static void solve_chunk(const void *context, int64_t item, void *scratch)
{
    const struct job *job = context;
    const struct attnzoo_attention_plan *plan = job->plan;
    int64_t block = item / plan->chunk_count, chunk = item % plan->chunk_count;
    struct attnzoo_attention_worker worker;
    attnzoo_attention_open_block(&worker, plan, block, scratch);
    worker.scratch.rows = attnzoo_attention_partial_at(plan, job->shared, block, chunk);
    attnzoo_softmax_start(&worker.scratch.rows, plan->row_count, plan->context_columns);
    add_keys(&worker, chunk * plan->keys_per_chunk, (chunk + 1) * plan->keys_per_chunk);
}

static void merge_chunks(const void *context, int64_t item, void *scratch)
{
    const struct job *job = context;
    const struct attnzoo_attention_plan *plan = job->plan;
    struct attnzoo_attention_worker worker;
    attnzoo_attention_open_block(&worker, plan, item, scratch);
    attnzoo_softmax_start(&worker.scratch.rows, plan->row_count, plan->context_columns);
    for (int64_t chunk = 0; chunk < plan->chunk_count; chunk++) {
        struct attnzoo_softmax_rows part = attnzoo_attention_partial_at(plan, job->shared, item, chunk);
        attnzoo_softmax_merge(&worker.scratch.rows, &part, attnzoo_attention_row_count(&worker), plan->context_columns);
    }
    attnzoo_attention_write_outputs(&worker, job->shared);
}

static void average_heads(const void *context, int64_t item, void *scratch)
{
    const struct job *job = context;
    attnzoo_attention_write_average(job->plan, item, scratch, job->shared);
}

static void do_all(const struct attnzoo_pool_claim *claim, attnzoo_pool_task *task, const struct job *job,
                   int64_t item_count)
{
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){task, job, item_count, prepare_scratch});
}

void attnzoo_attention_solve(const struct attnzoo_attention_plan *plan, const struct attnzoo_pool_claim *claim,
                             void *shared)
{
    const struct attnzoo_attention *problem = plan->problem;
    const struct job job = {plan, shared};
    if (plan->chunk_count > 1) {
        do_all(claim, solve_chunk, &job, plan->block_count * plan->chunk_count);
        do_all(claim, merge_chunks, &job, plan->block_count);
    } else {
        do_all(claim, solve_block, &job, plan->block_count);
    }
    if (problem->averages_heads && problem->wants_attention && plan->block_count > 0)
        do_all(claim, average_heads, &job, problem->query.size[ATTNZOO_BATCH] * plan->query_blocks);
}

attnzoo_status attnzoo_attention_run(const struct attnzoo_attention *problem, struct attnzoo_pool *pool)
{
    struct attnzoo_attention_plan plan;
    attnzoo_status status = attnzoo_attention_make_plan(&plan, problem);
    if (status != ATTNZOO_STATUS_OK || plan.block_count == 0)
        return status;
    struct attnzoo_pool_claim claim;
    const struct attnzoo_pool_needs needs = {
        .scratch_bytes = plan.scratch_bytes, .shared_bytes = plan.shared_bytes, .threads_wanted = plan.threads_wanted};
    status = attnzoo_pool_claim(&claim, pool, &needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    attnzoo_attention_solve(&plan, &claim, claim.shared);
    attnzoo_pool_release(&claim);
    return ATTNZOO_STATUS_OK;
}
