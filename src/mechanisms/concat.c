/*
 * mechanisms/concat.c: attention by the concatenated query and key, score_ij = v . tanh(Wa [q_i; k_j] + b) + b_v, A =
 * softmax(score + biases), context = A V (Luong et al. 2015, arXiv 1508.04025, equation 8, "concat"; equation 7 is the
 * softmax). Wa [q; k] = Wq q + Wk k for Wa = [Wq Wk], so that each input is projected once and no pair is: the rest is
 * additive attention's, similarity.c's and kernels/additive.c's.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "mechanisms/similarity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_QUERY_SIZE, OPTION_COUNT };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_QUERY_SIZE] = {"query_size", ATTNZOO_OPTION_INT, "half the columns", "0 to 2^52",
                           "Eq, how many of the first columns of concat_proj.weight meet the query", 0.0, 0.0, 0x1p52},
};

enum { CONCAT_WEIGHT, CONCAT_BIAS, SCORE_WEIGHT, SCORE_BIAS, VALUE_WEIGHT, VALUE_BIAS, PARAMETER_COUNT };

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    [CONCAT_WEIGHT] = {"concat_proj.weight", "[A, Eq+Ek]",
                       "Wa; its first Eq columns meet the query, the others the key", 2, true},
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

/* First what calls are opened by; behind it, who owns the two parts of the weight. */
struct prepared {
    struct attnzoo_similarity similarity;
    float *parts;
};

/* Parts from the columns of a row-major weight: [A, Eq], then [A, Ek]. */
static attnzoo_status part_columns(const struct attnzoo_parameter_value *joint, int64_t query_size,
                                   struct prepared *prepared)
{
    int64_t hidden = joint->view.shape[0], columns = joint->view.shape[1], bytes;
    /* The parameter itself lies in memory, so that what it holds can be counted. */
    if (!attnzoo_base_float_bytes(hidden * columns, &bytes))
        return attnzoo_base_fail_memory(UINT64_MAX);
    prepared->parts = malloc((size_t)attnzoo_base_maximum(bytes, 1));
    if (prepared->parts == NULL)
        return attnzoo_base_fail_memory((uint64_t)bytes);
    float *query = prepared->parts, *key = query + hidden * query_size;
    size_t query_bytes = (size_t)query_size * sizeof *query, key_bytes = (size_t)(columns - query_size) * sizeof *key;
    for (int64_t row = 0; row < hidden && columns > 0; row++) {
        memcpy(query + row * query_size, joint->data + row * columns, query_bytes);
        memcpy(key + row * (columns - query_size), joint->data + row * columns + query_size, key_bytes);
    }
    prepared->similarity.query = (struct attnzoo_layer){
        .name = parameters[CONCAT_WEIGHT].name, .weight = query, .outputs = hidden, .inputs = query_size};
    prepared->similarity.key = (struct attnzoo_layer){
        .name = parameters[CONCAT_WEIGHT].name, .weight = key, .outputs = hidden, .inputs = columns - query_size};
    return ATTNZOO_STATUS_OK;
}

/* Eq, as the option says, or half of the columns. */
static attnzoo_status read_query_size(const struct attnzoo_instance *instance, int64_t *query_size)
{
    int64_t columns = instance->parameters[CONCAT_WEIGHT].view.shape[1];
    const struct attnzoo_option_value *option = &instance->options[OPTION_QUERY_SIZE];
    *query_size = option->is_set ? (int64_t)option->number : columns / 2;
    if (*query_size > columns)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "query_size is %" PRId64 ", but concat_proj.weight has %" PRId64 " columns",
                                 *query_size, columns);
    if (!option->is_set && columns % 2 != 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "concat_proj.weight has %" PRId64
                                 " columns, which do not halve: query_size must say how many of them meet the query",
                                 columns);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    struct attnzoo_similarity *similarity = &prepared->similarity;
    const struct attnzoo_parameter_value *values = instance->parameters;
    int64_t hidden = values[CONCAT_WEIGHT].view.shape[0], one = 1, query_size;
    const int64_t score_shape[] = {1, hidden};
    attnzoo_status status = read_query_size(instance, &query_size);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, SCORE_WEIGHT, score_shape);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, CONCAT_BIAS, &hidden);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, SCORE_BIAS, &one);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_read_layer(instance, VALUE_WEIGHT, VALUE_BIAS, &similarity->value);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_bias(instance, VALUE_WEIGHT, VALUE_BIAS);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    similarity->head_count = similarity->key_head_count = 1;
    similarity->hidden_size = hidden;
    similarity->bias = values[CONCAT_BIAS].data;
    similarity->score_weight = values[SCORE_WEIGHT].data;
    similarity->score_bias = values[SCORE_BIAS].data == NULL ? 0.0f : *values[SCORE_BIAS].data;
    return part_columns(&values[CONCAT_WEIGHT], query_size, prepared);
}

static void release(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    free(prepared->parts);
    prepared->parts = NULL;
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct attnzoo_similarity_call opened;
    attnzoo_status status = attnzoo_similarity_open(&opened, instance, call);
    return status == ATTNZOO_STATUS_OK ? attnzoo_similarity_run(&opened) : status;
}

const struct attnzoo_mechanism attnzoo_mechanism_concat = {
    .name = "concat",
    .summary = "attention by a small network's score of query and key put behind each other",
    .formula = "score = v.tanh(Wa [q; k] + b) + b_v; A = softmax(score + biases); context = A V",
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
    .output_shape = attnzoo_similarity_output_shape,
    .forward = forward,
};
