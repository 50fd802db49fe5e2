/*
 * mechanisms/introspective.c: a memory that heads read and write by content and location, a recurrence over the queries,
 * which are what a controller gives at each step (Graves, Wayne and Danihelka 2014, Neural Turing Machines, arXiv
 * 1410.5401). For each head, with k_t, beta_t, g_t, s_t, gamma_t from linear layers of query t:
 *
 *   K[u, v] = u . v / (|u| |v|)                                                            (6)
 *   wc(i)   = exp(beta K[k, M(i)]) / sum_j exp(beta K[k, M(j)])                            (5)
 *   wg      = g wc + (1 - g) w_t-1                                                         (7)
 *   w~(i)   = sum_j wg(j) s(i - j), indices modulo M                                       (8)
 *   w_t(i)  = w~(i)^gamma / sum_j w~(j)^gamma                                              (9)
 *   M_t(i)  = M_t-1(i) (1 - w_t(i) e_t) + w_t(i) a_t                                       (3, 4)
 *   r_t     = sum_i w_t(i) M_t(i)                                                          (2)
 *
 * All heads address M_t-1. The steps themselves are kernels/addressing.c's; here are shapes, layers and the state.
 *
 * The call's memory:
 *
 *   | signals, one zone a layer | spans of queries | memory | weights | the kernel's |
 *
 * With a state, memory and weights lie there instead.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "blas/blas.h"
#include "kernels/addressing.h"
#include "kernels/projection.h"
#include "mechanisms/shapes.h"

#include <inttypes.h>

enum { OPTION_READ_HEADS, OPTION_WRITE_HEADS, OPTION_READ, OPTION_INITIAL, OPTION_COUNT };

enum { READ_AFTER, READ_BEFORE };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_READ_HEADS] = {"num_read_heads", ATTNZOO_OPTION_INT, "1", "1 to 2^31", "Hr, the heads that read", 1.0, 1.0,
                           0x1p31},
    [OPTION_WRITE_HEADS] = {"num_write_heads", ATTNZOO_OPTION_INT, "1", "0 to 2^31",
                            "Hw, the heads that write; 0 leaves the memory as it is", 1.0, 0.0, 0x1p31},
    [OPTION_READ] = {"read", ATTNZOO_OPTION_CHOICE, "after", "after|before",
                     "whether a step reads the memory after or before it writes", READ_AFTER, 0.0, 1.0},
    [OPTION_INITIAL] = {"initial", ATTNZOO_OPTION_CHOICE, "first", "zeros|uniform|first",
                        "the weighting before the first step: none, all rows alike, or the first row",
                        ATTNZOO_ADDRESSING_FIRST_ROW, 0.0, 2.0},
};

/* By signal: a weight and a bias each. */
enum { PARAMETER_COUNT = 2 * ATTNZOO_ADDRESSING_SIGNALS };

static int32_t weight_of(int32_t signal)
{
    return 2 * signal;
}

#define WEIGHT(signal) [2 * ATTNZOO_ADDRESSING_##signal]
#define BIAS(signal) [2 * ATTNZOO_ADDRESSING_##signal + 1]

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    WEIGHT(KEY) = {"key_proj.weight", "[H*C, Eq]", "k, what each head looks for; reads first, then writes", 2, true},
    BIAS(KEY) = {"key_proj.bias", "[H*C]", "added to the keys", 1, false},
    WEIGHT(STRENGTH) = {"strength_proj.weight", "[H, Eq]", "beta = softplus of it, multiplies the similarity", 2, true},
    BIAS(STRENGTH) = {"strength_proj.bias", "[H]", "added before softplus", 1, false},
    WEIGHT(GATE) = {"gate_proj.weight", "[H, Eq]", "g = sigmoid of it: 1 by content, 0 where the head was", 2, true},
    BIAS(GATE) = {"gate_proj.bias", "[H]", "added before sigmoid", 1, false},
    WEIGHT(SHIFT) = {"shift_proj.weight", "[H*(2k+1), Eq]",
                     "s = softmax of it in each head: how likely moves by -k to k rows are", 2, true},
    BIAS(SHIFT) = {"shift_proj.bias", "[H*(2k+1)]", "added before softmax", 1, false},
    WEIGHT(SHARPENING) = {"sharpening_proj.weight", "[H, Eq]", "gamma = 1 + softplus of it", 2, true},
    BIAS(SHARPENING) = {"sharpening_proj.bias", "[H]", "added before softplus", 1, false},
    WEIGHT(ERASE) = {"erase_proj.weight", "[Hw*C, Eq]", "e = sigmoid of it; needed where Hw > 0", 2, false},
    BIAS(ERASE) = {"erase_proj.bias", "[Hw*C]", "added before sigmoid", 1, false},
    WEIGHT(ADD) = {"add_proj.weight", "[Hw*C, Eq]", "a; needed where Hw > 0", 2, false},
    BIAS(ADD) = {"add_proj.bias", "[Hw*C]", "added to a", 1, false},
};

