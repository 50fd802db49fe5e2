/*
 * tests/reference/location_aware.c: location-aware attention by its definition, step by step.
 */
#include "reference/location_aware.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reference_alignment reference_alignment_create(int64_t batch, int64_t heads, int64_t keys)
{
    struct reference_alignment result = {.alignment = reference_bounded_create(batch * heads * keys),
                                         .cumulative = reference_bounded_create(batch * heads * keys),
                                         .is_uncertain = calloc((size_t)batch + 1, sizeof(bool)),
                                         .is_fresh = true};
    if (result.is_uncertain == NULL)
        abort();
    return result;
}

void reference_alignment_destroy(struct reference_alignment *alignment)
{
    reference_bounded_destroy(&alignment->alignment);
    reference_bounded_destroy(&alignment->cumulative);
    free(alignment->is_uncertain);
    *alignment = (struct reference_alignment){0};
}

/* One computation: what it is asked, where it stands, and room for a step. */
struct steps {
    const struct reference_location_aware *problem;
    const struct reference_problem *mask;
    struct reference_projections projections;
    struct reference_alignment *carried;
    struct reference_bounded location; /* [M, A] of the step */
    struct reference_row *rows;        /* [H] */
    bool is_initial;                   /* the alignment is alpha_0, whose numbers are equal to the bit */
};

/* Where the numbers of a batch and head begin in a carried array. */
static int64_t place_of(const struct steps *steps, int64_t batch, int64_t head)
{
    return (batch * steps->mask->heads + head) * steps->mask->keys;
}

/* alpha_0 of one batch and head. */
static void start(const struct steps *steps, int64_t batch, int64_t head)
{
    enum reference_initial initial = steps->problem->initial;
    int64_t keys = steps->mask->keys;
    int64_t place = place_of(steps, batch, head);
    double *alpha = steps->carried->alignment.value + place;
    double *error = steps->carried->alignment.bound + place;
    double count = 0.0;
    for (int64_t j = 0; j < keys; j++)
        count += reference_sees(steps->mask, batch, head, 0, j);
    for (int64_t j = 0; j < keys; j++) {
        bool sees = reference_sees(steps->mask, batch, head, 0, j);
        alpha[j] = 0.0;
        if (initial == REFERENCE_UNIFORM && sees)
            alpha[j] = 1.0 / count;
        if (initial == REFERENCE_FIRST && sees && j == 0)
            alpha[j] = 1.0;
        error[j] = initial == REFERENCE_UNIFORM ? rounding_of_share(alpha[j]) : 0.0;
    }
    memcpy(steps->carried->cumulative.value + place, alpha, (size_t)keys * sizeof *alpha);
    memcpy(steps->carried->cumulative.bound + place, error, (size_t)keys * sizeof *error);
}

/* Keys beyond the key length count as 0 in all that reads alignments. What is kept of them is kept. */
static int64_t length_of(const struct steps *steps, int64_t batch)
{
    return steps->mask->key_lengths != NULL ? (int64_t)steps->mask->key_lengths[batch] : steps->mask->keys;
}

static int64_t channels_of(const struct reference_location_aware *problem)
{
    int64_t heads = problem->model.mask.heads;
    return problem->feedback == REFERENCE_BOTH ? 2 * heads : heads;
}

/* The [M] numbers that a channel of the convolution reads. */
static const struct reference_bounded *channel_of(const struct steps *steps, int64_t channel)
{
    bool is_sum = steps->problem->feedback == REFERENCE_CUMULATIVE || channel >= steps->mask->heads;
    return is_sum ? &steps->carried->cumulative : &steps->carried->alignment;
}

/* One filter at one key. */
struct feature {
    double value, magnitude, alignment_part;
};

static struct feature convolve(const struct steps *steps, int64_t batch, int64_t filter, int64_t key)
{
    const struct reference_location_aware *problem = steps->problem;
    int64_t channels = channels_of(problem);
    int64_t width = problem->width;
    double bias = problem->conv_bias != NULL ? problem->conv_bias[filter] : 0.0;
    struct feature feature = {bias, fabs(bias), 0.0};
    for (int64_t c = 0; c < channels; c++) {
        const struct reference_bounded *channel = channel_of(steps, c);
        int64_t place = place_of(steps, batch, c % steps->mask->heads);
        const double *weight = problem->conv_weight + (filter * channels + c) * width;
        for (int64_t w = 0; w < width; w++) {
            int64_t j = key + w - (width - 1) / 2;
            if (j < 0 || j >= length_of(steps, batch))
                continue;
            double value = channel->value[place + j];
            double error = channel->bound[place + j];
            feature.value += weight[w] * value;
            feature.magnitude += fabs(weight[w]) * (fabs(value) + error);
            feature.alignment_part += fabs(weight[w]) * error;
        }
    }
    return feature;
}

