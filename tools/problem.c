/*
 * problem.c: keeps the line that says what went wrong.
 */
#include "problem.h"

#include "utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Room for a path of the longest kind and what is to be said of it. Of a longer line the middle is left out: what it is
 * about stands at the beginning, what is wrong at the end.
 */
enum { TEXT_SIZE = 8192, TAIL_SIZE = 4096 };

static char text[TEXT_SIZE];

/* Whether a byte is not the first of a character in UTF-8. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static void shorten(const char *whole, size_t length)
{
    static const char gap[] = " ... ";
    size_t head = TEXT_SIZE - TAIL_SIZE - sizeof gap, tail = length - TAIL_SIZE;
    while (head > 0 && is_continuation(whole[head]))
        head--;
    while (is_continuation(whole[tail]))
        tail++;
    memcpy(text, whole, head);
    memcpy(text + head, gap, sizeof gap);
    memcpy(text + head + sizeof gap - 1, whole + tail, length - tail + 1);
}

static void record(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, arguments);
    char *whole = length < TEXT_SIZE ? NULL : malloc((size_t)length + 1);
    /* Without memory it is the end that is left out. */
    if (whole != NULL && vsnprintf(whole, (size_t)length + 1, format, again) == length)
        shorten(whole, (size_t)length);
    free(whole);
    va_end(again);
    /* A file name may hold a line break, and the message must stay one line. */
    utf8_replace_controls(text);
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

const char *library_message(void)
{
    static const char prefix[] = "attnzoo_", separator[] = ": ";
    const char *message = attnzoo_last_error();
    if (strncmp(message, prefix, strlen(prefix)) != 0)
        return message;
    const char *rest = message + strspn(message, "abcdefghijklmnopqrstuvwxyz_");
    return strncmp(rest, separator, strlen(separator)) == 0 ? rest + strlen(separator) : message;
}

enum outcome check_library(attnzoo_status status, const char *where)
{
    if (status == ATTNZOO_STATUS_OK)
        return OUTCOME_OK;
    const char *message = library_message();
    size_t length = strlen(where);
    /* It may be what the sentence is about: "multi_head needs ...". */
    if (strncmp(message, where, length) == 0 && message[length] == ' ')
        return fail("%s", message);
    return fail("%s: %s", where, message);
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