static const struct attnzoo_slot_spec inputs[] = {
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, N, Eq]", "what the controller gives at each of N steps, in order", true,
                             false},
    [ATTNZOO_INPUT_KEY] = {"key", "[B, M, Ek]", "not read, as the memory is found by its own rows; may be left out",
                           false, false},
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, M, C]",
                             "the memory before the first step; not read, and not needed, with a state that holds one",
                             false, false},
};

static const struct attnzoo_slot_spec outputs[] = {
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, N, Hr*C]", "what was read, head by head", true, false},
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, H, N, M]", "the weightings; reads first, then writes", false,
                                  false},
};

enum { FIELD_MEMORY, FIELD_WEIGHTS, FIELD_COUNT };

static const struct attnzoo_slot_spec state_fields[FIELD_COUNT] = {
    [FIELD_MEMORY] = {"memory", "[B, 1, M, C]", "the memory after the last step", true, false},
    [FIELD_WEIGHTS] = {"weights", "[B, H, M]", "the last step's weightings", true, false},
};

struct prepared {
    int64_t read_count;
    int64_t write_count;
    int64_t column_count;
    int64_t shift_count;
    int64_t features;
    struct attnzoo_layer layers[ATTNZOO_ADDRESSING_SIGNALS];
    enum attnzoo_addressing_initial initial;
    bool reads_before_write;
};

static int64_t head_count(const struct prepared *prepared)
{
    return prepared->read_count + prepared->write_count;
}

/* Sizes that only parameters tell. */
static attnzoo_status read_sizes(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    const struct attnzoo_parameter_value *values = instance->parameters;
    const int64_t *keys = values[weight_of(ATTNZOO_ADDRESSING_KEY)].view.shape;
    const int64_t *shifts = values[weight_of(ATTNZOO_ADDRESSING_SHIFT)].view.shape;
    attnzoo_status status =
        attnzoo_shapes_check_split(instance, weight_of(ATTNZOO_ADDRESSING_KEY), head_count(prepared));
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_split(instance, weight_of(ATTNZOO_ADDRESSING_SHIFT), head_count(prepared));
    if (status != ATTNZOO_STATUS_OK)
        return status;
    prepared->column_count = keys[0] / head_count(prepared);
    prepared->features = keys[1];
    prepared->shift_count = shifts[0] / head_count(prepared);
    if (prepared->column_count > ATTNZOO_BLAS_STEP_MAX)
        return attnzoo_base_fail(ATTNZOO_STATUS_UNSUPPORTED,
                                 "key_proj.weight makes keys of %" PRId64 " numbers, which may be 2^31 - 1 at most",
                                 prepared->column_count);
    if (prepared->shift_count % 2 == 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "shift_proj.weight has %" PRId64 " rows, %" PRId64 " for each of %" PRId64
                                 " heads; must be an odd number each, for moves of -k to k",
                                 shifts[0], prepared->shift_count, head_count(prepared));
    return ATTNZOO_STATUS_OK;
}

