/*
 * kernels/attention_output.c: what becomes of a block whose keys are all added: context, log-sum-exp, and the attention
 * by one of three ways: finished where its scores were kept, made again a tile at a time, or averaged over the heads.
 */
#include "kernels/attention_block.h"

#include "base/checked.h"
#include "kernels/softmax.h"
#include "kernels/vectors.h"

#include <math.h>
#include <string.h>

/* The scores of the row lie in the output, hidden ones as -infinity, within the row's span. */
static void finish_kept_row(const struct attnzoo_attention_worker *worker, int64_t row)
{
    int64_t keys = worker->problem->key.size[ATTNZOO_ROW];
    float *weights = (float *)(void *)attnzoo_attention_output_at(worker, row, 0);
    struct attnzoo_key_span span = attnzoo_attention_row_span(worker, row, 0, keys);
    if (attnzoo_attention_is_empty(span))
        span = (struct attnzoo_key_span){0, 0};
    attnzoo_softmax_finish_weights(&worker->scratch.rows, row, weights + span.first, span.end - span.first,
                                   worker->problem->mask.is_dense);
    attnzoo_attention_damp(worker, row, span.first, span.end - span.first, weights + span.first);
    attnzoo_attention_clear_outside(weights, span, keys);
    for (int64_t key = 0; isnan(worker->scratch.rows.sum[row]) && key < keys; key++)
        weights[key] = NAN;
}

/* What becomes of the weights of a row against some keys from first_key on. */
typedef void take_weights(const struct attnzoo_attention_worker *worker, int64_t row, int64_t first_key,
                          const float *weights, int64_t count, void *target);

/* The weights of a strip, from finished maxima and sums; those of rows that are NaN as a whole are not given away. */
static void weigh_strip_again(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip,
                              bool is_clear, take_weights *take, void *target)
{
    const struct attnzoo_softmax_rows *rows = &worker->scratch.rows;
    bool has_nan = false;
    attnzoo_attention_score(worker, strip);
    for (int64_t i = 0; i < strip->row_count; i++) {
        int64_t row = strip->first_row + i;
        float *scores = attnzoo_attention_row_scores(strip, i);
        struct attnzoo_key_span span = attnzoo_attention_mask_row(worker, strip, i, is_clear);
        attnzoo_softmax_finish_weights(rows, row, scores + span.first, span.end - span.first,
                                       worker->problem->mask.is_dense);
        attnzoo_attention_damp(worker, row, strip->tile->first_key + strip->first_key + span.first,
                               span.end - span.first, scores + span.first);
        attnzoo_attention_clear_outside(scores, span, strip->key_count);
        if (isnan(rows->sum[row]))
            has_nan = true;
        else
            take(worker, row, strip->tile->first_key + strip->first_key + span.first, scores + span.first,
                 span.end - span.first, target);
    }
    if (has_nan)
        attnzoo_attention_clear_scores(worker);
}

/*
 * The weights of a tile: its strips are those in which its keys were added, for scores that were rounded otherwise
 * would not fit the maxima and sums.
 */
static void weigh_tile_again(const struct attnzoo_attention_worker *worker, const struct attnzoo_tile *tile,
                             take_weights *take, void *target)
{
    const struct attnzoo_attention *problem = worker->problem;
    enum attnzoo_tile_cover cover = attnzoo_mask_tile_cover(&problem->mask, tile, worker->segments_are_spans);
    if (cover == ATTNZOO_TILE_HIDDEN)
        return;
    if (problem->source->open_keys != NULL)
        problem->source->open_keys(problem, tile, worker->scratch.source_memory);
    struct attnzoo_strip strip = {.tile = tile};
    while (attnzoo_attention_next_strip(worker, &strip))
        weigh_strip_again(worker, &strip, cover == ATTNZOO_TILE_CLEAR, take, target);
}

static void write_weights(const struct attnzoo_attention_worker *worker, int64_t row, int64_t first_key,
                          const float *weights, int64_t count, void *target)
{
    (void)target;
    const struct attnzoo_grid *out = &worker->problem->attention;
    attnzoo_kernel_narrow(attnzoo_attention_output_at(worker, row, first_key), out->dtype, out->stride[ATTNZOO_COLUMN],
                          weights, count);
}

