/*
 * mechanisms/projected_heads.c: preparing and checking calls of mechanisms with projected heads. The run of a checked
 * call is in projected_heads_run.c.
 */
#include "mechanisms/projected_heads.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/dot_product.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static attnzoo_status check_layers(const struct attnzoo_instance *instance, struct attnzoo_heads *heads)
{
    heads->head_size = heads->query.outputs / heads->head_count;
    heads->value_size = heads->value.outputs / heads->key_head_count;
    const int64_t key_shape[] = {heads->head_size * heads->key_head_count, heads->key.inputs};
    int64_t out_shape[] = {heads->out.outputs, 0};
    /* Weights of no columns take no memory, so that any number of rows may come. */
    if (!attnzoo_base_multiply(heads->value_size, heads->head_count, &out_shape[1]))
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "value_proj.weight has %" PRId64 " rows, which make %" PRId64 " heads of %" PRId64
                                 ": together these pass 63 bits",
                                 heads->value.outputs, heads->head_count, heads->value_size);
    attnzoo_status status = attnzoo_shapes_check_split(instance, ATTNZOO_HEADS_QUERY_WEIGHT, heads->head_count);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_split(instance, ATTNZOO_HEADS_KEY_WEIGHT, heads->key_head_count);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_split(instance, ATTNZOO_HEADS_VALUE_WEIGHT, heads->key_head_count);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, ATTNZOO_HEADS_KEY_WEIGHT, key_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, ATTNZOO_HEADS_OUT_WEIGHT, out_shape);
    for (int32_t i = 0; i < ATTNZOO_HEADS_PARAMETER_COUNT && status == ATTNZOO_STATUS_OK; i += 2)
        status = attnzoo_shapes_check_bias(instance, i, i + 1);
    return status;
}

static void stack_bias(float *stacked, const struct attnzoo_layer *layer)
{
    if (layer->bias != NULL)
        memcpy(stacked, layer->bias, (size_t)layer->outputs * sizeof *stacked);
}

/* Puts the layers below each other, so that one product serves self-attention. */
static attnzoo_status stack_layers(struct attnzoo_heads *heads)
{
    const struct attnzoo_layer *query = &heads->query, *key = &heads->key, *value = &heads->value;
    if (query->inputs != key->inputs || key->inputs != value->inputs)
        return ATTNZOO_STATUS_OK;
    int64_t outputs = query->outputs + key->outputs + value->outputs, floats, bytes;
    if (!attnzoo_base_multiply(outputs, query->inputs, &floats) || !attnzoo_base_float_bytes(floats, &bytes))
        return attnzoo_base_fail_memory(UINT64_MAX);
    float *weight = malloc((size_t)attnzoo_base_maximum(bytes, 1));
    float *bias = calloc((size_t)outputs + 1, sizeof *bias);
    if (weight == NULL || bias == NULL) {
        free(weight);
        free(bias);
        return attnzoo_base_fail_memory((uint64_t)bytes);
    }
    const struct attnzoo_layer *const layers[] = {query, key, value};
    int64_t row = 0;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        memcpy(weight + row * query->inputs, layers[i]->weight,
               (size_t)(layers[i]->outputs * layers[i]->inputs) * sizeof *weight);
        stack_bias(bias + row, layers[i]);
        row += layers[i]->outputs;
    }
    heads->stacked_weight = weight;
    heads->stacked_bias = bias;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_heads_prepare(const struct attnzoo_instance *instance, struct attnzoo_heads *heads)
{
    attnzoo_status status = attnzoo_shapes_read_heads(instance, ATTNZOO_HEADS_NUM_HEADS, ATTNZOO_HEADS_NUM_KV_HEADS,
                                                      &heads->head_count, &heads->key_head_count);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_softcap(instance, ATTNZOO_HEADS_SOFTCAP);
    struct attnzoo_layer *const layers[] = {&heads->query, &heads->key, &heads->value, &heads->out};
    for (int32_t i = 0; i < 4 && status == ATTNZOO_STATUS_OK; i++)
        status = attnzoo_shapes_read_layer(instance, 2 * i, 2 * i + 1, layers[i]);
    if (status == ATTNZOO_STATUS_OK)
        status = check_layers(instance, heads);
    return status == ATTNZOO_STATUS_OK ? stack_layers(heads) : status;
}

void attnzoo_heads_release(struct attnzoo_heads *heads)
{
    free(heads->stacked_weight);
    free(heads->stacked_bias);
}

void attnzoo_heads_state_layout(const struct attnzoo_instance *instance, struct attnzoo_state_content *content)
{
    const struct attnzoo_heads *heads = instance->prepared;
    content->fields[0] = (struct attnzoo_state_field){.heads = heads->key_head_count, .columns = heads->head_size};
    content->fields[1] = (struct attnzoo_state_field){.heads = heads->key_head_count, .columns = heads->value_size};
    content->field_count = 2;
}

static attnzoo_status check_state(const struct attnzoo_state_content *state, int64_t batch_count, int64_t new_keys)
{
    if (state == NULL)
        return ATTNZOO_STATUS_OK;
    if (state->batch != batch_count)
        return attnzoo_shapes_differ("batch sizes", "query", batch_count, "the state", state->batch);
    if (new_keys <= state->capacity - state->length)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                             "the state has room for %" PRId64 " keys and holds %" PRId64 ", so %" PRId64
                             " more do not fit",
                             state->capacity, state->length, new_keys);
}

