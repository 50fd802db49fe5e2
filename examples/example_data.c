/*
 * example_data.c: reads files and draws lines for the examples.
 */
#include "example_data.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024 };

/* All bytes of FOLDER/NAME with a 0 behind them, to be freed; NULL if they cannot be had. */
static char *read_file(const char *folder, const char *name, size_t *size)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "rb");
    char *bytes = NULL;
    if (stream != NULL && fseek(stream, 0, SEEK_END) == 0 && ftell(stream) > 0) {
        *size = (size_t)ftell(stream);
        bytes = malloc(*size + 1);
        rewind(stream);
        if (bytes != NULL && fread(bytes, 1, *size, stream) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (stream != NULL)
        fclose(stream);
    if (bytes == NULL)
        fprintf(stderr, "%s cannot be read\n", path);
    else
        bytes[*size] = '\0';
    return bytes;
}

/* The number in `count` bytes of a file, the lowest first whatever this machine's order. */
static uint64_t read_number(const char *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = count; i > 0; i--)
        number = number << 8 | (unsigned char)bytes[i - 1];
    return number;
}

static void read_floats(float *numbers, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)read_number(bytes + 4 * i, 4);
        memcpy(&numbers[i], &bits, sizeof bits);
    }
}

/* Reads whole numbers with commas between them, from behind the first bracket after `text`. */
static int32_t read_numbers(const char *text, char bracket, int64_t *numbers)
{
    int32_t count = 0;
    for (text = text == NULL ? NULL : strchr(text, bracket); text != NULL && count < ATTNZOO_RANK_MAX;) {
        char *end;
        long long number = strtoll(text + 1, &end, 10);
        if (end == text + 1)
            break;
        numbers[count++] = number;
        text = *end == ',' ? end : NULL;
    }
    return count;
}

int example_make(struct example_array *array, int32_t rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int32_t axis = 0; axis < rank; axis++)
        count *= shape[axis];
    array->data = calloc((size_t)count + 1, sizeof(float));
    if (array->data == NULL ||
        attnzoo_tensor_create(&array->view, array->data, ATTNZOO_DTYPE_FLOAT32, rank, shape, NULL)) {
        fprintf(stderr, "no memory for an array: %s\n", attnzoo_last_error());
        return 1;
    }
    return 0;
}

/* A .npy file: 8 bytes of magic, the header's length in 2, the header "{... 'shape': (1, 24, 288), }", the numbers. */
int example_read(struct example_array *array, const char *folder, const char *name)
{
    size_t size = 0;
    int64_t shape[ATTNZOO_RANK_MAX];
    char *bytes = read_file(folder, name, &size);
    int failed = bytes == NULL || size < 10;
    size_t start = failed ? 0 : 10 + (size_t)read_number(bytes + 8, 2);
    failed = failed || start > size || strstr(bytes + 10, "'<f4'") == NULL;
    int32_t rank = failed ? 0 : read_numbers(strstr(bytes + 10, "'shape'"), '(', shape);
    failed = failed || rank == 0 || example_make(array, rank, shape);
    if (!failed && (size - start) / sizeof(float) != (size_t)attnzoo_tensor_element_count(array->view))
        failed = 1;
    if (!failed)
        read_floats(array->data, bytes + start, (size - start) / sizeof(float));
    else if (bytes != NULL)
        fprintf(stderr, "%s is not a .npy file of float32 that these examples can read\n", name);
    free(bytes);
    return failed;
}

/* Sets one parameter from {"NAME": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ...}, if it is there.
 */
static int set_parameter(attnzoo_module *module, const char *parameter, const char *header, const char *data,
                         size_t data_size)
{
    char quoted[80];
    int64_t shape[ATTNZOO_RANK_MAX], offsets[ATTNZOO_RANK_MAX];
    snprintf(quoted, sizeof quoted, "\"%s\"", parameter);
    const char *entry = strstr(header, quoted);
    if (entry == NULL)
        return 0;
    int32_t rank = read_numbers(strstr(entry, "\"shape\""), '[', shape);
    struct example_array array = {0};
    int failed = read_numbers(strstr(entry, "\"data_offsets\""), '[', offsets) != 2 || offsets[0] < 0 ||
                 offsets[0] > offsets[1] || (size_t)offsets[1] > data_size || example_make(&array, rank, shape);
    if (!failed && attnzoo_tensor_element_count(array.view) * 4 != offsets[1] - offsets[0])
        failed = 1;
    if (!failed) {
        read_floats(array.data, data + offsets[0], (size_t)(offsets[1] - offsets[0]) / sizeof(float));
        failed = attnzoo_module_set_parameter(module, parameter, array.view);
    }
    if (failed)
        fprintf(stderr, "%s cannot be set: %s\n", parameter, attnzoo_last_error());
    example_free(&array);
    return failed;
}

/* A .safetensors file: the header's length in 8 bytes, the header as JSON, the numbers. */
int example_set_weights(attnzoo_module *module, const char *folder, const char *name)
{
    size_t size = 0;
    char *bytes = read_file(folder, name, &size);
    int failed = bytes == NULL || size < 9;
    uint64_t length = failed ? 0 : read_number(bytes, 8);
    failed = failed || length == 0 || length > size - 8;
    /* Ends the header's text; what stands there is its last brace or a space. */
    if (!failed)
        bytes[8 + length - 1] = '\0';
    const char *mechanism = attnzoo_module_mechanism(module);
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER);
    for (int32_t i = 0; i < count && !failed; i++)
        failed = set_parameter(module, attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, i, ATTNZOO_FIELD_NAME),
                               bytes + 8, bytes + 8 + length, size - 8 - (size_t)length);
    free(bytes);
    return failed;
}

float example_largest_difference(const struct example_array *left, const struct example_array *right)
{
    float largest = 0.0f;
    for (int64_t i = 0; i < attnzoo_tensor_element_count(left->view); i++)
        largest = fmaxf(largest, fabsf(left->data[i] - right->data[i]));
    return largest;
}

void example_draw(const float *weights, int64_t count, int keys_per_character)
{
    static const char shades[] = " .:-=+*#%@";
    for (int64_t key = 0; key < count; key += keys_per_character) {
        float sum = 0.0f;
        for (int64_t i = key; i < key + keys_per_character && i < count; i++)
            sum += weights[i];
        /* Along the square root, so that small weights can be seen, too. */
        int shade = (int)(sqrtf(fminf(sum, 1.0f)) * 9.0f + 0.5f);
        putchar(shades[shade]);
    }
}

void example_free(struct example_array *array)
{
    attnzoo_tensor_destroy(array->view);
    free(array->data);
    array->view = NULL;
    array->data = NULL;
}
