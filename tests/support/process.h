/*
 * tests/support/process.h: what the operating system says about the test's own process.
 */
#ifndef ATTNZOO_TESTS_PROCESS_H
#define ATTNZOO_TESTS_PROCESS_H

#include <stdbool.h>

/* How many entries a folder of /proc/self has, such as "task" (threads) or "fd" (open files). */
int process_entries(const char *folder);

/* Does the process come to have at most so many threads? The system lists one for a moment after it was joined. */
bool process_threads_fall_to(int count);

#endif
