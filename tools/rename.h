/*
 * rename.h: --rename: which tensor of a file, or which of its rows, is which parameter.
 *
 *   OLD=NEW        the tensor OLD (behind the prefix) is the parameter NEW; nothing behind = leaves OLD out
 *   OLD*X=NEW*Y    the same for every name that fits; * stands for any text, the same on both sides
 *   OLD[A:B]=NEW   rows A to B - 1 of OLD
 *   OLD[I/N]=NEW   the I-th of N equal parts of OLD's rows, I from 1
 *   pytorch, huggingface   rules for names in wide use
 */
#ifndef TOOLS_RENAME_H
#define TOOLS_RENAME_H

#include "problem.h"

#include <stdbool.h>
#include <stdint.h>

/* One rule. Its texts are not terminated; they point into what it was read from. */
struct rename_rule {
    /* As it was written, for messages. */
    const char *text;
    /* What the name must begin and end with; `old_tail` is NULL where the whole name is in `old_head`. */
    const char *old_head, *old_tail;
    int old_head_length, old_tail_length;
    /* The new name; `new_tail` goes behind what * stood for, NULL if nothing does. */
    const char *new_head, *new_tail;
    int new_head_length, new_tail_length;
    /* Rows first to last - 1 where part_count is 0, else part `part` (from 1) of part_count. -1: all rows. */
    int64_t first, last;
    int64_t part, part_count;
    bool is_preset;
    /* Whether some tensor was named by it. */
    bool is_used;
};

/* All zero is no rules and may be freed. Rules that were written one by one stand before those of presets. */
struct rename_rules {
    struct rename_rule *rules;
    int count;
};

/* Reads what was given as --rename, [count] texts that must outlive the rules. */
enum outcome rename_rules_read(struct rename_rules *rules, const char *const *texts, int count);

/* The names of the presets, 0 the first; NULL behind the last. */
const char *rename_preset_name(int preset);

/*
 * Whether rule `index` says what the tensor `name` is. Rules of presets do not where a written one does. Marks it used.
 */
bool rename_rule_fits(struct rename_rules *rules, int index, const char *name);

/* The parameter that `name` becomes by a rule that fits, "" if it is to be left out; the caller frees it. NULL: no
 * memory. */
char *rename_rule_apply(const struct rename_rule *rule, const char *name);

/* Which of `rows` rows the rule takes: false if there are no such rows. */
bool rename_rule_rows(const struct rename_rule *rule, int64_t rows, int64_t *first, int64_t *last);

void rename_rules_free(struct rename_rules *rules);

#endif
