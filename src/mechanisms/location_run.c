/*
 * mechanisms/location_run.c: the scores are kernels/mixture_window.c's, dot_product.c's and local_window.c's; weights and
 * sums are the core's. The call's memory:
 *
 *   | spans of queries | spans of keys | values | windows or hidden units | spans of windows | kappa or a row of zeros
 *   | centres | the core's |
 */
#include "mechanisms/location_run.h"

#include "base/error.h"
#include "kernels/dot_product.h"
#include "kernels/local_window.h"
#include "kernels/mixture_window.h"
#include "kernels/projection.h"
#include "mechanisms/recurrence.h"

#include <string.h>

struct run {
    const struct attnzoo_location *prepared;
    const struct attnzoo_call *call;
    struct attnzoo_attention problem;
    struct attnzoo_attention_plan plan;
    struct attnzoo_mixture_window mixture;
    struct attnzoo_local_window local;
    /** Of the queries, and of the values; no weight where there is none. */
    struct attnzoo_projection query_layer;
    struct attnzoo_projection value_layer;
    struct attnzoo_projection_plan query_plan;
    struct attnzoo_projection_plan value_plan;
    int64_t query_spans_offset;
    int64_t key_spans_offset;
    int64_t values_offset;
    int64_t projected_offset;
    int64_t windows_offset;
    int64_t row_offset;
    int64_t centres_offset;
    int64_t attention_offset;
    struct attnzoo_pool_needs needs;
};

/* The rows of location_proj.weight, the same for all batches, are keys. */
static struct attnzoo_grid positions(const struct attnzoo_location *prepared, int64_t batch_count, int64_t key_count)
{
    int64_t features = prepared->location.inputs;
    /* Only read. */
    return (struct attnzoo_grid){.data = (char *)(uintptr_t)prepared->location.weight,
                                 .size = {batch_count, 1, key_count, features},
                                 .stride = {0, 0, features, 1},
                                 .dtype = ATTNZOO_DTYPE_FLOAT32};
}

/* Says how scores are made, and what of the queries. */
static bool describe_scores(struct run *run)
{
    const struct attnzoo_location *prepared = run->prepared;
    struct attnzoo_attention *problem = &run->problem;
    int64_t batch_count = problem->query.size[ATTNZOO_BATCH], query_count = problem->query.size[ATTNZOO_ROW];
    problem->key = positions(prepared, batch_count, problem->value.size[ATTNZOO_ROW]);
    problem->query_count = query_count;
    problem->scale = 1.0f;
    problem->source = &attnzoo_kernel_dot_product;
    if (prepared->flavor == ATTNZOO_LOCATION_POSITION)
        return true;
    const struct attnzoo_layer *layer = attnzoo_location_is_recurrent(prepared) ? &prepared->windows : &prepared->query;
    struct attnzoo_grid projected;
    if (!attnzoo_grid_make_compact(&projected, batch_count, 1, query_count, layer->outputs))
        return false;
    run->query_layer = attnzoo_recurrence_layer(&problem->query, layer, &projected);
    run->query_layer.clears_unwanted = true;
    if (attnzoo_location_is_recurrent(prepared)) {
        /* Steps give the same, to the bit, in one call or in several: each is a row and a problem of its own. */
        run->query_layer.is_row_by_row = true;
        problem->query_count = 1;
        problem->query = projected;
        problem->source = &attnzoo_kernel_mixture_window;
        problem->source_data = &run->mixture;
        problem->is_unnormalised = !prepared->is_normalized;
        run->mixture = (struct attnzoo_mixture_window){.component_count = prepared->component_count,
                                                       .query_count = query_count,
                                                       .first_position = prepared->first_position};
        return true;
    }
    run->local = (struct attnzoo_local_window){.query_count = query_count,
                                               .reach = (double)prepared->window,
                                               .first_position = prepared->first_position,
                                               .has_keys = prepared->location.weight != NULL};
    problem->source_data = &run->local;
    problem->source = &attnzoo_kernel_local_window;
    return true;
}

