/*
 * timing.h: how long something takes, in words.
 */
#ifndef TOOLS_TIMING_H
#define TOOLS_TIMING_H

#include "problem.h"

#include <stddef.h>

/*
 * Calls `call` again and again for about a second, after a first call that it leaves to the caller, and writes a
 * line that tells median, fastest and slowest wall time. `before` is called before each, and not timed.
 */
enum outcome timing_measure(attnzoo_status (*before)(void *context), attnzoo_status (*call)(void *context),
                            void *context, int32_t threads, char *line, size_t capacity);

#endif
