/*
 * npy_header.h: the header of a NumPy .npy file, a Python dictionary in text.
 */
#ifndef TOOLS_NPY_HEADER_H
#define TOOLS_NPY_HEADER_H

#include "problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npy_header {
    /* The file's name of the element type, such as "<f4"; `dtype` is 0 where it is none that can be read. */
    char descr[64];
    int32_t dtype;
    bool is_big_endian;
    bool is_fortran_order;
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
};

/* Reads a header's text; `path` is what messages call the file. */
enum outcome npy_header_parse(struct npy_header *header, const char *text, size_t length, const char *path);

#endif
