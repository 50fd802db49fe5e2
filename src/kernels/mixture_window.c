/*
 * kernels/mixture_window.c: scores of a mixture of Gaussians, by logarithms throughout, so that a height too large for a
 * float times a decay too small for one is what it should be, and not NaN. Masks and weights come after, in the core.
 *
 * The source's memory for a row:  | largest exponent of each key, double | their sums | one component's terms |
 */
#include "kernels/mixture_window.h"

#include "base/checked.h"
#include "kernels/vectors.h"

#include <float.h>
#include <math.h>

enum {
    /* An exponential and what goes with it, in multiply-adds. */
    COMPONENT_COST = 8,
    /* Floats for each key: a double and two floats. */
    FLOATS_PER_KEY = 4
};

/* exp of it is finite and above 0, so that neither times a square of a distance, at most 2^257, makes NaN. */
static const double LOG_SHARPNESS_MOST = 500.0;

/* exp of less than this is 0 as a float: the smallest is exp(-103.3), half of it exp(-103.98). */
static const double LOG_WEIGHT_LEAST = -105.0;

/* One Gaussian of one query: exp(height - sharpness (centre - u)^2). */
struct component {
    double height;
    double sharpness;
    double centre;
};

static const float *numbers_of(const struct attnzoo_mixture_window *window, int64_t batch, int64_t query)
{
    return window->numbers + (batch * window->query_count + query) * 3 * window->component_count;
}

/* Comparisons that leave NaN alone. */
static double clamp(double value, double lowest, double highest)
{
    if (value < lowest)
        return lowest;
    return value > highest ? highest : value;
}

static struct component component_of(const struct attnzoo_mixture_window *window, const float *numbers, int64_t number)
{
    double log_sharpness = (double)numbers[window->component_count + number];
    return (struct component){.height = (double)numbers[number],
                              .sharpness = exp(clamp(log_sharpness, -LOG_SHARPNESS_MOST, LOG_SHARPNESS_MOST)),
                              .centre = (double)numbers[2 * window->component_count + number]};
}

static double exponent_at(const struct component *component, double position)
{
    double distance = component->centre - position;
    return component->height - component->sharpness * (distance * distance);
}

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          bool has_short_strips, int64_t *floats)
{
    (void)problem;
    (void)row_count;
    (void)has_short_strips;
    return attnzoo_base_multiply(key_count, FLOATS_PER_KEY, floats);
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    (void)problem;
    (void)block;
    (void)memory;
}

static void find_largest(const struct component *component, double first, int64_t count, double *largest)
{
    for (int64_t i = 0; i < count; i++) {
        double exponent = exponent_at(component, first + (double)i);
        /* A NaN is met again when terms are summed. */
        largest[i] = exponent > largest[i] ? exponent : largest[i];
    }
}

static void add_terms(const struct component *component, double first, int64_t count, const double *largest,
                      float *terms, float *sums)
{
    for (int64_t i = 0; i < count; i++) {
        double base = largest[i] == -INFINITY ? 0.0 : largest[i];
        terms[i] = (float)clamp(exponent_at(component, first + (double)i) - base, LOG_WEIGHT_LEAST, 0.0);
    }
    attnzoo_kernel_vectors()->exponentials(terms, count);
    attnzoo_kernel_vectors()->add_scaled(sums, terms, count, 1.0f);
}

/* The scores of one query against count keys from the position first on. */
static void score_row(const struct attnzoo_mixture_window *window, const float *numbers, double first, int64_t count,
                      float *scores, float *memory)
{
    double *largest = (void *)memory;
    float *sums = memory + 2 * count, *terms = memory + 3 * count;
    for (int64_t i = 0; i < count; i++) {
        largest[i] = -INFINITY;
        sums[i] = 0.0f;
    }
    for (int64_t k = 0; k < window->component_count; k++) {
        struct component component = component_of(window, numbers, k);
        find_largest(&component, first, count, largest);
    }
    for (int64_t k = 0; k < window->component_count; k++) {
        struct component component = component_of(window, numbers, k);
        add_terms(&component, first, count, largest, terms, sums);
    }
    for (int64_t i = 0; i < count; i++)
        scores[i] = (float)clamp(largest[i] + log((double)sums[i]), -FLT_MAX, (double)INFINITY);
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_mixture_window *window = problem->source_data;
    const struct attnzoo_tile *tile = strip->tile;
    double first = (double)(window->first_position + tile->first_key + strip->first_key);
    for (int64_t row = 0; row < strip->row_count; row++) {
        int64_t query = tile->first_query + (strip->first_row + row) % tile->query_count;
        score_row(window, numbers_of(window, tile->batch, query), first, strip->key_count,
                  strip->scores + row * strip->step, memory);
    }
}

const struct attnzoo_score_source attnzoo_kernel_mixture_window = {
    .column_cost = COMPONENT_COST,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .fill = fill,
};

static struct attnzoo_key_span reach_of(const struct attnzoo_mixture_window *window, int64_t batch, int64_t query,
                                        int64_t key_count)
{
    const float *numbers = numbers_of(window, batch, query);
    double least = LOG_WEIGHT_LEAST - log((double)attnzoo_base_maximum(window->component_count, 1));
    double first = (double)key_count, last = -1.0;
    for (int64_t k = 0; k < window->component_count; k++) {
        struct component component = component_of(window, numbers, k);
        if (component.height < least)
            continue;
        double reach = sqrt((component.height - least) / component.sharpness);
        double centre = component.centre - (double)window->first_position;
        if (isnan(centre - reach))
            return (struct attnzoo_key_span){0, key_count};
        first = fmin(first, ceil(centre - reach));
        last = fmax(last, floor(centre + reach));
    }
    double end = (double)key_count;
    return (struct attnzoo_key_span){(int64_t)clamp(first, 0.0, end), (int64_t)clamp(last + 1.0, 0.0, end)};
}

/* What the tasks are given. */
struct job {
    const struct attnzoo_mixture_window *window;
    const struct attnzoo_mask_plan *mask;
};

static void move_batch(const void *context, int64_t batch, void *scratch)
{
    (void)scratch;
    const struct job *job = context;
    const struct attnzoo_mixture_window *window = job->window;
    int64_t components = window->component_count, length = attnzoo_mask_query_length(job->mask, batch);
    float *centres = window->centres + batch * components;
    for (int64_t query = 0; query < length; query++) {
        float *moves = window->numbers + ((batch * window->query_count + query) * 3 + 2) * components;
        attnzoo_kernel_vectors()->exponentials(moves, components);
        for (int64_t k = 0; k < components; k++) {
            float centre = centres[k] + moves[k];
            moves[k] = centres[k] = centre > FLT_MAX ? FLT_MAX : centre;
        }
    }
    for (int64_t query = 0; window->spans != NULL && query < window->query_count; query++)
        window->spans[batch * window->query_count + query] = reach_of(window, batch, query, job->mask->key_count);
}

void attnzoo_mixture_window_move(const struct attnzoo_mixture_window *window, const struct attnzoo_mask_plan *mask,
                                 const struct attnzoo_pool_claim *claim)
{
    const struct job job = {window, mask};
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){move_batch, &job, mask->batch_count, NULL});
}
