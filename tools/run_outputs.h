/*
 * run_outputs.h: the arrays that a mechanism fills. To which files they go, run.c sees to.
 */
#ifndef TOOLS_RUN_OUTPUTS_H
#define TOOLS_RUN_OUTPUTS_H

#include "arguments.h"
#include "operand.h"
#include "output_file.h"
#include "run_inputs.h"

/* All zero is nothing and may be freed. */
struct run_outputs {
    /* [place_count] as the mechanism has them, and the views for the library: NULL where one is not wanted. */
    struct operand *operands;
    attnzoo_tensor **views;
    int32_t place_count;
};

/* Checks that the mechanism has the outputs that are asked for, before any file is read. */
enum outcome run_outputs_check(const struct run_arguments *arguments);

/* Makes the arrays: float32, or int64 for integers. The module must be prepared; `state` may be NULL. */
enum outcome run_outputs_make(struct run_outputs *outputs, const attnzoo_module *module,
                              const struct run_arguments *arguments, const struct run_inputs *inputs,
                              const attnzoo_state *state);

/* The array of an output by its name; an empty one where it was not made. */
const struct array *run_outputs_array(const struct run_outputs *outputs, const char *mechanism, const char *name);

/* Writes an output as .npy and ends the file. */
enum outcome run_outputs_write(const struct run_outputs *outputs, const char *mechanism, const char *name,
                               struct output_file *file);

void run_outputs_free(struct run_outputs *outputs);

#endif
