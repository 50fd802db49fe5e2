/*
 * heat_cells.h: one head's attention reduced to the cells of a picture.
 */
#ifndef TOOLS_HEAT_CELLS_H
#define TOOLS_HEAT_CELLS_H

#include <stdint.h>

enum heat_cell_kind {
    HEAT_CELL_WEIGHT,
    /* A weight in the cell is not a finite number. */
    HEAT_CELL_BROKEN,
    /* Beyond the query length or the key length: not part of the attention. */
    HEAT_CELL_OUTSIDE
};

struct heat_cell {
    enum heat_cell_kind kind;
    float weight;
};

/* Weights [queries, keys] of which the first `query_length` rows and `key_length` columns are real. */
struct heat_plane {
    const float *weights;
    int64_t queries, keys;
    int64_t query_length, key_length;
};

/*
 * Fills cells [rows, columns]. A cell that covers several weights has the largest, so that a narrow diagonal is not
 * lost; needs rows <= queries and columns <= keys.
 */
void heat_cells_fill(struct heat_cell *cells, int rows, int columns, const struct heat_plane *plane);

#endif
