/*
 * kernels/attention.c: the work on one block: tiles of scores, online softmax, sums of values, outputs. How a
 * problem is cut into blocks is in attention_plan.c; what masks do is in mask_*.c; where scores come from is a source.
 */
#include "kernels/attention.h"

#include "base/checked.h"
#include "blas/blas.h"
#include "kernels/attention_plan.h"
#include "kernels/softmax.h"
#include "kernels/vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Where a causal or window frontier crosses a tile, rows go in strips of this many, each against the keys that it
 * can see: that cuts the work on the frontier's tiles by almost half. */
enum { STRIP_ROWS = 64 };

/* Multiply-adds worth a thread of their own: far more than waking one costs. */
enum { WORK_PER_THREAD = 1 << 20 };

struct worker {
    const struct attnzoo_attention_plan *plan;
    const struct attnzoo_attention *problem;
    struct attnzoo_attention_scratch scratch;
    struct attnzoo_tile block;
    int64_t value_columns;
};

static struct attnzoo_key_span clip(struct attnzoo_key_span span, int64_t first, int64_t end)
{
    return (struct attnzoo_key_span){attnzoo_base_maximum(span.first, first), attnzoo_base_minimum(span.end, end)};
}

static bool is_empty(struct attnzoo_key_span span)
{
    return span.first >= span.end;
}

static int64_t row_count(const struct attnzoo_tile *tile)
{
    return tile->head_count * tile->query_count;
}

static struct attnzoo_key_span row_span(const struct worker *worker, int64_t row)
{
    return worker->scratch.spans[row % worker->block.query_count];
}

static int64_t row_head(const struct worker *worker, int64_t row)
{
    return worker->block.first_head + row / worker->block.query_count;
}

static int64_t row_query(const struct worker *worker, int64_t row)
{
    return worker->block.first_query + row % worker->block.query_count;
}

/* The keys that any of some rows can see, within limits. */
static struct attnzoo_key_span union_of_spans(const struct worker *worker, int64_t first_row, int64_t rows,
                                              struct attnzoo_key_span limits)
{
    struct attnzoo_key_span all = {limits.end, limits.first};
    rows = attnzoo_base_minimum(rows, worker->block.query_count);
    for (int64_t row = first_row; row < first_row + rows; row++) {
        struct attnzoo_key_span span = clip(row_span(worker, row), limits.first, limits.end);
        if (is_empty(span))
            continue;
        all.first = attnzoo_base_minimum(all.first, span.first);
        all.end = attnzoo_base_maximum(all.end, span.end);
    }
    return all;
}

static bool every_row_sees_all(const struct worker *worker, const struct attnzoo_tile *tile)
{
    for (int64_t query = 0; query < tile->query_count; query++) {
        struct attnzoo_key_span span = worker->scratch.spans[query];
        if (span.first > tile->first_key || span.end < tile->first_key + tile->key_count)
            return false;
    }
    return true;
}

static void start_block(struct worker *worker, const struct attnzoo_attention_plan *plan, int64_t number, void *scratch)
{
    const struct attnzoo_attention *problem = plan->problem;
    *worker = (struct worker){.plan = plan,
                              .problem = problem,
                              .scratch = attnzoo_attention_scratch_at(plan, scratch),
                              .block = attnzoo_attention_block(plan, number),
                              .value_columns = problem->value.size[ATTNZOO_COLUMN]};
    const struct attnzoo_tile *block = &worker->block;
    for (int64_t query = 0; query < block->query_count; query++)
        worker->scratch.spans[query] = attnzoo_mask_span(&problem->mask, block->batch, block->first_query + query);
    memset(worker->scratch.scores, 0, (size_t)(plan->row_count * plan->key_count) * sizeof(float));
    problem->source->open_queries(problem, block, worker->scratch.source_memory);
}

/* A strip of a tile: rows [first_row, first_row + rows) against the tile's keys [first_key, first_key + keys). */
struct strip {
    int64_t first_row;
    int64_t rows;
    int64_t first_key;
    int64_t keys;
    /* No dense constraint hides any of it. */
    bool is_clear;
    /* Some row may not see some key. */
    bool may_hide;
};

