/*
 * tests/support/testing.h: cmocka with what it needs before it, and assertions on status codes.
 */
#ifndef ATTNZOO_TESTS_TESTING_H
#define ATTNZOO_TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <attnzoo/attnzoo.h>
#include <cmocka.h>

/* Fails with the library's own message unless the call returns the wanted status. */
void assert_status_at(attnzoo_status got, attnzoo_status wanted, const char *call, const char *file, int line);

/* Fails unless the message of this thread's last error contains the text. */
void assert_error_contains_at(const char *text, const char *file, int line);

#define assert_status(call, wanted) assert_status_at((call), (wanted), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status((call), ATTNZOO_STATUS_OK)
#define assert_error_contains(text) assert_error_contains_at((text), __FILE__, __LINE__)

/* The call must fail with the status, and its message must contain the text. */
#define assert_refused(call, wanted, text)                                                                             \
    do {                                                                                                               \
        assert_status((call), (wanted));                                                                               \
        assert_error_contains(text);                                                                                   \
    } while (0)

#endif
