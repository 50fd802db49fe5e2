/*
 * mechanisms/location_aware.c: location-aware attention, a recurrence over the queries: at step t each key is scored by
 * e_j = beta (w . tanh(Wq q_t + Wk k_j + U f_j + b) + b_w), f = conv(alignment_t-1), and weighed by softmax or by
 * smoothing (Chorowski et al. 2015, arXiv 1506.07503, equations 5 to 9 and section 2.3). Shapes and projections are
 * similarity.c's, convolution and windows kernels/location.c's; each step is one query through the tiled core.
 *
 * The call's memory:
 *
 *   | projections | alignment | cumulative | location terms | windows | spans of queries | spans of keys | the core's |
 *
 * With a state, alignments and projected keys and values lie there instead.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/location.h"
#include "kernels/vectors.h"
#include "mechanisms/recurrence.h"
#include "mechanisms/similarity.h"

#include <float.h>
#include <inttypes.h>

enum {
    OPTION_NORMALIZER = ATTNZOO_SIMILARITY_OPTION_COUNT,
    OPTION_SHARPENING,
    OPTION_WINDOW,
    OPTION_FEEDBACK,
    OPTION_INITIAL,
    OPTION_ACTIVATION,
    OPTION_COUNT
};

enum { NORMALIZER_SOFTMAX, NORMALIZER_SMOOTHING };
enum { FEEDBACK_PREVIOUS, FEEDBACK_CUMULATIVE, FEEDBACK_BOTH };
enum { ACTIVATION_NONE, ACTIVATION_TANH };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [ATTNZOO_SIMILARITY_NUM_HEADS] = {"num_heads", ATTNZOO_OPTION_INT, "1", "1 to 2^31",
                                      "H, the heads, each with an alignment of its own", 1.0, 1.0, 0x1p31},
    [ATTNZOO_SIMILARITY_NUM_KV_HEADS] = {"num_kv_heads", ATTNZOO_OPTION_INT, "num_heads",
                                         "1 to 2^31, divides num_heads", "G, the heads that key and value split into",
                                         1.0, 1.0, 0x1p31},
    [OPTION_NORMALIZER] = {"normalizer", ATTNZOO_OPTION_CHOICE, "softmax", "softmax|smoothing",
                           "smoothing weighs by sigmoid(e) over the sum of sigmoids", NORMALIZER_SOFTMAX, 0.0, 1.0},
    [OPTION_SHARPENING] = {"sharpening", ATTNZOO_OPTION_FLOAT, "1", "a positive normal number",
                           "beta, multiplies the scores", 1.0, FLT_MIN, FLT_MAX},
    [OPTION_WINDOW] = {"location_window", ATTNZOO_OPTION_INT, "0", "0 (off), or the reach in keys, up to 2^52",
                       "w > 0 keeps the keys within w of the likeliest key of the step before", 0.0, 0.0, 0x1p52},
    [OPTION_FEEDBACK] = {"feedback", ATTNZOO_OPTION_CHOICE, "previous", "previous|cumulative|both",
                         "what the convolution sees: the last alignment, the sum of all so far, or both",
                         FEEDBACK_PREVIOUS, 0.0, 2.0},
    [OPTION_INITIAL] = {"initial", ATTNZOO_OPTION_CHOICE, "zeros", "zeros|uniform|first",
                        "the alignment before the first step", ATTNZOO_FIRST_ZEROS, 0.0, 2.0},
    [OPTION_ACTIVATION] = {"location_activation", ATTNZOO_OPTION_CHOICE, "none", "none|tanh",
                           "applied to U f before it is added", ACTIVATION_NONE, 0.0, 1.0},
};

enum {
    CONVOLUTION_WEIGHT = ATTNZOO_SIMILARITY_PARAMETER_COUNT,
    CONVOLUTION_BIAS,
    LOCATION_WEIGHT,
    LOCATION_BIAS,
    PARAMETER_COUNT
};

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    ATTNZOO_SIMILARITY_PARAMETERS,
    [CONVOLUTION_WEIGHT] = {"location_conv.weight", "[F, channels, W]",
                            "W odd; channels: H alignments, with feedback=both H alignments and then H sums", 3, true},
    [CONVOLUTION_BIAS] = {"location_conv.bias", "[F]", "added to the features", 1, false},
    [LOCATION_WEIGHT] = {"location_proj.weight", "[A, F]", "U; without it F = A", 2, false},
    [LOCATION_BIAS] = {"location_proj.bias", "[A]", "added to U f", 1, false},
};

static const struct attnzoo_slot_spec inputs[] = {
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, N, Eq]", "what is looked for at each of N steps, in order", true, false},
    [ATTNZOO_INPUT_KEY] = {"key", "[B, M, Ek]", "what each glimpse offers to be found by", true, false},
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, M, Ev]", "what each glimpse gives when it is found", true, false},
};

static const struct attnzoo_slot_spec outputs[] = {
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, N, H*Dv]", "the values, summed by the alignments; head by head", true,
                                false},
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, H, N, M]", "the alignments; [B, N, M] with one head", false, false},
};

enum { FIELD_ALIGNMENT, FIELD_CUMULATIVE, FIELD_COUNT, FIELD_KEY = FIELD_COUNT, FIELD_VALUE };

static const struct attnzoo_slot_spec state_fields[FIELD_COUNT] = {
    [FIELD_ALIGNMENT] = {"alignment", "[B, H, M]", "the last step's alignment", true, false},
    [FIELD_CUMULATIVE] = {"cumulative", "[B, H, M]",
                          "the sum of all alignments, the first included; may be left out with "
                          "feedback=previous",
                          false, false},
};

struct prepared {
    struct attnzoo_similarity similarity;
    struct attnzoo_location_layers layers;
    int64_t window;
    float sharpening;
    int feedback;
    enum attnzoo_first_alignment initial;
    bool is_smoothed;
};

static attnzoo_status prepare_location(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    const int64_t *convolution = instance->parameters[CONVOLUTION_WEIGHT].view.shape;
    int64_t filters = convolution[0], width = convolution[2], hidden = prepared->similarity.hidden_size;
    int64_t channels = prepared->similarity.head_count * (prepared->feedback == FEEDBACK_BOTH ? 2 : 1);
    if (width % 2 == 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "location_conv.weight has a width of %" PRId64 ", must be odd", width);
    const int64_t convolution_shape[] = {filters, channels, width}, location_shape[] = {hidden, filters};
    attnzoo_status status = attnzoo_shapes_check_parameter(instance, CONVOLUTION_WEIGHT, convolution_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, CONVOLUTION_BIAS, &filters);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_pair(instance, LOCATION_BIAS, LOCATION_WEIGHT);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, LOCATION_WEIGHT, location_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, LOCATION_BIAS, &hidden);
    if (status == ATTNZOO_STATUS_OK && !attnzoo_shapes_is_set(instance, LOCATION_WEIGHT) && filters != hidden)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "location_conv.weight has %" PRId64
                                 " filters; without location_proj.weight it must have as "
                                 "many as score_proj.weight has columns, %" PRId64,
                                 filters, hidden);
    prepared->layers = (struct attnzoo_location_layers){.convolution = instance->parameters[CONVOLUTION_WEIGHT].data,
                                                        .convolution_bias = instance->parameters[CONVOLUTION_BIAS].data,
                                                        .filter_count = filters,
                                                        .channel_count = channels,
                                                        .width = width,
                                                        .projection = instance->parameters[LOCATION_WEIGHT].data,
                                                        .projection_bias = instance->parameters[LOCATION_BIAS].data,
                                                        .hidden_size = hidden,
                                                        .has_tanh = instance->options[OPTION_ACTIVATION].number ==
                                                                    (double)ACTIVATION_TANH};
    return status;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    const struct attnzoo_option_value *values = instance->options;
    struct prepared *prepared = instance->prepared;
    prepared->window = (int64_t)values[OPTION_WINDOW].number;
    prepared->sharpening = (float)values[OPTION_SHARPENING].number;
    prepared->feedback = (int)values[OPTION_FEEDBACK].number;
    prepared->initial = (enum attnzoo_first_alignment)values[OPTION_INITIAL].number;
    prepared->is_smoothed = values[OPTION_NORMALIZER].number == (double)NORMALIZER_SMOOTHING;
    attnzoo_status status = attnzoo_similarity_prepare(instance, &prepared->similarity);
    return status == ATTNZOO_STATUS_OK ? prepare_location(instance, prepared) : status;
}

static void state_layout(const struct attnzoo_instance *instance, struct attnzoo_state_content *content)
{
    const struct prepared *prepared = instance->prepared;
    const struct attnzoo_similarity *similarity = &prepared->similarity;
    const struct attnzoo_state_field alignment = {.heads = similarity->head_count, .columns = 1, .is_scalar = true};
    struct attnzoo_state_field key = {.heads = similarity->key_head_count}, value = key;
    /* Only what is projected is worth keeping. */
    if (similarity->key.weight != NULL)
        key.columns = similarity->hidden_size;
    if (similarity->value.weight != NULL)
        value.columns = similarity->value.outputs / similarity->key_head_count;
    content->fields[FIELD_ALIGNMENT] = content->fields[FIELD_CUMULATIVE] = alignment;
    content->fields[FIELD_KEY] = key;
    content->fields[FIELD_VALUE] = value;
    content->field_count = FIELD_VALUE + 1;
}