/* Lets the values be projected, into the state if there is one. */
static bool describe_values(struct run *run)
{
    struct attnzoo_grid input = run->problem.value, *value = &run->problem.value;
    const struct attnzoo_state_content *state = run->call->state;
    if (run->prepared->value.weight == NULL)
        return true;
    if (!attnzoo_grid_make_compact(value, input.size[ATTNZOO_BATCH], 1, input.size[ATTNZOO_ROW],
                                   run->prepared->value.outputs))
        return false;
    if (state != NULL && state->fields[ATTNZOO_LOCATION_VALUE].columns > 0) {
        value->data = (char *)state->fields[ATTNZOO_LOCATION_VALUE].data;
        value->stride[ATTNZOO_HEAD] = value->stride[ATTNZOO_BATCH] =
            state->capacity * state->fields[ATTNZOO_LOCATION_VALUE].columns;
    }
    run->value_layer = attnzoo_recurrence_layer(&input, &run->prepared->value, value);
    return true;
}

static bool place_zones(struct run *run)
{
    const struct attnzoo_grid *projected = &run->query_layer.parts[0], *value = &run->value_layer.parts[0];
    int64_t batch_count = run->problem.context.size[ATTNZOO_BATCH];
    int64_t query_count = run->problem.context.size[ATTNZOO_ROW], end = 0;
    int64_t windows = run->prepared->flavor == ATTNZOO_LOCATION_POSITION ? 0 : query_count;
    int64_t centres = run->prepared->flavor == ATTNZOO_LOCATION_LOCAL_P ? query_count : 0;
    int64_t values = run->value_layer.weight != NULL && value->data == NULL ? attnzoo_grid_element_count(value) : 0;
    int64_t rows = attnzoo_location_is_recurrent(run->prepared) ? batch_count : 1;
    int64_t columns =
        attnzoo_location_is_recurrent(run->prepared) ? run->prepared->component_count : run->prepared->query.outputs;
    return attnzoo_pool_place(&end, &run->query_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->key_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->values_offset, values, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->projected_offset, attnzoo_grid_element_count(projected), 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->windows_offset, batch_count, windows, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->row_offset, rows, columns, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->centres_offset, batch_count, centres, sizeof(double)) &&
           attnzoo_pool_place(&end, &run->attention_offset, run->plan.shared_bytes, 1, 1) &&
           (run->needs.shared_bytes = end, true);
}

/* Biases may raise what is out of reach, and so may dividing by a small sum. */
static bool has_reach(const struct run *run)
{
    const struct attnzoo_mask_description *mask = run->problem.mask.description;
    return !run->prepared->is_normalized && !mask->bias.is_set && !mask->slopes.is_set;
}

static attnzoo_status plan(struct run *run)
{
    static const struct attnzoo_key_span to_be_placed;
    bool has_windows = run->prepared->flavor == ATTNZOO_LOCATION_LOCAL_P ||
                       (attnzoo_location_is_recurrent(run->prepared) && has_reach(run));
    if (!describe_scores(run) || !describe_values(run))
        return attnzoo_base_fail_memory(UINT64_MAX);
    /* So that the plan knows of them. */
    run->problem.mask.query_spans = has_windows ? &to_be_placed : NULL;
    attnzoo_status status = attnzoo_attention_make_plan(&run->plan, &run->problem);
    if (status == ATTNZOO_STATUS_OK && run->query_layer.weight != NULL)
        status = attnzoo_projection_make_plan(&run->query_plan, &run->query_layer);
    if (status == ATTNZOO_STATUS_OK && run->value_layer.weight != NULL)
        status = attnzoo_projection_make_plan(&run->value_plan, &run->value_layer);
    if (status == ATTNZOO_STATUS_OK && !place_zones(run))
        status = attnzoo_base_fail_memory(UINT64_MAX);
    attnzoo_pool_add_needs(&run->needs, run->plan.scratch_bytes, run->plan.threads_wanted);
    attnzoo_pool_add_needs(&run->needs, run->query_plan.scratch_bytes, run->query_plan.threads_wanted);
    attnzoo_pool_add_needs(&run->needs, run->value_plan.scratch_bytes, run->value_plan.threads_wanted);
    return status;
}

