/*
 * kernels/dot_product.h: scores as scaled dot products of queries and keys.
 */
#ifndef ATTNZOO_KERNELS_DOT_PRODUCT_H
#define ATTNZOO_KERNELS_DOT_PRODUCT_H

#include "kernels/attention.h"

extern const struct attnzoo_score_source attnzoo_kernel_dot_product;

/* For sources that add to a dot product. */

/** A left operand of a product is packed with so many rows to spare. */
enum { ATTNZOO_SPARE_ROWS = 1 };

/**
 * Packs the queries of a block [rows, D], with a bias added to them unless it is NULL: [D] for all heads, or one a head,
 * bias_step apart. Queries past their length see nothing and are not read: they count as 0.
 */
void attnzoo_kernel_pack_queries(const struct attnzoo_attention *problem, const struct attnzoo_tile *block,
                                 const float *bias, int64_t bias_step, float *memory);

#endif
