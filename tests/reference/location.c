/*
 * tests/reference/location.c: windows and scores of positions by their definitions, one query after the other.
 */
#include "reference/location.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double UNIT_ROUNDOFF = 0x1p-24;
static const double SMALLEST = 0x1p-149;

/* One query under way. */
struct place {
    const struct reference_location *problem;
    struct reference_row *row;
    int64_t batch, query;
};

static double at(const struct place *place, int64_t key)
{
    return (double)key + place->problem->first_position;
}

static bool sees(const struct place *place, int64_t key)
{
    return reference_sees(&place->problem->mask, place->batch, 0, place->query, key);
}

/* kappa += exp(x): item 18. */
static void move(double *kappa, double *error, double x, double x_error)
{
    double step = exp(x);
    *kappa += step;
    *error += step * expm1(x_error) + 4.0 * UNIT_ROUNDOFF * step * exp(x_error) + SMALLEST;
    *error += UNIT_ROUNDOFF * (*kappa + *error);
}

/* Heights, sharpnesses and centres of one query, each with its bound. */
struct mixture {
    const double *height, *height_error, *sharpness, *sharpness_error, *kappa, *kappa_error;
    int64_t components;
};

static double exponent(const struct mixture *mixture, int64_t k, double position, double *error)
{
    double beta = exp(mixture->sharpness[k]), grown = beta * exp(mixture->sharpness_error[k]);
    double d = mixture->kappa[k] - position, e = mixture->kappa_error[k];
    double decay = beta * d * d;
    *error = mixture->height_error[k] + beta * expm1(mixture->sharpness_error[k]) * d * d +
             grown * (2.0 * fabs(d) * e + e * e);
    *error += rounding_gamma(4.0) * (fabs(mixture->height[k]) + decay + *error);
    return mixture->height[k] - decay;
}

/* ln sum_k exp(t_k): item 20. */
static double score_of(const struct mixture *mixture, double position, double *error)
{
    double largest = -INFINITY, largest_error = 0.0;
    for (int64_t k = 0; k < mixture->components; k++) {
        double t_error = 0.0;
        double t = exponent(mixture, k, position, &t_error);
        largest = isnan(t) || isnan(largest) ? (double)NAN : fmax(largest, t);
        largest_error = fmax(largest_error, t_error);
    }
    if (isnan(largest) || mixture->components == 0)
        return mixture->components == 0 ? -INFINITY : (double)NAN;
    double sum = 0.0, low = 0.0, high = 0.0;
    for (int64_t k = 0; k < mixture->components; k++) {
        double t_error = 0.0;
        double t = exponent(mixture, k, position, &t_error);
        sum += exp(t - largest);
        low += exp(t - t_error - largest);
        high += exp(t + t_error - largest);
    }
    double score = largest + log(sum);
    *error = fmax(log(high / sum), log(sum / low));
    *error += rounding_gamma(2.0 * (double)mixture->components + 8.0) + 2.0 * UNIT_ROUNDOFF * (fabs(score) + *error);
    return score;
}

/* By how much exp(x) may be off with x off by error, where either may be far below or beyond the floats. */
static double rounding_of_exponential(double x, double error)
{
    return error < 1.0 ? exp(x) * expm1(error) : exp(x + error) - exp(x);
}

/* Weights as they are: item 21. */
static void weigh_plainly(struct reference_row *row)
{
    row->rounding.keys = row->keys;
    for (int64_t j = 0; j < row->keys; j++) {
        double score = row->score[j], error = row->score_error[j] + 4.0 * UNIT_ROUNDOFF;
        if (row->is_nan && row->sees_anything)
            row->weight[j] = NAN;
        else if (row->seen[j]) {
            row->weight[j] = exp(score);
            row->weight_error[j] = rounding_of_exponential(score, error) + 2.0 * SMALLEST;
        }
        if (row->weight[j] + row->weight_error[j] > (double)FLT_MAX)
            row->weight_error[j] = INFINITY;
    }
}

