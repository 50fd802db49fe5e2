/*
 * usage_text.h: what the help texts say, as data: pages of sections of entries.
 */
#ifndef TOOLS_USAGE_TEXT_H
#define TOOLS_USAGE_TEXT_H

/* An option or another word, and what it means; without a name, a sentence. The last of a list has no text. */
struct usage_entry {
    const char *name;
    const char *text;
};

/* The last of a page has no title. */
struct usage_section {
    const char *title;
    const struct usage_entry *entries;
};

/* The last page has no introduction. */
struct usage_page {
    /* NULL for the page of the command as a whole. */
    const char *command;
    const char *introduction;
    /* The form of the command line; may be NULL. */
    const char *synopsis;
    /* Where texts stand beside names. */
    int column;
    const struct usage_section *sections;
    /* A last sentence; may be NULL. */
    const char *closing;
    /* Command lines that run, with NULL behind the last. One that ends in a backslash goes on in the next. */
    const char *const *examples;
};

extern const struct usage_page usage_pages[];

#endif
