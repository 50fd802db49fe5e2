/*
 * mechanisms/multi_head.c: multi-head attention: head_h = attention(Wq_h query, Wk_h key, Wv_h value) with the scaled
 * dot product, context = Wo concat(head_1, ..., head_H) (Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2). The
 * work is projected_heads.c's and the tiled core's. What trained layers add to that, each by itself:
 *
 *   rotary positions   q_i and k_j are turned by their positions, so that q_i . k_j has i - j in it (Su et al. 2021,
 *                      arXiv 2104.09864, equation 34): kernels/rotary.h
 *   relative buckets   score_ij = s q_i . k_j + b_h[bucket(j - i)] (Raffel et al. 2020, arXiv 1910.10683, section 2.1):
 *                      the buckets are here, the bias by distance is kernels/mask_distance.c's
 *   sinks              A_ij = exp(score_ij) / (exp(sink_h) + sum_j exp(score_ij)), a learned sink_h (StreamingLLM: Xiao
 *                      et al. 2023, arXiv 2309.17453, the softmax of section 3.2; learned as here: gpt-oss): the core's
 *
 * Query i stands where the mask says, at M - N + i by default, and key j at j, cached keys being counted, unless the
 * call gives positions.
 */
#include "mechanisms/mechanism.h"

#include "base/checked.h"
#include "base/error.h"
#include "mechanisms/projected_heads.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_ROTARY = ATTNZOO_HEADS_OPTION_COUNT,
    OPTION_ROTARY_SIZE,
    OPTION_ROTARY_BASE,
    OPTION_MAX_DISTANCE,
    OPTION_BIDIRECTIONAL,
    OPTION_COUNT
};

enum { ROTARY_NONE, ROTARY_INTERLEAVED, ROTARY_HALF_SPLIT };

static const struct attnzoo_option_spec options[OPTION_COUNT] = {
    ATTNZOO_HEADS_OPTIONS,
    [OPTION_ROTARY] =
        {"rotary", ATTNZOO_OPTION_CHOICE, "none", "none|interleaved|half_split",
         "turns projected queries and keys by their positions: columns 2i and 2i+1 of a head together, or "
         "i and i+R/2",
         ROTARY_NONE, ROTARY_NONE, ROTARY_HALF_SPLIT},
    [OPTION_ROTARY_SIZE] = {"rotary_size", ATTNZOO_OPTION_INT, "0", "0 (all of D), or an even number up to D",
                            "R, the first columns of each head that are turned", 0.0, 0.0, 0x1p31},
    [OPTION_ROTARY_BASE] = {"rotary_base", ATTNZOO_OPTION_FLOAT, "10000", "a positive normal number",
                            "pair i turns by base^(-2i/R) a position; not used with rotary_cos and rotary_sin", 10000.0,
                            FLT_MIN, FLT_MAX},
    [OPTION_MAX_DISTANCE] = {"relative_max_distance", ATTNZOO_OPTION_INT, "128", "1 to 2^31",
                             "the distance from which on relative_buckets has one bucket", 128.0, 1.0, 0x1p31},
    [OPTION_BIDIRECTIONAL] = {"relative_bidirectional", ATTNZOO_OPTION_BOOL, "true", "true or false",
                              "half of relative_buckets is for keys behind the query, or none", 1.0, 0.0, 1.0},
};

enum { ROTARY_COS = ATTNZOO_HEADS_PARAMETER_COUNT, ROTARY_SIN, RELATIVE_BUCKETS, SINK, PARAMETER_COUNT };

static const struct attnzoo_parameter_spec parameters[PARAMETER_COUNT] = {
    ATTNZOO_HEADS_PARAMETERS,
    [ROTARY_COS] = {"rotary_cos", "[..., P, R/2]",
                    "cosines by position, in place of rotary_base; [B, P, R/2]: one table a batch", 0, false},
    [ROTARY_SIN] = {"rotary_sin", "[..., P, R/2]", "sines, likewise", 0, false},
    [RELATIVE_BUCKETS] = {"relative_buckets", "[buckets, H]",
                          "added to the scores by the bucket that the distance is in, as T5 has it", 2, false},
    [SINK] = {"sink", "[H]", "a score that joins each softmax of its head and has no value", 1, false},
};

static const struct attnzoo_slot_spec inputs[] = {
    ATTNZOO_HEADS_INPUTS,
    [ATTNZOO_INPUT_QUERY_POSITIONS] = {"query_positions", "[B, N]",
                                       "where each query stands; [N] for all batches; for rotary alone", false, true},
    [ATTNZOO_INPUT_KEY_POSITIONS] = {"key_positions", "[B, M]",
                                     "where each key of the call stands; [M] for all batches; for rotary alone", false,
                                     true},
};

