/*
 * utf8.c: reads characters.
 */
#include "utf8.h"

uint32_t utf8_next(const char **text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)*text;
    if (bytes[0] == 0)
        return 0;
    int length = bytes[0] < 0x80 ? 1 : bytes[0] >> 5 == 6 ? 2 : bytes[0] >> 4 == 14 ? 3 : bytes[0] >> 3 == 30 ? 4 : 0;
    uint32_t character = length < 2 ? bytes[0] : bytes[0] & (0x7fU >> length);
    for (int index = 1; index < length; index++) {
        if ((bytes[index] & 0xc0) != 0x80) {
            length = 0;
            break;
        }
        character = character << 6 | (bytes[index] & 0x3fU);
    }
    bool is_character =
        length > 0 && character >= least[length] && character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
    *text += is_character ? length : 1;
    return is_character ? character : UINT32_MAX;
}

/* The two kinds of old, what turns the direction of the text around it, and what ends a line or is not seen at all. */
static bool is_control(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x61c || character == 0x200e ||
           character == 0x200f || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0xfeff ||
           (character >= 0xe0000 && character <= 0xe007f);
}

void utf8_replace_controls(char *text)
{
    char *end = text;
    for (const char *place = text; *place != '\0';) {
        const char *start = place;
        uint32_t character = utf8_next(&place);
        /* Terminals that do not know UTF-8 take the byte for the character. */
        if (is_control(character == UINT32_MAX ? (unsigned char)*start : character)) {
            *end++ = '?';
            continue;
        }
        while (start < place)
            *end++ = *start++;
    }
    *end = '\0';
}

bool utf8_is_valid(const char *text)
{
    for (uint32_t character; (character = utf8_next(&text)) != 0;) {
        if (character == UINT32_MAX)
            return false;
    }
    return true;
}