/* Projects queries, and those values that some query may see and the state does not know yet. */
static void project(struct run *run, const struct attnzoo_pool_claim *claim)
{
    char *memory = claim->shared;
    const struct attnzoo_view *value = run->call->inputs[ATTNZOO_INPUT_VALUE];
    struct attnzoo_key_span *of_queries = (void *)(memory + run->query_spans_offset);
    struct attnzoo_key_span *of_keys = (void *)(memory + run->key_spans_offset);
    struct attnzoo_grid *projected = &run->query_layer.parts[0], *values = &run->value_layer.parts[0];
    struct attnzoo_state_content *state = run->call->state;
    bool keeps_values = state != NULL && state->fields[ATTNZOO_LOCATION_VALUE].columns > 0;
    attnzoo_recurrence_find_rows(keeps_values ? state : NULL, value, value, &run->problem.mask, of_queries, of_keys);
    run->query_layer.spans[0] = of_queries;
    run->value_layer.spans[0] = of_keys;
    if (run->query_layer.weight != NULL) {
        projected->data = memory + run->projected_offset;
        attnzoo_projection_solve(&run->query_plan, claim);
    }
    if (run->value_layer.weight != NULL) {
        values->data = keeps_values ? values->data : memory + run->values_offset;
        run->problem.value.data = values->data;
        attnzoo_projection_solve(&run->value_plan, claim);
    }
}

static void run_mixture(struct run *run, const struct attnzoo_pool_claim *claim)
{
    char *memory = claim->shared;
    struct attnzoo_mask_plan *mask = &run->problem.mask;
    struct attnzoo_mixture_window *mixture = &run->mixture;
    const struct attnzoo_state_content *state = run->call->state;
    mixture->centres = (void *)(memory + run->row_offset);
    if (state != NULL)
        mixture->centres = state->fields[ATTNZOO_LOCATION_KAPPA].data;
    else
        memset(mixture->centres, 0, (size_t)(mask->batch_count * mixture->component_count) * sizeof(float));
    mixture->numbers = (void *)(memory + run->projected_offset);
    mixture->spans = mask->query_spans != NULL ? (void *)(memory + run->windows_offset) : NULL;
    attnzoo_mixture_window_move(mixture, mask, claim);
    mask->query_spans = mixture->spans;
    run->problem.query.data = memory + run->projected_offset;
    for (int64_t query = 0; query < mask->query_count; query++) {
        run->problem.first_query = query;
        attnzoo_attention_solve(&run->plan, claim, memory + run->attention_offset);
    }
}

static void run_local(struct run *run, const struct attnzoo_pool_claim *claim)
{
    char *memory = claim->shared;
    float *zeros = (void *)(memory + run->row_offset);
    struct attnzoo_key_span *windows = (void *)(memory + run->windows_offset);
    const struct attnzoo_location *prepared = run->prepared;
    memset(zeros, 0, (size_t)prepared->query.outputs * sizeof *zeros);
    run->local.centres = (void *)(memory + run->centres_offset);
    attnzoo_local_window_predict(&(struct attnzoo_local_prediction){.window = &run->local,
                                                                    .mask = &run->problem.mask,
                                                                    .hidden = (void *)(memory + run->projected_offset),
                                                                    .weight = prepared->score_weight,
                                                                    .zeros = zeros,
                                                                    .hidden_size = prepared->query.outputs,
                                                                    .bias = prepared->score_bias,
                                                                    .spans = windows},
                                 claim);
    run->problem.mask.query_spans = windows;
    attnzoo_attention_solve(&run->plan, claim, memory + run->attention_offset);
}

attnzoo_status attnzoo_location_run(const struct attnzoo_location *location, const struct attnzoo_call *call,
                                    const struct attnzoo_attention *problem)
{
    struct run run = {.prepared = location, .call = call, .problem = *problem};
    struct attnzoo_pool_claim claim;
    attnzoo_status status = plan(&run);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_pool_claim(&claim, call->pool, &run.needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    project(&run, &claim);
    if (attnzoo_location_is_recurrent(location))
        run_mixture(&run, &claim);
    else if (location->flavor == ATTNZOO_LOCATION_LOCAL_P)
        run_local(&run, &claim);
    else
        attnzoo_attention_solve(&run.plan, &claim, (char *)claim.shared + run.attention_offset);
    attnzoo_pool_release(&claim);
    if (call->state != NULL) {
        int64_t key_count = problem->value.size[ATTNZOO_ROW];
        call->state->length = call->state->fields[ATTNZOO_LOCATION_VALUE].columns > 0 ? key_count : 0;
        call->state->is_started = true;
    }
    return ATTNZOO_STATUS_OK;
}
