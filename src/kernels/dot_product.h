/*
 * kernels/dot_product.h: scores as scaled dot products of queries and keys.
 */
#ifndef ATTNZOO_KERNELS_DOT_PRODUCT_H
#define ATTNZOO_KERNELS_DOT_PRODUCT_H

#include "kernels/attention.h"

extern const struct attnzoo_score_source attnzoo_kernel_dot_product;

#endif
