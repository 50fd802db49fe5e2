/*
 * heat_map.c: draws attention with libgd. The paper is white and not transparent, so that the ink can be read wherever the
 * picture is shown.
 */
#include "heat_map.h"

#include "colour_scale.h"
#include "heat_cells.h"
#include "heat_text.h"
#include "heat_ticks.h"

#include <gd.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLOUR_PAPER = 0xffffff,
    COLOUR_FRAME = 0x8a9099,
    COLOUR_BROKEN = 0xe6194b,
    COLOUR_OUTSIDE = 0xececec,
    COLOUR_HATCH = 0xbdbdbd,
    MARGIN = 8,
    HATCH_STEP = 6,
    BAR_WIDTH = 18,
    BAR_HEIGHT_MAX = 320,
    BAR_HEIGHT_MIN = 80,
    TICK_LENGTH = 4,
    SWATCH_SIDE = 16
};

/* A picture in the making. */
struct drawing {
    const struct heat_map *map;
    struct heat_layout layout;
    gdImagePtr image;
    /* Cells of all panels, one panel after another. */
    struct heat_cell *cells;
    /* The weight at the top of the colour scale; where is_capped, some are above it. */
    float highest;
    bool is_capped;
    bool has_broken;
    bool has_outside;
};

static void keep_silent(int priority, const char *format, va_list arguments)
{
    (void)priority;
    (void)format;
    (void)arguments;
}

static struct heat_cell *panel_cells(const struct drawing *drawing, int batch, int head)
{
    const struct heat_layout *layout = &drawing->layout;
    return drawing->cells +
           ((size_t)batch * (size_t)layout->heads + (size_t)head) * (size_t)layout->rows * (size_t)layout->columns;
}

