/*
 * heat_text.c: measures and draws text.
 */
#include "heat_text.h"

#include "utf8.h"

#include <fcntl.h>
#include <gdfontg.h>
#include <gdfontl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    INK = 0x22262b,
    /* Scripts for which fonts are chosen, and characters looked at of each: a font that has these most likely has more. */
    SCRIPTS_MAX = 8,
    CHARACTERS_MAX = 64,
    PATTERN_SIZE = 32 + 8 * CHARACTERS_MAX,
    /* A label that is longer is cut before it is measured. */
    LABEL_CHARACTERS_MAX = 64,
    ENCODED_SIZE = 2048
};

/* Characters that stand together in texts, so that one font should have them all. */
struct script {
    uint32_t key;
    uint32_t characters[CHARACTERS_MAX];
    int count;
    /* What fontconfig is asked for; "" as long as it has to be made anew. */
    char pattern[PATTERN_SIZE];
    /* Whether that font has no full stop, and so most likely nothing of ASCII; known once is_tried. */
    bool is_tried, lacks_ascii;
};

/* In ASCII, as the sign of one character is missing in many fonts that were chosen for a script. */
static const char ellipsis[] = "...";
/* U+FFFD, for a character that cannot be drawn. */
static const char replacement[] = "\xef\xbf\xbd";
static const double quarter_turn = 1.57079632679489662;

static struct {
    bool has_font;
    int ascent[2], height[2];
    struct script scripts[SCRIPTS_MAX];
    int script_count;
} fonts;

/* By style: what fontconfig is asked for, and points at 96 to the inch. */
static const struct {
    const char *pattern;
    double points;
} styles[] = {{"sans", 9.5}, {"sans:bold", 11.0}};

/*
 * Which script a character is of, as far as fonts are concerned: most have 256 places of their own, Chinese and Japanese
 * (1) and Korean (2) many of these. Latin letters and signs, which stand in texts of any script, have the key 0.
 */
static uint32_t script_key(uint32_t character)
{
    if (character < 0x300 || (character >= 0x1e00 && character < 0x1f00) || (character >= 0x2000 && character < 0x2e00))
        return 0;
    if ((character >= 0x2e00 && character < 0xa000) || (character >= 0xf900 && character < 0xfb00) ||
        (character >= 0xff00 && character < 0xfff0) || (character >= 0x20000 && character < 0x40000))
        return 1;
    if (character >= 0xac00 && character < 0xd800)
        return 2;
    return character >> 8;
}

/* The script of a text, which is that of its first letter of another than Latin; false where it is ASCII alone. */
static bool find_script_key(const char *text, uint32_t *key)
{
    bool is_beyond = false;
    *key = 0;
    for (uint32_t character; *key == 0 && (character = utf8_next(&text)) != 0;) {
        is_beyond = is_beyond || character >= 0x80;
        *key = character == UINT32_MAX ? 0 : script_key(character);
    }
    return is_beyond;
}

static struct script *find_script(uint32_t key)
{
    for (int index = 0; index < fonts.script_count; index++) {
        if (fonts.scripts[index].key == key)
            return &fonts.scripts[index];
    }
    return NULL;
}

/* What to ask fontconfig for, which takes the font that lacks the fewest of the characters. */
static const char *pattern_for(enum heat_text_style style, const char *text)
{
    uint32_t key;
    struct script *script = find_script_key(text, &key) ? find_script(key) : NULL;
    if (style == HEAT_TEXT_TITLE || script == NULL)
        return styles[style].pattern;
    if (script->pattern[0] == '\0') {
        int length = sprintf(script->pattern, "%s:charset=", styles[style].pattern);
        for (int index = 0; index < script->count; index++)
            length += sprintf(script->pattern + length, " %x", (unsigned)script->characters[index]);
    }
    return script->pattern;
}

/* libgd reads & as the beginning of an entity of HTML, and has no characters past U+FFFF. */
static void encode(const char *text, char *encoded)
{
    size_t length = 0;
    while (length + 16 < ENCODED_SIZE) {
        const char *start = text;
        uint32_t character = utf8_next(&text);
        if (character == 0)
            break;
        if (character == '&')
            length += (size_t)sprintf(encoded + length, "&amp;");
        else if (character > 0xffff)
            length += (size_t)sprintf(encoded + length, "%s", replacement);
        else
            length += (size_t)sprintf(encoded + length, "%.*s", (int)(text - start), start);
    }
    encoded[length] = '\0';
}

/* Draws in one font, with the baseline's beginning at x, y, or only measures where there is no image. */
static bool draw_run(gdImagePtr image, const char *pattern, enum heat_text_style style, double angle, int x, int y,
                     const char *text, int *corners)
{
    char encoded[ENCODED_SIZE];
    encode(text, encoded);
    const char *const patterns[] = {pattern, styles[style].pattern};
    /* The font that has the characters may be one that cannot be drawn, of coloured pictures alone. */
    for (size_t index = 0; index < 2; index++) {
        /* libgd takes characters that it does not change. */
        if (gdImageStringFT(image, corners, INK, (char *)(uintptr_t)patterns[index], styles[style].points, angle, x, y,
                            encoded) == NULL)
            return true;
    }
    return false;
}

