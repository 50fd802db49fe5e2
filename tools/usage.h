/*
 * usage.h: the help texts.
 */
#ifndef TOOLS_USAGE_H
#define TOOLS_USAGE_H

#include <stdbool.h>

/* Prints the help of a command such as "run", or of all where it is NULL; false if there is none of that name. */
bool print_usage(const char *command);

#endif
