/*
 * run.c: one forward pass, from files to files: settings, weights, inputs, mask and state into the library, context,
 * attention, heat map and state out of it. It knows no mechanism; what one has, introspection tells.
 */
#include "run.h"

#include "attention_picture.h"
#include "labels.h"
#include "mask_operands.h"
#include "npy.h"
#include "output_file.h"
#include "overwrites.h"
#include "progress.h"
#include "run_inputs.h"
#include "run_state.h"
#include "settings.h"
#include "timing.h"
#include "weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_COUNT = 2, TIMING_LINE_SIZE = 200 };

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
    /* By ATTNZOO_OUTPUT_ place; the attention has no view where it is not wanted. */
    struct operand outputs[OUTPUT_COUNT];
    struct output_file context_file;
    struct output_file attention_file;
    struct output_file heat_map_file;
    struct output_file state_file;
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

/* This early, so that a long run does not end at a folder that cannot be written. */
static enum outcome open_outputs(struct run *run)
{
    struct output_file *const files[] = {&run->context_file, &run->attention_file, &run->heat_map_file,
                                         &run->state_file};
    const struct run_arguments *arguments = run->arguments;
    const char *const names[] = {arguments->context, arguments->attention, arguments->heatmap, arguments->state_out};
    const char *const options[] = {"context", "attention", "heatmap", "state-out"};
    enum outcome outcome = OUTCOME_OK;
    for (size_t index = 0; index < sizeof files / sizeof files[0] && outcome == OUTCOME_OK; index++) {
        if (names[index] == NULL)
            continue;
        outcome = output_file_open(files[index], names[index]);
        if (outcome == OUTCOME_OK)
            outcome = overwrites_check(files[index], options[index], arguments);
        for (size_t earlier = 0; earlier < index && outcome == OUTCOME_OK; earlier++) {
            if (output_file_is_same(files[earlier], files[index]))
                outcome = fail_usage("%s: two outputs cannot go to one file", names[index]);
        }
    }
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

static enum outcome make_output(struct run *run, int32_t place, const char *name)
{
    struct operand *output = &run->outputs[place];
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    enum outcome outcome =
        check_library(attnzoo_module_output_shape(run->module, run->inputs.views, run->inputs.place_count,
                                                  run->state.state, place, &rank, shape),
                      run->arguments->mechanism);
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&output->array, ATTNZOO_DTYPE_FLOAT32, rank, shape, name);
    return outcome == OUTCOME_OK ? operand_make_view(output, name) : outcome;
}

/* Once it is known how many there must be, but before the computation, which may take long. */
static enum outcome read_labels(struct run *run)
{
    const struct run_arguments *arguments = run->arguments;
    const struct array *attention = &run->outputs[ATTNZOO_OUTPUT_ATTENTION].array;
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
    enum outcome outcome = make_output(run, ATTNZOO_OUTPUT_CONTEXT, "context");
    bool wants_attention = run->arguments->attention != NULL || run->arguments->heatmap != NULL;
    if (outcome == OUTCOME_OK && wants_attention)
        outcome = make_output(run, ATTNZOO_OUTPUT_ATTENTION, "attention");
    return outcome == OUTCOME_OK ? read_labels(run) : outcome;
}

static attnzoo_status call_forward(void *context)
{
    struct run *run = context;
    attnzoo_tensor *outputs[OUTPUT_COUNT];
    for (int place = 0; place < OUTPUT_COUNT; place++)
        outputs[place] = run->outputs[place].view;
    return attnzoo_module_forward_slots(run->module, run->executor, run->inputs.views, run->inputs.place_count,
                                        run->masks.mask, run->state.state, outputs, OUTPUT_COUNT);
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
    if (run->heat_map_file.stream == NULL)
        return OUTCOME_OK;
    const struct attention_picture picture = {
        .mechanism = run->arguments->mechanism,
        .attention = &run->outputs[ATTNZOO_OUTPUT_ATTENTION].array,
        .has_batches = run_inputs_have_batches(&run->inputs, run->arguments->mechanism),
        .query_lengths = &run->masks.query_lengths.array,
        .key_lengths = &run->masks.key_lengths.array,
        .query_labels = run->query_labels.texts,
        .key_labels = run->key_labels.texts,
    };
    enum outcome outcome = attention_picture_write(&picture, run->heat_map_file.stream);
    return outcome == OUTCOME_OK ? output_file_finish(&run->heat_map_file) : outcome;
}

static enum outcome write_array(struct output_file *file, const struct array *array)
{
    if (file->stream == NULL)
        return OUTCOME_OK;
    npy_write_float32(array, file->stream);
    return output_file_finish(file);
}

static enum outcome write_state(struct run *run)
{
    if (run->state_file.stream == NULL)
        return OUTCOME_OK;
    enum outcome outcome = run_state_write(&run->state, run->arguments->mechanism, run->state_file.stream);
    return outcome == OUTCOME_OK ? output_file_finish(&run->state_file) : outcome;
}

/*
 * No file takes its place before all are whole, and the state last of all: as long as it is the old one, the run can be
 * made again.
 */
static enum outcome write_outputs(struct run *run)
{
    progress_set("writing", NULL);
    enum outcome outcome = write_array(&run->context_file, &run->outputs[ATTNZOO_OUTPUT_CONTEXT].array);
    if (outcome == OUTCOME_OK)
        outcome = write_array(&run->attention_file, &run->outputs[ATTNZOO_OUTPUT_ATTENTION].array);
    if (outcome == OUTCOME_OK)
        outcome = write_heat_map(run);
    if (outcome == OUTCOME_OK)
        outcome = write_state(run);
    struct output_file *const files[] = {&run->context_file, &run->attention_file, &run->heat_map_file,
                                         &run->state_file};
    for (size_t index = 0; index < sizeof files / sizeof files[0] && outcome == OUTCOME_OK; index++)
        outcome = output_file_commit(files[index]);
    return outcome;
}

static void run_free(struct run *run)
{
    output_file_discard(&run->context_file);
    output_file_discard(&run->attention_file);
    output_file_discard(&run->heat_map_file);
    output_file_discard(&run->state_file);
    attnzoo_executor_destroy(run->executor);
    run_state_free(&run->state);
    mask_operands_free(&run->masks);
    run_inputs_free(&run->inputs);
    labels_free(&run->query_labels);
    labels_free(&run->key_labels);
    for (int place = 0; place < OUTPUT_COUNT; place++)
        operand_free(&run->outputs[place]);
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
