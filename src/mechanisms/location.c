/*
 * mechanisms/location.c: attention by position alone: what keys hold plays no part. h is the query, key j stands at
 * u = j + first_position.
 *
 * flavor=gaussian_mixture, a recurrence over the queries (Graves 2013, arXiv 1308.0850, equations 46 to 51):
 *
 *     (alpha^, beta^, kappa^) = W h_t + b,  alpha = exp(alpha^),  beta = exp(beta^),  kappa_t = kappa_t-1 + exp(kappa^)
 *     phi(t, u) = sum_k alpha_k exp(-beta_k (kappa_k - u)^2),  context_t = sum_u phi(t, u) v_u
 *
 * flavor=position (Luong et al. 2015, arXiv 1508.04025, equation 8, "location"): a_t = softmax(Wa h_t).
 *
 * flavor=local_p (the same, section 3.2, equations 9 and 10), with S the number of keys and sigma = D / 2:
 *
 *     p_t = S sigmoid(v_p . tanh(W_p h_t)),  a_t(u) = align(h_t, u) exp(-(u - p_t)^2 / (2 sigma^2)),  |u - p_t| <= D
 *
 * where align is the softmax over the window of Wa h_t, or uniform. Neither phi nor local_p's weights add up to 1. The
 * scores are kernels/mixture_window.c's, dot_product.c's and local_window.c's; weights and sums are the core's.
 *
 * The call's memory:
 *
 *   | spans of queries | spans of keys | values | windows or hidden units | spans of windows | kappa or a row of zeros
 *   | centres | the core's |
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/attention_plan.h"
#include "kernels/dot_product.h"
#include "kernels/local_window.h"
#include "kernels/mixture_window.h"
#include "kernels/projection.h"
#include "mechanisms/recurrence.h"
#include "mechanisms/shapes.h"

#include <inttypes.h>
#include <string.h>

enum { OPTION_FLAVOR, OPTION_NORMALIZED, OPTION_WINDOW, OPTION_FIRST_POSITION, OPTION_COUNT };
enum { GAUSSIAN_MIXTURE, POSITION, LOCAL_P };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_FLAVOR] = {"flavor", ATTNZOO_OPTION_CHOICE, "gaussian_mixture", "gaussian_mixture|position|local_p",
                       "Graves' window, Luong's score of positions, or Luong's window", GAUSSIAN_MIXTURE, 0.0, 2.0},
    [OPTION_NORMALIZED] = {"normalized", ATTNZOO_OPTION_BOOL, "false", "true or false",
                           "divides gaussian_mixture's weights by their sum", 0.0, 0.0, 1.0},
    [OPTION_WINDOW] = {"window", ATTNZOO_OPTION_INT, "10", "1 to 2^52",
                       "D, how far local_p sees to either side; sigma = D / 2", 10.0, 1.0, 0x1p52},
    [OPTION_FIRST_POSITION] = {"first_position", ATTNZOO_OPTION_INT, "0", "0 or 1",
                               "the position u of the first key, for both windows; the papers count from 1", 0.0, 0.0,
                               1.0},
};

enum {
    WINDOW_WEIGHT,
    WINDOW_BIAS,
    LOCATION_WEIGHT,
    QUERY_WEIGHT,
    QUERY_BIAS,
    SCORE_WEIGHT,
    SCORE_BIAS,
    VALUE_WEIGHT,
    VALUE_BIAS,
    PARAMETER_COUNT
};

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    [WINDOW_WEIGHT] = {"window_proj.weight", "[3*K, Eq]", "W, of alpha^, beta^ and kappa^; gaussian_mixture needs it",
                       2, false},
    [WINDOW_BIAS] = {"window_proj.bias", "[3*K]", "b", 1, false},
    [LOCATION_WEIGHT] = {"location_proj.weight", "[S, Eq]",
                         "Wa, a row for each position; position needs it, without it local_p aligns uniformly", 2,
                         false},
    [QUERY_WEIGHT] = {"query_proj.weight", "[A, Eq]", "W_p; local_p needs it", 2, false},
    [QUERY_BIAS] = {"query_proj.bias", "[A]", "added to W_p h", 1, false},
    [SCORE_WEIGHT] = {"score_proj.weight", "[1, A]", "v_p; local_p needs it", 2, false},
    [SCORE_BIAS] = {"score_proj.bias", "[1]", "added before the sigmoid", 1, false},
    [VALUE_WEIGHT] = {"value_proj.weight", "[Dv, Ev]", "without it the value is used as it is, and Ev = Dv", 2, false},
    [VALUE_BIAS] = {"value_proj.bias", "[Dv]", "added to the projected value", 1, false},
};

static const struct attnzoo_slot_spec inputs[] = {
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, N, Eq]",
                             "h, which says where to look; gaussian_mixture takes steps in order", true, false},
    [ATTNZOO_INPUT_KEY] = {"key", "[B, M, Ek]", "not used; may be left out, otherwise of as many rows as value", false,
                           false},
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, M, Ev]", "what each glimpse gives when it is found", true, false},
};

static const struct attnzoo_slot_spec outputs[] = {
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, N, Dv]",
                                "the values, summed by the attention; Dv = Ev without value_proj", true, false},
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, N, M]", "the weight of each key for each query", false, false},
};

enum { FIELD_KAPPA, FIELD_COUNT, FIELD_VALUE = FIELD_COUNT };

static const struct attnzoo_slot_spec state_fields[FIELD_COUNT] = {
    [FIELD_KAPPA] = {"kappa", "[B, K]", "where gaussian_mixture's centres are; 0 before the first step", true, false},
};

struct prepared {
    int flavor;
    bool is_normalized;
    int64_t window;
    int64_t first_position;
    /** K */
    int64_t component_count;
    struct attnzoo_layer windows;
    struct attnzoo_layer location;
    struct attnzoo_layer query;
    struct attnzoo_layer value;
    const float *score_weight;
    float score_bias;
};

