/*
 * kernels/selection.c: the walk over a block's keys that keeps, for each row, the best key so far beside the softmax's
 * maximum and sum, and what is written of it at the end.
 *
 * ENTROPY. With m the maximum, Z = sum exp(s_j - m) and T = sum exp(s_j - m) (s_j - m): -sum p_j ln p_j = ln Z - T / Z.
 * Every term of T is at most 0 and ln Z at least 0, so nothing cancels. Where m rises by d, T becomes exp(-d) (T - d Z).
 *
 * SAMPLING compares pairs: key j beats the best one b if s_j - s_b > g_b - g_j, in double. So scores of any size do not
 * swallow the noise, as they would in s + g. Most keys need no logarithm: with E = -ln(1 - v), g = -ln E, key j wins only
 * if E_j < exp(s_j - m) E_b exp(m - s_b), and E_j > v_j. The exponential of s_j - m is the softmax's weight.
 */
#include "kernels/selection.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/attention_block.h"
#include "kernels/philox.h"
#include "kernels/softmax.h"

#include <math.h>
#include <string.h>

/* A weight below a float's normal range counts as 0; else it is within this share of exp(s - m), rounding included:
 * 2 ulp, and half an ulp of an exponent that is at most 88. */
static const double WEIGHT_SLACK = 1e-5;

/* What a row has chosen so far. */
struct choice {
    /* -1 for nothing. */
    int64_t key;
    float score;
    /* Sampling: E and g of the key. */
    double exponential;
    double noise;
    /* T, relative to the row's maximum. */
    double spread;
};

static const struct choice NOTHING = {.key = -1, .score = -INFINITY};

/* One block at work. */
struct chooser {
    struct attnzoo_attention_worker worker;
    const struct attnzoo_selection *selection;
    /* [rows] */
    struct choice *choices;
    /* [keys]: a row's scores, while its weights are where they were. */
    float *scores;
};

/* Some keys of a row: scores and weights relative to the row's maximum. */
struct candidates {
    int64_t row;
    int64_t first_key;
    int64_t count;
    const float *scores;
    const float *weights;
};

static void choose_largest(struct choice *choice, const struct candidates *candidates, float maximum)
{
    if (!(maximum > choice->score))
        return;
    int64_t place = 0;
    while (place < candidates->count && candidates->scores[place] != maximum)
        place++;
    /* A row whose scores are all NaN has a maximum that none of them is. */
    if (place == candidates->count)
        return;
    choice->key = candidates->first_key + place;
    choice->score = maximum;
}

static bool is_beaten(const struct choice *best, const struct choice *other)
{
    return best->key < 0 || (double)other->score - (double)best->score > best->noise - other->noise;
}

/* No key of a weight w and a uniform number of at least w times this can win. */
static double threshold(const struct choice *choice, float maximum)
{
    if (choice->key < 0)
        return INFINITY;
    return (1.0 + WEIGHT_SLACK) * choice->exponential * exp((double)maximum - (double)choice->score);
}

/* Lets a key, by its place among the candidates, try its luck; returns the threshold for the next. */
static double try_key(struct choice *choice, const struct candidates *candidates, int64_t place, double uniform,
                      float maximum, double limit)
{
    const double exponential = -log1p(-uniform);
    const struct choice other = {.key = candidates->first_key + place,
                                 .score = candidates->scores[place],
                                 .exponential = exponential,
                                 .noise = -log(exponential),
                                 .spread = choice->spread};
    if (!is_beaten(choice, &other))
        return limit;
    *choice = other;
    return threshold(choice, maximum);
}

