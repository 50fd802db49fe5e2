/*
 * tests/reference/customizing.c: the mechanism by its definition, step by step.
 */
#include "reference/customizing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One computation: what it is asked, and room for one head's step. */
struct steps {
    const struct reference_customizing *problem;
    struct reference_bounded query, value; /* [B, N, H D], [B, M, H D] */
    struct reference_alignment *carried;
    struct reference_bounded x; /* [M, D] */
    struct reference_row row;
};

static int64_t place_of(const struct steps *steps, int64_t batch, int64_t head)
{
    const struct reference_problem *mask = &steps->problem->mask;
    return (batch * mask->heads + head) * mask->keys;
}

/* alpha_0 of one batch and head. */
static void start(const struct steps *steps, int64_t batch, int64_t head)
{
    const struct reference_problem *mask = &steps->problem->mask;
    enum reference_initial initial = steps->problem->initial;
    double *alpha = steps->carried->alignment.value + place_of(steps, batch, head);
    double *error = steps->carried->alignment.bound + place_of(steps, batch, head);
    double count = 0.0;
    for (int64_t j = 0; j < mask->keys; j++)
        count += reference_sees(mask, batch, head, 0, j);
    for (int64_t j = 0; j < mask->keys; j++) {
        bool is_chosen = initial == REFERENCE_UNIFORM || (initial == REFERENCE_FIRST && j == 0);
        is_chosen = is_chosen && reference_sees(mask, batch, head, 0, j);
        alpha[j] = !is_chosen ? 0.0 : initial == REFERENCE_UNIFORM ? 1.0 / count : 1.0;
        error[j] = is_chosen && initial == REFERENCE_UNIFORM ? rounding_of_share(alpha[j]) : 0.0;
    }
}

/* One filter at one key: its value, the magnitude of its parts, and what comes of errors of the alignment. */
struct feature {
    double value, magnitude, alignment_part;
};

static struct feature convolve(const struct steps *steps, int64_t batch, int64_t head, int64_t filter, int64_t key)
{
    const struct reference_customizing *problem = steps->problem;
    const double *lengths = problem->mask.key_lengths, *weight = problem->conv_weight + filter * problem->width;
    int64_t length = lengths != NULL ? (int64_t)lengths[batch] : problem->mask.keys;
    double bias = problem->conv_bias != NULL ? problem->conv_bias[filter] : 0.0;
    struct feature feature = {bias, fabs(bias), 0.0};
    for (int64_t w = 0; w < problem->width; w++) {
        int64_t j = key + w - (problem->width - 1) / 2;
        if (j < 0 || j >= length)
            continue;
        double value = steps->carried->alignment.value[place_of(steps, batch, head) + j];
        double error = steps->carried->alignment.bound[place_of(steps, batch, head) + j];
        feature.value += weight[w] * value;
        feature.magnitude += fabs(weight[w]) * (fabs(value) + error);
        feature.alignment_part += fabs(weight[w]) * error;
    }
    return feature;
}

/* x of one key: item 23. */
static void locate(const struct steps *steps, int64_t batch, int64_t head, int64_t key, struct feature *features)
{
    const struct reference_customizing *problem = steps->problem;
    const struct reference_problem *mask = &problem->mask;
    int64_t size = mask->head_size;
    for (int64_t f = 0; f < problem->filters; f++)
        features[f] = convolve(steps, batch, head, f, key);
    for (int64_t d = 0; d < size; d++) {
        int64_t place = ((batch * mask->keys + key) * mask->heads + head) * size + d;
        double p = steps->value.value[place], p_error = steps->value.bound[place];
        struct feature sum = {0.0, 0.0, 0.0};
        for (int64_t f = 0; f < problem->filters; f++) {
            double weight = problem->proj_weight[d * problem->filters + f];
            sum.value += weight * features[f].value;
            sum.magnitude += fabs(weight) * features[f].magnitude;
            sum.alignment_part += fabs(weight) * features[f].alignment_part;
        }
        double error =
            rounding_of_location(problem->filters, problem->width, sum.magnitude, sum.alignment_part) + p_error;
        steps->x.value[key * size + d] = p + sum.value;
        steps->x.bound[key * size + d] = error + rounding_gamma(2.0) * (fabs(p) + fabs(sum.value) + error);
    }
}

