/*
 * tests/reference/scaled_dot_product.c: attention by its definition, one row after another. How the bounds come about
 * is in rounding.h.
 */
#include "reference/scaled_dot_product.h"

#include "reference/rounding.h"

#include <attnzoo/mask.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

static double dense_at(const struct reference_dense *dense, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    const int64_t *strides = dense->strides;
    return dense->values[batch * strides[0] + head * strides[1] + query * strides[2] + key * strides[3]];
}

static int64_t length_or(const double *lengths, int64_t batch, int64_t fallback)
{
    return lengths != NULL ? (int64_t)lengths[batch] : fallback;
}

int64_t reference_position(const struct reference_problem *problem, int64_t batch, int64_t query)
{
    if (problem->offsets != NULL)
        return (int64_t)problem->offsets[batch] + query;
    if (problem->alignment == ATTNZOO_ALIGNMENT_TOP_LEFT)
        return query;
    if (problem->alignment == ATTNZOO_ALIGNMENT_BOTTOM_RIGHT)
        return problem->keys - problem->queries + query;
    return length_or(problem->key_lengths, batch, problem->keys) -
           length_or(problem->query_lengths, batch, problem->queries) + query;
}

bool reference_sees(const struct reference_problem *problem, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    int64_t position = reference_position(problem, batch, query);
    if (query >= length_or(problem->query_lengths, batch, problem->queries))
        return false;
    if (key >= length_or(problem->key_lengths, batch, problem->keys))
        return false;
    if (problem->causal && key > position)
        return false;
    /* In double, where limits as large as an int64_t holds cannot overflow. */
    double distance = (double)key - (double)position;
    if (problem->window_left >= 0 && distance < -(double)problem->window_left)
        return false;
    if (problem->window_right >= 0 && distance > (double)problem->window_right)
        return false;
    if (problem->boolean.values != NULL && dense_at(&problem->boolean, batch, head, query, key) == 0.0)
        return false;
    if (problem->bias.values != NULL && dense_at(&problem->bias, batch, head, query, key) == -INFINITY)
        return false;
    if (problem->segments != NULL) {
        const double *ids = problem->segments + batch * problem->keys;
        return ids[key] == ids[position];
    }
    return true;
}

double reference_dense_bias(const struct reference_problem *problem, int64_t batch, int64_t head, int64_t query,
                            int64_t key)
{
    return problem->bias.values != NULL ? dense_at(&problem->bias, batch, head, query, key) : 0.0;
}

double reference_linear_bias(const struct reference_problem *problem, int64_t batch, int64_t head, int64_t query,
                             int64_t key)
{
    if (problem->slopes == NULL)
        return 0.0;
    return -problem->slopes[head] * (double)llabs(reference_position(problem, batch, query) - key);
}

/* _relative_position_bucket of T5's code, line by line, with float32 where that has it. */
int64_t reference_bucket(const struct reference_buckets *buckets, int64_t relative_position)
{
    int64_t result = 0;
    int64_t n = -relative_position;
    int64_t count = buckets->count;
    if (buckets->is_bidirectional) {
        count /= 2;
        result += n < 0 ? count : 0;
        n = llabs(n);
    } else if (n < 0) {
        n = 0;
    }
    int64_t max_exact = count / 2;
    if (n < max_exact)
        return result + n;
    float logarithm = logf((float)n / (float)max_exact);
    float all = (float)log((double)buckets->max_distance / (double)max_exact);
    int64_t large = max_exact + (int64_t)(logarithm / all * (float)(count - max_exact));
    return result + (large < count - 1 ? large : count - 1);
}

static double bucket_bias(const struct reference_problem *problem, int64_t batch, int64_t head, int64_t query,
                          int64_t key)
{
    if (problem->buckets.table == NULL)
        return 0.0;
    int64_t bucket = reference_bucket(&problem->buckets, key - reference_position(problem, batch, query));
    return problem->buckets.table[bucket * problem->heads + head];
}

/* One query against all keys: per key whether it is seen, its score and its weight, each with its bound. */
struct row {
    bool *seen;
    double *score, *score_error;
    double *weight, *weight_error;
    double *value_magnitude; /* room for value_size numbers */
    double maximum;          /* the sink's score counts */
    double sink;             /* -infinity for none */
    bool sees_anything, is_nan;
};

/* The row of the tables that stands for a pair's distance. */
static int64_t distance_row(const struct reference_problem *problem, int64_t query, int64_t key)
{
    const struct reference_distances *distances = &problem->distances;
    int64_t distance = key - query - (problem->keys - problem->queries);
    if (distance < distances->lowest)
        distance = distances->lowest;
    if (distance > distances->highest)
        distance = distances->highest;
    return distance - distances->lowest;
}

static double error_at(const double *errors, int64_t index)
{
    return errors != NULL ? errors[index] : 0.0;
}