/* What writes must be there if, and only if, there are heads that write. */
static attnzoo_status check_writes(const struct attnzoo_instance *instance, const struct prepared *prepared,
                                   int32_t signal)
{
    const struct attnzoo_parameter_spec *spec = &parameters[weight_of(signal)];
    bool is_set = attnzoo_shapes_is_set(instance, weight_of(signal));
    if (prepared->write_count > 0 && !is_set)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "num_write_heads is %" PRId64 ", so the parameter %s of shape %s must be set",
                                 prepared->write_count, spec->name, spec->shape);
    if (prepared->write_count == 0 && is_set)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "num_write_heads is 0, so the parameter %s must not be set", spec->name);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status read_layer(const struct attnzoo_instance *instance, struct prepared *prepared, int32_t signal)
{
    const struct attnzoo_addressing sizes = {.column_count = prepared->column_count,
                                             .read_count = prepared->read_count,
                                             .write_count = prepared->write_count,
                                             .shift_count = prepared->shift_count};
    const int64_t shape[] = {attnzoo_addressing_signal_size(&sizes, signal), prepared->features};
    int32_t weight = weight_of(signal), bias = weight + 1;
    attnzoo_status status = ATTNZOO_STATUS_OK;
    if (signal == ATTNZOO_ADDRESSING_ERASE || signal == ATTNZOO_ADDRESSING_ADD)
        status = check_writes(instance, prepared, signal);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, weight, bias, &prepared->layers[signal]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, weight, shape);
    return status == ATTNZOO_STATUS_OK ? attnzoo_shapes_check_bias(instance, weight, bias) : status;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    const struct attnzoo_option_value *values = instance->options;
    struct prepared *prepared = instance->prepared;
    prepared->read_count = (int64_t)values[OPTION_READ_HEADS].number;
    prepared->write_count = (int64_t)values[OPTION_WRITE_HEADS].number;
    prepared->reads_before_write = values[OPTION_READ].number == (double)READ_BEFORE;
    prepared->initial = (enum attnzoo_addressing_initial)values[OPTION_INITIAL].number;
    attnzoo_status status = read_sizes(instance, prepared);
    for (int32_t signal = 0; signal < ATTNZOO_ADDRESSING_SIGNALS && status == ATTNZOO_STATUS_OK; signal++)
        status = read_layer(instance, prepared, signal);
    return status;
}

static void state_layout(const struct attnzoo_instance *instance, struct attnzoo_state_content *content)
{
    const struct prepared *prepared = instance->prepared;
    content->fields[FIELD_MEMORY] = (struct attnzoo_state_field){.heads = 1, .columns = prepared->column_count};
    content->fields[FIELD_WEIGHTS] =
        (struct attnzoo_state_field){.heads = head_count(prepared), .columns = 1, .is_scalar = true};
    content->field_count = FIELD_COUNT;
}

/* A call on its way. */
struct run {
    const struct prepared *prepared;
    const struct attnzoo_call *call;
    struct attnzoo_grid query;
    /** The memory as it was given; without data where it comes from the state. */
    struct attnzoo_grid value;
    struct attnzoo_mask_plan mask;
    struct attnzoo_projection layers[ATTNZOO_ADDRESSING_SIGNALS];
    struct attnzoo_projection_plan layer_plans[ATTNZOO_ADDRESSING_SIGNALS];
    struct attnzoo_addressing addressing;
    struct attnzoo_addressing_plan plan;
    int64_t signal_offsets[ATTNZOO_ADDRESSING_SIGNALS];
    int64_t spans_offset;
    int64_t memory_offset;
    int64_t weights_offset;
    struct attnzoo_pool_needs needs;
};

