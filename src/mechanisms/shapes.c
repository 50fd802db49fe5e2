/*
 * mechanisms/shapes.c: checks of shapes that several mechanisms make.
 */
#include "mechanisms/shapes.h"

#include "base/error.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

attnzoo_status attnzoo_shapes_check_rank(const struct attnzoo_view *view, const char *name, int32_t lowest,
                                         int32_t highest)
{
    char shape[ATTNZOO_SHAPE_TEXT_SIZE];
    if (view->rank >= lowest && view->rank <= highest)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has shape %s, must have %d to %d axes", name,
                             attnzoo_base_shape_text(shape, view->rank, view->shape), (int)lowest, (int)highest);
}

attnzoo_status attnzoo_shapes_differ(const char *what, const char *left_name, int64_t left, const char *right_name,
                                     int64_t right)
{
    return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH, "%s differ: %s has %" PRId64 ", %s has %" PRId64, what,
                             left_name, left, right_name, right);
}

attnzoo_status attnzoo_shapes_check_together(const struct attnzoo_grid *query, const struct attnzoo_grid *key,
                                             const struct attnzoo_grid *value)
{
    if (query->size[ATTNZOO_BATCH] != key->size[ATTNZOO_BATCH])
        return attnzoo_shapes_differ("batch sizes", "query", query->size[ATTNZOO_BATCH], "key",
                                     key->size[ATTNZOO_BATCH]);
    if (key->size[ATTNZOO_BATCH] != value->size[ATTNZOO_BATCH])
        return attnzoo_shapes_differ("batch sizes", "key", key->size[ATTNZOO_BATCH], "value",
                                     value->size[ATTNZOO_BATCH]);
    if (key->size[ATTNZOO_ROW] != value->size[ATTNZOO_ROW])
        return attnzoo_shapes_differ("numbers of keys", "key", key->size[ATTNZOO_ROW], "value",
                                     value->size[ATTNZOO_ROW]);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_shapes_read_heads(const struct attnzoo_instance *instance, int32_t heads_option,
                                         int32_t key_heads_option, int64_t *heads, int64_t *key_heads)
{
    const struct attnzoo_option_value *options = instance->options;
    *heads = (int64_t)options[heads_option].number;
    *key_heads = options[key_heads_option].is_set ? (int64_t)options[key_heads_option].number : *heads;
    if (*heads % *key_heads == 0)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                             "num_heads is %" PRId64 ", must be a multiple of num_kv_heads, which is %" PRId64, *heads,
                             *key_heads);
}

attnzoo_status attnzoo_shapes_check_softcap(const struct attnzoo_instance *instance, int32_t option)
{
    double softcap = instance->options[option].number;
    if (softcap > 0.0 && softcap < FLT_MIN)
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is positive but below the normal floats",
                                 instance->mechanism->options[option].name);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_shapes_check_split(const struct attnzoo_instance *instance, int32_t weight, int64_t heads)
{
    int64_t rows = instance->parameters[weight].view.shape[0];
    if (rows % heads == 0)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                             "%s has %" PRId64 " rows, which %" PRId64 " heads do not divide",
                             instance->mechanism->parameters[weight].name, rows, heads);
}

attnzoo_status attnzoo_shapes_check_features(const struct attnzoo_view *view, const char *input, const char *weight,
                                             int64_t taken)
{
    int64_t features = view->shape[view->rank - 1];
    if (features == taken)
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has %" PRId64 " features, but %s takes %" PRId64, input,
                             features, weight, taken);
}

static attnzoo_status wrong_shape(const struct attnzoo_view *view, const char *name, const int64_t *size, int32_t rank)
{
    char has[ATTNZOO_SHAPE_TEXT_SIZE], should[ATTNZOO_SHAPE_TEXT_SIZE];
    return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has shape %s, must have %s", name,
                             attnzoo_base_shape_text(has, view->rank, view->shape),
                             attnzoo_base_shape_text(should, rank, size));
}

attnzoo_status attnzoo_shapes_check_output(const struct attnzoo_view *view, const char *name, const int64_t *size,
                                           int32_t rank, struct attnzoo_grid *grid)
{
    bool fits = view->rank <= rank;
    for (int32_t axis = 0; axis < rank && fits; axis++) {
        int32_t place = axis - (rank - view->rank);
        fits = (place < 0 ? 1 : view->shape[place]) == size[axis];
    }
    if (!fits)
        return wrong_shape(view, name, size, rank);
    *grid = attnzoo_grid_of(view);
    return ATTNZOO_STATUS_OK;
}