/* What a row's attention is where nothing is seen: 0, or NaN in a row that is NaN as a whole. */
static void write_unseen(const struct attnzoo_attention_worker *worker, int64_t row)
{
    int64_t keys = worker->problem->key.size[ATTNZOO_ROW], most = worker->plan->key_count;
    float *piece = worker->scratch.scores;
    for (int64_t key = 0; key < most; key++)
        piece[key] = isnan(worker->scratch.rows.sum[row]) ? NAN : 0.0f;
    for (int64_t key = 0; key < keys; key += most)
        write_weights(worker, row, key, piece, attnzoo_base_minimum(most, keys - key), NULL);
}

static void write_attention_again(const struct attnzoo_attention_worker *worker)
{
    struct attnzoo_tile tile;
    for (int64_t row = 0; row < attnzoo_attention_row_count(worker); row++)
        write_unseen(worker, row);
    attnzoo_attention_clear_scores(worker);
    for (int64_t key = 0; attnzoo_attention_next_tile(worker, key, &tile); key = tile.first_key + tile.key_count)
        weigh_tile_again(worker, &tile, write_weights, NULL);
}

static void write_context(const struct attnzoo_attention_worker *worker, int64_t row)
{
    const struct attnzoo_attention *problem = worker->problem;
    const struct attnzoo_softmax_rows *rows = &worker->scratch.rows;
    const struct attnzoo_grid *out = &problem->context;
    int64_t columns = problem->value.size[ATTNZOO_COLUMN];
    float *context = attnzoo_attention_row_context(worker, row);
    char *destination = attnzoo_grid_at(out, worker->block.batch, attnzoo_attention_row_head(worker, row),
                                        attnzoo_attention_row_query(worker, row), 0);
    bool is_final = problem->source->finish == NULL;
    if (is_final && out->dtype == ATTNZOO_DTYPE_FLOAT32 && out->stride[ATTNZOO_COLUMN] == 1) {
        attnzoo_softmax_finish_context(rows, row, context, (float *)(void *)destination, columns);
        return;
    }
    attnzoo_softmax_finish_context(rows, row, context, context, worker->plan->context_columns);
    if (!is_final && rows->sum[row] != 0.0)
        problem->source->finish(problem, context, context + columns);
    attnzoo_kernel_narrow(destination, out->dtype, out->stride[ATTNZOO_COLUMN], context, columns);
}

static void write_log_sum_exp(const struct attnzoo_attention_worker *worker, int64_t row)
{
    const struct attnzoo_grid *out = &worker->problem->log_sum_exp;
    float value = attnzoo_softmax_log_sum(&worker->scratch.rows, row);
    attnzoo_kernel_narrow(attnzoo_grid_at(out, worker->block.batch, attnzoo_attention_row_head(worker, row),
                                          attnzoo_attention_row_query(worker, row), 0),
                          out->dtype, 1, &value, 1);
}

void attnzoo_attention_write_outputs(const struct attnzoo_attention_worker *worker, void *shared)
{
    const struct attnzoo_attention *problem = worker->problem;
    const struct attnzoo_softmax_rows *rows = &worker->scratch.rows;
    int64_t row_count = attnzoo_attention_row_count(worker);
    for (int64_t row = 0; row < row_count; row++) {
        if (problem->sinks != NULL)
            attnzoo_softmax_add_sink(rows, row, worker->plan->context_columns,
                                     problem->sinks[attnzoo_attention_row_head(worker, row)]);
        write_context(worker, row);
        if (problem->wants_log_sum_exp)
            write_log_sum_exp(worker, row);
        if (worker->plan->keeps_scores)
            finish_kept_row(worker, row);
    }
    if (!problem->wants_attention || worker->plan->keeps_scores)
        return;
    if (problem->averages_heads) {
        memcpy(attnzoo_attention_maxima_at(worker->plan, shared, worker->block_number), rows->maximum,
               (size_t)row_count * sizeof *rows->maximum);
        memcpy(attnzoo_attention_sums_at(worker->plan, shared, worker->block_number), rows->sum,
               (size_t)row_count * sizeof *rows->sum);
    } else {
        write_attention_again(worker);
    }
}

/* The average over the heads of some queries' attention to some keys, while it is being made. */
struct average {
    /* [queries, keys], a plan's key_count from row to row. */
    float *sums;
    /* A tile, or keys that no query sees. */
    struct attnzoo_key_span keys;
    bool are_seen;
};

