/*
 * weights.h: a mechanism's parameters from a .safetensors file.
 */
#ifndef TOOLS_WEIGHTS_H
#define TOOLS_WEIGHTS_H

#include "rename.h"

/*
 * Sets each parameter of the module that the file has as PREFIX followed by the parameter's name, or by a name that
 * the rules make it of. A tensor under the prefix that is no parameter is an error, as is a parameter that comes from
 * two tensors, a written rule that fits no tensor, and a prefix under which there is nothing. `prefix` NULL is "".
 */
enum outcome weights_set(attnzoo_module *module, const char *path, const char *prefix, struct rename_rules *rules);

#endif
