/*
 * safetensors.h: .safetensors files: named tensors behind a JSON header.
 */
#ifndef TOOLS_SAFETENSORS_H
#define TOOLS_SAFETENSORS_H

#include "array.h"
#include "input_file.h"
#include "type_advice.h"

/* One tensor as the header describes it. */
struct safetensors_entry {
    char *name;
    /* The file's name of the element type, such as "F32"; `dtype` is 0 where it is none that can be read. */
    char type_name[16];
    int32_t dtype;
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    int64_t begin;
    int64_t end;
};

/* An open file whose header has been read and checked. All zero is one that may be closed. */
struct safetensors {
    struct input_file file;
    int64_t data_start;
    int64_t entry_count;
    struct safetensors_entry *entries;
};

/*
 * Opens a file and reads its header. The tensors must fill the file behind the header without gap or overlap.
 * Types that the library does not take (F64, U8, ...) may be there; reading such a tensor fails.
 */
enum outcome safetensors_open(struct safetensors *file, const char *path);

void safetensors_close(struct safetensors *file);

/* Reads one tensor. `wanted` is what to advise where its type cannot be read. */
enum outcome safetensors_read(struct safetensors *file, const struct safetensors_entry *entry, struct array *array,
                              enum wanted_type wanted);

/* Reads the tensor called `name` from the file at `path`. The array is an empty one where that fails. */
enum outcome safetensors_read_named(struct array *array, const char *path, const char *name, enum wanted_type wanted);

#endif
