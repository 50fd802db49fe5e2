/*
 * kernels/mask_apply.c: what a mask does to scores: biases and dense constraints, a row at a time, and whether a
 * tile needs them at all. Positions and lengths are in mask_resolve.c, segments in mask_segments.c, biases by distance in
 * mask_distance.c.
 */
#include "kernels/mask.h"

#include "base/checked.h"
#include "kernels/vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool is_allowed(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    return attnzoo_kernel_integer_at(attnzoo_grid_at(&plan->allowed, batch, head, query, key), plan->allowed.dtype) !=
           0;
}

/* One row of the boolean mask. Most rows are bytes side by side, which the C library scans fast. */
static enum attnzoo_tile_cover allowed_row_cover(const struct attnzoo_grid *allowed, const char *row, int64_t count)
{
    int64_t stride = allowed->stride[ATTNZOO_COLUMN];
    bool first = attnzoo_kernel_integer_at(row, allowed->dtype) != 0;
    bool is_uniform = true;
    if (stride == 0 || count == 1)
        is_uniform = true;
    else if (allowed->dtype == ATTNZOO_DTYPE_BOOL && stride == 1)
        is_uniform = first ? memchr(row, 0, (size_t)count) == NULL : memcmp(row, row + 1, (size_t)count - 1) == 0;
    else
        for (int64_t i = 1; i < count && is_uniform; i++) {
            int64_t step = i * stride * attnzoo_base_dtype_size(allowed->dtype);
            is_uniform = (attnzoo_kernel_integer_at(row + step, allowed->dtype) != 0) == first;
        }
    if (!is_uniform)
        return ATTNZOO_TILE_MIXED;
    return first ? ATTNZOO_TILE_CLEAR : ATTNZOO_TILE_HIDDEN;
}

static enum attnzoo_tile_cover allowed_cover(const struct attnzoo_mask_plan *plan, const struct attnzoo_tile *tile)
{
    const struct attnzoo_grid *allowed = &plan->allowed;
    int64_t head_count = allowed->stride[ATTNZOO_HEAD] == 0 ? 1 : tile->head_count;
    int64_t query_count = allowed->stride[ATTNZOO_ROW] == 0 ? 1 : tile->query_count;
    enum attnzoo_tile_cover cover = ATTNZOO_TILE_MIXED;
    for (int64_t head = 0; head < head_count; head++)
        for (int64_t query = 0; query < query_count; query++) {
            const char *row = attnzoo_grid_at(allowed, tile->batch, tile->first_head + head, tile->first_query + query,
                                              tile->first_key);
            enum attnzoo_tile_cover row_cover = allowed_row_cover(allowed, row, tile->key_count);
            if (head == 0 && query == 0)
                cover = row_cover;
            if (row_cover == ATTNZOO_TILE_MIXED || row_cover != cover)
                return ATTNZOO_TILE_MIXED;
        }
    return cover;
}

enum attnzoo_tile_cover attnzoo_mask_tile_cover(const struct attnzoo_mask_plan *plan, const struct attnzoo_tile *tile,
                                                bool segments_are_spans)
{
    enum attnzoo_tile_cover by_segments = ATTNZOO_TILE_CLEAR, by_boolean = ATTNZOO_TILE_CLEAR;
    if (plan->description->segments.is_set && !segments_are_spans)
        by_segments = attnzoo_mask_segments_cover(plan, tile);
    if (plan->description->allowed.is_set && by_segments != ATTNZOO_TILE_HIDDEN)
        by_boolean = allowed_cover(plan, tile);
    return (enum attnzoo_tile_cover)attnzoo_base_minimum(by_segments, by_boolean);
}

int64_t attnzoo_mask_row_floats(int64_t key_count)
{
    /* A row of bias, and a row of bytes. */
    return key_count + attnzoo_base_divide_up(key_count, (int64_t)sizeof(float));
}

static void apply_linear_bias(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query,
                              int64_t first_key, int64_t count, float *scores)
{
    const struct attnzoo_view *slopes = &plan->description->slopes.view;
    float slope;
    attnzoo_kernel_widen(&slope, slopes->data + head * slopes->strides[0] * attnzoo_base_dtype_size(slopes->dtype),
                         slopes->dtype, 1, 1);
    int64_t distance = attnzoo_mask_position(plan, batch, query) - first_key;
    attnzoo_kernel_vectors()->add_linear_bias(scores, count, slope, distance);
}