/* Checks the inputs against the layers and each other, and describes them. */
static attnzoo_status check_inputs(const struct attnzoo_heads *heads, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, struct attnzoo_heads_call *opened)
{
    const struct attnzoo_layer *const layers[] = {&heads->query, &heads->key, &heads->value};
    const char *const names[] = {"query", "key", "value"};
    const char *const weights[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight"};
    struct attnzoo_grid *const grids[] = {&opened->query, &opened->key, &opened->value};
    for (int32_t place = 0; place < 3; place++) {
        attnzoo_status status = attnzoo_shapes_check_rank(views[place], names[place], 2, 3);
        if (status == ATTNZOO_STATUS_OK)
            status = attnzoo_shapes_check_features(views[place], names[place], weights[place], layers[place]->inputs);
        if (status != ATTNZOO_STATUS_OK)
            return status;
        *grids[place] = attnzoo_grid_without_heads(views[place]);
    }
    attnzoo_status status = attnzoo_shapes_check_together(&opened->query, &opened->key, &opened->value);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    opened->past_count = state == NULL ? 0 : state->length;
    return check_state(state, opened->query.size[ATTNZOO_BATCH], opened->key.size[ATTNZOO_ROW]);
}

/* The shape of an output with all its axes. */
static int32_t full_shape(const struct attnzoo_instance *instance, const struct attnzoo_heads_call *opened,
                          int32_t output, int64_t *shape)
{
    const struct attnzoo_heads *heads = instance->prepared;
    int32_t rank = 0;
    shape[rank++] = opened->query.size[ATTNZOO_BATCH];
    if (output == ATTNZOO_OUTPUT_ATTENTION && instance->options[ATTNZOO_HEADS_AVERAGE].number == 0.0)
        shape[rank++] = heads->head_count;
    shape[rank++] = opened->query.size[ATTNZOO_ROW];
    if (output == ATTNZOO_OUTPUT_ATTENTION)
        shape[rank++] = opened->past_count + opened->key.size[ATTNZOO_ROW];
    else
        shape[rank++] = heads->out.weight != NULL ? heads->out.outputs : heads->value_size * heads->head_count;
    return rank;
}

attnzoo_status attnzoo_heads_output_shape(const struct attnzoo_instance *instance,
                                          const struct attnzoo_view *const *inputs,
                                          const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                          int64_t *shape)
{
    struct attnzoo_heads_call opened;
    attnzoo_status status = check_inputs(instance->prepared, inputs, state, &opened);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t full[ATTNZOO_GRID_RANK];
    int32_t full_rank = full_shape(instance, &opened, output, full);
    attnzoo_shapes_tell_output(full, full_rank, inputs[ATTNZOO_INPUT_QUERY], 3, rank, shape);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(const struct attnzoo_instance *instance, struct attnzoo_heads_call *opened)
{
    const struct attnzoo_view *context = opened->call->outputs[ATTNZOO_OUTPUT_CONTEXT];
    const struct attnzoo_view *attention = opened->call->outputs[ATTNZOO_OUTPUT_ATTENTION];
    struct attnzoo_attention *problem = &opened->problem;
    int64_t shape[ATTNZOO_GRID_RANK];
    int32_t rank = full_shape(instance, opened, ATTNZOO_OUTPUT_CONTEXT, shape);
    attnzoo_status status = attnzoo_shapes_check_output(context, "context", shape, rank, &opened->context);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    opened->context = attnzoo_grid_without_heads(context);
    problem->averages_heads = instance->options[ATTNZOO_HEADS_AVERAGE].number != 0.0;
    problem->wants_attention = attention != NULL;
    if (attention == NULL)
        return ATTNZOO_STATUS_OK;
    rank = full_shape(instance, opened, ATTNZOO_OUTPUT_ATTENTION, shape);
    status = attnzoo_shapes_check_output(attention, "attention", shape, rank, &problem->attention);
    if (status == ATTNZOO_STATUS_OK && problem->averages_heads)
        problem->attention = attnzoo_grid_without_heads(attention);
    return status;
}

attnzoo_status attnzoo_heads_open(struct attnzoo_heads_call *opened, const struct attnzoo_instance *instance,
                                  const struct attnzoo_call *call)
{
    const struct attnzoo_heads *heads = instance->prepared;
    *opened = (struct attnzoo_heads_call){.heads = heads, .call = call};
    attnzoo_status status = check_inputs(heads, call->inputs, call->state, opened);
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(instance, opened);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_attention *problem = &opened->problem;
    int64_t batch_count = opened->query.size[ATTNZOO_BATCH], query_count = opened->query.size[ATTNZOO_ROW];
    int64_t key_count = opened->past_count + opened->key.size[ATTNZOO_ROW];
    if (!attnzoo_grid_make_compact(&problem->query, batch_count, heads->head_count, query_count, heads->head_size) ||
        !attnzoo_grid_make_compact(&problem->key, batch_count, heads->key_head_count, key_count, heads->head_size) ||
        !attnzoo_grid_make_compact(&problem->value, batch_count, heads->key_head_count, key_count, heads->value_size))
        return attnzoo_base_fail_memory(UINT64_MAX);
    problem->query_count = query_count;
    /* A dot product over nothing is 0, whatever multiplies it. */
    problem->scale = heads->head_size > 0 ? (float)(1.0 / sqrt((double)heads->head_size)) : 1.0f;
    if (instance->options[ATTNZOO_HEADS_SCALE].is_set)
        problem->scale = (float)instance->options[ATTNZOO_HEADS_SCALE].number;
    problem->softcap = (float)instance->options[ATTNZOO_HEADS_SOFTCAP].number;
    problem->source = &attnzoo_kernel_dot_product;
    return attnzoo_mask_resolve(&problem->mask, call->mask, batch_count, heads->head_count, query_count, key_count);
}
