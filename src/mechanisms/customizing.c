/*
 * mechanisms/customizing.c: multi-head dot-product attention whose keys and values are one projection plus location
 * features, a recurrence over the queries (the "customizing" attention of S. Kim's collection, github.com/sooftware/
 * attentions; features of the last alignment after Chorowski et al. 2015, arXiv 1506.07503, equation 8). For each head:
 *
 *     f_j = conv(alignment_t-1)_j,  x_j = Wv v_j + U f_j + b,  q_t = Wq q + bq
 *     alignment_t = softmax_j(s q_t . x_j + biases),  context_t = sum_j alignment_t,j x_j,  s = 1 / sqrt(D)
 *
 * conv and U are shared by the heads, of which each sees its own alignment alone. Convolutions are kernels/location.c's;
 * each step is one query through the tiled core.
 *
 * The call's memory:
 *
 *   | spans of queries | spans of keys | queries | projected values | alignment | x of the step | the core's |
 *
 * With a state, alignments and projected values lie there instead.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/attention_plan.h"
#include "kernels/dot_product.h"
#include "kernels/location.h"
#include "kernels/projection.h"
#include "kernels/vectors.h"
#include "mechanisms/recurrence.h"
#include "mechanisms/shapes.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

enum { OPTION_NUM_HEADS, OPTION_SCALE, OPTION_INITIAL, OPTION_COUNT };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_NUM_HEADS] = {"num_heads", ATTNZOO_OPTION_INT, "1", "1 to 2^31",
                          "H, the heads, each with an alignment of its own", 1.0, 1.0, 0x1p31},
    [OPTION_SCALE] = {"scale", ATTNZOO_OPTION_FLOAT, "1/sqrt(D)", "finite", "s, multiplies q.x", 0.0, -(double)FLT_MAX,
                      (double)FLT_MAX},
    [OPTION_INITIAL] = {"initial", ATTNZOO_OPTION_CHOICE, "zeros", "zeros|uniform|first",
                        "the alignment before the first step", ATTNZOO_FIRST_ZEROS, 0.0, 2.0},
};

enum {
    QUERY_WEIGHT,
    QUERY_BIAS,
    VALUE_WEIGHT,
    BIAS,
    CONVOLUTION_WEIGHT,
    CONVOLUTION_BIAS,
    LOCATION_WEIGHT,
    PARAMETER_COUNT
};

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    [QUERY_WEIGHT] = {"query_proj.weight", "[H*D, Eq]", "Wq", 2, true},
    [QUERY_BIAS] = {"query_proj.bias", "[H*D]", "bq, added to the projected query", 1, false},
    [VALUE_WEIGHT] = {"value_proj.weight", "[H*D, Ev]", "Wv", 2, true},
    [BIAS] = {"bias", "[H*D]", "b, added to the projected value", 1, false},
    [CONVOLUTION_WEIGHT] = {"location_conv.weight", "[F, 1, W]", "W odd; over each head's own alignment", 3, true},
    [CONVOLUTION_BIAS] = {"location_conv.bias", "[F]", "added to the features", 1, false},
    [LOCATION_WEIGHT] = {"location_proj.weight", "[D, F]", "U", 2, true},
};

static const struct attnzoo_slot_spec inputs[] = {
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, N, Eq]", "what is looked for at each of N steps, in order", true, false},
    [ATTNZOO_INPUT_KEY] = {"key", "[B, M, Ek]",
                           "not used: values are keys, too; may be left out, otherwise of as many rows as value", false,
                           false},
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, M, Ev]", "what each glimpse is found by and gives", true, false},
};

static const struct attnzoo_slot_spec outputs[] = {
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, N, H*D]", "the x, summed by the alignments; head by head", true, false},
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, H, N, M]", "the alignments; [B, N, M] with one head", false, false},
};

enum { FIELD_ALIGNMENT, FIELD_COUNT, FIELD_VALUE = FIELD_COUNT };

static const struct attnzoo_slot_spec state_fields[FIELD_COUNT] = {
    [FIELD_ALIGNMENT] = {"alignment", "[B, H, M]", "the last step's alignment", true, false},
};

struct prepared {
    int64_t head_count;
    /** D */
    int64_t head_size;
    struct attnzoo_layer query;
    struct attnzoo_layer value;
    struct attnzoo_location_layers layers;
    float scale;
    enum attnzoo_first_alignment initial;
};

