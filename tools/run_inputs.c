/*
 * run_inputs.c: matches the files given with a mechanism's inputs by name, and reads them.
 */
#include "run_inputs.h"

#include "shape_text.h"

#include <stdlib.h>
#include <string.h>

static const char *input_text(const char *mechanism, int32_t place, int32_t field)
{
    return attnzoo_item_text(mechanism, ATTNZOO_ITEM_INPUT, place, field);
}

/*
 * A past goes in front of keys and values that are split into heads already, which a mechanism that takes them so says
 * by their four axes, such as [B, G, M, D].
 */
static bool takes_past(const char *mechanism)
{
    static const char *const names[] = {"key", "value"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        int32_t place = slot_place(mechanism, ATTNZOO_ITEM_INPUT, names[index]);
        if (shape_text_rank(input_text(mechanism, place, ATTNZOO_FIELD_SHAPE)) != 4)
            return false;
    }
    return true;
}

static enum outcome check_past(const struct run_arguments *arguments)
{
    const char *mechanism = arguments->mechanism;
    if (arguments->past_key == NULL)
        return OUTCOME_OK;
    if (!takes_past(mechanism))
        return fail_usage("--past-key: %s takes no past", mechanism);
    if (slot_files_find(&arguments->inputs, "key") == NULL || slot_files_find(&arguments->inputs, "value") == NULL)
        return fail_usage("--past-key and --past-value need --key and --value, which they stand in front of");
    return OUTCOME_OK;
}

enum outcome run_inputs_check(const struct run_arguments *arguments)
{
    const char *mechanism = arguments->mechanism;
    enum outcome outcome = slot_files_check(&arguments->inputs, mechanism);
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_INPUT);
    for (int32_t place = 0; place < count && outcome == OUTCOME_OK; place++) {
        const char *name = input_text(mechanism, place, ATTNZOO_FIELD_NAME);
        const char *required = input_text(mechanism, place, ATTNZOO_FIELD_REQUIRED);
        bool is_required = required != NULL && strcmp(required, "yes") == 0;
        if (is_required && slot_files_find(&arguments->inputs, name) == NULL)
            outcome =
                fail_usage("%s%s is missing: %s needs it", slot_dashes(ATTNZOO_ITEM_INPUT, name), name, mechanism);
    }
    return outcome == OUTCOME_OK ? check_past(arguments) : outcome;
}

/* Puts the array of `past`, which an option of that name reads, in front of the one that is there. */
static enum outcome join_past(struct operand *operand, const char *reference, const char *option, const char *past)
{
    if (past == NULL)
        return OUTCOME_OK;
    struct array front = {0}, back = operand->array;
    operand->array = (struct array){0};
    enum outcome outcome = array_read(&front, option, past);
    if (outcome == OUTCOME_OK)
        outcome = array_join_rows(&operand->array, &front, past, &back, reference);
    array_free(&front);
    array_free(&back);
    return outcome;
}

/* The library's message for this would know nothing of the file. */
static enum outcome check_type(const struct array *array, const struct slot_file *input, enum wanted_type wanted)
{
    if (type_fits(array->dtype, wanted))
        return OUTCOME_OK;
    return fail("%s%s: the array is %s, must be %s; %s", input->lead, input->file, attnzoo_dtype_name(array->dtype),
                type_names(wanted), type_advice(wanted, type_is_float(array->dtype), false));
}

static enum outcome read_input(struct operand *operand, const struct slot_file *input, int32_t place,
                               const struct run_arguments *arguments)
{
    const char *mechanism = arguments->mechanism;
    enum wanted_type wanted = slot_type(mechanism, ATTNZOO_ITEM_INPUT, place);
    struct array *array = &operand->array;
    enum outcome outcome = array_read_as(array, input->lead, wanted, input->file);
    if (outcome == OUTCOME_OK)
        outcome = check_type(array, input, wanted);
    if (outcome == OUTCOME_OK && strcmp(input->name, "key") == 0)
        outcome = join_past(operand, input->file, "past-key", arguments->past_key);
    if (outcome == OUTCOME_OK && strcmp(input->name, "value") == 0)
        outcome = join_past(operand, input->file, "past-value", arguments->past_value);
    /* What has one axis of one element may leave it out, too. */
    if (outcome == OUTCOME_OK && array->rank == 0 &&
        strcmp(input_text(mechanism, place, ATTNZOO_FIELD_SHAPE), "[1]") == 0) {
        array->rank = 1;
        array->shape[0] = 1;
    }
    return outcome == OUTCOME_OK ? operand_make_view(operand, input->file) : outcome;
}

enum outcome run_inputs_read(struct run_inputs *inputs, const struct run_arguments *arguments)
{
    int32_t count = attnzoo_item_count(arguments->mechanism, ATTNZOO_ITEM_INPUT);
    inputs->operands = calloc((size_t)count + 1, sizeof *inputs->operands);
    /* Pointers are what it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    inputs->views = calloc((size_t)count + 1, sizeof *inputs->views);
    if (inputs->operands == NULL || inputs->views == NULL)
        return fail("not enough memory");
    inputs->place_count = count;
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < arguments->inputs.count && outcome == OUTCOME_OK; index++) {
        const struct slot_file *input = &arguments->inputs.list[index];
        int32_t place = slot_place(arguments->mechanism, ATTNZOO_ITEM_INPUT, input->name);
        outcome = read_input(&inputs->operands[place], input, place, arguments);
        inputs->views[place] = inputs->operands[place].view;
    }
    return outcome;
}

int64_t run_inputs_size(const struct run_inputs *inputs, const char *mechanism, const char *axis)
{
    for (int32_t place = 0; place < inputs->place_count; place++) {
        const struct array *array = &inputs->operands[place].array;
        int32_t from_end = shape_text_axis_from_end(input_text(mechanism, place, ATTNZOO_FIELD_SHAPE), axis);
        if (inputs->views[place] != NULL && from_end >= 0)
            return from_end < array->rank ? array->shape[array->rank - 1 - from_end] : -1;
    }
    return -1;
}

void run_inputs_free(struct run_inputs *inputs)
{
    for (int32_t place = 0; place < inputs->place_count; place++)
        operand_free(&inputs->operands[place]);
    free(inputs->operands);
    free(inputs->views);
    *inputs = (struct run_inputs){0};
}