static const struct attnzoo_slot_spec outputs[] = {ATTNZOO_HEADS_OUTPUTS};
static const struct attnzoo_slot_spec state_fields[] = {ATTNZOO_HEADS_STATE_FIELDS};

struct prepared {
    struct attnzoo_heads heads;
    struct attnzoo_rotation rotation;
    struct attnzoo_distance_bias distance_bias;
    const float *sink;
    /* What the two above point to: [3, R/2]; [steps]; [H, steps]. */
    double *angles;
    int64_t *first_distances;
    float *step_values;
};

/* A table is [P, R/2] or [B, P, R/2]; both have one shape. */
static attnzoo_status check_table(const struct attnzoo_instance *instance, int32_t parameter, int64_t pairs)
{
    const struct attnzoo_view *view = &instance->parameters[parameter].view;
    const char *name = parameters[parameter].name;
    char shape[ATTNZOO_SHAPE_TEXT_SIZE], other[ATTNZOO_SHAPE_TEXT_SIZE];
    attnzoo_status status = attnzoo_shapes_check_rank(view, name, 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    attnzoo_base_shape_text(shape, view->rank, view->shape);
    if (view->shape[view->rank - 1] != pairs)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "%s has shape %s, must have R/2 = %" PRId64 " columns, as %" PRId64
                                 " of a head's are turned",
                                 name, shape, pairs, 2 * pairs);
    const struct attnzoo_view *cosines = &instance->parameters[ROTARY_COS].view;
    if (view->rank != cosines->rank ||
        memcmp(view->shape, cosines->shape, (size_t)view->rank * sizeof *view->shape) != 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has shape %s, must have that of rotary_cos, %s",
                                 name, shape, attnzoo_base_shape_text(other, cosines->rank, cosines->shape));
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status use_tables(const struct attnzoo_instance *instance, struct attnzoo_rotation *rotation)
{
    if (instance->options[OPTION_ROTARY_BASE].is_set)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "rotary_base is set, and so is rotary_cos, which takes its place");
    for (int32_t i = ROTARY_COS; i <= ROTARY_SIN; i++) {
        attnzoo_status status = check_table(instance, i, rotation->size / 2);
        if (status != ATTNZOO_STATUS_OK)
            return status;
    }
    const struct attnzoo_view *view = &instance->parameters[ROTARY_COS].view;
    rotation->cosines = instance->parameters[ROTARY_COS].data;
    rotation->sines = instance->parameters[ROTARY_SIN].data;
    rotation->table_batches = view->rank == 3 ? view->shape[0] : 1;
    rotation->table_rows = view->shape[view->rank - 2];
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status make_angles(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    struct attnzoo_rotation *rotation = &prepared->rotation;
    int64_t pairs = rotation->size / 2;
    prepared->angles = calloc((size_t)pairs + 1, 3 * sizeof *prepared->angles);
    if (prepared->angles == NULL)
        return attnzoo_base_fail_memory((uint64_t)pairs * 3 * sizeof *prepared->angles);
    double *steps = prepared->angles, *cosines = steps + pairs, *sines = cosines + pairs;
    attnzoo_rotary_fill_steps(instance->options[OPTION_ROTARY_BASE].number, rotation->size, steps, cosines, sines);
    rotation->steps = steps;
    rotation->step_cosines = cosines;
    rotation->step_sines = sines;
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status prepare_rotary(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    int kind = (int)instance->options[OPTION_ROTARY].number;
    int64_t head_size = prepared->heads.head_size, size = (int64_t)instance->options[OPTION_ROTARY_SIZE].number;
    for (int32_t i = ROTARY_COS; i <= ROTARY_SIN; i++)
        if (kind == ROTARY_NONE && attnzoo_shapes_is_set(instance, i))
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is set, but rotary=none does not have it",
                                     parameters[i].name);
    if (kind == ROTARY_NONE)
        return ATTNZOO_STATUS_OK;
    if (size > head_size)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "rotary_size is %" PRId64 ", must be at most D, the size of a head, which is %" PRId64,
                                 size, head_size);
    if (size == 0)
        size = head_size;
    if (size % 2 != 0)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "rotary turns pairs of columns, so rotary_size must be even; it is %" PRId64
                                 " of a head's %" PRId64,
                                 size, head_size);
    prepared->rotation = (struct attnzoo_rotation){.size = size, .is_interleaved = kind == ROTARY_INTERLEAVED};
    attnzoo_status status = attnzoo_shapes_check_pair(instance, ROTARY_COS, ROTARY_SIN);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_pair(instance, ROTARY_SIN, ROTARY_COS);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_shapes_is_set(instance, ROTARY_COS) ? use_tables(instance, &prepared->rotation)
                                                       : make_angles(instance, prepared);
}

