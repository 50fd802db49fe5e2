/*
 * attnzoo/position.h: tables of positions, for mechanisms that have the input `position`.
 */
#ifndef ATTNZOO_POSITION_H
#define ATTNZOO_POSITION_H

#include "api.h"
#include "status.h"
#include "tensor.h"

ATTNZOO_BEGIN_DECLARATIONS

/** How the columns of a sinusoidal table are arranged. An int32_t wherever one is passed. */
enum {
    /** Column 2i is sin, column 2i + 1 is cos (Vaswani et al. 2017, section 3.5). */
    ATTNZOO_SINUSOID_INTERLEAVED = 0,
    /** All sines come first, then all cosines (the code of Dai et al. 2019). */
    ATTNZOO_SINUSOID_HALVES = 1
};

/**
 * Fills a table with the sinusoids of positions (Vaswani et al. 2017, arXiv 1706.03762, section 3.5):
 *
 *   row p stands for the position x = first + p * step
 *   sin(x / 10000^(2i/E)) and cos(x / 10000^(2i/E)) for i = 0, 1, ... up to E columns in all
 *
 * relative_multi_head with flavor=transformer_xl wants row p to stand for the distance M - 1 - p, which is
 * first = M - 1 and step = -1, with P = M + N - 1 rows (or, under a causal mask, M rows).
 *
 * @param table        output, [P, E] or [B, P, E], float32, float16 or bfloat16, any strides that do not repeat an
 *                     element.
 * @param first        the position of row 0.
 * @param step         from one row to the next.
 * @param arrangement  an ATTNZOO_SINUSOID_ number.
 * @return OK; INVALID_ARGUMENT: NULL, no such arrangement, table is read-only, positions that pass 63 bits;
 *         SHAPE_MISMATCH: table has not 2 or 3 axes; DTYPE_MISMATCH; OVERLAP: table overlaps itself.
 * Threads: any, each with its own table. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_fill_sinusoidal_positions(attnzoo_tensor *table, int64_t first, int64_t step,
                                                             int32_t arrangement);

ATTNZOO_END_DECLARATIONS

#endif
