/*
 * heat_text.h: text in a heat map: in the system's sans-serif font where there is one, which libgd finds through
 * fontconfig, and in libgd's own fonts of plain ASCII otherwise.
 */
#ifndef TOOLS_HEAT_TEXT_H
#define TOOLS_HEAT_TEXT_H

#include <gd.h>

enum heat_text_style { HEAT_TEXT_PLAIN, HEAT_TEXT_TITLE };

/* To be called before all else here, and the other at the end. */
void heat_text_start(void);
void heat_text_stop(void);

/*
 * Takes note of the characters of a text that is to be drawn later, so that a font is chosen that has them. Texts that
 * were not offered are drawn as well as it goes.
 */
void heat_text_offer(const char *text);

int heat_text_width(enum heat_text_style style, const char *text);

/* From the highest letter to the lowest, whatever the text. */
int heat_text_height(enum heat_text_style style);

/* Draws with the upper left corner at x, y. */
void heat_text_draw(gdImagePtr image, enum heat_text_style style, int x, int y, const char *text);

/* Draws upwards, with the beginning's lower left corner at x, y. */
void heat_text_draw_up(gdImagePtr image, enum heat_text_style style, int x, int y, const char *text);

enum { HEAT_TEXT_SHORT_SIZE = 320 };

/*
 * As much of the text as is no wider than `width` pixels, with an ellipsis where something was left out, into `shortened`
 * of HEAT_TEXT_SHORT_SIZE, which is returned.
 */
const char *heat_text_shorten(enum heat_text_style style, const char *text, int width, char *shortened);

#endif
