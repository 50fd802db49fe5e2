/*
 * mechanisms/projected_heads_run.c: the run of a checked call: project, attend, join. All memory is had before the
 * first number is written, so that a failure leaves outputs and state as they were.
 *
 * The call's memory:
 *
 *   | queries | keys | values | joined contexts | extra | spans of queries | spans of keys | the attention's own |
 *
 * With a cache, keys and values go there instead; without out_proj, contexts go to the output.
 */
#include "mechanisms/projected_heads.h"

#include "base/checked.h"
#include "base/error.h"

enum { LAYERS_MAX = 4 };

struct run {
    struct attnzoo_heads_call *opened;
    /* The layers before the attention, and the one after it. */
    struct attnzoo_projection layers[LAYERS_MAX];
    struct attnzoo_projection_plan layer_plans[LAYERS_MAX];
    int32_t layer_count;
    struct attnzoo_projection out;
    struct attnzoo_projection_plan out_plan;
    /* Queries and keys, where positions turn them. */
    struct attnzoo_rotary_rows turned[2];
    struct attnzoo_attention_plan attention;
    struct attnzoo_grid joined;
    int64_t query_offset;
    int64_t key_offset;
    int64_t value_offset;
    int64_t joined_offset;
    int64_t extra_offset;
    int64_t query_spans_offset;
    int64_t key_spans_offset;
    int64_t attention_offset;
    struct attnzoo_pool_needs needs;
};

static bool has_out(const struct run *run)
{
    return run->opened->heads->out.weight != NULL;
}

static struct attnzoo_projection layer_of(const struct attnzoo_grid *input, const struct attnzoo_layer *layer,
                                          const struct attnzoo_grid *output)
{
    return (struct attnzoo_projection){
        .input = *input, .weight = layer->weight, .bias = layer->bias, .parts = {*output}, .part_count = 1};
}

/* Where a call's keys or values go: the whole of what is attended to, or the end of a cache. */
static struct attnzoo_grid target_of(const struct run *run, const struct attnzoo_grid *attended, int32_t field)
{
    const struct attnzoo_state_content *state = run->opened->call->state;
    struct attnzoo_grid target = *attended;
    target.size[ATTNZOO_ROW] = run->opened->key.size[ATTNZOO_ROW];
    if (state != NULL)
        target.data = (char *)(state->fields[field].data + run->opened->past_count * state->fields[field].columns);
    return target;
}

/* A cached grid is a part of the state's fields. */
static void use_cache(struct run *run)
{
    struct attnzoo_state_content *state = run->opened->call->state;
    struct attnzoo_grid *const grids[] = {&run->opened->problem.key, &run->opened->problem.value};
    for (int32_t field = 0; field < 2 && state != NULL; field++) {
        int64_t per_head = state->capacity * state->fields[field].columns;
        grids[field]->data = (char *)state->fields[field].data;
        grids[field]->stride[ATTNZOO_HEAD] = per_head;
        grids[field]->stride[ATTNZOO_BATCH] = state->fields[field].heads * per_head;
    }
}

/*
 * One layer each for query, key and value; or one for all of self-attention; or one for query and one for a key that is
 * the value, too.
 */
static void choose_layers(struct run *run)
{
    const struct attnzoo_heads_call *opened = run->opened;
    const struct attnzoo_heads *heads = opened->heads;
    const struct attnzoo_view *const *views = opened->call->inputs;
    const struct attnzoo_grid query = opened->problem.query;
    const struct attnzoo_grid key = target_of(run, &opened->problem.key, 0);
    const struct attnzoo_grid value = target_of(run, &opened->problem.value, 1);
    bool is_stacked = heads->stacked_weight != NULL;
    bool is_memory = is_stacked && attnzoo_base_views_equal(views[ATTNZOO_INPUT_KEY], views[ATTNZOO_INPUT_VALUE]);
    bool is_self = is_memory && attnzoo_base_views_equal(views[ATTNZOO_INPUT_QUERY], views[ATTNZOO_INPUT_KEY]);
    struct attnzoo_projection *layers = run->layers;
    if (is_self) {
        layers[run->layer_count++] = (struct attnzoo_projection){.input = opened->query,
                                                                 .weight = heads->stacked_weight,
                                                                 .bias = heads->stacked_bias,
                                                                 .parts = {query, key, value},
                                                                 .part_count = 3};
    } else if (is_memory) {
        int64_t queries = heads->query.outputs;
        layers[run->layer_count++] = layer_of(&opened->query, &heads->query, &query);
        layers[run->layer_count++] =
            (struct attnzoo_projection){.input = opened->key,
                                        .weight = heads->stacked_weight + queries * heads->query.inputs,
                                        .bias = heads->stacked_bias + queries,
                                        .parts = {key, value},
                                        .part_count = 2};
    } else {
        layers[run->layer_count++] = layer_of(&opened->query, &heads->query, &query);
        layers[run->layer_count++] = layer_of(&opened->key, &heads->key, &key);
        layers[run->layer_count++] = layer_of(&opened->value, &heads->value, &value);
    }
    if (opened->extra != NULL)
        layers[run->layer_count++] = *opened->extra;
}

