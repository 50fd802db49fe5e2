/*
 * run_inputs.h: the tensors that a mechanism is given.
 */
#ifndef TOOLS_RUN_INPUTS_H
#define TOOLS_RUN_INPUTS_H

#include "arguments.h"
#include "operand.h"

/* All zero is nothing and may be freed. */
struct run_inputs {
    struct operand operands[INPUT_OPTION_COUNT];
    /* [place_count] as the mechanism has them; NULL where nothing was given. */
    const attnzoo_tensor **views;
    int32_t place_count;
};

/* Checks that the inputs given are those that the mechanism has and needs, before any file is read. */
enum outcome run_inputs_check(const struct run_arguments *arguments);

/* Reads the inputs and puts the past in front of key and value. */
enum outcome run_inputs_read(struct run_inputs *inputs, const struct run_arguments *arguments);

/* Whether the query came with all the axes that the mechanism names for it, of which the first counts batches. */
bool run_inputs_have_batches(const struct run_inputs *inputs, const char *mechanism);

/* B: the size of the query's batch axis, 1 where it has none. */
int64_t run_inputs_batch(const struct run_inputs *inputs, const char *mechanism);

void run_inputs_free(struct run_inputs *inputs);

#endif
