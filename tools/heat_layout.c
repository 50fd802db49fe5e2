/*
 * heat_layout.c: fits panels into a picture of a size that a page can show.
 */
#include "heat_layout.h"

#include <math.h>

enum {
    HEADS_MAX = 32,
    HEADS_MAX_OF_BATCHES = 8,
    BATCHES_MAX = 4,
    PANELS_WIDTH = 1280,
    PANEL_SIDE_MAX = 600,
    PANEL_SIDE_MIN = 140,
    /* Of the shorter side. */
    PANEL_SIDE_LEAST = 24,
    CELL_SIDE_MAX = 40,
    /* Cells of a few queries over many keys are drawn this much taller than wide, so that a diagonal stands out. */
    STRETCH_MAX = 4,
    DIGIT_WIDTH = 8,
    LEFT_MARGIN = 30,
    TOP_MARGIN = 54,
    PANEL_TITLE_HEIGHT = 24,
    TICKS_HEIGHT = 26,
    BOTTOM_MARGIN = 28,
    GAP = 22,
    /* Beside few or flat panels the colour bar and its legend still need room. */
    HEIGHT_MIN = 240,
    COLOUR_BAR_WIDTH = 116
};

static int smaller(int64_t left, int64_t right)
{
    return (int)(left < right ? left : right);
}

static int digits_width(int64_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits * DIGIT_WIDTH + 10;
}

static int stretched(int cell_side, int short_count, int long_pixels)
{
    int stretch = long_pixels / 2 / (cell_side * short_count);
    if (stretch > STRETCH_MAX)
        stretch = STRETCH_MAX;
    int pixels = stretch > 1 ? cell_side * stretch : cell_side;
    return pixels * short_count < PANEL_SIDE_LEAST ? PANEL_SIDE_LEAST / short_count : pixels;
}

/* Cells for an axis of `count` beside one of `longer`: alike in scale, but not so few that detail goes. */
static int cells_of(int64_t count, int64_t longer, int side)
{
    double alike = (double)count / (double)longer * side;
    int64_t most = alike > side / 2 ? (int64_t)(alike + 0.5) : side / 2;
    return smaller(count, most);
}

/* Sets cells and panel so that the panel's longer side is about `side` pixels. */
static void size_panel(struct heat_layout *layout, int64_t queries, int64_t keys, int side)
{
    int64_t longer_axis = keys > queries ? keys : queries;
    layout->columns = longer_axis > 0 ? cells_of(keys, longer_axis, side) : 0;
    layout->rows = longer_axis > 0 ? cells_of(queries, longer_axis, side) : 0;
    int longer = layout->columns > layout->rows ? layout->columns : layout->rows;
    int cell_side = longer > 0 ? smaller(side / longer, CELL_SIDE_MAX) : 1;
    layout->cell_width = layout->cell_height = cell_side;
    if (layout->rows > 0 && layout->columns > layout->rows)
        layout->cell_height = stretched(cell_side, layout->rows, layout->columns * cell_side);
    if (layout->columns > 0 && layout->rows > layout->columns)
        layout->cell_width = stretched(cell_side, layout->columns, layout->rows * cell_side);
    layout->panel_width = layout->columns * layout->cell_width;
    layout->panel_height = layout->rows * layout->cell_height;
}

/* Panels of this shape go side by side so that the picture is somewhat wider than tall, with few places empty. */
static int choose_panels_across(int heads, double panel_aspect)
{
    int best = 1;
    double least = INFINITY;
    for (int across = 1; across <= heads; across++) {
        int down = (heads + across - 1) / across;
        double aspect = panel_aspect * across / down;
        double empty = (double)(across * down - heads) / heads;
        double badness = fabs(log(aspect / 1.5)) + empty;
        if (badness < least) {
            least = badness;
            best = across;
        }
    }
    return best;
}

struct heat_layout heat_layout_make(int64_t batches, int64_t heads, int64_t queries, int64_t keys)
{
    struct heat_layout layout = {.batches = smaller(batches, BATCHES_MAX),
                                 .heads = smaller(heads, batches > 1 ? HEADS_MAX_OF_BATCHES : HEADS_MAX)};
    if (queries == 0 || keys == 0)
        layout.batches = layout.heads = 0;
    int beside = digits_width(queries - 1) + GAP;
    int above_and_below = PANEL_TITLE_HEIGHT + TICKS_HEIGHT + GAP;
    size_panel(&layout, queries, keys, PANEL_SIDE_MAX);
    layout.panels_across = layout.heads;
    if (layout.batches == 1 && layout.heads > 0)
        layout.panels_across = choose_panels_across(
            layout.heads, (double)(layout.panel_width + beside) / (layout.panel_height + above_and_below));
    layout.panels_down = 0;
    if (layout.panels_across > 0) {
        layout.panels_down = layout.batches * ((layout.heads + layout.panels_across - 1) / layout.panels_across);
        int side = PANELS_WIDTH / layout.panels_across - beside;
        if (side > PANEL_SIDE_MAX)
            side = PANEL_SIDE_MAX;
        size_panel(&layout, queries, keys, side > PANEL_SIDE_MIN ? side : PANEL_SIDE_MIN);
    }
    layout.step_across = layout.panel_width + beside;
    layout.step_down = layout.panel_height + above_and_below;
    layout.left = LEFT_MARGIN + beside - GAP;
    layout.top = TOP_MARGIN + PANEL_TITLE_HEIGHT;
    layout.width = LEFT_MARGIN + layout.panels_across * layout.step_across + COLOUR_BAR_WIDTH;
    layout.height = TOP_MARGIN + layout.panels_down * layout.step_down + BOTTOM_MARGIN;
    if (layout.panels_across > 0 && layout.height < HEIGHT_MIN)
        layout.height = HEIGHT_MIN;
    return layout;
}

int heat_layout_panel_x(const struct heat_layout *layout, int head)
{
    return layout->left + head % layout->panels_across * layout->step_across;
}

int heat_layout_panel_y(const struct heat_layout *layout, int batch, int head)
{
    int row = batch * (layout->panels_down / layout->batches) + head / layout->panels_across;
    return layout->top + row * layout->step_down;
}
