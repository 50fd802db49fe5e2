/*
 * target.c: a finding that no sanitizer makes. It aborts, which every fuzzer takes for a crash.
 */
#include "target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not by stdio: a target may have put other streams in place of the standard ones. */
static void tell(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

void require_at(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    char digits[16] = "";
    int place = (int)sizeof digits - 1;
    do {
        digits[--place] = (char)('0' + line % 10);
        line /= 10;
    } while (line > 0);
    tell(file);
    tell(":");
    tell(digits + place);
    tell(": does not hold: ");
    tell(what);
    tell("\n");
    abort();
}
