/*
 * weights.c: copies weights from a file into a module.
 */
#include "weights.h"

#include "operand.h"
#include "safetensors.h"

#include <string.h>

static bool is_parameter(const char *mechanism, const char *name)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER);
    for (int32_t index = 0; index < count; index++) {
        const char *known = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, index, ATTNZOO_FIELD_NAME);
        if (known != NULL && strcmp(known, name) == 0)
            return true;
    }
    return false;
}

static enum outcome set_one(attnzoo_module *module, struct safetensors *file, const struct safetensors_entry *entry,
                            const char *parameter)
{
    const char *path = file->file.path, *mechanism = attnzoo_module_mechanism(module);
    if (!is_parameter(mechanism, parameter))
        return fail("%s: tensor '%s' is no parameter of %s", path, entry->name, mechanism);
    struct operand operand = {0};
    enum outcome outcome = safetensors_read(file, entry, &operand.array);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(&operand, entry->name);
    if (outcome == OUTCOME_OK)
        outcome = check_library(attnzoo_module_set_parameter(module, parameter, operand.view), path);
    operand_free(&operand);
    return outcome;
}

enum outcome weights_set(attnzoo_module *module, const char *path, const char *prefix)
{
    struct safetensors file;
    enum outcome outcome = safetensors_open(&file, path);
    if (outcome != OUTCOME_OK)
        return outcome;
    size_t prefix_length = prefix == NULL ? 0 : strlen(prefix);
    int64_t found = 0;
    for (int64_t index = 0; index < file.entry_count && outcome == OUTCOME_OK; index++) {
        const struct safetensors_entry *entry = &file.entries[index];
        if (prefix_length > 0 && strncmp(entry->name, prefix, prefix_length) != 0)
            continue;
        found++;
        outcome = set_one(module, &file, entry, entry->name + prefix_length);
    }
    if (outcome == OUTCOME_OK && found == 0)
        outcome = fail("%s: there is no tensor whose name begins with '%s'", path, prefix == NULL ? "" : prefix);
    safetensors_close(&file);
    return outcome;
}
