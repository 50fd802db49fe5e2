/*
 * run_state.h: the state of a run: made for it, filled from a file, written to one. What a state holds, introspection
 * tells.
 */
#ifndef TOOLS_RUN_STATE_H
#define TOOLS_RUN_STATE_H

#include "arguments.h"
#include "run_inputs.h"

#include <stdio.h>

/* All zero is none and may be freed. */
struct run_state {
    /* NULL where neither --state-in nor --state-out was given. */
    attnzoo_state *state;
    /* As `state` was before the first call; only where calls are repeated. */
    attnzoo_state *start;
};

/* Checks that the mechanism carries a state if one is asked for, before any file is read. */
enum outcome run_state_check(const struct run_arguments *arguments);

/*
 * Makes the state, if one is asked for, with room for what --state-in holds and for the keys of this call, and fills
 * it. The module must be prepared.
 */
enum outcome run_state_make(struct run_state *state, const attnzoo_module *module,
                            const struct run_arguments *arguments, const struct run_inputs *inputs);

/* Takes the state back to where it was before the first call. To be used only under --time. */
attnzoo_status run_state_rewind(struct run_state *state);

/* Writes what the state holds as .safetensors. Whether all was written is told by the stream. */
enum outcome run_state_write(const struct run_state *state, const char *mechanism, FILE *stream);

void run_state_free(struct run_state *state);

#endif
