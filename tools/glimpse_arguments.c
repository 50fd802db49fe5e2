/*
 * glimpse_arguments.c: reads the command line of `attnzoo glimpse`. Every option has one name and no abbreviation, and
 * belongs to one kind or several.
 */
#include "glimpse_arguments.h"

#include "spelling.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[GLIMPSE_KIND_COUNT] = {"text", "image", "audio", "draw"};

enum { TEXT = 1 << GLIMPSE_TEXT, IMAGE = 1 << GLIMPSE_IMAGE, AUDIO = 1 << GLIMPSE_AUDIO, DRAW = 1 << GLIMPSE_DRAW };

struct option {
    const char *name;
    /* The kinds that have it. */
    int kinds;
    bool is_flag;
    size_t place;
};

#define PLACE(field) offsetof(struct glimpse_arguments, field)

static const struct option options[] = {
    {"alphabet", TEXT, false, PLACE(alphabet)},
    {"other", TEXT, false, PLACE(other_text)},
    {"table", TEXT, false, PLACE(table)},
    {"tile", IMAGE | DRAW, false, PLACE(tile_text)},
    {"step", IMAGE | DRAW, false, PLACE(step_text)},
    {"grey", IMAGE, true, PLACE(is_grey)},
    {"window", AUDIO, false, PLACE(window_text)},
    {"hop", AUDIO, false, PLACE(hop_text)},
    {"mono", AUDIO, true, PLACE(is_mono)},
    {"edge", IMAGE | AUDIO | DRAW, false, PLACE(edge_text)},
    {"padding", IMAGE | AUDIO, false, PLACE(padding_text)},
    {"attention", DRAW, false, PLACE(attention)},
    {"query", DRAW, false, PLACE(query_text)},
    {"head", DRAW, false, PLACE(head_text)},
    {"output", TEXT | IMAGE | AUDIO | DRAW, false, PLACE(output)},
    {"help", TEXT | IMAGE | AUDIO | DRAW, true, PLACE(wants_help)},
};

enum { OPTION_COUNT = sizeof options / sizeof *options };

/* The option that `word` names up to its end or an equals sign; NULL if none. */
static const struct option *find_option(const char *word)
{
    if (strcmp(word, "-h") == 0)
        return &options[OPTION_COUNT - 1];
    if (strncmp(word, "--", 2) != 0)
        return NULL;
    size_t length = strcspn(word + 2, "=");
    for (size_t index = 0; index < OPTION_COUNT; index++) {
        if (strlen(options[index].name) == length && memcmp(options[index].name, word + 2, length) == 0)
            return &options[index];
    }
    return NULL;
}

static enum outcome refuse_option(const char *word)
{
    const char *typed = word + strspn(word, "-");
    struct spelling_search search = {.typed = typed, .length = strcspn(typed, "=")};
    for (size_t index = 0; index < OPTION_COUNT; index++)
        spelling_offer(&search, options[index].name);
    if (search.word == NULL)
        return fail_usage("%s: no such option; 'attnzoo glimpse --help' lists them", word);
    return fail_usage("%s: no such option; did you mean --%s? 'attnzoo glimpse --help' lists all", word, search.word);
}

static enum outcome set_flag(struct glimpse_arguments *arguments, const struct option *option, const char *value)
{
    bool *flag = (bool *)((char *)arguments + option->place);
    if (value != NULL)
        return fail_usage("--%s: takes no value", option->name);
    if (*flag)
        return fail_usage("--%s: given more than once", option->name);
    *flag = true;
    return OUTCOME_OK;
}

/* Takes the option at words[*index] and its value, and moves *index behind them. */
static enum outcome take_option(struct glimpse_arguments *arguments, int count, char *const *words, int *index)
{
    const char *word = words[(*index)++];
    const struct option *option = find_option(word);
    if (option == NULL)
        return refuse_option(word);
    const char *value = strchr(word, '=');
    value = value == NULL ? NULL : value + 1;
    if (option->is_flag)
        return set_flag(arguments, option, value);
    /* A value may begin with a minus, but an option in its place means that it was forgotten. */
    if (value == NULL && *index < count && find_option(words[*index]) == NULL)
        value = words[(*index)++];
    if (value == NULL)
        return fail_usage("--%s: its value is missing", option->name);
    const char **text = (const char **)((char *)arguments + option->place);
    if (*text != NULL)
        return fail_usage("--%s: given more than once", option->name);
    *text = value;
    return OUTCOME_OK;
}