static float *strip_scores(const struct worker *worker, int64_t row_in_strip)
{
    return worker->scratch.scores + row_in_strip * worker->plan->key_count;
}

static void score_strip(const struct worker *worker, const struct attnzoo_tile *tile, const struct strip *strip)
{
    const struct attnzoo_attention *problem = worker->problem;
    problem->source->fill(problem, tile, strip->first_row, strip->rows, strip->first_key, strip->keys,
                          worker->scratch.scores, worker->plan->key_count, worker->scratch.source_memory);
    if (problem->softcap > 0.0f)
        for (int64_t row = 0; row < strip->rows; row++)
            attnzoo_kernel_vectors()->cap_scores(strip_scores(worker, row), strip->keys, problem->softcap);
}

/* Masks one row of a strip, and tells which of its scores count, from the strip's first key. */
static struct attnzoo_key_span mask_row(const struct worker *worker, const struct attnzoo_tile *tile,
                                        const struct strip *strip, int64_t row)
{
    int64_t first_key = tile->first_key + strip->first_key;
    struct attnzoo_key_span span = clip(row_span(worker, strip->first_row + row), first_key, first_key + strip->keys);
    if (is_empty(span))
        return (struct attnzoo_key_span){0, 0};
    attnzoo_mask_apply(&worker->problem->mask, tile->batch, row_head(worker, strip->first_row + row),
                       row_query(worker, strip->first_row + row), span.first, span.end - span.first, strip->is_clear,
                       strip_scores(worker, row) + (span.first - first_key), worker->scratch.mask_memory);
    return (struct attnzoo_key_span){span.first - first_key, span.end - first_key};
}

static void clear_outside(float *scores, struct attnzoo_key_span span, int64_t count)
{
    memset(scores, 0, (size_t)span.first * sizeof *scores);
    memset(scores + span.end, 0, (size_t)(count - span.end) * sizeof *scores);
}

/* Turns a strip's scores into weights; returns whether all of them are finite. */
static bool weigh_strip(const struct worker *worker, const struct attnzoo_tile *tile, const struct strip *strip)
{
    bool is_finite = true;
    for (int64_t row = 0; row < strip->rows; row++) {
        float *scores = strip_scores(worker, row);
        struct attnzoo_key_span span = mask_row(worker, tile, strip, row);
        if (is_empty(span)) {
            memset(scores, 0, (size_t)strip->keys * sizeof *scores);
            continue;
        }
        bool is_row_finite = attnzoo_softmax_add(&worker->scratch.rows, strip->first_row + row, worker->value_columns,
                                                 scores + span.first, span.end - span.first,
                                                 worker->problem->mask.is_dense);
        is_finite = is_finite && is_row_finite;
        clear_outside(scores, span, strip->keys);
    }
    return is_finite;
}

/*
 * A value that is NaN or infinite must reach only the rows that see its key, but a product multiplies it by the
 * others' weight of 0 too. So its key is added row by row to those that see it, and the product gets zeros in its
 * place.
 */
static const float *mend_values(const struct worker *worker, const struct attnzoo_tile *tile,
                                const struct strip *strip, struct attnzoo_rows *values)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    const float *source = values->data + strip->first_key * values->step;
    float *mended = NULL;
    for (int64_t key = 0; key < strip->keys; key++) {
        const float *value = source + key * values->step;
        if (vectors->all_finite(value, worker->value_columns))
            continue;
        if (mended == NULL) {
            mended = worker->scratch.mended_values;
            for (int64_t other = 0; other < strip->keys; other++)
                memcpy(mended + other * worker->value_columns, source + other * values->step,
                       (size_t)worker->value_columns * sizeof(float));
        }
        memset(mended + key * worker->value_columns, 0, (size_t)worker->value_columns * sizeof(float));
        for (int64_t row = 0; row < strip->rows; row++)
            if (attnzoo_mask_sees(&worker->problem->mask, tile->batch, row_head(worker, strip->first_row + row),
                                  row_query(worker, strip->first_row + row), tile->first_key + strip->first_key + key))
                vectors->add_scaled(worker->scratch.rows.context + (strip->first_row + row) * worker->value_columns,
                                    value, worker->value_columns, strip_scores(worker, row)[key]);
    }
    if (mended == NULL)
        return source;
    values->step = attnzoo_base_maximum(worker->value_columns, 1);
    return mended;
}

