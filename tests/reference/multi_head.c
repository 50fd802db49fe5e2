/*
 * tests/reference/multi_head.c: projections into heads, the reference of scaled dot-product attention between, heads
 * side by side, one more projection. How the bounds come about is in rounding.h.
 */
#include "reference/multi_head.h"

#include "reference/rounding.h"

#include <math.h>
#include <stdlib.h>

/* Numbers and how far a float32 computation of them may be off. */
struct bounded {
    double *value, *bound;
};

static struct bounded zeros(int64_t count)
{
    struct bounded result = {calloc((size_t)count + 1, sizeof(double)), calloc((size_t)count + 1, sizeof(double))};
    if (result.value == NULL || result.bound == NULL)
        abort();
    return result;
}

static void release(struct bounded *numbers)
{
    free(numbers->value);
    free(numbers->bound);
    *numbers = (struct bounded){0};
}

/* Item 7. bound may be NULL for an exact row. */
static void project_element(const struct reference_linear *linear, int64_t output, const double *row,
                            const double *bound, double *result, double *result_bound)
{
    const double *weight = linear->weight + output * linear->inputs;
    double bias = linear->bias != NULL ? linear->bias[output] : 0.0;
    double sum = bias;
    double magnitude = fabs(bias);
    double input_error = 0.0;
    for (int64_t e = 0; e < linear->inputs; e++) {
        double error = bound != NULL ? bound[e] : 0.0;
        sum += row[e] * weight[e];
        magnitude += (fabs(row[e]) + error) * fabs(weight[e]);
        input_error += error * fabs(weight[e]);
    }
    *result = sum;
    *result_bound = rounding_of_linear(linear->inputs, magnitude, input_error);
}

/* Rows [batch, rows, inputs] into heads [batch, heads, first + rows, size], behind first rows that are left alone. */
static void project_into_heads(const struct reference_linear *linear, const double *input, int64_t batch, int64_t rows,
                               int64_t heads, int64_t first, struct bounded *result)
{
    int64_t size = linear->outputs / heads;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t h = 0; h < heads; h++)
                for (int64_t d = 0; d < size; d++) {
                    int64_t place = ((b * heads + h) * (first + rows) + first + i) * size + d;
                    project_element(linear, h * size + d, input + (b * rows + i) * linear->inputs, NULL,
                                    result->value + place, result->bound + place);
                }
}

/* Cosine or sine of a pair, and how far off it may be beside its rounding. */
static double turn_of(const struct reference_rotary *rotary, bool is_sine, int64_t batch, double position, int64_t pair,
                      double *error)
{
    *error = 0.0;
    if (rotary->cosines != NULL) {
        int64_t table = rotary->table_batch > 1 ? batch : 0;
        /* Outside stand only queries that see nothing. */
        if (position < 0.0 || position >= (double)rotary->table_rows)
            return 0.0;
        int64_t place = (table * rotary->table_rows + (int64_t)position) * (rotary->size / 2) + pair;
        return is_sine ? rotary->sines[place] : rotary->cosines[place];
    }
    double angle = position * pow(rotary->base, -2.0 * (double)pair / (double)rotary->size);
    *error = fabs(angle) * 0x1p-50 + 0x1p-45;
    return is_sine ? sin(angle) : cos(angle);
}

/* Item 10a, of the pair at places a and b. */
static void turn_pair(const struct bounded *rows, int64_t a, int64_t b, double cosine, double sine, double error)
{
    double x = rows->value[a], y = rows->value[b], e = rows->bound[a], f = rows->bound[b];
    double plain = fabs(x) + fabs(y) + e + f;
    rows->value[a] = x * cosine - y * sine;
    rows->value[b] = x * sine + y * cosine;
    rows->bound[a] = rounding_of_turn((fabs(x) + e) * fabs(cosine) + (fabs(y) + f) * fabs(sine), plain,
                                      e * fabs(cosine) + f * fabs(sine), error);
    rows->bound[b] = rounding_of_turn((fabs(x) + e) * fabs(sine) + (fabs(y) + f) * fabs(cosine), plain,
                                      e * fabs(sine) + f * fabs(cosine), error);
}

/* The row of so many columns that begins at a place. */
static void turn_row(const struct reference_rotary *rotary, const struct bounded *rows, int64_t first, int64_t batch,
                     double position)
{
    for (int64_t pair = 0; pair < rotary->size / 2; pair++) {
        double error, sine_error;
        double cosine = turn_of(rotary, false, batch, position, pair, &error);
        double sine = turn_of(rotary, true, batch, position, pair, &sine_error);
        int64_t a = first + (rotary->is_interleaved ? 2 * pair : pair);
        turn_pair(rows, a, rotary->is_interleaved ? a + 1 : a + rotary->size / 2, cosine, sine, error);
    }
}