static void apply_bias(const struct attnzoo_grid *bias, const char *row, int64_t count, float *scores, float *memory)
{
    int64_t stride = bias->stride[ATTNZOO_COLUMN];
    const void *start = row;
    const float *values = start;
    if (bias->dtype != ATTNZOO_DTYPE_FLOAT32 || stride != 1) {
        attnzoo_kernel_widen(memory, row, bias->dtype, stride, count);
        values = memory;
    }
    attnzoo_kernel_vectors()->add_bias(scores, values, count);
}

static void apply_allowed(const struct attnzoo_grid *allowed, const char *row, int64_t count, float lowest,
                          float *scores, uint8_t *memory)
{
    int64_t stride = allowed->stride[ATTNZOO_COLUMN];
    const uint8_t *values = (const uint8_t *)row;
    if (allowed->dtype != ATTNZOO_DTYPE_BOOL || stride != 1) {
        int64_t step = stride * attnzoo_base_dtype_size(allowed->dtype);
        for (int64_t i = 0; i < count; i++)
            memory[i] = attnzoo_kernel_integer_at(row + i * step, allowed->dtype) != 0;
        values = memory;
    }
    attnzoo_kernel_vectors()->hide(scores, values, count, lowest);
}

static void prefetch_row(const struct attnzoo_grid *grid, int64_t batch, int64_t head, int64_t query, int64_t first_key,
                         int64_t count)
{
    enum { LINE = 64 };
    const char *row = attnzoo_grid_at(grid, batch, head, query, first_key);
    int64_t bytes = count * attnzoo_base_dtype_size(grid->dtype);
    for (int64_t byte = 0; grid->stride[ATTNZOO_COLUMN] == 1 && byte < bytes; byte += LINE)
        __builtin_prefetch(row + byte);
}

void attnzoo_mask_prefetch(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query,
                           int64_t first_key, int64_t count)
{
    if (plan->description->bias.is_set)
        prefetch_row(&plan->bias, batch, head, query, first_key, count);
    if (plan->description->allowed.is_set)
        prefetch_row(&plan->allowed, batch, head, query, first_key, count);
}

void attnzoo_mask_apply(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query,
                        int64_t first_key, int64_t count, bool is_clear, float *scores, float *memory)
{
    const struct attnzoo_mask_description *description = plan->description;
    uint8_t *bytes = (uint8_t *)(memory + count);
    /* To which scores that the query sees are raised; biases have done it when they come first. */
    float lowest = plan->is_dense ? -FLT_MAX : -INFINITY;
    if (description->slopes.is_set)
        apply_linear_bias(plan, batch, head, query, first_key, count, scores);
    if (plan->distance_bias != NULL) {
        attnzoo_mask_fill_distance_row(plan, batch, head, query, first_key, count, memory);
        attnzoo_kernel_vectors()->add_bias(scores, memory, count);
    }
    if (description->bias.is_set)
        apply_bias(&plan->bias, attnzoo_grid_at(&plan->bias, batch, head, query, first_key), count, scores, memory);
    if (description->slopes.is_set || plan->distance_bias != NULL || description->bias.is_set)
        lowest = -INFINITY;
    if (description->allowed.is_set && !is_clear) {
        apply_allowed(&plan->allowed, attnzoo_grid_at(&plan->allowed, batch, head, query, first_key), count, lowest,
                      scores, bytes);
        lowest = -INFINITY;
    }
    if (description->segments.is_set && !is_clear) {
        attnzoo_mask_fill_segment_row(plan, batch, query, first_key, count, bytes);
        attnzoo_kernel_vectors()->hide(scores, bytes, count, lowest);
        lowest = -INFINITY;
    }
    if (lowest == -FLT_MAX)
        attnzoo_kernel_vectors()->saturate(scores, count);
}

bool attnzoo_mask_sees(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    struct attnzoo_key_span span = attnzoo_mask_head_span(plan, batch, head, query);
    if (key < span.first || key >= span.end)
        return false;
    const struct attnzoo_mask_description *description = plan->description;
    if (description->allowed.is_set && !is_allowed(plan, batch, head, query, key))
        return false;
    if (description->bias.is_set) {
        float bias;
        attnzoo_kernel_widen(&bias, attnzoo_grid_at(&plan->bias, batch, head, query, key), plan->bias.dtype, 1, 1);
        if (bias == -INFINITY)
            return false;
    }
    if (plan->distance_bias != NULL) {
        float bias;
        attnzoo_mask_fill_distance_row(plan, batch, head, query, key, 1, &bias);
        if (bias == -INFINITY)
            return false;
    }
    return !description->segments.is_set || attnzoo_mask_is_one_segment(plan, batch, query, key);
}
