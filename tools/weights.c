/*
 * weights.c: copies weights from a file into a module.
 */
#include "weights.h"

#include "operand.h"
#include "safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is being filled, from where. */
struct weights {
    attnzoo_module *module;
    struct safetensors file;
    struct rename_rules *rules;
    size_t prefix_length;
    /* By parameter, the name of the tensor that it came from; NULL where it has not come yet. */
    const char **sources;
};

static int32_t find_parameter(const char *mechanism, const char *name)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER);
    for (int32_t index = 0; index < count; index++) {
        const char *known = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, index, ATTNZOO_FIELD_NAME);
        if (known != NULL && strcmp(known, name) == 0)
            return index;
    }
    return -1;
}

/* Whether a preset of --rename makes `name` a parameter of the mechanism. */
static bool preset_fits(const char *preset, const char *mechanism, const char *name)
{
    struct rename_rules rules;
    bool fits = false;
    if (rename_rules_read(&rules, &preset, 1) == OUTCOME_OK) {
        for (int index = 0; index < rules.count && !fits; index++) {
            char *parameter =
                rename_rule_fits(&rules, index, name) ? rename_rule_apply(&rules.rules[index], name) : NULL;
            fits = parameter != NULL && find_parameter(mechanism, parameter) >= 0;
            free(parameter);
        }
    }
    rename_rules_free(&rules);
    return fits;
}

static const char *find_fitting_preset(const char *mechanism, const char *name)
{
    int preset = 0;
    while (rename_preset_name(preset) != NULL && !preset_fits(rename_preset_name(preset), mechanism, name))
        preset++;
    return rename_preset_name(preset);
}

/* Where in a tensor's name that of a parameter begins: at the front or behind a full stop; NULL if nowhere. */
static const char *find_name(const char *mechanism, const char *tensor)
{
    for (const char *name = tensor, *stop; name != NULL; name = stop == NULL ? NULL : stop + 1) {
        stop = strchr(name, '.');
        if (find_parameter(mechanism, name) >= 0 || find_fitting_preset(mechanism, name) != NULL)
            return name;
    }
    return NULL;
}

/* Says that no name begins with the prefix, and which prefixes there are. */
static enum outcome refuse_prefix(const struct weights *weights, const char *prefix)
{
    enum { SHOWN = 3 };
    const char *path = weights->file.file.path, *mechanism = attnzoo_module_mechanism(weights->module);
    struct {
        const char *text;
        int length;
    } found[SHOWN + 1] = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};
    int count = 0;
    for (int64_t index = 0; index < weights->file.entry_count && count <= SHOWN; index++) {
        const char *tensor = weights->file.entries[index].name, *name = find_name(mechanism, tensor);
        int length = name == NULL ? 0 : (int)(name - tensor), known = 0;
        while (known < count &&
               (found[known].length != length || memcmp(found[known].text, tensor, (size_t)length) != 0))
            known++;
        if (name == tensor)
            return fail("%s: there is no tensor whose name begins with '%s'; try it without --prefix", path, prefix);
        if (length > 0 && known == count) {
            found[count].text = tensor;
            found[count++].length = length;
        }
    }
    if (count == 0)
        return fail("%s: there is no tensor whose name begins with '%s'; 'attnzoo list' tells the names", path, prefix);
    return fail("%s: there is no tensor whose name begins with '%s'; try --prefix %.*s%s%.*s%s%.*s%s", path, prefix,
                found[0].length, found[0].text, count > 1 ? " or " : "", found[1].length, found[1].text,
                count > 2 ? " or " : "", found[2].length, found[2].text,
                count > SHOWN ? " ('attnzoo list' tells all)" : "");
}

