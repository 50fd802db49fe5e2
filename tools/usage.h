/*
 * usage.h: the text of --help.
 */
#ifndef TOOLS_USAGE_H
#define TOOLS_USAGE_H

void print_usage(void);

#endif
