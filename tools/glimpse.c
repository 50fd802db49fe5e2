/*
 * glimpse.c: `attnzoo glimpse`, from its words to a file that is whole. What goes into the file is made in
 * glimpse_make.c and glimpse_draw.c.
 */
#include "glimpse.h"

#include "glimpse_arguments.h"
#include "glimpse_make.h"
#include "npy.h"
#include "operand.h"
#include "output_file.h"
#include "progress.h"
#include "usage.h"

#include <stdlib.h>

/* That the output takes the place of nothing that is read. */
static enum outcome check_overwrites(const struct output_file *file, const struct glimpse_arguments *arguments)
{
    const char *const inputs[] = {arguments->input, arguments->table, arguments->attention};
    for (size_t index = 0; index < sizeof inputs / sizeof *inputs; index++) {
        if (inputs[index] == NULL)
            continue;
        char *name = reference_path(inputs[index]);
        if (name == NULL)
            return fail("%s: not enough memory", inputs[index]);
        char *path = realpath(name, NULL);
        bool is_same = path != NULL && output_file_replaces(file, path);
        free(path);
        free(name);
        if (is_same)
            return fail_usage("--output %s: this is the file %s, which is read; an output cannot take its place",
                              file->name, inputs[index]);
    }
    return OUTCOME_OK;
}

/* A name that promises another kind of file than is written. */
static enum outcome check_name(const struct glimpse_arguments *arguments)
{
    const char *name = arguments->output;
    bool is_drawing = arguments->kind == GLIMPSE_DRAW;
    if (is_drawing && path_ends_with(name, ".npy"))
        return fail_usage("--output %s: the picture is a PNG; a name that ends in .png says so", name);
    if (!is_drawing && (path_ends_with(name, ".png") || path_ends_with(name, ".safetensors")))
        return fail_usage("--output %s: glimpses are a NumPy array; a name that ends in .npy says so", name);
    return OUTCOME_OK;
}

static enum outcome write_glimpses(struct output_file *file, const struct glimpse_arguments *arguments)
{
    struct array glimpses = {0};
    enum outcome outcome = glimpse_make(&glimpses, arguments);
    if (outcome == OUTCOME_OK) {
        progress_set("writing", NULL);
        npy_write_float32(&glimpses, file->stream);
        outcome = output_file_finish(file);
    }
    array_free(&glimpses);
    return outcome;
}

static enum outcome write_drawing(struct output_file *file, const struct glimpse_arguments *arguments)
{
    enum outcome outcome = glimpse_draw(arguments, file->stream);
    return outcome == OUTCOME_OK ? output_file_finish(file) : outcome;
}

static enum outcome write_output(const struct glimpse_arguments *arguments)
{
    struct output_file file = {0};
    enum outcome outcome = check_name(arguments);
    /* This early, so that long work does not end at a folder that cannot be written. */
    if (outcome == OUTCOME_OK)
        outcome = output_file_open(&file, arguments->output);
    if (outcome == OUTCOME_OK)
        outcome = check_overwrites(&file, arguments);
    if (outcome == OUTCOME_OK)
        outcome = arguments->kind == GLIMPSE_DRAW ? write_drawing(&file, arguments) : write_glimpses(&file, arguments);
    if (outcome == OUTCOME_OK)
        outcome = output_file_commit(&file);
    output_file_discard(&file);
    return outcome;
}

enum outcome glimpse(int count, char *const *words)
{
    struct glimpse_arguments arguments;
    enum outcome outcome = glimpse_arguments_parse(&arguments, count, words);
    if (outcome == OUTCOME_OK && arguments.wants_help) {
        print_usage("glimpse");
        return OUTCOME_OK;
    }
    if (outcome != OUTCOME_OK)
        return outcome;
    output_file_handle_signals();
    progress_start();
    outcome = write_output(&arguments);
    progress_stop();
    return outcome;
}
