/*
 * mechanisms/general.c: attention by a learned product of query and key, score_ij = s q_i^T Wa k_j, A = softmax(score +
 * biases), context = A V (Luong et al. 2015, arXiv 1508.04025, equation 8, "general"; equation 7 is the softmax). The
 * queries are projected, q' = Wa^T q, and the keys read as they are: a decoder has few queries at a time and many keys,
 * which may lie in 16 bits. Shapes and projections are similarity.c's, the scores those of kernels/dot_product.c.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/dot_product.h"
#include "mechanisms/similarity.h"

#include <float.h>
#include <stdlib.h>

enum { OPTION_SCALE, OPTION_SOFTCAP, OPTION_COUNT };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_SCALE] = {"scale", ATTNZOO_OPTION_FLOAT, "1", "finite", "s, multiplies each score", 1.0, -FLT_MAX, FLT_MAX},
    [OPTION_SOFTCAP] = {"softcap", ATTNZOO_OPTION_FLOAT, "0", "0 (off), or a positive normal number",
                        "c > 0 bounds the scores smoothly, c tanh(score / c), before biases and masks", 0.0, 0.0,
                        FLT_MAX},
};

enum { SCORE_WEIGHT, VALUE_WEIGHT, VALUE_BIAS, PARAMETER_COUNT };

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    [SCORE_WEIGHT] = {"score_proj.weight", "[Eq, Ek]", "Wa", 2, true},
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

/* First what calls are opened by; behind it, who owns the turned weight. */
struct prepared {
    struct attnzoo_similarity similarity;
    float *turned;
};

/* The layer of the queries is Wa^T, [Ek, Eq]. */
static attnzoo_status turn_weight(const struct attnzoo_parameter_value *weight, struct prepared *prepared)
{
    int64_t query_size = weight->view.shape[0], key_size = weight->view.shape[1], bytes;
    /* The parameter itself lies in memory, so that what it holds can be counted. */
    if (!attnzoo_base_float_bytes(query_size * key_size, &bytes))
        return attnzoo_base_fail_memory(UINT64_MAX);
    prepared->turned = malloc((size_t)attnzoo_base_maximum(bytes, 1));
    if (prepared->turned == NULL)
        return attnzoo_base_fail_memory((uint64_t)bytes);
    for (int64_t row = 0; row < query_size && key_size > 0; row++)
        for (int64_t column = 0; column < key_size; column++)
            prepared->turned[column * query_size + row] = weight->data[row * key_size + column];
    prepared->similarity.query = (struct attnzoo_layer){
        .name = parameters[SCORE_WEIGHT].name, .weight = prepared->turned, .outputs = key_size, .inputs = query_size};
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    struct attnzoo_similarity *similarity = &prepared->similarity;
    const struct attnzoo_parameter_value *weight = &instance->parameters[SCORE_WEIGHT];
    attnzoo_status status = attnzoo_shapes_check_softcap(instance, OPTION_SOFTCAP);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, VALUE_WEIGHT, VALUE_BIAS, &similarity->value);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_bias(instance, VALUE_WEIGHT, VALUE_BIAS);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    similarity->head_count = similarity->key_head_count = 1;
    similarity->hidden_size = weight->view.shape[1];
    return turn_weight(weight, prepared);
}

static void release(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    free(prepared->turned);
    prepared->turned = NULL;
}

/* Before the general checks, which would ask for a layer of the keys. */
static attnzoo_status check_key(const struct attnzoo_instance *instance, const struct attnzoo_view *key)
{
    const struct prepared *prepared = instance->prepared;
    attnzoo_status status = attnzoo_shapes_check_rank(key, "key", 2, 3);
    return status == ATTNZOO_STATUS_OK ? attnzoo_shapes_check_features(key, "key", parameters[SCORE_WEIGHT].name,
                                                                       prepared->similarity.hidden_size)
                                       : status;
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    attnzoo_status status = check_key(instance, views[ATTNZOO_INPUT_KEY]);
    return status == ATTNZOO_STATUS_OK ? attnzoo_similarity_output_shape(instance, views, state, output, rank, shape)
                                       : status;
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct attnzoo_similarity_call opened;
    attnzoo_status status = check_key(instance, call->inputs[ATTNZOO_INPUT_KEY]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_similarity_open(&opened, instance, call);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    opened.problem.source = &attnzoo_kernel_dot_product;
    opened.problem.source_data = NULL;
    opened.problem.scale = (float)instance->options[OPTION_SCALE].number;
    opened.problem.softcap = (float)instance->options[OPTION_SOFTCAP].number;
    return attnzoo_similarity_run(&opened);
}

const struct attnzoo_mechanism attnzoo_mechanism_general = {
    .name = "general",
    .summary = "attention by a learned product of query and key",
    .formula = "score = s q^T Wa k (c tanh(score / c) with softcap c); A = softmax(score + biases); context = A V",
    .source = "Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation, "
              "arXiv 1508.04025, equation 8",
    .options = options,
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = OPTION_COUNT,
    .parameter_count = PARAMETER_COUNT,
    .input_count = sizeof inputs / sizeof *inputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .prepared_bytes = sizeof(struct prepared),
    .prepare = prepare,
    .release = release,
    .output_shape = output_shape,
    .forward = forward,
};
