/*
 * core/status.c: attnzoo/status.h. The text itself is kept by base/error.c.
 */
#include "base/common.h"
#include "base/error.h"

const char *attnzoo_status_name(attnzoo_status status)
{
    static const char *const names[] = {"ok",          "invalid argument", "shape mismatch", "dtype mismatch",
                                        "unsupported", "out of memory",    "bad state",      "unknown name",
                                        "overlap",     "system error"};
    int32_t count = (int32_t)(sizeof names / sizeof *names);
    return status >= 0 && status < count ? names[status] : "unknown status";
}

const char *attnzoo_last_error(void)
{
    return attnzoo_base_error_text();
}
