/*
 * utf8.h: text as characters.
 */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The character at *text, which moves behind it; 0 at the end. Where the bytes are not UTF-8 (surrogates and overlong
 * forms are not), it is UINT32_MAX and *text moves one byte.
 */
uint32_t utf8_next(const char **text);

/*
 * Puts a question mark in the place of each character that could move a terminal's cursor or change its colours: control
 * characters of either kind, also where they stand as single bytes; and what would show the text in another order than
 * it has. The text gets no longer.
 */
void utf8_replace_controls(char *text);

bool utf8_is_valid(const char *text);

#endif
