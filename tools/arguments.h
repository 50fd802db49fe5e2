/*
 * arguments.h: what follows `attnzoo run` on the command line, checked for form. Whether it fits the mechanism and
 * whether files can be read is seen later.
 */
#ifndef TOOLS_ARGUMENTS_H
#define TOOLS_ARGUMENTS_H

#include "problem.h"
#include "slot_files.h"

#include <stdbool.h>
#include <stdint.h>

/* Texts are the user's, NULL where an option was not given. */
struct run_arguments {
    const char *mechanism;
    struct slot_files inputs;
    struct slot_files outputs;
    const char *past_key;
    const char *past_value;
    const char *weights;
    const char *prefix;
    /* OLD=NEW or a preset, in the order given. */
    const char **renames;
    int rename_count;
    /* NAME=VALUE, in the order given. */
    const char **settings;
    int setting_count;
    bool is_causal;
    const char *window;
    int64_t window_left;
    int64_t window_right;
    const char *align;
    int32_t alignment;
    const char *query_offset;
    bool query_offset_is_number;
    int64_t query_offset_number;
    const char *key_lengths;
    const char *query_lengths;
    const char *mask;
    const char *bias;
    const char *alibi;
    const char *segments;
    const char *state_in;
    const char *state_out;
    const char *heatmap;
    const char *query_labels;
    const char *key_labels;
    const char *threads;
    int32_t thread_count;
    bool is_timed;
    bool wants_help;
};

/* Reads the words after `run`. Free with run_arguments_free(), also after an error. */
enum outcome run_arguments_parse(struct run_arguments *arguments, int count, char *const *words);

void run_arguments_free(struct run_arguments *arguments);

#endif
