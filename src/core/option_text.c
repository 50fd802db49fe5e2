/*
 * core/option_text.c: option values from text, the same in every locale.
 */
#include "core/option_text.h"

#include "base/error.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static attnzoo_status refuse(const struct attnzoo_option_spec *spec, const char *text, const char *what)
{
    bool says_more = strcmp(what, spec->bounds_text) != 0;
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is \"%.80s\", must be %s%s%s%s", spec->name, text,
                             what, says_more ? " (" : "", says_more ? spec->bounds_text : "", says_more ? ")" : "");
}

/* strtod() alone would take hexadecimal, "nan", blanks in front, and the thread's own decimal sign. */
static attnzoo_status read_float(const struct attnzoo_option_spec *spec, const char *text, double *number)
{
    if (text[0] == '\0' || strspn(text, "0123456789+-.eE") != strlen(text))
        return refuse(spec, text, "a number");
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return attnzoo_base_fail(ATTNZOO_STATUS_OUT_OF_MEMORY, "could not get the C locale to read a number in");
    locale_t before = uselocale(plain);
    char *end;
    *number = strtod(text, &end);
    uselocale(before);
    freelocale(plain);
    return *end == '\0' ? ATTNZOO_STATUS_OK : refuse(spec, text, "a number");
}

static attnzoo_status read_integer(const struct attnzoo_option_spec *spec, const char *text, double *number)
{
    size_t sign = text[0] == '-' || text[0] == '+';
    size_t digits = strspn(text + sign, "0123456789");
    if (digits == 0 || text[sign + digits] != '\0')
        return refuse(spec, text, "a whole number");
    errno = 0;
    *number = (double)strtoll(text, NULL, 10);
    return errno == 0 ? ATTNZOO_STATUS_OK : refuse(spec, text, "a whole number");
}

static attnzoo_status read_bool(const struct attnzoo_option_spec *spec, const char *text, double *number)
{
    bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    bool is_false = strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    *number = is_true;
    return is_true || is_false ? ATTNZOO_STATUS_OK : refuse(spec, text, "true or false");
}

static attnzoo_status read_choice(const struct attnzoo_option_spec *spec, const char *text, double *number)
{
    const char *choice = spec->bounds_text;
    for (int index = 0;; index++) {
        size_t length = strcspn(choice, "|");
        if (strlen(text) == length && memcmp(choice, text, length) == 0) {
            *number = index;
            return ATTNZOO_STATUS_OK;
        }
        if (choice[length] == '\0')
            return refuse(spec, text, "one of its choices");
        choice += length + 1;
    }
}

attnzoo_status attnzoo_core_read_option(const struct attnzoo_option_spec *spec, const char *text, double *number)
{
    switch (spec->type) {
    case ATTNZOO_OPTION_FLOAT:
        return read_float(spec, text, number);
    case ATTNZOO_OPTION_INT:
        return read_integer(spec, text, number);
    case ATTNZOO_OPTION_BOOL:
        return read_bool(spec, text, number);
    default:
        return read_choice(spec, text, number);
    }
}
