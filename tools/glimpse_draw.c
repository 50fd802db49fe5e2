/*
 * glimpse_draw.c: attention to tiles of a picture, drawn over the picture: each tile in the colour of its weight,
 * through which the picture shows in grey.
 */
#include "glimpse_make.h"

#include "colour_scale.h"
#include "operand.h"
#include "picture.h"
#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { COLOUR_BROKEN = 0xe6194b };

/* How much of a pixel is the colour of its weight. */
static const double cover = 0.6;

/* Everything that is drawn from; all zero is nothing and may be freed. */
struct drawing {
    const struct glimpse_arguments *arguments;
    /* [H, W, 3] */
    struct array picture;
    /* [M], a weight for each tile. */
    struct array weights;
    /* [H, W], a weight for each pixel. */
    struct operand map;
};

/* The attention as [B, H, N, M], of which the leading ones may be 1, and from where to where rows are taken. */
struct selection {
    int64_t sizes[4];
    int64_t first[4];
    int64_t last[4];
};

static enum outcome select_axis(struct selection *selection, int axis, int64_t index, const char *option, bool has_axis)
{
    if (index < 0)
        return OUTCOME_OK;
    if (!has_axis)
        return fail_usage("--%s %" PRId64 ": the attention has no such axis", option, index);
    if (index >= selection->sizes[axis])
        return fail_usage("--%s %" PRId64 ": the attention has %" PRId64 ", counted from 0", option, index,
                          selection->sizes[axis]);
    selection->first[axis] = index;
    selection->last[axis] = index + 1;
    return OUTCOME_OK;
}

static enum outcome make_selection(struct selection *selection, const struct array *attention, int64_t tiles,
                                   const struct glimpse_arguments *arguments)
{
    char text[ARRAY_SHAPE_TEXT_SIZE];
    array_shape_text(attention, text);
    if (attention->rank < 1 || attention->rank > 4)
        return fail("%s: has shape %s, must have 1 to 4 axes, the tiles last", arguments->attention, text);
    for (int axis = 0; axis < 4; axis++) {
        int from = axis - (4 - attention->rank);
        selection->sizes[axis] = from < 0 ? 1 : attention->shape[from];
        selection->first[axis] = 0;
        selection->last[axis] = selection->sizes[axis];
    }
    if (selection->sizes[3] != tiles)
        return fail("%s: has shape %s, but %s has %" PRId64 " tiles", arguments->attention, text, arguments->input,
                    tiles);
    enum outcome outcome = select_axis(selection, 2, arguments->query, "query", attention->rank >= 2);
    if (outcome == OUTCOME_OK)
        outcome = select_axis(selection, 1, arguments->head, "head", attention->rank >= 3);
    return outcome;
}

/* An element of a float type, by way of the library, which knows them all. */
static enum outcome widen(struct operand *wide, const struct operand *given, const char *name)
{
    const int64_t count = array_element_count(&given->array), one = 1;
    attnzoo_tensor *flat = NULL;
    enum outcome outcome = array_allocate(&wide->array, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){count, 1}, name);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(wide, name);
    if (outcome == OUTCOME_OK)
        outcome = check_library(
            attnzoo_tensor_create_readonly(&flat, given->array.data, given->array.dtype, 1, &count, NULL), name);
    if (outcome == OUTCOME_OK)
        outcome = check_library(attnzoo_glimpse_tiles(flat, 1, &one, NULL, 0, 0.0, wide->view), name);
    attnzoo_tensor_destroy(flat);
    return outcome;
}

/* The mean over what is selected, a weight for each tile; `sums` has as many zeros. */
static void average(float *weights, double *sums, const float *attention, const struct selection *selection)
{
    const int64_t *first = selection->first, *last = selection->last, *sizes = selection->sizes;
    double rows = (double)(last[0] - first[0]) * (double)(last[1] - first[1]) * (double)(last[2] - first[2]);
    for (int64_t batch = first[0]; batch < last[0]; batch++) {
        for (int64_t head = first[1]; head < last[1]; head++) {
            for (int64_t query = first[2]; query < last[2]; query++) {
                const float *row = attention + ((batch * sizes[1] + head) * sizes[2] + query) * sizes[3];
                for (int64_t tile = 0; tile < sizes[3]; tile++)
                    sums[tile] += (double)row[tile];
            }
        }
    }
    for (int64_t tile = 0; tile < sizes[3]; tile++)
        weights[tile] = rows > 0.0 ? (float)(sums[tile] / rows) : 0.0f;
}

