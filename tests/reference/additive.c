/*
 * tests/reference/additive.c: additive attention by its definition, one query and one key after another.
 */
#include "reference/additive.h"

#include <math.h>
#include <stdlib.h>

struct reference_bounded reference_bounded_create(int64_t count)
{
    return (struct reference_bounded){reference_zeros(count), reference_zeros(count)};
}

void reference_bounded_destroy(struct reference_bounded *numbers)
{
    free(numbers->value);
    free(numbers->bound);
    *numbers = (struct reference_bounded){0};
}

/* One output of a layer for one row. */
static void project_one(const struct reference_layer *layer, const double *input, int64_t output, double *value,
                        double *bound)
{
    double bias = layer->bias != NULL ? layer->bias[output] : 0.0;
    double sum = bias;
    double magnitude = fabs(bias);
    for (int64_t e = 0; e < layer->inputs; e++) {
        double product = input[e] * layer->weight[output * layer->inputs + e];
        sum += product;
        magnitude += fabs(product);
    }
    *value = sum;
    *bound = rounding_of_linear(layer->inputs, magnitude, 0.0);
}

struct reference_bounded reference_project(const struct reference_layer *layer, const double *input, int64_t rows)
{
    struct reference_bounded result = reference_bounded_create(rows * layer->outputs);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t output = 0; output < layer->outputs; output++) {
            int64_t place = row * layer->outputs + output;
            if (layer->weight != NULL)
                project_one(layer, input + row * layer->inputs, output, &result.value[place], &result.bound[place]);
            else
                result.value[place] = input[place];
        }
    return result;
}

struct reference_projections reference_projections_create(const struct reference_additive *problem)
{
    const struct reference_problem *mask = &problem->mask;
    return (struct reference_projections){
        .query = reference_project(&problem->query_proj, problem->query, mask->batch * mask->queries),
        .key = reference_project(&problem->key_proj, problem->key, mask->batch * mask->keys),
        .value = reference_project(&problem->value_proj, problem->value, mask->batch * mask->keys),
    };
}

void reference_projections_destroy(struct reference_projections *projections)
{
    reference_bounded_destroy(&projections->query);
    reference_bounded_destroy(&projections->key);
    reference_bounded_destroy(&projections->value);
}

void reference_additive_score(const struct reference_additive *problem, const struct reference_projections *projections,
                              struct reference_row *row, int64_t batch, int64_t head, int64_t query, int64_t key,
                              const double *location, const double *location_bound)
{
    const struct reference_problem *mask = &problem->mask;
    int64_t size = problem->attention_size;
    int64_t key_head = head / (mask->heads / mask->key_heads);
    int64_t query_place = ((batch * mask->queries + query) * mask->heads + head) * size;
    int64_t key_place = ((batch * mask->keys + key) * mask->key_heads + key_head) * size;
    double sum = problem->score_bias;
    double magnitude = fabs(problem->score_bias);
    double error = 0.0;
    for (int64_t a = 0; a < size; a++) {
        double q = projections->query.value[query_place + a], q_error = projections->query.bound[query_place + a];
        double k = projections->key.value[key_place + a], k_error = projections->key.bound[key_place + a];
        double bias = problem->bias != NULL ? problem->bias[a] : 0.0;
        double f = location != NULL ? location[a] : 0.0;
        double errors = q_error + k_error + (location != NULL ? location_bound[a] : 0.0);
        errors += rounding_gamma(3.0) * (fabs(q) + fabs(k) + fabs(bias) + fabs(f) + errors);
        double y = tanh(q + k + bias + f);
        double y_error = rounding_of_tanh(y, errors);
        double weight = problem->score_weight[a];
        sum += weight * y;
        error += fabs(weight) * y_error;
        magnitude += fabs(weight) * (fabs(y) + y_error);
    }
    error = fabs(problem->sharpening) * (error + rounding_of_tanh_sum(size, magnitude));
    double score = problem->sharpening * sum;
    if (mask->softcap > 0.0) {
        /* As in item 1 of rounding.h. */
        double capped = mask->softcap * tanh(score / mask->softcap);
        error += rounding_gamma(3.0) * (fabs(score) + error) + rounding_gamma(6.0) * fabs(capped);
        score = capped;
    }
    reference_row_add(row, mask, batch, head, query, key, score, error);
}

void reference_additive_write(const struct reference_additive *problem, const struct reference_projections *projections,
                              const struct reference_row *row, struct reference_result *result, int64_t batch,
                              int64_t head, int64_t query)
{
    const struct reference_problem *mask = &problem->mask;
    int64_t columns = mask->value_size;
    int64_t step = mask->key_heads * columns;
    int64_t key_head = head / (mask->heads / mask->key_heads);
    int64_t value_place = batch * mask->keys * step + key_head * columns;
    int64_t context_place = ((batch * mask->queries + query) * mask->heads + head) * columns;
    reference_row_context(row, projections->value.value + value_place, projections->value.bound + value_place, step,
                          columns, result->context + context_place, result->context_bound + context_place);
    int64_t attention_place = ((batch * mask->heads + head) * mask->queries + query) * mask->keys;
    for (int64_t j = 0; j < mask->keys; j++) {
        result->attention[attention_place + j] = row->weight[j];
        result->attention_bound[attention_place + j] = row->weight_error[j];
    }
}

struct reference_result reference_additive_result(const struct reference_additive *problem)
{
    const struct reference_problem *mask = &problem->mask;
    int64_t rows = mask->batch * mask->heads * mask->queries;
    return (struct reference_result){.context = reference_zeros(rows * mask->value_size),
                                     .context_bound = reference_zeros(rows * mask->value_size),
                                     .attention = reference_zeros(rows * mask->keys),
                                     .attention_bound = reference_zeros(rows * mask->keys)};
}

static void compute_row(const struct reference_additive *problem, const struct reference_projections *projections,
                        struct reference_row *row, int64_t batch, int64_t query)
{
    reference_row_clear(row);
    for (int64_t j = 0; j < problem->mask.keys; j++)
        if (reference_sees(&problem->mask, batch, 0, query, j))
            reference_additive_score(problem, projections, row, batch, 0, query, j, NULL, NULL);
    reference_row_normalise(row);
}

struct reference_result reference_additive_compute(const struct reference_additive *problem)
{
    struct reference_result result = reference_additive_result(problem);
    struct reference_projections projections = reference_projections_create(problem);
    struct reference_row row = reference_row_create(problem->mask.keys);
    for (int64_t b = 0; b < problem->mask.batch; b++)
        for (int64_t i = 0; i < problem->mask.queries; i++) {
            compute_row(problem, &projections, &row, b, i);
            reference_additive_write(problem, &projections, &row, &result, b, 0, i);
        }
    reference_row_destroy(&row);
    reference_projections_destroy(&projections);
    return result;
}