static void add_strip(const struct worker *worker, const struct attnzoo_tile *tile, const struct strip *strip,
                      struct attnzoo_rows values)
{
    score_strip(worker, tile, strip);
    bool is_finite = weigh_strip(worker, tile, strip);
    const float *source = values.data + strip->first_key * values.step;
    if (strip->may_hide)
        source = mend_values(worker, tile, strip, &values);
    attnzoo_blas_multiply_add(strip->rows, worker->value_columns, strip->keys, worker->scratch.scores,
                              worker->plan->key_count, source, values.step,
                              worker->scratch.rows.context + strip->first_row * worker->value_columns,
                              attnzoo_base_maximum(worker->value_columns, 1));
    if (!is_finite)
        memset(worker->scratch.scores, 0,
               (size_t)(worker->plan->row_count * worker->plan->key_count) * sizeof(float));
}

static void add_tile(const struct worker *worker, const struct attnzoo_tile *tile)
{
    const struct attnzoo_attention *problem = worker->problem;
    enum attnzoo_tile_cover cover = attnzoo_mask_tile_cover(&problem->mask, tile);
    if (cover == ATTNZOO_TILE_HIDDEN)
        return;
    problem->source->open_keys(problem, tile, worker->scratch.source_memory);
    int64_t value_head = tile->first_head / worker->plan->heads_per_group;
    struct attnzoo_rows values = attnzoo_grid_rows(&problem->value, tile->batch, value_head, tile->first_key,
                                                   tile->key_count, worker->scratch.value_memory);
    int64_t rows = row_count(tile);
    bool crosses_frontier = !every_row_sees_all(worker, tile);
    bool may_hide = crosses_frontier || cover == ATTNZOO_TILE_MIXED || problem->mask.description->bias.is_set;
    int64_t strip_rows = crosses_frontier && tile->head_count == 1 ? STRIP_ROWS : rows;
    struct attnzoo_key_span limits = {tile->first_key, tile->first_key + tile->key_count};
    for (int64_t first_row = 0; first_row < rows; first_row += strip_rows) {
        struct strip strip = {.first_row = first_row,
                              .rows = attnzoo_base_minimum(strip_rows, rows - first_row),
                              .is_clear = cover == ATTNZOO_TILE_CLEAR,
                              .may_hide = may_hide};
        struct attnzoo_key_span seen = union_of_spans(worker, first_row, strip.rows, limits);
        if (is_empty(seen))
            continue;
        strip.first_key = seen.first - tile->first_key;
        strip.keys = seen.end - seen.first;
        add_strip(worker, tile, &strip, values);
    }
}

/* Cuts a span of keys into tiles of about the same size, rather than leave a sliver at the end. */
static int64_t even_tile_keys(int64_t key_count, int64_t largest)
{
    enum { STEP = 16 };
    int64_t tiles = attnzoo_base_divide_up(key_count, largest);
    int64_t keys = attnzoo_base_divide_up(attnzoo_base_divide_up(key_count, tiles), STEP) * STEP;
    return attnzoo_base_minimum(keys, largest);
}

static void add_keys(const struct worker *worker, int64_t first_key, int64_t end_key)
{
    struct attnzoo_key_span seen =
        union_of_spans(worker, 0, worker->block.query_count, (struct attnzoo_key_span){first_key, end_key});
    if (is_empty(seen))
        return;
    int64_t keys = even_tile_keys(seen.end - seen.first, worker->plan->key_count);
    for (int64_t key = seen.first; key < seen.end; key += keys) {
        struct attnzoo_tile tile = worker->block;
        tile.first_key = key;
        tile.key_count = attnzoo_base_minimum(keys, seen.end - key);
        add_tile(worker, &tile);
    }
}

