/*
 * mechanisms/hard.c: hard attention: one glimpse is chosen for each query, and its value is the context (Xu et al. 2015,
 * arXiv 1502.03044, section 4.1, equations 8 and 9; Mnih et al. 2014, arXiv 1406.6247, section 2).
 *
 *   p_ij = softmax_j of (score_ij + biases), score_ij = s q_i . k_j  or  s (w . tanh(Wq q_i + Wk k_j + b) + b_w)
 *   select=argmax: j* = argmax_j p_ij        select=sample: j* ~ p_i
 *   context_i = v_j*        log_probability_i = ln p_ij*        entropy_i = -sum_j p_ij ln p_ij
 *
 * The last two are what REINFORCE needs (Williams 1992; Xu et al., equations 11 to 13). Shapes and projections are
 * similarity.c's, the choice is kernels/selection.c's.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/dot_product.h"
#include "kernels/selection.h"
#include "mechanisms/similarity.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

enum { SIMILARITY_DOT_PRODUCT, SIMILARITY_ADDITIVE };
enum { SELECT_ARGMAX, SELECT_SAMPLE };

enum {
    OPTION_SIMILARITY = ATTNZOO_SIMILARITY_OPTION_COUNT,
    OPTION_SELECT,
    OPTION_SCALE,
    OPTION_SOFTCAP,
    OPTION_SEED,
    OPTION_COUNT
};

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [ATTNZOO_SIMILARITY_NUM_HEADS] = {"num_heads", ATTNZOO_OPTION_INT, "1", "1 to 2^31",
                                      "H, the heads that the query splits into; each chooses for itself", 1.0, 1.0,
                                      0x1p31},
    [ATTNZOO_SIMILARITY_NUM_KV_HEADS] = {"num_kv_heads", ATTNZOO_OPTION_INT, "num_heads",
                                         "1 to 2^31, divides num_heads", "G, the heads that key and value split into",
                                         1.0, 1.0, 0x1p31},
    [OPTION_SIMILARITY] = {"similarity", ATTNZOO_OPTION_CHOICE, "dot_product", "dot_product|additive",
                           "where scores come from", SIMILARITY_DOT_PRODUCT, 0.0, 1.0},
    [OPTION_SELECT] = {"select", ATTNZOO_OPTION_CHOICE, "argmax", "argmax|sample",
                       "the likeliest glimpse, of equal ones the first; or one drawn with its probability",
                       SELECT_ARGMAX, 0.0, 1.0},
    [OPTION_SCALE] = {"scale", ATTNZOO_OPTION_FLOAT, "1/sqrt(A), 1 with similarity=additive", "finite",
                      "s, multiplies the scores: the inverse of a temperature", 0.0, -FLT_MAX, FLT_MAX},
    [OPTION_SOFTCAP] = {"softcap", ATTNZOO_OPTION_FLOAT, "0", "0 (off), or a positive normal number",
                        "c > 0 bounds the scores smoothly, c tanh(score / c), before biases and masks", 0.0, 0.0,
                        FLT_MAX},
    [OPTION_SEED] = {"seed", ATTNZOO_OPTION_INT, "0", "0 to 2^53",
                     "tells what select=sample draws where no seed comes with the call", 0.0, 0.0, 0x1p53},
};

static const struct attnzoo_parameter_spec parameters[ATTNZOO_SIMILARITY_PARAMETER_COUNT] = {
    ATTNZOO_SIMILARITY_LAYER_PARAMETERS,
    [ATTNZOO_SIMILARITY_BIAS] = {"bias", "[A]", "b, added before the tanh; similarity=additive alone", 1, false},
    [ATTNZOO_SIMILARITY_SCORE_WEIGHT] = {"score_proj.weight", "[1, A]",
                                         "w, which sums the hidden units; similarity=additive needs it", 2, false},
    [ATTNZOO_SIMILARITY_SCORE_BIAS] = {"score_proj.bias", "[1]", "b_w, added to every score; similarity=additive alone",
                                       1, false},
};

static const struct attnzoo_slot_spec inputs[ATTNZOO_INPUT_PLACES] = {
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, N, Eq]", "what is looked for", true, false},
    [ATTNZOO_INPUT_KEY] = {"key", "[B, M, Ek]", "what each glimpse offers to be found by", true, false},
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, M, Ev]", "what each glimpse gives when it is chosen", true, false},
    [ATTNZOO_INPUT_SEED] = {"seed", "[1]", "tells what select=sample draws, in place of the option; argmax ignores it",
                            false, true},
};

static const struct attnzoo_slot_spec outputs[ATTNZOO_OUTPUT_PLACES] = {
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, N, H*Dv]", "the value that was chosen, to the bit; head by head", true,
                                false},
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, H, N, M]",
                                  "1 for the key that was chosen, 0 for the others; [B, N, M] with one head", false,
                                  false},
    [ATTNZOO_OUTPUT_INDEX] = {"index", "[B, H, N]",
                              "the key that was chosen; -1 for a query that sees none, or a NaN; [B, N] with one head",
                              false, true},
    [ATTNZOO_OUTPUT_LOG_PROBABILITY] = {"log_probability", "[B, H, N]",
                                        "ln of the probability of the key that was chosen; 0 for a query that sees "
                                        "none; float32; [B, N] with one head",
                                        false, false},
    [ATTNZOO_OUTPUT_ENTROPY] = {"entropy", "[B, H, N]",
                                "of the probabilities, in nats; 0 for a query that sees no key; float32; [B, N] with "
                                "one head",
                                false, false},
};

/* Layers of query and key make heads of one size; without any, the query's features say which. */
static attnzoo_status prepare_dot_product(const struct attnzoo_instance *instance,
                                          struct attnzoo_similarity *similarity)
{
    static const int32_t foreign[] = {ATTNZOO_SIMILARITY_BIAS, ATTNZOO_SIMILARITY_SCORE_WEIGHT,
                                      ATTNZOO_SIMILARITY_SCORE_BIAS};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (attnzoo_shapes_is_set(instance, foreign[i]))
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is set, but similarity=dot_product has none",
                                     parameters[foreign[i]].name);
    attnzoo_status status =
        attnzoo_shapes_read_heads(instance, ATTNZOO_SIMILARITY_NUM_HEADS, ATTNZOO_SIMILARITY_NUM_KV_HEADS,
                                  &similarity->head_count, &similarity->key_head_count);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_similarity_prepare_layers(instance, similarity);
    const struct attnzoo_layer *query = &similarity->query, *key = &similarity->key;
    if (status == ATTNZOO_STATUS_OK && query->weight != NULL)
        status = attnzoo_shapes_check_split(instance, ATTNZOO_SIMILARITY_QUERY_WEIGHT, similarity->head_count);
    if (status == ATTNZOO_STATUS_OK && key->weight != NULL)
        status = attnzoo_shapes_check_split(instance, ATTNZOO_SIMILARITY_KEY_WEIGHT, similarity->key_head_count);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t query_size = query->outputs / similarity->head_count, key_size = key->outputs / similarity->key_head_count;
    if (query->weight != NULL && key->weight != NULL && query_size != key_size)
        return attnzoo_shapes_differ("head sizes", query->name, query_size, key->name, key_size);
    similarity->hidden_size = query->weight != NULL ? query_size : key->weight != NULL ? key_size : -1;
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    attnzoo_status status = attnzoo_shapes_check_softcap(instance, OPTION_SOFTCAP);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (instance->options[OPTION_SIMILARITY].number == SIMILARITY_DOT_PRODUCT)
        return prepare_dot_product(instance, instance->prepared);
    if (!attnzoo_shapes_is_set(instance, ATTNZOO_SIMILARITY_SCORE_WEIGHT))
        return attnzoo_base_fail(
            ATTNZOO_STATUS_INVALID_ARGUMENT, "similarity=additive needs %s of shape %s, which is not set",
            parameters[ATTNZOO_SIMILARITY_SCORE_WEIGHT].name, parameters[ATTNZOO_SIMILARITY_SCORE_WEIGHT].shape);
    return attnzoo_similarity_prepare(instance, instance->prepared);
}

