/*
 * mechanisms/similarity.c: parameters, shapes and projections of the mechanisms that have layers of query and key.
 */
#include "mechanisms/similarity.h"

#include "base/checked.h"
#include "base/error.h"

#include <inttypes.h>

enum { QUERY = ATTNZOO_INPUT_QUERY, KEY = ATTNZOO_INPUT_KEY, VALUE = ATTNZOO_INPUT_VALUE };

static const char *const input_names[] = {[QUERY] = "query", [KEY] = "key", [VALUE] = "value"};

static attnzoo_status read_layers(const struct attnzoo_instance *instance, struct attnzoo_similarity *similarity)
{
    struct attnzoo_layer *const layers[] = {&similarity->query, &similarity->key, &similarity->value};
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (int32_t i = 0; i < ATTNZOO_SIMILARITY_LAYERS && status == ATTNZOO_STATUS_OK; i++)
        status = attnzoo_shapes_read_layer(instance, 2 * i, 2 * i + 1, layers[i]);
    return status;
}

/* Checks every shape that follows from H, G and A. */
static attnzoo_status check_shapes(const struct attnzoo_instance *instance, const struct attnzoo_similarity *similarity)
{
    const struct attnzoo_parameter_value *parameters = instance->parameters;
    int64_t hidden = similarity->hidden_size;
    const int64_t query_shape[] = {similarity->head_count * hidden,
                                   parameters[ATTNZOO_SIMILARITY_QUERY_WEIGHT].view.shape[1]};
    const int64_t key_shape[] = {similarity->key_head_count * hidden,
                                 parameters[ATTNZOO_SIMILARITY_KEY_WEIGHT].view.shape[1]};
    const int64_t score_shape[] = {1, hidden}, one[] = {1};
    const struct {
        int32_t parameter;
        const int64_t *shape;
    } rules[] = {{ATTNZOO_SIMILARITY_SCORE_WEIGHT, score_shape},
                 {ATTNZOO_SIMILARITY_SCORE_BIAS, one},
                 {ATTNZOO_SIMILARITY_BIAS, &hidden},
                 {ATTNZOO_SIMILARITY_QUERY_WEIGHT, query_shape},
                 {ATTNZOO_SIMILARITY_KEY_WEIGHT, key_shape}};
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == ATTNZOO_STATUS_OK; i++)
        status = attnzoo_shapes_check_parameter(instance, rules[i].parameter, rules[i].shape);
    return status;
}

attnzoo_status attnzoo_similarity_prepare_layers(const struct attnzoo_instance *instance,
                                                 struct attnzoo_similarity *similarity)
{
    attnzoo_status status = read_layers(instance, similarity);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_split(instance, ATTNZOO_SIMILARITY_VALUE_WEIGHT, similarity->key_head_count);
    for (int32_t i = 0; i < 2 * ATTNZOO_SIMILARITY_LAYERS && status == ATTNZOO_STATUS_OK; i += 2)
        status = attnzoo_shapes_check_bias(instance, i, i + 1);
    return status;
}

attnzoo_status attnzoo_similarity_prepare(const struct attnzoo_instance *instance,
                                          struct attnzoo_similarity *similarity)
{
    const struct attnzoo_parameter_value *parameters = instance->parameters;
    attnzoo_status status =
        attnzoo_shapes_read_heads(instance, ATTNZOO_SIMILARITY_NUM_HEADS, ATTNZOO_SIMILARITY_NUM_KV_HEADS,
                                  &similarity->head_count, &similarity->key_head_count);
    similarity->hidden_size = parameters[ATTNZOO_SIMILARITY_SCORE_WEIGHT].view.shape[1];
    similarity->score_weight = parameters[ATTNZOO_SIMILARITY_SCORE_WEIGHT].data;
    similarity->bias = parameters[ATTNZOO_SIMILARITY_BIAS].data;
    if (status == ATTNZOO_STATUS_OK)
        status = check_shapes(instance, similarity);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_similarity_prepare_layers(instance, similarity);
    if (status == ATTNZOO_STATUS_OK && parameters[ATTNZOO_SIMILARITY_SCORE_BIAS].data != NULL)
        similarity->score_bias = *parameters[ATTNZOO_SIMILARITY_SCORE_BIAS].data;
    return status;
}