static void mix(const struct place *place, const struct mixture *mixture)
{
    for (int64_t j = 0; j < place->row->keys; j++) {
        double error = 0.0;
        if (!sees(place, j))
            continue;
        double score = score_of(mixture, at(place, j), &error);
        if (score < -(double)FLT_MAX)
            score = -(double)FLT_MAX;
        reference_row_add(place->row, &place->problem->mask, place->batch, 0, place->query, j, score, error);
    }
    if (place->problem->is_normalized)
        reference_row_normalise(place->row);
    else
        weigh_plainly(place->row);
}

/* The score of a position, Wa h; 0 without Wa. */
static void add_position(const struct place *place, int64_t key, bool is_nan)
{
    const struct reference_location *problem = place->problem;
    int64_t size = problem->location_weight != NULL ? problem->mask.head_size : 0;
    const double *h = problem->query + (place->batch * problem->mask.queries + place->query) * problem->mask.head_size;
    struct score_parts parts = {.terms = size};
    for (int64_t e = 0; e < size; e++) {
        double product = h[e] * problem->location_weight[key * size + e];
        parts.product += product;
        parts.product_magnitude += fabs(product);
    }
    parts.capped = parts.product;
    reference_row_add(place->row, &problem->mask, place->batch, 0, place->query, key,
                      is_nan ? (double)NAN : parts.product, size > 0 ? rounding_of_score(&parts) : 0.0);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* p_t of one query, with its bound: item 22. hidden: [A] */
static double predict(const struct place *place, const double *hidden, const double *hidden_error, double *error)
{
    const struct reference_location *problem = place->problem;
    int64_t size = problem->query_proj.outputs;
    const double *lengths = problem->mask.key_lengths;
    double keys = lengths != NULL ? lengths[place->batch] : (double)problem->mask.keys;
    double sum = problem->score_bias, magnitude = fabs(problem->score_bias), x_error = 0.0;
    for (int64_t a = 0; a < size; a++) {
        double y = tanh(hidden[a]), y_error = rounding_of_tanh(y, hidden_error[a]);
        sum += problem->score_weight[a] * y;
        x_error += fabs(problem->score_weight[a]) * y_error;
        magnitude += fabs(problem->score_weight[a]) * (fabs(y) + y_error);
    }
    x_error += rounding_of_tanh_sum(size, magnitude);
    double p = sigmoid(sum);
    *error = keys * (fmax(sigmoid(sum + x_error) - p, p - sigmoid(sum - x_error)) + 4.0 * UNIT_ROUNDOFF);
    return keys * p;
}

static void look_around(const struct place *place, double p, double p_error)
{
    struct reference_row *row = place->row;
    double reach = place->problem->window;
    bool is_uncertain = false;
    for (int64_t j = 0; j < row->keys; j++) {
        double distance = fabs(at(place, j) - p);
        if (!sees(place, j))
            continue;
        is_uncertain = is_uncertain || fabs(distance - reach) <= p_error;
        if (isnan(p) || distance <= reach)
            add_position(place, j, isnan(p));
    }
    reference_row_normalise(row);
    for (int64_t j = 0; j < row->keys; j++) {
        double d = at(place, j) - p, y = 2.0 * d * d / (reach * reach);
        double y_error = 2.0 * (2.0 * fabs(d) * p_error + p_error * p_error) / (reach * reach);
        y_error += rounding_gamma(4.0) * (y + y_error);
        if (row->seen[j] && !row->is_nan) {
            double damped = row->weight[j] * exp(-y);
            double most = (row->weight[j] + row->weight_error[j]) * exp(-y + y_error);
            row->weight_error[j] = most - damped + rounding_gamma(6.0) * most + SMALLEST;
            row->weight[j] = damped;
        }
        if (is_uncertain)
            row->weight_error[j] = INFINITY;
    }
}

static void write_row(const struct place *place, const struct reference_bounded *value, struct reference_result *result)
{
    const struct reference_problem *mask = &place->problem->mask;
    int64_t columns = mask->value_size, number = place->batch * mask->queries + place->query;
    bool is_uncertain = mask->keys > 0 && isinf(place->row->weight_error[0]) != 0;
    reference_row_context(place->row, value->value + place->batch * mask->keys * columns,
                          value->bound + place->batch * mask->keys * columns, columns, columns,
                          result->context + number * columns, result->context_bound + number * columns);
    for (int64_t d = 0; d < columns && is_uncertain; d++)
        result->context_bound[number * columns + d] = INFINITY;
    memcpy(result->attention + number * mask->keys, place->row->weight, (size_t)mask->keys * sizeof(double));
    memcpy(result->attention_bound + number * mask->keys, place->row->weight_error,
           (size_t)mask->keys * sizeof(double));
}

/* The windows of one query, after its centres have moved. windows: [B * N, 3 K] */
static void mix_query(const struct place *place, const struct reference_bounded *windows,
                      struct reference_bounded *kappa)
{
    const struct reference_problem *mask = &place->problem->mask;
    int64_t components = place->problem->components;
    const double *numbers = windows->value + (place->batch * mask->queries + place->query) * 3 * components;
    const double *errors = windows->bound + (place->batch * mask->queries + place->query) * 3 * components;
    double *centres = kappa->value + place->batch * components;
    double *centre_errors = kappa->bound + place->batch * components;
    /* A query that is padding is no step. */
    if (mask->query_lengths != NULL && (double)place->query >= mask->query_lengths[place->batch])
        return;
    for (int64_t k = 0; k < components; k++)
        move(&centres[k], &centre_errors[k], numbers[2 * components + k], errors[2 * components + k]);
    mix(place, &(struct mixture){numbers, errors, numbers + components, errors + components, centres, centre_errors,
                                 components});
}

struct reference_result reference_location_compute(const struct reference_location *problem,
                                                   struct reference_bounded *kappa)
{
    const struct reference_problem *mask = &problem->mask;
    int64_t rows = mask->batch * mask->queries, units = problem->query_proj.outputs;
    struct reference_result result = {.context = reference_zeros(rows * mask->value_size),
                                      .context_bound = reference_zeros(rows * mask->value_size),
                                      .attention = reference_zeros(rows * mask->keys),
                                      .attention_bound = reference_zeros(rows * mask->keys)};
    const struct reference_layer *layer =
        problem->flavor == REFERENCE_GAUSSIAN_MIXTURE ? &problem->window_proj : &problem->query_proj;
    struct reference_bounded projected = {0};
    if (problem->flavor != REFERENCE_POSITION)
        projected = reference_project(layer, problem->query, rows);
    struct reference_bounded value = reference_project(&problem->value_proj, problem->value, mask->batch * mask->keys);
    struct reference_row row = reference_row_create(mask->keys);
    for (int64_t number = 0; number < rows; number++) {
        struct place place = {problem, &row, number / mask->queries, number % mask->queries};
        reference_row_clear(&row);
        if (problem->flavor == REFERENCE_GAUSSIAN_MIXTURE) {
            mix_query(&place, &projected, kappa);
        } else if (problem->flavor == REFERENCE_POSITION) {
            for (int64_t j = 0; j < mask->keys; j++)
                if (sees(&place, j))
                    add_position(&place, j, false);
            reference_row_normalise(&row);
        } else {
            double p_error = 0.0;
            double p = predict(&place, projected.value + number * units, projected.bound + number * units, &p_error);
            look_around(&place, p, p_error);
        }
        write_row(&place, &value, &result);
    }
    reference_row_destroy(&row);
    reference_bounded_destroy(&value);
    reference_bounded_destroy(&projected);
    return result;
}