/* Checks every size that follows from H, D and F. */
static attnzoo_status check_shapes(const struct attnzoo_instance *instance, const struct prepared *prepared)
{
    const int64_t *convolution = instance->parameters[CONVOLUTION_WEIGHT].view.shape;
    int64_t filters = convolution[0], width = convolution[2], joined = prepared->query.outputs;
    const int64_t value_shape[] = {joined, prepared->value.inputs}, convolution_shape[] = {filters, 1, width};
    const int64_t location_shape[] = {prepared->head_size, filters};
    const struct {
        int32_t parameter;
        const int64_t *shape;
    } rules[] = {{QUERY_BIAS, &joined},
                 {VALUE_WEIGHT, value_shape},
                 {BIAS, &joined},
                 {CONVOLUTION_WEIGHT, convolution_shape},
                 {CONVOLUTION_BIAS, &filters},
                 {LOCATION_WEIGHT, location_shape}};
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == ATTNZOO_STATUS_OK; i++)
        status = attnzoo_shapes_check_parameter(instance, rules[i].parameter, rules[i].shape);
    if (status == ATTNZOO_STATUS_OK && width % 2 == 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "location_conv.weight has a width of %" PRId64 ", must be odd", width);
    return status;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    const struct attnzoo_option_value *values = instance->options;
    const struct attnzoo_parameter_value *layers = instance->parameters;
    struct prepared *prepared = instance->prepared;
    prepared->head_count = (int64_t)values[OPTION_NUM_HEADS].number;
    prepared->initial = (enum attnzoo_first_alignment)values[OPTION_INITIAL].number;
    attnzoo_status status = attnzoo_shapes_read_layer(instance, QUERY_WEIGHT, QUERY_BIAS, &prepared->query);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, VALUE_WEIGHT, BIAS, &prepared->value);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_split(instance, QUERY_WEIGHT, prepared->head_count);
    prepared->head_size = prepared->query.outputs / prepared->head_count;
    if (status == ATTNZOO_STATUS_OK)
        status = check_shapes(instance, prepared);
    prepared->layers = (struct attnzoo_location_layers){.convolution = layers[CONVOLUTION_WEIGHT].data,
                                                        .convolution_bias = layers[CONVOLUTION_BIAS].data,
                                                        .filter_count = layers[CONVOLUTION_WEIGHT].view.shape[0],
                                                        .channel_count = 1,
                                                        .width = layers[CONVOLUTION_WEIGHT].view.shape[2],
                                                        .projection = layers[LOCATION_WEIGHT].data,
                                                        .hidden_size = prepared->head_size};
    double size = (double)attnzoo_base_maximum(prepared->head_size, 1);
    prepared->scale = (float)(values[OPTION_SCALE].is_set ? values[OPTION_SCALE].number : 1.0 / sqrt(size));
    return status;
}

static void state_layout(const struct attnzoo_instance *instance, struct attnzoo_state_content *content)
{
    const struct prepared *prepared = instance->prepared;
    content->fields[FIELD_ALIGNMENT] =
        (struct attnzoo_state_field){.heads = prepared->head_count, .columns = 1, .is_scalar = true};
    content->fields[FIELD_VALUE] =
        (struct attnzoo_state_field){.heads = prepared->head_count, .columns = prepared->head_size};
    content->field_count = FIELD_VALUE + 1;
}

/* A call on its way through the steps. */
struct run {
    const struct prepared *prepared;
    const struct attnzoo_call *call;
    /** Its key and value are x. */
    struct attnzoo_attention problem;
    struct attnzoo_attention_plan plan;
    struct attnzoo_location location;
    struct attnzoo_alignment alignment;
    /** [B, H, N, M], or NULL data if it is not wanted. */
    struct attnzoo_grid attention;
    /** [B, H, M, D]: Wv v + b. */
    struct attnzoo_grid projected;
    struct attnzoo_projection query_layer;
    struct attnzoo_projection value_layer;
    struct attnzoo_projection_plan query_plan;
    struct attnzoo_projection_plan value_plan;
    int64_t query_spans_offset;
    int64_t key_spans_offset;
    int64_t queries_offset;
    int64_t values_offset;
    int64_t alignment_offset;
    int64_t terms_offset;
    int64_t attention_offset;
    struct attnzoo_pool_needs needs;
};