/* The text as a picture of its own; NULL where it cannot be drawn. */
static gdImagePtr draw_sample(const char *pattern, const char *text)
{
    enum { SIDE = 48 };
    int corners[8];
    gdImagePtr image = gdImageCreateTrueColor(SIDE, SIDE);
    if (image == NULL || gdImageStringFT(image, corners, 0xffffff, (char *)(uintptr_t)pattern, 9.5, 0.0, SIDE / 3,
                                         2 * SIDE / 3, (char *)(uintptr_t)text) == NULL)
        return image;
    gdImageDestroy(image);
    return NULL;
}

/* libgd does not tell what a font has, but draws one sign for all that it has not, such as U+FFFF, which is no character. */
static bool lacks_ascii(struct script *script, const char *pattern)
{
    if (script->is_tried)
        return script->lacks_ascii;
    gdImagePtr missing = draw_sample(pattern, "\xef\xbf\xbf"), stop = draw_sample(pattern, ".");
    script->is_tried = true;
    script->lacks_ascii = missing != NULL && stop != NULL && (gdImageCompare(missing, stop) & GD_CMP_IMAGE) == 0;
    if (missing != NULL)
        gdImageDestroy(missing);
    if (stop != NULL)
        gdImageDestroy(stop);
    return script->lacks_ascii;
}

/* How far the next letter is from the first, in the style's own font, where ASCII is; spaces have no ink to measure. */
static int ascii_advance(enum heat_text_style style, const char *text)
{
    char framed[HEAT_TEXT_SHORT_SIZE + 2];
    int with[8], without[8];
    snprintf(framed, sizeof framed, "|%s|", text);
    if (!draw_run(NULL, styles[style].pattern, style, 0.0, 0, 0, framed, with) ||
        !draw_run(NULL, styles[style].pattern, style, 0.0, 0, 0, "||", without))
        return 0;
    return with[2] - with[0] - (without[2] - without[0]);
}

/* Draws what is ASCII in the style's own font and the rest in that of the script, one behind the other. */
static bool draw_runs(gdImagePtr image, const char *pattern, enum heat_text_style style, double angle, int x, int y,
                      const char *text, int *corners)
{
    char run[HEAT_TEXT_SHORT_SIZE];
    int pen = 0, measured[8];
    for (const char *place = text; *place != '\0';) {
        bool is_ascii = (unsigned char)*place < 0x80;
        size_t length = 0;
        while (place[length] != '\0' && ((unsigned char)place[length] < 0x80) == is_ascii && length + 1 < sizeof run)
            length++;
        snprintf(run, sizeof run, "%.*s", (int)length, place);
        const char *font = is_ascii ? styles[style].pattern : pattern;
        if (!draw_run(NULL, font, style, 0.0, 0, 0, run, measured))
            return false;
        bool is_upright = angle != 0.0;
        if (image != NULL &&
            !draw_run(image, font, style, angle, is_upright ? x : x + pen, is_upright ? y - pen : y, run, (int[8]){0}))
            return false;
        if (place == text)
            corners[0] = measured[0];
        corners[2] = pen + measured[2];
        pen += is_ascii ? ascii_advance(style, run) : measured[2] + 1;
        place += length;
    }
    return true;
}

static bool has_ascii(const char *text)
{
    while ((unsigned char)*text >= 0x80)
        text++;
    return *text != '\0';
}

/* As draw_run(), in the fonts that the text needs; of several, `corners` tells where the text begins and ends alone. */
static bool draw_with_font(gdImagePtr image, enum heat_text_style style, double angle, int x, int y, const char *text,
                           int *corners)
{
    uint32_t key;
    const char *pattern = pattern_for(style, text);
    struct script *script = pattern != styles[style].pattern && find_script_key(text, &key) ? find_script(key) : NULL;
    bool is_split = script != NULL && has_ascii(text) && lacks_ascii(script, pattern);
    return (is_split ? draw_runs : draw_run)(image, pattern, style, angle, x, y, text, corners);
}

/* fontconfig complains on standard error where it is not set up; that is no matter of the user's. */
static bool find_font(void)
{
    int corners[8], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = dup(STDERR_FILENO);
    if (nowhere >= 0 && kept >= 0)
        dup2(nowhere, STDERR_FILENO);
    bool is_found = gdFTUseFontConfig(1) != 0;
    for (int style = 0; style < 2 && is_found; style++) {
        is_found = draw_with_font(NULL, (enum heat_text_style)style, 0.0, 0, 0, "Agjl", corners);
        /* Smooth edges reach a pixel further than the outline. */
        fonts.ascent[style] = 1 - corners[7];
        fonts.height[style] = corners[1] - corners[7] + 1;
    }
    if (nowhere >= 0 && kept >= 0)
        dup2(kept, STDERR_FILENO);
    if (nowhere >= 0)
        close(nowhere);
    if (kept >= 0)
        close(kept);
    return is_found;
}