static bool is_recurrent(const struct prepared *prepared)
{
    return prepared->flavor == GAUSSIAN_MIXTURE;
}

/* Every parameter of another flavor is a mistake, and so is a missing one of this flavor. */
static attnzoo_status check_flavor(const struct attnzoo_instance *instance, int flavor)
{
    enum { MIXTURE = 1u << GAUSSIAN_MIXTURE, BY_POSITION = 1u << POSITION, LOCAL = 1u << LOCAL_P };
    static const struct attnzoo_flavor_rule rules[] = {
        {WINDOW_WEIGHT, MIXTURE, MIXTURE},
        {WINDOW_BIAS, MIXTURE, 0},
        {LOCATION_WEIGHT, BY_POSITION | LOCAL, BY_POSITION},
        {QUERY_WEIGHT, LOCAL, LOCAL},
        {QUERY_BIAS, LOCAL, 0},
        {SCORE_WEIGHT, LOCAL, LOCAL},
        {SCORE_BIAS, LOCAL, 0},
    };
    static const char *const names[] = {"gaussian_mixture", "position", "local_p"};
    return attnzoo_shapes_check_flavor(instance, flavor, names[flavor], rules, sizeof rules / sizeof *rules);
}

/* Checks the sizes that follow from others. */
static attnzoo_status check_shapes(const struct attnzoo_instance *instance, const struct prepared *prepared)
{
    const int64_t one = 1, score_shape[] = {1, prepared->query.outputs};
    attnzoo_status status = attnzoo_shapes_check_bias(instance, WINDOW_WEIGHT, WINDOW_BIAS);
    if (status == ATTNZOO_STATUS_OK && prepared->windows.outputs % 3 != 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "window_proj.weight has %" PRId64 " rows, must have 3 for each Gaussian",
                                 prepared->windows.outputs);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_bias(instance, QUERY_WEIGHT, QUERY_BIAS);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, SCORE_WEIGHT, score_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, SCORE_BIAS, &one);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_bias(instance, VALUE_WEIGHT, VALUE_BIAS);
    if (status == ATTNZOO_STATUS_OK && prepared->flavor == LOCAL_P && prepared->location.weight != NULL &&
        prepared->location.inputs != prepared->query.inputs)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "location_proj.weight takes %" PRId64 " features, query_proj.weight %" PRId64,
                                 prepared->location.inputs, prepared->query.inputs);
    return status;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    const struct attnzoo_option_value *values = instance->options;
    struct prepared *prepared = instance->prepared;
    prepared->flavor = (int)values[OPTION_FLAVOR].number;
    prepared->is_normalized = values[OPTION_NORMALIZED].number != 0.0;
    prepared->window = (int64_t)values[OPTION_WINDOW].number;
    prepared->first_position = (int64_t)values[OPTION_FIRST_POSITION].number;
    attnzoo_status status = check_flavor(instance, prepared->flavor);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, WINDOW_WEIGHT, WINDOW_BIAS, &prepared->windows);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, QUERY_WEIGHT, QUERY_BIAS, &prepared->query);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, VALUE_WEIGHT, VALUE_BIAS, &prepared->value);
    const struct attnzoo_parameter_value *location = &instance->parameters[LOCATION_WEIGHT];
    prepared->location = (struct attnzoo_layer){
        .weight = location->data, .outputs = location->view.shape[0], .inputs = location->view.shape[1]};
    prepared->component_count = prepared->windows.outputs / 3;
    prepared->score_weight = instance->parameters[SCORE_WEIGHT].data;
    if (status == ATTNZOO_STATUS_OK)
        status = check_shapes(instance, prepared);
    if (status == ATTNZOO_STATUS_OK && attnzoo_shapes_is_set(instance, SCORE_BIAS))
        prepared->score_bias = *instance->parameters[SCORE_BIAS].data;
    return status;
}

