/*
 * heat_ticks.h: what stands along the axes of a panel: numbers, or labels.
 */
#ifndef TOOLS_HEAT_TICKS_H
#define TOOLS_HEAT_TICKS_H

#include "heat_map.h"

#include <gd.h>

/* Offers the labels to heat_text.h, and returns the room that they need. */
struct heat_label_room heat_ticks_prepare(const struct heat_map *map);

/* Draws what stands beside and below the panel whose corner is at left, top. */
void heat_ticks_draw(gdImagePtr image, const struct heat_map *map, const struct heat_layout *layout, int left, int top);

#endif
