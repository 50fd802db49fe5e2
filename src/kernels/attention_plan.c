/*
 * kernels/attention_plan.c: cuts a problem into blocks, tiles and chunks. The work on them is in attention.c.
 */
#include "kernels/attention_plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "blas/blas.h"
#include "cpu/cpu.h"

enum {
    TILE_LARGEST = 384,
    TILE_SMALLEST = 32,
    /* Tiles that are worked on by short strips: their largest size, the smallest that is worth it, and their step, the
     * columns that kernels for small products make at once. */
    SHORT_TILE_LARGEST = 512,
    SHORT_TILE_SMALLEST = 384,
    SHORT_TILE_STEP = 64,
    /* Fewer rows do not pay for a transposed tile of keys. */
    ROWS_FOR_SHORT_STRIPS = 24,
    /* Short strips have a whole number of so many rows, and so many scores as the first-level cache holds. */
    SHORT_STRIP_STEP = 16,
    SHORT_STRIP_SCORES = 8192,
    /* Below so many blocks they get fewer rows, down to this. */
    SHARED_BLOCKS = 8,
    ROWS_SMALLEST = 128,
    /* Blocks have a whole number of so many rows. */
    ROW_STEP = 16,
    /* Few rows make a tile's scores small, so that more keys fit: memory, which bounds cheap scores of so few, is then
     * read in longer runs. */
    FEW_ROWS = 16,
    KEYS_FOR_FEW_ROWS = 1024,
    KEYS_FOR_FEW_ROWS_LARGEST = 4096,
    SCORES_OF_FEW_ROWS = 16384,
    /* Below so many blocks the keys are cut, into chunks of no fewer keys than this. */
    BLOCKS_ENOUGH = 16,
    CHUNK_SMALLEST = 1024,
    CHUNK_SMALLEST_COSTLY = 64,
    /* Where columns are many or costly, this many multiply-adds for a query are enough for a chunk. */
    CHUNK_WORK = 1024 * 128,
    /* Sizes are rounded to this many keys, a whole number of vectors. */
    KEY_STEP = 16,
    /* Multiply-adds worth a thread of their own: far more than waking one costs. */
    WORK_PER_THREAD = 1 << 20
};

/* The largest square tile whose scores, keys, values, queries and context fit the second-level cache. */
static int64_t tile_size(const struct attnzoo_attention *problem)
{
    int64_t budget = attnzoo_cpu_second_level_cache() / (int64_t)sizeof(float);
    int64_t columns = attnzoo_base_minimum(problem->query.size[ATTNZOO_COLUMN], budget) +
                      attnzoo_base_minimum(problem->value.size[ATTNZOO_COLUMN], budget);
    int64_t size = TILE_LARGEST;
    while (size > TILE_SMALLEST && size * (size + 2 * columns) > budget)
        size -= TILE_SMALLEST;
    return size;
}

/*
 * The largest tile whose keys and values, queries and contexts fit the second-level cache, and whose products with a
 * short strip the BLAS makes without copying operands; 0 where it makes none so, or such tiles are too small.
 */
static int64_t short_strip_tile_size(const struct attnzoo_attention *problem)
{
    int64_t query_columns = problem->query.size[ATTNZOO_COLUMN], value_columns = problem->value.size[ATTNZOO_COLUMN];
    int64_t work = attnzoo_blas_work_without_copy(), budget = attnzoo_cpu_second_level_cache() / (int64_t)sizeof(float);
    double rows = (double)problem->query_count * (double)problem->query.size[ATTNZOO_HEAD] /
                  (double)problem->key.size[ATTNZOO_HEAD];
    if (!problem->source->takes_short_strips || query_columns == 0 || rows < ROWS_FOR_SHORT_STRIPS)
        return 0;
    int64_t size = work / SHORT_STRIP_STEP / attnzoo_base_maximum(query_columns, value_columns);
    size = attnzoo_base_minimum(size / SHORT_TILE_STEP * SHORT_TILE_STEP, SHORT_TILE_LARGEST);
    while (size >= SHORT_TILE_SMALLEST && 2 * size * (query_columns + value_columns) > budget)
        size -= SHORT_TILE_STEP;
    return size >= SHORT_TILE_SMALLEST ? size : 0;
}

/*
 * As many rows as a tile has, evenly; fewer where blocks would be too few to share out, but not so few that products
 * get slow.
 */
