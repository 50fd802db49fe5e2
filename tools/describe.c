/*
 * describe.c: `attnzoo list`, `attnzoo describe`, and the help of `attnzoo run` for one mechanism: all that introspection
 * tells, in words.
 */
#include "describe.h"

#include "shape_text.h"
#include "slot_files.h"

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

/* Prints a text with a margin, and where it is too long for a line, a line for each of its parts between semicolons. */
static void print_clauses(const char *text)
{
    enum { WIDTH = 116 };
    bool is_long = strlen(text) > WIDTH;
    for (const char *end; is_long && (end = strstr(text, "; ")) != NULL; text = end + 2)
        printf("  %.*s;\n", (int)(end - text), text);
    printf("  %s\n", text);
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

/* What there is to say of an item beyond its summary: what holds integers is rare. */
static const char *remark_on(const char *mechanism, int32_t item, int32_t index)
{
    bool is_optional = strcmp(text_of(mechanism, item, index, ATTNZOO_FIELD_REQUIRED), "no") == 0;
    if (strcmp(text_of(mechanism, item, index, ATTNZOO_FIELD_TYPE), "integer") == 0)
        return is_optional ? " (integers, optional)" : " (integers)";
    return is_optional ? " (optional)" : "";
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
        printf("  %-*s  %-*s  %s%s\n", name_width, text_of(mechanism, item, index, ATTNZOO_FIELD_NAME), shape_width,
               text_of(mechanism, item, index, ATTNZOO_FIELD_SHAPE),
               text_of(mechanism, item, index, ATTNZOO_FIELD_SUMMARY), remark_on(mechanism, item, index));
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

/* What the letters in shapes mean, in the order in which they are told. */
static const struct {
    const char *letter;
    const char *meaning;
} letters[] = {
    {"B", "batch"},
    {"H", "query heads"},
    {"G", "key/value heads (H is a multiple of G)"},
    {"N", "queries"},
    {"M", "keys"},
    {"D", "head size of query and key"},
    {"Dv", "head size of value"},
    {"E", "model size"},
    {"Eq", "size of the query"},
    {"Ek", "size of the key"},
    {"Ev", "size of the value"},
    {"Ev'", "size of the projected value (Ev without value_proj)"},
    {"Eo", "size of the context behind out_proj"},
    {"A", "attention (hidden) size"},
    {"F", "filters"},
    {"W", "width of a filter, odd"},
    {"P", "rows of the position table"},
    {"S", "positions (at least M)"},
    {"K", "Gaussians"},
    {"T", "keys kept in the state"},
    {"k", "largest distance told apart, or moved by"},
    {"R", "columns of a head that are turned"},
    {"buckets", "ranges of distances"},
    {"Hr", "heads that read"},
    {"Hw", "heads that write (H is Hr + Hw)"},
    {"C", "width of the memory"},
};

static bool uses_letter(const char *mechanism, const char *letter)
{
    static const int32_t items[] = {ATTNZOO_ITEM_PARAMETER, ATTNZOO_ITEM_INPUT, ATTNZOO_ITEM_OUTPUT,
                                    ATTNZOO_ITEM_STATE};
    for (size_t kind = 0; kind < sizeof items / sizeof *items; kind++) {
        int32_t count = attnzoo_item_count(mechanism, items[kind]);
        for (int32_t index = 0; index < count; index++) {
            if (shape_text_mentions(text_of(mechanism, items[kind], index, ATTNZOO_FIELD_SHAPE), letter))
                return true;
        }
    }
    return false;
}

/* Only what this mechanism uses, in lines of readable length. */
static void print_letters(const char *mechanism)
{
    enum { WIDTH = 116 };
    int column = printf("\nLetters in shapes:");
    const char *separator = "";
    for (size_t index = 0; index < sizeof letters / sizeof *letters; index++) {
        if (!uses_letter(mechanism, letters[index].letter))
            continue;
        int length = (int)(strlen(letters[index].letter) + strlen(letters[index].meaning)) + 3;
        column += printf("%s", separator);
        if (column + length > WIDTH)
            column = printf("\n ") - 1;
        column += printf(" %s %s", letters[index].letter, letters[index].meaning);
        separator = ",";
    }
    printf(".\nLeading axes of size 1 may be left out.\n");
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
    printf("\nFormula\n");
    print_clauses(text_of(mechanism, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_FORMULA));
    printf("\nSource\n");
    print_clauses(text_of(mechanism, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_SOURCE));
    print_options(mechanism);
    print_shaped_items(mechanism, ATTNZOO_ITEM_PARAMETER, "Parameters (--weights)");
    print_shaped_items(mechanism, ATTNZOO_ITEM_INPUT, "Inputs");
    print_shaped_items(mechanism, ATTNZOO_ITEM_OUTPUT, "Outputs");
    print_shaped_items(mechanism, ATTNZOO_ITEM_STATE, "State (--state-in, --state-out)");
    print_letters(mechanism);
    return OUTCOME_OK;
}

/* The inputs that a call cannot do without, as options. */
static void print_synopsis(const char *mechanism)
{
    int32_t inputs = attnzoo_item_count(mechanism, ATTNZOO_ITEM_INPUT);
    printf("attnzoo run %s", mechanism);
    for (int32_t index = 0; index < inputs; index++) {
        const char *name = text_of(mechanism, ATTNZOO_ITEM_INPUT, index, ATTNZOO_FIELD_NAME);
        if (strcmp(text_of(mechanism, ATTNZOO_ITEM_INPUT, index, ATTNZOO_FIELD_REQUIRED), "yes") == 0)
            printf(" %s%s%sF", slot_dashes(ATTNZOO_ITEM_INPUT, name), name,
                   strcmp(slot_dashes(ATTNZOO_ITEM_INPUT, name), "--") == 0 ? " " : "=");
    }
    bool needs_weights = false;
    for (int32_t index = 0; index < attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER); index++)
        needs_weights = needs_weights ||
                        strcmp(text_of(mechanism, ATTNZOO_ITEM_PARAMETER, index, ATTNZOO_FIELD_REQUIRED), "yes") == 0;
    printf("%s --context F [OPTION]...\n", needs_weights ? " --weights F" : "");
}

enum outcome describe_for_run(const char *mechanism)
{
    enum outcome outcome = check_mechanism(mechanism);
    if (outcome != OUTCOME_OK)
        return outcome;
    print_synopsis(mechanism);
    print_shaped_items(mechanism, ATTNZOO_ITEM_INPUT,
                       "Inputs (--input NAME=F; --query F is short for --input query=F, and so on)");
    print_options(mechanism);
    print_shaped_items(mechanism, ATTNZOO_ITEM_PARAMETER, "Parameters (--weights)");
    print_shaped_items(mechanism, ATTNZOO_ITEM_OUTPUT,
                       "Outputs (--output NAME=F; --context F is short for --output context=F, and so on)");
    print_shaped_items(mechanism, ATTNZOO_ITEM_STATE, "State (--state-in, --state-out)");
    printf("\n'attnzoo run --help' lists the options that all mechanisms have: masks, positions, the heat map.\n"
           "'attnzoo describe %s' has the formula and the source, and says what the letters in shapes mean.\n",
           mechanism);
    return OUTCOME_OK;
}
