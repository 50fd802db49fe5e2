/*
 * overwrites.h: sees to it that no output takes the place of a file that is read.
 */
#ifndef TOOLS_OVERWRITES_H
#define TOOLS_OVERWRITES_H

#include "arguments.h"
#include "output_file.h"

/*
 * Checks that an output, opened already, is none of the files that the arguments name as inputs. `option` is the option
 * that names the output; --state-out may be the same file as --state-in.
 */
enum outcome overwrites_check(const struct output_file *file, const char *option,
                              const struct run_arguments *arguments);

#endif