static int64_t rows_per_block(const struct attnzoo_attention *problem, int64_t size)
{
    int64_t row_count = problem->query_count, block_count = attnzoo_base_divide_up(row_count, size);
    double groups = (double)problem->query.size[ATTNZOO_BATCH] * (double)problem->query.size[ATTNZOO_HEAD];
    if (groups * (double)block_count < SHARED_BLOCKS)
        block_count = attnzoo_base_maximum(attnzoo_base_divide_up(SHARED_BLOCKS, (int64_t)groups), block_count);
    int64_t rows = attnzoo_base_divide_up(attnzoo_base_divide_up(row_count, block_count), ROW_STEP) * ROW_STEP;
    return attnzoo_base_minimum(attnzoo_base_maximum(rows, ROWS_SMALLEST), size);
}

static void cut_rows(struct attnzoo_attention_plan *plan, int64_t size)
{
    const struct attnzoo_attention *problem = plan->problem;
    int64_t query_count = problem->query_count;
    plan->heads_per_group = problem->query.size[ATTNZOO_HEAD] / problem->key.size[ATTNZOO_HEAD];
    plan->queries_per_block = attnzoo_base_minimum(query_count, rows_per_block(problem, size));
    plan->heads_per_block = 1;
    if (query_count == plan->queries_per_block)
        plan->heads_per_block = attnzoo_base_minimum(plan->heads_per_group, size / query_count);
    plan->head_blocks = attnzoo_base_divide_up(plan->heads_per_group, plan->heads_per_block);
    plan->query_blocks = attnzoo_base_divide_up(query_count, plan->queries_per_block);
    plan->row_count = plan->heads_per_block * plan->queries_per_block;
}

static bool count_blocks(struct attnzoo_attention_plan *plan)
{
    const struct attnzoo_attention *problem = plan->problem;
    int64_t groups;
    return attnzoo_base_multiply(problem->key.size[ATTNZOO_BATCH], problem->key.size[ATTNZOO_HEAD], &groups) &&
           attnzoo_base_multiply(groups, plan->head_blocks, &plan->block_count) &&
           attnzoo_base_multiply(plan->block_count, plan->query_blocks, &plan->block_count);
}

/* Multiply-adds, or what costs as much, for a query and a key. */
static double cost_of_pair(const struct attnzoo_attention *problem)
{
    return (double)problem->query.size[ATTNZOO_COLUMN] * (double)problem->source->column_cost +
           (double)problem->value.size[ATTNZOO_COLUMN];
}

static int64_t smallest_chunk(const struct attnzoo_attention *problem)
{
    double keys = CHUNK_WORK / (cost_of_pair(problem) + 1.0);
    return attnzoo_base_minimum(attnzoo_base_maximum((int64_t)keys, CHUNK_SMALLEST_COSTLY), CHUNK_SMALLEST);
}

static int64_t tile_keys(const struct attnzoo_attention_plan *plan, int64_t size)
{
    if (plan->row_count > FEW_ROWS)
        return size;
    int64_t largest = plan->problem->source->column_cost == 1 ? KEYS_FOR_FEW_ROWS_LARGEST : KEYS_FOR_FEW_ROWS;
    int64_t keys = attnzoo_base_maximum(SCORES_OF_FEW_ROWS / plan->row_count, KEYS_FOR_FEW_ROWS);
    return attnzoo_base_minimum(keys, largest);
}

static void cut_keys(struct attnzoo_attention_plan *plan, int64_t size)
{
    int64_t key_count = plan->problem->key.size[ATTNZOO_ROW];
    int64_t chunks = attnzoo_base_divide_up(BLOCKS_ENOUGH, plan->block_count);
    chunks = attnzoo_base_minimum(chunks, key_count / smallest_chunk(plan->problem));
    plan->chunk_count = attnzoo_base_maximum(chunks, 1);
    int64_t steps = attnzoo_base_divide_up(attnzoo_base_divide_up(key_count, plan->chunk_count), KEY_STEP);
    plan->keys_per_chunk = attnzoo_base_maximum(steps, 1) * KEY_STEP;
    int64_t keys = attnzoo_base_minimum(tile_keys(plan, size), plan->keys_per_chunk);
    plan->key_count = attnzoo_base_maximum(keys, KEY_STEP);
    plan->key_step = plan->has_short_strips ? SHORT_TILE_STEP : KEY_STEP;
}

static void cut_strips(struct attnzoo_attention_plan *plan)
{
    int64_t steps = attnzoo_base_maximum(SHORT_STRIP_SCORES / plan->key_count / SHORT_STRIP_STEP, 1);
    plan->strip_rows = plan->has_short_strips ? steps * SHORT_STRIP_STEP : plan->row_count;
}

/*
 * A thread's scratch memory:
 *
 *   | scores | context | maximum | sum | spans | mask row | source | values | mended values | average |
 */