/* The similarity for a call, whose heads may have the size that the query says. */
static struct attnzoo_similarity similarity_for(const struct attnzoo_instance *instance,
                                                const struct attnzoo_view *query)
{
    struct attnzoo_similarity similarity = *(const struct attnzoo_similarity *)instance->prepared;
    int64_t features = query->shape[query->rank - 1];
    if (similarity.hidden_size < 0 && features % similarity.head_count == 0)
        similarity.hidden_size = features / similarity.head_count;
    return similarity;
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    (void)state;
    const struct attnzoo_similarity similarity = similarity_for(instance, views[ATTNZOO_INPUT_QUERY]);
    return attnzoo_similarity_tell_shape(&similarity, views, output, rank, shape);
}

/* An output with a number for each query: [B, H, N], or [B, N] with one head, as a grid [B, H, N, 1]. */
static attnzoo_status check_numbers(const struct attnzoo_view *view, int32_t place,
                                    const struct attnzoo_attention *problem, struct attnzoo_grid *grid)
{
    const int64_t *query = problem->query.size;
    const int64_t with_heads[] = {query[ATTNZOO_BATCH], query[ATTNZOO_HEAD], query[ATTNZOO_ROW]};
    const int64_t without[] = {query[ATTNZOO_BATCH], query[ATTNZOO_ROW]};
    bool has_heads = query[ATTNZOO_HEAD] > 1;
    const char *name = outputs[place].name;
    if (!outputs[place].is_integer && view->dtype != ATTNZOO_DTYPE_FLOAT32)
        return attnzoo_base_fail(ATTNZOO_STATUS_DTYPE_MISMATCH, "%s is %s, must be float32", name,
                                 attnzoo_base_dtype_name(view->dtype));
    attnzoo_status status =
        attnzoo_shapes_check_output(view, name, has_heads ? with_heads : without, has_heads ? 3 : 2, grid);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_view with_column = *view;
    with_column.shape[with_column.rank] = 1;
    with_column.strides[with_column.rank] = 1;
    with_column.rank++;
    *grid = has_heads ? attnzoo_grid_of(&with_column) : attnzoo_grid_without_heads(&with_column);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(const struct attnzoo_call *call, const struct attnzoo_attention *problem,
                                    struct attnzoo_selection *selection)
{
    const struct {
        int32_t place;
        bool *is_wanted;
        struct attnzoo_grid *grid;
    } rules[] = {
        {ATTNZOO_OUTPUT_INDEX, &selection->wants_index, &selection->index},
        {ATTNZOO_OUTPUT_LOG_PROBABILITY, &selection->wants_log_probability, &selection->log_probability},
        {ATTNZOO_OUTPUT_ENTROPY, &selection->wants_entropy, &selection->entropy},
    };
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == ATTNZOO_STATUS_OK; i++) {
        const struct attnzoo_view *view = call->outputs[rules[i].place];
        *rules[i].is_wanted = view != NULL;
        if (view != NULL)
            status = check_numbers(view, rules[i].place, problem, rules[i].grid);
    }
    int64_t keys = problem->key.size[ATTNZOO_ROW];
    if (status == ATTNZOO_STATUS_OK && selection->wants_index && selection->index.dtype == ATTNZOO_DTYPE_INT32 &&
        keys > INT64_C(1) << 31)
        return attnzoo_base_fail(ATTNZOO_STATUS_DTYPE_MISMATCH, "index is int32, must be int64 for %" PRId64 " keys",
                                 keys);
    return status;
}

