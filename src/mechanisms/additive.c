/*
 * mechanisms/additive.c: additive attention, score_ij = w . tanh(Wq q_i + Wk k_j + b) + b_w, A = softmax(score +
 * biases), context = A V (Bahdanau et al. 2015, arXiv 1409.0473, section 3.1 and appendix A.1.2). Shapes and
 * projections are similarity.c's, the scores kernels/additive.c's, the rest the tiled core's.
 */
#include "mechanisms/mechanism.h"

#include "mechanisms/similarity.h"

static const struct attnzoo_option_spec options[ATTNZOO_SIMILARITY_OPTION_COUNT] = {
    [ATTNZOO_SIMILARITY_NUM_HEADS] = {"num_heads", ATTNZOO_OPTION_INT, "1", "1", "H; additive attention has one head",
                                      1.0, 1.0, 1.0},
    [ATTNZOO_SIMILARITY_NUM_KV_HEADS] = {"num_kv_heads", ATTNZOO_OPTION_INT, "num_heads", "1", "G, likewise 1", 1.0,
                                         1.0, 1.0},
};

static const struct attnzoo_parameter_spec parameters[] = {ATTNZOO_SIMILARITY_PARAMETERS};

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

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    return attnzoo_similarity_prepare(instance, instance->prepared);
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct attnzoo_similarity_call opened;
    attnzoo_status status = attnzoo_similarity_open(&opened, instance, call);
    const int64_t *query = opened.problem.query.size;
    if (status != ATTNZOO_STATUS_OK || query[ATTNZOO_BATCH] == 0 || query[ATTNZOO_ROW] == 0)
        return status;
    opened.problem.attention = opened.attention;
    opened.problem.wants_attention = call->outputs[ATTNZOO_OUTPUT_ATTENTION] != NULL;
    return attnzoo_similarity_run(&opened);
}

const struct attnzoo_mechanism attnzoo_mechanism_additive = {
    .name = "additive",
    .summary = "attention by a small network's score of query and key together",
    .formula = "score = w.tanh(Wq q + Wk k + b) + b_w; A = softmax(score + biases); context = A V",
    .source = "Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and Translate, "
              "arXiv 1409.0473",
    .options = options,
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = ATTNZOO_SIMILARITY_OPTION_COUNT,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .input_count = sizeof inputs / sizeof *inputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .prepared_bytes = sizeof(struct attnzoo_similarity),
    .prepare = prepare,
    .output_shape = attnzoo_similarity_output_shape,
    .forward = forward,
};
