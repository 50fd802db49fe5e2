/*
 * mechanisms/shapes.h: checks of shapes that several mechanisms make, with messages that name the thing, the shape it
 * has and the one it should have.
 */
#ifndef ATTNZOO_MECHANISMS_SHAPES_H
#define ATTNZOO_MECHANISMS_SHAPES_H

#include "kernels/grid.h"
#include "mechanisms/mechanism.h"

/** Checks that a view has from lowest to highest axes. */
attnzoo_status attnzoo_shapes_check_rank(const struct attnzoo_view *view, const char *name, int32_t lowest,
                                         int32_t highest);

/** Fails with "what differ: left has 1, right has 2". */
attnzoo_status attnzoo_shapes_differ(const char *what, const char *left_name, int64_t left, const char *right_name,
                                     int64_t right);

/** Checks that query, key and value have one batch, key and value one number of rows. */
attnzoo_status attnzoo_shapes_check_together(const struct attnzoo_grid *query, const struct attnzoo_grid *key,
                                             const struct attnzoo_grid *value);

/** Reads H and G from the options of those numbers; G is H where it is not set, and must divide it. */
attnzoo_status attnzoo_shapes_read_heads(const struct attnzoo_instance *instance, int32_t heads_option,
                                         int32_t key_heads_option, int64_t *heads, int64_t *key_heads);

/** Checks that an option, 0 for off, is no subnormal number. */
attnzoo_status attnzoo_shapes_check_softcap(const struct attnzoo_instance *instance, int32_t option);

/** Checks that so many heads divide the rows of a layer's weight. */
attnzoo_status attnzoo_shapes_check_split(const struct attnzoo_instance *instance, int32_t weight, int64_t heads);

/** Checks that a layer takes the features of an input. */
attnzoo_status attnzoo_shapes_check_features(const struct attnzoo_view *view, const char *input, const char *weight,
                                             int64_t taken);

/** Checks an output against the shape it should have, axes of size 1 in front aside, and makes its grid. */
attnzoo_status attnzoo_shapes_check_output(const struct attnzoo_view *view, const char *name, const int64_t *size,
                                           int32_t rank, struct attnzoo_grid *grid);

/** Tells an output's shape [full_rank]: without the axes in front that a query of fewer than query_axes leaves out. */
void attnzoo_shapes_tell_output(const int64_t *full, int32_t full_rank, const struct attnzoo_view *query,
                                int32_t query_axes, int32_t *rank, int64_t *shape);

/** Whether a parameter was set. */
bool attnzoo_shapes_is_set(const struct attnzoo_instance *instance, int32_t parameter);

/** Checks a parameter, if it was set, against the sizes it should have. */
attnzoo_status attnzoo_shapes_check_parameter(const struct attnzoo_instance *instance, int32_t parameter,
                                              const int64_t *size);

/** Checks that `needed` was set if `parameter` was. */
attnzoo_status attnzoo_shapes_check_pair(const struct attnzoo_instance *instance, int32_t parameter, int32_t needed);

/** Which flavors a parameter is for: bits by the number of the flavor. */
struct attnzoo_flavor_rule {
    int32_t parameter;
    uint32_t fits;
    uint32_t is_needed;
};

/** Checks that no parameter of another flavor was set, and every one that this flavor needs. name: the flavor's. */
attnzoo_status attnzoo_shapes_check_flavor(const struct attnzoo_instance *instance, int flavor, const char *name,
                                           const struct attnzoo_flavor_rule *rules, size_t count);

/** Checks that query and value have one batch, and key, NULL for none, as many rows as value. */
attnzoo_status attnzoo_shapes_check_without_key(const struct attnzoo_grid *query, const struct attnzoo_view *key,
                                                const struct attnzoo_grid *value);

/** A linear layer among the parameters: y = x W^T + b. weight is NULL where there is none. */
struct attnzoo_layer {
    /** The weight's name, for messages. */
    const char *name;
    const float *weight;
    /** Floats from row to row of the weight, for one that is part of another; 0 for a compact one. */
    int64_t weight_step;
    const float *bias;
    int64_t outputs;
    int64_t inputs;
};

/** Reads a layer from the parameters [outputs, inputs] and [outputs], of which the first must be set if the
 * second is. */
attnzoo_status attnzoo_shapes_read_layer(const struct attnzoo_instance *instance, int32_t weight, int32_t bias,
                                         struct attnzoo_layer *layer);

/** Checks a layer's bias against its weight, which is to be checked before: it is the one to blame. */
attnzoo_status attnzoo_shapes_check_bias(const struct attnzoo_instance *instance, int32_t weight, int32_t bias);

#endif
