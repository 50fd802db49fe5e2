/*
 * run_inputs.h: the tensors that a mechanism is given.
 */
#ifndef TOOLS_RUN_INPUTS_H
#define TOOLS_RUN_INPUTS_H

#include "arguments.h"
#include "operand.h"

/* All zero is nothing and may be freed. */
struct run_inputs {
    /* [place_count] as the mechanism has them, and the views for the library: NULL where nothing was given. */
    struct operand *operands;
    const attnzoo_tensor **views;
    int32_t place_count;
};

/* Checks that the inputs given are those that the mechanism has and needs, before any file is read. */
enum outcome run_inputs_check(const struct run_arguments *arguments);

/* Reads the inputs and puts the past in front of key and value. */
enum outcome run_inputs_read(struct run_inputs *inputs, const struct run_arguments *arguments);

/*
 * The size of the axis that introspection calls `axis`, of the first input given that has one; -1 where none has, or
 * where that input came without it, as leading axes may be left out.
 */
int64_t run_inputs_size(const struct run_inputs *inputs, const char *mechanism, const char *axis);

void run_inputs_free(struct run_inputs *inputs);

#endif
