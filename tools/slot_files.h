/*
 * slot_files.h: the files that stand for inputs and outputs, each by the name that introspection has for it: --input
 * NAME=F or --output NAME=F, and for the names that many mechanisms have, an option of their own, such as --query F.
 */
#ifndef TOOLS_SLOT_FILES_H
#define TOOLS_SLOT_FILES_H

#include "problem.h"
#include "type_advice.h"

#include <stdint.h>

struct slot_file {
    char *name;
    /* The user's. */
    const char *file;
    /* What stands before the file on the command line: "--query " or "--input seed=". */
    char *lead;
};

struct slot_files {
    /* ATTNZOO_ITEM_INPUT or ATTNZOO_ITEM_OUTPUT. */
    int32_t item;
    struct slot_file *list;
    int count;
};

/* Takes F of the option that is called as the input or output is. The list must have room for one more. */
enum outcome slot_files_add_own(struct slot_files *files, const char *name, const char *file);

/* Takes NAME=F of the option --input or --output. The list must have room for one more. */
enum outcome slot_files_add_named(struct slot_files *files, const char *text);

/* NULL if no file stands for that name. */
const struct slot_file *slot_files_find(const struct slot_files *files, const char *name);

void slot_files_free(struct slot_files *files);

/* Checks that the mechanism has all that files are named for; what it has is listed otherwise. */
enum outcome slot_files_check(const struct slot_files *files, const char *mechanism);

/* The place of an input or output by its name; -1 if the mechanism has none that is called so. */
int32_t slot_place(const char *mechanism, int32_t item, const char *name);

/* What an input or output is made of, as introspection tells. */
enum wanted_type slot_type(const char *mechanism, int32_t item, int32_t place);

/* What stands before the name of an input or output: "--" where it has an option of its own, else "--input ". */
const char *slot_dashes(int32_t item, const char *name);

#endif
