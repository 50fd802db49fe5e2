/*
 * slot_files.c: see slot_files.h. It knows no mechanism: whether a name is one, introspection tells.
 */
#include "slot_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those that have an option of their own; a mechanism need not have them. */
static const char *const own_inputs[] = {"query", "key", "value", "position", NULL};
static const char *const own_outputs[] = {"context", "attention", NULL};

static const char *kind_of(int32_t item)
{
    return item == ATTNZOO_ITEM_INPUT ? "input" : "output";
}

static bool has_option(int32_t item, const char *name)
{
    const char *const *own = item == ATTNZOO_ITEM_INPUT ? own_inputs : own_outputs;
    while (*own != NULL && strcmp(*own, name) != 0)
        own++;
    return *own != NULL;
}

const char *slot_dashes(int32_t item, const char *name)
{
    if (has_option(item, name))
        return "--";
    return item == ATTNZOO_ITEM_INPUT ? "--input " : "--output ";
}

/* Takes over `name` and `lead`, either of which may be NULL for want of memory. */
static enum outcome add(struct slot_files *files, char *name, char *lead, const char *file)
{
    enum outcome outcome = OUTCOME_OK;
    if (name == NULL || lead == NULL)
        outcome = fail("not enough memory");
    else if (slot_files_find(files, name) != NULL)
        outcome = fail_usage("%s%s: given more than once", slot_dashes(files->item, name), name);
    if (outcome == OUTCOME_OK) {
        files->list[files->count++] = (struct slot_file){name, file, lead};
        return OUTCOME_OK;
    }
    free(name);
    free(lead);
    return outcome;
}

/* "--", the option, a space and what the user wrote before the file; the caller frees it. */
static char *make_lead(const char *option, const char *text, size_t length)
{
    size_t capacity = strlen(option) + length + sizeof "-- ";
    char *lead = malloc(capacity);
    if (lead != NULL)
        snprintf(lead, capacity, "--%s %.*s", option, (int)length, text);
    return lead;
}

enum outcome slot_files_add_own(struct slot_files *files, const char *name, const char *file)
{
    return add(files, strdup(name), make_lead(name, "", 0), file);
}

enum outcome slot_files_add_named(struct slot_files *files, const char *text)
{
    const char *kind = kind_of(files->item);
    size_t length = strcspn(text, "=");
    if (length == 0 || text[length] != '=' || text[length + 1] == '\0')
        return fail_usage("--%s %s: must be NAME=F, the name of an %s and its file", kind, text, kind);
    return add(files, strndup(text, length), make_lead(kind, text, length + 1), text + length + 1);
}

const struct slot_file *slot_files_find(const struct slot_files *files, const char *name)
{
    for (int index = 0; index < files->count; index++) {
        if (strcmp(files->list[index].name, name) == 0)
            return &files->list[index];
    }
    return NULL;
}

void slot_files_free(struct slot_files *files)
{
    for (int index = 0; index < files->count; index++) {
        free(files->list[index].name);
        free(files->list[index].lead);
    }
    free(files->list);
    *files = (struct slot_files){0};
}

static const char *name_of(const char *mechanism, int32_t item, int32_t place)
{
    return attnzoo_item_text(mechanism, item, place, ATTNZOO_FIELD_NAME);
}

int32_t slot_place(const char *mechanism, int32_t item, const char *name)
{
    for (int32_t place = 0; place < attnzoo_item_count(mechanism, item); place++) {
        const char *known = name_of(mechanism, item, place);
        if (known != NULL && strcmp(known, name) == 0)
            return place;
    }
    return -1;
}

enum wanted_type slot_type(const char *mechanism, int32_t item, int32_t place)
{
    const char *type = attnzoo_item_text(mechanism, item, place, ATTNZOO_FIELD_TYPE);
    return type != NULL && strcmp(type, "integer") == 0 ? WANTED_INTEGER : WANTED_FLOAT;
}

static enum outcome refuse(const struct slot_files *files, const char *name, const char *mechanism)
{
    enum { KNOWN_SIZE = 400 };
    char known[KNOWN_SIZE] = "";
    size_t length = 0;
    for (int32_t place = 0; place < attnzoo_item_count(mechanism, files->item) && length < KNOWN_SIZE; place++) {
        const char *item = name_of(mechanism, files->item, place);
        if (item != NULL)
            length += (size_t)snprintf(known + length, KNOWN_SIZE - length, "%s%s", length > 0 ? ", " : "", item);
    }
    return fail_usage("%s%s: %s has no such %s; it has %s", slot_dashes(files->item, name), name, mechanism,
                      kind_of(files->item), known);
}

enum outcome slot_files_check(const struct slot_files *files, const char *mechanism)
{
    for (int index = 0; index < files->count; index++) {
        if (slot_place(mechanism, files->item, files->list[index].name) < 0)
            return refuse(files, files->list[index].name, mechanism);
    }
    return OUTCOME_OK;
}
