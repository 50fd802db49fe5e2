/*
 * tests/reference/general.h: attention by dot products of layers of query and key (Luong et al. 2015, "general", whose
 * layer of the query is Wa transposed and whose key has none) in plain loops of double precision, and a bound for what
 * a float32 computation may differ by: items 1, 7 and 8 of rounding.h. It shares no code with the library.
 *
 * The problem is that of additive.h without its score_weight, bias and score_bias; sharpening is the scale, and the
 * softcap is the mask's.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_GENERAL_H
#define ATTNZOO_TESTS_REFERENCE_GENERAL_H

#include "reference/additive.h"

/* Enters the score of a key into the row. */
void reference_general_score(const struct reference_additive *problem, const struct reference_projections *projections,
                             struct reference_row *row, int64_t batch, int64_t head, int64_t query, int64_t key);

struct reference_result reference_general_compute(const struct reference_additive *problem);

#endif