static attnzoo_status state_check(const struct attnzoo_instance *instance, const bool *is_given)
{
    const struct prepared *prepared = instance->prepared;
    if (is_given[FIELD_CUMULATIVE] || prepared->feedback == FEEDBACK_PREVIOUS)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                             "cumulative of the state is missing, which the option feedback calls for");
}

/* A call on its way through the steps. */
struct run {
    const struct prepared *prepared;
    struct attnzoo_similarity_call opened;
    struct attnzoo_attention_plan plan;
    struct attnzoo_location location;
    struct attnzoo_alignment alignment;
    struct attnzoo_alignment cumulative;
    struct attnzoo_key_span *windows;
    int64_t alignment_offset;
    int64_t cumulative_offset;
    int64_t terms_offset;
    int64_t windows_offset;
    int64_t query_spans_offset;
    int64_t key_spans_offset;
    int64_t attention_offset;
    struct attnzoo_pool_needs needs;
};

/* Lets keys and values be projected into the state. */
static void use_state(struct attnzoo_similarity_call *opened, struct attnzoo_state_content *state)
{
    struct attnzoo_grid *const attended[] = {&opened->problem.key, &opened->problem.value};
    for (int32_t i = 0; i < 2 && state != NULL; i++) {
        struct attnzoo_projection *layer = &opened->layers[ATTNZOO_INPUT_KEY + i];
        const struct attnzoo_state_field *field = &state->fields[FIELD_KEY + i];
        if (layer->weight == NULL)
            continue;
        attended[i]->data = (char *)field->data;
        attended[i]->stride[ATTNZOO_HEAD] = state->capacity * field->columns;
        attended[i]->stride[ATTNZOO_BATCH] = field->heads * attended[i]->stride[ATTNZOO_HEAD];
        layer->parts[0] = *attended[i];
    }
}

