/*
 * attnzoo/state.h: states. A state is what a mechanism carries from one forward call to the next: a key/value
 * cache (multi_head, relative_multi_head), the alignment of a recurrent mechanism (location_aware), or a memory and
 * where its heads are (introspective).
 *
 *   attnzoo_state_create     for calls of one module, with room for so many keys
 *   attnzoo_module_forward   reads the state and continues it, any number of times
 *   attnzoo_state_reset      before the next sequence or utterance
 *
 * A key/value cache grows: each call appends the projected keys and values of its M keys and attends over all
 * T + M of them, so that masks, attention and positions count the T kept ones first. Keys beyond a key length
 * of the call are kept as zeros. A prompt in one call and then one token a call come to what one causal call over
 * everything would, but for rounding. So does a call with an empty cache: under a causal or window mask more keys are
 * projected, in products of another size, than without one.
 *
 * An alignment belongs to one utterance: every call until the next reset must have the same keys and values. Their
 * projections are made once and kept, and made anew when a call brings a view of other memory; so memory
 * that a state has seen must not change before the reset. Two calls of N1 and N2 steps give the same as one of
 * N1 + N2: to the bit, unless causal, window or query lengths let them see other keys, which are then projected in
 * products of another size and differ by rounding.
 *
 * A memory belongs to one sequence: the first call takes it from `value`, later ones from the state, and `value` may be
 * left out. Two calls of N1 and N2 steps give the same, to the bit, as one of N1 + N2.
 *
 * What a state holds can be read and written field by field. Fields are numbered; attnzoo_item_text() with
 * ATTNZOO_ITEM_STATE tells their names and shapes: `key` [B, G, T, D] and `value` [B, G, T, Dv], or
 * `alignment` and `cumulative` [B, H, M], or `memory` [B, 1, M, C] and `weights` [B, H, M]. A field whose shape has no
 * keys, as `kappa` [B, K] of location, is there in an empty state, too, and holds zeros.
 */
#ifndef ATTNZOO_STATE_H
#define ATTNZOO_STATE_H

#include "api.h"
#include "module.h"
#include "status.h"
#include "tensor.h"

ATTNZOO_BEGIN_DECLARATIONS

/**
 * Makes an empty state for calls of a prepared module. All its memory is allocated here.
 *
 * @param state     receives the new state on success, which the caller owns; untouched otherwise.
 * @param module    a prepared module; must outlive the state. The state serves this module alone.
 * @param batch     B of the calls, at least 0.
 * @param capacity  the most keys the state can hold, at least 0. A call that needs more is an error, and changes
 *                  nothing.
 * @return OK; INVALID_ARGUMENT: NULL, a negative number, sizes that pass 63 bits; BAD_STATE: the module is not
 *         prepared; UNSUPPORTED: the mechanism carries no state; OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_create(attnzoo_state **state, const attnzoo_module *module, int64_t batch,
                                                int64_t capacity);

/** Frees a state. NULL is fine. Since 1.0. */
ATTNZOO_API void attnzoo_state_destroy(attnzoo_state *state);

/**
 * Empties a state, as though it were new. To be called before each new sequence or utterance.
 *
 * @return OK; INVALID_ARGUMENT: NULL. Threads: not beside any other use of this state. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_reset(attnzoo_state *state);

/**
 * Forgets all keys of a cache from number length on, for instance after a rejected draft of tokens.
 *
 * @param length  at least 0; one that is not below attnzoo_state_length() changes nothing.
 * @return OK; INVALID_ARGUMENT: NULL, a negative length; UNSUPPORTED: the state is no cache.
 * Threads: not beside any other use of this state. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_truncate(attnzoo_state *state, int64_t length);

/**
 * Makes destination hold what source holds, without allocating.
 *
 * @param destination  of the same mechanism, batch, heads and sizes, with a capacity of at least source's length.
 * @return OK; INVALID_ARGUMENT: NULL, source holds more keys than destination has room for; SHAPE_MISMATCH: the
 *         two are not of one kind. On error destination is as it was.
 * Threads: not beside another call that changes either. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_copy(attnzoo_state *destination, const attnzoo_state *source);

/** How many keys the state holds: T of a cache, M of an alignment, 0 when empty; -1 for NULL. Since 1.0. */
ATTNZOO_API int64_t attnzoo_state_length(const attnzoo_state *state);

/** The most keys the state can hold; -1 for NULL. Threads: any. Since 1.0. */
ATTNZOO_API int64_t attnzoo_state_capacity(const attnzoo_state *state);

/** B of the calls that the state serves; -1 for NULL. Threads: any. Since 1.0. */
ATTNZOO_API int64_t attnzoo_state_batch(const attnzoo_state *state);

/**
 * The shape of a field as it is now, with the state's length for T or M.
 *
 * @param field  the field's number, 0 the first.
 * @param rank   receives the number of axes.
 * @param shape  [ATTNZOO_RANK_MAX] receives that many sizes.
 * @return OK; INVALID_ARGUMENT: NULL, no such field. Threads: as reading. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_field_shape(const attnzoo_state *state, int32_t field, int32_t *rank,
                                                     int64_t *shape);

/**
 * Copies a field out.
 *
 * @param field   the field's number, 0 the first.
 * @param values  of the shape that attnzoo_state_field_shape() tells; float32, float16 or bfloat16, any strides that do
 *                not repeat an element.
 * @return OK; INVALID_ARGUMENT: NULL, no such field, values is read-only; SHAPE_MISMATCH; DTYPE_MISMATCH; OVERLAP:
 *         values overlaps itself. On error nothing was written.
 * Threads: not beside a call that changes the state. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_get_field(const attnzoo_state *state, int32_t field, attnzoo_tensor *values);

/**
 * Replaces what the state holds, all fields at once. What attnzoo_state_get_field() gave makes the state continue from
 * there, to the bit for float32.
 *
 * @param fields       [field_count] views by field number, shapes as attnzoo_state_field_shape() with any length up to
 *                     the capacity for T or M, the same for all. float32, float16 or bfloat16, any strides.
 *                     NULL leaves a field out; only `cumulative` may be, and only with feedback=previous:
 *                     it then starts as the alignment.
 * @param field_count  how many places the array has; places beyond count as NULL.
 * @return OK; INVALID_ARGUMENT: NULL, a field is missing, the length is above the capacity; SHAPE_MISMATCH;
 *         DTYPE_MISMATCH; UNSUPPORTED: a view in a place that is no field. On error the state is as it was.
 * Threads: not beside any other use of this state. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_state_set_fields(attnzoo_state *state, const attnzoo_tensor *const *fields,
                                                    int32_t field_count);

ATTNZOO_END_DECLARATIONS

#endif