/* The flavors that are no recurrences have nothing to carry. */
static void state_layout(const struct attnzoo_instance *instance, struct attnzoo_state_content *content)
{
    const struct prepared *prepared = instance->prepared;
    content->fields[FIELD_KAPPA] = (struct attnzoo_state_field){
        .heads = prepared->component_count, .columns = 1, .is_scalar = true, .has_no_keys = true};
    content->fields[FIELD_VALUE] =
        (struct attnzoo_state_field){.heads = 1, .columns = is_recurrent(prepared) ? prepared->value.outputs : 0};
    content->field_count = FIELD_VALUE + 1;
}

/* A call between its checks and its end. */
struct run {
    const struct prepared *prepared;
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

/* Features that the queries must have, and the weight that says so. */
static attnzoo_status check_query(const struct prepared *prepared, const struct attnzoo_view *query)
{
    const struct attnzoo_layer *const layers[] = {&prepared->windows, &prepared->location, &prepared->query};
    static const char *const names[] = {"window_proj.weight", "location_proj.weight", "query_proj.weight"};
    attnzoo_status status = attnzoo_shapes_check_rank(query, "query", 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_shapes_check_features(query, "query", names[prepared->flavor], layers[prepared->flavor]->inputs);
}

/* Checks the inputs, and fills their part of the problem. */
static attnzoo_status check_inputs(const struct prepared *prepared, const struct attnzoo_view *const *views,
                                   struct attnzoo_attention *problem)
{
    const struct attnzoo_view *value = views[ATTNZOO_INPUT_VALUE];
    attnzoo_status status = check_query(prepared, views[ATTNZOO_INPUT_QUERY]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_rank(value, "value", 2, 3);
    if (status == ATTNZOO_STATUS_OK && prepared->value.weight != NULL)
        status = attnzoo_shapes_check_features(value, "value", "value_proj.weight", prepared->value.inputs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    problem->query = attnzoo_grid_without_heads(views[ATTNZOO_INPUT_QUERY]);
    problem->value = attnzoo_grid_without_heads(value);
    status = attnzoo_shapes_check_without_key(&problem->query, views[ATTNZOO_INPUT_KEY], &problem->value);
    int64_t key_count = problem->value.size[ATTNZOO_ROW];
    if (status == ATTNZOO_STATUS_OK && prepared->location.weight != NULL && key_count > prepared->location.outputs)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "value has %" PRId64 " rows, but location_proj.weight has only %" PRId64 " positions",
                                 key_count, prepared->location.outputs);
    return status;
}

static int64_t value_columns(const struct prepared *prepared, const struct attnzoo_attention *problem)
{
    return prepared->value.weight != NULL ? prepared->value.outputs : problem->value.size[ATTNZOO_COLUMN];
}

enum { OUTPUT_RANK = 3 };

/* The shape of an output with all its axes; the problem's value still is the input. */
static void full_shape(const struct prepared *prepared, const struct attnzoo_attention *problem, int32_t output,
                       int64_t *shape)
{
    shape[0] = problem->query.size[ATTNZOO_BATCH];
    shape[1] = problem->query.size[ATTNZOO_ROW];
    shape[2] = output == ATTNZOO_OUTPUT_ATTENTION ? problem->value.size[ATTNZOO_ROW] : value_columns(prepared, problem);
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    (void)state;
    struct attnzoo_attention problem = {0};
    int64_t full[OUTPUT_RANK];
    attnzoo_status status = check_inputs(instance->prepared, views, &problem);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    full_shape(instance->prepared, &problem, output, full);
    attnzoo_shapes_tell_output(full, OUTPUT_RANK, views[ATTNZOO_INPUT_QUERY], OUTPUT_RANK, rank, shape);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(struct run *run)
{
    struct attnzoo_grid *const grids[] = {&run->problem.context, &run->problem.attention};
    for (int32_t output = 0; output < 2; output++) {
        const struct attnzoo_view *view = run->call->outputs[output];
        int64_t shape[OUTPUT_RANK];
        if (view == NULL)
            continue;
        full_shape(run->prepared, &run->problem, output, shape);
        attnzoo_status status =
            attnzoo_shapes_check_output(view, outputs[output].name, shape, OUTPUT_RANK, grids[output]);
        if (status != ATTNZOO_STATUS_OK)
            return status;
        *grids[output] = attnzoo_grid_without_heads(view);
    }
    run->problem.wants_attention = run->call->outputs[ATTNZOO_OUTPUT_ATTENTION] != NULL;
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_state(const struct run *run)
{
    const struct attnzoo_state_content *state = run->call->state;
    if (state == NULL)
        return ATTNZOO_STATUS_OK;
    int64_t batch_count = run->problem.query.size[ATTNZOO_BATCH];
    if (state->batch != batch_count)
        return attnzoo_shapes_differ("batch sizes", "query", batch_count, "the state", state->batch);
    if (state->fields[FIELD_VALUE].columns == 0)
        return ATTNZOO_STATUS_OK;
    return attnzoo_recurrence_check_room(state, run->problem.value.size[ATTNZOO_ROW], "value");
}

/* The rows of location_proj.weight, the same for all batches, are keys. */
static struct attnzoo_grid positions(const struct prepared *prepared, int64_t batch_count, int64_t key_count)
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
    const struct prepared *prepared = run->prepared;
    struct attnzoo_attention *problem = &run->problem;
    int64_t batch_count = problem->query.size[ATTNZOO_BATCH], query_count = problem->query.size[ATTNZOO_ROW];
    problem->key = positions(prepared, batch_count, problem->value.size[ATTNZOO_ROW]);
    problem->query_count = query_count;
    problem->scale = 1.0f;
    problem->source = &attnzoo_kernel_dot_product;
    if (prepared->flavor == POSITION)
        return true;
    const struct attnzoo_layer *layer = is_recurrent(prepared) ? &prepared->windows : &prepared->query;
    struct attnzoo_grid projected;
    if (!attnzoo_grid_make_compact(&projected, batch_count, 1, query_count, layer->outputs))
        return false;
    run->query_layer = attnzoo_recurrence_layer(&problem->query, layer, &projected);
    run->query_layer.clears_unwanted = true;
    if (is_recurrent(prepared)) {
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
    if (state != NULL && state->fields[FIELD_VALUE].columns > 0) {
        value->data = (char *)state->fields[FIELD_VALUE].data;
        value->stride[ATTNZOO_HEAD] = value->stride[ATTNZOO_BATCH] =
            state->capacity * state->fields[FIELD_VALUE].columns;
    }
    run->value_layer = attnzoo_recurrence_layer(&input, &run->prepared->value, value);
    return true;
}

static bool place_zones(struct run *run)
{
    const struct attnzoo_grid *projected = &run->query_layer.parts[0], *value = &run->value_layer.parts[0];
    int64_t batch_count = run->problem.context.size[ATTNZOO_BATCH];
    int64_t query_count = run->problem.context.size[ATTNZOO_ROW], end = 0;
    int64_t windows = run->prepared->flavor == POSITION ? 0 : query_count;
    int64_t centres = run->prepared->flavor == LOCAL_P ? query_count : 0;
    int64_t values = run->value_layer.weight != NULL && value->data == NULL ? attnzoo_grid_element_count(value) : 0;
    int64_t rows = is_recurrent(run->prepared) ? batch_count : 1;
    int64_t columns = is_recurrent(run->prepared) ? run->prepared->component_count : run->prepared->query.outputs;
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
    bool has_windows = run->prepared->flavor == LOCAL_P || (is_recurrent(run->prepared) && has_reach(run));
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
    bool keeps_values = state != NULL && state->fields[FIELD_VALUE].columns > 0;
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
        mixture->centres = state->fields[FIELD_KAPPA].data;
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
    const struct prepared *prepared = run->prepared;
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

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct run run = {.prepared = instance->prepared, .call = call};
    struct attnzoo_pool_claim claim;
    attnzoo_status status = check_inputs(run.prepared, call->inputs, &run.problem);
    int64_t batch_count = run.problem.query.size[ATTNZOO_BATCH], query_count = run.problem.query.size[ATTNZOO_ROW];
    int64_t key_count = run.problem.value.size[ATTNZOO_ROW];
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(&run);
    if (status == ATTNZOO_STATUS_OK)
        status = check_state(&run);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_resolve(&run.problem.mask, call->mask, batch_count, 1, query_count, key_count);
    if (status != ATTNZOO_STATUS_OK || batch_count == 0 || query_count == 0)
        return status;
    status = plan(&run);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_pool_claim(&claim, call->pool, &run.needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    project(&run, &claim);
    if (is_recurrent(run.prepared))
        run_mixture(&run, &claim);
    else if (run.prepared->flavor == LOCAL_P)
        run_local(&run, &claim);
    else
        attnzoo_attention_solve(&run.plan, &claim, (char *)claim.shared + run.attention_offset);
    attnzoo_pool_release(&claim);
    if (call->state != NULL) {
        call->state->length = call->state->fields[FIELD_VALUE].columns > 0 ? key_count : 0;
        call->state->is_started = true;
    }
    return ATTNZOO_STATUS_OK;
}

const struct attnzoo_mechanism attnzoo_mechanism_location = {
    .name = "location",
    .summary =
        "attention by position alone: a moving window of Gaussians, a score for each position, or a local window",
    .formula = "phi = sum_k alpha_k exp(-beta_k (kappa_k - u)^2), kappa_t = kappa_t-1 + exp(kappa^), context = phi V; "
               "or A = softmax(Wa h + biases); "
               "or A = softmax(Wa h + biases) exp(-(u - p)^2 / (2 sigma^2)), p = S sigmoid(v_p.tanh(W_p h))",
    .source = "Graves 2013, Generating Sequences With Recurrent Neural Networks, arXiv 1308.0850; "
              "Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation, arXiv 1508.04025",
    .options = options,
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = OPTION_COUNT,
    .parameter_count = PARAMETER_COUNT,
    .input_count = sizeof inputs / sizeof *inputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .state_fields = state_fields,
    .state_field_count = FIELD_COUNT,
    .prepared_bytes = sizeof(struct prepared),
    .prepare = prepare,
    .output_shape = output_shape,
    .state_layout = state_layout,
    .forward = forward,
};
