/*
 * heat_cells.c: reduces weights to cells.
 */
#include "heat_cells.h"

#include <math.h>

struct span {
    int64_t begin, end;
};

/* What cell `index` of `count` covers of `size` weights. */
static struct span covered(int index, int count, int64_t size)
{
    return (struct span){size * index / count, size * (index + 1) / count};
}

static struct heat_cell reduce(const struct heat_plane *plane, struct span rows, struct span columns)
{
    if (rows.end > plane->query_length)
        rows.end = plane->query_length;
    if (columns.end > plane->key_length)
        columns.end = plane->key_length;
    if (rows.begin >= rows.end || columns.begin >= columns.end)
        return (struct heat_cell){HEAT_CELL_OUTSIDE, 0.0f};
    struct heat_cell cell = {HEAT_CELL_WEIGHT, -INFINITY};
    for (int64_t row = rows.begin; row < rows.end; row++) {
        for (int64_t column = columns.begin; column < columns.end; column++) {
            float weight = plane->weights[row * plane->keys + column];
            if (!isfinite(weight))
                return (struct heat_cell){HEAT_CELL_BROKEN, 0.0f};
            cell.weight = fmaxf(cell.weight, weight);
        }
    }
    return cell;
}

void heat_cells_fill(struct heat_cell *cells, int rows, int columns, const struct heat_plane *plane)
{
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++)
            cells[row * columns + column] =
                reduce(plane, covered(row, rows, plane->queries), covered(column, columns, plane->keys));
    }
}