/* The attention of a block's rows against keys [first, first + count), from finished maxima and sums. */
static void write_attention_tile(const struct worker *worker, int64_t first_key, int64_t key_count)
{
    const struct attnzoo_attention *problem = worker->problem;
    struct attnzoo_tile tile = worker->block;
    tile.first_key = first_key;
    tile.key_count = key_count;
    struct strip strip = {.rows = row_count(&tile), .keys = key_count};
    struct attnzoo_key_span limits = {first_key, first_key + key_count};
    struct attnzoo_key_span seen = union_of_spans(worker, 0, worker->block.query_count, limits);
    enum attnzoo_tile_cover cover = is_empty(seen) ? ATTNZOO_TILE_HIDDEN : attnzoo_mask_tile_cover(&problem->mask, &tile);
    if (cover != ATTNZOO_TILE_HIDDEN) {
        strip.first_key = seen.first - first_key;
        strip.keys = seen.end - seen.first;
        strip.is_clear = cover == ATTNZOO_TILE_CLEAR;
        problem->source->open_keys(problem, &tile, worker->scratch.source_memory);
        score_strip(worker, &tile, &strip);
    }
    const struct attnzoo_grid *out = &problem->attention;
    for (int64_t row = 0; row < strip.rows; row++) {
        float *scores = strip_scores(worker, row);
        struct attnzoo_key_span span = {0, 0};
        if (cover != ATTNZOO_TILE_HIDDEN)
            span = mask_row(worker, &tile, &strip, row);
        attnzoo_softmax_finish_weights(&worker->scratch.rows, row, scores + span.first, span.end - span.first,
                                       problem->mask.is_dense);
        /* Scores start at the strip's first key, the output at the tile's. */
        memmove(scores + strip.first_key, scores, (size_t)strip.keys * sizeof *scores);
        span.first += strip.first_key;
        span.end += strip.first_key;
        clear_outside(scores, span, key_count);
        if (isnan(worker->scratch.rows.sum[row]))
            for (int64_t key = 0; key < key_count; key++)
                scores[key] = NAN;
        attnzoo_kernel_narrow(
            attnzoo_grid_at(out, tile.batch, row_head(worker, row), row_query(worker, row), first_key), out->dtype,
            out->stride[ATTNZOO_COLUMN], scores, key_count);
    }
    memset(worker->scratch.scores, 0, (size_t)(worker->plan->row_count * worker->plan->key_count) * sizeof(float));
}

static void write_outputs(const struct worker *worker)
{
    const struct attnzoo_attention *problem = worker->problem;
    const struct attnzoo_grid *context = &problem->context, *log_sum_exp = &problem->log_sum_exp;
    for (int64_t row = 0; row < row_count(&worker->block); row++) {
        int64_t batch = worker->block.batch, head = row_head(worker, row), query = row_query(worker, row);
        float *values = worker->scratch.rows.context + row * worker->value_columns;
        attnzoo_softmax_finish_context(&worker->scratch.rows, row, values, worker->value_columns);
        attnzoo_kernel_narrow(attnzoo_grid_at(context, batch, head, query, 0), context->dtype,
                              context->stride[ATTNZOO_COLUMN], values, worker->value_columns);
        if (problem->wants_log_sum_exp) {
            float value = attnzoo_softmax_log_sum(&worker->scratch.rows, row);
            attnzoo_kernel_narrow(attnzoo_grid_at(log_sum_exp, batch, head, query, 0), log_sum_exp->dtype, 1, &value,
                                  1);
        }
    }
    int64_t keys = problem->key.size[ATTNZOO_ROW];
    for (int64_t key = 0; problem->wants_attention && key < keys; key += worker->plan->key_count)
        write_attention_tile(worker, key, attnzoo_base_minimum(worker->plan->key_count, keys - key));
}

