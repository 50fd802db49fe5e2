/*
 * run.c: one forward pass, from files to files: settings, weights, inputs, mask and state into the library, context,
 * attention and other outputs, heat map and state out of it. It knows no mechanism; what one has, introspection tells.
 */
#include "run.h"

#include "attention_picture.h"
#include "labels.h"
#include "mask_operands.h"
#include "output_file.h"
#include "overwrites.h"
#include "progress.h"
#include "run_inputs.h"
#include "run_outputs.h"
#include "run_state.h"
#include "settings.h"
#include "timing.h"
#include "weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMING_LINE_SIZE = 200 };

/* Everything that a run holds; all zero is nothing and may be freed. */
struct run {
    const struct run_arguments *arguments;
    attnzoo_module *module;
    struct rename_rules renames;
    struct run_inputs inputs;
    struct mask_operands masks;
    struct run_state state;
    struct labels query_labels;
    struct labels key_labels;
    attnzoo_executor *executor;
    struct run_outputs outputs;
    /* [file_count] those of the outputs in the order given, then the two below, which may not have been asked for. */
    struct output_file *files;
    int file_count;
    struct output_file *heat_map_file;
    struct output_file *state_file;
    char timing_line[TIMING_LINE_SIZE];
};

static enum outcome make_module(struct run *run)
{
    const struct run_arguments *arguments = run->arguments;
    enum outcome outcome =
        check_library_usage(attnzoo_module_create(&run->module, arguments->mechanism), arguments->mechanism);
    return outcome == OUTCOME_OK ? settings_apply(run->module, arguments) : outcome;
}

/* What was typed wrong is said before any file is touched. */
static enum outcome check_inputs(struct run *run)
{
    const struct run_arguments *arguments = run->arguments;
    enum outcome outcome = run_inputs_check(arguments);
    if (outcome == OUTCOME_OK)
        outcome = run_outputs_check(arguments);
    if (outcome == OUTCOME_OK)
        outcome = run_state_check(arguments);
    return outcome == OUTCOME_OK ? rename_rules_read(&run->renames, arguments->renames, arguments->rename_count)
                                 : outcome;
}

static enum outcome make_executor(struct run *run)
{
    return check_library_usage(attnzoo_executor_create(&run->executor, run->arguments->thread_count), "--threads");
}

static enum outcome prepare_module(struct run *run)
{
    const struct run_arguments *arguments = run->arguments;
    enum outcome outcome = OUTCOME_OK;
    if (arguments->weights != NULL)
        outcome = weights_set(run->module, arguments->weights, arguments->prefix, &run->renames);
    return outcome == OUTCOME_OK ? settings_judge(attnzoo_module_prepare(run->module), arguments) : outcome;
}

/* Opens a file that is none of those that are read, and none of those that were opened before. */
static enum outcome open_output(const struct run *run, struct output_file *file, const char *lead, const char *name)
{
    enum outcome outcome = output_file_open(file, name);
    if (outcome == OUTCOME_OK)
        outcome = overwrites_check(file, lead, run->arguments);
    for (const struct output_file *other = run->files; other < file && outcome == OUTCOME_OK; other++) {
        if (output_file_is_same(other, file))
            outcome = fail_usage("%s: two outputs cannot go to one file", name);
    }
    return outcome;
}

/* This early, so that a long run does not end at a folder that cannot be written. */
static enum outcome open_outputs(struct run *run)
{
    const struct run_arguments *arguments = run->arguments;
    const struct slot_files *outputs = &arguments->outputs;
    int count = outputs->count + 2;
    run->files = calloc((size_t)count, sizeof *run->files);
    if (run->files == NULL)
        return fail("not enough memory");
    run->file_count = count;
    run->heat_map_file = &run->files[outputs->count];
    run->state_file = &run->files[outputs->count + 1];
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < outputs->count && outcome == OUTCOME_OK; index++)
        outcome = open_output(run, &run->files[index], outputs->list[index].lead, outputs->list[index].file);
    if (outcome == OUTCOME_OK && arguments->heatmap != NULL)
        outcome = open_output(run, run->heat_map_file, "--heatmap ", arguments->heatmap);
    if (outcome == OUTCOME_OK && arguments->state_out != NULL)
        outcome = open_output(run, run->state_file, "--state-out ", arguments->state_out);
    return outcome;
}

static enum outcome read_inputs(struct run *run)
{
    enum outcome outcome = run_inputs_read(&run->inputs, run->arguments);
    if (outcome == OUTCOME_OK)
        outcome = mask_operands_read(&run->masks, run->arguments);
    return outcome;
}

static enum outcome make_state(struct run *run)
{
    return run_state_make(&run->state, run->module, run->arguments, &run->inputs);
}

/* Once it is known how many there must be, but before the computation, which may take long. */
static enum outcome read_labels(struct run *run)
{
    const struct run_arguments *arguments = run->arguments;
    const struct array *attention = run_outputs_array(&run->outputs, arguments->mechanism, "attention");
    enum outcome outcome = OUTCOME_OK;
    /* What has fewer axes is no picture, as is said when it is to be drawn. */
    if (attention->rank < 2)
        return OUTCOME_OK;
    if (arguments->query_labels != NULL)
        outcome = labels_read(&run->query_labels, arguments->query_labels, "query-labels",
                              attention->shape[attention->rank - 2], "queries");
    if (outcome == OUTCOME_OK && arguments->key_labels != NULL)
        outcome = labels_read(&run->key_labels, arguments->key_labels, "key-labels",
                              attention->shape[attention->rank - 1], "keys");
    return outcome;
}