/* Adds the terms of a . b, size numbers from the two indices on, to the parts. */
static void add_product(struct score_parts *parts, const double *a, const double *a_error, int64_t a_index,
                        const double *b, const double *b_error, int64_t b_index, int64_t size)
{
    parts->terms += size;
    for (int64_t d = 0; d < size; d++) {
        double x = a[a_index + d];
        double y = b[b_index + d];
        double e = error_at(a_error, a_index + d);
        double f = error_at(b_error, b_index + d);
        parts->product += x * y;
        parts->product_magnitude += (fabs(x) + e) * (fabs(y) + f);
        parts->product_error += e * fabs(y) + fabs(x) * f + e * f;
    }
}

static struct score_parts score_products(const struct reference_problem *problem, int64_t batch, int64_t head,
                                         int64_t query, int64_t key)
{
    int64_t size = problem->head_size;
    int64_t key_head = head / (problem->heads / problem->key_heads);
    int64_t query_index = ((batch * problem->heads + head) * problem->queries + query) * size;
    int64_t key_index = ((batch * problem->key_heads + key_head) * problem->keys + key) * size;
    const struct reference_distances *distances = &problem->distances;
    struct score_parts parts = {.softcap = problem->softcap};
    add_product(&parts, problem->query, problem->query_error, query_index, problem->key, problem->key_error, key_index,
                size);
    if (distances->query != NULL) {
        int64_t row_index = batch * distances->key_strides[0] + head * distances->key_strides[1] +
                            distance_row(problem, query, key) * size;
        add_product(&parts, distances->query, distances->query_error, query_index, distances->key, distances->key_error,
                    row_index, size);
    }
    /* Without a head size there is nothing to scale, and 1/sqrt(D) is infinite. */
    double scale = size > 0 ? problem->scale : 0.0;
    parts.product *= scale;
    parts.product_magnitude *= fabs(scale);
    parts.product_error *= fabs(scale);
    return parts;
}

static void score_key(const struct reference_problem *problem, struct row *row, int64_t batch, int64_t head,
                      int64_t query, int64_t key)
{
    struct score_parts parts = score_products(problem, batch, head, query, key);
    parts.capped = problem->softcap > 0.0 ? problem->softcap * tanh(parts.product / problem->softcap) : parts.product;
    parts.dense_bias = reference_dense_bias(problem, batch, head, query, key);
    parts.linear_bias = reference_linear_bias(problem, batch, head, query, key);
    parts.bucket_bias = bucket_bias(problem, batch, head, query, key);
    double score = parts.capped + parts.dense_bias + parts.linear_bias + parts.bucket_bias;
    row->score[key] = score < -FLT_MAX ? -FLT_MAX : score;
    row->score_error[key] = rounding_of_score(&parts);
}

static void score_row(const struct reference_problem *problem, struct row *row, int64_t batch, int64_t head,
                      int64_t query)
{
    row->sink = problem->sinks != NULL ? problem->sinks[head] : -INFINITY;
    row->maximum = row->sink;
    row->sees_anything = false;
    row->is_nan = isnan(row->sink) || row->sink > FLT_MAX;
    for (int64_t j = 0; j < problem->keys; j++) {
        row->seen[j] = reference_sees(problem, batch, head, query, j);
        if (!row->seen[j])
            continue;
        score_key(problem, row, batch, head, query, j);
        row->sees_anything = true;
        row->is_nan = row->is_nan || isnan(row->score[j]) || row->score[j] > FLT_MAX;
        row->maximum = fmax(row->maximum, row->score[j]);
    }
}

/* Turns scores into attention, kept in weight and weight_error; returns what the sum of the weights was. */
static struct row_rounding normalise_row(struct row *row, int64_t keys)
{
    double sum = 0.0;
    double errors = 0.0;
    int64_t seen_count = 0;
    bool has_sink = row->sink > -INFINITY;
    /* One more time that the maximum may rise is as many keys more as there are to a tile. */
    int64_t counted_keys = keys + (has_sink ? 16 : 0);
    if (has_sink) {
        sum = exp(row->sink - row->maximum);
        errors = rounding_of_weight(row->sink - row->maximum, 0.0, counted_keys);
        seen_count = 1;
    }
    for (int64_t j = 0; j < keys; j++) {
        row->weight[j] = row->seen[j] ? exp(row->score[j] - row->maximum) : 0.0;
        row->weight_error[j] = 0.0;
        if (row->seen[j])
            row->weight_error[j] = rounding_of_weight(row->score[j] - row->maximum, row->score_error[j], counted_keys);
        sum += row->weight[j];
        errors += row->weight_error[j];
        seen_count += row->seen[j];
    }
    struct row_rounding rounding = rounding_of_sum(seen_count, sum, errors);
    for (int64_t j = 0; j < keys; j++) {
        if (!row->seen[j])
            continue;
        row->weight_error[j] = rounding_of_attention(&rounding, row->weight[j], row->weight_error[j]);
        row->weight[j] /= sum;
    }
    return rounding;
}

