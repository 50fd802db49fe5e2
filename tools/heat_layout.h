/*
 * heat_layout.h: how big everything in a heat map is and where it stands, in pixels.
 */
#ifndef TOOLS_HEAT_LAYOUT_H
#define TOOLS_HEAT_LAYOUT_H

#include <stdint.h>

struct heat_layout {
    /* Those that are drawn, the first ones. */
    int batches, heads;
    /* Panels stand in rows of so many; each batch begins a row. */
    int panels_across, panels_down;
    /* Cells of a panel, and pixels of a cell. A cell may stand for several weights. */
    int columns, rows;
    int cell_width, cell_height;
    int panel_width, panel_height;
    /* From a panel to the next one, and where the first one stands. */
    int step_across, step_down;
    int left, top;
    /* The whole picture. */
    int width, height;
};

/* Room for numbers beside a panel is for as many digits as its last key and query have. */
struct heat_layout heat_layout_make(int64_t batches, int64_t heads, int64_t queries, int64_t keys);

/* The corner of panel `head` of `batch`. */
int heat_layout_panel_x(const struct heat_layout *layout, int head);
int heat_layout_panel_y(const struct heat_layout *layout, int batch, int head);

#endif
