/*
 * array.h: arrays that the command owns: element type, sizes and memory, row-major and compact. Views of the
 * library are made from them; files are read into them.
 */
#ifndef TOOLS_ARRAY_H
#define TOOLS_ARRAY_H

#include "problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* All zero is an empty array that may be freed. A rank of 0 is a single number. */
struct array {
    int32_t dtype;
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    void *data;
};

enum { ARRAY_SHAPE_TEXT_SIZE = 24 * ATTNZOO_RANK_MAX };

/* Bytes of an array of this type and shape into `size`; false where they pass what memory can hold. */
bool array_byte_size(int32_t dtype, int32_t rank, const int64_t *shape, size_t *size);

/* Makes an array of undefined content. `name` is what messages call it. */
enum outcome array_allocate(struct array *array, int32_t dtype, int32_t rank, const int64_t *shape, const char *name);

void array_free(struct array *array);

int64_t array_element_count(const struct array *array);

/* Element `index` of an array of int32 or int64. */
int64_t array_integer(const struct array *array, int64_t index);

/* Turns each element's bytes around. */
void array_swap_bytes(struct array *array);

/* Writes the elements, each with its lowest byte first: files are the same from every machine. */
void array_write(const struct array *array, FILE *stream);

/* Takes memory filled in Fortran order, the first axis fastest, to row-major. */
enum outcome array_reorder_from_fortran(struct array *array, const char *name);

/* Joins two arrays along the axis before the last, `front` first. Names are what messages call them. */
enum outcome array_join_rows(struct array *joined, const struct array *front, const char *front_name,
                             const struct array *back, const char *back_name);

/* The shape as text, such as "[2, 3]", into `text` of ARRAY_SHAPE_TEXT_SIZE, which is returned. */
const char *array_shape_text(const struct array *array, char *text);

#endif
