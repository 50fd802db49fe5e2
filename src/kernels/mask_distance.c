/*
 * kernels/mask_distance.c: biases that are steps of the distance from query to key: a number for each range of
 * distances and each head. The matrix of biases is never made; a row of a tile is, as a few runs of one number each.
 */
#include "kernels/mask.h"

#include "base/checked.h"

void attnzoo_mask_add_distance_bias(struct attnzoo_mask_plan *plan, const struct attnzoo_distance_bias *bias)
{
    plan->distance_bias = bias;
    plan->is_dense = true;
}

/* The step that a distance is on: the last that begins at or before it. */
static int64_t step_of(const struct attnzoo_distance_bias *bias, int64_t distance)
{
    int64_t low = 0, high = bias->step_count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (bias->first[middle] <= distance)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void attnzoo_mask_fill_distance_row(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query,
                                    int64_t first_key, int64_t count, float *row)
{
    const struct attnzoo_distance_bias *bias = plan->distance_bias;
    const float *values = bias->values + head * bias->step_count;
    int64_t distance = first_key - attnzoo_mask_position(plan, batch, query);
    int64_t step = step_of(bias, distance);
    for (int64_t i = 0; i < count; step++) {
        int64_t end = count;
        if (step + 1 < bias->step_count)
            end = attnzoo_base_minimum(bias->first[step + 1] - distance, count);
        for (; i < end; i++)
            row[i] = values[step];
    }
}