/* An input [B, M, columns] against batch and rows; rows of -1 are still to be known. */
static attnzoo_status check_rows(const struct attnzoo_view *view, const char *name, int64_t batch, int64_t *rows,
                                 const char *rows_of)
{
    attnzoo_status status = attnzoo_shapes_check_rank(view, name, 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_grid grid = attnzoo_grid_without_heads(view);
    if (grid.size[ATTNZOO_BATCH] != batch)
        return attnzoo_shapes_differ("batch sizes", "query", batch, name, grid.size[ATTNZOO_BATCH]);
    if (*rows >= 0 && grid.size[ATTNZOO_ROW] != *rows)
        return attnzoo_shapes_differ("numbers of rows", name, grid.size[ATTNZOO_ROW], rows_of, *rows);
    *rows = grid.size[ATTNZOO_ROW];
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_state(const struct attnzoo_state_content *state, int64_t batch, int64_t rows)
{
    if (state == NULL)
        return ATTNZOO_STATUS_OK;
    if (state->batch != batch)
        return attnzoo_shapes_differ("batch sizes", "query", batch, "the state", state->batch);
    if (rows <= state->capacity)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                             "the state has room for %" PRId64 " rows, but value has %" PRId64, state->capacity, rows);
}

/* Checks the inputs and tells B, N and M. */
static attnzoo_status check_inputs(const struct prepared *prepared, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int64_t *batch, int64_t *steps,
                                   int64_t *rows)
{
    const struct attnzoo_view *query = views[ATTNZOO_INPUT_QUERY], *key = views[ATTNZOO_INPUT_KEY];
    const struct attnzoo_view *value = views[ATTNZOO_INPUT_VALUE];
    bool is_started = state != NULL && state->is_started;
    attnzoo_status status = attnzoo_shapes_check_rank(query, "query", 2, 3);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_features(query, "query", "key_proj.weight", prepared->features);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (value == NULL && !is_started)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "value is NULL, but %s: it must be the memory before the first step",
                                 state == NULL ? "there is no state that holds a memory" : "the state is empty");
    *batch = query->rank == 3 ? query->shape[0] : 1;
    *steps = query->shape[query->rank - 2];
    *rows = is_started ? state->length : -1;
    if (value != NULL)
        status = check_rows(value, "value", *batch, rows, "the state");
    if (status == ATTNZOO_STATUS_OK && value != NULL)
        status =
            attnzoo_shapes_check_features(value, "value", "a head's part of key_proj.weight", prepared->column_count);
    if (status == ATTNZOO_STATUS_OK && key != NULL)
        status = check_rows(key, "key", *batch, rows, "the memory");
    return status == ATTNZOO_STATUS_OK ? check_state(state, *batch, *rows) : status;
}

/* The shape of an output with all its axes. */
static int32_t full_shape(const struct prepared *prepared, int32_t output, int64_t batch, int64_t steps, int64_t rows,
                          int64_t *shape)
{
    int32_t rank = 0;
    shape[rank++] = batch;
    if (output == ATTNZOO_OUTPUT_ATTENTION)
        shape[rank++] = head_count(prepared);
    shape[rank++] = steps;
    shape[rank++] = output == ATTNZOO_OUTPUT_ATTENTION ? rows : prepared->read_count * prepared->column_count;
    return rank;
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    int64_t batch, steps, rows, full[ATTNZOO_GRID_RANK];
    attnzoo_status status = check_inputs(instance->prepared, views, state, &batch, &steps, &rows);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int32_t full_rank = full_shape(instance->prepared, output, batch, steps, rows, full);
    attnzoo_shapes_tell_output(full, full_rank, views[ATTNZOO_INPUT_QUERY], 3, rank, shape);
    return ATTNZOO_STATUS_OK;
}

