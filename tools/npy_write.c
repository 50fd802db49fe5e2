/*
 * npy_write.c: writes .npy files.
 */
#include "npy.h"

#include <inttypes.h>

static void write_as(const char *descr, const struct array *array, FILE *stream)
{
    /* Magic, version and length take 10 bytes; with the header they fill a multiple of 64, a line break last. */
    enum { START = 10, ALIGNMENT = 64 };
    char header[512];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int32_t axis = 0; axis < array->rank; axis++)
        length += snprintf(header + length, sizeof header - (size_t)length, "%s%" PRId64 "%s", axis == 0 ? "" : " ",
                           array->shape[axis], axis + 1 < array->rank || array->rank == 1 ? "," : "");
    length += snprintf(header + length, sizeof header - (size_t)length, "), }");
    while ((START + length + 1) % ALIGNMENT != 0)
        header[length++] = ' ';
    header[length++] = '\n';
    const unsigned char start[START] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 0xff),
                                        (unsigned char)(length >> 8)};
    fwrite(start, 1, sizeof start, stream);
    fwrite(header, 1, (size_t)length, stream);
    array_write(array, stream);
}

void npy_write_float32(const struct array *array, FILE *stream)
{
    write_as("<f4", array, stream);
}

void npy_write_int64(const struct array *array, FILE *stream)
{
    write_as("<i8", array, stream);
}