/* The core's part of each step: one query, whose attention is the alignment. */
static void describe_step(struct run *run)
{
    static const struct attnzoo_key_span to_be_placed;
    struct attnzoo_attention *problem = &run->opened.problem;
    const struct attnzoo_state_content *state = run->opened.call->state;
    const int64_t *query = problem->query.size;
    int64_t keys = problem->key.size[ATTNZOO_ROW], step = state != NULL ? state->capacity : keys;
    run->alignment.step = run->cumulative.step = step;
    problem->attention = (struct attnzoo_grid){.size = {query[ATTNZOO_BATCH], query[ATTNZOO_HEAD], 1, keys},
                                               .stride = {query[ATTNZOO_HEAD] * step, step, 0, 1},
                                               .dtype = ATTNZOO_DTYPE_FLOAT32};
    problem->wants_attention = true;
    problem->query_count = 1;
    problem->scale = run->prepared->sharpening;
    problem->is_smoothed = run->prepared->is_smoothed;
    problem->mask.head_spans = run->prepared->window > 0 ? &to_be_placed : NULL;
}

static bool place_zones(struct run *run, int64_t end)
{
    const struct attnzoo_attention *problem = &run->opened.problem;
    const struct attnzoo_grid *terms = &run->opened.additive.location;
    int64_t batch_count = problem->query.size[ATTNZOO_BATCH], rows;
    int64_t kept = run->opened.call->state != NULL ? 0 : problem->key.size[ATTNZOO_ROW];
    return attnzoo_base_multiply(batch_count, problem->query.size[ATTNZOO_HEAD], &rows) &&
           attnzoo_pool_place(&end, &run->alignment_offset, rows, kept, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->cumulative_offset, rows, kept, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->terms_offset, attnzoo_grid_element_count(terms), 1, sizeof(float)) &&
           attnzoo_pool_place(&end, &run->windows_offset, rows, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->query_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->key_spans_offset, batch_count, 1, sizeof(struct attnzoo_key_span)) &&
           attnzoo_pool_place(&end, &run->attention_offset, run->plan.shared_bytes, 1, 1) &&
           (run->needs.shared_bytes = end, true);
}