/* Reads a whole number that is not negative; returns what follows it, or NULL if there is none that fits 63 bits. */
static const char *read_number(const char *text, int64_t *number)
{
    const char *digit = text;
    *number = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, *digit - '0', number))
            return NULL;
    }
    return digit == text ? NULL : digit;
}

static bool is_whole_number(const char *text, int64_t *number)
{
    const char *rest = read_number(text, number);
    return rest != NULL && *rest == '\0';
}

/* Two sizes, such as 8,8, or one where `count` is 1; from 1 on. */
static enum outcome read_sizes(const char *text, const char *name, int count, int64_t *sizes)
{
    const char *rest = text == NULL ? NULL : read_number(text, &sizes[0]);
    if (text == NULL)
        return OUTCOME_OK;
    if (count == 2 && rest != NULL)
        rest = *rest == ',' ? read_number(rest + 1, &sizes[1]) : NULL;
    bool is_there = rest != NULL && *rest == '\0' && sizes[0] > 0 && sizes[count - 1] > 0;
    if (is_there)
        return OUTCOME_OK;
    return fail_usage("--%s %s: must be %s", name, text,
                      count == 2 ? "H,W, a height and a width, two whole numbers from 1 on"
                                 : "a whole number from 1 on");
}

static enum outcome read_index(const char *text, const char *name, int64_t *index)
{
    *index = -1;
    if (text != NULL && !is_whole_number(text, index))
        return fail_usage("--%s %s: must be a whole number, counted from 0", name, text);
    return OUTCOME_OK;
}

static enum outcome read_other(struct glimpse_arguments *arguments)
{
    const char *text = arguments->other_text;
    arguments->other = ATTNZOO_GLIMPSE_REFUSE_LETTER;
    if (text == NULL || strcmp(text, "refuse") == 0)
        return OUTCOME_OK;
    arguments->other = ATTNZOO_GLIMPSE_NO_LETTER;
    if (strcmp(text, "zero") == 0 || is_whole_number(text, &arguments->other))
        return OUTCOME_OK;
    return fail_usage("--other %s: must be refuse, zero, or an index, a whole number from 0 on", text);
}

static enum outcome read_edge(struct glimpse_arguments *arguments)
{
    const char *text = arguments->edge_text;
    bool is_pad = text != NULL && strcmp(text, "pad") == 0;
    if (text != NULL && !is_pad && strcmp(text, "drop") != 0)
        return fail_usage("--edge %s: must be drop or pad", text);
    arguments->edge = is_pad ? ATTNZOO_GLIMPSE_EDGE_PAD : ATTNZOO_GLIMPSE_EDGE_DROP;
    text = arguments->padding_text;
    if (text == NULL)
        return OUTCOME_OK;
    if (!is_pad)
        return fail_usage("--padding needs --edge pad");
    char *end;
    arguments->padding = strtof(text, &end);
    /* strtof() takes hexadecimal numbers, spaces and names as well. */
    bool is_decimal = strspn(text, "0123456789.+-") > 0 && text[strspn(text, "0123456789.eE+-")] == '\0';
    if (!is_decimal || *end != '\0' || end == text || !isfinite(arguments->padding))
        return fail_usage("--padding %s: must be a number", text);
    return OUTCOME_OK;
}

static enum outcome read_kind(struct glimpse_arguments *arguments)
{
    if (arguments->kind_text == NULL)
        return fail_usage("glimpse: say what of: text, image or audio; or draw; 'attnzoo glimpse --help' tells more");
    struct spelling_search search = {.typed = arguments->kind_text, .length = strlen(arguments->kind_text)};
    int kind = 0;
    while (kind < GLIMPSE_KIND_COUNT && strcmp(arguments->kind_text, kind_names[kind]) != 0)
        spelling_offer(&search, kind_names[kind++]);
    arguments->kind = (enum glimpse_kind)kind;
    if (kind < GLIMPSE_KIND_COUNT)
        return OUTCOME_OK;
    if (search.word != NULL)
        return fail_usage("glimpse: %s: no such kind; did you mean %s?", arguments->kind_text, search.word);
    return fail_usage("glimpse: %s: no such kind; there are text, image, audio and draw", arguments->kind_text);
}

