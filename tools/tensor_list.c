/*
 * tensor_list.c: prints what the headers of files say. No element is read.
 */
#include "tensor_list.h"

#include "npy.h"
#include "operand.h"
#include "safetensors.h"
#include "utf8.h"

#include <stdio.h>
#include <string.h>

/* Whether a terminal would obey the character, or could not show it. */
static bool is_control(uint32_t character)
{
    return character < ' ' || (character >= 0x7f && character < 0xa0) || character == UINT32_MAX;
}

static int columns_of(const char *text)
{
    int columns = 0;
    for (; utf8_next(&text) != 0;)
        columns++;
    return columns;
}

/* Controls stand as question marks, as in messages, so that each tensor has one line. */
static void print_padded(const char *text, int width)
{
    int padding = width - columns_of(text);
    for (const char *start = text; *start != '\0'; start = text) {
        bool is_shown = !is_control(utf8_next(&text));
        printf("%.*s", is_shown ? (int)(text - start) : 1, is_shown ? start : "?");
    }
    printf("%*s  ", padding > 0 ? padding : 0, "");
}

static void print_shape(int32_t rank, const int64_t *shape)
{
    struct array described = {.rank = rank};
    char text[ARRAY_SHAPE_TEXT_SIZE];
    memcpy(described.shape, shape, sizeof described.shape);
    puts(array_shape_text(&described, text));
}

static enum outcome print_safetensors(const char *path)
{
    struct safetensors file;
    enum outcome outcome = safetensors_open(&file, path);
    if (outcome != OUTCOME_OK)
        return outcome;
    int name_width = 0, type_width = 0;
    for (const struct safetensors_entry *entry = file.entries; entry < file.entries + file.entry_count; entry++) {
        int name = columns_of(entry->name), type = columns_of(entry->type_name);
        name_width = name > name_width ? name : name_width;
        type_width = type > type_width ? type : type_width;
    }
    for (const struct safetensors_entry *entry = file.entries; entry < file.entries + file.entry_count; entry++) {
        print_padded(entry->name, name_width);
        print_padded(entry->type_name, type_width);
        print_shape(entry->rank, entry->shape);
    }
    safetensors_close(&file);
    return OUTCOME_OK;
}

static enum outcome print_npy(const char *path)
{
    struct npy_header header;
    enum outcome outcome = npy_read_header(&header, path);
    if (outcome != OUTCOME_OK)
        return outcome;
    print_padded(path, 0);
    print_padded(header.dtype == 0 ? header.descr : attnzoo_dtype_name(header.dtype), 0);
    print_shape(header.rank, header.shape);
    return OUTCOME_OK;
}

enum outcome print_tensors(const char *path)
{
    return path_ends_with(path, ".npy") ? print_npy(path) : print_safetensors(path);
}
