/*
 * tests/reference/row.c: the softmax of one row and the sum of values by it, with their bounds.
 */
#include "reference/row.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double *reference_zeros(int64_t count)
{
    double *memory = calloc((size_t)count + 1, sizeof *memory);
    if (memory == NULL)
        abort();
    return memory;
}

struct reference_row reference_row_create(int64_t keys)
{
    struct reference_row row = {.keys = keys,
                                .seen = calloc((size_t)keys + 1, sizeof(bool)),
                                .score = reference_zeros(keys),
                                .score_error = reference_zeros(keys),
                                .weight = reference_zeros(keys),
                                .weight_error = reference_zeros(keys)};
    if (row.seen == NULL)
        abort();
    return row;
}

void reference_row_destroy(struct reference_row *row)
{
    free(row->seen);
    free(row->score);
    free(row->score_error);
    free(row->weight);
    free(row->weight_error);
    *row = (struct reference_row){0};
}

void reference_row_clear(struct reference_row *row)
{
    memset(row->seen, 0, (size_t)row->keys * sizeof *row->seen);
    memset(row->weight, 0, (size_t)row->keys * sizeof *row->weight);
    memset(row->weight_error, 0, (size_t)row->keys * sizeof *row->weight_error);
    row->sees_anything = false;
    row->is_nan = false;
    row->rounding = (struct row_rounding){0};
}

void reference_row_add(struct reference_row *row, const struct reference_problem *mask, int64_t batch, int64_t head,
                       int64_t query, int64_t key, double score, double error)
{
    double dense = reference_dense_bias(mask, batch, head, query, key);
    double linear = reference_linear_bias(mask, batch, head, query, key);
    double sum = score + dense + linear;
    row->seen[key] = true;
    row->sees_anything = true;
    row->is_nan = row->is_nan || isnan(sum) || sum > FLT_MAX;
    row->score[key] = sum < -FLT_MAX ? -FLT_MAX : sum;
    row->score_error[key] = error + rounding_of_biases(fabs(score) + error, dense, linear);
}

void reference_row_log_sigmoids(struct reference_row *row)
{
    for (int64_t j = 0; j < row->keys; j++) {
        if (!row->seen[j])
            continue;
        double score = row->score[j];
        double result = score < 0.0 ? score - log1p(exp(score)) : -log1p(exp(-score));
        row->score_error[j] = rounding_of_log_sigmoid(score, result, row->score_error[j]);
        row->score[j] = result;
    }
}

static double maximum_of(const struct reference_row *row)
{
    double maximum = -INFINITY;
    for (int64_t j = 0; j < row->keys; j++)
        if (row->seen[j])
            maximum = fmax(maximum, row->score[j]);
    return maximum;
}

static void fill_with_nan(struct reference_row *row)
{
    for (int64_t j = 0; j < row->keys; j++)
        row->weight[j] = NAN;
}

void reference_row_normalise(struct reference_row *row)
{
    if (!row->sees_anything)
        return;
    if (row->is_nan) {
        fill_with_nan(row);
        return;
    }
    double maximum = maximum_of(row);
    double sum = 0.0;
    double errors = 0.0;
    int64_t seen_count = 0;
    for (int64_t j = 0; j < row->keys; j++) {
        if (!row->seen[j])
            continue;
        row->weight[j] = exp(row->score[j] - maximum);
        row->weight_error[j] = rounding_of_weight(row->score[j] - maximum, row->score_error[j], row->keys);
        sum += row->weight[j];
        errors += row->weight_error[j];
        seen_count++;
    }
    row->rounding = rounding_of_sum(seen_count, sum, errors);
    for (int64_t j = 0; j < row->keys; j++) {
        if (!row->seen[j])
            continue;
        row->weight_error[j] = rounding_of_attention(&row->rounding, row->weight[j], row->weight_error[j]);
        row->weight[j] /= sum;
    }
}

/* Column d of the context. */
static void sum_column(const struct reference_row *row, const double *value, const double *value_error, int64_t step,
                       double *context, double *bound)
{
    double sum = 0.0;
    double magnitude = 0.0;
    double errors = 0.0;
    for (int64_t j = 0; j < row->keys; j++) {
        if (!row->seen[j])
            continue;
        double v = value[j * step];
        double v_error = value_error[j * step];
        sum += row->weight[j] * v;
        magnitude += row->weight[j] * (fabs(v) + v_error);
        errors += row->weight[j] * v_error;
        errors += fabs(v) + v_error > 0.0 ? row->weight_error[j] * (fabs(v) + v_error) : 0.0;
    }
    *context = sum;
    *bound = rounding_of_context(&row->rounding, errors, magnitude);
}

void reference_row_context(const struct reference_row *row, const double *value, const double *value_error,
                           int64_t step, int64_t columns, double *context, double *bound)
{
    for (int64_t d = 0; d < columns; d++) {
        context[d] = row->is_nan && row->sees_anything ? (double)NAN : 0.0;
        bound[d] = 0.0;
        if (row->sees_anything && !row->is_nan)
            sum_column(row, value + d, value_error + d, step, &context[d], &bound[d]);
    }
}
