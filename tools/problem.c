/*
 * problem.c: keeps the line that says what went wrong.
 */
#include "problem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Room for a path of the longest kind and what is to be said of it. */
static char text[8192];

/* A file name may hold a line break, and the message must stay one line. */
static void record(const char *format, va_list arguments)
{
    vsnprintf(text, sizeof text, format, arguments);
    for (char *character = text; *character != '\0'; character++) {
        if ((unsigned char)*character < ' ' || *character == 127)
            *character = '?';
    }
}

enum outcome fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments);
    va_end(arguments);
    return OUTCOME_ERROR;
}

enum outcome fail_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments);
    va_end(arguments);
    return OUTCOME_USAGE;
}

enum outcome check_library(attnzoo_status status, const char *where)
{
    if (status == ATTNZOO_STATUS_OK)
        return OUTCOME_OK;
    return fail("%s: %s", where, attnzoo_last_error());
}

enum outcome check_library_usage(attnzoo_status status, const char *where)
{
    bool typed = status == ATTNZOO_STATUS_UNKNOWN_NAME || status == ATTNZOO_STATUS_INVALID_ARGUMENT;
    enum outcome outcome = check_library(status, where);
    return typed ? OUTCOME_USAGE : outcome;
}

const char *problem_text(void)
{
    return text;
}