static void draw(const struct chooser *chooser, struct choice *choice, const struct candidates *candidates,
                 float maximum)
{
    const struct attnzoo_attention_worker *worker = &chooser->worker;
    const uint64_t seed = chooser->selection->seed;
    struct attnzoo_philox_block counter = {{0, (uint32_t)attnzoo_attention_row_query(worker, candidates->row),
                                            (uint32_t)attnzoo_attention_row_head(worker, candidates->row),
                                            (uint32_t)worker->block.batch}};
    double limit = threshold(choice, maximum);
    int64_t odd = candidates->first_key & 1;
    /* Pairs of keys that share a block; the first and the last may have one key among the candidates. */
    for (int64_t place = -odd; place < candidates->count; place += 2) {
        float even_weight = place >= 0 ? candidates->weights[place] : 0.0f;
        float odd_weight = place + 1 < candidates->count ? candidates->weights[place + 1] : 0.0f;
        if (!(even_weight > 0.0f) && !(odd_weight > 0.0f))
            continue;
        counter.words[0] = (uint32_t)((candidates->first_key + place) >> 1);
        struct attnzoo_philox_block drawn = attnzoo_philox(counter, seed);
        double even = attnzoo_philox_uniform(drawn.words[0], drawn.words[1]);
        double other = attnzoo_philox_uniform(drawn.words[2], drawn.words[3]);
        if (even_weight > 0.0f && even < even_weight * limit)
            limit = try_key(choice, candidates, place, even, maximum, limit);
        if (odd_weight > 0.0f && other < odd_weight * limit)
            limit = try_key(choice, candidates, place + 1, other, maximum, limit);
    }
}

/* T after the row's maximum rose by so much, sum being Z after it. */
static double lowered_spread(double spread, double sum, double rise)
{
    return sum == 0.0 ? 0.0 : spread * exp(-rise) - rise * sum;
}

static double spread_of(const struct candidates *candidates, float maximum)
{
    double spread = 0.0;
    for (int64_t i = 0; i < candidates->count; i++)
        if (candidates->weights[i] > 0.0f)
            spread += candidates->weights[i] * ((double)candidates->scores[i] - (double)maximum);
    return spread;
}

/* Adds scores of a row, masked; returns whether all are finite. They become weights. */
static bool meet(const struct chooser *chooser, int64_t row, int64_t first_key, float *scores, int64_t count)
{
    const struct attnzoo_attention_worker *worker = &chooser->worker;
    const struct attnzoo_softmax_rows *rows = &worker->scratch.rows;
    struct choice *choice = &chooser->choices[row];
    float before = rows->maximum[row];
    attnzoo_softmax_meet(rows, row, worker->plan->context_columns, scores, count, worker->problem->mask.is_dense);
    float maximum = rows->maximum[row];
    choice->spread = lowered_spread(choice->spread, rows->sum[row], (double)maximum - (double)before);
    memcpy(chooser->scores, scores, (size_t)count * sizeof *scores);
    bool is_finite = attnzoo_softmax_weigh(rows, row, scores, count);
    const struct candidates candidates = {row, first_key, count, chooser->scores, scores};
    if (chooser->selection->wants_entropy)
        choice->spread += spread_of(&candidates, maximum);
    if (chooser->selection->is_sampled)
        draw(chooser, choice, &candidates, maximum);
    else
        choose_largest(choice, &candidates, maximum);
    return is_finite;
}

static void add_strip(const struct chooser *chooser, const struct attnzoo_strip *strip, bool is_clear, bool is_masked)
{
    const struct attnzoo_attention_worker *worker = &chooser->worker;
    bool is_finite = true;
    attnzoo_attention_score(worker, strip);
    for (int64_t row = 0; row < strip->row_count; row++) {
        float *scores = attnzoo_attention_row_scores(strip, row);
        struct attnzoo_key_span span = {0, strip->key_count};
        if (is_masked)
            span = attnzoo_attention_mask_row(worker, strip, row, is_clear);
        if (!attnzoo_attention_is_empty(span))
            is_finite &= meet(chooser, strip->first_row + row, strip->tile->first_key + strip->first_key + span.first,
                              scores + span.first, span.end - span.first);
        attnzoo_attention_clear_outside(scores, span, strip->key_count);
    }
    if (!is_finite)
        attnzoo_attention_clear_scores(worker);
}

static void add_tile(const struct chooser *chooser, const struct attnzoo_tile *tile)
{
    const struct attnzoo_attention_worker *worker = &chooser->worker;
    const struct attnzoo_attention *problem = worker->problem;
    enum attnzoo_tile_cover cover = attnzoo_mask_tile_cover(&problem->mask, tile, worker->segments_are_spans);
    if (cover == ATTNZOO_TILE_HIDDEN)
        return;
    if (problem->source->open_keys != NULL)
        problem->source->open_keys(problem, tile, worker->scratch.source_memory);
    bool is_masked = problem->mask.is_dense ||
                     !attnzoo_attention_all_see(worker, tile->first_key, tile->first_key + tile->key_count);
    struct attnzoo_strip strip = {.tile = tile};
    while (attnzoo_attention_next_strip(worker, &strip))
        add_strip(chooser, &strip, cover == ATTNZOO_TILE_CLEAR, is_masked);
}

