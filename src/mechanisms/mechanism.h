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

enum attnzoo_option_type { ATTNZOO_OPTION_FLOAT, ATTNZOO_OPTION_INT, ATTNZOO_OPTION_BOOL, ATTNZOO_OPTION_CHOICE };

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
    /** 0 where prepare checks the number of axes, since more than one will do. */
    int32_t rank;
    bool is_required;
};

/** An input or output by its place; name is NULL for a place that the mechanism does not use. */
struct attnzoo_slot_spec {
    const char *name;
    const char *shape;
    const char *summary;
    bool is_required;
    /** Takes int32 or int64 and nothing else; otherwise float32, float16 or bfloat16. */
    bool is_integer;
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
    /** The mechanism's own, filled by prepare. */
    void *prepared;
};

enum { ATTNZOO_INPUT_PLACES = 7, ATTNZOO_OUTPUT_PLACES = 6, ATTNZOO_STATE_FIELDS = 6, ATTNZOO_STATE_VIEWS = 2 };

/** What a state keeps under one name: columns numbers for each key of each head, or for each head. */
struct attnzoo_state_field {
    /** [B, heads, capacity, columns]; a capacity of 1 where there are no keys. */
    float *data;
    int64_t heads;
    int64_t columns;
    /** One number a key: its shape ends with the keys. */
    bool is_scalar;
    /** No key's, but the head's own, 0 in an empty state: its shape has no axis of keys. */
    bool has_no_keys;
};

/** The part of a state that its mechanism sees. */
struct attnzoo_state_content {
    int64_t batch;
    int64_t capacity;
    /** Keys held: of a cache, or of the utterance that an alignment belongs to. */
    int64_t length;
    /** False until the first call or loading after a reset. */
    bool is_started;
    /** The fields of the specs in their order, then those that the mechanism keeps for itself. */
    struct attnzoo_state_field fields[ATTNZOO_STATE_FIELDS];
    int32_t field_count;
    /** The views from which the mechanism's own fields were made, and which rows of each batch [B] were. */
    struct attnzoo_view views[ATTNZOO_STATE_VIEWS];
    bool has_views;
    struct attnzoo_key_span *known;
};

/** The arguments of a forward call, by place; NULL where there is none. Required ones are there, all of their type. */
struct attnzoo_call {
    const struct attnzoo_view *inputs[ATTNZOO_INPUT_PLACES];
    const struct attnzoo_view *outputs[ATTNZOO_OUTPUT_PLACES];
    /** NULL hides nothing. */
    const struct attnzoo_mask_description *mask;
    /** NULL for none; of this instance and the inputs' batch, which the mechanism checks. */
    struct attnzoo_state_content *state;
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

    /** What its states hold; none for a mechanism without. */
    const struct attnzoo_slot_spec *state_fields;
    int32_t state_field_count;
    /** A cache grows by each call's keys and can be cut. */
    bool state_is_cache;

    /** Bytes of instance->prepared, which core allocates, zeroed, before prepare; 0 for none. */
    size_t prepared_bytes;
    /** Checks options and parameters together and fills instance->prepared. NULL if there is nothing to do. */
    attnzoo_status (*prepare)(struct attnzoo_instance *instance);
    /** Frees what instance->prepared points to, also after a failed prepare. NULL if there is nothing. */
    void (*release)(struct attnzoo_instance *instance);
    /** Checks the inputs' shapes against each other and tells an output's. state may be NULL. */
    attnzoo_status (*output_shape)(const struct attnzoo_instance *instance, const struct attnzoo_view *const *inputs,
                                   const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                   int64_t *shape);
    /** Tells heads and columns of a state's fields, and their number. NULL for a mechanism without states. */
    void (*state_layout)(const struct attnzoo_instance *instance, struct attnzoo_state_content *content);
    /**
     * Checks that a state may be loaded from the fields given, by number; those left out start as the first one. NULL
     * if that follows from which are required.
     */
    attnzoo_status (*state_check)(const struct attnzoo_instance *instance, const bool *is_given);
    /** Checks the rest of a call, then runs it. On error no output was written, and the state is as it was. */
    attnzoo_status (*forward)(const struct attnzoo_instance *instance, const struct attnzoo_call *call);
};

#endif