/* context and bound come as zeros; value_index is where the values of the row's batch and head begin. */
static void write_context(const struct reference_problem *problem, const struct row *row,
                          const struct row_rounding *rounding, int64_t query, int64_t value_index, double *context,
                          double *bound)
{
    int64_t size = problem->value_size;
    const double *by_distance = problem->distances.value;
    double *magnitude = row->value_magnitude;
    for (int64_t d = 0; d < size; d++)
        magnitude[d] = 0.0;
    for (int64_t j = 0; j < problem->keys; j++) {
        if (!row->seen[j])
            continue;
        int64_t distance = by_distance != NULL ? distance_row(problem, query, j) : 0;
        for (int64_t d = 0; d < size; d++) {
            double v = problem->value[value_index + j * size + d];
            double error = error_at(problem->value_error, value_index + j * size + d);
            double r = by_distance != NULL ? by_distance[distance * size + d] : 0.0;
            double v_magnitude = fabs(v) + fabs(r) + error;
            context[d] += row->weight[j] * (v + r);
            magnitude[d] += row->weight[j] * v_magnitude;
            bound[d] += v_magnitude != 0.0 ? row->weight_error[j] * v_magnitude + row->weight[j] * error : 0.0;
        }
    }
    struct row_rounding counted = *rounding;
    counted.keys *= by_distance != NULL ? 2 : 1;
    for (int64_t d = 0; d < size; d++)
        bound[d] = rounding_of_context(&counted, bound[d], magnitude[d]);
}

static void compute_row(const struct reference_problem *problem, struct row *row, struct reference_result *result,
                        int64_t batch, int64_t head, int64_t query)
{
    int64_t keys = problem->keys;
    int64_t value_size = problem->value_size;
    int64_t index = (batch * problem->heads + head) * problem->queries + query;
    int64_t key_head = head / (problem->heads / problem->key_heads);
    score_row(problem, row, batch, head, query);
    result->log_sum_exp[index] = -INFINITY;
    if (!row->sees_anything)
        return;
    struct row_rounding rounding = {0};
    if (!row->is_nan) {
        rounding = normalise_row(row, keys);
        int64_t value_index = (batch * problem->key_heads + key_head) * keys * value_size;
        write_context(problem, row, &rounding, query, value_index, result->context + index * value_size,
                      result->context_bound + index * value_size);
    }
    for (int64_t d = 0; d < value_size && row->is_nan; d++)
        result->context[index * value_size + d] = NAN;
    for (int64_t j = 0; j < keys; j++) {
        result->attention[index * keys + j] = row->is_nan ? (double)NAN : row->weight[j];
        result->attention_bound[index * keys + j] = row->is_nan ? 0.0 : row->weight_error[j];
    }
    result->log_sum_exp[index] = row->is_nan ? (double)NAN : row->maximum + log(rounding.sum);
    result->log_sum_exp_bound[index] = row->is_nan ? 0.0 : rounding_of_log_sum_exp(&rounding, row->maximum);
}

static void *zeros(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    if (memory == NULL)
        abort();
    return memory;
}

static void compute_rows(const struct reference_problem *problem, struct row *row, struct reference_result *result)
{
    for (int64_t b = 0; b < problem->batch; b++)
        for (int64_t h = 0; h < problem->heads; h++)
            for (int64_t i = 0; i < problem->queries; i++)
                compute_row(problem, row, result, b, h, i);
}

struct reference_result reference_compute(const struct reference_problem *problem)
{
    int64_t rows = problem->batch * problem->heads * problem->queries;
    int64_t keys = problem->keys;
    struct reference_result result = {
        .context = zeros(rows * problem->value_size, sizeof(double)),
        .context_bound = zeros(rows * problem->value_size, sizeof(double)),
        .attention = zeros(rows * keys, sizeof(double)),
        .attention_bound = zeros(rows * keys, sizeof(double)),
        .log_sum_exp = zeros(rows, sizeof(double)),
        .log_sum_exp_bound = zeros(rows, sizeof(double)),
    };
    struct row row = {
        .seen = zeros(keys, sizeof(bool)),
        .score = zeros(keys, sizeof(double)),
        .score_error = zeros(keys, sizeof(double)),
        .weight = zeros(keys, sizeof(double)),
        .weight_error = zeros(keys, sizeof(double)),
        .value_magnitude = zeros(problem->value_size, sizeof(double)),
    };
    compute_rows(problem, &row, &result);
    free(row.seen);
    free(row.score);
    free(row.score_error);
    free(row.weight);
    free(row.weight_error);
    free(row.value_magnitude);
    return result;
}

void reference_result_destroy(struct reference_result *result)
{
    free(result->context);
    free(result->context_bound);
    free(result->attention);
    free(result->attention_bound);
    free(result->log_sum_exp);
    free(result->log_sum_exp_bound);
    *result = (struct reference_result){0};
}
