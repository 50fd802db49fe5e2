/*
 * shape_text.h: shapes as introspection writes them, such as "[B, H, N, D]".
 */
#ifndef TOOLS_SHAPE_TEXT_H
#define TOOLS_SHAPE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many axes a shape has; 0 for NULL. */
int32_t shape_text_rank(const char *shape);

/*
 * The axis that is called `name`, counted from the last one (which is 0), as leading axes may be left out; -1 if there
 * is none.
 */
int32_t shape_text_axis_from_end(const char *shape, const char *name);

/* Whether `name` stands in the shape as a word of its own, also within an axis such as "2k+1". */
bool shape_text_mentions(const char *shape, const char *name);

#endif