/* Checks the features of an input: those its layer takes, or, used as it is, what its heads need. */
static attnzoo_status check_features(const struct attnzoo_view *view, int32_t place, const struct attnzoo_layer *layer,
                                     int64_t head_count, int64_t head_size)
{
    const char *name = input_names[place];
    attnzoo_status status = attnzoo_shapes_check_rank(view, name, 2, 3);
    if (status == ATTNZOO_STATUS_OK && layer->weight != NULL)
        return attnzoo_shapes_check_features(view, name, layer->name, layer->inputs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t features = view->shape[view->rank - 1];
    if (head_size >= 0 && features != head_count * head_size)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "%s has %" PRId64 " features, but without %s it must have %" PRId64
                                 " heads of %" PRId64,
                                 name, features, layer->name, head_count, head_size);
    if (features % head_count != 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "%s has %" PRId64 " features, which %" PRId64 " heads do not divide", name, features,
                                 head_count);
    return ATTNZOO_STATUS_OK;
}

/* Checks the inputs, and fills their part of the problem. */
static attnzoo_status check_inputs(const struct attnzoo_similarity *similarity, const struct attnzoo_view *const *views,
                                   struct attnzoo_similarity_call *opened)
{
    const struct attnzoo_layer *const layers[] = {&similarity->query, &similarity->key, &similarity->value};
    const int64_t heads[] = {similarity->head_count, similarity->key_head_count, similarity->key_head_count};
    const int64_t sizes[] = {similarity->hidden_size, similarity->hidden_size, -1};
    struct attnzoo_grid *const attended[] = {&opened->problem.query, &opened->problem.key, &opened->problem.value};
    for (int32_t place = 0; place < ATTNZOO_SIMILARITY_LAYERS; place++) {
        attnzoo_status status = check_features(views[place], place, layers[place], heads[place], sizes[place]);
        if (status != ATTNZOO_STATUS_OK)
            return status;
        const struct attnzoo_grid input = attnzoo_grid_without_heads(views[place]);
        *attended[place] = attnzoo_grid_split_heads(&input, heads[place]);
        if (layers[place]->weight == NULL)
            continue;
        if (!attnzoo_grid_make_compact(attended[place], input.size[ATTNZOO_BATCH], heads[place],
                                       input.size[ATTNZOO_ROW], layers[place]->outputs / heads[place]))
            return attnzoo_base_fail_memory(UINT64_MAX);
        opened->layers[place] = (struct attnzoo_projection){.input = input,
                                                            .weight = layers[place]->weight,
                                                            .weight_step = layers[place]->weight_step,
                                                            .bias = layers[place]->bias,
                                                            .parts = {*attended[place]},
                                                            .part_count = 1};
    }
    /* Without keys the values take no memory, so that any number of features may come. */
    int64_t joined, value_size = opened->problem.value.size[ATTNZOO_COLUMN];
    if (!attnzoo_base_multiply(similarity->head_count, value_size, &joined))
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "value makes %" PRId64 " heads of %" PRId64 ": together these pass 63 bits",
                                 similarity->head_count, value_size);
    return attnzoo_shapes_check_together(&opened->problem.query, &opened->problem.key, &opened->problem.value);
}

/* The shape of an output with all its axes. */
static int32_t full_shape(const struct attnzoo_attention *problem, int32_t output, int64_t *shape)
{
    int32_t rank = 0;
    shape[rank++] = problem->query.size[ATTNZOO_BATCH];
    if (output != ATTNZOO_OUTPUT_CONTEXT && problem->query.size[ATTNZOO_HEAD] > 1)
        shape[rank++] = problem->query.size[ATTNZOO_HEAD];
    shape[rank++] = problem->query.size[ATTNZOO_ROW];
    if (output == ATTNZOO_OUTPUT_ATTENTION)
        shape[rank++] = problem->key.size[ATTNZOO_ROW];
    if (output == ATTNZOO_OUTPUT_CONTEXT)
        shape[rank++] = problem->query.size[ATTNZOO_HEAD] * problem->value.size[ATTNZOO_COLUMN];
    return rank;
}

