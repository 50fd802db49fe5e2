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
    attnzoo_attention_clear_outside(weights, span, keys);
    for (int64_t key = 0; isnan(worker->scratch.rows.sum[row]) && key < keys; key++)
        weights[key] = NAN;
}

/*
 * The weights of all the block's rows against keys [first, first + count), from finished maxima and sums, into the
 * score tile. Keys that no row may see are not touched.
 */
static void weigh_again(const struct attnzoo_attention_worker *worker, int64_t first_key, int64_t key_count)
{
    const struct attnzoo_attention *problem = worker->problem;
    int64_t rows = attnzoo_attention_row_count(worker);
    struct attnzoo_key_span seen = attnzoo_attention_rows_span(worker, 0, rows, first_key, first_key + key_count);
    enum attnzoo_tile_cover cover = ATTNZOO_TILE_HIDDEN;
    struct attnzoo_tile tile = worker->block;
    struct attnzoo_strip strip = {
        .tile = &tile, .row_count = rows, .scores = worker->scratch.scores, .step = worker->plan->key_count};
    if (!attnzoo_attention_is_empty(seen)) {
        tile.first_key = seen.first;
        tile.key_count = strip.key_count = seen.end - seen.first;
        cover = attnzoo_mask_tile_cover(&problem->mask, &tile, worker->segments_are_spans);
    }
    if (cover != ATTNZOO_TILE_HIDDEN) {
        if (problem->source->open_keys != NULL)
            problem->source->open_keys(problem, &tile, worker->scratch.source_memory);
        attnzoo_attention_score(worker, &strip);
    }
    for (int64_t row = 0; row < rows; row++) {
        float *scores = attnzoo_attention_row_scores(&strip, row);
        struct attnzoo_key_span span = {0, 0};
        if (cover != ATTNZOO_TILE_HIDDEN)
            span = attnzoo_attention_mask_row(worker, &strip, row, cover == ATTNZOO_TILE_CLEAR);
        attnzoo_softmax_finish_weights(&worker->scratch.rows, row, scores + span.first, span.end - span.first,
                                       problem->mask.is_dense);
        /* Scores start at the first key that is seen, the weights at first_key. */
        int64_t offset = attnzoo_attention_is_empty(span) ? 0 : tile.first_key - first_key;
        memmove(scores + offset + span.first, scores + span.first, (size_t)(span.end - span.first) * sizeof *scores);
        span.first += offset;
        span.end += offset;
        attnzoo_attention_clear_outside(scores, span, key_count);
        for (int64_t key = 0; isnan(worker->scratch.rows.sum[row]) && key < key_count; key++)
            scores[key] = NAN;
    }
}

static float *weights_of(const struct attnzoo_attention_worker *worker, int64_t row)
{
    return worker->scratch.scores + row * worker->plan->key_count;
}

static void write_attention_again(const struct attnzoo_attention_worker *worker)
{
    const struct attnzoo_grid *out = &worker->problem->attention;
    int64_t keys = worker->problem->key.size[ATTNZOO_ROW];
    for (int64_t key = 0; key < keys; key += worker->plan->key_count) {
        int64_t count = attnzoo_base_minimum(worker->plan->key_count, keys - key);
        weigh_again(worker, key, count);
        for (int64_t row = 0; row < attnzoo_attention_row_count(worker); row++)
            attnzoo_kernel_narrow(attnzoo_attention_output_at(worker, row, key), out->dtype,
                                  out->stride[ATTNZOO_COLUMN], weights_of(worker, row), count);
        attnzoo_attention_clear_scores(worker);
    }
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

/* Adds one block's attention to the average of its queries. */
static void add_to_average(const struct attnzoo_attention_plan *plan, int64_t block, int64_t first_key,
                           int64_t key_count, void *scratch, void *shared)
{
    struct attnzoo_attention_worker worker;
    attnzoo_attention_open_block(&worker, plan, block, scratch);
    worker.scratch.rows.maximum = attnzoo_attention_maxima_at(plan, shared, block);
    worker.scratch.rows.sum = attnzoo_attention_sums_at(plan, shared, block);
    weigh_again(&worker, first_key, key_count);
    for (int64_t row = 0; row < attnzoo_attention_row_count(&worker); row++)
        attnzoo_kernel_vectors()->add_scaled(worker.scratch.average + row % worker.block.query_count * plan->key_count,
                                             weights_of(&worker, row), key_count, 1.0f);
}

void attnzoo_attention_write_average(const struct attnzoo_attention_plan *plan, int64_t item, void *scratch,
                                     void *shared)
{
    const struct attnzoo_attention *problem = plan->problem;
    const struct attnzoo_grid *out = &problem->attention;
    int64_t keys = problem->key.size[ATTNZOO_ROW], head_count = problem->query.size[ATTNZOO_HEAD];
    int64_t blocks_per_batch = plan->block_count / problem->query.size[ATTNZOO_BATCH];
    int64_t batch = item / plan->query_blocks, query_block = item % plan->query_blocks;
    int64_t first_block = batch * blocks_per_batch + query_block, end_block = (batch + 1) * blocks_per_batch;
    struct attnzoo_tile rows = attnzoo_attention_block(plan, first_block);
    float *average = attnzoo_attention_scratch_at(plan, scratch).average;
    for (int64_t key = 0; key < keys; key += plan->key_count) {
        int64_t count = attnzoo_base_minimum(plan->key_count, keys - key);
        memset(average, 0, (size_t)(rows.query_count * plan->key_count) * sizeof *average);
        for (int64_t block = first_block; block < end_block; block += plan->query_blocks)
            add_to_average(plan, block, key, count, scratch, shared);
        for (int64_t query = 0; query < rows.query_count; query++) {
            float *weights = average + query * plan->key_count;
            attnzoo_kernel_vectors()->scale(weights, weights, count, 1.0f / (float)head_count);
            attnzoo_kernel_narrow(attnzoo_grid_at(out, batch, 0, rows.first_query + query, key), out->dtype,
                                  out->stride[ATTNZOO_COLUMN], weights, count);
        }
    }
}
