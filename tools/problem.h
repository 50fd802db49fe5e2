/*
 * problem.h: how a function of the command fails: what it returns, and the one line that says what went wrong.
 * Nothing is printed but by main().
 */
#ifndef TOOLS_PROBLEM_H
#define TOOLS_PROBLEM_H

#include <attnzoo/attnzoo.h>

/*
 * What a function came to; also the exit status of the command, which for arrays that differ is that of an error: these
 * are told apart by the line that goes to standard error.
 */
enum outcome { OUTCOME_OK = 0, OUTCOME_ERROR = 1, OUTCOME_USAGE = 2, OUTCOME_DIFFERENT };

/* Records what went wrong and returns OUTCOME_ERROR. */
enum outcome fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Records what went wrong and returns OUTCOME_USAGE. */
enum outcome fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * What the library says of its last call, without the name of the C function in front, which the user of the command has
 * not called.
 */
const char *library_message(void);

/* As fail(), for a library call that did not succeed; OUTCOME_OK if it did. `where` is what the call was about. */
enum outcome check_library(attnzoo_status status, const char *where);

/* As check_library(), for a call that judges what the user typed. */
enum outcome check_library_usage(attnzoo_status status, const char *where);

/* The last problem recorded, as one line without control characters; "" if there was none. */
const char *problem_text(void);

#endif