static void add_weights(const struct attnzoo_attention_worker *worker, int64_t row, int64_t first_key,
                        const float *weights, int64_t count, void *target)
{
    const struct average *average = target;
    float *sums = average->sums + row % worker->block.query_count * worker->plan->key_count;
    attnzoo_kernel_vectors()->add_scaled(sums + (first_key - average->keys.first), weights, count, 1.0f);
}

/* Adds one block's attention to the average of its queries. Heads see alike, so that a tile is one of each. */
static void add_to_average(const struct attnzoo_attention_plan *plan, int64_t block, struct average *average,
                           void *scratch, void *shared)
{
    struct attnzoo_attention_worker worker;
    attnzoo_attention_open_block(&worker, plan, block, scratch);
    worker.scratch.rows.maximum = attnzoo_attention_maxima_at(plan, shared, block);
    worker.scratch.rows.sum = attnzoo_attention_sums_at(plan, shared, block);
    struct attnzoo_tile tile = worker.block;
    tile.first_key = average->keys.first;
    tile.key_count = average->keys.end - average->keys.first;
    if (average->are_seen)
        weigh_tile_again(&worker, &tile, add_weights, average);
    for (int64_t row = 0; row < attnzoo_attention_row_count(&worker); row++)
        if (isnan(worker.scratch.rows.sum[row]))
            average->sums[row % worker.block.query_count * plan->key_count] = NAN;
}

/* Moves an average on to the keys that follow, by the first of its blocks. */
static void go_on(const struct attnzoo_attention_plan *plan, int64_t block, struct average *average, void *scratch)
{
    struct attnzoo_attention_worker worker;
    struct attnzoo_tile tile;
    int64_t key = average->keys.end;
    int64_t end = attnzoo_base_minimum(key + plan->key_count, plan->problem->key.size[ATTNZOO_ROW]);
    attnzoo_attention_open_block(&worker, plan, block, scratch);
    bool is_followed = attnzoo_attention_next_tile(&worker, key, &tile);
    average->are_seen = is_followed && tile.first_key == key;
    if (average->are_seen)
        end = key + tile.key_count;
    else if (is_followed)
        end = attnzoo_base_minimum(end, tile.first_key);
    average->keys = (struct attnzoo_key_span){key, end};
}

static void write_average(const struct attnzoo_attention_plan *plan, const struct attnzoo_tile *rows,
                          const struct average *average)
{
    const struct attnzoo_attention *problem = plan->problem;
    const struct attnzoo_grid *out = &problem->attention;
    int64_t count = average->keys.end - average->keys.first;
    for (int64_t query = 0; query < rows->query_count; query++) {
        float *weights = average->sums + query * plan->key_count;
        attnzoo_kernel_vectors()->scale(weights, weights, count, 1.0f / (float)problem->query.size[ATTNZOO_HEAD]);
        /* NaN in the first place is in all of them. */
        for (int64_t key = 0; isnan(weights[0]) && key < count; key++)
            weights[key] = NAN;
        attnzoo_kernel_narrow(attnzoo_grid_at(out, rows->batch, 0, rows->first_query + query, average->keys.first),
                              out->dtype, out->stride[ATTNZOO_COLUMN], weights, count);
    }
}

void attnzoo_attention_write_average(const struct attnzoo_attention_plan *plan, int64_t item, void *scratch,
                                     void *shared)
{
    const struct attnzoo_attention *problem = plan->problem;
    int64_t blocks_per_batch = plan->block_count / problem->query.size[ATTNZOO_BATCH];
    int64_t batch = item / plan->query_blocks, query_block = item % plan->query_blocks;
    int64_t first_block = batch * blocks_per_batch + query_block, end_block = (batch + 1) * blocks_per_batch;
    struct attnzoo_tile rows = attnzoo_attention_block(plan, first_block);
    struct average average = {.sums = attnzoo_attention_scratch_at(plan, scratch).average};
    while (average.keys.end < problem->key.size[ATTNZOO_ROW]) {
        go_on(plan, first_block, &average, scratch);
        memset(average.sums, 0, (size_t)(rows.query_count * plan->key_count) * sizeof *average.sums);
        for (int64_t block = first_block; block < end_block; block += plan->query_blocks)
            add_to_average(plan, block, &average, scratch, shared);
        write_average(plan, &rows, &average);
    }
}