static void turn_queries(const struct reference_multi_head *problem, const struct bounded *query)
{
    const struct reference_problem *core = &problem->core;
    const struct reference_rotary *rotary = &problem->rotary;
    for (int64_t row = 0; rotary->is_on && row < core->batch * core->heads * core->queries; row++) {
        int64_t batch = row / core->queries / core->heads, i = row % core->queries;
        double position = (double)reference_position(core, batch, i);
        if (rotary->query_positions != NULL)
            position = rotary->query_positions[(rotary->query_position_batch > 1 ? batch * core->queries : 0) + i];
        turn_row(rotary, query, row * core->head_size, batch, position);
    }
}

/* The keys behind the past ones. */
static void turn_keys(const struct reference_multi_head *problem, const struct bounded *key)
{
    const struct reference_problem *core = &problem->core;
    const struct reference_rotary *rotary = &problem->rotary;
    int64_t own = core->keys - problem->past;
    for (int64_t row = 0; rotary->is_on && row < core->batch * core->key_heads * own; row++) {
        int64_t batch = row / own / core->key_heads, j = row % own;
        double position = (double)(problem->past + j);
        if (rotary->key_positions != NULL)
            position = rotary->key_positions[(rotary->key_position_batch > 1 ? batch * own : 0) + j];
        turn_row(rotary, key, (row / own * core->keys + problem->past + j) * core->head_size, batch, position);
    }
}

/* What a cache held goes in front of what the call brings; what lies beyond a key length is zeros there. */
static struct bounded keep(const struct reference_multi_head *problem, const struct reference_linear *linear,
                           const double *input, const double *past, bool is_turned)
{
    const struct reference_problem *core = &problem->core;
    int64_t heads = core->key_heads;
    int64_t size = linear->outputs / heads;
    struct bounded result = zeros(core->batch * heads * core->keys * size);
    project_into_heads(linear, input, core->batch, core->keys - problem->past, heads, problem->past, &result);
    if (is_turned)
        turn_keys(problem, &result);
    for (int64_t row = 0; row < core->batch * heads; row++) {
        int64_t length = core->key_lengths != NULL ? (int64_t)core->key_lengths[row / heads] : core->keys;
        for (int64_t j = 0; j < core->keys; j++)
            for (int64_t d = 0; d < size; d++) {
                int64_t place = (row * core->keys + j) * size + d;
                if (j < problem->past)
                    result.value[place] = past[(row * problem->past + j) * size + d];
                else if (problem->is_cached && j >= length)
                    result.value[place] = result.bound[place] = 0.0;
            }
    }
    return result;
}

/* query + bias, one bias [H, D] for all batches and queries. */
static struct bounded add_head_bias(const struct reference_problem *core, const struct bounded *query,
                                    const double *bias)
{
    int64_t count = core->batch * core->heads * core->queries * core->head_size;
    struct bounded result = zeros(count);
    for (int64_t i = 0; i < count; i++) {
        int64_t head = i / (core->queries * core->head_size) % core->heads;
        double b = bias != NULL ? bias[head * core->head_size + i % core->head_size] : 0.0;
        double error = query->bound[i];
        result.value[i] = query->value[i] + b;
        result.bound[i] =
            error + (bias != NULL ? rounding_gamma(1.0) * (fabs(query->value[i]) + fabs(b) + error) : 0.0);
    }
    return result;
}

/* Table row p stands for the distance M - 1 - p from query to key, so p - (M - 1) from key to query. */
static struct bounded set_positions(const struct reference_multi_head *problem, const struct bounded *with_v,
                                    struct reference_problem *core)
{
    int64_t rows = problem->position_rows;
    int64_t head_stride = rows * core->head_size;
    struct bounded table = zeros(problem->position_batch * core->heads * head_stride);
    project_into_heads(&problem->pos_proj, problem->position, problem->position_batch, rows, core->heads, 0, &table);
    core->distances = (struct reference_distances){
        .lowest = 1 - core->keys,
        .highest = rows - core->keys,
        .query = with_v->value,
        .query_error = with_v->bound,
        .key = table.value,
        .key_error = table.bound,
        .key_strides = {problem->position_batch > 1 ? core->heads * head_stride : 0, head_stride}};
    return table;
}

static void set_clipped_distances(const struct reference_multi_head *problem, const struct bounded *query,
                                  struct reference_problem *core)
{
    core->distances = (struct reference_distances){.lowest = -problem->farthest,
                                                   .highest = problem->farthest,
                                                   .query = query->value,
                                                   .query_error = query->bound,
                                                   .key = problem->relative_key,
                                                   .value = problem->relative_value};
}

