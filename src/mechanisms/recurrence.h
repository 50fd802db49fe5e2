/*
 * mechanisms/recurrence.h: what the mechanisms share that go through their queries as steps in time: checks of the state
 * that an utterance's steps are carried in, which rows of keys and values that state does not know yet, and layers.
 */
#ifndef ATTNZOO_MECHANISMS_RECURRENCE_H
#define ATTNZOO_MECHANISMS_RECURRENCE_H

#include "kernels/projection.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/shapes.h"

/** Checks that a state, NULL for none, is for so many batches and these keys, which the input of that name has. */
attnzoo_status attnzoo_recurrence_check_state(const struct attnzoo_state_content *state, int64_t batch_count,
                                              int64_t key_count, const char *input);

/** Checks that a state, not NULL, has room for so many keys. */
attnzoo_status attnzoo_recurrence_check_room(const struct attnzoo_state_content *state, int64_t key_count,
                                             const char *input);

/**
 * Finds the rows to project, [B] each: queries before their length; keys that some query may see, less those that the
 * state keeps already from the same two views. The state then knows them. state may be NULL.
 */
void attnzoo_recurrence_find_rows(struct attnzoo_state_content *state, const struct attnzoo_view *first,
                                  const struct attnzoo_view *second, const struct attnzoo_mask_plan *mask,
                                  struct attnzoo_key_span *of_queries, struct attnzoo_key_span *of_keys);

/** A layer over an input, to one output. */
struct attnzoo_projection attnzoo_recurrence_layer(const struct attnzoo_grid *input, const struct attnzoo_layer *layer,
                                                   const struct attnzoo_grid *output);

#endif
