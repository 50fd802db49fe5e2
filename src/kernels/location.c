/*
 * kernels/location.c: location terms, windows and first alignments. What is done with them is the mechanism's.
 *
 * A thread's scratch for some keys:
 *
 *   | their neighbourhoods [keys, channels * W] | a spare row | features [keys, F] | a spare row |
 */
#include "kernels/location.h"

#include "base/checked.h"
#include "kernels/projection.h"
#include "kernels/vectors.h"

#include <string.h>

enum {
    KEYS_PER_ITEM = 128,
    /* BLIS up to 1.0 reads one row past the end of a left operand. */
    SPARE_ROWS = 1
};

static int64_t neighbourhood(const struct attnzoo_location_layers *layers)
{
    return layers->channel_count * layers->width;
}

bool attnzoo_location_scratch_bytes(const struct attnzoo_location *location, int64_t *bytes)
{
    const struct attnzoo_location_layers *layers = location->layers;
    int64_t inputs, floats;
    return attnzoo_base_multiply(layers->channel_count, layers->width, &inputs) &&
           attnzoo_base_add(inputs, layers->filter_count, &inputs) &&
           attnzoo_base_multiply(inputs, KEYS_PER_ITEM + SPARE_ROWS, &floats) &&
           attnzoo_base_multiply(floats, (int64_t)sizeof(float), bytes);
}

static const float *alignment_at(const struct attnzoo_location *location, int64_t batch, int64_t channel)
{
    const struct attnzoo_alignment *source = &location->sources[channel / location->head_count];
    return source->data + (batch * location->head_count + channel % location->head_count) * source->step;
}

/* The alignment around one key in every channel, with zeros beyond both ends. */
static void gather(const struct attnzoo_location *location, int64_t batch, int64_t key, int64_t length, float *packed)
{
    int64_t width = location->layers->width, first = key - width / 2;
    int64_t from = attnzoo_base_maximum(first, 0), to = attnzoo_base_minimum(first + width, length);
    memset(packed, 0, (size_t)neighbourhood(location->layers) * sizeof *packed);
    for (int64_t channel = 0; channel < location->layers->channel_count; channel++)
        memcpy(packed + channel * width + (from - first), alignment_at(location, batch, channel) + from,
               (size_t)(to - from) * sizeof *packed);
}

static void solve_item(const void *context, int64_t item, void *scratch)
{
    const struct attnzoo_location *location = context;
    const struct attnzoo_location_layers *layers = location->layers;
    int64_t blocks = attnzoo_base_divide_up(location->key_count, KEYS_PER_ITEM);
    int64_t batch = item / blocks, first = item % blocks * KEYS_PER_ITEM;
    int64_t length = attnzoo_mask_key_length(location->mask, batch / attnzoo_base_maximum(location->heads_apart, 1));
    int64_t keys = attnzoo_base_minimum(KEYS_PER_ITEM, length - first);
    if (keys <= 0)
        return;
    float *packed = scratch, *features = packed + (KEYS_PER_ITEM + SPARE_ROWS) * neighbourhood(layers);
    float *terms = location->terms + (batch * location->key_count + first) * layers->hidden_size;
    for (int64_t key = 0; key < keys; key++)
        gather(location, batch, first + key, length, packed + key * neighbourhood(layers));
    if (layers->projection == NULL)
        features = terms;
    attnzoo_projection_apply(keys, neighbourhood(layers), layers->filter_count, packed, layers->convolution,
                             layers->convolution_bias, features);
    if (layers->projection != NULL)
        attnzoo_projection_apply(keys, layers->filter_count, layers->hidden_size, features, layers->projection,
                                 layers->projection_bias, terms);
    if (layers->has_tanh)
        attnzoo_kernel_vectors()->hyperbolic_tangents(terms, keys * layers->hidden_size);
}

void attnzoo_location_solve(const struct attnzoo_location *location, const struct attnzoo_pool_claim *claim)
{
    int64_t blocks = attnzoo_base_divide_up(location->key_count, KEYS_PER_ITEM);
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){solve_item, location, location->batch_count * blocks, NULL});
}

void attnzoo_location_windows(const struct attnzoo_alignment *alignment, const struct attnzoo_mask_plan *mask,
                              int64_t reach, struct attnzoo_key_span *spans)
{
    for (int64_t row = 0; row < mask->batch_count * mask->head_count; row++) {
        const float *weights = alignment->data + row * alignment->step;
        int64_t length = attnzoo_mask_key_length(mask, row / mask->head_count), peak = -1;
        for (int64_t key = 0; key < length; key++)
            if (weights[key] > (peak < 0 ? 0.0f : weights[peak]))
                peak = key;
        spans[row] = (struct attnzoo_key_span){0, mask->key_count};
        if (peak < 0)
            continue;
        spans[row].first = peak - attnzoo_base_minimum(reach, peak);
        spans[row].end = peak + 1 + attnzoo_base_minimum(reach, mask->key_count - 1 - peak);
    }
}

static void start_row(float *weights, const struct attnzoo_mask_plan *mask, int64_t batch, int64_t head,
                      enum attnzoo_first_alignment first)
{
    int64_t seen = 0;
    memset(weights, 0, (size_t)mask->key_count * sizeof *weights);
    if (first == ATTNZOO_FIRST_ZEROS || mask->query_count == 0)
        return;
    for (int64_t key = 0; key < (first == ATTNZOO_FIRST_KEY ? 1 : mask->key_count); key++)
        if (key < mask->key_count && attnzoo_mask_sees(mask, batch, head, 0, key)) {
            weights[key] = 1.0f;
            seen++;
        }
    if (seen > 1)
        attnzoo_kernel_vectors()->scale(weights, weights, mask->key_count, (float)(1.0 / (double)seen));
}

void attnzoo_location_start(const struct attnzoo_alignment *alignment, const struct attnzoo_mask_plan *mask,
                            enum attnzoo_first_alignment first)
{
    for (int64_t batch = 0; batch < mask->batch_count; batch++)
        for (int64_t head = 0; head < mask->head_count; head++)
            start_row(alignment->data + (batch * mask->head_count + head) * alignment->step, mask, batch, head, first);
}