/* The inputs as they lie. */
struct raw {
    struct attnzoo_grid query;
    struct attnzoo_grid value;
};

static attnzoo_status check_inputs(const struct prepared *prepared, const struct attnzoo_view *const *views,
                                   struct raw *raw)
{
    const struct attnzoo_view *query = views[ATTNZOO_INPUT_QUERY], *value = views[ATTNZOO_INPUT_VALUE];
    attnzoo_status status = attnzoo_shapes_check_rank(query, "query", 2, 3);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_features(query, "query", "query_proj.weight", prepared->query.inputs);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_rank(value, "value", 2, 3);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_features(value, "value", "value_proj.weight", prepared->value.inputs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    raw->query = attnzoo_grid_without_heads(query);
    raw->value = attnzoo_grid_without_heads(value);
    return attnzoo_shapes_check_without_key(&raw->query, views[ATTNZOO_INPUT_KEY], &raw->value);
}

/* The shape of an output with all its axes. */
static int32_t full_shape(const struct prepared *prepared, const struct raw *raw, int32_t output, int64_t *shape)
{
    int32_t rank = 0;
    shape[rank++] = raw->query.size[ATTNZOO_BATCH];
    if (output == ATTNZOO_OUTPUT_ATTENTION && prepared->head_count > 1)
        shape[rank++] = prepared->head_count;
    shape[rank++] = raw->query.size[ATTNZOO_ROW];
    shape[rank++] = output == ATTNZOO_OUTPUT_ATTENTION ? raw->value.size[ATTNZOO_ROW] : prepared->query.outputs;
    return rank;
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    (void)state;
    struct raw raw;
    int64_t full[ATTNZOO_GRID_RANK];
    attnzoo_status status = check_inputs(instance->prepared, views, &raw);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int32_t full_rank = full_shape(instance->prepared, &raw, output, full);
    attnzoo_shapes_tell_output(full, full_rank, views[ATTNZOO_INPUT_QUERY], 3, rank, shape);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(struct run *run, const struct raw *raw)
{
    const struct attnzoo_view *context = run->call->outputs[ATTNZOO_OUTPUT_CONTEXT];
    const struct attnzoo_view *attention = run->call->outputs[ATTNZOO_OUTPUT_ATTENTION];
    int64_t shape[ATTNZOO_GRID_RANK];
    int32_t rank = full_shape(run->prepared, raw, ATTNZOO_OUTPUT_CONTEXT, shape);
    struct attnzoo_grid joined;
    attnzoo_status status = attnzoo_shapes_check_output(context, "context", shape, rank, &joined);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    joined = attnzoo_grid_without_heads(context);
    run->problem.context = attnzoo_grid_split_heads(&joined, run->prepared->head_count);
    if (attention == NULL)
        return ATTNZOO_STATUS_OK;
    rank = full_shape(run->prepared, raw, ATTNZOO_OUTPUT_ATTENTION, shape);
    status = attnzoo_shapes_check_output(attention, "attention", shape, rank, &run->attention);
    if (status == ATTNZOO_STATUS_OK && run->prepared->head_count == 1)
        run->attention = attnzoo_grid_without_heads(attention);
    return status;
}

/* The core's part of each step: one query of every head, whose attention is the alignment. */
static bool describe_step(struct run *run, const struct raw *raw)
{
    const struct prepared *prepared = run->prepared;
    const struct attnzoo_state_content *state = run->call->state;
    struct attnzoo_attention *problem = &run->problem;
    int64_t batch_count = raw->query.size[ATTNZOO_BATCH], heads = prepared->head_count, size = prepared->head_size;
    int64_t keys = raw->value.size[ATTNZOO_ROW], step = state != NULL ? state->capacity : keys;
    if (!attnzoo_grid_make_compact(&problem->query, batch_count, heads, raw->query.size[ATTNZOO_ROW], size) ||
        !attnzoo_grid_make_compact(&problem->key, batch_count, heads, keys, size))
        return false;
    problem->value = run->projected = problem->key;
    if (state != NULL) {
        run->projected.data = (char *)state->fields[FIELD_VALUE].data;
        run->projected.stride[ATTNZOO_HEAD] = state->capacity * size;
        run->projected.stride[ATTNZOO_BATCH] = heads * run->projected.stride[ATTNZOO_HEAD];
    }
    run->alignment.step = step;
    problem->attention = (struct attnzoo_grid){
        .size = {batch_count, heads, 1, keys}, .stride = {heads * step, step, 0, 1}, .dtype = ATTNZOO_DTYPE_FLOAT32};
    problem->wants_attention = true;
    problem->query_count = 1;
    problem->scale = prepared->scale;
    problem->source = &attnzoo_kernel_dot_product;
    run->query_layer = attnzoo_recurrence_layer(&raw->query, &prepared->query, &problem->query);
    /* So that steps give the same, to the bit, in one call or in several. */
    run->query_layer.is_row_by_row = true;
    run->value_layer = attnzoo_recurrence_layer(&raw->value, &prepared->value, &run->projected);
    run->location = (struct attnzoo_location){.layers = &prepared->layers,
                                              .source_count = 1,
                                              .batch_count = batch_count * heads,
                                              .head_count = 1,
                                              .heads_apart = heads,
                                              .key_count = keys,
                                              .mask = &problem->mask};
    return true;
}

static bool place_zones(struct run *run)
{
    int64_t batch_count = run->projected.size[ATTNZOO_BATCH], end = 0;
    int64_t kept = run->call->state != NULL ? 0 : run->projected.size[ATTNZOO_ROW];
    int64_t queries = attnzoo_grid_element_count(&run->problem.query);
    int64_t values = attnzoo_grid_element_count(&run->projected), projected = run->call->state != NULL ? 0 : values;
    return attnzoo_pool_place(&end, &run->query_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->key_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->queries_offset, queries, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->values_offset, projected, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->alignment_offset, run->location.batch_count, kept, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->terms_offset, values, 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->attention_offset, run->plan.shared_bytes, 1, 1) &&
           (run->needs.shared_bytes = end, true);
}

static attnzoo_status plan(struct run *run, const struct raw *raw)
{
    int64_t location_bytes, batches;
    if (!attnzoo_base_multiply(raw->query.size[ATTNZOO_BATCH], run->prepared->head_count, &batches) ||
        !describe_step(run, raw) || !attnzoo_location_scratch_bytes(&run->location, &location_bytes))
        return attnzoo_base_fail_memory(UINT64_MAX);
    attnzoo_status status = attnzoo_attention_make_plan(&run->plan, &run->problem);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_projection_make_plan(&run->query_plan, &run->query_layer);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_projection_make_plan(&run->value_plan, &run->value_layer);
    if (status == ATTNZOO_STATUS_OK && !place_zones(run))
        status = attnzoo_base_fail_memory(UINT64_MAX);
    attnzoo_pool_add_needs(&run->needs, run->plan.scratch_bytes, run->plan.threads_wanted);
    attnzoo_pool_add_needs(&run->needs, location_bytes, 1);
    attnzoo_pool_add_needs(&run->needs, run->query_plan.scratch_bytes, run->query_plan.threads_wanted);
    attnzoo_pool_add_needs(&run->needs, run->value_plan.scratch_bytes, run->value_plan.threads_wanted);
    return status;
}

/* The memory is there: points all that lies in it, and projects queries and values. */
static void begin(struct run *run, const struct attnzoo_pool_claim *claim)
{
    char *memory = claim->shared;
    struct attnzoo_state_content *state = run->call->state;
    const struct attnzoo_view *value = run->call->inputs[ATTNZOO_INPUT_VALUE];
    struct attnzoo_key_span *of_queries = (void *)(memory + run->query_spans_offset);
    struct attnzoo_key_span *known = (void *)(memory + run->key_spans_offset);
    run->problem.query.data = memory + run->queries_offset;
    run->problem.key.data = run->problem.value.data = memory + run->terms_offset;
    run->location.terms = (void *)(memory + run->terms_offset);
    run->alignment.data = (void *)(memory + run->alignment_offset);
    if (state == NULL)
        run->projected.data = memory + run->values_offset;
    else
        run->alignment.data = state->fields[FIELD_ALIGNMENT].data;
    run->location.sources[0] = run->alignment;
    run->problem.attention.data = (char *)run->alignment.data;
    run->query_layer.parts[0].data = run->problem.query.data;
    run->value_layer.parts[0].data = run->projected.data;
    attnzoo_recurrence_find_rows(state, value, value, &run->problem.mask, of_queries, known);
    run->query_layer.spans[0] = of_queries;
    run->value_layer.spans[0] = known;
    attnzoo_projection_solve(&run->query_plan, claim);
    attnzoo_projection_solve(&run->value_plan, claim);
}

enum { KEYS_PER_ITEM = 128 };

/* x = terms + projected, for some keys of one head that some query may see. */
static void add_projected(const void *context, int64_t item, void *scratch)
{
    (void)scratch;
    const struct run *run = context;
    int64_t blocks = attnzoo_base_divide_up(run->location.key_count, KEYS_PER_ITEM), size = run->prepared->head_size;
    int64_t head = item / blocks % run->prepared->head_count, batch = item / blocks / run->prepared->head_count;
    struct attnzoo_key_span seen = attnzoo_mask_batch_span(&run->problem.mask, batch);
    int64_t first = attnzoo_base_maximum(item % blocks * KEYS_PER_ITEM, seen.first);
    int64_t end = attnzoo_base_minimum((item % blocks + 1) * KEYS_PER_ITEM, seen.end);
    if (first >= end)
        return;
    float *x = (float *)(void *)attnzoo_grid_at(&run->problem.value, batch, head, first, 0);
    const float *added = (const float *)(const void *)attnzoo_grid_at(&run->projected, batch, head, first, 0);
    attnzoo_kernel_vectors()->add_scaled(x, added, (end - first) * size, 1.0f);
}

static void write_attention(const struct run *run, int64_t query)
{
    const struct attnzoo_grid *out = &run->attention;
    int64_t heads = run->prepared->head_count;
    if (run->call->outputs[ATTNZOO_OUTPUT_ATTENTION] == NULL)
        return;
    for (int64_t row = 0; row < run->location.batch_count; row++)
        attnzoo_kernel_narrow(attnzoo_grid_at(out, row / heads, row % heads, query, 0), out->dtype,
                              out->stride[ATTNZOO_COLUMN], run->alignment.data + row * run->alignment.step,
                              run->location.key_count);
}

static void step(struct run *run, const struct attnzoo_pool_claim *claim, int64_t query)
{
    int64_t blocks = attnzoo_base_divide_up(run->location.key_count, KEYS_PER_ITEM);
    attnzoo_location_solve(&run->location, claim);
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){add_projected, run, run->location.batch_count * blocks, NULL});
    run->problem.first_query = query;
    attnzoo_attention_solve(&run->plan, claim, (char *)claim->shared + run->attention_offset);
    write_attention(run, query);
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct run run = {.prepared = instance->prepared, .call = call};
    struct attnzoo_pool_claim claim;
    struct raw raw;
    attnzoo_status status = check_inputs(run.prepared, call->inputs, &raw);
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(&run, &raw);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t batch_count = raw.query.size[ATTNZOO_BATCH], key_count = raw.value.size[ATTNZOO_ROW];
    int64_t step_count = raw.query.size[ATTNZOO_ROW];
    status = attnzoo_recurrence_check_state(call->state, batch_count, key_count, "value");
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_resolve(&run.problem.mask, call->mask, batch_count, run.prepared->head_count, step_count,
                                      key_count);
    if (status != ATTNZOO_STATUS_OK || batch_count == 0 || step_count == 0)
        return status;
    status = plan(&run, &raw);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_pool_claim(&claim, call->pool, &run.needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    begin(&run, &claim);
    if (call->state == NULL || !call->state->is_started)
        attnzoo_location_start(&run.alignment, &run.problem.mask, run.prepared->initial);
    for (int64_t query = 0; query < step_count; query++)
        step(&run, &claim, query);
    attnzoo_pool_release(&claim);
    if (call->state != NULL) {
        call->state->length = key_count;
        call->state->is_started = key_count > 0;
    }
    return ATTNZOO_STATUS_OK;
}

const struct attnzoo_mechanism attnzoo_mechanism_customizing = {
    .name = "customizing",
    .summary = "multi-head dot-product attention over values that carry where each head attended before",
    .formula = "x = Wv v + U f + b, f = conv(alignment_t-1); alignment_t = softmax(s (Wq q_t + bq).x + biases); "
               "context = alignment x; heads concatenated",
    .source = "S. Kim, attentions, github.com/sooftware/attentions (CustomizingAttention); features after Chorowski et "
              "al. 2015, Attention-Based Models for Speech Recognition, arXiv 1506.07503",
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