/* Reads the seed: that of the call, or that of the option. */
static attnzoo_status read_seed(const struct attnzoo_instance *instance, const struct attnzoo_view *seed,
                                struct attnzoo_selection *selection)
{
    selection->is_sampled = instance->options[OPTION_SELECT].number == SELECT_SAMPLE;
    selection->seed = (uint64_t)instance->options[OPTION_SEED].number;
    if (seed == NULL)
        return ATTNZOO_STATUS_OK;
    char shape[ATTNZOO_SHAPE_TEXT_SIZE];
    if (seed->rank != 1 || seed->shape[0] != 1)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH, "seed has shape %s, must have [1]",
                                 attnzoo_base_shape_text(shape, seed->rank, seed->shape));
    if (selection->is_sampled)
        selection->seed = (uint64_t)attnzoo_kernel_integer_at(seed->data, seed->dtype);
    return ATTNZOO_STATUS_OK;
}

/* Every number drawn has a place of its own in the generator's counter. */
static attnzoo_status check_counts(const struct attnzoo_selection *selection)
{
    const int64_t *query = selection->problem->query.size;
    bool fits = query[ATTNZOO_BATCH] <= ATTNZOO_SELECTION_COUNT_MAX &&
                query[ATTNZOO_ROW] <= ATTNZOO_SELECTION_COUNT_MAX &&
                selection->problem->key.size[ATTNZOO_ROW] <= 2 * ATTNZOO_SELECTION_COUNT_MAX;
    if (fits || !selection->is_sampled)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_UNSUPPORTED,
                             "select=sample has %" PRId64 " batches, %" PRId64 " queries and %" PRId64
                             " keys, must have at most 2^32, 2^32 and 2^33",
                             query[ATTNZOO_BATCH], query[ATTNZOO_ROW], selection->problem->key.size[ATTNZOO_ROW]);
}