/* The location term of one key: U f, with its activation. features: [F]. */
static void locate(const struct steps *steps, int64_t key, const struct feature *features)
{
    const struct reference_location_aware *problem = steps->problem;
    int64_t size = problem->model.attention_size;
    int64_t channels = channels_of(problem);
    for (int64_t a = 0; a < size; a++) {
        double bias = problem->proj_bias != NULL ? problem->proj_bias[a] : 0.0;
        struct feature sum = {bias, fabs(bias), 0.0};
        for (int64_t f = 0; f < problem->filters; f++) {
            double weight = f == a ? 1.0 : 0.0;
            if (problem->proj_weight != NULL)
                weight = problem->proj_weight[a * problem->filters + f];
            else if (f != a)
                continue;
            sum.value += weight * features[f].value;
            sum.magnitude += fabs(weight) * features[f].magnitude;
            sum.alignment_part += fabs(weight) * features[f].alignment_part;
        }
        double error =
            rounding_of_location(problem->filters, channels * problem->width, sum.magnitude, sum.alignment_part);
        double value = problem->has_tanh ? tanh(sum.value) : sum.value;
        steps->location.value[key * size + a] = value;
        steps->location.bound[key * size + a] = problem->has_tanh ? rounding_of_tanh(value, error) : error;
    }
}

static void locate_all(const struct steps *steps, int64_t batch)
{
    int64_t filters = steps->problem->filters;
    struct feature *features = calloc((size_t)filters + 1, sizeof *features);
    if (features == NULL)
        abort();
    for (int64_t j = 0; j < steps->mask->keys; j++) {
        for (int64_t f = 0; f < filters; f++)
            features[f] = convolve(steps, batch, f, j);
        locate(steps, j, features);
    }
    free(features);
}

/* What location_window lets be seen. */
struct window {
    int64_t first, last;
};

/* The most likely key, and whether rounding may have moved it. -1: the alignment is all zero. */
static int64_t most_likely(const double *alpha, const double *error, int64_t keys, bool is_exact, bool *is_uncertain)
{
    int64_t best = -1;
    for (int64_t j = 0; j < keys; j++) {
        /* What is most likely among NaN is nowhere said. */
        *is_uncertain = *is_uncertain || isnan(alpha[j]);
        if (alpha[j] > 0.0 && (best < 0 || alpha[j] > alpha[best]))
            best = j;
    }
    for (int64_t j = 0; best >= 0 && j < keys && !is_exact; j++) {
        bool overlaps = alpha[j] + error[j] >= alpha[best] - error[best];
        bool are_exact = error[j] == 0.0 && error[best] == 0.0;
        *is_uncertain = *is_uncertain || (j != best && overlaps && !are_exact);
    }
    return best;
}

static struct window window_of(const struct steps *steps, int64_t batch, int64_t head)
{
    struct window all = {0, steps->mask->keys - 1};
    int64_t reach = steps->problem->window;
    if (reach == 0)
        return all;
    int64_t place = place_of(steps, batch, head);
    const struct reference_bounded *alpha = &steps->carried->alignment;
    int64_t centre = most_likely(alpha->value + place, alpha->bound + place, length_of(steps, batch), steps->is_initial,
                                 &steps->carried->is_uncertain[batch]);
    return centre < 0 ? all : (struct window){centre - reach, centre + reach};
}

static void compute_row(const struct steps *steps, int64_t batch, int64_t head, int64_t query)
{
    struct reference_row *row = &steps->rows[head];
    int64_t size = steps->problem->model.attention_size;
    struct window window = window_of(steps, batch, head);
    reference_row_clear(row);
    for (int64_t j = 0; j < steps->mask->keys; j++)
        if (j >= window.first && j <= window.last && reference_sees(steps->mask, batch, head, query, j))
            reference_additive_score(&steps->problem->model, &steps->projections, row, batch, head, query, j,
                                     steps->location.value + j * size, steps->location.bound + j * size);
    if (steps->problem->smoothing)
        reference_row_log_sigmoids(row);
    reference_row_normalise(row);
}

