/*
 * overwrites.h: sees to it that no output takes the place of a file that is read.
 */
#ifndef TOOLS_OVERWRITES_H
#define TOOLS_OVERWRITES_H

#include "arguments.h"
#include "output_file.h"

/*
 * Checks that an output, opened already, is none of the files that the arguments name as inputs. `lead` is what stands
 * before the output on the command line, such as "--context "; --state-out may be the same file as --state-in.
 */
enum outcome overwrites_check(const struct output_file *file, const char *lead, const struct run_arguments *arguments);

#endif