/* That each option given is one of the kind's own. */
static enum outcome check_options(const struct glimpse_arguments *arguments)
{
    for (size_t index = 0; index < OPTION_COUNT; index++) {
        const struct option *option = &options[index];
        const char *field = (const char *)arguments + option->place;
        bool is_given = option->is_flag ? *(const bool *)field : *(const char *const *)field != NULL;
        if (is_given && (option->kinds & 1 << arguments->kind) == 0)
            return fail_usage("--%s: glimpse %s does not take it; 'attnzoo glimpse --help' tells what does",
                              option->name, arguments->kind_text);
    }
    return OUTCOME_OK;
}

static enum outcome check_required(const struct glimpse_arguments *arguments)
{
    const struct {
        enum glimpse_kind kind;
        const char *name;
        const char *given;
        const char *what;
    } required[] = {
        {GLIMPSE_TEXT, "alphabet", arguments->alphabet, "the letters, in the order of their indices"},
        {GLIMPSE_IMAGE, "tile", arguments->tile_text, "the height and width of a tile"},
        {GLIMPSE_AUDIO, "window", arguments->window_text, "the samples of a window"},
        {GLIMPSE_DRAW, "tile", arguments->tile_text, "the height and width of a tile"},
        {GLIMPSE_DRAW, "attention", arguments->attention, "the weights of the tiles"},
    };
    if (arguments->input == NULL)
        return fail_usage("glimpse %s: say which file", arguments->kind_text);
    for (size_t index = 0; index < sizeof required / sizeof *required; index++) {
        if (required[index].kind == arguments->kind && required[index].given == NULL)
            return fail_usage("glimpse %s: --%s is missing: %s", arguments->kind_text, required[index].name,
                              required[index].what);
    }
    if (arguments->output == NULL)
        return fail_usage("glimpse %s: --output is missing: where the result is to be written", arguments->kind_text);
    return OUTCOME_OK;
}

/* Steps are as long as tiles where they are not given. */
static enum outcome read_tiles(struct glimpse_arguments *arguments)
{
    bool is_audio = arguments->kind == GLIMPSE_AUDIO;
    int count = is_audio ? 1 : 2;
    enum outcome outcome = read_sizes(is_audio ? arguments->window_text : arguments->tile_text,
                                      is_audio ? "window" : "tile", count, arguments->tile);
    memcpy(arguments->step, arguments->tile, sizeof arguments->step);
    if (outcome != OUTCOME_OK)
        return outcome;
    return read_sizes(is_audio ? arguments->hop_text : arguments->step_text, is_audio ? "hop" : "step", count,
                      arguments->step);
}

static enum outcome read_values(struct glimpse_arguments *arguments)
{
    enum outcome outcome = read_tiles(arguments);
    if (outcome == OUTCOME_OK)
        outcome = read_other(arguments);
    if (outcome == OUTCOME_OK)
        outcome = read_edge(arguments);
    if (outcome == OUTCOME_OK)
        outcome = read_index(arguments->query_text, "query", &arguments->query);
    return outcome == OUTCOME_OK ? read_index(arguments->head_text, "head", &arguments->head) : outcome;
}

enum outcome glimpse_arguments_parse(struct glimpse_arguments *arguments, int count, char *const *words)
{
    *arguments = (struct glimpse_arguments){0};
    enum outcome outcome = OUTCOME_OK;
    bool is_behind_options = false;
    for (int index = 0; index < count && outcome == OUTCOME_OK && !arguments->wants_help;) {
        bool is_end = !is_behind_options && strcmp(words[index], "--") == 0;
        if (is_end) {
            is_behind_options = true;
            index++;
        } else if (words[index][0] == '-' && !is_behind_options)
            outcome = take_option(arguments, count, words, &index);
        else if (arguments->kind_text == NULL)
            arguments->kind_text = words[index++];
        else if (arguments->input == NULL)
            arguments->input = words[index++];
        else
            outcome = fail_usage("glimpse: %s: not expected; the file is %s", words[index], arguments->input);
    }
    if (outcome != OUTCOME_OK || arguments->wants_help)
        return outcome;
    outcome = read_kind(arguments);
    if (outcome == OUTCOME_OK)
        outcome = check_options(arguments);
    if (outcome == OUTCOME_OK)
        outcome = check_required(arguments);
    return outcome == OUTCOME_OK ? read_values(arguments) : outcome;
}
