/*
 * heat_layout.c: fits panels into a picture of a size that a page can show.
 */
#include "heat_layout.h"

#include <math.h>
#include <stddef.h>

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
    AXIS_NAME_HEIGHT = 18,
    BOTTOM_MARGIN = 16,
    /* Labels make cells larger as long as the picture stays within these. */
    LABELLED_WIDTH_MAX = 2000,
    LABELLED_HEIGHT_MAX = 2600,
    GAP = 22,
    /* Beside few or flat panels the colour bar and its legend still need room. */
    HEIGHT_MIN = 240,
    COLOUR_BAR_GAP = 12,
    COLOUR_BAR_WIDTH = 98
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
    int least = side / 2;
    int64_t most = alike > least ? (int64_t)(alike + 0.5) : least;
    return smaller(count, most);
}

/*
 * Sets cells and panel so that the panel's longer side is about `side` pixels, or more where each cell is to have a
 * label.
 */
static void size_panel(struct heat_layout *layout, int64_t queries, int64_t keys, int side,
                       const struct heat_label_room *room)
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
    if (room->query_width > 0 && layout->rows == queries && layout->cell_height < room->line_height)
        layout->cell_height = room->line_height;
    if (room->key_width > 0 && layout->columns == keys && layout->cell_width < room->line_height)
        layout->cell_width = room->line_height;
    layout->panel_width = layout->columns * layout->cell_width;
    layout->panel_height = layout->rows * layout->cell_height;
}

/* Sets what stands around a panel: numbers or labels. Upright labels take the room below that they are wide. */
static void size_margins(struct heat_layout *layout, int64_t queries, const struct heat_label_room *room)
{
    layout->beside = room->query_width > 0 ? room->query_width + HEAT_LABEL_GAP : digits_width(queries - 1);
    layout->has_upright_labels = room->key_width > 0 && room->key_width > layout->cell_width - 4;
    layout->below = layout->has_upright_labels ? room->key_width + HEAT_LABEL_GAP : TICKS_HEIGHT;
}

/* What is to be drawn, the room that its labels need, and for which of them cells are made as large as that. */
struct subject {
    int64_t queries, keys;
    struct heat_label_room room, cell_room;
};

/* Sets all sizes, with so many panels in a row. */
static void arrange(struct heat_layout *layout, const struct subject *subject, int across)
{
    layout->panels_across = across;
    layout->panels_down = 0;
    int side = PANEL_SIDE_MAX;
    if (across > 0) {
        layout->panels_down = layout->batches * ((layout->heads + across - 1) / across);
        side = PANELS_WIDTH / across - digits_width(subject->queries - 1) - GAP;
        side = side > PANEL_SIDE_MAX ? PANEL_SIDE_MAX : side < PANEL_SIDE_MIN ? PANEL_SIDE_MIN : side;
    }
    size_panel(layout, subject->queries, subject->keys, side, &subject->cell_room);
    size_margins(layout, subject->queries, &subject->room);
    layout->step_across = layout->panel_width + layout->beside + GAP;
    layout->step_down = layout->panel_height + PANEL_TITLE_HEIGHT + layout->below + GAP;
    layout->left = LEFT_MARGIN + layout->beside;
    layout->top = TOP_MARGIN + PANEL_TITLE_HEIGHT;
    layout->colour_bar_left = LEFT_MARGIN + across * layout->step_across + COLOUR_BAR_GAP;
    layout->width = layout->colour_bar_left + COLOUR_BAR_WIDTH;
    layout->height = TOP_MARGIN + layout->panels_down * layout->step_down + AXIS_NAME_HEIGHT - GAP + BOTTOM_MARGIN;
    if (across > 0 && layout->height < HEIGHT_MIN)
        layout->height = HEIGHT_MIN;
}

/*
 * How far the layout is from what is wanted: a picture somewhat wider than tall, few places empty, large panels, and a
 * cell for each weight.
 */
static double badness(const struct heat_layout *layout, const struct subject *subject)
{
    double aspect = (double)(layout->step_across * layout->panels_across) / (layout->step_down * layout->panels_down);
    double empty = (double)(layout->panels_across * layout->panels_down - layout->heads) / layout->heads;
    int longer = layout->panel_width > layout->panel_height ? layout->panel_width : layout->panel_height;
    double lost = layout->columns < subject->keys || layout->rows < subject->queries ? 0.5 : 0.0;
    return fabs(log(aspect / 1.5)) + empty + 0.3 * log((double)PANEL_SIDE_MAX / longer) + lost;
}

/* The best of all numbers of panels in a row. Each batch has a row of its own where there are several. */
static void choose_panels_across(struct heat_layout *layout, const struct subject *subject)
{
    int best = layout->heads;
    double least = INFINITY;
    for (int across = 1; across <= layout->heads && layout->batches == 1; across++) {
        arrange(layout, subject, across);
        double found = badness(layout, subject);
        if (found < least) {
            least = found;
            best = across;
        }
    }
    arrange(layout, subject, best);
}

struct heat_layout heat_layout_make(int64_t batches, int64_t heads, int64_t queries, int64_t keys,
                                    const struct heat_label_room *room)
{
    struct heat_layout layout = {.batches = smaller(batches, BATCHES_MAX),
                                 .heads = smaller(heads, batches > 1 ? HEADS_MAX_OF_BATCHES : HEADS_MAX)};
    if (queries == 0 || keys == 0)
        layout.batches = layout.heads = 0;
    struct subject subject = {.queries = queries, .keys = keys};
    if (room != NULL)
        subject.room = *room;
    /* For all labels; where that is too large, for those of one axis, and else for none. */
    const struct heat_label_room tries[] = {
        subject.room,
        {.query_width = subject.room.query_width, .line_height = subject.room.line_height},
        {.key_width = subject.room.key_width, .line_height = subject.room.line_height},
        {0, 0, 0},
    };
    for (size_t turn = 0; turn < sizeof tries / sizeof *tries; turn++) {
        subject.cell_room = tries[turn];
        choose_panels_across(&layout, &subject);
        if (layout.width <= LABELLED_WIDTH_MAX && layout.height <= LABELLED_HEIGHT_MAX)
            break;
    }
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
