/*
 * usage.c: lays out the help texts: names on the left, what they mean on the right, no line wider than a terminal. The
 * texts themselves are in usage_text.c.
 */
#include "usage.h"

#include "usage_text.h"

#include <stdio.h>
#include <string.h>

enum { MARGIN = 2, WIDTH = 80 };

/* Prints words from column `column` on, where the line stands, and breaks lines between them. */
static void print_wrapped(const char *text, int indent, int column)
{
    bool is_first = true;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (!is_first && column + 1 + length > WIDTH) {
            column = printf("\n%*s", indent, "") - 1;
            is_first = true;
        }
        column += printf("%s%.*s", is_first ? "" : " ", length, text);
        is_first = false;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_entry(const struct usage_entry *entry, int column)
{
    if (entry->name == NULL) {
        printf("%*s", MARGIN, "");
        print_wrapped(entry->text, MARGIN, MARGIN);
        return;
    }
    int width = printf("%*s%s", MARGIN, "", entry->name);
    if (width + 2 > column) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", column - width, "");
    print_wrapped(entry->text, column, column);
}

static void print_page(const struct usage_page *page)
{
    print_wrapped(page->introduction, 0, 0);
    if (page->synopsis != NULL)
        printf("\n%*s%s\n", MARGIN, "", page->synopsis);
    for (const struct usage_section *section = page->sections; section->title != NULL; section++) {
        printf("\n%s\n", section->title);
        for (const struct usage_entry *entry = section->entries; entry->text != NULL; entry++)
            print_entry(entry, page->column);
    }
    if (page->closing != NULL) {
        putchar('\n');
        print_wrapped(page->closing, 0, 0);
    }
    printf("\nExamples\n");
    for (const char *const *example = page->examples; *example != NULL; example++)
        printf("%*s%s\n", MARGIN, "", *example);
}

bool print_usage(const char *command)
{
    for (const struct usage_page *page = usage_pages; page->introduction != NULL; page++) {
        bool is_wanted =
            command == NULL || page->command == NULL ? command == page->command : strcmp(command, page->command) == 0;
        if (is_wanted) {
            print_page(page);
            return true;
        }
    }
    return false;
}
