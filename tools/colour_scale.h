/*
 * colour_scale.h: colours for numbers from 0 to 1.
 */
#ifndef TOOLS_COLOUR_SCALE_H
#define TOOLS_COLOUR_SCALE_H

/* The colour of `fraction`, clamped to 0 ... 1, as 0xRRGGBB. Equal steps look equally far apart. */
int colour_scale(double fraction);

#endif
