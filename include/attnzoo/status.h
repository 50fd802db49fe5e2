/*
 * attnzoo/status.h: status codes and the message of the last error.
 */
#ifndef ATTNZOO_STATUS_H
#define ATTNZOO_STATUS_H

#include "api.h"

ATTNZOO_BEGIN_DECLARATIONS

/**
 * What a call came to. 0 is success, everything else an error. Numbers are never reused; a later version
 * may return numbers that this header does not list, so treat an unknown one as an error.
 */
typedef int32_t attnzoo_status;

/** The status codes. */
enum {
    /** Success. */
    ATTNZOO_STATUS_OK = 0,
    /** An argument breaks a rule: NULL where a handle is needed, a negative size, a number out of bounds. */
    ATTNZOO_STATUS_INVALID_ARGUMENT = 1,
    /** The shapes of two things do not fit each other, or one does not fit what the mechanism needs. */
    ATTNZOO_STATUS_SHAPE_MISMATCH = 2,
    /** The element type is not one that this place takes. */
    ATTNZOO_STATUS_DTYPE_MISMATCH = 3,
    /** The request is well formed, but this library or this mechanism does not have it. */
    ATTNZOO_STATUS_UNSUPPORTED = 4,
    /** Memory could not be had. */
    ATTNZOO_STATUS_OUT_OF_MEMORY = 5,
    /** The handle is not in the right condition: a module not prepared yet, or prepared already. */
    ATTNZOO_STATUS_BAD_STATE = 6,
    /** No mechanism, option or parameter has this name. */
    ATTNZOO_STATUS_UNKNOWN_NAME = 7,
    /** An output overlaps an input, another output, or itself. */
    ATTNZOO_STATUS_OVERLAP = 8,
    /** The operating system refused something other than memory, such as a thread. */
    ATTNZOO_STATUS_SYSTEM = 9
};

/**
 * The name of a status code, such as "shape mismatch"; "unknown status" for a number that is none.
 *
 * @param status  what a call returned.
 * @return a static string, never NULL; not to be freed.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API const char *attnzoo_status_name(attnzoo_status status);

/**
 * What went wrong in the last call of this thread that returns a status: the thing, its numbers and the
 * rule, in one line of English. "" if that call succeeded or there was none.
 *
 * The text belongs to the library and to the calling thread; it holds until this thread's next call that
 * returns a status. A binding for a language whose tasks move between threads must fetch it on the thread
 * that made the call, before anything else.
 *
 * @return never NULL; not to be freed.
 * Threads: any; each sees its own text. Since 1.0.
 */
ATTNZOO_API const char *attnzoo_last_error(void);

ATTNZOO_END_DECLARATIONS

#endif