static void add_keys(const struct chooser *chooser, int64_t first_key, int64_t end_key)
{
    struct attnzoo_tile tile;
    for (int64_t key = first_key; attnzoo_attention_next_tile(&chooser->worker, key, &tile) && tile.first_key < end_key;
         key = tile.first_key + tile.key_count)
        add_tile(chooser, &tile);
}

/* Adds what a row chose among later keys, and their sums, to what it chose before. */
static void merge(struct choice *choice, const struct choice *part, const struct attnzoo_selection *selection)
{
    bool wins = part->key >= 0 && (selection->is_sampled ? is_beaten(choice, part) : part->score > choice->score);
    double spread = choice->spread;
    if (wins)
        *choice = *part;
    choice->spread = spread;
}

static void merge_part(const struct chooser *chooser, const struct attnzoo_softmax_rows *part,
                       const struct choice *choices)
{
    const struct attnzoo_attention_worker *worker = &chooser->worker;
    const struct attnzoo_softmax_rows *rows = &worker->scratch.rows;
    for (int64_t row = 0; row < attnzoo_attention_row_count(worker); row++) {
        if (part->sum[row] == 0.0)
            continue;
        double maximum = fmax((double)rows->maximum[row], (double)part->maximum[row]);
        double rise = maximum - (double)rows->maximum[row], part_rise = maximum - (double)part->maximum[row];
        chooser->choices[row].spread = lowered_spread(chooser->choices[row].spread, rows->sum[row] * exp(-rise), rise) +
                                       lowered_spread(choices[row].spread, part->sum[row] * exp(-part_rise), part_rise);
        merge(&chooser->choices[row], &choices[row], chooser->selection);
    }
    attnzoo_softmax_merge(rows, part, attnzoo_attention_row_count(worker), worker->plan->context_columns);
}

static char *element(const struct chooser *chooser, const struct attnzoo_grid *grid, int64_t row, int64_t column)
{
    return attnzoo_grid_at(grid, chooser->worker.block.batch, attnzoo_attention_row_head(&chooser->worker, row),
                           attnzoo_attention_row_query(&chooser->worker, row), column);
}

/* The same number in so many places of a row. */
static void write_repeated(const struct chooser *chooser, const struct attnzoo_grid *out, int64_t row, float number)
{
    int64_t columns = out->size[ATTNZOO_COLUMN], most = chooser->worker.plan->key_count;
    for (int64_t i = 0; i < attnzoo_base_minimum(columns, most); i++)
        chooser->scores[i] = number;
    for (int64_t column = 0; column < columns; column += most)
        attnzoo_kernel_narrow(element(chooser, out, row, column), out->dtype, out->stride[ATTNZOO_COLUMN],
                              chooser->scores, attnzoo_base_minimum(most, columns - column));
}