static attnzoo_status plan(struct run *run)
{
    struct attnzoo_similarity_call *opened = &run->opened;
    struct attnzoo_attention *problem = &opened->problem;
    int64_t end = 0, location_bytes;
    use_state(opened, opened->call->state);
    describe_step(run);
    /* So that steps give the same, to the bit, in one call or in several. */
    opened->layers[ATTNZOO_INPUT_QUERY].is_row_by_row = true;
    run->location = (struct attnzoo_location){.layers = &run->prepared->layers,
                                              .source_count = run->prepared->feedback == FEEDBACK_BOTH ? 2 : 1,
                                              .batch_count = problem->query.size[ATTNZOO_BATCH],
                                              .head_count = problem->query.size[ATTNZOO_HEAD],
                                              .key_count = problem->key.size[ATTNZOO_ROW],
                                              .mask = &problem->mask};
    if (!attnzoo_grid_make_compact(&opened->additive.location, run->location.batch_count, 1, run->location.key_count,
                                   run->prepared->similarity.hidden_size) ||
        !attnzoo_location_scratch_bytes(&run->location, &location_bytes))
        return attnzoo_base_fail_memory(UINT64_MAX);
    attnzoo_status status = attnzoo_attention_make_plan(&run->plan, problem);
    run->needs =
        (struct attnzoo_pool_needs){.scratch_bytes = attnzoo_base_maximum(run->plan.scratch_bytes, location_bytes),
                                    .threads_wanted = run->plan.threads_wanted};
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_similarity_plan(opened, &end, &run->needs);
    if (status == ATTNZOO_STATUS_OK && !place_zones(run, end))
        status = attnzoo_base_fail_memory(UINT64_MAX);
    return status;
}

/* The memory is there: points all that lies in it. */
static void point(struct run *run, char *memory)
{
    struct attnzoo_attention *problem = &run->opened.problem;
    const struct attnzoo_state_content *state = run->opened.call->state;
    attnzoo_similarity_point(&run->opened, memory);
    run->alignment.data = (void *)(memory + run->alignment_offset);
    run->cumulative.data = (void *)(memory + run->cumulative_offset);
    if (state != NULL) {
        run->alignment.data = state->fields[FIELD_ALIGNMENT].data;
        run->cumulative.data = state->fields[FIELD_CUMULATIVE].data;
    }
    problem->attention.data = (char *)run->alignment.data;
    run->location.terms = (void *)(memory + run->terms_offset);
    run->opened.additive.location.data = memory + run->terms_offset;
    run->location.sources[0] = run->prepared->feedback == FEEDBACK_CUMULATIVE ? run->cumulative : run->alignment;
    run->location.sources[1] = run->cumulative;
    run->windows = (void *)(memory + run->windows_offset);
    problem->mask.head_spans = NULL;
}