attnzoo_status attnzoo_similarity_output_shape(const struct attnzoo_instance *instance,
                                               const struct attnzoo_view *const *inputs,
                                               const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                               int64_t *shape)
{
    (void)state;
    return attnzoo_similarity_tell_shape(instance->prepared, inputs, output, rank, shape);
}

attnzoo_status attnzoo_similarity_tell_shape(const struct attnzoo_similarity *similarity,
                                             const struct attnzoo_view *const *inputs, int32_t output, int32_t *rank,
                                             int64_t *shape)
{
    struct attnzoo_similarity_call opened = {0};
    attnzoo_status status = check_inputs(similarity, inputs, &opened);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t full[ATTNZOO_GRID_RANK];
    int32_t full_rank = full_shape(&opened.problem, output, full);
    attnzoo_shapes_tell_output(full, full_rank, inputs[QUERY], 3, rank, shape);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(struct attnzoo_similarity_call *opened)
{
    const struct attnzoo_view *context = opened->call->outputs[ATTNZOO_OUTPUT_CONTEXT];
    const struct attnzoo_view *attention = opened->call->outputs[ATTNZOO_OUTPUT_ATTENTION];
    struct attnzoo_attention *problem = &opened->problem;
    int64_t shape[ATTNZOO_GRID_RANK];
    int32_t rank = full_shape(problem, ATTNZOO_OUTPUT_CONTEXT, shape);
    attnzoo_status status = attnzoo_shapes_check_output(context, "context", shape, rank, &problem->context);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_grid joined = attnzoo_grid_without_heads(context);
    problem->context = attnzoo_grid_split_heads(&joined, problem->query.size[ATTNZOO_HEAD]);
    if (attention == NULL)
        return ATTNZOO_STATUS_OK;
    rank = full_shape(problem, ATTNZOO_OUTPUT_ATTENTION, shape);
    status = attnzoo_shapes_check_output(attention, "attention", shape, rank, &opened->attention);
    if (status == ATTNZOO_STATUS_OK && problem->query.size[ATTNZOO_HEAD] == 1)
        opened->attention = attnzoo_grid_without_heads(attention);
    return status;
}

attnzoo_status attnzoo_similarity_open(struct attnzoo_similarity_call *opened, const struct attnzoo_instance *instance,
                                       const struct attnzoo_call *call)
{
    return attnzoo_similarity_open_as(opened, instance->prepared, call);
}

attnzoo_status attnzoo_similarity_open_as(struct attnzoo_similarity_call *opened,
                                          const struct attnzoo_similarity *similarity, const struct attnzoo_call *call)
{
    struct attnzoo_attention *problem = &opened->problem;
    *opened = (struct attnzoo_similarity_call){.similarity = similarity, .call = call};
    attnzoo_status status = check_inputs(similarity, call->inputs, opened);
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(opened);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    opened->additive = (struct attnzoo_additive){
        .score_weight = similarity->score_weight, .score_bias = similarity->score_bias, .bias = similarity->bias};
    problem->query_count = problem->query.size[ATTNZOO_ROW];
    problem->scale = 1.0f;
    problem->source = &attnzoo_kernel_additive;
    problem->source_data = &opened->additive;
    return attnzoo_mask_resolve(&problem->mask, call->mask, problem->query.size[ATTNZOO_BATCH],
                                problem->query.size[ATTNZOO_HEAD], problem->query_count,
                                problem->key.size[ATTNZOO_ROW]);
}

attnzoo_status attnzoo_similarity_plan(struct attnzoo_similarity_call *opened, int64_t *end,
                                       struct attnzoo_pool_needs *needs)
{
    for (int32_t place = 0; place < ATTNZOO_SIMILARITY_LAYERS; place++) {
        const struct attnzoo_grid *output = &opened->layers[place].parts[0];
        opened->offsets[place] = -1;
        if (opened->layers[place].weight == NULL)
            continue;
        attnzoo_status status = attnzoo_projection_make_plan(&opened->layer_plans[place], &opened->layers[place]);
        if (status != ATTNZOO_STATUS_OK)
            return status;
        attnzoo_pool_add_needs(needs, opened->layer_plans[place].scratch_bytes,
                               opened->layer_plans[place].threads_wanted);
        if (output->data == NULL &&
            !attnzoo_pool_place(end, &opened->offsets[place], attnzoo_grid_element_count(output), 1, sizeof(float)))
            return attnzoo_base_fail_memory(UINT64_MAX);
    }
    return ATTNZOO_STATUS_OK;
}

void attnzoo_similarity_point(struct attnzoo_similarity_call *opened, char *memory)
{
    struct attnzoo_grid *const attended[] = {&opened->problem.query, &opened->problem.key, &opened->problem.value};
    for (int32_t place = 0; place < ATTNZOO_SIMILARITY_LAYERS; place++)
        if (opened->offsets[place] >= 0) {
            attended[place]->data = memory + opened->offsets[place];
            opened->layers[place].parts[0].data = attended[place]->data;
        }
}

void attnzoo_similarity_project(struct attnzoo_similarity_call *opened, const struct attnzoo_pool_claim *claim,
                                const struct attnzoo_key_span *queries, const struct attnzoo_key_span *keys)
{
    for (int32_t place = 0; place < ATTNZOO_SIMILARITY_LAYERS; place++) {
        if (opened->layers[place].weight == NULL)
            continue;
        opened->layers[place].spans[0] = place == QUERY ? queries : keys;
        attnzoo_projection_solve(&opened->layer_plans[place], claim);
    }
}

/* Which rows may be read: queries before their length, keys that some query may see. */
static void set_spans(const struct attnzoo_mask_plan *mask, struct attnzoo_key_span *spans)
{
    for (int64_t batch = 0; batch < mask->batch_count; batch++) {
        spans[batch] = (struct attnzoo_key_span){0, attnzoo_mask_query_length(mask, batch)};
        spans[mask->batch_count + batch] = attnzoo_mask_batch_span(mask, batch);
    }
}

attnzoo_status attnzoo_similarity_begin(struct attnzoo_similarity_call *opened, int64_t own,
                                        struct attnzoo_pool_needs *needs, struct attnzoo_pool_claim *claim)
{
    const struct attnzoo_mask_plan *mask = &opened->problem.mask;
    int64_t end = 0, own_offset, spans_offset;
    if (!attnzoo_pool_place(&end, &own_offset, own, 1, 1) ||
        !attnzoo_pool_place(&end, &spans_offset, mask->batch_count, 2, sizeof(struct attnzoo_key_span)))
        return attnzoo_base_fail_memory(UINT64_MAX);
    attnzoo_status status = attnzoo_similarity_plan(opened, &end, needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    needs->shared_bytes = end;
    status = attnzoo_pool_claim(claim, opened->call->pool, needs);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_key_span *spans = (void *)((char *)claim->shared + spans_offset);
    set_spans(mask, spans);
    attnzoo_similarity_point(opened, claim->shared);
    attnzoo_similarity_project(opened, claim, spans, spans + mask->batch_count);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_similarity_run(struct attnzoo_similarity_call *opened)
{
    struct attnzoo_attention_plan plan;
    struct attnzoo_pool_claim claim;
    attnzoo_status status = attnzoo_attention_make_plan(&plan, &opened->problem);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_pool_needs needs = {.scratch_bytes = plan.scratch_bytes, .threads_wanted = plan.threads_wanted};
    status = attnzoo_similarity_begin(opened, plan.shared_bytes, &needs, &claim);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    attnzoo_attention_solve(&plan, &claim, claim.shared);
    attnzoo_pool_release(&claim);
    return ATTNZOO_STATUS_OK;
}
