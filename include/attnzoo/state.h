/*
 * attnzoo/state.h: states. A state is what a mechanism carries from one forward call to the next: the
 * alignment of a recurrent mechanism, or a key/value cache.
 */
#ifndef ATTNZOO_STATE_H
#define ATTNZOO_STATE_H

#include "api.h"
#include "module.h"
#include "status.h"

ATTNZOO_BEGIN_DECLARATIONS

/**
 * Makes an empty state for calls of a prepared module.
 *
 * No mechanism of this version carries a state, so this returns UNSUPPORTED for each of them; the handle
 * is part of the calling convention from the start.
 *
 * @param state     receives the new state on success, which the caller owns; untouched otherwise.
 * @param module    a prepared module; must outlive the state.
 * @param batch     B of the calls, at least 0.
 * @param capacity  the most keys the state can hold, at least 0.
 * @return OK; INVALID_ARGUMENT: NULL, a negative number; BAD_STATE: the module is not prepared;
 *         UNSUPPORTED: the mechanism carries no state; OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_create(attnzoo_state **state, const attnzoo_module *module, int64_t batch,
                                                int64_t capacity);

/** Frees a state. NULL is fine. Since 1.0. */
ATTNZOO_API void attnzoo_state_destroy(attnzoo_state *state);

ATTNZOO_END_DECLARATIONS

#endif
