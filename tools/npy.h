/*
 * npy.h: NumPy .npy files (format versions 1, 2 and 3).
 */
#ifndef TOOLS_NPY_H
#define TOOLS_NPY_H

#include "array.h"
#include "npy_header.h"
#include "type_advice.h"

#include <stdio.h>

/*
 * Reads a file of float32, float16, bool, int32 or int64, of either byte order, in C or Fortran order; the array
 * comes out row-major. What follows the last element is left unread, as NumPy leaves it. `wanted` is what to advise
 * where the type is another.
 */
enum outcome npy_read(struct array *array, const char *path, enum wanted_type wanted);

/* Reads the header alone, of a file of any element type that is one number. */
enum outcome npy_read_header(struct npy_header *header, const char *path);

/* Writes an array of float32 in format version 1.0, C order. Whether all was written is told by the stream. */
void npy_write_float32(const struct array *array, FILE *stream);

/* The same for an array of int64. */
void npy_write_int64(const struct array *array, FILE *stream);

#endif
