/*
 * kernels/local_window.c: scores, factors and centres of local windows. Products of queries and keys are
 * dot_product.c's.
 */
#include "kernels/local_window.h"

#include "base/checked.h"
#include "kernels/dot_product.h"
#include "kernels/vectors.h"

#include <math.h>

enum { QUERIES_PER_ITEM = 64, FACTORS_AT_A_TIME = 256 };

static bool memory_floats(const struct attnzoo_attention *problem, int64_t row_count, int64_t key_count,
                          bool has_short_strips, int64_t *floats)
{
    const struct attnzoo_local_window *window = problem->source_data;
    *floats = 0;
    return !window->has_keys ||
           attnzoo_kernel_dot_product.memory_floats(problem, row_count, key_count, has_short_strips, floats);
}

static void open_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block, float *memory)
{
    const struct attnzoo_local_window *window = problem->source_data;
    if (window->has_keys)
        attnzoo_kernel_dot_product.open_queries(problem, block, memory);
}

static void open_keys(const struct attnzoo_attention *problem, const struct attnzoo_tile *tile, float *memory)
{
    const struct attnzoo_local_window *window = problem->source_data;
    if (window->has_keys)
        attnzoo_kernel_dot_product.open_keys(problem, tile, memory);
}

static double centre_of(const struct attnzoo_local_window *window, int64_t batch, int64_t query)
{
    return window->centres[batch * window->query_count + query];
}

static void fill(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_local_window *window = problem->source_data;
    const struct attnzoo_tile *tile = strip->tile;
    if (window->has_keys)
        attnzoo_kernel_dot_product.fill(problem, strip, memory);
    for (int64_t row = 0; row < strip->row_count; row++) {
        int64_t query = tile->first_query + (strip->first_row + row) % tile->query_count;
        bool is_nan = isnan(centre_of(window, tile->batch, query));
        float *scores = strip->scores + row * strip->step;
        /* A window that is nowhere makes a row of NaN, and the softmax has to know. */
        for (int64_t key = 0; (is_nan || !window->has_keys) && key < strip->key_count; key++)
            scores[key] = is_nan ? NAN : 0.0f;
    }
}

static void damp(const struct attnzoo_attention *problem, int64_t batch, int64_t query, int64_t first_key,
                 int64_t count, float *weights)
{
    const struct attnzoo_local_window *window = problem->source_data;
    double offset = (double)(window->first_position + first_key) - centre_of(window, batch, query);
    double factor = -2.0 / (window->reach * window->reach);
    /* Then the weights of what is seen are NaN already, and those of what a mask hides must stay 0. */
    if (isnan(offset))
        return;
    for (int64_t first = 0; first < count; first += FACTORS_AT_A_TIME) {
        float factors[FACTORS_AT_A_TIME];
        int64_t piece = attnzoo_base_minimum(FACTORS_AT_A_TIME, count - first);
        for (int64_t i = 0; i < piece; i++) {
            double distance = offset + (double)(first + i);
            factors[i] = (float)(factor * (distance * distance));
        }
        attnzoo_kernel_vectors()->exponentials(factors, piece);
        for (int64_t i = 0; i < piece; i++)
            weights[first + i] *= factors[i];
    }
}

const struct attnzoo_score_source attnzoo_kernel_local_window = {
    .column_cost = 1,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill,
    .damp = damp,
};

static struct attnzoo_key_span span_around(const struct attnzoo_local_window *window, double position,
                                           int64_t key_count)
{
    double centre = position - (double)window->first_position, end = (double)key_count;
    double first = ceil(centre - window->reach), last = floor(centre + window->reach);
    if (isnan(centre))
        return (struct attnzoo_key_span){0, key_count};
    return (struct attnzoo_key_span){(int64_t)fmin(fmax(first, 0.0), end), (int64_t)fmin(fmax(last + 1.0, 0.0), end)};
}

static void predict_some(const void *context, int64_t item, void *scratch)
{
    (void)scratch;
    const struct attnzoo_local_prediction *prediction = context;
    const struct attnzoo_mask_plan *mask = prediction->mask;
    int64_t rows = mask->batch_count * mask->query_count, first = item * QUERIES_PER_ITEM;
    for (int64_t row = first; row < attnzoo_base_minimum(first + QUERIES_PER_ITEM, rows); row++) {
        const float *hidden = prediction->hidden + row * prediction->hidden_size;
        float sum = attnzoo_kernel_vectors()->tanh_dot(prediction->weight, hidden, prediction->zeros, NULL,
                                                       prediction->hidden_size);
        double score = (double)sum + (double)prediction->bias;
        double keys = (double)attnzoo_mask_key_length(mask, row / mask->query_count);
        prediction->window->centres[row] = keys / (1.0 + exp(-score));
        prediction->spans[row] = span_around(prediction->window, prediction->window->centres[row], mask->key_count);
    }
}

void attnzoo_local_window_predict(const struct attnzoo_local_prediction *prediction,
                                  const struct attnzoo_pool_claim *claim)
{
    int64_t rows = prediction->mask->batch_count * prediction->mask->query_count;
    int64_t items = attnzoo_base_divide_up(rows, QUERIES_PER_ITEM);
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){predict_some, prediction, items, NULL});
}