/* Projects queries, and those keys and values that some query may see and the state does not know yet. */
static void project(struct run *run, const struct attnzoo_pool_claim *claim)
{
    const struct attnzoo_call *call = run->opened.call;
    struct attnzoo_key_span *of_queries = (void *)((char *)claim->shared + run->query_spans_offset);
    struct attnzoo_key_span *of_keys = (void *)((char *)claim->shared + run->key_spans_offset);
    attnzoo_recurrence_find_rows(call->state, call->inputs[ATTNZOO_INPUT_KEY], call->inputs[ATTNZOO_INPUT_VALUE],
                                 &run->opened.problem.mask, of_queries, of_keys);
    attnzoo_similarity_project(&run->opened, claim, of_queries, of_keys);
}

/* cumulative += alignment, or = alignment */
static void accumulate(const struct run *run, bool is_first)
{
    for (int64_t row = 0; row < run->location.batch_count * run->location.head_count; row++) {
        float *sum = run->cumulative.data + row * run->cumulative.step;
        const float *weights = run->alignment.data + row * run->alignment.step;
        if (is_first)
            attnzoo_kernel_vectors()->scale(sum, weights, run->location.key_count, 1.0f);
        else
            attnzoo_kernel_vectors()->add_scaled(sum, weights, run->location.key_count, 1.0f);
    }
}

static void write_attention(const struct run *run, int64_t query)
{
    const struct attnzoo_grid *out = &run->opened.attention;
    if (run->opened.call->outputs[ATTNZOO_OUTPUT_ATTENTION] == NULL)
        return;
    for (int64_t row = 0; row < run->location.batch_count * run->location.head_count; row++)
        attnzoo_kernel_narrow(
            attnzoo_grid_at(out, row / run->location.head_count, row % run->location.head_count, query, 0), out->dtype,
            out->stride[ATTNZOO_COLUMN], run->alignment.data + row * run->alignment.step, run->location.key_count);
}

static void step(struct run *run, const struct attnzoo_pool_claim *claim, int64_t query)
{
    struct attnzoo_attention *problem = &run->opened.problem;
    attnzoo_location_solve(&run->location, claim);
    if (run->prepared->window > 0) {
        attnzoo_location_windows(&run->alignment, &problem->mask, run->prepared->window, run->windows);
        problem->mask.head_spans = run->windows;
    }
    problem->first_query = query;
    attnzoo_attention_solve(&run->plan, claim, (char *)claim->shared + run->attention_offset);
    write_attention(run, query);
    accumulate(run, false);
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct run run = {.prepared = instance->prepared};
    struct attnzoo_pool_claim claim;
    struct attnzoo_attention *problem = &run.opened.problem;
    attnzoo_status status = attnzoo_similarity_open(&run.opened, instance, call);
    int64_t batch_count = problem->query.size[ATTNZOO_BATCH], key_count = problem->key.size[ATTNZOO_ROW];
    int64_t step_count = problem->query.size[ATTNZOO_ROW];
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_recurrence_check_state(call->state, batch_count, key_count, "key");
    if (status != ATTNZOO_STATUS_OK || batch_count == 0 || step_count == 0)
        return status;
    status = plan(&run);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_pool_claim(&claim, call->pool, &run.needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    point(&run, claim.shared);
    project(&run, &claim);
    if (call->state == NULL || !call->state->is_started) {
        attnzoo_location_start(&run.alignment, &problem->mask, run.prepared->initial);
        accumulate(&run, true);
    }
    for (int64_t query = 0; query < step_count; query++)
        step(&run, &claim, query);
    attnzoo_pool_release(&claim);
    if (call->state != NULL) {
        call->state->length = key_count;
        call->state->is_started = key_count > 0;
    }
    return ATTNZOO_STATUS_OK;
}

const struct attnzoo_mechanism attnzoo_mechanism_location_aware = {
    .name = "location_aware",
    .summary = "additive attention, step by step, that sees where it attended before",
    .formula = "e = beta (w.tanh(Wq q_t + Wk k + U f + b) + b_w), f = conv(alignment_t-1); "
               "alignment_t = softmax(e + biases) or smoothing; context = alignment V",
    .source = "Chorowski et al. 2015, Attention-Based Models for Speech Recognition, arXiv 1506.07503",
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
    .output_shape = attnzoo_similarity_output_shape,
    .state_layout = state_layout,
    .state_check = state_check,
    .forward = forward,
};