static bool lay_out_scratch(struct attnzoo_attention_plan *plan)
{
    const struct attnzoo_attention *problem = plan->problem;
    int64_t rows = plan->row_count, keys = plan->key_count, value_columns = problem->value.size[ATTNZOO_COLUMN];
    int64_t end = 0, scores_offset, source_floats;
    int64_t packed_keys = attnzoo_grid_is_direct(&problem->value) ? 0 : keys;
    return problem->source->memory_floats(problem, rows, keys, plan->has_short_strips, &source_floats) &&
           attnzoo_pool_place(&end, &scores_offset, rows, keys, sizeof(float)) &&
           attnzoo_pool_place(&end, &plan->context_offset, rows, plan->context_columns, sizeof(float)) &&
           attnzoo_pool_place(&end, &plan->maximum_offset, rows, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &plan->sum_offset, rows, 1, sizeof(double)) &&
           attnzoo_pool_place(&end, &plan->span_offset, rows, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &plan->mask_offset, attnzoo_mask_row_floats(keys), 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &plan->source_offset, source_floats, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &plan->value_offset, packed_keys, value_columns, sizeof(float)) &&
           attnzoo_pool_place(&end, &plan->mended_offset, plan->may_hide ? keys : 0, value_columns, sizeof(float)) &&
           attnzoo_pool_place(&end, &plan->average_offset, problem->averages_heads ? plan->queries_per_block : 0, keys,
                              sizeof(float)) &&
           (plan->scratch_bytes = end, true);
}

/*
 * A partial result: | context | maximum | sum |
 * The shared memory: | partial results, block by block, its chunks one after another | maxima of all rows
 *                       | their sums |
 */
static bool lay_out_shared(struct attnzoo_attention_plan *plan)
{
    int64_t rows = plan->row_count, offset, partials;
    int64_t kept = plan->problem->averages_heads && plan->problem->wants_attention ? plan->block_count : 0;
    plan->partial_bytes = 0;
    plan->shared_bytes = 0;
    if (plan->chunk_count > 1 &&
        !(attnzoo_pool_place(&plan->partial_bytes, &offset, rows, plan->context_columns, sizeof(float)) &&
          attnzoo_pool_place(&plan->partial_bytes, &offset, rows, 1, sizeof(float)) &&
          attnzoo_pool_place(&plan->partial_bytes, &offset, rows, 1, sizeof(double)) &&
          attnzoo_base_multiply(plan->block_count, plan->chunk_count, &partials) &&
          attnzoo_base_multiply(partials, plan->partial_bytes, &plan->shared_bytes)))
        return false;
    return attnzoo_pool_place(&plan->shared_bytes, &plan->maxima_offset, kept, rows, sizeof(float)) &&
           attnzoo_pool_place(&plan->shared_bytes, &plan->sums_offset, kept, rows, sizeof(double));
}

/* As many threads as there is work for. */
static int64_t threads_wanted(const struct attnzoo_attention_plan *plan)
{
    const struct attnzoo_attention *problem = plan->problem;
    double scores = (double)problem->query.size[ATTNZOO_BATCH] * (double)problem->query.size[ATTNZOO_HEAD] *
                    (double)problem->query_count * (double)problem->key.size[ATTNZOO_ROW];
    double worth = 1.0 + scores * cost_of_pair(problem) / WORK_PER_THREAD;
    double items = (double)plan->block_count * (double)plan->chunk_count;
    double threads = worth < items ? worth : items;
    return threads < ATTNZOO_POOL_THREADS_MAX ? (int64_t)threads : ATTNZOO_POOL_THREADS_MAX;
}

/* Nothing to compute: the plan has no blocks. */
static bool is_empty(const struct attnzoo_attention *problem)
{
    bool has_context = problem->value.size[ATTNZOO_COLUMN] > 0;
    bool has_attention = problem->wants_attention && problem->key.size[ATTNZOO_ROW] > 0;
    bool has_rows =
        problem->query.size[ATTNZOO_BATCH] > 0 && problem->query.size[ATTNZOO_HEAD] > 0 && problem->query_count > 0;
    return !has_rows || (!has_context && !has_attention && !problem->wants_log_sum_exp);
}

