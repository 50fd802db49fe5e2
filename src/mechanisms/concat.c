/*
 * mechanisms/concat.c: attention by a small network's score of query and key side by side, score_ij = v . tanh(Wa [q_i;
 * k_j] + b) + b_v, A = softmax(score + biases), context = A V (Luong et al. 2015, arXiv 1508.04025, equation 8,
 * "concat").
 *
 * Wa [q; k] = W1 q + W2 k, where W1 is the first Eq columns of Wa and W2 the others. So no pair is ever laid side by side:
 * each half is a layer of its own, and the score is the additive one. Shapes and projections are similarity.c's, the
 * scores kernels/additive.c's, the rest the tiled core's.
 */
#include "mechanisms/mechanism.h"

#include "base/error.h"
#include "mechanisms/similarity.h"

#include <inttypes.h>

enum { CONCAT_WEIGHT, CONCAT_BIAS, SCORE_WEIGHT, SCORE_BIAS, VALUE_WEIGHT, VALUE_BIAS, PARAMETER_COUNT };

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    [CONCAT_WEIGHT] = {"concat_proj.weight", "[A, Eq+Ek]", "Wa, the layer of query and key side by side", 2, true},
    [CONCAT_BIAS] = {"concat_proj.bias", "[A]", "b, added before the tanh", 1, false},
    [SCORE_WEIGHT] = {"score_proj.weight", "[1, A]", "v, which sums the hidden units", 2, true},
    [SCORE_BIAS] = {"score_proj.bias", "[1]", "b_v, added to every score", 1, false},
    [VALUE_WEIGHT] = {"value_proj.weight", "[Dv, Ev]", "without it the value is used as it is, and Ev = Dv", 2, false},
    [VALUE_BIAS] = {"value_proj.bias", "[Dv]", "added to the projected value", 1, false},
};

static const struct attnzoo_slot_spec inputs[] = {
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, N, Eq]", "what is looked for", true, false},
    [ATTNZOO_INPUT_KEY] = {"key", "[B, M, Ek]", "what each glimpse offers to be found by", true, false},
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, M, Ev]", "what each glimpse gives when it is found", true, false},
};

static const struct attnzoo_slot_spec outputs[] = {
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, N, Dv]",
                                "the values, summed by the attention; Dv = Ev without value_proj", true, false},
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, N, M]", "the weight of each key for each query", false, false},
};

/* A similarity without its layers of query and key: where Wa is cut is known when a query comes. */
static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    struct attnzoo_similarity *similarity = instance->prepared;
    const struct attnzoo_parameter_value *values = instance->parameters;
    int64_t hidden = values[CONCAT_WEIGHT].view.shape[0];
    const int64_t score_shape[] = {1, hidden}, one[] = {1};
    *similarity = (struct attnzoo_similarity){.head_count = 1,
                                              .key_head_count = 1,
                                              .hidden_size = hidden,
                                              .score_weight = values[SCORE_WEIGHT].data,
                                              .bias = values[CONCAT_BIAS].data};
    attnzoo_status status = attnzoo_shapes_check_bias(instance, CONCAT_WEIGHT, CONCAT_BIAS);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, SCORE_WEIGHT, score_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, SCORE_BIAS, one);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, VALUE_WEIGHT, VALUE_BIAS, &similarity->value);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_bias(instance, VALUE_WEIGHT, VALUE_BIAS);
    if (status == ATTNZOO_STATUS_OK && attnzoo_shapes_is_set(instance, SCORE_BIAS))
        similarity->score_bias = *values[SCORE_BIAS].data;
    return status;
}

/* Some columns of Wa, from the first on. */
static struct attnzoo_layer cut(const struct attnzoo_parameter_value *weight, int64_t first, int64_t count)
{
    return (struct attnzoo_layer){.name = parameters[CONCAT_WEIGHT].name,
                                  .weight = weight->data + first,
                                  .weight_step = weight->view.shape[1],
                                  .outputs = weight->view.shape[0],
                                  .inputs = count};
}

/* Checks query and key against Wa, and gives each its part of it. */
static attnzoo_status cut_for(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                              struct attnzoo_similarity *similarity)
{
    const struct attnzoo_view *query = views[ATTNZOO_INPUT_QUERY], *key = views[ATTNZOO_INPUT_KEY];
    const struct attnzoo_parameter_value *weight = &instance->parameters[CONCAT_WEIGHT];
    attnzoo_status status = attnzoo_shapes_check_rank(query, "query", 2, 3);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_rank(key, "key", 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t query_size = query->shape[query->rank - 1], key_size = key->shape[key->rank - 1];
    int64_t columns = weight->view.shape[1];
    if (query_size > columns || key_size != columns - query_size)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "query has %" PRId64 " features and key %" PRId64 ", but %s takes %" PRId64
                                 " together",
                                 query_size, key_size, parameters[CONCAT_WEIGHT].name, columns);
    *similarity = *(const struct attnzoo_similarity *)instance->prepared;
    similarity->query = cut(weight, 0, query_size);
    similarity->key = cut(weight, query_size, key_size);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    (void)state;
    struct attnzoo_similarity similarity;
    attnzoo_status status = cut_for(instance, views, &similarity);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_similarity_tell_shape(&similarity, views, output, rank, shape);
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct attnzoo_similarity similarity;
    struct attnzoo_similarity_call opened;
    attnzoo_status status = cut_for(instance, call->inputs, &similarity);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_similarity_open_as(&opened, &similarity, call);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const int64_t *query = opened.problem.query.size;
    if (query[ATTNZOO_BATCH] == 0 || query[ATTNZOO_ROW] == 0)
        return ATTNZOO_STATUS_OK;
    opened.problem.attention = opened.attention;
    opened.problem.wants_attention = call->outputs[ATTNZOO_OUTPUT_ATTENTION] != NULL;
    return attnzoo_similarity_run(&opened);
}

const struct attnzoo_mechanism attnzoo_mechanism_concat = {
    .name = "concat",
    .summary = "attention by a small network's score of query and key side by side",
    .formula = "score = v.tanh(Wa [q; k] + b) + b_v; A = softmax(score + biases); context = A V",
    .source = "Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation, "
              "arXiv 1508.04025, equation 8",
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .parameter_count = PARAMETER_COUNT,
    .input_count = sizeof inputs / sizeof *inputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .prepared_bytes = sizeof(struct attnzoo_similarity),
    .prepare = prepare,
    .output_shape = output_shape,
    .forward = forward,
};