void heat_text_start(void)
{
    memset(&fonts, 0, sizeof fonts);
    fonts.has_font = find_font();
}

void heat_text_stop(void)
{
    gdFontCacheShutdown();
}

static void add_character(struct script *script, uint32_t character)
{
    for (int index = 0; index < script->count; index++) {
        if (script->characters[index] == character)
            return;
    }
    if (script->count == CHARACTERS_MAX)
        return;
    script->characters[script->count++] = character;
    script->pattern[0] = '\0';
    script->is_tried = false;
}

void heat_text_offer(const char *text)
{
    uint32_t key;
    if (!find_script_key(text, &key))
        return;
    struct script *script = find_script(key);
    if (script == NULL && fonts.script_count == SCRIPTS_MAX)
        return;
    if (script == NULL) {
        script = &fonts.scripts[fonts.script_count++];
        script->key = key;
    }
    for (uint32_t character; (character = utf8_next(&text)) != 0;) {
        if (character >= 0x80 && character != UINT32_MAX)
            add_character(script, character);
    }
}

static gdFontPtr own_font(enum heat_text_style style)
{
    return style == HEAT_TEXT_TITLE ? gdFontGetGiant() : gdFontGetLarge();
}

/* The text in ASCII, for libgd's own fonts. */
static void simplify(const char *text, char *simple)
{
    size_t length = 0;
    for (uint32_t character; length + 1 < ENCODED_SIZE && (character = utf8_next(&text)) != 0;) {
        /* U+2581 is what SentencePiece writes for a space, U+2423 what we do; U+2026 is the ellipsis. */
        bool is_space = character == 0x2581 || character == 0x2423;
        simple[length++] = character < 0x80 ? (char)character : is_space ? '_' : character == 0x2026 ? '~' : '?';
    }
    simple[length] = '\0';
}

int heat_text_width(enum heat_text_style style, const char *text)
{
    int corners[8];
    if (*text == '\0')
        return 0;
    if (fonts.has_font && draw_with_font(NULL, style, 0.0, 0, 0, text, corners))
        return corners[2] - corners[0];
    char simple[ENCODED_SIZE];
    simplify(text, simple);
    return own_font(style)->w * (int)strlen(simple);
}

int heat_text_height(enum heat_text_style style)
{
    return fonts.has_font ? fonts.height[style] : own_font(style)->h;
}

/* How far right of its beginning a text's first letter starts; false where there is no font to draw it with. */
static bool find_bearing(enum heat_text_style style, const char *text, int *bearing)
{
    int corners[8];
    bool is_measured = fonts.has_font && draw_with_font(NULL, style, 0.0, 0, 0, text, corners);
    *bearing = is_measured ? corners[0] : 0;
    return is_measured;
}

void heat_text_draw(gdImagePtr image, enum heat_text_style style, int x, int y, const char *text)
{
    int corners[8], bearing;
    if (*text == '\0')
        return;
    if (find_bearing(style, text, &bearing) &&
        draw_with_font(image, style, 0.0, x - bearing, y + fonts.ascent[style], text, corners))
        return;
    char simple[ENCODED_SIZE];
    simplify(text, simple);
    gdImageString(image, own_font(style), x, y, (unsigned char *)simple, INK);
}

void heat_text_draw_up(gdImagePtr image, enum heat_text_style style, int x, int y, const char *text)
{
    int corners[8], bearing;
    if (*text == '\0')
        return;
    if (find_bearing(style, text, &bearing) &&
        draw_with_font(image, style, quarter_turn, x + fonts.ascent[style], y + bearing, text, corners))
        return;
    char simple[ENCODED_SIZE];
    simplify(text, simple);
    gdImageStringUp(image, own_font(style), x, y, (unsigned char *)simple, INK);
}

const char *heat_text_shorten(enum heat_text_style style, const char *text, int width, char *shortened)
{
    size_t ends[LABEL_CHARACTERS_MAX + 1] = {0};
    int count = 0;
    const char *place = text;
    while (count < LABEL_CHARACTERS_MAX && utf8_next(&place) != 0)
        ends[++count] = (size_t)(place - text);
    snprintf(shortened, HEAT_TEXT_SHORT_SIZE, "%.*s", (int)ends[count], text);
    if (*place == '\0' && heat_text_width(style, shortened) <= width)
        return shortened;
    do {
        count -= count > 0;
        snprintf(shortened, HEAT_TEXT_SHORT_SIZE, "%.*s%s", (int)ends[count], text, ellipsis);
    } while (count > 0 && heat_text_width(style, shortened) > width);
    return shortened;
}
