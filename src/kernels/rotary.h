/*
 * kernels/rotary.h: rotary positions. A row of a head is turned, pair of columns by pair, by angles that grow with the
 * row's position, so that the product of a query and a key depends on how far they are apart alone (Su et al. 2021,
 * arXiv 2104.09864, equation 34):
 *
 *   x'_a = x_a cos(p t_i) - x_b sin(p t_i)
 *   x'_b = x_a sin(p t_i) + x_b cos(p t_i),   t_i = base^(-2i/R), i = 0 ... R/2 - 1,
 *
 * where p is the position and (a, b) are the columns (2i, 2i + 1) or (i, i + R/2) of the first R. The others stay.
 */
#ifndef ATTNZOO_KERNELS_ROTARY_H
#define ATTNZOO_KERNELS_ROTARY_H

#include "kernels/grid.h"
#include "kernels/mask.h"
#include "parallel/pool.h"

#include <attnzoo/status.h>

/** How rows are turned: by angles, or by tables of cosines and sines. */
struct attnzoo_rotation {
    /** R, even, at most the rows' columns. 0 turns nothing. */
    int64_t size;
    /** Pairs are columns 2i and 2i + 1, rather than i and i + R/2. */
    bool is_interleaved;
    /** [R/2]: the angle that one position makes, in radians, its cosine and its sine. Not used where there are tables. */
    const double *steps;
    const double *step_cosines;
    const double *step_sines;
    /** [1 or B, P, R/2], compact; cosines NULL for none. */
    const float *cosines;
    const float *sines;
    int64_t table_batches;
    int64_t table_rows;
};

/** Where the rows of each batch stand. */
struct attnzoo_positions {
    /** [B, 1, rows, 1] integers, if data is not NULL; only strides count. */
    struct attnzoo_grid given;
    /** Otherwise where a mask says that queries stand, or, without one, first, first + 1 and so on. */
    const struct attnzoo_mask_plan *mask;
    int64_t first;
};

/** Rows to turn in place. */
struct attnzoo_rotary_rows {
    /** What they are called: "query". */
    const char *name;
    /** [B, heads, rows, columns], float32, columns side by side. */
    struct attnzoo_grid rows;
    struct attnzoo_positions positions;
    /** [B]: the rows that are wanted. The others, and their positions, are not looked at. */
    const struct attnzoo_key_span *spans;
    /** Of queries: those that see no key need not be in the tables. NULL for keys. */
    const struct attnzoo_mask_plan *mask;
};

/** Fills steps, step_cosines and step_sines [R/2 each] for a base. */
void attnzoo_rotary_fill_steps(double base, int64_t size, double *steps, double *cosines, double *sines);

/** Bytes of scratch that attnzoo_rotary_solve() needs, and the threads that rows of this shape are worth. */
int64_t attnzoo_rotary_scratch_bytes(const struct attnzoo_rotation *rotation);
int64_t attnzoo_rotary_threads_wanted(const struct attnzoo_rotation *rotation, const struct attnzoo_grid *rows);

/** Checks that every wanted row's position is a row of the tables, if there are tables. */
attnzoo_status attnzoo_rotary_check(const struct attnzoo_rotation *rotation, const struct attnzoo_rotary_rows *rows);

void attnzoo_rotary_solve(const struct attnzoo_rotation *rotation, const struct attnzoo_rotary_rows *rows,
                          const struct attnzoo_pool_claim *claim);

#endif
