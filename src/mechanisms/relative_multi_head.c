/*
 * mechanisms/relative_multi_head.c: multi-head attention that knows how far apart query and key are, in two flavours:
 *
 *   transformer_xl   score_ij = s ((q_i + u) . k_j + (q_i + v) . r(i, j)), r = Wp position (Dai et al. 2019, arXiv
 *                    1901.02860, section 3.3, where Wp is W_k,R and u, v are biases in place of position queries)
 *   shaw             score_ij = s q_i . (k_j + aK_c), context_i = sum_j A_ij (v_j + aV_c), c the clipped distance (Shaw
 *                    et al. 2018, arXiv 1803.02155, equations 3 and 4)
 *
 * Query i stands at M - N + i, key j at j. Heads, projections and cache are projected_heads.c's, the scores those of
 * kernels/relative_position.c and relative_distance.c.
 */
#include "mechanisms/mechanism.h"

#include "base/error.h"
#include "kernels/relative_distance.h"
#include "kernels/relative_position.h"
#include "mechanisms/projected_heads.h"

#include <float.h>
#include <inttypes.h>

enum { OPTION_FLAVOR = ATTNZOO_HEADS_OPTION_COUNT, OPTION_COUNT };

enum { TRANSFORMER_XL, SHAW };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    ATTNZOO_HEADS_OPTIONS,
    [OPTION_FLAVOR] = {"flavor", ATTNZOO_OPTION_CHOICE, "transformer_xl", "transformer_xl|shaw",
                       "how distances enter: by a table of positions, or by vectors for clipped distances",
                       TRANSFORMER_XL, TRANSFORMER_XL, SHAW},
};

enum {
    POSITION_WEIGHT = ATTNZOO_HEADS_PARAMETER_COUNT,
    POSITION_BIAS,
    CONTENT_BIAS,
    POSITION_QUERY_BIAS,
    RELATIVE_KEY,
    RELATIVE_VALUE,
    PARAMETER_COUNT
};

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    ATTNZOO_HEADS_PARAMETERS,
    [POSITION_WEIGHT] = {"pos_proj.weight", "[H*D, E]", "makes r of the table's rows; flavor=transformer_xl needs it",
                         2, false},
    [POSITION_BIAS] = {"pos_proj.bias", "[H*D]", "added to them; transformer_xl only", 1, false},
    [CONTENT_BIAS] = {"u_bias", "[H, D]", "u, added to the query that meets the keys; transformer_xl only", 2, false},
    [POSITION_QUERY_BIAS] = {"v_bias", "[H, D]", "v, added to the query that meets the positions; transformer_xl only",
                             2, false},
    [RELATIVE_KEY] = {"relative_key", "[2k+1, D]", "aK, one vector for each clipped distance; flavor=shaw needs it", 2,
                      false},
    [RELATIVE_VALUE] = {"relative_value", "[2k+1, Dv]", "aV, likewise; shaw only", 2, false},
};

static const struct attnzoo_slot_spec inputs[] = {
    ATTNZOO_HEADS_INPUTS,
    [ATTNZOO_INPUT_POSITION] =
        {"position", "[P, E]",
         "row p is for the distance M - 1 - p; P = M + N - 1, or M under a causal mask; [B, P, E] for "
         "one a batch; flavor=transformer_xl needs it",
         false, false},
};

static const struct attnzoo_slot_spec outputs[] = {ATTNZOO_HEADS_OUTPUTS};
static const struct attnzoo_slot_spec state_fields[] = {ATTNZOO_HEADS_STATE_FIELDS};

struct prepared {
    struct attnzoo_heads heads;
    int flavor;
    struct attnzoo_layer position;
    const float *content_bias;
    const float *position_bias;
    const float *relative_key;
    const float *relative_value;
    int64_t largest_distance;
};

