/*
 * npy_target.c: the input is a .npy file. Whatever it holds, it is read or refused with one line that says why; what was
 * read are the file's own bytes, found again here by other means; from a pipe comes the same; and what is written back
 * reads as the same.
 */
#include "array_checks.h"
#include "memory_file.h"
#include "npy.h"
#include "target.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argument_count, char ***arguments)
{
    (void)argument_count;
    (void)arguments;
    return 0;
}

/* Where the elements begin, of a file whose header was read. */
static size_t elements_start(const uint8_t *data)
{
    size_t length = (size_t)data[8] | (size_t)data[9] << 8;
    if (data[6] == 1)
        return 10 + length;
    return 12 + (length | (size_t)data[10] << 16 | (size_t)data[11] << 24);
}

/* The place in Fortran order of what stands at `index` in C order. */
static int64_t fortran_place(const struct array *array, int64_t index)
{
    int64_t subscripts[ATTNZOO_RANK_MAX], place = 0;
    for (int32_t axis = array->rank - 1; axis >= 0; axis--) {
        subscripts[axis] = index % array->shape[axis];
        index /= array->shape[axis];
    }
    for (int32_t axis = array->rank - 1; axis >= 0; axis--)
        place = place * array->shape[axis] + subscripts[axis];
    return place;
}

static void check_elements(const struct array *array, const struct npy_header *header, const uint8_t *data, size_t size)
{
    size_t start = elements_start(data), element_size = (size_t)attnzoo_dtype_size(array->dtype);
    int64_t count = array_element_count(array);
    require(start <= size && (uint64_t)count <= (size - start) / element_size);
    for (int64_t index = 0; index < count; index++) {
        int64_t place = header->is_fortran_order ? fortran_place(array, index) : index;
        require(element_is(array, index, data + start + (size_t)place * element_size, header->is_big_endian));
    }
}

static void check_written(const struct array *array)
{
    struct memory_file copy = memory_file_create(NULL, 0);
    FILE *stream = fopen(copy.path, "wb");
    require(stream != NULL);
    npy_write_float32(array, stream);
    require(fclose(stream) == 0);
    struct array again;
    require(npy_read(&again, copy.path, WANTED_FLOAT) == OUTCOME_OK);
    require(arrays_are_same(array, &again));
    array_free(&again);
    memory_file_destroy(&copy);
}

/* Of a pipe no length is known beforehand, yet the same must come out of it. */
static void check_pipe(const struct array *array, enum outcome outcome, const uint8_t *data, size_t size)
{
    struct memory_file pipe = memory_pipe_create(data, size);
    struct array again;
    enum outcome of_pipe = npy_read(&again, pipe.path, WANTED_FLOAT);
    require(of_pipe == outcome);
    if (of_pipe == OUTCOME_OK)
        require(arrays_are_same(array, &again));
    else
        check_refusal(&again);
    array_free(&again);
    memory_file_destroy(&pipe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_create(data, size);
    struct npy_header header;
    struct array array;
    enum outcome of_header = npy_read_header(&header, file.path);
    enum outcome outcome = npy_read(&array, file.path, WANTED_FLOAT);
    if (outcome == OUTCOME_OK) {
        require(of_header == OUTCOME_OK && header.dtype == array.dtype && header.rank == array.rank);
        check_elements(&array, &header, data, size);
        if (array.dtype == ATTNZOO_DTYPE_FLOAT32)
            check_written(&array);
    } else {
        require(outcome == OUTCOME_ERROR);
        check_refusal(&array);
        require(of_header != OUTCOME_OK || header.dtype == 0);
    }
    if (size <= MEMORY_PIPE_MAX)
        check_pipe(&array, outcome, data, size);
    array_free(&array);
    memory_file_destroy(&file);
    return 0;
}