/* Says that a tensor is no parameter, and what may help: the name, or what follows some full stop in it, is known. */
static enum outcome refuse_tensor(const struct weights *weights, const char *tensor)
{
    const char *path = weights->file.file.path, *mechanism = attnzoo_module_mechanism(weights->module);
    const char *first = tensor + weights->prefix_length;
    for (const char *name = first, *stop; name != NULL; name = stop == NULL ? NULL : stop + 1) {
        stop = strchr(name, '.');
        if (strcmp(name, "bias_k") == 0 || strcmp(name, "bias_v") == 0)
            return fail("%s: tensor '%s' (add_bias_kv=True in PyTorch) has no counterpart in %s", path, tensor,
                        mechanism);
        const char *preset = find_fitting_preset(mechanism, name);
        if (preset == NULL && find_parameter(mechanism, name) < 0)
            continue;
        int prefix_length = name == first ? 0 : (int)(name - tensor);
        return fail("%s: tensor '%s' is no parameter of %s; try%s%.*s%s%s", path, tensor, mechanism,
                    prefix_length > 0 ? " --prefix " : "", prefix_length, tensor, preset != NULL ? " --rename " : "",
                    preset != NULL ? preset : "");
    }
    return fail("%s: tensor '%s' is no parameter of %s ('attnzoo describe %s' lists them; --rename says what other "
                "names mean)",
                path, tensor, mechanism, mechanism);
}

/* Finds the parameter's number and checks that nothing was its source before. */
static enum outcome claim(struct weights *weights, const char *tensor, const char *parameter)
{
    const char *path = weights->file.file.path, *mechanism = attnzoo_module_mechanism(weights->module);
    int32_t index = find_parameter(mechanism, parameter);
    if (index < 0 && strcmp(tensor + weights->prefix_length, parameter) == 0)
        return refuse_tensor(weights, tensor);
    if (index < 0)
        return fail("%s: tensor '%s', renamed to '%s', is no parameter of %s ('attnzoo describe %s' lists them)", path,
                    tensor, parameter, mechanism, mechanism);
    if (weights->sources[index] != NULL)
        return fail("%s: both tensor '%s' and tensor '%s' would be the parameter %s", path, weights->sources[index],
                    tensor, parameter);
    weights->sources[index] = tensor;
    return OUTCOME_OK;
}

/* Sets a parameter from rows first to last - 1 of an array; from all of a single number. */
static enum outcome set_rows(struct weights *weights, const char *parameter, const struct array *array, int64_t first,
                             int64_t last, const char *where)
{
    struct operand rows = {.array = *array};
    if (array->rank > 0) {
        int64_t row_size = attnzoo_dtype_size(array->dtype);
        for (int32_t axis = 1; axis < array->rank; axis++)
            row_size *= array->shape[axis];
        rows.array.shape[0] = last - first;
        rows.array.data = (char *)array->data + first * row_size;
    }
    enum outcome outcome = operand_make_view(&rows, where);
    if (outcome == OUTCOME_OK)
        outcome = check_library(attnzoo_module_set_parameter(weights->module, parameter, rows.view), where);
    attnzoo_tensor_destroy(rows.view);
    return outcome;
}

/* Does with a tensor what one rule says. */
static enum outcome set_by_rule(struct weights *weights, const struct rename_rule *rule, const char *tensor,
                                const struct array *array, const char *where)
{
    char *parameter = rename_rule_apply(rule, tensor + weights->prefix_length);
    if (parameter == NULL)
        return fail("%s: not enough memory", where);
    int64_t rows = array->rank > 0 ? array->shape[0] : 1, first, last;
    enum outcome outcome = OUTCOME_OK;
    if (*parameter != '\0' && !rename_rule_rows(rule, rows, &first, &last))
        outcome = fail("%s has %" PRId64 " rows, which does not fit --rename %s", where, rows, rule->text);
    else if (*parameter != '\0')
        outcome = claim(weights, tensor, parameter);
    if (outcome == OUTCOME_OK && *parameter != '\0')
        outcome = set_rows(weights, parameter, array, first, last, where);
    free(parameter);
    return outcome;
}

