/*
 * describe.h: what the library says of its mechanisms.
 */
#ifndef TOOLS_DESCRIBE_H
#define TOOLS_DESCRIBE_H

#include "problem.h"

/* Prints one mechanism a line: its name, then what it is. */
void print_mechanisms(void);

enum outcome describe_mechanism(const char *mechanism);

/* Prints what `attnzoo run` takes for this mechanism. */
enum outcome describe_for_run(const char *mechanism);

/* OUTCOME_USAGE, with a message that lists those there are, if there is no such mechanism. */
enum outcome check_mechanism(const char *mechanism);

#endif
