/*
 * settings.c: passes on what --set says, and finds out whether a refusal is about that.
 */
#include "settings.h"

#include "shape_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum outcome apply(attnzoo_module *module, const char *setting)
{
    const char *value = strchr(setting, '=') + 1;
    char *name = strndup(setting, (size_t)(value - 1 - setting)), *where = malloc(strlen(setting) + 7);
    enum outcome outcome;
    if (name == NULL || where == NULL) {
        outcome = fail("not enough memory");
    } else {
        sprintf(where, "--set %s", setting);
        outcome = check_library_usage(attnzoo_module_set_option_text(module, name, value), where);
    }
    free(name);
    free(where);
    return outcome;
}

enum outcome settings_apply(attnzoo_module *module, const struct run_arguments *arguments)
{
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < arguments->setting_count && outcome == OUTCOME_OK; index++)
        outcome = apply(module, arguments->settings[index]);
    return outcome;
}

static bool is_set(const struct run_arguments *arguments, const char *name)
{
    size_t length = strlen(name);
    for (int index = 0; index < arguments->setting_count; index++) {
        const char *setting = arguments->settings[index];
        if (strncmp(setting, name, length) == 0 && setting[length] == '=')
            return true;
    }
    return false;
}

/* Whether some parameter has an axis of H heads of the size that is called by these `length` characters. */
static bool has_heads_of(const char *mechanism, const char *size, size_t length)
{
    char axis[32];
    if (snprintf(axis, sizeof axis, "H*%.*s", (int)length, size) >= (int)sizeof axis)
        return false;
    for (int32_t index = 0; index < attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER); index++) {
        const char *shape = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, index, ATTNZOO_FIELD_SHAPE);
        if (shape_text_axis_from_end(shape, axis) >= 0)
            return true;
    }
    return false;
}

/* Whether the weights tell how many heads there are: one that must be there has the size of a head by itself. */
static bool weights_tell_heads(const char *mechanism)
{
    for (int32_t index = 0; index < attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER); index++) {
        const char *shape = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, index, ATTNZOO_FIELD_SHAPE);
        const char *required = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, index, ATTNZOO_FIELD_REQUIRED);
        if (shape == NULL || required == NULL || strcmp(required, "yes") != 0)
            continue;
        for (size_t length; *(shape += strspn(shape, "[], ")) != '\0'; shape += length) {
            length = strcspn(shape, "], ");
            if (has_heads_of(mechanism, shape, length))
                return true;
        }
    }
    return false;
}

bool settings_leave_heads(const struct run_arguments *arguments)
{
    static const char heads[] = "num_heads";
    const char *mechanism = arguments->mechanism;
    for (int32_t index = 0; index < attnzoo_item_count(mechanism, ATTNZOO_ITEM_OPTION); index++) {
        const char *name = attnzoo_item_text(mechanism, ATTNZOO_ITEM_OPTION, index, ATTNZOO_FIELD_NAME);
        const char *value = attnzoo_item_text(mechanism, ATTNZOO_ITEM_OPTION, index, ATTNZOO_FIELD_DEFAULT);
        if (name != NULL && strcmp(name, heads) == 0 && value != NULL && strcmp(value, "1") == 0)
            return arguments->weights != NULL && !is_set(arguments, heads) && !weights_tell_heads(mechanism);
    }
    return false;
}

static bool is_part_of_a_name(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9') || character == '_' ||
           character == '.';
}

/* Whether the first `length` characters of `name` stand in the text as a word of their own. */
static bool mentions(const char *text, const char *name, size_t length)
{
    for (const char *place = text; *place != '\0'; place++) {
        if (strncmp(place, name, length) == 0 && (place == text || !is_part_of_a_name(place[-1])) &&
            !is_part_of_a_name(place[length]))
            return true;
    }
    return false;
}

/* Whether a message is about a parameter, which comes from a file. */
static bool mentions_parameter(const char *text, const char *mechanism)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER);
    for (int32_t index = 0; index < count; index++) {
        const char *name = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, index, ATTNZOO_FIELD_NAME);
        if (name != NULL && mentions(text, name, strlen(name)))
            return true;
    }
    return false;
}

enum outcome settings_judge(attnzoo_status status, const struct run_arguments *arguments)
{
    const char *text = library_message();
    bool is_typed = status == ATTNZOO_STATUS_INVALID_ARGUMENT && !mentions_parameter(text, arguments->mechanism);
    for (int index = 0; index < arguments->setting_count && is_typed; index++) {
        const char *setting = arguments->settings[index];
        if (mentions(text, setting, strcspn(setting, "=")))
            return fail_usage("--set %s: %s", setting, text);
    }
    return check_library(status, arguments->mechanism);
}
