/*
 * operand.c: tells which kind of file a reference names, and reads it.
 */
#include "operand.h"

#include "npy.h"
#include "progress.h"
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

bool path_ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), ending_length = strlen(ending);
    return length >= ending_length && strcmp(path + length - ending_length, ending) == 0;
}

static const char extension[] = ".safetensors";
static const char separator[] = ".safetensors:";

char *reference_path(const char *reference)
{
    const char *found = strstr(reference, separator);
    return found == NULL ? strdup(reference) : strndup(reference, (size_t)(found - reference) + strlen(extension));
}

enum outcome array_read_as(struct array *array, const char *lead, enum wanted_type wanted, const char *reference)
{
    *array = (struct array){0};
    progress_set("reading", reference);
    const char *found = strstr(reference, separator);
    if (found == NULL && path_ends_with(reference, extension))
        return fail_usage("%s%s: say which tensor, as FILE.safetensors:NAME", lead, reference);
    if (found == NULL)
        return npy_read(array, reference, wanted);
    char *path = reference_path(reference);
    if (path == NULL)
        return fail("%s: not enough memory", reference);
    enum outcome outcome = safetensors_read_named(array, path, found + strlen(separator), wanted);
    free(path);
    return outcome;
}

enum outcome array_read(struct array *array, const char *option, const char *reference)
{
    enum { LEAD_SIZE = 40 };
    char lead[LEAD_SIZE] = "";
    if (option != NULL)
        snprintf(lead, sizeof lead, "--%s ", option);
    return array_read_as(array, lead, type_wanted_by(option), reference);
}

enum outcome operand_read(struct operand *operand, const char *option, const char *reference)
{
    *operand = (struct operand){0};
    enum outcome outcome = array_read(&operand->array, option, reference);
    return outcome == OUTCOME_OK ? operand_make_view(operand, reference) : outcome;
}

enum outcome operand_make_view(struct operand *operand, const char *name)
{
    const struct array *array = &operand->array;
    if (array->rank == 0)
        return fail("%s: a single number without axes; an array of at least one axis is needed", name);
    return check_library(
        attnzoo_tensor_create(&operand->view, array->data, array->dtype, array->rank, array->shape, NULL), name);
}

void operand_free(struct operand *operand)
{
    attnzoo_tensor_destroy(operand->view);
    array_free(&operand->array);
    operand->view = NULL;
}
