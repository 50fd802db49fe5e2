/*
 * tensor_list.h: `attnzoo list FILE`: which tensors a file holds.
 */
#ifndef TOOLS_TENSOR_LIST_H
#define TOOLS_TENSOR_LIST_H

#include "problem.h"

/*
 * Prints a line for each tensor of a .safetensors file, in the order in which they lie there: name, element type, shape.
 * For a file whose name ends in .npy it is one line, with the file's name.
 */
enum outcome print_tensors(const char *path);

#endif
