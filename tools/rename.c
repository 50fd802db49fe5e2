/*
 * rename.c: reads and applies rules of --rename, and has those for names in wide use.
 */
#include "rename.h"

#include <stdlib.h>
#include <string.h>

/* torch.nn.MultiheadAttention. Its out_proj is called as here. */
static const char *const pytorch_rules[] = {
    "in_proj_weight[1/3]=query_proj.weight", "in_proj_weight[2/3]=key_proj.weight",
    "in_proj_weight[3/3]=value_proj.weight", "in_proj_bias[1/3]=query_proj.bias",
    "in_proj_bias[2/3]=key_proj.bias",       "in_proj_bias[3/3]=value_proj.bias",
    "q_proj_weight=query_proj.weight",       "k_proj_weight=key_proj.weight",
    "v_proj_weight=value_proj.weight",       NULL,
};

/* Names in the transformers library, with models that use them. */
static const char *const huggingface_rules[] = {
    /* BART, Whisper, CLIP, wav2vec 2.0 (with out_proj as here), and Llama, Mistral, Qwen (with o_proj) */
    "q_proj.*=query_proj.*",
    "k_proj.*=key_proj.*",
    "v_proj.*=value_proj.*",
    "o_proj.*=out_proj.*",
    /* BERT, RoBERTa, ELECTRA behind "...attention." */
    "self.query.*=query_proj.*",
    "self.key.*=key_proj.*",
    "self.value.*=value_proj.*",
    "output.dense.*=out_proj.*",
    /* ViT, DeiT behind "...attention." (and output.dense) */
    "attention.query.*=query_proj.*",
    "attention.key.*=key_proj.*",
    "attention.value.*=value_proj.*",
    /* BERT and ViT behind a longer prefix, without the output */
    "query.*=query_proj.*",
    "key.*=key_proj.*",
    "value.*=value_proj.*",
    /* DistilBERT */
    "q_lin.*=query_proj.*",
    "k_lin.*=key_proj.*",
    "v_lin.*=value_proj.*",
    "out_lin.*=out_proj.*",
    /* T5 */
    "q.*=query_proj.*",
    "k.*=key_proj.*",
    "v.*=value_proj.*",
    "o.*=out_proj.*",
    NULL,
};

static const struct {
    const char *name;
    const char *const *rules;
} presets[] = {{"pytorch", pytorch_rules}, {"huggingface", huggingface_rules}};

enum { PRESET_COUNT = sizeof presets / sizeof *presets, PRESET_RULES_MAX = 32 };

/* Reads digits at *text, at least one and no more than 18; moves *text behind them. */
static bool read_number(const char **text, int64_t *number)
{
    int digits = 0;
    *number = 0;
    for (; **text >= '0' && **text <= '9' && digits < 18; (*text)++, digits++)
        *number = 10 * *number + (**text - '0');
    return digits > 0;
}

/* Reads "A:B]" or "I/N]" at `text`, which must end at `end`. */
static bool read_rows(struct rename_rule *rule, const char *text, const char *end)
{
    int64_t left, right;
    if (!read_number(&text, &left))
        return false;
    char separator = *text++;
    if ((separator != ':' && separator != '/') || !read_number(&text, &right) || text + 1 != end || *text != ']')
        return false;
    if (separator == ':') {
        rule->first = left;
        rule->last = right;
        return left < right;
    }
    rule->part = left;
    rule->part_count = right;
    return left >= 1 && left <= right;
}

/* Splits at the one *, if there is one; false if there are more. */
static bool split_at_star(const char *begin, const char *end, const char **head, int *head_length, const char **tail,
                          int *tail_length)
{
    const char *star = memchr(begin, '*', (size_t)(end - begin));
    *head = begin;
    *head_length = (int)((star == NULL ? end : star) - begin);
    *tail = star == NULL ? NULL : star + 1;
    *tail_length = star == NULL ? 0 : (int)(end - star - 1);
    return star == NULL || memchr(*tail, '*', (size_t)*tail_length) == NULL;
}