/* Copies elements of one type, bit by bit. */
static void copy_elements(char *destination, int64_t destination_stride, const char *source, int64_t source_stride,
                          int64_t count, size_t bytes)
{
    if (destination_stride == 1 && source_stride == 1) {
        memcpy(destination, source, (size_t)count * bytes);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(destination + i * destination_stride * (int64_t)bytes, source + i * source_stride * (int64_t)bytes,
               bytes);
}

/* The value that was chosen. */
static void write_value(const struct chooser *chooser, int64_t row, int64_t key)
{
    const struct attnzoo_attention *problem = chooser->selection->problem;
    const struct attnzoo_grid *value = &problem->value, *out = &problem->context;
    int64_t head = attnzoo_attention_key_head(problem, &chooser->worker.block);
    int64_t columns = value->size[ATTNZOO_COLUMN], most = chooser->worker.plan->key_count;
    for (int64_t column = 0; column < columns; column += most) {
        int64_t count = attnzoo_base_minimum(most, columns - column);
        char *destination = element(chooser, out, row, column);
        const char *source = attnzoo_grid_at(value, chooser->worker.block.batch, head, key, column);
        if (value->dtype == out->dtype) {
            copy_elements(destination, out->stride[ATTNZOO_COLUMN], source, value->stride[ATTNZOO_COLUMN], count,
                          (size_t)attnzoo_base_dtype_size(value->dtype));
            continue;
        }
        attnzoo_kernel_widen(chooser->scores, source, value->dtype, value->stride[ATTNZOO_COLUMN], count);
        attnzoo_kernel_narrow(destination, out->dtype, out->stride[ATTNZOO_COLUMN], chooser->scores, count);
    }
}

static void write_float(const struct chooser *chooser, const struct attnzoo_grid *out, int64_t row, double number)
{
    float rounded = (float)number;
    attnzoo_kernel_narrow(element(chooser, out, row, 0), out->dtype, 1, &rounded, 1);
}

static void write_index(const struct chooser *chooser, int64_t row, int64_t key)
{
    const struct attnzoo_grid *out = &chooser->selection->index;
    const int32_t narrow = (int32_t)key;
    if (out->dtype == ATTNZOO_DTYPE_INT32)
        memcpy(element(chooser, out, row, 0), &narrow, sizeof narrow);
    else
        memcpy(element(chooser, out, row, 0), &key, sizeof key);
}

/* A row that sees nothing has chosen nothing, with certainty; one that sees a NaN cannot tell. */
static void write_row(const struct chooser *chooser, int64_t row)
{
    const struct attnzoo_selection *selection = chooser->selection;
    const struct attnzoo_attention *problem = selection->problem;
    const struct choice *choice = &chooser->choices[row];
    double maximum = (double)chooser->worker.scratch.rows.maximum[row], sum = chooser->worker.scratch.rows.sum[row];
    bool sees = sum != 0.0, is_nan = isnan(sum);
    float other = is_nan ? NAN : 0.0f;
    int64_t key = sees && !is_nan ? choice->key : -1;
    if (key >= 0)
        write_value(chooser, row, key);
    else
        write_repeated(chooser, &problem->context, row, other);
    if (problem->wants_attention) {
        const float one = 1.0f;
        write_repeated(chooser, &problem->attention, row, other);
        if (key >= 0)
            attnzoo_kernel_narrow(element(chooser, &problem->attention, row, key), problem->attention.dtype, 1, &one,
                                  1);
    }
    if (selection->wants_index)
        write_index(chooser, row, key);
    /* The sum is at least 1 but for rounding: what that would put on the wrong side of 0 is 0. */
    double log_probability = key >= 0 ? fmin((double)choice->score - maximum - log(sum), 0.0) : (double)other;
    double entropy = key >= 0 ? fmax(log(sum) - choice->spread / sum, 0.0) : (double)other;
    if (selection->wants_log_probability)
        write_float(chooser, &selection->log_probability, row, log_probability);
    if (selection->wants_entropy)
        write_float(chooser, &selection->entropy, row, entropy);
}

static void write_rows(const struct chooser *chooser)
{
    for (int64_t row = 0; row < attnzoo_attention_row_count(&chooser->worker); row++)
        write_row(chooser, row);
}

/* What the tasks are given. */
struct job {
    const struct attnzoo_selection_plan *plan;
    char *shared;
};

static struct choice *choices_of_chunk(const struct job *job, int64_t block, int64_t chunk)
{
    struct choice *all = (void *)(job->shared + job->plan->parts_offset);
    return all + (block * job->plan->plan.chunk_count + chunk) * job->plan->plan.row_count;
}

static void open_block(struct chooser *chooser, const struct job *job, int64_t block, void *scratch)
{
    attnzoo_attention_open_block(&chooser->worker, &job->plan->plan, block, scratch);
    chooser->selection = job->plan->selection;
    chooser->choices = (void *)((char *)scratch + job->plan->choices_offset);
    chooser->scores = (void *)((char *)scratch + job->plan->scores_offset);
}

static void start(const struct chooser *chooser)
{
    const struct attnzoo_attention_plan *plan = chooser->worker.plan;
    attnzoo_softmax_start(&chooser->worker.scratch.rows, plan->row_count, plan->context_columns);
    for (int64_t row = 0; row < plan->row_count; row++)
        chooser->choices[row] = NOTHING;
}

static void prepare_scratch(const void *context, void *memory)
{
    const struct job *job = context;
    const struct attnzoo_attention_worker worker = {.plan = &job->plan->plan,
                                                    .scratch = attnzoo_attention_scratch_at(&job->plan->plan, memory)};
    attnzoo_attention_clear_scores(&worker);
}

static void solve_block(const void *context, int64_t item, void *scratch)
{
    struct chooser chooser;
    open_block(&chooser, context, item, scratch);
    start(&chooser);
    add_keys(&chooser, 0, chooser.worker.problem->key.size[ATTNZOO_ROW]);
    write_rows(&chooser);
}

static void solve_chunk(const void *context, int64_t item, void *scratch)
{
    const struct job *job = context;
    const struct attnzoo_attention_plan *plan = &job->plan->plan;
    int64_t block = item / plan->chunk_count, chunk = item % plan->chunk_count;
    struct chooser chooser;
    open_block(&chooser, job, block, scratch);
    chooser.worker.scratch.rows = attnzoo_attention_partial_at(plan, job->shared, block, chunk);
    chooser.choices = choices_of_chunk(job, block, chunk);
    start(&chooser);
    add_keys(&chooser, chunk * plan->keys_per_chunk, (chunk + 1) * plan->keys_per_chunk);
}

static void merge_chunks(const void *context, int64_t item, void *scratch)
{
    const struct job *job = context;
    struct chooser chooser;
    open_block(&chooser, job, item, scratch);
    start(&chooser);
    for (int64_t chunk = 0; chunk < job->plan->plan.chunk_count; chunk++) {
        struct attnzoo_softmax_rows part = attnzoo_attention_partial_at(&job->plan->plan, job->shared, item, chunk);
        merge_part(&chooser, &part, choices_of_chunk(job, item, chunk));
    }
    write_rows(&chooser);
}

attnzoo_status attnzoo_selection_make_plan(struct attnzoo_selection_plan *plan,
                                           const struct attnzoo_selection *selection)
{
    *plan = (struct attnzoo_selection_plan){.selection = selection, .scoring = *selection->problem};
    plan->scoring.value.size[ATTNZOO_COLUMN] = 0;
    plan->scoring.wants_attention = false;
    /* Without a context the maxima and sums are all that is wanted. */
    plan->scoring.wants_log_sum_exp = true;
    attnzoo_status status = attnzoo_attention_make_plan(&plan->plan, &plan->scoring);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_attention_plan *scoring = &plan->plan;
    int64_t chunks = 0, size = (int64_t)sizeof(struct choice);
    plan->scratch_bytes = scoring->scratch_bytes;
    plan->shared_bytes = scoring->shared_bytes;
    plan->threads_wanted = scoring->threads_wanted;
    if ((scoring->chunk_count > 1 && !attnzoo_base_multiply(scoring->block_count, scoring->chunk_count, &chunks)) ||
        !attnzoo_pool_place(&plan->scratch_bytes, &plan->choices_offset, scoring->row_count, 1, size) ||
        !attnzoo_pool_place(&plan->scratch_bytes, &plan->scores_offset, scoring->key_count, 1, sizeof(float)) ||
        !attnzoo_pool_place(&plan->shared_bytes, &plan->parts_offset, chunks, scoring->row_count, size))
        return attnzoo_base_fail_memory(UINT64_MAX);
    return ATTNZOO_STATUS_OK;
}

void attnzoo_selection_solve(struct attnzoo_selection_plan *plan, const struct attnzoo_pool_claim *claim, void *shared)
{
    const struct attnzoo_attention *problem = plan->selection->problem;
    plan->scoring.query.data = problem->query.data;
    plan->scoring.key.data = problem->key.data;
    const struct job job = {plan, shared};
    int64_t blocks = plan->plan.block_count, chunks = plan->plan.chunk_count;
    if (chunks > 1) {
        attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){solve_chunk, &job, blocks * chunks, prepare_scratch});
        attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){merge_chunks, &job, blocks, prepare_scratch});
    } else {
        attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){solve_block, &job, blocks, prepare_scratch});
    }
}
