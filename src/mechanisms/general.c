/*
 * mechanisms/general.c: attention by a bilinear score, score_ij = s q_i^T Wa k_j, A = softmax(score + biases), context =
 * A V (Luong et al. 2015, arXiv 1508.04025, equation 8, "general").
 *
 * q^T Wa is made once for the queries, and the rest is a dot product with the keys where they lie. Projecting the queries
 * rather than the keys costs less where keys are more than queries, as in a decoder that steps through an utterance; the
 * keys that a mask hides are never read; keys of 16 bits are read as they are; and no query's result depends, in its last
 * bit, on which side was the smaller. Shapes and projections are similarity.c's, the rest the tiled core's.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/dot_product.h"
#include "kernels/vectors.h"
#include "mechanisms/similarity.h"

#include <float.h>
#include <stdlib.h>

enum { OPTION_SCALE, OPTION_SOFTCAP, OPTION_COUNT };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_SCALE] = {"scale", ATTNZOO_OPTION_FLOAT, "1", "finite", "s, multiplies the scores", 1.0, -FLT_MAX, FLT_MAX},
    [OPTION_SOFTCAP] = {"softcap", ATTNZOO_OPTION_FLOAT, "0", "0 (off), or a positive normal number",
                        "c > 0 bounds the scores smoothly, c tanh(score / c), before biases and masks", 0.0, 0.0,
                        FLT_MAX},
};

enum { SCORE_WEIGHT, VALUE_WEIGHT, VALUE_BIAS, PARAMETER_COUNT };

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    [SCORE_WEIGHT] = {"score_proj.weight", "[Eq, Ek]", "Wa, the matrix between query and key", 2, true},
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

struct prepared {
    /* First: similarity.c knows it by its address. The query's layer is Wa transposed, the key has none. */
    struct attnzoo_similarity similarity;
    /* [Ek, Eq] */
    float *transposed;
};

/* Wa as a layer of the query: q^T Wa = q (Wa^T)^T. */
static attnzoo_status make_query_layer(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    const struct attnzoo_parameter_value *weight = &instance->parameters[SCORE_WEIGHT];
    int64_t rows = weight->view.shape[0], columns = weight->view.shape[1], floats, bytes;
    if (!attnzoo_base_multiply(rows, columns, &floats) || !attnzoo_base_float_bytes(floats, &bytes))
        return attnzoo_base_fail_memory(UINT64_MAX);
    prepared->transposed = malloc((size_t)attnzoo_base_maximum(bytes, 1));
    if (prepared->transposed == NULL)
        return attnzoo_base_fail_memory((uint64_t)bytes);
    attnzoo_kernel_vectors()->transpose(prepared->transposed, rows, weight->data, columns, rows, columns);
    const char *name = parameters[SCORE_WEIGHT].name;
    prepared->similarity.query =
        (struct attnzoo_layer){.name = name, .weight = prepared->transposed, .outputs = columns, .inputs = rows};
    prepared->similarity.key = (struct attnzoo_layer){.name = name};
    prepared->similarity.hidden_size = columns;
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    prepared->similarity.head_count = prepared->similarity.key_head_count = 1;
    attnzoo_status status = attnzoo_shapes_check_softcap(instance, OPTION_SOFTCAP);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, VALUE_WEIGHT, VALUE_BIAS, &prepared->similarity.value);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_bias(instance, VALUE_WEIGHT, VALUE_BIAS);
    return status == ATTNZOO_STATUS_OK ? make_query_layer(instance, prepared) : status;
}

static void release(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    free(prepared->transposed);
}

/* The key has no layer of its own to be checked against. */
static attnzoo_status check_key(const struct attnzoo_instance *instance, const struct attnzoo_view *key)
{
    const struct prepared *prepared = instance->prepared;
    attnzoo_status status = attnzoo_shapes_check_rank(key, "key", 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_shapes_check_features(key, "key", parameters[SCORE_WEIGHT].name, prepared->similarity.hidden_size);
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    attnzoo_status status = check_key(instance, views[ATTNZOO_INPUT_KEY]);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_similarity_output_shape(instance, views, state, output, rank, shape);
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct attnzoo_similarity_call opened;
    attnzoo_status status = check_key(instance, call->inputs[ATTNZOO_INPUT_KEY]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_similarity_open(&opened, instance, call);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_attention *problem = &opened.problem;
    if (problem->query.size[ATTNZOO_BATCH] == 0 || problem->query.size[ATTNZOO_ROW] == 0)
        return ATTNZOO_STATUS_OK;
    problem->source = &attnzoo_kernel_dot_product;
    problem->source_data = NULL;
    problem->scale = (float)instance->options[OPTION_SCALE].number;
    problem->softcap = (float)instance->options[OPTION_SOFTCAP].number;
    problem->attention = opened.attention;
    problem->wants_attention = call->outputs[ATTNZOO_OUTPUT_ATTENTION] != NULL;
    return attnzoo_similarity_run(&opened);
}

const struct attnzoo_mechanism attnzoo_mechanism_general = {
    .name = "general",
    .summary = "attention by a matrix between query and key, whose sizes may differ",
    .formula = "score = s q.(Wa k) (c tanh(score / c) with softcap c); A = softmax(score + biases); context = A V",
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
