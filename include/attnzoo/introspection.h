/*
 * attnzoo/introspection.h: what mechanisms there are, and what each has. Everything comes as static text
 * or a number, so that commands, bindings and documents need no list of their own.
 */
#ifndef ATTNZOO_INTROSPECTION_H
#define ATTNZOO_INTROSPECTION_H

#include "api.h"

ATTNZOO_BEGIN_DECLARATIONS

/** Kinds of things that can be described. An int32_t wherever one is passed. */
enum {
    /** The mechanism itself: one item, with NAME, SUMMARY, FORMULA and SOURCE. */
    ATTNZOO_ITEM_MECHANISM = 0,
    /** Options: NAME, SUMMARY, TYPE, DEFAULT, BOUNDS. */
    ATTNZOO_ITEM_OPTION = 1,
    /** Parameters (weights): NAME, SUMMARY, SHAPE, REQUIRED. */
    ATTNZOO_ITEM_PARAMETER = 2,
    /** Inputs by ATTNZOO_INPUT_ place: NAME, SUMMARY, SHAPE, REQUIRED, TYPE. */
    ATTNZOO_ITEM_INPUT = 3,
    /** Outputs by ATTNZOO_OUTPUT_ place: NAME, SUMMARY, SHAPE, REQUIRED, TYPE. */
    ATTNZOO_ITEM_OUTPUT = 4,
    /** What the mechanism's states hold, by field number: NAME, SUMMARY, SHAPE, REQUIRED, TYPE. */
    ATTNZOO_ITEM_STATE = 5
};

/** What can be asked of a thing. An int32_t wherever one is passed. */
enum {
    /** The name by which functions take the thing. */
    ATTNZOO_FIELD_NAME = 0,
    /** One line of English. */
    ATTNZOO_FIELD_SUMMARY = 1,
    /**
     * An option's type: "float", "int", "bool" or "choice". Of an input, output or state: "float" for float32, float16
     * or bfloat16, "integer" for int32 or int64.
     */
    ATTNZOO_FIELD_TYPE = 2,
    /** An option's default, as text; a formula such as "1/sqrt(D)" where it follows from the inputs. */
    ATTNZOO_FIELD_DEFAULT = 3,
    /** What values an option takes, such as ">= 0", or its choices with "|" between them. */
    ATTNZOO_FIELD_BOUNDS = 4,
    /** A shape, such as "[B, H, N, D]". */
    ATTNZOO_FIELD_SHAPE = 5,
    /** "yes" or "no". */
    ATTNZOO_FIELD_REQUIRED = 6,
    /** The papers that a mechanism comes from. */
    ATTNZOO_FIELD_SOURCE = 7,
    /** What a mechanism computes, as a formula in plain text. */
    ATTNZOO_FIELD_FORMULA = 8
};

/** How many mechanisms the library has. Threads: any. Since 1.0. */
ATTNZOO_API int32_t attnzoo_mechanism_count(void);

/**
 * The name of a mechanism. The order is that of the library's table and may change between versions.
 *
 * @param index  0 the first.
 * @return a static string, not to be freed; NULL if index is out of range.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API const char *attnzoo_mechanism_name(int32_t index);

/**
 * How many items of a kind a mechanism has: ATTNZOO_ITEM_OPTION gives its number of options, and so on. For
 * inputs and outputs it is one more than the highest place that the mechanism uses.
 *
 * @param mechanism  a mechanism's name.
 * @param item       an ATTNZOO_ITEM_ number.
 * @return how many; -1 if there is no such mechanism or kind.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API int32_t attnzoo_item_count(const char *mechanism, int32_t item);

/**
 * One field of one item of a mechanism, as text.
 *
 * @param mechanism  a mechanism's name.
 * @param item       an ATTNZOO_ITEM_ number.
 * @param index      which item of that kind, 0 the first; the place for inputs and outputs.
 * @param field      an ATTNZOO_FIELD_ number.
 * @return a static string, not to be freed; NULL if there is no such mechanism, item or index, or the item
 *         has no such field, or the mechanism has nothing in that place.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API const char *attnzoo_item_text(const char *mechanism, int32_t item, int32_t index, int32_t field);

ATTNZOO_END_DECLARATIONS

#endif
