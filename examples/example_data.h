/*
 * example_data.h: how the examples get their numbers: from NumPy's .npy files and from .safetensors files. Both are
 * read only as far as these examples need it: float32, row-major, lowest byte first, on a machine that counts so too.
 * Built against the installed library:
 *
 *   cc self_attention.c example_data.c $(pkg-config --cflags --libs attnzoo) -lm -o self_attention
 */
#ifndef EXAMPLE_DATA_H
#define EXAMPLE_DATA_H

#include <attnzoo/attnzoo.h>

/* Numbers in memory, and the library's view of them. All zero is nothing and may be freed. */
struct example_array {
    float *data;
    attnzoo_tensor *view;
};

/* Each of these returns 0 if it went well. If not, it has said why on standard error. */

/* Reads FOLDER/NAME, a .npy file. */
int example_read(struct example_array *array, const char *folder, const char *name);

/* Makes an array of zeros of this shape. */
int example_make(struct example_array *array, int32_t rank, const int64_t *shape);

/* Sets every parameter of a module that FOLDER/NAME, a .safetensors file, has under the parameter's name. */
int example_set_weights(attnzoo_module *module, const char *folder, const char *name);

/* How far the numbers of two arrays of one size are apart at most. */
float example_largest_difference(const struct example_array *left, const struct example_array *right);

/* Draws weights as a line of characters, the darker the larger, `keys_per_character` of them in one. */
void example_draw(const float *weights, int64_t count, int keys_per_character);

void example_free(struct example_array *array);

#endif