static void score(struct steps *steps, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    const struct reference_problem *mask = &steps->problem->mask;
    int64_t size = mask->head_size, place = ((batch * mask->queries + query) * mask->heads + head) * size;
    double scale = steps->problem->scale;
    struct score_parts parts = {.terms = size};
    for (int64_t d = 0; d < size; d++) {
        double q = steps->query.value[place + d], e = steps->query.bound[place + d];
        double x = steps->x.value[key * size + d], f = steps->x.bound[key * size + d];
        parts.product += scale * q * x;
        parts.product_magnitude += fabs(scale) * (fabs(q) + e) * (fabs(x) + f);
        parts.product_error += fabs(scale) * (e * fabs(x) + fabs(q) * f + e * f);
    }
    parts.capped = parts.product;
    reference_row_add(&steps->row, mask, batch, head, query, key, parts.product, rounding_of_score(&parts));
}

static void step(struct steps *steps, struct reference_result *result, struct feature *features, int64_t batch,
                 int64_t head, int64_t query)
{
    const struct reference_problem *mask = &steps->problem->mask;
    int64_t size = mask->head_size, keys = mask->keys;
    int64_t place = ((batch * mask->queries + query) * mask->heads + head) * size;
    int64_t weights = ((batch * mask->heads + head) * mask->queries + query) * keys;
    for (int64_t j = 0; j < keys; j++)
        locate(steps, batch, head, j, features);
    reference_row_clear(&steps->row);
    for (int64_t j = 0; j < keys; j++)
        if (reference_sees(mask, batch, head, query, j))
            score(steps, batch, head, query, j);
    reference_row_normalise(&steps->row);
    reference_row_context(&steps->row, steps->x.value, steps->x.bound, size, size, result->context + place,
                          result->context_bound + place);
    double *const copies[] = {result->attention + weights,
                              steps->carried->alignment.value + place_of(steps, batch, head)};
    double *const bounds[] = {result->attention_bound + weights,
                              steps->carried->alignment.bound + place_of(steps, batch, head)};
    for (int i = 0; i < 2; i++) {
        memcpy(copies[i], steps->row.weight, (size_t)keys * sizeof(double));
        memcpy(bounds[i], steps->row.weight_error, (size_t)keys * sizeof(double));
    }
}

struct reference_result reference_customizing_compute(const struct reference_customizing *problem,
                                                      struct reference_alignment *alignment)
{
    const struct reference_problem *mask = &problem->mask;
    int64_t rows = mask->batch * mask->queries, columns = mask->heads * mask->head_size;
    int64_t weights = rows * mask->heads * mask->keys;
    struct reference_result result = {.context = reference_zeros(rows * columns),
                                      .context_bound = reference_zeros(rows * columns),
                                      .attention = reference_zeros(weights),
                                      .attention_bound = reference_zeros(weights)};
    if (mask->queries == 0 || mask->keys == 0)
        return result;
    struct steps steps = {.problem = problem,
                          .query = reference_project(&problem->query_proj, problem->query, rows),
                          .value = reference_project(&problem->value_proj, problem->value, mask->batch * mask->keys),
                          .carried = alignment,
                          .x = reference_bounded_create(mask->keys * mask->head_size),
                          .row = reference_row_create(mask->keys)};
    struct feature *features = calloc((size_t)problem->filters + 1, sizeof *features);
    if (features == NULL)
        abort();
    for (int64_t b = 0; b < mask->batch; b++)
        for (int64_t h = 0; h < mask->heads; h++) {
            if (alignment->is_fresh)
                start(&steps, b, h);
            for (int64_t t = 0; t < mask->queries; t++)
                step(&steps, &result, features, b, h, t);
        }
    alignment->is_fresh = false;
    free(features);
    reference_row_destroy(&steps.row);
    reference_bounded_destroy(&steps.x);
    reference_bounded_destroy(&steps.query);
    reference_bounded_destroy(&steps.value);
    return result;
}