static enum outcome read_rule(struct rename_rule *rule, const char *text)
{
    *rule = (struct rename_rule){.text = text, .first = -1, .last = -1};
    const char *equals = strchr(text, '='), *old_end = equals;
    if (equals == NULL || equals == text)
        return fail_usage("--rename %s: must be OLD=NEW, pytorch or huggingface", text);
    if (old_end[-1] == ']') {
        const char *bracket = old_end;
        while (bracket > text && *bracket != '[')
            bracket--;
        if (*bracket != '[' || bracket == text || !read_rows(rule, bracket + 1, old_end))
            return fail_usage("--rename %s: rows must be [A:B] with A below B, or [I/N] with I from 1 to N", text);
        old_end = bracket;
    }
    const char *new_name = equals + 1, *new_end = new_name + strlen(new_name);
    bool is_split = split_at_star(text, old_end, &rule->old_head, &rule->old_head_length, &rule->old_tail,
                                  &rule->old_tail_length) &&
                    split_at_star(new_name, new_end, &rule->new_head, &rule->new_head_length, &rule->new_tail,
                                  &rule->new_tail_length);
    if (!is_split || (rule->new_tail != NULL && rule->old_tail == NULL))
        return fail_usage("--rename %s: * may stand once on each side, and on the right only if on the left", text);
    return OUTCOME_OK;
}

const char *rename_preset_name(int preset)
{
    return preset < PRESET_COUNT ? presets[preset].name : NULL;
}

static int find_preset(const char *text)
{
    for (int preset = 0; preset < PRESET_COUNT; preset++) {
        if (strcmp(presets[preset].name, text) == 0)
            return preset;
    }
    return -1;
}

static enum outcome add_preset(struct rename_rules *rules, int preset)
{
    enum outcome outcome = OUTCOME_OK;
    for (const char *const *text = presets[preset].rules; *text != NULL && outcome == OUTCOME_OK; text++) {
        outcome = read_rule(&rules->rules[rules->count], *text);
        rules->rules[rules->count++].is_preset = true;
    }
    return outcome;
}

enum outcome rename_rules_read(struct rename_rules *rules, const char *const *texts, int count)
{
    *rules = (struct rename_rules){0};
    rules->rules = calloc((size_t)(count + 1) * PRESET_RULES_MAX, sizeof *rules->rules);
    if (rules->rules == NULL)
        return fail("not enough memory");
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < count && outcome == OUTCOME_OK; index++) {
        for (int earlier = 0; earlier < index && outcome == OUTCOME_OK; earlier++) {
            if (strcmp(texts[earlier], texts[index]) == 0)
                outcome = fail_usage("--rename %s: given more than once", texts[index]);
        }
        if (outcome == OUTCOME_OK && find_preset(texts[index]) < 0)
            outcome = read_rule(&rules->rules[rules->count++], texts[index]);
    }
    for (int index = 0; index < count && outcome == OUTCOME_OK; index++) {
        int preset = find_preset(texts[index]);
        if (preset >= 0)
            outcome = add_preset(rules, preset);
    }
    return outcome;
}

static bool matches(const struct rename_rule *rule, const char *name)
{
    size_t length = strlen(name), head = (size_t)rule->old_head_length, tail = (size_t)rule->old_tail_length;
    if (rule->old_tail == NULL)
        return length == head && memcmp(name, rule->old_head, head) == 0;
    return length >= head + tail && memcmp(name, rule->old_head, head) == 0 &&
           memcmp(name + length - tail, rule->old_tail, tail) == 0;
}

bool rename_rule_fits(struct rename_rules *rules, int index, const char *name)
{
    struct rename_rule *rule = &rules->rules[index];
    if (!matches(rule, name))
        return false;
    for (int other = 0; other < rules->count && rule->is_preset; other++) {
        if (!rules->rules[other].is_preset && matches(&rules->rules[other], name))
            return false;
    }
    rule->is_used = true;
    return true;
}

char *rename_rule_apply(const struct rename_rule *rule, const char *name)
{
    size_t length = strlen(name), head = (size_t)rule->new_head_length, tail = (size_t)rule->new_tail_length;
    size_t middle = rule->new_tail == NULL ? 0 : length - (size_t)rule->old_head_length - (size_t)rule->old_tail_length;
    char *new_name = malloc(head + middle + tail + 1);
    if (new_name == NULL)
        return NULL;
    memcpy(new_name, rule->new_head, head);
    if (middle > 0)
        memcpy(new_name + head, name + rule->old_head_length, middle);
    if (rule->new_tail != NULL)
        memcpy(new_name + head + middle, rule->new_tail, tail);
    new_name[head + middle + tail] = '\0';
    return new_name;
}

bool rename_rule_rows(const struct rename_rule *rule, int64_t rows, int64_t *first, int64_t *last)
{
    *first = rule->first < 0 ? 0 : rule->first;
    *last = rule->last < 0 ? rows : rule->last;
    if (rule->part_count == 0)
        return *last <= rows;
    int64_t size = rows / rule->part_count;
    *first = (rule->part - 1) * size;
    *last = rule->part * size;
    return rows % rule->part_count == 0;
}

void rename_rules_free(struct rename_rules *rules)
{
    free(rules->rules);
    *rules = (struct rename_rules){0};
}
