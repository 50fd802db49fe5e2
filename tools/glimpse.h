/*
 * glimpse.h: `attnzoo glimpse`.
 */
#ifndef TOOLS_GLIMPSE_H
#define TOOLS_GLIMPSE_H

#include "problem.h"

/* Takes the words behind the name. */
enum outcome glimpse(int count, char *const *words);

#endif