/*
 * The bucket of a distance n >= 0 among so many, as in T5's published code: one each for the first half, then, for
 * x = half + log(n / half) / log(farthest / half) * (count - half), the floor of x, at most the last. x is computed in
 * float32, every operation rounded to nearest and the logarithm as well: at a distance where x is a whole number but
 * for rounding, that decides.
 */
static int64_t bucket_of(int64_t distance, int64_t count, int64_t farthest)
{
    int64_t half = count / 2;
    if (distance < half)
        return distance;
    float ratio = (float)((double)(float)distance / (double)half);
    float logarithm = (float)log((double)ratio);
    float share = (float)((double)logarithm / (double)(float)log((double)farthest / (double)half));
    float steps = (float)((double)share * (double)(count - half));
    return attnzoo_base_minimum(half + (int64_t)steps, count - 1);
}

/* The smallest distance whose bucket is at least this one. */
static int64_t first_distance(int64_t bucket, int64_t count, int64_t farthest)
{
    int64_t low = 0, high = farthest;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (bucket_of(middle, count, farthest) >= bucket)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/*
 * Distances are key less query: from afar before the query, bucket count - 1, through the query itself, bucket 0, and,
 * where there are buckets for it, to afar behind it: count + 1 to 2 count - 1. Elsewhere all behind count as 0.
 */
static void fill_steps(struct prepared *prepared, const float *buckets, int64_t count, int64_t farthest)
{
    struct attnzoo_distance_bias *bias = &prepared->distance_bias;
    int64_t heads = prepared->heads.head_count;
    for (int64_t step = 0; step < bias->step_count; step++) {
        int64_t bucket = step < count ? count - 1 - step : step + 1;
        int64_t first = step == 0 ? INT64_MIN : 1 - first_distance(bucket + 1, count, farthest);
        if (step >= count)
            first = first_distance(bucket - count, count, farthest);
        prepared->first_distances[step] = first;
        for (int64_t head = 0; head < heads; head++) {
            float value = buckets[bucket * heads + head];
            prepared->step_values[head * bias->step_count + step] = value;
            bias->may_hide |= value == -INFINITY;
        }
    }
    bias->first = prepared->first_distances;
    bias->values = prepared->step_values;
}

static attnzoo_status prepare_buckets(const struct attnzoo_instance *instance, struct prepared *prepared)
{
    const struct attnzoo_parameter_value *buckets = &instance->parameters[RELATIVE_BUCKETS];
    if (buckets->data == NULL)
        return ATTNZOO_STATUS_OK;
    bool is_bidirectional = instance->options[OPTION_BIDIRECTIONAL].number != 0.0;
    int64_t heads = prepared->heads.head_count, rows = buckets->view.shape[0];
    int64_t count = is_bidirectional ? rows / 2 : rows;
    int64_t farthest = (int64_t)instance->options[OPTION_MAX_DISTANCE].number;
    if (buckets->view.shape[1] != heads)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "relative_buckets has %" PRId64 " columns, but there are %" PRId64 " heads",
                                 buckets->view.shape[1], heads);
    if (count < 2)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "relative_buckets has %" PRId64 " rows, must have at least %d", rows,
                                 is_bidirectional ? 4 : 2);
    if (farthest <= count / 2)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                 "relative_max_distance is %" PRId64 ", must be above the %" PRId64
                                 " distances that have a bucket each",
                                 farthest, count / 2);
    int64_t steps = is_bidirectional ? 2 * count - 1 : count;
    prepared->distance_bias.step_count = steps;
    /* No more than the parameter has. */
    prepared->first_distances = calloc((size_t)steps, sizeof *prepared->first_distances);
    prepared->step_values = calloc((size_t)steps * (size_t)heads, sizeof *prepared->step_values);
    if (prepared->first_distances == NULL || prepared->step_values == NULL)
        return attnzoo_base_fail_memory((uint64_t)steps * ((uint64_t)heads * sizeof(float) + sizeof(int64_t)));
    fill_steps(prepared, buckets->data, count, farthest);
    return ATTNZOO_STATUS_OK;
}

static void release(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    attnzoo_heads_release(&prepared->heads);
    free(prepared->angles);
    free(prepared->first_distances);
    free(prepared->step_values);
}

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    struct prepared *prepared = instance->prepared;
    attnzoo_status status = attnzoo_heads_prepare(instance, &prepared->heads);
    if (status == ATTNZOO_STATUS_OK)
        status = prepare_rotary(instance, prepared);
    if (status == ATTNZOO_STATUS_OK)
        status = prepare_buckets(instance, prepared);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_shapes_check_parameter(instance, SINK, &prepared->heads.head_count);
    prepared->sink = instance->parameters[SINK].data;
    return status;
}