static struct reference_result attend(const struct reference_multi_head *problem, const struct bounded *key,
                                      const struct bounded *value)
{
    struct reference_problem core = problem->core;
    struct bounded query = zeros(core.batch * core.heads * core.queries * core.head_size);
    project_into_heads(&problem->query_proj, problem->query, core.batch, core.queries, core.heads, 0, &query);
    turn_queries(problem, &query);
    struct bounded with_u = add_head_bias(&core, &query, problem->u_bias);
    struct bounded with_v = add_head_bias(&core, &query, problem->v_bias);
    struct bounded table = {0};
    if (problem->flavor == REFERENCE_TRANSFORMER_XL)
        table = set_positions(problem, &with_v, &core);
    if (problem->flavor == REFERENCE_SHAW)
        set_clipped_distances(problem, &query, &core);
    core.query = with_u.value;
    core.query_error = with_u.bound;
    core.key = key->value;
    core.key_error = key->bound;
    core.value = value->value;
    core.value_error = value->bound;
    struct reference_result result = reference_compute(&core);
    release(&query);
    release(&with_u);
    release(&with_v);
    release(&table);
    return result;
}

/* [B, H, N, Dv] to [B, N, H Dv], then through out_proj. */
static struct bounded merge_heads(const struct reference_multi_head *problem, const struct reference_result *heads)
{
    const struct reference_problem *core = &problem->core;
    int64_t width = core->heads * core->value_size;
    int64_t rows = core->batch * core->queries;
    struct bounded merged = zeros(rows * width);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < width; column++) {
            int64_t head = row / core->queries * core->heads + column / core->value_size;
            int64_t from = (head * core->queries + row % core->queries) * core->value_size + column % core->value_size;
            merged.value[row * width + column] = heads->context[from];
            merged.bound[row * width + column] = heads->context_bound[from];
        }
    const struct reference_linear *linear = &problem->out_proj;
    if (linear->weight == NULL)
        return merged;
    struct bounded result = zeros(rows * linear->outputs);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t e = 0; e < linear->outputs; e++)
            project_element(linear, e, merged.value + row * width, merged.bound + row * width,
                            result.value + row * linear->outputs + e, result.bound + row * linear->outputs + e);
    release(&merged);
    return result;
}

static struct bounded average_heads(const struct reference_problem *core, const struct reference_result *heads)
{
    int64_t matrix = core->queries * core->keys;
    struct bounded result = zeros(core->batch * matrix);
    double heads_count = (double)core->heads;
    for (int64_t i = 0; i < core->batch * matrix; i++) {
        double sum = 0.0;
        double bounds = 0.0;
        for (int64_t h = 0; h < core->heads; h++) {
            int64_t from = (i / matrix * core->heads + h) * matrix + i % matrix;
            sum += heads->attention[from];
            bounds += heads->attention_bound[from];
        }
        result.value[i] = sum / heads_count;
        result.bound[i] = sum == 0.0 && bounds == 0.0
                              ? 0.0
                              : rounding_of_average(core->heads, sum / heads_count, bounds / heads_count);
    }
    return result;
}

struct reference_multi_head_result reference_multi_head_compute(const struct reference_multi_head *problem)
{
    struct bounded key = keep(problem, &problem->key_proj, problem->key, problem->past_key, true);
    struct bounded value = keep(problem, &problem->value_proj, problem->value, problem->past_value, false);
    struct reference_result heads = attend(problem, &key, &value);
    struct bounded context = merge_heads(problem, &heads);
    struct bounded attention = {heads.attention, heads.attention_bound};
    heads.attention = heads.attention_bound = NULL;
    if (problem->averages_heads) {
        heads.attention = attention.value;
        heads.attention_bound = attention.bound;
        attention = average_heads(&problem->core, &heads);
    }
    reference_result_destroy(&heads);
    return (struct reference_multi_head_result){.context = context.value,
                                                .context_bound = context.bound,
                                                .attention = attention.value,
                                                .attention_bound = attention.bound,
                                                .key = key.value,
                                                .key_bound = key.bound,
                                                .value = value.value,
                                                .value_bound = value.bound};
}

void reference_multi_head_result_destroy(struct reference_multi_head_result *result)
{
    free(result->context);
    free(result->context_bound);
    free(result->attention);
    free(result->attention_bound);
    free(result->key);
    free(result->key_bound);
    free(result->value);
    free(result->value_bound);
    *result = (struct reference_multi_head_result){0};
}
