/*
 * safetensors_target.c: the input is a .safetensors file. Whatever it holds, it is opened or refused with one line that
 * says why; its tensors lie in the file one after the other, and what is read of them are the file's own bytes; what is
 * written back reads as the same.
 */
#include "array_checks.h"
#include "byte_order.h"
#include "memory_file.h"
#include "safetensors.h"
#include "safetensors_write.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argument_count, char ***arguments)
{
    (void)argument_count;
    (void)arguments;
    return 0;
}

static void check_written(struct array *array, const char *name)
{
    struct memory_file copy = memory_file_create(NULL, 0);
    FILE *stream = fopen(copy.path, "wb");
    require(stream != NULL);
    require(safetensors_write_float32(array, &name, 1, stream) == OUTCOME_OK);
    require(fclose(stream) == 0);
    struct array again;
    require(safetensors_read_named(&again, copy.path, name, WANTED_FLOAT) == OUTCOME_OK);
    require(arrays_are_same(array, &again));
    array_free(&again);
    memory_file_destroy(&copy);
}

static void check_tensor(struct safetensors *file, const struct safetensors_entry *entry, const uint8_t *data,
                         size_t size)
{
    size_t start = 8 + (size_t)little_endian_number(data, 8);
    require(memchr(entry->type_name, '\0', sizeof entry->type_name) != NULL);
    require(entry->begin >= 0 && entry->begin <= entry->end && (uint64_t)entry->end <= size - start);
    struct array array, named;
    enum outcome outcome = safetensors_read(file, entry, &array, WANTED_FLOAT);
    require((outcome == OUTCOME_OK) == (entry->dtype != 0));
    if (outcome != OUTCOME_OK) {
        check_refusal(&array);
        return;
    }
    int64_t count = array_element_count(&array), element_size = attnzoo_dtype_size(array.dtype);
    require(count * element_size == entry->end - entry->begin);
    for (int64_t index = 0; index < count; index++)
        require(element_is(&array, index, data + start + entry->begin + index * element_size, false));
    require(safetensors_read_named(&named, file->file.path, entry->name, WANTED_FLOAT) == OUTCOME_OK);
    require(arrays_are_same(&array, &named));
    array_free(&named);
    /* The name of what a header tells beside the tensors is no tensor's. */
    if (array.dtype == ATTNZOO_DTYPE_FLOAT32 && strcmp(entry->name, "__metadata__") != 0)
        check_written(&array, entry->name);
    array_free(&array);
}

/* That no two share bytes, and that nothing is left between them, behind the header or at the end. */
static void check_places(const struct safetensors *file, size_t size, const uint8_t *data)
{
    size_t total = 8 + (size_t)little_endian_number(data, 8);
    for (int64_t index = 0; index < file->entry_count; index++) {
        const struct safetensors_entry *entry = &file->entries[index];
        total += (size_t)(entry->end - entry->begin);
        for (int64_t other = 0; other < index; other++) {
            const struct safetensors_entry *earlier = &file->entries[other];
            require(entry->begin >= earlier->end || entry->end <= earlier->begin);
            require(strcmp(entry->name, earlier->name) != 0);
        }
    }
    require(total == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file memory = memory_file_create(data, size);
    struct safetensors file;
    struct array array;
    if (safetensors_open(&file, memory.path) == OUTCOME_OK) {
        check_places(&file, size, data);
        for (int64_t index = 0; index < file.entry_count; index++)
            check_tensor(&file, &file.entries[index], data, size);
    } else {
        require(file.entries == NULL && file.file.stream == NULL);
        check_refusal(&(struct array){0});
    }
    safetensors_close(&file);
    if (safetensors_read_named(&array, memory.path, "weigth", WANTED_FLOAT) != OUTCOME_OK)
        check_refusal(&array);
    array_free(&array);
    memory_file_destroy(&memory);
    return 0;
}
