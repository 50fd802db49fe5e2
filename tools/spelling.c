/*
 * spelling.c: the edit distance (Levenshtein), for words of moderate length.
 */
#include "spelling.h"

#include <string.h>

enum { LENGTH_MAX = 32, BEGINNING_MIN = 3, SHORT_WORD = 4 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* Row by row of the table of distances between beginnings; of the row above, only what is still needed is kept. */
static size_t edit_distance(const char *left, size_t left_length, const char *right, size_t right_length)
{
    size_t row[LENGTH_MAX + 1];
    for (size_t column = 0; column <= right_length; column++)
        row[column] = column;
    for (size_t line = 1; line <= left_length; line++) {
        size_t diagonal = row[0];
        row[0] = line;
        for (size_t column = 1; column <= right_length; column++) {
            size_t changed = diagonal + (left[line - 1] != right[column - 1]);
            diagonal = row[column];
            row[column] = smallest(changed, row[column] + 1, row[column - 1] + 1);
        }
    }
    return row[right_length];
}

bool spelling_is_near(const char *typed, size_t length, const char *word, size_t *distance)
{
    size_t word_length = strlen(word), same = 0, same_end = 0, shorter = length < word_length ? length : word_length;
    /* What long words have in common at both ends changes nothing of their distance. */
    while (same < shorter && typed[same] == word[same])
        same++;
    while (same + same_end < shorter && typed[length - 1 - same_end] == word[word_length - 1 - same_end])
        same_end++;
    size_t typed_rest = length - same - same_end, word_rest = word_length - same - same_end;
    if (typed_rest > LENGTH_MAX || word_rest > LENGTH_MAX)
        return false;
    *distance = edit_distance(typed + same, typed_rest, word + same, word_rest);
    if (length >= BEGINNING_MIN && length <= word_length && memcmp(typed, word, length) == 0)
        return true;
    return *distance <= (length > SHORT_WORD ? 2U : 1U);
}

void spelling_offer(struct spelling_search *search, const char *word)
{
    size_t distance;
    if (!spelling_is_near(search->typed, search->length, word, &distance))
        return;
    if (search->word == NULL || distance < search->distance) {
        search->word = word;
        search->distance = distance;
    }
}
