/*
 * operand.h: a file of the command line, read into memory with a view of the library upon it.
 */
#ifndef TOOLS_OPERAND_H
#define TOOLS_OPERAND_H

#include "array.h"
#include "type_advice.h"

/* All zero is an operand that was not given and may be freed. */
struct operand {
    struct array array;
    attnzoo_tensor *view;
};

bool path_ends_with(const char *path, const char *ending);

/*
 * The path of the file that a reference names: all of it, or FILE.safetensors of FILE.safetensors:NAME. The caller frees
 * it; NULL where there is no memory.
 */
char *reference_path(const char *reference);

/*
 * Reads what `reference` names, a .npy file or FILE.safetensors:NAME, into an array, which may have rank 0.
 * `option` is the option that names it, NULL for a word that stands by itself.
 */
enum outcome array_read(struct array *array, const char *option, const char *reference);

/*
 * The same for an array of which it is known what it must be. `lead` is what stands before the reference on the command
 * line: "--query ", or "--input seed=".
 */
enum outcome array_read_as(struct array *array, const char *lead, enum wanted_type wanted, const char *reference);

/* As array_read(), with a view. */
enum outcome operand_read(struct operand *operand, const char *option, const char *reference);

/* Makes the view of an operand whose array is there. `name` is what messages call it. */
enum outcome operand_make_view(struct operand *operand, const char *name);

void operand_free(struct operand *operand);

#endif
