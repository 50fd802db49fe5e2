/*
 * base/error.h: the thread's error text. Every public function that returns a status begins with
 * attnzoo_base_enter(); whatever finds a fault ends with return attnzoo_base_fail(...).
 */
#ifndef ATTNZOO_BASE_ERROR_H
#define ATTNZOO_BASE_ERROR_H

#include "base/common.h"

#include <attnzoo/status.h>

/** Forgets the last error of this thread and remembers which public function the next one belongs to. */
void attnzoo_base_enter(const char *function);

/** Records "function: text" as this thread's error. The text is cut to what fits. */
void attnzoo_base_record(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Records an error and is its status: a macro, so that compilers and analysers see that what failed is never OK. */
#define attnzoo_base_fail(status, ...) (attnzoo_base_record(__VA_ARGS__), (status))

/** The same for an allocation of so many bytes that failed. */
static inline attnzoo_status attnzoo_base_fail_memory(uint64_t bytes)
{
    return attnzoo_base_fail(ATTNZOO_STATUS_OUT_OF_MEMORY, "could not get %llu bytes of memory",
                             (unsigned long long)bytes);
}

/** This thread's error text, "" if there is none. */
const char *attnzoo_base_error_text(void);

enum { ATTNZOO_NUMBER_TEXT_SIZE = 32 };

/** Writes a number with a full stop for the decimal sign, whatever the locale; returns text. */
const char *attnzoo_base_number_text(char text[ATTNZOO_NUMBER_TEXT_SIZE], double number);

#endif
