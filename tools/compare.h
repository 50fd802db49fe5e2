/*
 * compare.h: `attnzoo compare`.
 */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include "problem.h"

/* Compares the arrays that the words after `compare` name, and prints how far they are apart. */
enum outcome compare(int count, char *const *words);

#endif
