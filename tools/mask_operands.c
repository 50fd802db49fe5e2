/*
 * mask_operands.c: from the options about masks to a mask of the library.
 */
#include "mask_operands.h"

#include "type_advice.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* An option whose value is a file, and what that file holds. */
struct mask_file {
    struct operand *operand;
    const char *option;
    const char *reference;
    attnzoo_status (*set)(attnzoo_mask *mask, const attnzoo_tensor *view);
    const char *content;
};

/* Whether somebody wrote numbers where a file is wanted. */
static bool is_numbers_and_no_file(const char *reference)
{
    return reference[strspn(reference, "0123456789.,-+[]() ")] == '\0' && access(reference, F_OK) != 0 &&
           errno == ENOENT;
}

/* The library knows these arrays by other names, and nothing of the options beside. */
static enum outcome check_type(const struct mask_file *file)
{
    enum wanted_type wanted = type_wanted_by(file->option);
    int32_t dtype = file->operand->array.dtype;
    if (type_fits(dtype, wanted))
        return OUTCOME_OK;
    return fail("--%s %s: the array is %s, must be %s; %s%s", file->option, file->reference, attnzoo_dtype_name(dtype),
                type_names(wanted), type_advice(wanted, type_is_float(dtype), false),
                dtype == ATTNZOO_DTYPE_BOOL && strcmp(file->option, "bias") == 0 ? "; what may be seen is for --mask"
                                                                                 : "");
}

static enum outcome set_from_file(struct mask_operands *operands, const struct mask_file *file)
{
    if (file->reference == NULL)
        return OUTCOME_OK;
    if (is_numbers_and_no_file(file->reference))
        return fail("--%s %s: there is no such file; a file of %s is wanted", file->option, file->reference,
                    file->content);
    enum outcome outcome = operand_read(file->operand, file->option, file->reference);
    if (outcome == OUTCOME_OK)
        outcome = check_type(file);
    if (outcome == OUTCOME_OK && file->set(operands->mask, file->operand->view) != ATTNZOO_STATUS_OK)
        outcome = fail("--%s %s: %s", file->option, file->reference, library_message());
    return outcome;
}

/* An offset for all batches, on the command line or as an array of rank 0, or one for each. */
static enum outcome set_query_offset(struct mask_operands *operands, const struct run_arguments *arguments)
{
    const char *reference = arguments->query_offset;
    if (reference == NULL)
        return OUTCOME_OK;
    if (arguments->query_offset_is_number)
        return check_library(attnzoo_mask_set_query_offset(operands->mask, arguments->query_offset_number),
                             "--query-offset");
    struct operand *operand = &operands->query_offset;
    enum outcome outcome = array_read(&operand->array, "query-offset", reference);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (operand->array.rank > 0) {
        outcome = operand_make_view(operand, reference);
        return outcome == OUTCOME_OK
                   ? check_library(attnzoo_mask_set_query_offsets(operands->mask, operand->view), reference)
                   : outcome;
    }
    int32_t dtype = operand->array.dtype;
    if (dtype != ATTNZOO_DTYPE_INT32 && dtype != ATTNZOO_DTYPE_INT64)
        return fail("--query-offset %s: a query offset must be int32 or int64, not %s; %s", reference,
                    attnzoo_dtype_name(dtype), type_advice(WANTED_INTEGER, false, false));
    return check_library(attnzoo_mask_set_query_offset(operands->mask, array_integer(&operand->array, 0)), reference);
}

static enum outcome set_positions(struct mask_operands *operands, const struct run_arguments *arguments)
{
    enum outcome outcome = check_library(attnzoo_mask_set_causal(operands->mask, arguments->is_causal), "--causal");
    if (outcome == OUTCOME_OK && arguments->window != NULL)
        outcome = check_library(
            attnzoo_mask_set_window(operands->mask, arguments->window_left, arguments->window_right), "--window");
    if (outcome == OUTCOME_OK && arguments->align != NULL)
        outcome = check_library(attnzoo_mask_set_alignment(operands->mask, arguments->alignment), "--align");
    return outcome == OUTCOME_OK ? set_query_offset(operands, arguments) : outcome;
}

enum outcome mask_operands_read(struct mask_operands *operands, const struct run_arguments *arguments)
{
    const struct mask_file files[] = {
        {&operands->key_lengths, "key-lengths", arguments->key_lengths, attnzoo_mask_set_key_lengths, "[B] integers"},
        {&operands->query_lengths, "query-lengths", arguments->query_lengths, attnzoo_mask_set_query_lengths,
         "[B] integers"},
        {&operands->allowed, "mask", arguments->mask, attnzoo_mask_set_boolean, "booleans"},
        {&operands->bias, "bias", arguments->bias, attnzoo_mask_set_bias, "float numbers"},
        {&operands->slopes, "alibi", arguments->alibi, attnzoo_mask_set_linear_bias, "[H] float numbers"},
        {&operands->segments, "segments", arguments->segments, attnzoo_mask_set_segments, "[B, M] integers"},
    };
    enum outcome outcome = check_library(attnzoo_mask_create(&operands->mask), "mask");
    if (outcome == OUTCOME_OK)
        outcome = set_positions(operands, arguments);
    for (size_t index = 0; index < sizeof files / sizeof *files && outcome == OUTCOME_OK; index++)
        outcome = set_from_file(operands, &files[index]);
    return outcome;
}

void mask_operands_free(struct mask_operands *operands)
{
    attnzoo_mask_destroy(operands->mask);
    struct operand *const all[] = {&operands->key_lengths, &operands->query_lengths, &operands->query_offset,
                                   &operands->allowed,     &operands->bias,          &operands->slopes,
                                   &operands->segments};
    for (size_t index = 0; index < sizeof all / sizeof all[0]; index++)
        operand_free(all[index]);
    operands->mask = NULL;
}
