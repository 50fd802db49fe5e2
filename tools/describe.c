/*
 * describe.c: `attnzoo list` and `attnzoo describe`.
 */
#include "describe.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const char *mechanism, int32_t item, int32_t index, int32_t field)
{
    const char *text = attnzoo_item_text(mechanism, item, index, field);
    return text == NULL ? "" : text;
}

static int larger(int left, int right)
{
    return left > right ? left : right;
}

void print_mechanisms(void)
{
    int width = 0;
    for (int32_t index = 0; index < attnzoo_mechanism_count(); index++)
        width = larger(width, (int)strlen(attnzoo_mechanism_name(index)));
    for (int32_t index = 0; index < attnzoo_mechanism_count(); index++) {
        const char *name = attnzoo_mechanism_name(index);
        printf("%-*s  %s\n", width, name, text_of(name, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_SUMMARY));
    }
}

static void print_shaped_items(const char *mechanism, int32_t item, const char *title)
{
    int32_t count = attnzoo_item_count(mechanism, item);
    int name_width = 0, shape_width = 0;
    bool is_any = false;
    for (int32_t index = 0; index < count; index++) {
        name_width = larger(name_width, (int)strlen(text_of(mechanism, item, index, ATTNZOO_FIELD_NAME)));
        shape_width = larger(shape_width, (int)strlen(text_of(mechanism, item, index, ATTNZOO_FIELD_SHAPE)));
    }
    printf("\n%s\n", title);
    for (int32_t index = 0; index < count; index++) {
        /* Places that other mechanisms use may be empty here. */
        if (attnzoo_item_text(mechanism, item, index, ATTNZOO_FIELD_NAME) == NULL)
            continue;
        is_any = true;
        bool is_optional = strcmp(text_of(mechanism, item, index, ATTNZOO_FIELD_REQUIRED), "no") == 0;
        printf("  %-*s  %-*s  %s%s\n", name_width, text_of(mechanism, item, index, ATTNZOO_FIELD_NAME), shape_width,
               text_of(mechanism, item, index, ATTNZOO_FIELD_SHAPE),
               text_of(mechanism, item, index, ATTNZOO_FIELD_SUMMARY), is_optional ? " (optional)" : "");
    }
    if (!is_any)
        printf("  none\n");
}

static void print_options(const char *mechanism)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_OPTION);
    printf("\nOptions (--set NAME=VALUE)\n");
    for (int32_t index = 0; index < count; index++) {
        printf("  %s  %s, default %s, %s\n", text_of(mechanism, ATTNZOO_ITEM_OPTION, index, ATTNZOO_FIELD_NAME),
               text_of(mechanism, ATTNZOO_ITEM_OPTION, index, ATTNZOO_FIELD_TYPE),
               text_of(mechanism, ATTNZOO_ITEM_OPTION, index, ATTNZOO_FIELD_DEFAULT),
               text_of(mechanism, ATTNZOO_ITEM_OPTION, index, ATTNZOO_FIELD_BOUNDS));
        printf("      %s\n", text_of(mechanism, ATTNZOO_ITEM_OPTION, index, ATTNZOO_FIELD_SUMMARY));
    }
    if (count == 0)
        printf("  none\n");
}

enum outcome check_mechanism(const char *mechanism)
{
    attnzoo_module *module = NULL;
    attnzoo_status status = attnzoo_module_create(&module, mechanism);
    attnzoo_module_destroy(module);
    /* The destruction reports no status, so the message of the creation still stands. */
    return check_library_usage(status, mechanism);
}

enum outcome describe_mechanism(const char *mechanism)
{
    enum outcome outcome = check_mechanism(mechanism);
    if (outcome != OUTCOME_OK)
        return outcome;
    printf("%s: %s\n", mechanism, text_of(mechanism, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_SUMMARY));
    printf("\nFormula\n  %s\n", text_of(mechanism, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_FORMULA));
    printf("\nSource\n  %s\n", text_of(mechanism, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_SOURCE));
    print_options(mechanism);
    print_shaped_items(mechanism, ATTNZOO_ITEM_PARAMETER, "Parameters (--weights)");
    print_shaped_items(mechanism, ATTNZOO_ITEM_INPUT, "Inputs");
    print_shaped_items(mechanism, ATTNZOO_ITEM_OUTPUT, "Outputs");
    printf("\nLetters in shapes: B batch, H query heads, G key/value heads (H is a multiple of G), N queries, M keys,\n"
           "D head size of query and key, Dv head size of value. Leading axes of size 1 may be left out.\n");
    return OUTCOME_OK;
}
