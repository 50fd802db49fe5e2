/*
 * base/error.c: the thread-local error text. No other file keeps any.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 768 };

static _Thread_local char error_text[TEXT_SIZE];
static _Thread_local const char *entered_function = "attnzoo";

void attnzoo_base_enter(const char *function)
{
    error_text[0] = '\0';
    entered_function = function;
}

void attnzoo_base_record(const char *format, ...)
{
    int used = snprintf(error_text, TEXT_SIZE, "%s: ", entered_function);
    if (used < 0 || used >= TEXT_SIZE)
        used = 0;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error_text + used, (size_t)(TEXT_SIZE - used), format, arguments);
    va_end(arguments);
}

const char *attnzoo_base_error_text(void)
{
    return error_text;
}

const char *attnzoo_base_number_text(char text[ATTNZOO_NUMBER_TEXT_SIZE], double number)
{
    snprintf(text, ATTNZOO_NUMBER_TEXT_SIZE, "%.9g", number);
    /* The decimal sign is the only thing in a %g number that is neither digit, letter nor arithmetic sign; a
     * locale may spell it in several bytes. */
    char *sign = text + strcspn(text, "0123456789");
    sign += strspn(sign, "0123456789");
    size_t length = strcspn(sign, "0123456789eE+-infaINFA");
    if (length > 0 && sign[length] != '\0') {
        memmove(sign + 1, sign + length, strlen(sign + length) + 1);
        *sign = '.';
    }
    return text;
}