static attnzoo_status run(struct attnzoo_similarity_call *opened, const struct attnzoo_selection *selection)
{
    struct attnzoo_selection_plan plan;
    struct attnzoo_pool_claim claim;
    attnzoo_status status = attnzoo_selection_make_plan(&plan, selection);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_pool_needs needs = {.scratch_bytes = plan.scratch_bytes, .threads_wanted = plan.threads_wanted};
    status = attnzoo_similarity_begin(opened, plan.shared_bytes, &needs, &claim);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    attnzoo_selection_solve(&plan, &claim, claim.shared);
    attnzoo_pool_release(&claim);
    return ATTNZOO_STATUS_OK;
}

/* Where scores come from, and by what they are scaled. */
static void set_scores(const struct attnzoo_instance *instance, struct attnzoo_attention *problem)
{
    int64_t size = problem->query.size[ATTNZOO_COLUMN];
    if (instance->options[OPTION_SIMILARITY].number == SIMILARITY_DOT_PRODUCT) {
        problem->source = &attnzoo_kernel_dot_product;
        problem->source_data = NULL;
        problem->scale = size > 0 ? (float)(1.0 / sqrt((double)size)) : 1.0f;
    }
    if (instance->options[OPTION_SCALE].is_set)
        problem->scale = (float)instance->options[OPTION_SCALE].number;
    problem->softcap = (float)instance->options[OPTION_SOFTCAP].number;
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    const struct attnzoo_similarity similarity = similarity_for(instance, call->inputs[ATTNZOO_INPUT_QUERY]);
    struct attnzoo_similarity_call opened;
    struct attnzoo_attention *problem = &opened.problem;
    struct attnzoo_selection selection = {.problem = problem};
    attnzoo_status status = attnzoo_similarity_open_as(&opened, &similarity, call);
    if (status == ATTNZOO_STATUS_OK)
        status = read_seed(instance, call->inputs[ATTNZOO_INPUT_SEED], &selection);
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(call, problem, &selection);
    if (status == ATTNZOO_STATUS_OK)
        status = check_counts(&selection);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (problem->query.size[ATTNZOO_BATCH] == 0 || problem->query.size[ATTNZOO_ROW] == 0)
        return ATTNZOO_STATUS_OK;
    set_scores(instance, problem);
    problem->attention = opened.attention;
    problem->wants_attention = call->outputs[ATTNZOO_OUTPUT_ATTENTION] != NULL;
    return run(&opened, &selection);
}

const struct attnzoo_mechanism attnzoo_mechanism_hard = {
    .name = "hard",
    .summary = "hard attention: each query is given the value of one key, the likeliest or one drawn",
    .formula =
        "p = softmax(score + biases), score = s q.k or s (w.tanh(Wq q + Wk k + b) + b_w); j = argmax p or j ~ p; "
        "context = v_j",
    .source =
        "Xu et al. 2015, Show, Attend and Tell, arXiv 1502.03044, section 4.1; Mnih et al. 2014, Recurrent Models "
        "of Visual Attention, arXiv 1406.6247",
    .options = options,
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = OPTION_COUNT,
    .parameter_count = ATTNZOO_SIMILARITY_PARAMETER_COUNT,
    .input_count = ATTNZOO_INPUT_PLACES,
    .output_count = ATTNZOO_OUTPUT_PLACES,
    .prepared_bytes = sizeof(struct attnzoo_similarity),
    .prepare = prepare,
    .output_shape = output_shape,
    .forward = forward,
};
