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
 * where align is the softmax over the window of Wa h_t, or uniform. Neither phi nor local_p's weights add up to 1. How a
 * call goes whose arguments are right is location_run.c's.
 */
#include "mechanisms/location_run.h"

#include "base/checked.h"
#include "base/error.h"
#include "mechanisms/recurrence.h"

#include <inttypes.h>

enum { OPTION_FLAVOR, OPTION_NORMALIZED, OPTION_WINDOW, OPTION_FIRST_POSITION, OPTION_COUNT };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_FLAVOR] = {"flavor", ATTNZOO_OPTION_CHOICE, "gaussian_mixture", "gaussian_mixture|position|local_p",
                       "Graves' window, Luong's score of positions, or Luong's window",
                       ATTNZOO_LOCATION_GAUSSIAN_MIXTURE, 0.0, 2.0},
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

static const struct attnzoo_slot_spec state_fields[ATTNZOO_LOCATION_FIELD_COUNT] = {
    [ATTNZOO_LOCATION_KAPPA] = {"kappa", "[B, K]", "where gaussian_mixture's centres are; 0 before the first step",
                                true, false},
};

/* Every parameter of another flavor is a mistake, and so is a missing one of this flavor. */
static attnzoo_status check_flavor(const struct attnzoo_instance *instance, int flavor)
{
    enum {
        MIXTURE = 1u << ATTNZOO_LOCATION_GAUSSIAN_MIXTURE,
        BY_POSITION = 1u << ATTNZOO_LOCATION_POSITION,
        LOCAL = 1u << ATTNZOO_LOCATION_LOCAL_P
    };
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
static attnzoo_status check_shapes(const struct attnzoo_instance *instance, const struct attnzoo_location *prepared)
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
    if (status == ATTNZOO_STATUS_OK && prepared->flavor == ATTNZOO_LOCATION_LOCAL_P &&
        prepared->location.weight != NULL && prepared->location.inputs != prepared->query.inputs)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "location_proj.weight takes %" PRId64 " features, query_proj.weight %" PRId64,
                                 prepared->location.inputs, prepared->query.inputs);
    return status;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    const struct attnzoo_option_value *values = instance->options;
    struct attnzoo_location *prepared = instance->prepared;
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
    const struct attnzoo_location *prepared = instance->prepared;
    content->fields[ATTNZOO_LOCATION_KAPPA] = (struct attnzoo_state_field){
        .heads = prepared->component_count, .columns = 1, .is_scalar = true, .has_no_keys = true};
    content->fields[ATTNZOO_LOCATION_VALUE] = (struct attnzoo_state_field){
        .heads = 1, .columns = attnzoo_location_is_recurrent(prepared) ? prepared->value.outputs : 0};
    content->field_count = ATTNZOO_LOCATION_VALUE + 1;
}

/* Features that the queries must have, and the weight that says so. */
static attnzoo_status check_query(const struct attnzoo_location *prepared, const struct attnzoo_view *query)
{
    const struct attnzoo_layer *const layers[] = {&prepared->windows, &prepared->location, &prepared->query};
    static const char *const names[] = {"window_proj.weight", "location_proj.weight", "query_proj.weight"};
    attnzoo_status status = attnzoo_shapes_check_rank(query, "query", 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_shapes_check_features(query, "query", names[prepared->flavor], layers[prepared->flavor]->inputs);
}

/* Checks the inputs, and fills their part of the problem. */
static attnzoo_status check_inputs(const struct attnzoo_location *prepared, const struct attnzoo_view *const *views,
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

static int64_t value_columns(const struct attnzoo_location *prepared, const struct attnzoo_attention *problem)
{
    return prepared->value.weight != NULL ? prepared->value.outputs : problem->value.size[ATTNZOO_COLUMN];
}

enum { OUTPUT_RANK = 3 };

/* The shape of an output with all its axes; the problem's value still is the input. */
static void full_shape(const struct attnzoo_location *prepared, const struct attnzoo_attention *problem, int32_t output,
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

static attnzoo_status check_outputs(const struct attnzoo_location *prepared, const struct attnzoo_call *call,
                                    struct attnzoo_attention *problem)
{
    struct attnzoo_grid *const grids[] = {&problem->context, &problem->attention};
    for (int32_t output = 0; output < 2; output++) {
        const struct attnzoo_view *view = call->outputs[output];
        int64_t shape[OUTPUT_RANK];
        if (view == NULL)
            continue;
        full_shape(prepared, problem, output, shape);
        attnzoo_status status =
            attnzoo_shapes_check_output(view, outputs[output].name, shape, OUTPUT_RANK, grids[output]);
        if (status != ATTNZOO_STATUS_OK)
            return status;
        *grids[output] = attnzoo_grid_without_heads(view);
    }
    problem->wants_attention = call->outputs[ATTNZOO_OUTPUT_ATTENTION] != NULL;
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_state(const struct attnzoo_state_content *state, const struct attnzoo_attention *problem)
{
    if (state == NULL)
        return ATTNZOO_STATUS_OK;
    int64_t batch_count = problem->query.size[ATTNZOO_BATCH];
    if (state->batch != batch_count)
        return attnzoo_shapes_differ("batch sizes", "query", batch_count, "the state", state->batch);
    if (state->fields[ATTNZOO_LOCATION_VALUE].columns == 0)
        return ATTNZOO_STATUS_OK;
    return attnzoo_recurrence_check_room(state, problem->value.size[ATTNZOO_ROW], "value");
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    const struct attnzoo_location *prepared = instance->prepared;
    struct attnzoo_attention problem = {0};
    attnzoo_status status = check_inputs(prepared, call->inputs, &problem);
    int64_t batch_count = problem.query.size[ATTNZOO_BATCH], query_count = problem.query.size[ATTNZOO_ROW];
    int64_t key_count = problem.value.size[ATTNZOO_ROW];
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(prepared, call, &problem);
    if (status == ATTNZOO_STATUS_OK)
        status = check_state(call->state, &problem);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_resolve(&problem.mask, call->mask, batch_count, 1, query_count, key_count);
    if (status != ATTNZOO_STATUS_OK || batch_count == 0 || query_count == 0)
        return status;
    return attnzoo_location_run(prepared, call, &problem);
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
    .state_field_count = ATTNZOO_LOCATION_FIELD_COUNT,
    .prepared_bytes = sizeof(struct attnzoo_location),
    .prepare = prepare,
    .output_shape = output_shape,
    .state_layout = state_layout,
    .forward = forward,
};
