/*
 * glimpse_arguments.h: what follows `attnzoo glimpse` on the command line, checked for form.
 */
#ifndef TOOLS_GLIMPSE_ARGUMENTS_H
#define TOOLS_GLIMPSE_ARGUMENTS_H

#include "problem.h"

#include <stdbool.h>
#include <stdint.h>

enum glimpse_kind { GLIMPSE_TEXT, GLIMPSE_IMAGE, GLIMPSE_AUDIO, GLIMPSE_DRAW, GLIMPSE_KIND_COUNT };

/* Texts are the user's, NULL where an option was not given. */
struct glimpse_arguments {
    const char *kind_text;
    enum glimpse_kind kind;
    const char *input;
    const char *output;
    const char *alphabet;
    const char *other_text;
    /* An index, or an ATTNZOO_GLIMPSE_ number. */
    int64_t other;
    const char *table;
    const char *tile_text;
    const char *step_text;
    const char *window_text;
    const char *hop_text;
    /* Height and width; of audio, the window alone. */
    int64_t tile[2];
    int64_t step[2];
    bool is_grey;
    bool is_mono;
    const char *edge_text;
    int32_t edge;
    const char *padding_text;
    float padding;
    const char *attention;
    const char *query_text;
    int64_t query;
    const char *head_text;
    int64_t head;
    bool wants_help;
};

/* Reads the words after `glimpse`. */
enum outcome glimpse_arguments_parse(struct glimpse_arguments *arguments, int count, char *const *words);

#endif
