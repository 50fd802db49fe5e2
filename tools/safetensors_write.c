/*
 * safetensors_write.c: the header first, filled up with spaces to a multiple of 8 bytes so that the numbers behind it
 * are aligned; then the elements, lowest byte first.
 */
#include "safetensors_write.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, ALIGNMENT = 8 };

/* Puts one tensor's description into the header; false if there is no memory. */
static bool describe(json_t *header, const char *name, const struct array *array, int64_t begin, int64_t end)
{
    json_t *shape = json_array();
    bool is_good = shape != NULL;
    for (int32_t axis = 0; axis < array->rank && is_good; axis++)
        is_good = json_array_append_new(shape, json_integer(array->shape[axis])) == 0;
    json_t *description = !is_good ? NULL
                                   : json_pack("{s:s, s:O, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets",
                                               (json_int_t)begin, (json_int_t)end);
    json_decref(shape);
    /* Takes the description over, also where it fails. */
    return description != NULL && json_object_set_new(header, name, description) == 0;
}

/* The header as text, which the caller frees; NULL if there is no memory. */
static char *make_header(const struct array *arrays, const char *const *names, int32_t count)
{
    json_t *header = json_object();
    bool is_good = header != NULL;
    int64_t place = 0;
    for (int32_t index = 0; index < count && is_good; index++) {
        int64_t end = place + array_element_count(&arrays[index]) * (int64_t)sizeof(float);
        is_good = describe(header, names[index], &arrays[index], place, end);
        place = end;
    }
    char *text = is_good ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    return text;
}

enum outcome safetensors_write_float32(const struct array *arrays, const char *const *names, int32_t count, FILE *stream)
{
    char *header = make_header(arrays, names, count);
    if (header == NULL)
        return fail("not enough memory for a .safetensors header");
    size_t used = strlen(header), length = (used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (int byte = 0; byte < LENGTH_BYTES; byte++)
        fputc((int)((uint64_t)length >> (8 * byte) & 0xff), stream);
    fputs(header, stream);
    for (; used < length; used++)
        fputc(' ', stream);
    free(header);
    for (int32_t index = 0; index < count; index++)
        array_write(&arrays[index], stream);
    return OUTCOME_OK;
}
