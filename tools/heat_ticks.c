/*
 * heat_ticks.c: draws numbers and labels, as many as have room.
 */
#include "heat_ticks.h"

#include "heat_text.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    COLOUR_TICK = 0x8a9099,
    TICK_LENGTH = 4,
    NUMBER_GAP = 10,
    LABEL_WIDTH_MAX = 150,
    /* More labels than this are not all looked at, as a picture shows fewer. */
    LABELS_LOOKED_AT = 512
};

/* Offers the labels of an axis, and returns the width of the widest. */
static int widest_label(char *const *labels, int64_t count)
{
    char shortened[HEAT_TEXT_SHORT_SIZE];
    int64_t step = 1 + count / LABELS_LOOKED_AT;
    int widest = 1;
    for (int64_t index = 0; index < count; index += step)
        heat_text_offer(labels[index]);
    for (int64_t index = 0; index < count; index += step) {
        const char *text = heat_text_shorten(HEAT_TEXT_PLAIN, labels[index], LABEL_WIDTH_MAX, shortened);
        int width = heat_text_width(HEAT_TEXT_PLAIN, text);
        widest = width > widest ? width : widest;
    }
    return widest;
}

struct heat_label_room heat_ticks_prepare(const struct heat_map *map)
{
    struct heat_label_room room = {.line_height = heat_text_height(HEAT_TEXT_PLAIN) + 2};
    if (map->query_labels != NULL)
        room.query_width = widest_label(map->query_labels, map->queries);
    if (map->key_labels != NULL)
        room.key_width = widest_label(map->key_labels, map->keys);
    return room;
}

/* The smallest of 1, 2, 5, 10, 20, 50, ... whose marks stand at least `spacing` pixels apart. */
static int64_t tick_step(int64_t count, int pixels, int spacing)
{
    int64_t step = 1;
    for (int turn = 0; (double)step * pixels / (double)count < spacing && step < count; turn++)
        step = turn % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

/* Where the middle of weight `index` of `count` stands along `pixels`. */
static int tick_place(int64_t index, int64_t count, int pixels)
{
    return (int)(((double)index + 0.5) * pixels / (double)count);
}

/* What stands at a tick: its label, no wider than `width`, or its number. */
static const char *tick_text(char *const *labels, int64_t index, int width, char *text)
{
    if (labels != NULL)
        return heat_text_shorten(HEAT_TEXT_PLAIN, labels[index], width, text);
    snprintf(text, HEAT_TEXT_SHORT_SIZE, "%" PRId64, index);
    return text;
}

static void draw_key_ticks(gdImagePtr image, const struct heat_map *map, const struct heat_layout *layout, int left,
                           int bottom)
{
    char text[HEAT_TEXT_SHORT_SIZE];
    int height = heat_text_height(HEAT_TEXT_PLAIN), spacing = height + 1;
    if (map->key_labels == NULL) {
        snprintf(text, sizeof text, "%" PRId64, map->keys - 1);
        spacing = heat_text_width(HEAT_TEXT_PLAIN, text) + NUMBER_GAP;
    }
    int64_t step = tick_step(map->keys, layout->panel_width, spacing);
    for (int64_t key = 0; key < map->keys; key += step) {
        int x = left + tick_place(key, map->keys, layout->panel_width), y = bottom + TICK_LENGTH + 3;
        gdImageLine(image, x, bottom + 1, x, bottom + TICK_LENGTH, COLOUR_TICK);
        if (layout->has_upright_labels) {
            tick_text(map->key_labels, key, layout->below - HEAT_LABEL_GAP, text);
            heat_text_draw_up(image, HEAT_TEXT_PLAIN, x - height / 2, y + heat_text_width(HEAT_TEXT_PLAIN, text), text);
        } else {
            tick_text(map->key_labels, key, layout->cell_width, text);
            heat_text_draw(image, HEAT_TEXT_PLAIN, x - heat_text_width(HEAT_TEXT_PLAIN, text) / 2, y, text);
        }
    }
}

void heat_ticks_draw(gdImagePtr image, const struct heat_map *map, const struct heat_layout *layout, int left, int top)
{
    char text[HEAT_TEXT_SHORT_SIZE];
    int height = heat_text_height(HEAT_TEXT_PLAIN);
    draw_key_ticks(image, map, layout, left, top + layout->panel_height);
    int64_t step = tick_step(map->queries, layout->panel_height, height + 1);
    for (int64_t query = 0; query < map->queries; query += step) {
        int y = top + tick_place(query, map->queries, layout->panel_height);
        gdImageLine(image, left - 1 - TICK_LENGTH, y, left - 2, y, COLOUR_TICK);
        tick_text(map->query_labels, query, layout->beside - HEAT_LABEL_GAP, text);
        heat_text_draw(image, HEAT_TEXT_PLAIN, left - TICK_LENGTH - 4 - heat_text_width(HEAT_TEXT_PLAIN, text),
                       y - height / 2, text);
    }
}