/* What positions turn: the queries, and the keys of this call. */
static void choose_turned(struct run *run)
{
    const struct attnzoo_heads_call *opened = run->opened;
    run->turned[0] = (struct attnzoo_rotary_rows){.name = "query",
                                                  .rows = opened->problem.query,
                                                  .positions = opened->query_positions,
                                                  .mask = &opened->problem.mask};
    run->turned[1] = (struct attnzoo_rotary_rows){
        .name = "key", .rows = target_of(run, &opened->problem.key, 0), .positions = opened->key_positions};
}

static void add_needs_of_turning(struct run *run)
{
    const struct attnzoo_rotation *rotation = run->opened->rotation;
    choose_turned(run);
    for (int i = 0; i < 2 && rotation != NULL; i++)
        attnzoo_pool_add_needs(&run->needs, attnzoo_rotary_scratch_bytes(rotation),
                               attnzoo_rotary_threads_wanted(rotation, &run->turned[i].rows));
}

static bool place_zones(struct run *run)
{
    const struct attnzoo_heads_call *opened = run->opened;
    const struct attnzoo_attention *problem = &opened->problem;
    int64_t batch_count = opened->query.size[ATTNZOO_BATCH], end = 0;
    bool is_cached = opened->call->state != NULL;
    int64_t keys = is_cached ? 0 : attnzoo_grid_element_count(&problem->key);
    int64_t values = is_cached ? 0 : attnzoo_grid_element_count(&problem->value);
    int64_t joined = has_out(run) ? attnzoo_grid_element_count(&run->joined) : 0;
    int64_t extra = opened->extra != NULL ? attnzoo_grid_element_count(&opened->extra->parts[0]) : 0;
    return attnzoo_pool_place(&end, &run->query_offset, attnzoo_grid_element_count(&problem->query), 1,
                              sizeof(float)) &&
           attnzoo_pool_place(&end, &run->key_offset, keys, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->value_offset, values, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->joined_offset, joined, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->extra_offset, extra, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->query_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->key_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->attention_offset, run->attention.shared_bytes, 1, 1) &&
           /* Never none, as places are told from where it begins, also those of nothing. */
           (run->needs.shared_bytes = end > 0 ? end : 1, true);
}

static attnzoo_status plan(struct run *run)
{
    struct attnzoo_heads_call *opened = run->opened;
    struct attnzoo_attention *problem = &opened->problem;
    const struct attnzoo_heads *heads = opened->heads;
    const int64_t *query = problem->query.size;
    if (!attnzoo_grid_make_compact(&run->joined, query[ATTNZOO_BATCH], 1, query[ATTNZOO_ROW],
                                   heads->head_count * heads->value_size))
        return attnzoo_base_fail_memory(UINT64_MAX);
    problem->context = attnzoo_grid_split_heads(has_out(run) ? &run->joined : &opened->context, heads->head_count);
    use_cache(run);
    choose_layers(run);
    attnzoo_status status = attnzoo_attention_make_plan(&run->attention, problem);
    for (int32_t i = 0; i < run->layer_count && status == ATTNZOO_STATUS_OK; i++) {
        status = attnzoo_projection_make_plan(&run->layer_plans[i], &run->layers[i]);
        attnzoo_pool_add_needs(&run->needs, run->layer_plans[i].scratch_bytes, run->layer_plans[i].threads_wanted);
    }
    if (status == ATTNZOO_STATUS_OK && has_out(run)) {
        run->out = layer_of(&run->joined, &heads->out, &opened->context);
        status = attnzoo_projection_make_plan(&run->out_plan, &run->out);
        attnzoo_pool_add_needs(&run->needs, run->out_plan.scratch_bytes, run->out_plan.threads_wanted);
    }
    if (status != ATTNZOO_STATUS_OK)
        return status;
    attnzoo_pool_add_needs(&run->needs, run->attention.scratch_bytes, run->attention.threads_wanted);
    add_needs_of_turning(run);
    return place_zones(run) ? ATTNZOO_STATUS_OK : attnzoo_base_fail_memory(UINT64_MAX);
}