static enum outcome make_outputs(struct run *run)
{
    enum outcome outcome = run_outputs_make(&run->outputs, run->module, run->arguments, &run->inputs, run->state.state);
    return outcome == OUTCOME_OK ? read_labels(run) : outcome;
}

static attnzoo_status call_forward(void *context)
{
    struct run *run = context;
    return attnzoo_module_forward_slots(run->module, run->executor, run->inputs.views, run->inputs.place_count,
                                        run->masks.mask, run->state.state, run->outputs.views,
                                        run->outputs.place_count);
}

/* Each repetition starts from the state that the first call started from, and so ends where that one did. */
static attnzoo_status rewind_state(void *context)
{
    struct run *run = context;
    return run_state_rewind(&run->state);
}

static enum outcome compute(struct run *run)
{
    progress_set("computing", NULL);
    enum outcome outcome = check_library(call_forward(run), run->arguments->mechanism);
    if (outcome == OUTCOME_OK && run->arguments->is_timed) {
        progress_set("timing", NULL);
        outcome = timing_measure(rewind_state, call_forward, run, attnzoo_executor_thread_count(run->executor),
                                 run->timing_line, sizeof run->timing_line);
    }
    return outcome;
}

static enum outcome write_heat_map(struct run *run)
{
    if (run->heat_map_file->stream == NULL)
        return OUTCOME_OK;
    const struct attention_picture picture = {
        .mechanism = run->arguments->mechanism,
        .attention = run_outputs_array(&run->outputs, run->arguments->mechanism, "attention"),
        .has_batches = run_inputs_size(&run->inputs, run->arguments->mechanism, "B") >= 0,
        .query_lengths = &run->masks.query_lengths.array,
        .key_lengths = &run->masks.key_lengths.array,
        .query_labels = run->query_labels.texts,
        .key_labels = run->key_labels.texts,
    };
    enum outcome outcome = attention_picture_write(&picture, run->heat_map_file->stream);
    return outcome == OUTCOME_OK ? output_file_finish(run->heat_map_file) : outcome;
}

static enum outcome write_state(struct run *run)
{
    if (run->state_file->stream == NULL)
        return OUTCOME_OK;
    enum outcome outcome = run_state_write(&run->state, run->arguments->mechanism, run->state_file->stream);
    return outcome == OUTCOME_OK ? output_file_finish(run->state_file) : outcome;
}

/*
 * No file takes its place before all are whole, and the state last of all: as long as it is the old one, the run can be
 * made again.
 */
static enum outcome write_outputs(struct run *run)
{
    progress_set("writing", NULL);
    const struct slot_files *outputs = &run->arguments->outputs;
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < outputs->count && outcome == OUTCOME_OK; index++)
        outcome =
            run_outputs_write(&run->outputs, run->arguments->mechanism, outputs->list[index].name, &run->files[index]);
    if (outcome == OUTCOME_OK)
        outcome = write_heat_map(run);
    if (outcome == OUTCOME_OK)
        outcome = write_state(run);
    for (int index = 0; index < run->file_count && outcome == OUTCOME_OK; index++)
        outcome = output_file_commit(&run->files[index]);
    return outcome;
}

static void run_free(struct run *run)
{
    for (int index = 0; index < run->file_count; index++)
        output_file_discard(&run->files[index]);
    free(run->files);
    attnzoo_executor_destroy(run->executor);
    run_state_free(&run->state);
    mask_operands_free(&run->masks);
    run_inputs_free(&run->inputs);
    labels_free(&run->query_labels);
    labels_free(&run->key_labels);
    run_outputs_free(&run->outputs);
    attnzoo_module_destroy(run->module);
    rename_rules_free(&run->renames);
}

enum outcome run_mechanism(const struct run_arguments *arguments)
{
    struct run run = {.arguments = arguments};
    /* cppcheck-suppress uninitvar; it does not see that the table has its rows */
    enum outcome (*const steps[])(struct run *) = {make_module,    check_inputs, make_executor, open_outputs,
                                                   prepare_module, read_inputs,  make_state,    make_outputs,
                                                   compute,        write_outputs};
    output_file_handle_signals();
    progress_start();
    progress_set("reading", NULL);
    enum outcome outcome = OUTCOME_OK;
    for (size_t step = 0; step < sizeof steps / sizeof *steps && outcome == OUTCOME_OK; step++)
        outcome = steps[step](&run);
    progress_stop();
    run_free(&run);
    if (outcome == OUTCOME_OK && settings_leave_heads(arguments))
        fputs("attnzoo: note: num_heads is not set and taken to be 1; weight files do not tell it\n", stderr);
    if (outcome == OUTCOME_OK && arguments->is_timed)
        puts(run.timing_line);
    return outcome;
}
