/*
 * core/introspection.c: attnzoo/introspection.h: reads out what mechanisms declare.
 */
#include "core/handles.h"
#include "mechanisms/registry.h"

int32_t attnzoo_mechanism_count(void)
{
    return attnzoo_registry_count();
}

const char *attnzoo_mechanism_name(int32_t index)
{
    const struct attnzoo_mechanism *mechanism = attnzoo_registry_at(index);
    return mechanism == NULL ? NULL : mechanism->name;
}

static int32_t item_count(const struct attnzoo_mechanism *mechanism, int32_t item)
{
    switch (item) {
    case ATTNZOO_ITEM_MECHANISM:
        return 1;
    case ATTNZOO_ITEM_OPTION:
        return mechanism->option_count;
    case ATTNZOO_ITEM_PARAMETER:
        return mechanism->parameter_count;
    case ATTNZOO_ITEM_INPUT:
        return mechanism->input_count;
    case ATTNZOO_ITEM_OUTPUT:
        return mechanism->output_count;
    case ATTNZOO_ITEM_STATE:
        return mechanism->state_field_count;
    default:
        return -1;
    }
}

int32_t attnzoo_item_count(const char *mechanism, int32_t item)
{
    const struct attnzoo_mechanism *found = mechanism == NULL ? NULL : attnzoo_registry_find(mechanism);
    return found == NULL ? -1 : item_count(found, item);
}

static const char *mechanism_text(const struct attnzoo_mechanism *mechanism, int32_t field)
{
    switch (field) {
    case ATTNZOO_FIELD_NAME:
        return mechanism->name;
    case ATTNZOO_FIELD_SUMMARY:
        return mechanism->summary;
    case ATTNZOO_FIELD_SOURCE:
        return mechanism->source;
    case ATTNZOO_FIELD_FORMULA:
        return mechanism->formula;
    default:
        return NULL;
    }
}

static const char *option_text(const struct attnzoo_option_spec *option, int32_t field)
{
    static const char *const types[] = {"float", "int", "bool", "choice"};
    switch (field) {
    case ATTNZOO_FIELD_NAME:
        return option->name;
    case ATTNZOO_FIELD_SUMMARY:
        return option->summary;
    case ATTNZOO_FIELD_TYPE:
        return types[option->type];
    case ATTNZOO_FIELD_DEFAULT:
        return option->default_text;
    case ATTNZOO_FIELD_BOUNDS:
        return option->bounds_text;
    default:
        return NULL;
    }
}

static const char *shaped_text(int32_t field, const char *name, const char *shape, const char *summary,
                               bool is_required)
{
    if (name == NULL)
        return NULL;
    switch (field) {
    case ATTNZOO_FIELD_NAME:
        return name;
    case ATTNZOO_FIELD_SUMMARY:
        return summary;
    case ATTNZOO_FIELD_SHAPE:
        return shape;
    case ATTNZOO_FIELD_REQUIRED:
        return is_required ? "yes" : "no";
    default:
        return NULL;
    }
}

static const char *slot_text(const struct attnzoo_slot_spec *slot, int32_t field)
{
    if (slot->name != NULL && field == ATTNZOO_FIELD_TYPE)
        return slot->is_integer ? "integer" : "float";
    return shaped_text(field, slot->name, slot->shape, slot->summary, slot->is_required);
}

const char *attnzoo_item_text(const char *mechanism, int32_t item, int32_t index, int32_t field)
{
    const struct attnzoo_mechanism *found = mechanism == NULL ? NULL : attnzoo_registry_find(mechanism);
    if (found == NULL || index < 0 || index >= item_count(found, item))
        return NULL;
    const struct attnzoo_parameter_spec *parameter;
    switch (item) {
    case ATTNZOO_ITEM_MECHANISM:
        return mechanism_text(found, field);
    case ATTNZOO_ITEM_OPTION:
        return option_text(&found->options[index], field);
    case ATTNZOO_ITEM_PARAMETER:
        parameter = &found->parameters[index];
        return shaped_text(field, parameter->name, parameter->shape, parameter->summary, parameter->is_required);
    case ATTNZOO_ITEM_INPUT:
        return slot_text(&found->inputs[index], field);
    case ATTNZOO_ITEM_STATE:
        return slot_text(&found->state_fields[index], field);
    default:
        return slot_text(&found->outputs[index], field);
    }
}
