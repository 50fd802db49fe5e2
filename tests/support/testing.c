/*
 * tests/support/testing.c: assertions that tell what the library said.
 */
#include "support/testing.h"

#include <string.h>

void assert_status_at(attnzoo_status got, attnzoo_status wanted, const char *call, const char *file, int line)
{
    if (got == wanted)
        return;
    print_error("%s\n  returned '%s', wanted '%s'; message: %s\n", call, attnzoo_status_name(got),
                attnzoo_status_name(wanted), attnzoo_last_error());
    _fail(file, line);
}

void assert_error_contains_at(const char *text, const char *file, int line)
{
    if (strstr(attnzoo_last_error(), text) != NULL)
        return;
    print_error("the message does not contain '%s': %s\n", text, attnzoo_last_error());
    _fail(file, line);
}