static enum outcome set_from(struct weights *weights, const struct array *array, const char *tensor, const char *where)
{
    const char *name = tensor + weights->prefix_length;
    bool is_renamed = false;
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < weights->rules->count && outcome == OUTCOME_OK; index++) {
        if (!rename_rule_fits(weights->rules, index, name))
            continue;
        is_renamed = true;
        outcome = set_by_rule(weights, &weights->rules->rules[index], tensor, array, where);
    }
    if (outcome != OUTCOME_OK || is_renamed)
        return outcome;
    outcome = claim(weights, tensor, name);
    return outcome == OUTCOME_OK ? set_rows(weights, name, array, 0, array->rank > 0 ? array->shape[0] : 1, where)
                                 : outcome;
}

/* Whether nothing but being left out happens to a tensor, which then may be of a type that cannot be read. */
static bool is_left_out(struct weights *weights, const char *name)
{
    bool is_left_out = false;
    for (int index = 0; index < weights->rules->count; index++) {
        if (!rename_rule_fits(weights->rules, index, name))
            continue;
        is_left_out = true;
        const struct rename_rule *rule = &weights->rules->rules[index];
        if (rule->new_head_length + rule->new_tail_length > 0 || rule->new_tail != NULL)
            return false;
    }
    return is_left_out;
}

static enum outcome set_one(struct weights *weights, const struct safetensors_entry *entry)
{
    if (is_left_out(weights, entry->name + weights->prefix_length))
        return OUTCOME_OK;
    const char *path = weights->file.file.path;
    char *where = malloc(strlen(path) + strlen(entry->name) + 16);
    if (where == NULL)
        return fail("%s: not enough memory", path);
    sprintf(where, "%s: tensor '%s'", path, entry->name);
    struct array array = {0};
    enum outcome outcome = safetensors_read(&weights->file, entry, &array, WANTED_FLOAT);
    if (outcome == OUTCOME_OK)
        outcome = set_from(weights, &array, entry->name, where);
    array_free(&array);
    free(where);
    return outcome;
}

/* A written rule that no tensor had a use for is a slip of the pen. */
static enum outcome check_rules_used(const struct weights *weights)
{
    for (int index = 0; index < weights->rules->count; index++) {
        const struct rename_rule *rule = &weights->rules->rules[index];
        if (!rule->is_preset && !rule->is_used)
            return fail("%s: --rename %s: no tensor has this name behind the prefix", weights->file.file.path,
                        rule->text);
    }
    return OUTCOME_OK;
}

static enum outcome set_all(struct weights *weights, const char *prefix)
{
    int64_t found = 0;
    enum outcome outcome = OUTCOME_OK;
    for (int64_t index = 0; index < weights->file.entry_count && outcome == OUTCOME_OK; index++) {
        const struct safetensors_entry *entry = &weights->file.entries[index];
        if (strncmp(entry->name, prefix, weights->prefix_length) != 0)
            continue;
        found++;
        outcome = set_one(weights, entry);
    }
    if (outcome == OUTCOME_OK && found == 0)
        outcome = refuse_prefix(weights, prefix);
    return outcome == OUTCOME_OK ? check_rules_used(weights) : outcome;
}

enum outcome weights_set(attnzoo_module *module, const char *path, const char *prefix, struct rename_rules *rules)
{
    struct weights weights = {.module = module, .rules = rules};
    prefix = prefix == NULL ? "" : prefix;
    weights.prefix_length = strlen(prefix);
    enum outcome outcome = safetensors_open(&weights.file, path);
    if (outcome != OUTCOME_OK)
        return outcome;
    int32_t count = attnzoo_item_count(attnzoo_module_mechanism(module), ATTNZOO_ITEM_PARAMETER);
    weights.sources = calloc((size_t)count + 1, sizeof *weights.sources);
    outcome = weights.sources == NULL ? fail("%s: not enough memory", path) : set_all(&weights, prefix);
    free(weights.sources);
    safetensors_close(&weights.file);
    return outcome;
}