void attnzoo_shapes_tell_output(const int64_t *full, int32_t full_rank, const struct attnzoo_view *query,
                                int32_t query_axes, int32_t *rank, int64_t *shape)
{
    int32_t left_out = query_axes - query->rank;
    *rank = full_rank - left_out;
    memcpy(shape, full + left_out, (size_t)*rank * sizeof *shape);
}

bool attnzoo_shapes_is_set(const struct attnzoo_instance *instance, int32_t parameter)
{
    return instance->parameters[parameter].data != NULL;
}

attnzoo_status attnzoo_shapes_check_parameter(const struct attnzoo_instance *instance, int32_t parameter,
                                              const int64_t *size)
{
    const struct attnzoo_view *view = &instance->parameters[parameter].view;
    const struct attnzoo_parameter_spec *spec = &instance->mechanism->parameters[parameter];
    if (!attnzoo_shapes_is_set(instance, parameter) ||
        memcmp(view->shape, size, (size_t)spec->rank * sizeof *size) == 0)
        return ATTNZOO_STATUS_OK;
    return wrong_shape(view, spec->name, size, spec->rank);
}

attnzoo_status attnzoo_shapes_check_pair(const struct attnzoo_instance *instance, int32_t parameter, int32_t needed)
{
    const struct attnzoo_parameter_spec *specs = instance->mechanism->parameters;
    if (!attnzoo_shapes_is_set(instance, parameter) || attnzoo_shapes_is_set(instance, needed))
        return ATTNZOO_STATUS_OK;
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is set, so %s of shape %s must be too",
                             specs[parameter].name, specs[needed].name, specs[needed].shape);
}

attnzoo_status attnzoo_shapes_read_layer(const struct attnzoo_instance *instance, int32_t weight, int32_t bias,
                                         struct attnzoo_layer *layer)
{
    const struct attnzoo_view *view = &instance->parameters[weight].view;
    *layer = (struct attnzoo_layer){.name = instance->mechanism->parameters[weight].name,
                                    .weight = instance->parameters[weight].data,
                                    .bias = instance->parameters[bias].data};
    attnzoo_status status = attnzoo_shapes_check_pair(instance, bias, weight);
    if (status != ATTNZOO_STATUS_OK || layer->weight == NULL)
        return status;
    layer->outputs = view->shape[0];
    layer->inputs = view->shape[1];
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_shapes_check_bias(const struct attnzoo_instance *instance, int32_t weight, int32_t bias)
{
    return attnzoo_shapes_check_parameter(instance, bias, &instance->parameters[weight].view.shape[0]);
}

attnzoo_status attnzoo_shapes_check_flavor(const struct attnzoo_instance *instance, int flavor, const char *name,
                                           const struct attnzoo_flavor_rule *rules, size_t count)
{
    uint32_t bit = UINT32_C(1) << flavor;
    for (size_t i = 0; i < count; i++) {
        const struct attnzoo_parameter_spec *spec = &instance->mechanism->parameters[rules[i].parameter];
        bool is_set = attnzoo_shapes_is_set(instance, rules[i].parameter);
        if (is_set && (rules[i].fits & bit) == 0)
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is set, but flavor=%s does not have it",
                                     spec->name, name);
        if (!is_set && (rules[i].is_needed & bit) != 0)
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                     "flavor=%s needs the parameter %s of shape %s, which is not set", name, spec->name,
                                     spec->shape);
    }
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_shapes_check_without_key(const struct attnzoo_grid *query, const struct attnzoo_view *key,
                                                const struct attnzoo_grid *value)
{
    attnzoo_status status = ATTNZOO_STATUS_OK;
    if (key != NULL)
        status = attnzoo_shapes_check_rank(key, "key", 2, 3);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (query->size[ATTNZOO_BATCH] != value->size[ATTNZOO_BATCH])
        return attnzoo_shapes_differ("batch sizes", "query", query->size[ATTNZOO_BATCH], "value",
                                     value->size[ATTNZOO_BATCH]);
    const struct attnzoo_grid keys = key == NULL ? *value : attnzoo_grid_without_heads(key);
    return attnzoo_shapes_check_together(query, &keys, value);
}