/* The memory is there: points the grids into it. */
static void point(struct run *run, char *memory)
{
    struct attnzoo_heads_call *opened = run->opened;
    struct attnzoo_attention *problem = &opened->problem;
    problem->query.data = memory + run->query_offset;
    if (opened->call->state == NULL) {
        problem->key.data = memory + run->key_offset;
        problem->value.data = memory + run->value_offset;
    }
    if (has_out(run)) {
        problem->context.data = memory + run->joined_offset;
        run->out.input.data = memory + run->joined_offset;
    }
    if (opened->extra != NULL)
        opened->extra->parts[0].data = memory + run->extra_offset;
    run->layer_count = 0;
    choose_layers(run);
    choose_turned(run);
}

/* Which rows are wanted: queries before their length; keys that some query may see, or, where later calls will see
 * them too, all before their length. */
static void set_spans(struct run *run, char *memory)
{
    struct attnzoo_heads_call *opened = run->opened;
    const struct attnzoo_mask_plan *mask = &opened->problem.mask;
    struct attnzoo_key_span *of_queries = (void *)(memory + run->query_spans_offset);
    struct attnzoo_key_span *of_keys = (void *)(memory + run->key_spans_offset);
    bool is_cached = opened->call->state != NULL;
    for (int64_t batch = 0; batch < mask->batch_count; batch++) {
        struct attnzoo_key_span seen = {0, attnzoo_mask_key_length(mask, batch)};
        if (!is_cached)
            seen = attnzoo_mask_batch_span(mask, batch);
        of_keys[batch] = (struct attnzoo_key_span){seen.first - opened->past_count, seen.end - opened->past_count};
        of_queries[batch] = (struct attnzoo_key_span){0, attnzoo_mask_query_length(mask, batch)};
    }
    int32_t extra_count = opened->extra != NULL;
    for (int32_t i = 0; i < run->layer_count - extra_count; i++) {
        struct attnzoo_projection *layer = &run->layers[i];
        for (int32_t part = 0; part < layer->part_count; part++)
            layer->spans[part] = i == 0 && part == 0 ? of_queries : of_keys;
        layer->clears_unwanted = is_cached;
    }
    run->turned[0].spans = of_queries;
    run->turned[1].spans = of_keys;
}

static attnzoo_status check_positions(const struct run *run)
{
    const struct attnzoo_rotation *rotation = run->opened->rotation;
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (int i = 0; i < 2 && rotation != NULL && status == ATTNZOO_STATUS_OK; i++)
        status = attnzoo_rotary_check(rotation, &run->turned[i]);
    return status;
}

static void solve(const struct run *run, const struct attnzoo_pool_claim *claim)
{
    const struct attnzoo_rotation *rotation = run->opened->rotation;
    for (int32_t i = 0; i < run->layer_count; i++)
        attnzoo_projection_solve(&run->layer_plans[i], claim);
    for (int i = 0; i < 2 && rotation != NULL; i++)
        attnzoo_rotary_solve(rotation, &run->turned[i], claim);
    attnzoo_attention_solve(&run->attention, claim, (char *)claim->shared + run->attention_offset);
    if (has_out(run))
        attnzoo_projection_solve(&run->out_plan, claim);
}

attnzoo_status attnzoo_heads_run(struct attnzoo_heads_call *opened)
{
    struct run run = {.opened = opened};
    struct attnzoo_state_content *state = opened->call->state;
    struct attnzoo_pool_claim claim;
    const int64_t *query = opened->query.size;
    if (state == NULL && (query[ATTNZOO_BATCH] == 0 || query[ATTNZOO_ROW] == 0))
        return ATTNZOO_STATUS_OK;
    attnzoo_status status = plan(&run);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_pool_claim(&claim, opened->call->pool, &run.needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    point(&run, claim.shared);
    set_spans(&run, claim.shared);
    /* Here, and not before, because only what is to be read is checked, and the spans that tell it need memory. */
    status = check_positions(&run);
    if (status == ATTNZOO_STATUS_OK)
        solve(&run, &claim);
    attnzoo_pool_release(&claim);
    if (status == ATTNZOO_STATUS_OK && state != NULL) {
        state->length += opened->key.size[ATTNZOO_ROW];
        state->is_started = true;
    }
    return status;
}