/* Every parameter of the other flavour is a mistake, and so is a missing one of this flavour. */
static attnzoo_status check_flavor(const struct attnzoo_instance *instance, int flavor)
{
    enum { OF_TRANSFORMER_XL = 1u << TRANSFORMER_XL, OF_SHAW = 1u << SHAW };
    static const struct attnzoo_flavor_rule rules[] = {
        {POSITION_WEIGHT, OF_TRANSFORMER_XL, OF_TRANSFORMER_XL},
        {POSITION_BIAS, OF_TRANSFORMER_XL, 0},
        {CONTENT_BIAS, OF_TRANSFORMER_XL, 0},
        {POSITION_QUERY_BIAS, OF_TRANSFORMER_XL, 0},
        {RELATIVE_KEY, OF_SHAW, OF_SHAW},
        {RELATIVE_VALUE, OF_SHAW, 0},
    };
    static const char *const names[] = {"transformer_xl", "shaw"};
    return attnzoo_shapes_check_flavor(instance, flavor, names[flavor], rules, sizeof rules / sizeof *rules);
}

static attnzoo_status prepare_transformer_xl(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    const struct attnzoo_heads *heads = &prepared->heads;
    attnzoo_status status = attnzoo_shapes_read_layer(instance, POSITION_WEIGHT, POSITION_BIAS, &prepared->position);
    const int64_t weight_shape[] = {heads->head_count * heads->head_size, prepared->position.inputs};
    const int64_t bias_shape[] = {heads->head_count, heads->head_size};
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, POSITION_WEIGHT, weight_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_bias(instance, POSITION_WEIGHT, POSITION_BIAS);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, CONTENT_BIAS, bias_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, POSITION_QUERY_BIAS, bias_shape);
    prepared->content_bias = instance->parameters[CONTENT_BIAS].data;
    prepared->position_bias = instance->parameters[POSITION_QUERY_BIAS].data;
    return status;
}

static attnzoo_status prepare_shaw(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    const struct attnzoo_heads *heads = &prepared->heads;
    int64_t distances = instance->parameters[RELATIVE_KEY].view.shape[0];
    if (distances % 2 == 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "relative_key has %" PRId64 " rows, must have an odd number, 2k+1", distances);
    const int64_t key_shape[] = {distances, heads->head_size}, value_shape[] = {distances, heads->value_size};
    attnzoo_status status = attnzoo_shapes_check_parameter(instance, RELATIVE_KEY, key_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, RELATIVE_VALUE, value_shape);
    prepared->relative_key = instance->parameters[RELATIVE_KEY].data;
    prepared->relative_value = instance->parameters[RELATIVE_VALUE].data;
    prepared->largest_distance = (distances - 1) / 2;
    return status;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    prepared->flavor = (int)instance->options[OPTION_FLAVOR].number;
    attnzoo_status status = check_flavor(instance, prepared->flavor);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_heads_prepare(instance, &prepared->heads);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return prepared->flavor == SHAW ? prepare_shaw(instance, prepared) : prepare_transformer_xl(instance, prepared);
}

static void release(struct attnzoo_instance *instance)
{
    attnzoo_heads_release(instance->prepared);
}

/* Whether no query may see a key that stands after it. */
static bool sees_no_future(const struct attnzoo_attention *problem)
{
    int64_t first_position = problem->key.size[ATTNZOO_ROW] - problem->query.size[ATTNZOO_ROW];
    if (!problem->mask.description->is_causal)
        return false;
    for (int64_t batch = 0; batch < problem->mask.batch_count; batch++)
        for (int64_t query = 0; query < problem->query_count; query++) {
            struct attnzoo_key_span span = attnzoo_mask_span(&problem->mask, batch, query);
            if (span.first < span.end && span.end > first_position + query + 1)
                return false;
        }
    return true;
}

