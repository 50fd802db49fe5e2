/*
 * tests/reference/location_aware.h: location-aware attention (Chorowski et al. 2015) in plain loops of double
 * precision, step after step, and a bound for what a float32 computation may differ by: items 14 to 17 of
 * rounding_tanh.h. It shares no code with the library.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_LOCATION_AWARE_H
#define ATTNZOO_TESTS_REFERENCE_LOCATION_AWARE_H

#include "reference/additive.h"

enum reference_feedback { REFERENCE_PREVIOUS, REFERENCE_CUMULATIVE, REFERENCE_BOTH };
enum reference_initial { REFERENCE_ZEROS, REFERENCE_UNIFORM, REFERENCE_FIRST };

struct reference_location_aware {
    struct reference_additive model; /* of H heads */
    int64_t filters, width;
    const double *conv_weight; /* [F, H or, with both, 2H, W] */
    const double *conv_bias;   /* [F] or NULL */
    const double *proj_weight; /* [A, F] or NULL, and then F = A */
    const double *proj_bias;   /* [A] or NULL */
    bool has_tanh;             /* on the location term */
    bool smoothing;
    int64_t window; /* 0 for none */
    enum reference_feedback feedback;
    enum reference_initial initial;
};

/* What is carried from step to step. */
struct reference_alignment {
    struct reference_bounded alignment, cumulative; /* [B, H, M] */
    bool *is_uncertain;                             /* [B]: from here on anything may come out */
    bool is_fresh;                                  /* nothing was computed or loaded yet */
};

struct reference_alignment reference_alignment_create(int64_t batch, int64_t heads, int64_t keys);
void reference_alignment_destroy(struct reference_alignment *alignment);

/* Computes N steps from the alignment on, and leaves it where they end. A bound that is infinite says that there is
 * nothing to compare. */
struct reference_result reference_location_aware_compute(const struct reference_location_aware *problem,
                                                         struct reference_alignment *alignment);

/* By how much one step may multiply errors of the alignment, to first order: item 16. */
double reference_location_aware_growth(const struct reference_location_aware *problem);

#endif
