/*
 * mechanisms/scaled_dot_product.c: scaled dot-product attention, A = softmax(s Q K^T + biases), context = A V
 * (Vaswani et al. 2017, arXiv 1706.03762, equation 1), with grouped heads (Ainslie et al. 2023, arXiv 2305.13245) and
 * softcap (Gemma 2, arXiv 2408.00118, section 2). Shapes are checked here; the work is the tiled core's.
 */
#include "mechanisms/mechanism.h"

#include "base/error.h"
#include "kernels/attention.h"
#include "kernels/dot_product.h"
#include "mechanisms/shapes.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { OPTION_SCALE, OPTION_SOFTCAP, OPTION_COUNT };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    [OPTION_SCALE] = {"scale", ATTNZOO_OPTION_FLOAT, "1/sqrt(D)", "finite",
                      "multiplies each query's dot product with a key; 1 gives plain dot-product attention", 0.0,
                      -FLT_MAX, FLT_MAX},
    [OPTION_SOFTCAP] = {"softcap", ATTNZOO_OPTION_FLOAT, "0", "0 (off), or a positive normal number",
                        "c > 0 bounds the scores smoothly, c tanh(score / c), before biases and masks", 0.0, 0.0,
                        FLT_MAX},
};

static const struct attnzoo_slot_spec inputs[] = {
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, H, N, D]", "what is looked for", true, false},
    [ATTNZOO_INPUT_KEY] = {"key", "[B, G, M, D]", "what each glimpse offers to be found by; G divides H", true, false},
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, G, M, Dv]", "what each glimpse gives when it is found", true, false},
};

enum { INPUT_COUNT = sizeof inputs / sizeof *inputs };

static const struct attnzoo_slot_spec outputs[] = {
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, H, N, Dv]", "the values, summed by the attention", true, false},
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, H, N, M]", "the weight of each key for each query", false, false},
    [ATTNZOO_OUTPUT_LOG_SUM_EXP] = {"log_sum_exp", "[B, H, N]",
                                    "log of the sum of exp(score) over the keys seen, for merging parts", false, false},
};

/* Checks query, key and value against each other. */
static attnzoo_status check_inputs(const struct attnzoo_view *const *views, struct attnzoo_attention *problem)
{
    for (int32_t place = 0; place < INPUT_COUNT; place++) {
        attnzoo_status status = attnzoo_shapes_check_rank(views[place], inputs[place].name, 2, ATTNZOO_GRID_RANK);
        if (status != ATTNZOO_STATUS_OK)
            return status;
    }
    problem->query = attnzoo_grid_of(views[ATTNZOO_INPUT_QUERY]);
    problem->key = attnzoo_grid_of(views[ATTNZOO_INPUT_KEY]);
    problem->value = attnzoo_grid_of(views[ATTNZOO_INPUT_VALUE]);
    const int64_t *query = problem->query.size, *key = problem->key.size, *value = problem->value.size;
    attnzoo_status status = attnzoo_shapes_check_together(&problem->query, &problem->key, &problem->value);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (query[ATTNZOO_COLUMN] != key[ATTNZOO_COLUMN])
        return attnzoo_shapes_differ("head sizes", "query", query[ATTNZOO_COLUMN], "key", key[ATTNZOO_COLUMN]);
    if (key[ATTNZOO_HEAD] != value[ATTNZOO_HEAD])
        return attnzoo_shapes_differ("numbers of heads", "key", key[ATTNZOO_HEAD], "value", value[ATTNZOO_HEAD]);
    bool divides = key[ATTNZOO_HEAD] == 0 ? query[ATTNZOO_HEAD] == 0 : query[ATTNZOO_HEAD] % key[ATTNZOO_HEAD] == 0;
    if (!divides)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "query has %" PRId64 " heads, must be a multiple of key's %" PRId64,
                                 query[ATTNZOO_HEAD], key[ATTNZOO_HEAD]);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status output_shape(const struct attnzoo_instance *instance, const struct attnzoo_view *const *views,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape)
{
    (void)instance, (void)state;
    struct attnzoo_attention problem;
    attnzoo_status status = check_inputs(views, &problem);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_view *query = views[ATTNZOO_INPUT_QUERY];
    *rank = output == ATTNZOO_OUTPUT_LOG_SUM_EXP ? query->rank - 1 : query->rank;
    memcpy(shape, query->shape, (size_t)*rank * sizeof *shape);
    if (output == ATTNZOO_OUTPUT_CONTEXT)
        shape[*rank - 1] = problem.value.size[ATTNZOO_COLUMN];
    if (output == ATTNZOO_OUTPUT_ATTENTION)
        shape[*rank - 1] = problem.key.size[ATTNZOO_ROW];
    return ATTNZOO_STATUS_OK;
}

