/*
 * npy_read.c: reads .npy files; what their header says is npy_header.c's.
 */
#include "npy.h"

#include "byte_order.h"
#include "input_file.h"

#include <stdlib.h>
#include <string.h>

/* Headers of the types that are read take a hundred bytes or so; a longer one is not what it says. */
enum { HEADER_LENGTH_MAX = 1 << 20 };

static enum outcome read_header_length(struct input_file *file, size_t *length)
{
    unsigned char start[8], bytes[4];
    enum outcome outcome = input_file_read(file, start, sizeof start, "the start of a .npy file");
    if (outcome != OUTCOME_OK)
        return outcome;
    if (memcmp(start, "PK\x03\x04", 4) == 0)
        return fail("%s: not a .npy file but an archive, as .npz is; save each array by itself, with np.save",
                    file->path);
    if (memcmp(start, "\x93NUMPY", 6) != 0)
        return fail("%s: not a .npy file", file->path);
    if (start[6] < 1 || start[6] > 3)
        return fail("%s: .npy format version %d.%d is not known; 1, 2 and 3 are", file->path, start[6], start[7]);
    size_t size = start[6] == 1 ? 2 : 4;
    outcome = input_file_read(file, bytes, size, "the length of the header");
    if (outcome != OUTCOME_OK)
        return outcome;
    *length = (size_t)little_endian_number(bytes, size);
    outcome = input_file_expect(file, *length, "the header");
    if (outcome == OUTCOME_OK && *length > HEADER_LENGTH_MAX)
        return fail("%s: the header says that it is %zu bytes long; at most %d are read", file->path, *length,
                    HEADER_LENGTH_MAX);
    return outcome;
}

static enum outcome read_header(struct input_file *file, struct npy_header *header)
{
    size_t length = 0;
    enum outcome outcome = read_header_length(file, &length);
    if (outcome != OUTCOME_OK)
        return outcome;
    char *text = malloc(length + 1);
    if (text == NULL)
        return fail("%s: not enough memory", file->path);
    outcome = input_file_read(file, text, length, "the header");
    if (outcome == OUTCOME_OK)
        outcome = npy_header_parse(header, text, length, file->path);
    free(text);
    return outcome;
}

static enum outcome refuse_type(const struct npy_header *header, const char *path, enum wanted_type wanted)
{
    const char *descr = header->descr;
    bool is_number = descr[0] != '\0' && descr[1] != '\0' && strchr("fiu", descr[1]) != NULL;
    return fail("%s: dtype '%s' is not supported; float32, float16, bool, int32 and int64 are%s%s", path, descr,
                is_number ? "; " : "", is_number ? type_advice(wanted, descr[1] == 'f', false) : "");
}

static enum outcome check_size(const struct input_file *file, const struct npy_header *header, size_t *size)
{
    if (!array_byte_size(header->dtype, header->rank, header->shape, size))
        return fail("%s: the shape is too large", file->path);
    return input_file_expect(file, *size, "the array");
}

static enum outcome read_elements(struct input_file *file, const struct npy_header *header, struct array *array)
{
    size_t size;
    /* Before memory is asked for, so that a header cannot make us ask for much more than the file holds. */
    enum outcome outcome = check_size(file, header, &size);
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(array, header->dtype, header->rank, header->shape, file->path);
    if (outcome == OUTCOME_OK)
        outcome = input_file_read(file, array->data, size, "the array");
    return outcome;
}

enum outcome npy_read(struct array *array, const char *path, enum wanted_type wanted)
{
    *array = (struct array){0};
    struct input_file file;
    struct npy_header header = {0};
    enum outcome outcome = input_file_open(&file, path);
    if (outcome == OUTCOME_OK)
        outcome = read_header(&file, &header);
    if (outcome == OUTCOME_OK && header.dtype == 0)
        outcome = refuse_type(&header, path, wanted);
    if (outcome == OUTCOME_OK)
        outcome = read_elements(&file, &header, array);
    if (outcome == OUTCOME_OK && header.is_big_endian != host_is_big_endian())
        array_swap_bytes(array);
    if (outcome == OUTCOME_OK && header.is_fortran_order && header.rank > 1)
        outcome = array_reorder_from_fortran(array, path);
    input_file_close(&file);
    if (outcome != OUTCOME_OK)
        array_free(array);
    return outcome;
}

enum outcome npy_read_header(struct npy_header *header, const char *path)
{
    size_t size;
    struct input_file file;
    enum outcome outcome = input_file_open(&file, path);
    if (outcome == OUTCOME_OK)
        outcome = read_header(&file, header);
    if (outcome == OUTCOME_OK && header->dtype != 0)
        outcome = check_size(&file, header, &size);
    input_file_close(&file);
    return outcome;
}
