/*
 * arguments.c: reads the command line of `attnzoo run`. Every option has one name and no abbreviation.
 */
#include "arguments.h"

#include "spelling.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum option_kind { OPTION_TEXT, OPTION_FLAG, OPTION_RENAME, OPTION_SETTING, OPTION_OWN, OPTION_NAMED };

struct option {
    const char *name;
    enum option_kind kind;
    size_t place;
};

#define TEXT(name, field)                                                                                              \
    {                                                                                                                  \
        name, OPTION_TEXT, offsetof(struct run_arguments, field)                                                       \
    }
#define FLAG(name, field)                                                                                              \
    {                                                                                                                  \
        name, OPTION_FLAG, offsetof(struct run_arguments, field)                                                       \
    }

static const struct option options[] = {
    {"query", OPTION_OWN, offsetof(struct run_arguments, inputs)},
    {"key", OPTION_OWN, offsetof(struct run_arguments, inputs)},
    {"value", OPTION_OWN, offsetof(struct run_arguments, inputs)},
    {"position", OPTION_OWN, offsetof(struct run_arguments, inputs)},
    {"input", OPTION_NAMED, offsetof(struct run_arguments, inputs)},
    TEXT("past-key", past_key),
    TEXT("past-value", past_value),
    TEXT("weights", weights),
    TEXT("prefix", prefix),
    {"rename", OPTION_RENAME, 0},
    {"set", OPTION_SETTING, 0},
    FLAG("causal", is_causal),
    TEXT("window", window),
    TEXT("align", align),
    TEXT("query-offset", query_offset),
    TEXT("key-lengths", key_lengths),
    TEXT("query-lengths", query_lengths),
    TEXT("mask", mask),
    TEXT("bias", bias),
    TEXT("alibi", alibi),
    TEXT("segments", segments),
    TEXT("state-in", state_in),
    TEXT("state-out", state_out),
    {"context", OPTION_OWN, offsetof(struct run_arguments, outputs)},
    {"attention", OPTION_OWN, offsetof(struct run_arguments, outputs)},
    {"output", OPTION_NAMED, offsetof(struct run_arguments, outputs)},
    TEXT("heatmap", heatmap),
    TEXT("query-labels", query_labels),
    TEXT("key-labels", key_labels),
    TEXT("threads", threads),
    FLAG("time", is_timed),
    FLAG("help", wants_help),
};

/* The option that `word` names up to its end or an equals sign; NULL if none. */
static const struct option *find_option(const char *word)
{
    if (strncmp(word, "--", 2) != 0)
        return NULL;
    size_t length = strcspn(word + 2, "=");
    for (size_t index = 0; index < sizeof options / sizeof *options; index++) {
        if (strlen(options[index].name) == length && memcmp(options[index].name, word + 2, length) == 0)
            return &options[index];
    }
    return NULL;
}

/* Reads a whole number with nothing around it; returns what follows it, or NULL if there is none that fits. */
static const char *read_integer(const char *text, int64_t *number)
{
    bool is_negative = *text == '-';
    const char *digit = text + is_negative, *start = digit;
    *number = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        int64_t step = is_negative ? '0' - *digit : *digit - '0';
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, step, number))
            return NULL;
    }
    return digit == start ? NULL : digit;
}

static enum outcome read_window(struct run_arguments *arguments)
{
    if (arguments->window == NULL)
        return OUTCOME_OK;
    const char *rest = read_integer(arguments->window, &arguments->window_left);
    if (rest != NULL)
        rest = *rest == ',' ? read_integer(rest + 1, &arguments->window_right) : NULL;
    if (rest == NULL || *rest != '\0' || arguments->window_left < -1 || arguments->window_right < -1)
        return fail_usage("--window %s: must be L,R, two whole numbers of at least -1", arguments->window);
    return OUTCOME_OK;
}

static enum outcome read_alignment(struct run_arguments *arguments)
{
    static const struct {
        const char *name;
        int32_t alignment;
    } alignments[] = {{"bottom-right", ATTNZOO_ALIGNMENT_BOTTOM_RIGHT},
                      {"top-left", ATTNZOO_ALIGNMENT_TOP_LEFT},
                      {"lengths", ATTNZOO_ALIGNMENT_LENGTHS}};
    if (arguments->align == NULL)
        return OUTCOME_OK;
    for (size_t index = 0; index < sizeof alignments / sizeof *alignments; index++) {
        if (strcmp(arguments->align, alignments[index].name) == 0) {
            arguments->alignment = alignments[index].alignment;
            return OUTCOME_OK;
        }
    }
    return fail_usage("--align %s: must be bottom-right, top-left or lengths", arguments->align);
}