/* alpha_(t-1) becomes alpha_t. */
static void carry_on(const struct steps *steps, int64_t batch, int64_t head)
{
    const struct reference_row *row = &steps->rows[head];
    struct reference_alignment *carried = steps->carried;
    int64_t place = place_of(steps, batch, head);
    for (int64_t j = 0; j < steps->mask->keys; j++) {
        double alpha = row->weight[j];
        double error = row->weight_error[j];
        double *sum = &carried->cumulative.value[place + j];
        double *sum_error = &carried->cumulative.bound[place + j];
        if (alpha != 0.0 || error != 0.0)
            *sum_error = rounding_of_running_sum(*sum, *sum_error, alpha, error);
        *sum += alpha;
        carried->alignment.value[place + j] = alpha;
        carried->alignment.bound[place + j] = error;
    }
}

static void give_up(double *bounds, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        bounds[i] = INFINITY;
}

/* Nothing is known of a batch from this step on. */
static void give_up_step(const struct steps *steps, struct reference_result *result, int64_t batch, int64_t query)
{
    const struct reference_problem *mask = steps->mask;
    int64_t columns = mask->heads * mask->value_size;
    give_up(result->context_bound + (batch * mask->queries + query) * columns, columns);
    for (int64_t h = 0; h < mask->heads; h++) {
        give_up(result->attention_bound + ((batch * mask->heads + h) * mask->queries + query) * mask->keys, mask->keys);
        give_up(steps->carried->alignment.bound + place_of(steps, batch, h), mask->keys);
        give_up(steps->carried->cumulative.bound + place_of(steps, batch, h), mask->keys);
    }
}

static void step(struct steps *steps, struct reference_result *result, int64_t batch, int64_t query)
{
    const struct reference_problem *mask = steps->mask;
    if (!steps->carried->is_uncertain[batch]) {
        locate_all(steps, batch);
        for (int64_t h = 0; h < mask->heads; h++)
            compute_row(steps, batch, h, query);
        for (int64_t h = 0; h < mask->heads; h++) {
            reference_additive_write(&steps->problem->model, &steps->projections, &steps->rows[h], result, batch, h,
                                     query);
            carry_on(steps, batch, h);
        }
    }
    if (steps->carried->is_uncertain[batch])
        give_up_step(steps, result, batch, query);
}

static void compute_batch(struct steps *steps, struct reference_result *result, int64_t batch)
{
    steps->is_initial = steps->carried->is_fresh;
    for (int64_t h = 0; h < steps->mask->heads && steps->is_initial; h++)
        start(steps, batch, h);
    for (int64_t t = 0; t < steps->mask->queries; t++) {
        step(steps, result, batch, t);
        steps->is_initial = false;
    }
}

struct reference_result reference_location_aware_compute(const struct reference_location_aware *problem,
                                                         struct reference_alignment *alignment)
{
    const struct reference_problem *mask = &problem->model.mask;
    struct reference_result result = reference_additive_result(&problem->model);
    if (mask->queries == 0 || mask->keys == 0)
        return result;
    struct steps steps = {.problem = problem,
                          .mask = mask,
                          .projections = reference_projections_create(&problem->model),
                          .carried = alignment,
                          .location = reference_bounded_create(mask->keys * problem->model.attention_size),
                          .rows = calloc((size_t)mask->heads + 1, sizeof(struct reference_row))};
    if (steps.rows == NULL)
        abort();
    for (int64_t h = 0; h < mask->heads; h++)
        steps.rows[h] = reference_row_create(mask->keys);
    for (int64_t b = 0; b < mask->batch; b++)
        compute_batch(&steps, &result, b);
    alignment->is_fresh = false;
    for (int64_t h = 0; h < mask->heads; h++)
        reference_row_destroy(&steps.rows[h]);
    free(steps.rows);
    reference_bounded_destroy(&steps.location);
    reference_projections_destroy(&steps.projections);
    return result;
}

static double largest_tap(const struct reference_location_aware *problem, int64_t filter)
{
    int64_t taps = channels_of(problem) * problem->width;
    double largest = 0.0;
    for (int64_t i = 0; i < taps; i++)
        largest = fmax(largest, fabs(problem->conv_weight[filter * taps + i]));
    return largest;
}

double reference_location_aware_growth(const struct reference_location_aware *problem)
{
    double sum = 0.0;
    for (int64_t a = 0; a < problem->model.attention_size; a++)
        for (int64_t f = 0; f < problem->filters; f++) {
            double weight = f == a ? 1.0 : 0.0;
            if (problem->proj_weight != NULL)
                weight = problem->proj_weight[a * problem->filters + f];
            sum += fabs(problem->model.score_weight[a] * weight) * largest_tap(problem, f);
        }
    return 2.0 * fabs(problem->model.sharpening) * sum * (double)channels_of(problem);
}