static int compare_weights(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

/* The highest weight of a panel; sees on the way what the legend needs. */
static float panel_highest(struct drawing *drawing, const struct heat_cell *cells)
{
    float highest = 0.0f;
    for (int index = 0; index < drawing->layout.rows * drawing->layout.columns; index++) {
        drawing->has_broken = drawing->has_broken || cells[index].kind == HEAT_CELL_BROKEN;
        drawing->has_outside = drawing->has_outside || cells[index].kind == HEAT_CELL_OUTSIDE;
        if (cells[index].kind == HEAT_CELL_WEIGHT && cells[index].weight > highest)
            highest = cells[index].weight;
    }
    return highest;
}

/*
 * The scale reaches to the highest weight, but no further than twice what the middle one of the panels has as its
 * highest, so that one head with sharp weights does not darken all others. Panels without any weight do not count; where
 * there is none at all, the scale is that of all weights that could be, from 0 to 1.
 */
static enum outcome choose_scale(struct drawing *drawing)
{
    const struct heat_layout *layout = &drawing->layout;
    float *highest = calloc((size_t)layout->batches * (size_t)layout->heads + 1, sizeof *highest);
    if (highest == NULL)
        return fail("not enough memory for the heat map");
    drawing->highest = 1.0f;
    size_t count = 0;
    for (int batch = 0; batch < layout->batches; batch++) {
        for (int head = 0; head < layout->heads; head++) {
            highest[count] = panel_highest(drawing, panel_cells(drawing, batch, head));
            count += highest[count] > 0.0f;
        }
    }
    if (count > 0) {
        qsort(highest, count, sizeof *highest, compare_weights);
        drawing->highest = highest[count - 1];
        drawing->is_capped = drawing->highest > 2.0f * highest[count / 2];
        if (drawing->is_capped)
            drawing->highest = 2.0f * highest[count / 2];
    }
    free(highest);
    return OUTCOME_OK;
}

/* Fills the cells of all panels and finds out what the colour scale and the legend need. */
static enum outcome prepare_cells(struct drawing *drawing)
{
    const struct heat_layout *layout = &drawing->layout;
    const struct heat_map *map = drawing->map;
    size_t count = (size_t)layout->batches * (size_t)layout->heads * (size_t)layout->rows * (size_t)layout->columns;
    drawing->cells = calloc(count + 1, sizeof *drawing->cells);
    if (drawing->cells == NULL)
        return fail("not enough memory for the heat map");
    for (int batch = 0; batch < layout->batches; batch++) {
        for (int head = 0; head < layout->heads; head++) {
            struct heat_plane plane = {
                .weights = map->attention + (batch * map->heads + head) * map->queries * map->keys,
                .queries = map->queries,
                .keys = map->keys,
                .query_length = map->query_lengths == NULL ? map->queries : map->query_lengths[batch],
                .key_length = map->key_lengths == NULL ? map->keys : map->key_lengths[batch],
            };
            heat_cells_fill(panel_cells(drawing, batch, head), layout->rows, layout->columns, &plane);
        }
    }
    return choose_scale(drawing);
}

static void fill_hatched(gdImagePtr image, int left, int top, int width, int height)
{
    for (int y = top; y < top + height; y++) {
        for (int x = left; x < left + width; x++)
            gdImageSetPixel(image, x, y, (x + y) % HATCH_STEP == 0 ? COLOUR_HATCH : COLOUR_OUTSIDE);
    }
}

/*
 * The colour of a weight, given as a fraction of the top of the scale. Most weights are small beside the highest; along
 * its square root both can be told apart.
 */
static int weight_colour(double fraction)
{
    return colour_scale(sqrt(fraction > 1.0 ? 1.0 : fraction > 0.0 ? fraction : 0.0));
}

static void draw_cell(const struct drawing *drawing, const struct heat_cell *cell, int x, int y)
{
    int width = drawing->layout.cell_width, height = drawing->layout.cell_height;
    if (cell->kind == HEAT_CELL_OUTSIDE) {
        fill_hatched(drawing->image, x, y, width, height);
        return;
    }
    int colour = COLOUR_BROKEN;
    if (cell->kind == HEAT_CELL_WEIGHT)
        colour = weight_colour((double)cell->weight / (double)drawing->highest);
    gdImageFilledRectangle(drawing->image, x, y, x + width - 1, y + height - 1, colour);
}

static void draw_panel(const struct drawing *drawing, int batch, int head)
{
    const struct heat_layout *layout = &drawing->layout;
    int left = heat_layout_panel_x(layout, head), top = heat_layout_panel_y(layout, batch, head);
    const struct heat_cell *cells = panel_cells(drawing, batch, head);
    for (int row = 0; row < layout->rows; row++) {
        for (int column = 0; column < layout->columns; column++)
            draw_cell(drawing, &cells[row * layout->columns + column], left + column * layout->cell_width,
                      top + row * layout->cell_height);
    }
    gdImageRectangle(drawing->image, left - 1, top - 1, left + layout->panel_width, top + layout->panel_height,
                     COLOUR_FRAME);
    heat_ticks_draw(drawing->image, drawing->map, layout, left, top);
    char text[64] = "";
    /* Where there is one panel a batch it may be that of the only head, or the mean of several. */
    if (drawing->map->heads > 1 && drawing->map->batches > 1)
        snprintf(text, sizeof text, "batch %d, head %d", batch, head);
    else if (drawing->map->heads > 1)
        snprintf(text, sizeof text, "head %d", head);
    else if (drawing->map->batches > 1)
        snprintf(text, sizeof text, "batch %d", batch);
    heat_text_draw(drawing->image, HEAT_TEXT_TITLE, left, top - heat_text_height(HEAT_TEXT_TITLE) - 5, text);
    /* Axes are named where a panel has no neighbour on that side. */
    if (head % layout->panels_across == 0)
        heat_text_draw_up(drawing->image, HEAT_TEXT_PLAIN, MARGIN,
                          top + (layout->panel_height + heat_text_width(HEAT_TEXT_PLAIN, "query")) / 2, "query");
    if (head + layout->panels_across >= layout->heads)
        heat_text_draw(drawing->image, HEAT_TEXT_PLAIN,
                       left + (layout->panel_width - heat_text_width(HEAT_TEXT_PLAIN, "key")) / 2,
                       top + layout->panel_height + layout->below, "key");
}

static void draw_swatch(const struct drawing *drawing, int x, int y, enum heat_cell_kind kind, const char *text)
{
    if (kind == HEAT_CELL_OUTSIDE)
        fill_hatched(drawing->image, x, y, SWATCH_SIDE, SWATCH_SIDE);
    else
        gdImageFilledRectangle(drawing->image, x, y, x + SWATCH_SIDE - 1, y + SWATCH_SIDE - 1, COLOUR_BROKEN);
    gdImageRectangle(drawing->image, x - 1, y - 1, x + SWATCH_SIDE, y + SWATCH_SIDE, COLOUR_FRAME);
    heat_text_draw(drawing->image, HEAT_TEXT_PLAIN, x + SWATCH_SIDE + 6, y + 1, text);
}

static void draw_colour_bar(const struct drawing *drawing)
{
    const struct heat_layout *layout = &drawing->layout;
    int left = layout->colour_bar_left, top = layout->top;
    int height = layout->height - top - (24 + 2 * (SWATCH_SIDE + 10));
    height = height > BAR_HEIGHT_MAX ? BAR_HEIGHT_MAX : height < BAR_HEIGHT_MIN ? BAR_HEIGHT_MIN : height;
    for (int row = 0; row < height; row++)
        gdImageLine(drawing->image, left, top + row, left + BAR_WIDTH - 1, top + row,
                    colour_scale(1.0 - (row + 0.5) / height));
    gdImageRectangle(drawing->image, left - 1, top - 1, left + BAR_WIDTH, top + height, COLOUR_FRAME);
    heat_text_draw(drawing->image, HEAT_TEXT_TITLE, left, top - heat_text_height(HEAT_TEXT_TITLE) - 12, "weight");
    enum { STEPS = 4 };
    for (int step = 0; step <= STEPS; step++) {
        char text[32];
        int y = top + height - 1 - (height - 1) * step / STEPS;
        double fraction = (double)step / STEPS;
        snprintf(text, sizeof text, "%.2g%s", (double)drawing->highest * fraction * fraction,
                 drawing->is_capped && step == STEPS ? "+" : "");
        gdImageLine(drawing->image, left + BAR_WIDTH + 1, y, left + BAR_WIDTH + TICK_LENGTH, y, COLOUR_FRAME);
        heat_text_draw(drawing->image, HEAT_TEXT_PLAIN, left + BAR_WIDTH + TICK_LENGTH + 4,
                       y - heat_text_height(HEAT_TEXT_PLAIN) / 2, text);
    }
    int y = top + height + 24;
    if (drawing->has_outside) {
        draw_swatch(drawing, left, y, HEAT_CELL_OUTSIDE, "padding");
        y += SWATCH_SIDE + 10;
    }
    if (drawing->has_broken)
        draw_swatch(drawing, left, y, HEAT_CELL_BROKEN, "NaN");
}

/* How the colours are to be read, and what the picture leaves out. */
static void describe_picture(const struct drawing *drawing, char *text, size_t capacity)
{
    const struct heat_map *map = drawing->map;
    const struct heat_layout *layout = &drawing->layout;
    if (layout->batches == 0 || layout->heads == 0) {
        snprintf(text, capacity, "There is nothing to draw.");
        return;
    }
    int length = snprintf(text, capacity, "Colours follow the square root of the weight%s. ",
                          layout->batches * layout->heads > 1 ? ", alike in all panels" : "");
    if (drawing->is_capped)
        length += snprintf(text + length, capacity - (size_t)length, "Weights above %.2g have its colour. ",
                           (double)drawing->highest);
    if (layout->batches < map->batches)
        length += snprintf(text + length, capacity - (size_t)length, "The first %d of %" PRId64 " batches. ",
                           layout->batches, map->batches);
    if (layout->heads < map->heads)
        length += snprintf(text + length, capacity - (size_t)length, "The first %d of %" PRId64 " heads. ",
                           layout->heads, map->heads);
    if (layout->rows < map->queries || layout->columns < map->keys)
        snprintf(text + length, capacity - (size_t)length,
                 "A cell has the largest of up to %" PRId64 " x %" PRId64 " weights.",
                 (map->queries + layout->rows - 1) / layout->rows, (map->keys + layout->columns - 1) / layout->columns);
}

static enum outcome write_png(gdImagePtr image, FILE *stream)
{
    int size = 0;
    void *bytes = gdImagePngPtr(image, &size);
    if (bytes == NULL)
        return fail("the heat map could not be written as PNG");
    fwrite(bytes, 1, (size_t)size, stream);
    gdFree(bytes);
    return OUTCOME_OK;
}

static enum outcome draw(struct drawing *drawing, FILE *stream)
{
    struct heat_layout *layout = &drawing->layout;
    char remarks[320];
    describe_picture(drawing, remarks, sizeof remarks);
    int title_width = heat_text_width(HEAT_TEXT_TITLE, drawing->map->title);
    int needed = heat_text_width(HEAT_TEXT_PLAIN, remarks);
    needed = 2 * MARGIN + (title_width > needed ? title_width : needed);
    int width = layout->width > needed ? layout->width : needed;
    drawing->image = gdImageCreateTrueColor(width, layout->height);
    if (drawing->image == NULL)
        return fail("not enough memory for the heat map");
    gdImageFilledRectangle(drawing->image, 0, 0, width - 1, layout->height - 1, COLOUR_PAPER);
    heat_text_draw(drawing->image, HEAT_TEXT_TITLE, MARGIN, MARGIN, drawing->map->title);
    heat_text_draw(drawing->image, HEAT_TEXT_PLAIN, MARGIN, 27, remarks);
    for (int batch = 0; batch < layout->batches; batch++) {
        for (int head = 0; head < layout->heads; head++)
            draw_panel(drawing, batch, head);
    }
    if (layout->panels_across > 0)
        draw_colour_bar(drawing);
    return write_png(drawing->image, stream);
}

static struct heat_layout make_layout(const struct heat_map *map)
{
    struct heat_label_room room = heat_ticks_prepare(map);
    return heat_layout_make(map->batches, map->heads, map->queries, map->keys, &room);
}

struct heat_layout heat_map_layout(const struct heat_map *map)
{
    heat_text_start();
    struct heat_layout layout = make_layout(map);
    heat_text_stop();
    return layout;
}

enum outcome heat_map_write(const struct heat_map *map, FILE *stream)
{
    /* libgd would write its complaints to standard error. */
    gdSetErrorMethod(keep_silent);
    heat_text_start();
    struct drawing drawing = {.map = map, .layout = make_layout(map)};
    enum outcome outcome = prepare_cells(&drawing);
    if (outcome == OUTCOME_OK)
        outcome = draw(&drawing, stream);
    heat_text_stop();
    if (drawing.image != NULL)
        gdImageDestroy(drawing.image);
    free(drawing.cells);
    return outcome;
}
