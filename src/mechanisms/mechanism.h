/*
 * mechanisms/mechanism.h: what a mechanism is to the library: data that declare its options, parameters, inputs and
 * outputs, and a few functions. Checks, error texts, introspection and the command all work from the data, so nothing
 * outside a mechanism's own file knows it.
 */
#ifndef ATTNZOO_MECHANISMS_MECHANISM_H
#define ATTNZOO_MECHANISMS_MECHANISM_H

#include "base/common.h"
#include "base/view.h"
#include "kernels/mask.h"
#include "parallel/pool.h"

#include <attnzoo/module.h>
#include <attnzoo/status.h>

enum attnzoo_option_type {
    ATTNZOO_OPTION_FLOAT,
    ATTNZOO_OPTION_INT,
    ATTNZOO_OPTION_BOOL,
    ATTNZOO_OPTION_CHOICE
};

/** Bounds are inclusive. A bool is 0 or 1, a choice the number of its name in bounds_text. */
struct attnzoo_option_spec {
    const char *name;
    enum attnzoo_option_type type;
    const char *default_text;
    /** What the bounds are in words; for a choice its names with "|" between them. */
    const char *bounds_text;
    const char *summary;
    /** What the option holds while it is not set; mechanisms look at is_set where the default is a formula. */
    double default_value;
    double minimum;
    double maximum;
};

struct attnzoo_parameter_spec {
    const char *name;
    const char *shape;
    const char *summary;
    int32_t rank;
    bool is_required;
};

/** An input or output by its place; name is NULL for a place that the mechanism does not use. */
struct attnzoo_slot_spec {
    const char *name;
    const char *shape;
    const char *summary;
    bool is_required;
};

struct attnzoo_option_value {
    double number;
    bool is_set;
};

/** A parameter as the module holds it: float32, compact. */
struct attnzoo_parameter_value {
    float *data;
    struct attnzoo_view view;
};

struct attnzoo_mechanism;

/** The part of a module that its mechanism sees. */
struct attnzoo_instance {
    const struct attnzoo_mechanism *mechanism;
    /** By the order of the specs. */
    struct attnzoo_option_value *options;
    struct attnzoo_parameter_value *parameters;
    /** The mechanism's own, made by prepare, freed by release. */
    void *prepared;
};

enum { ATTNZOO_INPUT_PLACES = 3, ATTNZOO_OUTPUT_PLACES = 3 };

/** The arguments of a forward call, by place; NULL where there is none. Required ones are there, and floats. */
struct attnzoo_call {
    const struct attnzoo_view *inputs[ATTNZOO_INPUT_PLACES];
    const struct attnzoo_view *outputs[ATTNZOO_OUTPUT_PLACES];
    /** NULL hides nothing. */
    const struct attnzoo_mask_description *mask;
    /** NULL for the calling thread alone. */
    struct attnzoo_pool *pool;
};

struct attnzoo_mechanism {
    const char *name;
    const char *summary;
    const char *formula;
    const char *source;
    const struct attnzoo_option_spec *options;
    const struct attnzoo_parameter_spec *parameters;
    const struct attnzoo_slot_spec *inputs;
    const struct attnzoo_slot_spec *outputs;
    int32_t option_count;
    int32_t parameter_count;
    int32_t input_count;
    int32_t output_count;

    /** Checks options and parameters together and makes instance->prepared. NULL if there is nothing to do. */
    attnzoo_status (*prepare)(struct attnzoo_instance *instance);
    /** Frees instance->prepared. NULL if prepare makes nothing. */
    void (*release)(struct attnzoo_instance *instance);
    /** Checks the inputs' shapes against each other and tells an output's. */
    attnzoo_status (*output_shape)(const struct attnzoo_instance *instance, const struct attnzoo_view *const *inputs,
                                   int32_t output, int32_t *rank, int64_t *shape);
    /** Checks the rest of a call, then runs it. On error no output was written. */
    attnzoo_status (*forward)(const struct attnzoo_instance *instance, const struct attnzoo_call *call);
};

#endif
