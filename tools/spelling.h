/*
 * spelling.h: how far two words are apart.
 */
#ifndef TOOLS_SPELLING_H
#define TOOLS_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether somebody who typed the first `length` characters of `typed` may have meant `word`: a beginning of at least
 * three characters, or no more than one character off, two in words of more than four. `distance` receives how many
 * characters are to be put in, taken out or changed.
 */
bool spelling_is_near(const char *typed, size_t length, const char *word, size_t *distance);

/*
 * Of words that come one after another, the nearest that may have been meant. Set all but `typed` and `length` to zero,
 * and offer each word; `word` is NULL as long as none was near.
 */
struct spelling_search {
    const char *typed;
    size_t length;
    const char *word;
    size_t distance;
};

void spelling_offer(struct spelling_search *search, const char *word);

#endif
