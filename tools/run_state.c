/*
 * run_state.c: from --state-in to a state of the library, and from there to --state-out. Each tensor of the file is a
 * field of the state by its name.
 */
#include "run_state.h"

#include "safetensors.h"
#include "safetensors_write.h"
#include "shape_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *field_text(const char *mechanism, int32_t field, int32_t what)
{
    return attnzoo_item_text(mechanism, ATTNZOO_ITEM_STATE, field, what);
}

/* The number of the field that is called `name`, -1 if there is none. */
static int32_t find_field(const char *mechanism, const char *name)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_STATE);
    for (int32_t field = 0; field < count; field++) {
        const char *known = field_text(mechanism, field, ATTNZOO_FIELD_NAME);
        if (known != NULL && strcmp(known, name) == 0)
            return field;
    }
    return -1;
}

enum outcome run_state_check(const struct run_arguments *arguments)
{
    const char *option = arguments->state_in != NULL ? "--state-in" : "--state-out";
    if (arguments->state_in == NULL && arguments->state_out == NULL)
        return OUTCOME_OK;
    if (attnzoo_item_count(arguments->mechanism, ATTNZOO_ITEM_STATE) > 0)
        return OUTCOME_OK;
    return fail_usage("%s: %s carries no state", option, arguments->mechanism);
}

/* Reads the fields that the file has; every tensor in it must be one. */
static enum outcome read_fields(struct operand *fields, const char *mechanism, const char *path)
{
    struct safetensors file;
    enum outcome outcome = safetensors_open(&file, path);
    if (outcome != OUTCOME_OK)
        return outcome;
    for (int64_t index = 0; index < file.entry_count && outcome == OUTCOME_OK; index++) {
        const struct safetensors_entry *entry = &file.entries[index];
        int32_t field = find_field(mechanism, entry->name);
        if (field < 0)
            outcome = fail("%s: tensor '%s' is no part of a state of %s; 'attnzoo describe %s' lists them", path,
                           entry->name, mechanism, mechanism);
        if (outcome == OUTCOME_OK)
            outcome = safetensors_read(&file, entry, &fields[field].array, WANTED_FLOAT);
        if (outcome == OUTCOME_OK)
            outcome = operand_make_view(&fields[field], entry->name);
    }
    safetensors_close(&file);
    return outcome;
}

static enum outcome check_required(const struct operand *fields, const char *mechanism, const char *path)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_STATE);
    for (int32_t field = 0; field < count; field++) {
        const char *required = field_text(mechanism, field, ATTNZOO_FIELD_REQUIRED);
        if (fields[field].view == NULL && required != NULL && strcmp(required, "yes") == 0)
            return fail("%s: there is no tensor '%s' %s, which a state of %s must have", path,
                        field_text(mechanism, field, ATTNZOO_FIELD_NAME),
                        field_text(mechanism, field, ATTNZOO_FIELD_SHAPE), mechanism);
    }
    return OUTCOME_OK;
}

/* How many keys the fields hold: the size of the axis that is called T (of a cache) or M (of an alignment). */
static int64_t loaded_length(const struct operand *fields, const char *mechanism)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_STATE);
    for (int32_t field = 0; field < count; field++) {
        const char *shape = field_text(mechanism, field, ATTNZOO_FIELD_SHAPE);
        const struct array *array = &fields[field].array;
        int32_t from_end = shape_text_axis_from_end(shape, "T");
        if (from_end < 0)
            from_end = shape_text_axis_from_end(shape, "M");
        if (fields[field].view != NULL && from_end >= 0 && from_end < array->rank)
            return array->shape[array->rank - 1 - from_end];
    }
    return 0;
}

