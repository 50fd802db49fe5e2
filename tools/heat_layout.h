/*
 * heat_layout.h: how big everything in a heat map is and where it stands, in pixels.
 */
#ifndef TOOLS_HEAT_LAYOUT_H
#define TOOLS_HEAT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Between a label and the panel, with the tick, and beyond the label. */
enum { HEAT_LABEL_GAP = 10 };

/* What labels need, in pixels; all zero where there are numbers instead. */
struct heat_label_room {
    /* The widest label of a query and of a key; 0 where these have numbers. */
    int query_width, key_width;
    /* From one line to the next. */
    int line_height;
};

struct heat_layout {
    /* Those that are drawn, the first ones. */
    int batches, heads;
    /* Panels stand in rows of so many; each batch begins a row. */
    int panels_across, panels_down;
    /* Cells of a panel, and pixels of a cell. A cell may stand for several weights. */
    int columns, rows;
    int cell_width, cell_height;
    int panel_width, panel_height;
    /* Keys have labels that stand upright, as they are wider than cells. */
    bool has_upright_labels;
    /* From a panel to the name of the axis below, and from the name of the axis beside it to the panel. */
    int below, beside;
    /* From a panel to the next one, and where the first one stands. */
    int step_across, step_down;
    int left, top;
    int colour_bar_left;
    /* The whole picture. */
    int width, height;
};

/* Room for numbers beside a panel is for as many digits as its last query has. `room` may be NULL. */
struct heat_layout heat_layout_make(int64_t batches, int64_t heads, int64_t queries, int64_t keys,
                                    const struct heat_label_room *room);

/* The corner of panel `head` of `batch`. */
int heat_layout_panel_x(const struct heat_layout *layout, int head);
int heat_layout_panel_y(const struct heat_layout *layout, int batch, int head);

#endif
