/*
 * mechanisms/location_run.h: the calls of location.c once their arguments are known to be right. What options, parameters
 * and arguments may be is location.c's.
 */
#ifndef ATTNZOO_MECHANISMS_LOCATION_RUN_H
#define ATTNZOO_MECHANISMS_LOCATION_RUN_H

#include "mechanisms/mechanism.h"

#include "kernels/attention_plan.h"
#include "mechanisms/shapes.h"

enum { ATTNZOO_LOCATION_GAUSSIAN_MIXTURE, ATTNZOO_LOCATION_POSITION, ATTNZOO_LOCATION_LOCAL_P };

/* The values are kept behind the fields that users know. */
enum { ATTNZOO_LOCATION_KAPPA, ATTNZOO_LOCATION_FIELD_COUNT, ATTNZOO_LOCATION_VALUE = ATTNZOO_LOCATION_FIELD_COUNT };

/** What prepare() makes of options and parameters. */
struct attnzoo_location {
    int flavor;
    bool is_normalized;
    int64_t window;
    int64_t first_position;
    /** K */
    int64_t component_count;
    struct attnzoo_layer windows;
    struct attnzoo_layer location;
    struct attnzoo_layer query;
    struct attnzoo_layer value;
    const float *score_weight;
    float score_bias;
};

/** Whether queries are steps, in order. */
static inline bool attnzoo_location_is_recurrent(const struct attnzoo_location *location)
{
    return location->flavor == ATTNZOO_LOCATION_GAUSSIAN_MIXTURE;
}

/**
 * Computes the call's outputs and carries its state on. `problem` has the grids of query, value and outputs, and its mask.
 */
attnzoo_status attnzoo_location_run(const struct attnzoo_location *location, const struct attnzoo_call *call,
                                    const struct attnzoo_attention *problem);

#endif
