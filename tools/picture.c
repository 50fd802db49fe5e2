/*
 * picture.c: libpng's simplified interface, which keeps its messages to itself.
 */
#include "picture.h"

#include "whole_file.h"

#include <png.h>
#include <stdlib.h>

/* What libpng itself will not pass, told before any memory is taken. */
static bool is_too_large(const png_image *image, size_t channels, size_t *size)
{
    return __builtin_mul_overflow((size_t)image->width, (size_t)image->height, size) ||
           __builtin_mul_overflow(*size, channels, size) || *size > UINT32_MAX;
}

/*
 * Whether a file cannot hold as many pixels as it says: a pixel takes a bit at least, and deflate makes no more than
 * 1032 bytes of one.
 */
static bool is_too_short(const png_image *image, size_t file_size)
{
    enum { PIXELS_PER_BYTE = 8 * 1032 };
    return (uint64_t)image->width * image->height / PIXELS_PER_BYTE > file_size;
}

static enum outcome read_pixels(png_image *image, const char *path, size_t channels, unsigned char **pixels)
{
    static const png_color white = {255, 255, 255};
    size_t size;
    if (is_too_large(image, channels, &size))
        return fail("%s: the picture of %u x %u is too large", path, image->width, image->height);
    *pixels = malloc(size > 0 ? size : 1);
    if (*pixels == NULL)
        return fail("%s: not enough memory for a picture of %u x %u", path, image->width, image->height);
    if (!png_image_finish_read(image, &white, *pixels, 0, NULL))
        return fail("%s: no sound PNG: %s", path, image->message);
    return OUTCOME_OK;
}

static enum outcome fill_array(struct array *array, const unsigned char *pixels, const png_image *image, bool is_grey,
                               const char *path)
{
    const int64_t shape[] = {image->height, image->width, 3};
    enum outcome outcome = array_allocate(array, ATTNZOO_DTYPE_FLOAT32, is_grey ? 2 : 3, shape, path);
    if (outcome != OUTCOME_OK)
        return outcome;
    float *values = array->data;
    for (int64_t index = 0; index < array_element_count(array); index++)
        values[index] = (float)pixels[index] / 255.0f;
    return OUTCOME_OK;
}

enum outcome picture_read(struct array *array, const char *path, bool is_grey)
{
    *array = (struct array){0};
    struct whole_file file;
    unsigned char *pixels = NULL;
    png_image image = {.version = PNG_IMAGE_VERSION};
    enum outcome outcome = whole_file_read(&file, path);
    if (outcome == OUTCOME_OK && file.size == 0)
        outcome = fail("%s: the file is empty", path);
    if (outcome == OUTCOME_OK && !png_image_begin_read_from_memory(&image, file.bytes, file.size))
        outcome = fail("%s: no sound PNG: %s", path, image.message);
    if (outcome == OUTCOME_OK && is_too_short(&image, file.size))
        outcome = fail("%s: the file is too short for a picture of %u x %u", path, image.width, image.height);
    /* Of 16 bits libpng would take what says nothing else for linear. */
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    image.format = is_grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    if (outcome == OUTCOME_OK)
        outcome = read_pixels(&image, path, is_grey ? 1 : 3, &pixels);
    if (outcome == OUTCOME_OK)
        outcome = fill_array(array, pixels, &image, is_grey, path);
    png_image_free(&image);
    free(pixels);
    whole_file_free(&file);
    return outcome;
}

enum outcome picture_write(const unsigned char *pixels, int64_t height, int64_t width, FILE *stream)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB};
    bool is_written = png_image_write_to_stdio(&image, stream, 0, pixels, 0, NULL) != 0;
    /* Where it is the stream that failed, it tells more. */
    enum outcome outcome =
        is_written || ferror(stream) ? OUTCOME_OK : fail("the picture could not be written as PNG: %s", image.message);
    png_image_free(&image);
    return outcome;
}
