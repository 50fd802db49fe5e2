/*
 * tests/reference/customizing.h: dot-product attention whose keys and values carry location features (CustomizingAttention
 * of github.com/sooftware/attentions), in plain loops of double precision, step after step, and a bound for what a
 * float32 computation may differ by. It shares no code with the library. Items count on from location.h.
 *
 * 23. x = p + g: the projected value p with its bias (item 7) and the location term g (item 15 of rounding_tanh.h, where
 *     each head is a batch of its own with one channel), off by their own errors, and by gamma(2) of their magnitudes for
 *     the sum of the two, the bias in any order. x serves as key and as value: items 8 and 9.
 * 24. The recurrence: as item 16, through x both scores and contexts stray by the alignment's error; bounds are carried
 *     along with the numbers.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_CUSTOMIZING_H
#define ATTNZOO_TESTS_REFERENCE_CUSTOMIZING_H

#include "reference/location_aware.h"

struct reference_customizing {
    struct reference_problem mask;                 /* sizes B, H, N, M, D and Dv = D, and the mask */
    const double *query;                           /* [B, N, Eq] */
    const double *value;                           /* [B, M, Ev] */
    struct reference_layer query_proj, value_proj; /* to H D; value_proj with the bias of x */
    int64_t filters, width;
    const double *conv_weight; /* [F, 1, W] */
    const double *conv_bias;   /* [F] or NULL */
    const double *proj_weight; /* [D, F] */
    double scale;
    enum reference_initial initial;
};

/* Computes N steps from the alignment on, and leaves it where they end; its sums are left alone. */
struct reference_result reference_customizing_compute(const struct reference_customizing *problem,
                                                      struct reference_alignment *alignment);

#endif