/* Lengths say which rows and steps there are. What else a mask may say is of keys and queries that stand in one order. */
static attnzoo_status check_mask(const struct attnzoo_mask_description *mask)
{
    if (mask == NULL)
        return ATTNZOO_STATUS_OK;
    const struct {
        const char *name;
        bool is_set;
    } refused[] = {
        {"a causal mask", mask->is_causal},       {"a window", mask->window_left >= 0 || mask->window_right >= 0},
        {"a boolean mask", mask->allowed.is_set}, {"biases", mask->bias.is_set},
        {"linear biases", mask->slopes.is_set},   {"segments", mask->segments.is_set}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_set)
            return attnzoo_base_fail(ATTNZOO_STATUS_UNSUPPORTED,
                                     "introspective takes no mask but key lengths and query lengths, not %s",
                                     refused[i].name);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(struct run *run)
{
    const struct attnzoo_view *context = run->call->outputs[ATTNZOO_OUTPUT_CONTEXT];
    const struct attnzoo_view *attention = run->call->outputs[ATTNZOO_OUTPUT_ATTENTION];
    struct attnzoo_addressing *addressing = &run->addressing;
    int64_t batch = addressing->batch_count, steps = addressing->step_count, rows = addressing->row_count;
    int64_t shape[ATTNZOO_GRID_RANK];
    int32_t rank = full_shape(run->prepared, ATTNZOO_OUTPUT_CONTEXT, batch, steps, rows, shape);
    attnzoo_status status = attnzoo_shapes_check_output(context, "context", shape, rank, &addressing->context);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    addressing->context = attnzoo_grid_without_heads(context);
    if (attention == NULL)
        return ATTNZOO_STATUS_OK;
    rank = full_shape(run->prepared, ATTNZOO_OUTPUT_ATTENTION, batch, steps, rows, shape);
    return attnzoo_shapes_check_output(attention, "attention", shape, rank, &addressing->attention);
}

static attnzoo_status open(struct run *run)
{
    const struct prepared *prepared = run->prepared;
    const struct attnzoo_view *value = run->call->inputs[ATTNZOO_INPUT_VALUE];
    struct attnzoo_addressing *addressing = &run->addressing;
    *addressing = (struct attnzoo_addressing){.column_count = prepared->column_count,
                                              .read_count = prepared->read_count,
                                              .write_count = prepared->write_count,
                                              .shift_count = prepared->shift_count,
                                              .reads_before_write = prepared->reads_before_write,
                                              .mask = &run->mask};
    attnzoo_status status = check_inputs(prepared, run->call->inputs, run->call->state, &addressing->batch_count,
                                         &addressing->step_count, &addressing->row_count);
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(run);
    if (status == ATTNZOO_STATUS_OK)
        status = check_mask(run->call->mask);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    run->query = attnzoo_grid_without_heads(run->call->inputs[ATTNZOO_INPUT_QUERY]);
    if (value != NULL)
        run->value = attnzoo_grid_without_heads(value);
    return attnzoo_mask_resolve(&run->mask, run->call->mask, addressing->batch_count, head_count(prepared),
                                addressing->step_count, addressing->row_count);
}

/* One layer for all steps, into a zone of its own. */
static attnzoo_status plan_layer(struct run *run, int32_t signal, int64_t *end)
{
    const struct attnzoo_layer *layer = &run->prepared->layers[signal];
    struct attnzoo_projection *projection = &run->layers[signal];
    struct attnzoo_grid output;
    int64_t size = attnzoo_addressing_signal_size(&run->addressing, signal), count;
    *projection = (struct attnzoo_projection){.input = run->query,
                                              .weight = layer->weight,
                                              .bias = layer->bias,
                                              .part_count = 1,
                                              /* So that steps give the same, to the bit, in one call or in several. */
                                              .is_row_by_row = true};
    /* One row more: the spare one that the kernel asks for. */
    if (!attnzoo_grid_make_compact(&output, run->addressing.batch_count, 1, run->addressing.step_count, size) ||
        !attnzoo_base_add(attnzoo_grid_element_count(&output), run->prepared->column_count, &count) ||
        !attnzoo_pool_place(end, &run->signal_offsets[signal], count, 1, sizeof(float)))
        return attnzoo_base_fail_memory(UINT64_MAX);
    projection->parts[0] = output;
    attnzoo_status status = attnzoo_projection_make_plan(&run->layer_plans[signal], projection);
    attnzoo_pool_add_needs(&run->needs, run->layer_plans[signal].scratch_bytes,
                           run->layer_plans[signal].threads_wanted);
    return status;
}

static attnzoo_status plan(struct run *run)
{
    struct attnzoo_addressing *addressing = &run->addressing;
    const struct attnzoo_state_content *state = run->call->state;
    int64_t end = 0, batch = addressing->batch_count, heads;
    int64_t kept = state != NULL ? 0 : addressing->row_count, capacity = state != NULL ? state->capacity : kept;
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (int32_t signal = 0; signal < ATTNZOO_ADDRESSING_SIGNALS && status == ATTNZOO_STATUS_OK; signal++)
        status = plan_layer(run, signal, &end);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    addressing->weights_step = capacity;
    /* A state's allocation has seen to the product. */
    if (!attnzoo_base_multiply(capacity, addressing->column_count, &addressing->memory_step) ||
        !attnzoo_base_multiply(batch, head_count(run->prepared), &heads) ||
        !attnzoo_pool_place(&end, &run->spans_offset, batch, 1, sizeof(struct attnzoo_key_span)) ||
        !attnzoo_pool_place(&end, &run->memory_offset, batch, state != NULL ? 0 : addressing->memory_step,
                            sizeof(float)) ||
        !attnzoo_pool_place(&end, &run->weights_offset, heads, kept, sizeof(float)))
        return attnzoo_base_fail_memory(UINT64_MAX);
    status = attnzoo_addressing_make_plan(&run->plan, addressing, &end, &run->needs);
    run->needs.shared_bytes = end;
    return status;
}

/* The memory is there: points all that lies in it. */
static void point(struct run *run, char *memory)
{
    const struct attnzoo_state_content *state = run->call->state;
    for (int32_t signal = 0; signal < ATTNZOO_ADDRESSING_SIGNALS; signal++) {
        run->layers[signal].parts[0].data = memory + run->signal_offsets[signal];
        run->addressing.signals[signal] = (void *)(memory + run->signal_offsets[signal]);
    }
    run->addressing.memory = state != NULL ? state->fields[FIELD_MEMORY].data : (void *)(memory + run->memory_offset);
    run->addressing.weights =
        state != NULL ? state->fields[FIELD_WEIGHTS].data : (void *)(memory + run->weights_offset);
    attnzoo_addressing_point(&run->plan, memory);
}

/* Computes what the controller says at those steps that are taken. */
static void project(struct run *run, const struct attnzoo_pool_claim *claim)
{
    struct attnzoo_key_span *spans = (void *)((char *)claim->shared + run->spans_offset);
    for (int64_t batch = 0; batch < run->addressing.batch_count; batch++)
        spans[batch] = (struct attnzoo_key_span){0, attnzoo_mask_query_length(&run->mask, batch)};
    for (int32_t signal = 0; signal < ATTNZOO_ADDRESSING_SIGNALS; signal++) {
        run->layers[signal].spans[0] = spans;
        attnzoo_projection_solve(&run->layer_plans[signal], claim);
    }
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct run run = {.prepared = instance->prepared, .call = call};
    struct attnzoo_state_content *state = call->state;
    struct attnzoo_pool_claim claim;
    attnzoo_status status = open(&run);
    if (status != ATTNZOO_STATUS_OK || run.addressing.batch_count == 0 || run.addressing.step_count == 0)
        return status;
    status = plan(&run);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_pool_claim(&claim, call->pool, &run.needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    point(&run, claim.shared);
    project(&run, &claim);
    if (state == NULL || !state->is_started)
        attnzoo_addressing_start(&run.plan, &claim, &run.value, run.prepared->initial);
    attnzoo_addressing_solve(&run.plan, &claim);
    attnzoo_pool_release(&claim);
    if (state != NULL) {
        state->length = run.addressing.row_count;
        state->is_started = state->length > 0;
    }
    return ATTNZOO_STATUS_OK;
}

const struct attnzoo_mechanism attnzoo_mechanism_introspective = {
    .name = "introspective",
    .summary = "heads that read and write a memory by content and location, step by step",
    .formula = "wc = softmax(beta cos(k, M)); wg = g wc + (1 - g) w_t-1; w~ = wg * s, circular; w = w~^gamma / sum; "
               "M <- M (1 - w e) + w a; context = w M",
    .source = "Graves, Wayne and Danihelka 2014, Neural Turing Machines, arXiv 1410.5401, equations 2 to 9",
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