/* What has the form of a whole number is one, everything else a file. */
static enum outcome read_query_offset(struct run_arguments *arguments)
{
    const char *text = arguments->query_offset;
    if (text == NULL)
        return OUTCOME_OK;
    size_t sign = text[0] == '-';
    size_t digits = strspn(text + sign, "0123456789");
    arguments->query_offset_is_number = digits > 0 && text[sign + digits] == '\0';
    if (arguments->query_offset_is_number && read_integer(text, &arguments->query_offset_number) == NULL)
        return fail_usage("--query-offset %s: the number is out of range", text);
    return OUTCOME_OK;
}

static enum outcome read_threads(struct run_arguments *arguments)
{
    if (arguments->threads == NULL)
        return OUTCOME_OK;
    int64_t number;
    const char *rest = read_integer(arguments->threads, &number);
    if (rest == NULL || *rest != '\0' || number < 0 || number > INT32_MAX)
        return fail_usage("--threads %s: must be a whole number, 0 for as many as the process may use",
                          arguments->threads);
    arguments->thread_count = (int32_t)number;
    return OUTCOME_OK;
}

static enum outcome add_setting(struct run_arguments *arguments, const char *setting)
{
    size_t length = strcspn(setting, "=");
    if (setting[length] != '=' || length == 0)
        return fail_usage("--set %s: must be NAME=VALUE", setting);
    for (int index = 0; index < arguments->setting_count; index++) {
        /* Those before setting_count are set. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
        if (strncmp(arguments->settings[index], setting, length + 1) == 0)
            return fail_usage("--set %.*s: given more than once", (int)length, setting);
    }
    arguments->settings[arguments->setting_count++] = setting;
    return OUTCOME_OK;
}

static enum outcome set_text(struct run_arguments *arguments, const struct option *option, const char *value)
{
    const char **text = (const char **)((char *)arguments + option->place);
    if (*text != NULL)
        return fail_usage("--%s: given more than once", option->name);
    *text = value;
    return OUTCOME_OK;
}

static enum outcome set_value(struct run_arguments *arguments, const struct option *option, const char *value)
{
    struct slot_files *slots = (struct slot_files *)((char *)arguments + option->place);
    if (option->kind == OPTION_SETTING)
        return add_setting(arguments, value);
    if (option->kind == OPTION_TEXT)
        return set_text(arguments, option, value);
    if (option->kind == OPTION_OWN)
        return slot_files_add_own(slots, option->name, value);
    if (option->kind == OPTION_NAMED)
        return slot_files_add_named(slots, value);
    arguments->renames[arguments->rename_count++] = value;
    return OUTCOME_OK;
}

static enum outcome refuse_option(const char *word)
{
    const char *typed = word + strspn(word, "-");
    struct spelling_search search = {.typed = typed, .length = strcspn(typed, "=")};
    for (size_t index = 0; index < sizeof options / sizeof *options; index++)
        spelling_offer(&search, options[index].name);
    if (search.word == NULL)
        return fail_usage("%s: no such option; 'attnzoo run --help' lists them", word);
    return fail_usage("%s: no such option; did you mean --%s? 'attnzoo run --help' lists all", word, search.word);
}

/* Takes the option at words[*index] and its value, and moves *index behind them. */
static enum outcome take_option(struct run_arguments *arguments, int count, char *const *words, int *index)
{
    const char *word = words[(*index)++];
    if (strcmp(word, "-h") == 0) {
        arguments->wants_help = true;
        return OUTCOME_OK;
    }
    const struct option *option = find_option(word);
    if (option == NULL)
        return refuse_option(word);
    const char *value = strchr(word, '=');
    if (option->kind == OPTION_FLAG) {
        if (value != NULL)
            return fail_usage("--%s: takes no value", option->name);
        bool *flag = (bool *)((char *)arguments + option->place);
        if (*flag)
            return fail_usage("--%s: given more than once", option->name);
        *flag = true;
        return OUTCOME_OK;
    }
    /* A value may begin with a minus, but an option in its place means that it was forgotten. */
    if (value != NULL)
        value++;
    else if (*index < count && find_option(words[*index]) == NULL)
        value = words[(*index)++];
    else
        return fail_usage("--%s: its value is missing", option->name);
    return set_value(arguments, option, value);
}

/* A picture's name that promises another kind than is written. */
static enum outcome check_heat_map(const struct run_arguments *arguments)
{
    static const char *const others[] = {"jpg", "jpeg", "jpe", "jxl",  "gif",  "svg",  "svgz",
                                         "pdf", "ps",   "eps", "webp", "avif", "heic", "bmp",
                                         "tif", "tiff", "tga", "ico",  "ppm",  "pgm",  "pnm"};
    const char *ending = arguments->heatmap == NULL ? NULL : strrchr(arguments->heatmap, '.');
    for (size_t index = 0; ending != NULL && index < sizeof others / sizeof *others; index++) {
        if (strcasecmp(ending + 1, others[index]) == 0)
            return fail_usage("--heatmap %s: the picture is a PNG; a name that ends in .png says so",
                              arguments->heatmap);
    }
    return OUTCOME_OK;
}

static enum outcome check_together(const struct run_arguments *arguments)
{
    if (arguments->mechanism == NULL)
        return fail_usage("run: say which mechanism; 'attnzoo list' lists them");
    if (slot_files_find(&arguments->outputs, "context") == NULL)
        return fail_usage("run: --context is missing: where the result is to be written");
    if ((arguments->past_key == NULL) != (arguments->past_value == NULL))
        return fail_usage("--past-key and --past-value must be given together");
    if (arguments->prefix != NULL && arguments->weights == NULL)
        return fail_usage("--prefix needs --weights");
    if (arguments->rename_count > 0 && arguments->weights == NULL)
        return fail_usage("--rename needs --weights");
    if (arguments->query_labels != NULL && arguments->heatmap == NULL)
        return fail_usage("--query-labels needs --heatmap");
    if (arguments->key_labels != NULL && arguments->heatmap == NULL)
        return fail_usage("--key-labels needs --heatmap");
    if (arguments->align != NULL && arguments->query_offset != NULL)
        return fail_usage("--align and --query-offset exclude each other");
    return check_heat_map(arguments);
}

enum outcome run_arguments_parse(struct run_arguments *arguments, int count, char *const *words)
{
    *arguments = (struct run_arguments){.inputs.item = ATTNZOO_ITEM_INPUT, .outputs.item = ATTNZOO_ITEM_OUTPUT};
    arguments->inputs.list = calloc((size_t)count + 1, sizeof *arguments->inputs.list);
    arguments->outputs.list = calloc((size_t)count + 1, sizeof *arguments->outputs.list);
    arguments->settings = calloc((size_t)count + 1, sizeof *arguments->settings);
    arguments->renames = calloc((size_t)count + 1, sizeof *arguments->renames);
    if (arguments->inputs.list == NULL || arguments->outputs.list == NULL || arguments->settings == NULL ||
        arguments->renames == NULL)
        return fail("not enough memory");
    enum outcome outcome = OUTCOME_OK;
    bool is_behind_options = false;
    for (int index = 0; index < count && outcome == OUTCOME_OK;) {
        bool is_end = !is_behind_options && strcmp(words[index], "--") == 0;
        if (is_end) {
            is_behind_options = true;
            index++;
        } else if (words[index][0] == '-' && !is_behind_options)
            outcome = take_option(arguments, count, words, &index);
        else if (arguments->mechanism == NULL)
            arguments->mechanism = words[index++];
        else
            outcome = fail_usage("%s: not expected; the mechanism is %s", words[index], arguments->mechanism);
    }
    if (outcome != OUTCOME_OK || arguments->wants_help)
        return outcome;
    /* cppcheck-suppress uninitvar; it does not see that the table has its rows */
    enum outcome (*const steps[])(struct run_arguments *) = {read_window, read_alignment, read_query_offset,
                                                             read_threads};
    for (size_t step = 0; step < sizeof steps / sizeof *steps && outcome == OUTCOME_OK; step++)
        outcome = steps[step](arguments);
    return outcome == OUTCOME_OK ? check_together(arguments) : outcome;
}

void run_arguments_free(struct run_arguments *arguments)
{
    slot_files_free(&arguments->inputs);
    slot_files_free(&arguments->outputs);
    free(arguments->settings);
    free(arguments->renames);
    arguments->settings = NULL;
    arguments->renames = NULL;
}
