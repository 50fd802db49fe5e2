/*
 * weights.h: a mechanism's parameters from a .safetensors file.
 */
#ifndef TOOLS_WEIGHTS_H
#define TOOLS_WEIGHTS_H

#include "problem.h"

/*
 * Sets each parameter of the module that the file has as PREFIX followed by the parameter's name. A tensor under
 * the prefix that is no parameter is an error, as is a prefix under which there is nothing. `prefix` NULL is "".
 */
enum outcome weights_set(attnzoo_module *module, const char *path, const char *prefix);

#endif