static enum outcome fill(struct run_state *state, const struct operand *fields, const char *mechanism, const char *path)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_STATE);
    /* Pointers are what it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    const attnzoo_tensor **views = calloc((size_t)count, sizeof *views);
    if (views == NULL)
        return fail("%s: not enough memory", path);
    for (int32_t field = 0; field < count; field++)
        views[field] = fields[field].view;
    enum outcome outcome = check_library(attnzoo_state_set_fields(state->state, views, count), path);
    free(views);
    return outcome;
}

/* Makes the state with room for `loaded` keys besides those of the call. */
static enum outcome create(struct run_state *state, const attnzoo_module *module, const struct run_arguments *arguments,
                           const struct run_inputs *inputs, int64_t loaded)
{
    const char *option = arguments->state_in != NULL ? "--state-in" : "--state-out";
    int64_t batch = run_inputs_size(inputs, arguments->mechanism, "B");
    int64_t brought = run_inputs_size(inputs, arguments->mechanism, "M"), capacity;
    batch = batch < 0 ? 1 : batch;
    if (__builtin_add_overflow(loaded, brought < 0 ? 0 : brought, &capacity))
        return fail("%s: too many keys", option);
    enum outcome outcome = check_library(attnzoo_state_create(&state->state, module, batch, capacity), option);
    if (outcome == OUTCOME_OK && arguments->is_timed)
        outcome = check_library(attnzoo_state_create(&state->start, module, batch, capacity), option);
    return outcome;
}

enum outcome run_state_make(struct run_state *state, const attnzoo_module *module,
                            const struct run_arguments *arguments, const struct run_inputs *inputs)
{
    const char *mechanism = arguments->mechanism, *path = arguments->state_in;
    if (path == NULL && arguments->state_out == NULL)
        return OUTCOME_OK;
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_STATE);
    struct operand *fields = calloc((size_t)count, sizeof *fields);
    if (fields == NULL)
        return fail("not enough memory");
    enum outcome outcome = OUTCOME_OK;
    if (path != NULL)
        outcome = read_fields(fields, mechanism, path);
    if (outcome == OUTCOME_OK && path != NULL)
        outcome = check_required(fields, mechanism, path);
    if (outcome == OUTCOME_OK)
        outcome = create(state, module, arguments, inputs, loaded_length(fields, mechanism));
    if (outcome == OUTCOME_OK && path != NULL)
        outcome = fill(state, fields, mechanism, path);
    if (outcome == OUTCOME_OK && state->start != NULL)
        outcome = check_library(attnzoo_state_copy(state->start, state->state), "--time");
    for (int32_t field = 0; field < count; field++)
        operand_free(&fields[field]);
    free(fields);
    return outcome;
}

attnzoo_status run_state_rewind(struct run_state *state)
{
    return state->state == NULL ? ATTNZOO_STATUS_OK : attnzoo_state_copy(state->state, state->start);
}

/* Copies a field out of the state. */
static enum outcome get_field(const attnzoo_state *state, int32_t field, const char *name, struct array *array)
{
    struct operand operand = {0};
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    enum outcome outcome = check_library(attnzoo_state_field_shape(state, field, &rank, shape), "--state-out");
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&operand.array, ATTNZOO_DTYPE_FLOAT32, rank, shape, name);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(&operand, name);
    if (outcome == OUTCOME_OK)
        outcome = check_library(attnzoo_state_get_field(state, field, operand.view), "--state-out");
    attnzoo_tensor_destroy(operand.view);
    *array = operand.array;
    return outcome;
}

static enum outcome write_fields(const struct run_state *state, const char *mechanism, struct array *arrays,
                                 const char **names, int32_t count, FILE *stream)
{
    enum outcome outcome = OUTCOME_OK;
    for (int32_t field = 0; field < count && outcome == OUTCOME_OK; field++) {
        names[field] = field_text(mechanism, field, ATTNZOO_FIELD_NAME);
        outcome = get_field(state->state, field, names[field], &arrays[field]);
    }
    return outcome == OUTCOME_OK ? safetensors_write_float32(arrays, names, count, stream) : outcome;
}

enum outcome run_state_write(const struct run_state *state, const char *mechanism, FILE *stream)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_STATE);
    struct array *arrays = calloc((size_t)count, sizeof *arrays);
    const char **names = calloc((size_t)count, sizeof *names);
    enum outcome outcome = arrays == NULL || names == NULL
                               ? fail("--state-out: not enough memory")
                               : write_fields(state, mechanism, arrays, names, count, stream);
    for (int32_t field = 0; field < count && arrays != NULL; field++)
        array_free(&arrays[field]);
    free(arrays);
    free(names);
    return outcome;
}

void run_state_free(struct run_state *state)
{
    attnzoo_state_destroy(state->state);
    attnzoo_state_destroy(state->start);
    *state = (struct run_state){0};
}
