/*
 * kernels/local_window.c: scores of local windows. Products of queries and keys are dot_product.c's.
 */
#include "kernels/local_window.h"

#include "base/checked.h"
#include "kernels/dot_product.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

static void fill_alignment(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_local_window *window = problem->source_data;
    if (window->has_keys)
        attnzoo_kernel_dot_product.fill(problem, strip, memory);
    for (int64_t row = 0; !window->has_keys && row < strip->row_count; row++)
        memset(strip->scores + row * strip->step, 0, (size_t)strip->key_count * sizeof *strip->scores);
}

static void fill_window(const struct attnzoo_attention *problem, const struct attnzoo_strip *strip, float *memory)
{
    const struct attnzoo_local_window *window = problem->source_data;
    const struct attnzoo_tile *tile = strip->tile;
    double first = (double)(window->first_position + tile->first_key + strip->first_key);
    double factor = 2.0 / (window->reach * window->reach);
    fill_alignment(problem, strip, memory);
    for (int64_t row = 0; row < strip->row_count; row++) {
        int64_t query = tile->first_query + (strip->first_row + row) % tile->query_count;
        int64_t number = tile->batch * window->query_count + query;
        double centre = window->centres[number], log_sum = (double)window->log_sums[number];
        float *scores = strip->scores + row * strip->step;
        for (int64_t key = 0; key < strip->key_count; key++) {
            double distance = first + (double)key - centre;
            double score = (double)scores[key] - log_sum - factor * distance * distance;
            scores[key] = score < (double)-FLT_MAX ? -FLT_MAX : (float)score;
        }
    }
}

const struct attnzoo_score_source attnzoo_kernel_local_alignment = {
    .column_cost = 1,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill_alignment,
};

const struct attnzoo_score_source attnzoo_kernel_local_window = {
    .column_cost = 1,
    .memory_floats = memory_floats,
    .open_queries = open_queries,
    .open_keys = open_keys,
    .fill = fill_window,
};

struct attnzoo_key_span attnzoo_local_window_span(const struct attnzoo_local_window *window, int64_t batch,
                                                  int64_t query, int64_t key_count)
{
    double centre = window->centres[batch * window->query_count + query] - (double)window->first_position;
    double first = ceil(centre - window->reach), last = floor(centre + window->reach), end = (double)key_count;
    if (isnan(centre))
        return (struct attnzoo_key_span){0, key_count};
    return (struct attnzoo_key_span){(int64_t)fmin(fmax(first, 0.0), end), (int64_t)fmin(fmax(last + 1.0, 0.0), end)};
}