attnzoo_status attnzoo_attention_make_plan(struct attnzoo_attention_plan *plan, const struct attnzoo_attention *problem)
{
    const struct attnzoo_grid *attention = &problem->attention;
    *plan = (struct attnzoo_attention_plan){
        .problem = problem,
        .context_columns = problem->value.size[ATTNZOO_COLUMN],
        .keeps_scores = problem->wants_attention && !problem->averages_heads && problem->key.size[ATTNZOO_ROW] > 0 &&
                        attention->dtype == ATTNZOO_DTYPE_FLOAT32 && attention->stride[ATTNZOO_COLUMN] == 1,
        .may_hide = problem->mask.is_dense || attnzoo_mask_has_spans(&problem->mask)};
    if (is_empty(problem))
        return ATTNZOO_STATUS_OK;
    int64_t size = short_strip_tile_size(problem);
    plan->has_short_strips = size > 0;
    if (!plan->has_short_strips)
        size = tile_size(problem);
    cut_rows(plan, size);
    if (!count_blocks(plan))
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "batch, heads and queries pass 63 bits together");
    cut_keys(plan, size);
    cut_strips(plan);
    bool fits =
        problem->source->extra_columns == NULL ||
        attnzoo_base_add(plan->context_columns, problem->source->extra_columns(problem), &plan->context_columns);
    if (!fits || !lay_out_scratch(plan) || !lay_out_shared(plan))
        return attnzoo_base_fail_memory(UINT64_MAX);
    plan->threads_wanted = threads_wanted(plan);
    return ATTNZOO_STATUS_OK;
}

struct attnzoo_tile attnzoo_attention_block(const struct attnzoo_attention_plan *plan, int64_t number)
{
    const struct attnzoo_grid *key = &plan->problem->key;
    struct attnzoo_tile block = {.has_short_strips = plan->has_short_strips};
    /* The last queries first: with a causal mask they see the most keys, and the long blocks should not come last. */
    int64_t query_block = plan->query_blocks - 1 - number % plan->query_blocks;
    number /= plan->query_blocks;
    int64_t head_block = number % plan->head_blocks;
    number /= plan->head_blocks;
    int64_t group = number % key->size[ATTNZOO_HEAD];
    block.batch = number / key->size[ATTNZOO_HEAD];
    int64_t head_in_group = head_block * plan->heads_per_block;
    block.first_head = group * plan->heads_per_group + head_in_group;
    block.head_count = attnzoo_base_minimum(plan->heads_per_block, plan->heads_per_group - head_in_group);
    int64_t query_in_problem = query_block * plan->queries_per_block;
    block.first_query = plan->problem->first_query + query_in_problem;
    block.query_count = attnzoo_base_minimum(plan->queries_per_block, plan->problem->query_count - query_in_problem);
    return block;
}

static void *zone(void *memory, int64_t offset)
{
    return (char *)memory + offset;
}

struct attnzoo_attention_scratch attnzoo_attention_scratch_at(const struct attnzoo_attention_plan *plan, void *memory)
{
    return (struct attnzoo_attention_scratch){.scores = memory,
                                              .rows.context = zone(memory, plan->context_offset),
                                              .rows.maximum = zone(memory, plan->maximum_offset),
                                              .rows.sum = zone(memory, plan->sum_offset),
                                              .rows.is_unnormalised = plan->problem->is_unnormalised,
                                              .spans = zone(memory, plan->span_offset),
                                              .mask_memory = zone(memory, plan->mask_offset),
                                              .source_memory = zone(memory, plan->source_offset),
                                              .value_memory = zone(memory, plan->value_offset),
                                              .mended_values = zone(memory, plan->mended_offset),
                                              .average = zone(memory, plan->average_offset)};
}

float *attnzoo_attention_maxima_at(const struct attnzoo_attention_plan *plan, void *shared, int64_t block)
{
    float *maxima = zone(shared, plan->maxima_offset);
    return maxima + block * plan->row_count;
}

double *attnzoo_attention_sums_at(const struct attnzoo_attention_plan *plan, void *shared, int64_t block)
{
    double *sums = zone(shared, plan->sums_offset);
    return sums + block * plan->row_count;
}

struct attnzoo_softmax_rows attnzoo_attention_partial_at(const struct attnzoo_attention_plan *plan, void *shared,
                                                         int64_t block, int64_t chunk)
{
    char *memory = (char *)shared + (block * plan->chunk_count + chunk) * plan->partial_bytes;
    int64_t end = 0, context, maximum, sum;
    attnzoo_pool_place(&end, &context, plan->row_count, plan->context_columns, sizeof(float));
    attnzoo_pool_place(&end, &maximum, plan->row_count, 1, sizeof(float));
    attnzoo_pool_place(&end, &sum, plan->row_count, 1, sizeof(double));
    return (struct attnzoo_softmax_rows){.context = zone(memory, context),
                                         .maximum = zone(memory, maximum),
                                         .sum = zone(memory, sum),
                                         .is_unnormalised = plan->problem->is_unnormalised};
}
