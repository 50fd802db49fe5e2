/*
 * run_inputs.c: matches --query, --key, ... with a mechanism's inputs by name, and reads them.
 */
#include "run_inputs.h"

#include "shape_text.h"

#include <stdlib.h>
#include <string.h>

/* The place of the input that an option is named after, -1 if the mechanism has none. */
static int32_t find_place(const char *mechanism, int input)
{
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_INPUT);
    for (int32_t place = 0; place < count; place++) {
        const char *name = attnzoo_item_text(mechanism, ATTNZOO_ITEM_INPUT, place, ATTNZOO_FIELD_NAME);
        if (name != NULL && strcmp(name, input_option_names[input]) == 0)
            return place;
    }
    return -1;
}

/*
 * A past goes in front of keys and values that are split into heads already, which a mechanism that takes them so says
 * by their four axes, such as [B, G, M, D].
 */
static bool takes_past(const char *mechanism)
{
    const int inputs[] = {INPUT_KEY, INPUT_VALUE};
    for (size_t index = 0; index < sizeof inputs / sizeof *inputs; index++) {
        int32_t place = find_place(mechanism, inputs[index]);
        const char *shape = attnzoo_item_text(mechanism, ATTNZOO_ITEM_INPUT, place, ATTNZOO_FIELD_SHAPE);
        if (shape_text_rank(shape) != 4)
            return false;
    }
    return true;
}

enum outcome run_inputs_check(const struct run_arguments *arguments)
{
    const char *mechanism = arguments->mechanism;
    for (int input = 0; input < INPUT_OPTION_COUNT; input++) {
        int32_t place = find_place(mechanism, input);
        bool is_given = arguments->inputs[input] != NULL;
        if (is_given && place < 0)
            return fail_usage("--%s: %s has no such input", input_option_names[input], mechanism);
        const char *required = attnzoo_item_text(mechanism, ATTNZOO_ITEM_INPUT, place, ATTNZOO_FIELD_REQUIRED);
        if (!is_given && required != NULL && strcmp(required, "yes") == 0)
            return fail_usage("--%s is missing: %s needs it", input_option_names[input], mechanism);
    }
    if (arguments->past_key != NULL && !takes_past(mechanism))
        return fail_usage("--past-key: %s takes no past", mechanism);
    return OUTCOME_OK;
}

/* Reads an input, behind the past of the option `past_option` where `past` names one. */
static enum outcome read_input(struct operand *operand, const char *option, const char *reference,
                               const char *past_option, const char *past)
{
    if (past == NULL)
        return operand_read(operand, option, reference);
    struct array front = {0}, back = {0};
    enum outcome outcome = array_read(&front, past_option, past);
    if (outcome == OUTCOME_OK)
        outcome = array_read(&back, option, reference);
    if (outcome == OUTCOME_OK)
        outcome = array_join_rows(&operand->array, &front, past, &back, reference);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(operand, reference);
    array_free(&front);
    array_free(&back);
    return outcome;
}

enum outcome run_inputs_read(struct run_inputs *inputs, const struct run_arguments *arguments)
{
    inputs->place_count = attnzoo_item_count(arguments->mechanism, ATTNZOO_ITEM_INPUT);
    /* Pointers are what it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    inputs->views = calloc((size_t)inputs->place_count + 1, sizeof *inputs->views);
    if (inputs->views == NULL)
        return fail("not enough memory");
    enum outcome outcome = OUTCOME_OK;
    for (int input = 0; input < INPUT_OPTION_COUNT && outcome == OUTCOME_OK; input++) {
        if (arguments->inputs[input] == NULL)
            continue;
        struct operand *operand = &inputs->operands[input];
        const char *past = NULL, *past_option = NULL;
        if (input == INPUT_KEY) {
            past = arguments->past_key;
            past_option = "past-key";
        } else if (input == INPUT_VALUE) {
            past = arguments->past_value;
            past_option = "past-value";
        }
        outcome = read_input(operand, input_option_names[input], arguments->inputs[input], past_option, past);
        inputs->views[find_place(arguments->mechanism, input)] = operand->view;
    }
    return outcome;
}

bool run_inputs_have_batches(const struct run_inputs *inputs, const char *mechanism)
{
    int32_t place = find_place(mechanism, INPUT_QUERY);
    const char *shape = attnzoo_item_text(mechanism, ATTNZOO_ITEM_INPUT, place, ATTNZOO_FIELD_SHAPE);
    return inputs->operands[INPUT_QUERY].array.rank == shape_text_rank(shape);
}

int64_t run_inputs_batch(const struct run_inputs *inputs, const char *mechanism)
{
    return run_inputs_have_batches(inputs, mechanism) ? inputs->operands[INPUT_QUERY].array.shape[0] : 1;
}

void run_inputs_free(struct run_inputs *inputs)
{
    for (int input = 0; input < INPUT_OPTION_COUNT; input++)
        operand_free(&inputs->operands[input]);
    free(inputs->views);
    *inputs = (struct run_inputs){0};
}
