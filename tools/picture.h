/*
 * picture.h: pictures as PNG files, read and written by libpng. Heat maps are drawn elsewhere, with libgd.
 */
#ifndef TOOLS_PICTURE_H
#define TOOLS_PICTURE_H

#include "array.h"

#include <stdio.h>

/*
 * Reads a picture of any kind that PNG knows into float32 [H, W, 3], red, green and blue, or as grey [H, W], from 0 to 1, in
 * sRGB's own steps. What is transparent lies on white.
 */
enum outcome picture_read(struct array *array, const char *path, bool is_grey);

/* Writes [height, width, 3] bytes as PNG. Whether all was written is told by the stream. */
enum outcome picture_write(const unsigned char *pixels, int64_t height, int64_t width, FILE *stream);

#endif