/* Checks the table of positions and makes its layer. */
static attnzoo_status open_position(const struct prepared *prepared, const struct attnzoo_heads_call *opened,
                                    struct attnzoo_projection *projection)
{
    const struct attnzoo_view *view = opened->call->inputs[ATTNZOO_INPUT_POSITION];
    const struct attnzoo_layer *layer = &prepared->position;
    const struct attnzoo_heads *heads = &prepared->heads;
    int64_t keys = opened->problem.key.size[ATTNZOO_ROW], queries = opened->problem.query.size[ATTNZOO_ROW];
    if (view == NULL)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "position is NULL; flavor=transformer_xl needs it");
    attnzoo_status status = attnzoo_shapes_check_rank(view, "position", 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_grid input = attnzoo_grid_without_heads(view);
    int64_t rows = input.size[ATTNZOO_ROW], batches = input.size[ATTNZOO_BATCH];
    status = attnzoo_shapes_check_features(view, "position", "pos_proj.weight", layer->inputs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (batches != 1 && batches != opened->query.size[ATTNZOO_BATCH])
        return attnzoo_shapes_differ("batch sizes", "query", opened->query.size[ATTNZOO_BATCH], "position", batches);
    uint64_t two_sided_rows = (uint64_t)keys + (uint64_t)queries - 1;
    bool is_two_sided = queries == 0 || keys == 0 || rows - keys == queries - 1;
    if (!is_two_sided && rows != keys)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "position has %" PRId64 " rows, must have M + N - 1 = %" PRIu64
                                 ", or under a causal mask M = %" PRId64,
                                 rows, two_sided_rows, keys);
    if (!is_two_sided && !sees_no_future(&opened->problem))
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "position has M = %" PRId64
                                 " rows, but the mask lets queries see keys after them, so it "
                                 "must have M + N - 1 = %" PRIu64,
                                 rows, two_sided_rows);
    *projection =
        (struct attnzoo_projection){.input = input, .weight = layer->weight, .bias = layer->bias, .part_count = 1};
    if (!attnzoo_grid_make_compact(&projection->parts[0], batches, heads->head_count, rows, heads->head_size))
        return attnzoo_base_fail_memory(UINT64_MAX);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    const struct prepared *prepared = instance->prepared;
    struct attnzoo_heads_call opened;
    struct attnzoo_projection projection;
    attnzoo_status status = attnzoo_heads_open(&opened, instance, call);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_relative_position position = {.content_bias = prepared->content_bias,
                                                       .position_bias = prepared->position_bias,
                                                       .table = &projection.parts[0]};
    const struct attnzoo_relative_distance distance = {
        .keys = prepared->relative_key, .values = prepared->relative_value, .largest = prepared->largest_distance};
    if (prepared->flavor == TRANSFORMER_XL) {
        status = open_position(prepared, &opened, &projection);
        opened.extra = &projection;
        opened.problem.source = &attnzoo_kernel_relative_position;
        opened.problem.source_data = &position;
    } else {
        if (call->inputs[ATTNZOO_INPUT_POSITION] != NULL)
            return attnzoo_base_fail(ATTNZOO_STATUS_UNSUPPORTED, "flavor=shaw takes no position");
        opened.problem.source =
            distance.values == NULL ? &attnzoo_kernel_relative_distance : &attnzoo_kernel_relative_distance_with_values;
        opened.problem.source_data = &distance;
    }
    return status == ATTNZOO_STATUS_OK ? attnzoo_heads_run(&opened) : status;
}

const struct attnzoo_mechanism attnzoo_mechanism_relative_multi_head = {
    .name = "relative_multi_head",
    .summary = "multi-head attention that knows the distance from query to key",
    .formula = "transformer_xl: score = s ((q + u).k + (q + v).r), r = Wp position; shaw: score = s q.(k + aK), "
               "context = A (v + aV); heads and out_proj as multi_head",
    .source =
        "Dai et al. 2019, Transformer-XL, arXiv 1901.02860; Shaw et al. 2018, Self-Attention with Relative Position "
        "Representations, arXiv 1803.02155",
    .options = options,
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = OPTION_COUNT,
    .parameter_count = PARAMETER_COUNT,
    .input_count = sizeof inputs / sizeof *inputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .state_fields = state_fields,
    .state_field_count = sizeof state_fields / sizeof *state_fields,
    .state_is_cache = true,
    .prepared_bytes = sizeof(struct prepared),
    .prepare = prepare,
    .release = release,
    .output_shape = attnzoo_heads_output_shape,
    .state_layout = attnzoo_heads_state_layout,
    .forward = forward,
};