/* [B, H, N] as a grid [B, H, N, 1]. */
static attnzoo_status check_log_sum_exp(const struct attnzoo_view *view, const int64_t size[ATTNZOO_GRID_RANK],
                                        struct attnzoo_grid *grid)
{
    if (view->dtype != ATTNZOO_DTYPE_FLOAT32)
        return attnzoo_base_fail(ATTNZOO_STATUS_DTYPE_MISMATCH, "log_sum_exp is %s, must be float32",
                                 attnzoo_base_dtype_name(view->dtype));
    attnzoo_status status = attnzoo_shapes_check_output(view, "log_sum_exp", size, ATTNZOO_GRID_RANK - 1, grid);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    struct attnzoo_view with_column = *view;
    with_column.shape[with_column.rank] = 1;
    with_column.strides[with_column.rank] = 1;
    with_column.rank++;
    *grid = attnzoo_grid_of(&with_column);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(const struct attnzoo_call *call, struct attnzoo_attention *problem)
{
    const int64_t *query = problem->query.size;
    int64_t size[ATTNZOO_GRID_RANK] = {query[0], query[1], query[2], problem->value.size[ATTNZOO_COLUMN]};
    attnzoo_status status = attnzoo_shapes_check_output(call->outputs[ATTNZOO_OUTPUT_CONTEXT], "context", size,
                                                        ATTNZOO_GRID_RANK, &problem->context);
    const struct attnzoo_view *attention = call->outputs[ATTNZOO_OUTPUT_ATTENTION];
    problem->wants_attention = attention != NULL;
    size[ATTNZOO_COLUMN] = problem->key.size[ATTNZOO_ROW];
    if (status == ATTNZOO_STATUS_OK && attention != NULL)
        status = attnzoo_shapes_check_output(attention, "attention", size, ATTNZOO_GRID_RANK, &problem->attention);
    const struct attnzoo_view *log_sum_exp = call->outputs[ATTNZOO_OUTPUT_LOG_SUM_EXP];
    problem->wants_log_sum_exp = log_sum_exp != NULL;
    if (status == ATTNZOO_STATUS_OK && log_sum_exp != NULL)
        status = check_log_sum_exp(log_sum_exp, size, &problem->log_sum_exp);
    return status;
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    return attnzoo_shapes_check_softcap(instance, OPTION_SOFTCAP);
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct attnzoo_attention problem = {.source = &attnzoo_kernel_dot_product};
    attnzoo_status status = check_inputs(call->inputs, &problem);
    problem.query_count = problem.query.size[ATTNZOO_ROW];
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(call, &problem);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_resolve(&problem.mask, call->mask, problem.query.size[ATTNZOO_BATCH],
                                      problem.query.size[ATTNZOO_HEAD], problem.query.size[ATTNZOO_ROW],
                                      problem.key.size[ATTNZOO_ROW]);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t head_size = problem.query.size[ATTNZOO_COLUMN];
    /* A dot product over nothing is 0, whatever multiplies it. */
    problem.scale = head_size > 0 ? (float)(1.0 / sqrt((double)head_size)) : 1.0f;
    if (instance->options[OPTION_SCALE].is_set)
        problem.scale = (float)instance->options[OPTION_SCALE].number;
    problem.softcap = (float)instance->options[OPTION_SOFTCAP].number;
    return attnzoo_attention_run(&problem, call->pool);
}

const struct attnzoo_mechanism attnzoo_mechanism_scaled_dot_product = {
    .name = "scaled_dot_product",
    .summary = "attention by the scaled dot product of queries and keys; no parameters",
    .formula = "score = s q.k (c tanh(s q.k / c) with softcap c); A = softmax(score + biases); context = A V",
    .source = "Vaswani et al. 2017, Attention Is All You Need, arXiv 1706.03762",
    .options = options,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = OPTION_COUNT,
    .input_count = INPUT_COUNT,
    .output_count = sizeof outputs / sizeof *outputs,
    .prepare = prepare,
    .output_shape = output_shape,
    .forward = forward,
};