static void solve_block(const void *job, int64_t item, void *scratch, void *shared)
{
    (void)shared;
    const struct attnzoo_attention_plan *plan = job;
    struct worker worker;
    start_block(&worker, plan, item, scratch);
    attnzoo_softmax_start(&worker.scratch.rows, plan->row_count, worker.value_columns);
    add_keys(&worker, 0, plan->problem->key.size[ATTNZOO_ROW]);
    write_outputs(&worker);
}

static void solve_chunk(const void *job, int64_t item, void *scratch, void *shared)
{
    const struct attnzoo_attention_plan *plan = job;
    int64_t block = item / plan->chunk_count, chunk = item % plan->chunk_count;
    struct worker worker;
    start_block(&worker, plan, block, scratch);
    worker.scratch.rows = attnzoo_attention_partial_at(plan, shared, block, chunk);
    attnzoo_softmax_start(&worker.scratch.rows, plan->row_count, worker.value_columns);
    add_keys(&worker, chunk * plan->keys_per_chunk, (chunk + 1) * plan->keys_per_chunk);
}

static void merge_chunks(const void *job, int64_t item, void *scratch, void *shared)
{
    const struct attnzoo_attention_plan *plan = job;
    struct worker worker;
    start_block(&worker, plan, item, scratch);
    attnzoo_softmax_start(&worker.scratch.rows, plan->row_count, worker.value_columns);
    for (int64_t chunk = 0; chunk < plan->chunk_count; chunk++) {
        struct attnzoo_softmax_rows part = attnzoo_attention_partial_at(plan, shared, item, chunk);
        attnzoo_softmax_merge(&worker.scratch.rows, &part, row_count(&worker.block), worker.value_columns);
    }
    write_outputs(&worker);
}

/* Roughly how many threads' worth of multiply-adds there are. */
static int64_t threads_worth(const struct attnzoo_attention *problem)
{
    double scores = (double)problem->query.size[ATTNZOO_BATCH] * (double)problem->query.size[ATTNZOO_HEAD] *
                    (double)problem->query.size[ATTNZOO_ROW] * (double)problem->key.size[ATTNZOO_ROW];
    double columns =
        (double)problem->query.size[ATTNZOO_COLUMN] + (double)problem->value.size[ATTNZOO_COLUMN];
    double threads = scores * columns / WORK_PER_THREAD;
    return threads < ATTNZOO_POOL_THREADS_MAX ? 1 + (int64_t)threads : ATTNZOO_POOL_THREADS_MAX;
}

attnzoo_status attnzoo_attention_run(const struct attnzoo_attention *problem, struct attnzoo_pool *pool)
{
    bool has_context = problem->value.size[ATTNZOO_COLUMN] > 0;
    bool has_attention = problem->wants_attention && problem->key.size[ATTNZOO_ROW] > 0;
    bool has_rows = problem->query.size[ATTNZOO_BATCH] > 0 && problem->query.size[ATTNZOO_HEAD] > 0 &&
                    problem->query.size[ATTNZOO_ROW] > 0;
    if (!has_rows || (!has_context && !has_attention && !problem->wants_log_sum_exp))
        return ATTNZOO_STATUS_OK;
    struct attnzoo_attention_plan plan;
    attnzoo_status status = attnzoo_attention_make_plan(&plan, problem);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_pool_work work = {.job = &plan,
                                     .phases = {{solve_block, plan.block_count}},
                                     .phase_count = 1,
                                     .threads_wanted = threads_worth(problem),
                                     .scratch_bytes = plan.scratch_bytes,
                                     .shared_bytes = plan.shared_bytes};
    if (plan.chunk_count > 1) {
        work.phases[0] = (struct attnzoo_pool_phase){solve_chunk, plan.block_count * plan.chunk_count};
        work.phases[1] = (struct attnzoo_pool_phase){merge_chunks, plan.block_count};
        work.phase_count = 2;
    }
    return attnzoo_pool_run(pool, &work);
}
