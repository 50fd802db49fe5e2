/*
 * target.h: what a fuzz target is: the two entry points of libFuzzer, which AFL++ and replay.c call just the same, and how
 * a target says that something it must find is not so. Each target is one file, *_target.c.
 */
#ifndef TESTS_FUZZ_TARGET_H
#define TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the first input; may be given arguments that it changes. Always 0. */
int LLVMFuzzerInitialize(int *argument_count, char ***arguments);

/* One input. Returns 0; what is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, saying what does not hold, unless it does. */
void require_at(bool holds, const char *what, const char *file, int line);

#define require(condition) require_at((condition), #condition, __FILE__, __LINE__)

#endif
