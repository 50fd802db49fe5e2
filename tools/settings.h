/*
 * settings.h: --set: the mechanism's options as the user typed them.
 */
#ifndef TOOLS_SETTINGS_H
#define TOOLS_SETTINGS_H

#include "arguments.h"

/* Sets each option in the module. */
enum outcome settings_apply(attnzoo_module *module, const struct run_arguments *arguments);

/*
 * What it comes to that the module was prepared with `status`: OUTCOME_USAGE where it is what --set says that was
 * refused, which only then can be judged, and OUTCOME_ERROR for any other refusal.
 */
enum outcome settings_judge(attnzoo_status status, const struct run_arguments *arguments);

/*
 * Whether there are weights, and num_heads is left at its default of 1 though they have the same shapes for any number
 * of heads, so that nothing else tells whether that was meant.
 */
bool settings_leave_heads(const struct run_arguments *arguments);

#endif
