/*
 * run_outputs.c: from the outputs asked for by name to arrays by place, and from there to .npy files.
 */
#include "run_outputs.h"

#include "npy.h"

#include <stdlib.h>

static const char attention[] = "attention";

enum outcome run_outputs_check(const struct run_arguments *arguments)
{
    const char *mechanism = arguments->mechanism;
    if (arguments->heatmap != NULL && slot_place(mechanism, ATTNZOO_ITEM_OUTPUT, attention) < 0)
        return fail_usage("--heatmap: %s has no attention to draw", mechanism);
    return slot_files_check(&arguments->outputs, mechanism);
}

static enum outcome make(struct run_outputs *outputs, const attnzoo_module *module, const char *mechanism,
                         const char *name, const struct run_inputs *inputs, const attnzoo_state *state)
{
    int32_t place = slot_place(mechanism, ATTNZOO_ITEM_OUTPUT, name), rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    bool is_integer = slot_type(mechanism, ATTNZOO_ITEM_OUTPUT, place) == WANTED_INTEGER;
    struct operand *output = &outputs->operands[place];
    enum outcome outcome = check_library(
        attnzoo_module_output_shape(module, inputs->views, inputs->place_count, state, place, &rank, shape), mechanism);
    if (outcome == OUTCOME_OK)
        outcome =
            array_allocate(&output->array, is_integer ? ATTNZOO_DTYPE_INT64 : ATTNZOO_DTYPE_FLOAT32, rank, shape, name);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(output, name);
    outputs->views[place] = output->view;
    return outcome;
}

enum outcome run_outputs_make(struct run_outputs *outputs, const attnzoo_module *module,
                              const struct run_arguments *arguments, const struct run_inputs *inputs,
                              const attnzoo_state *state)
{
    const char *mechanism = arguments->mechanism;
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_OUTPUT);
    outputs->operands = calloc((size_t)count + 1, sizeof *outputs->operands);
    /* Pointers are what it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    outputs->views = calloc((size_t)count + 1, sizeof *outputs->views);
    if (outputs->operands == NULL || outputs->views == NULL)
        return fail("not enough memory");
    outputs->place_count = count;
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < arguments->outputs.count && outcome == OUTCOME_OK; index++)
        outcome = make(outputs, module, mechanism, arguments->outputs.list[index].name, inputs, state);
    bool is_drawn_alone = arguments->heatmap != NULL && slot_files_find(&arguments->outputs, attention) == NULL;
    if (outcome == OUTCOME_OK && is_drawn_alone)
        outcome = make(outputs, module, mechanism, attention, inputs, state);
    return outcome;
}

const struct array *run_outputs_array(const struct run_outputs *outputs, const char *mechanism, const char *name)
{
    static const struct array none;
    int32_t place = slot_place(mechanism, ATTNZOO_ITEM_OUTPUT, name);
    return place >= 0 && place < outputs->place_count ? &outputs->operands[place].array : &none;
}

enum outcome run_outputs_write(const struct run_outputs *outputs, const char *mechanism, const char *name,
                               struct output_file *file)
{
    const struct array *array = run_outputs_array(outputs, mechanism, name);
    if (array->dtype == ATTNZOO_DTYPE_INT64)
        npy_write_int64(array, file->stream);
    else
        npy_write_float32(array, file->stream);
    return output_file_finish(file);
}

void run_outputs_free(struct run_outputs *outputs)
{
    for (int32_t place = 0; place < outputs->place_count; place++)
        operand_free(&outputs->operands[place]);
    free(outputs->operands);
    free(outputs->views);
    *outputs = (struct run_outputs){0};
}