/* Reads positions [rows] or [B or 1, rows]; none is none. */
static attnzoo_status open_given(const struct attnzoo_view *view, const char *name, int64_t batches, int64_t rows,
                                 struct attnzoo_grid *given)
{
    char has[ATTNZOO_SHAPE_TEXT_SIZE], should[ATTNZOO_SHAPE_TEXT_SIZE];
    const int64_t size[] = {batches, rows};
    if (view == NULL)
        return ATTNZOO_STATUS_OK;
    attnzoo_status status = attnzoo_shapes_check_rank(view, name, 1, 2);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t own_batches = view->rank == 2 ? view->shape[0] : 1;
    if (view->shape[view->rank - 1] != rows || (own_batches != 1 && own_batches != batches))
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has shape %s, must have %s or [%" PRId64 "]", name,
                                 attnzoo_base_shape_text(has, view->rank, view->shape),
                                 attnzoo_base_shape_text(should, 2, size), rows);
    *given = attnzoo_grid_of(view);
    /* Rows lie along the last axis of the view, batches along the one before. */
    given->stride[ATTNZOO_BATCH] = own_batches == 1 ? 0 : given->stride[ATTNZOO_ROW];
    given->stride[ATTNZOO_ROW] = given->stride[ATTNZOO_COLUMN];
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status open_rotary(const struct prepared *prepared, struct attnzoo_heads_call *opened)
{
    const struct attnzoo_rotation *rotation = &prepared->rotation;
    int64_t batches = opened->query.size[ATTNZOO_BATCH];
    if (rotation->table_batches > 1 && rotation->table_batches != batches)
        return attnzoo_shapes_differ("batch sizes", "query", batches, "rotary_cos", rotation->table_batches);
    opened->rotation = rotation;
    opened->query_positions = (struct attnzoo_positions){.mask = &opened->problem.mask};
    opened->key_positions = (struct attnzoo_positions){.first = opened->past_count};
    attnzoo_status status = open_given(opened->call->inputs[ATTNZOO_INPUT_QUERY_POSITIONS], "query_positions", batches,
                                       opened->query.size[ATTNZOO_ROW], &opened->query_positions.given);
    if (status == ATTNZOO_STATUS_OK)
        status = open_given(opened->call->inputs[ATTNZOO_INPUT_KEY_POSITIONS], "key_positions", batches,
                            opened->key.size[ATTNZOO_ROW], &opened->key_positions.given);
    return status;
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    const struct prepared *prepared = instance->prepared;
    struct attnzoo_heads_call opened;
    attnzoo_status status = attnzoo_heads_open(&opened, instance, call);
    for (int32_t i = ATTNZOO_INPUT_QUERY_POSITIONS; i <= ATTNZOO_INPUT_KEY_POSITIONS && status == ATTNZOO_STATUS_OK;
         i++)
        if (call->inputs[i] != NULL && instance->options[OPTION_ROTARY].number == ROTARY_NONE)
            return attnzoo_base_fail(ATTNZOO_STATUS_UNSUPPORTED, "rotary=none takes no %s", inputs[i].name);
    if (status == ATTNZOO_STATUS_OK && instance->options[OPTION_ROTARY].number != ROTARY_NONE)
        status = open_rotary(prepared, &opened);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (prepared->distance_bias.step_count > 0)
        attnzoo_mask_add_distance_bias(&opened.problem.mask, &prepared->distance_bias);
    opened.problem.sinks = prepared->sink;
    return attnzoo_heads_run(&opened);
}

const struct attnzoo_mechanism attnzoo_mechanism_multi_head = {
    .name = "multi_head",
    .summary = "scaled dot-product attention in several projected heads, self or cross, with a key/value cache",
    .formula = "head_h = attention(Wq_h query, Wk_h key, Wv_h value), score = s q.k; context = Wo concat(head_h); "
               "rotary: q and k turned by their positions; relative_buckets: score + b_h[bucket(j - i)]; sink: "
               "exp(sink_h) more in the softmax's denominator",
    .source =
        "Vaswani et al. 2017, Attention Is All You Need, arXiv 1706.03762, section 3.2.2; rotary: Su et al. 2021, "
        "arXiv 2104.09864; relative_buckets: Raffel et al. 2020, arXiv 1910.10683; sink: Xiao et al. 2023, "
        "arXiv 2309.17453",
    .options = options,
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = OPTION_COUNT,
    .parameter_count = PARAMETER_COUNT,
    .input_count = sizeof inputs / sizeof *inputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .state_fields = state_fields,
    .state_field_count = sizeof state_fields / sizeof *state_fields,
    .state_is_cache = true,
    .prepared_bytes = sizeof(struct prepared),
    .prepare = prepare,
    .release = release,
    .output_shape = attnzoo_heads_output_shape,
    .state_layout = attnzoo_heads_state_layout,
    .forward = forward,
};
