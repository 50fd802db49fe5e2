/*
 * run.h: `attnzoo run`.
 */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include "arguments.h"

/* Computes what the arguments ask for and writes it. */
enum outcome run_mechanism(const struct run_arguments *arguments);

#endif