static enum outcome read_weights(struct drawing *drawing)
{
    const struct glimpse_arguments *arguments = drawing->arguments;
    struct operand attention = {0}, wide = {0};
    struct selection selection = {0};
    int64_t tiles = 0;
    enum outcome outcome = glimpse_count_tiles(arguments, 2, drawing->picture.shape, &tiles);
    if (outcome == OUTCOME_OK)
        outcome = array_read(&attention.array, "attention", arguments->attention);
    if (outcome == OUTCOME_OK)
        outcome = make_selection(&selection, &attention.array, tiles, arguments);
    if (outcome == OUTCOME_OK)
        outcome = widen(&wide, &attention, arguments->attention);
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&drawing->weights, ATTNZOO_DTYPE_FLOAT32, 1, &tiles, arguments->attention);
    double *sums = outcome == OUTCOME_OK ? calloc((size_t)tiles, sizeof *sums) : NULL;
    if (outcome == OUTCOME_OK && sums == NULL)
        outcome = fail("%s: not enough memory", arguments->attention);
    if (outcome == OUTCOME_OK)
        average(drawing->weights.data, sums, wide.array.data, &selection);
    free(sums);
    operand_free(&wide);
    operand_free(&attention);
    return outcome;
}

/* Each tile is all of its own weight; where tiles overlap, the library takes the mean. */
static enum outcome spread_weights(struct drawing *drawing)
{
    const struct glimpse_arguments *arguments = drawing->arguments;
    const char *name = arguments->input;
    attnzoo_tensor *tiles = NULL;
    int64_t shape[2] = {drawing->weights.shape[0], 0};
    enum outcome outcome = OUTCOME_OK;
    if (__builtin_mul_overflow(arguments->tile[0], arguments->tile[1], &shape[1]))
        outcome = fail("%s: the tiles are too large", name);
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&drawing->map.array, ATTNZOO_DTYPE_FLOAT32, 2, drawing->picture.shape, name);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(&drawing->map, name);
    if (outcome == OUTCOME_OK)
        outcome = check_library(attnzoo_tensor_create_readonly(&tiles, drawing->weights.data, ATTNZOO_DTYPE_FLOAT32, 2,
                                                               shape, (int64_t[]){1, 0}),
                                name);
    if (outcome == OUTCOME_OK)
        outcome = check_library(
            attnzoo_glimpse_untile(tiles, 2, arguments->tile, arguments->step, arguments->edge, drawing->map.view),
            name);
    attnzoo_tensor_destroy(tiles);
    return outcome;
}

static float highest_of(const struct array *map)
{
    const float *weights = map->data;
    float highest = 0.0f;
    for (int64_t index = 0; index < array_element_count(map); index++) {
        if (weights[index] > highest && isfinite(weights[index]))
            highest = weights[index];
    }
    return highest;
}

/* Most weights are small beside the highest; along its square root both can be told apart, as in heat maps. */
static int colour_of(float weight, float highest)
{
    if (isnan(weight))
        return COLOUR_BROKEN;
    double fraction = highest > 0.0f ? (double)weight / (double)highest : 0.0;
    return colour_scale(fraction > 0.0 ? sqrt(fraction < 1.0 ? fraction : 1.0) : 0.0);
}

static void paint(unsigned char *pixels, const struct drawing *drawing)
{
    const float *picture = drawing->picture.data, *weights = drawing->map.array.data;
    float highest = highest_of(&drawing->map.array);
    for (int64_t index = 0; index < array_element_count(&drawing->map.array); index++) {
        const float *colours = picture + 3 * index;
        /* The luma of ITU-R BT.709. */
        double grey = 0.2126 * (double)colours[0] + 0.7152 * (double)colours[1] + 0.0722 * (double)colours[2];
        int colour = colour_of(weights[index], highest);
        for (int channel = 0; channel < 3; channel++) {
            double wanted = (double)(colour >> (16 - 8 * channel) & 0xff);
            pixels[3 * index + channel] = (unsigned char)(cover * wanted + (1.0 - cover) * 255.0 * grey + 0.5);
        }
    }
}

enum outcome glimpse_draw(const struct glimpse_arguments *arguments, FILE *stream)
{
    struct drawing drawing = {.arguments = arguments};
    unsigned char *pixels = NULL;
    enum outcome outcome = picture_read(&drawing.picture, arguments->input, false);
    if (outcome == OUTCOME_OK)
        outcome = read_weights(&drawing);
    progress_set("drawing", NULL);
    if (outcome == OUTCOME_OK)
        outcome = spread_weights(&drawing);
    if (outcome == OUTCOME_OK) {
        pixels = malloc((size_t)array_element_count(&drawing.picture));
        if (pixels == NULL)
            outcome = fail("%s: not enough memory for the picture", arguments->output);
    }
    if (outcome == OUTCOME_OK) {
        paint(pixels, &drawing);
        progress_set("writing", NULL);
        outcome = picture_write(pixels, drawing.picture.shape[0], drawing.picture.shape[1], stream);
    }
    free(pixels);
    operand_free(&drawing.map);
    array_free(&drawing.weights);
    array_free(&drawing.picture);
    return outcome;
}
