/*
 * glimpse_make.c: reads text, pictures and sounds, and has the library make glimpses of them.
 */
#include "glimpse_make.h"

#include "operand.h"
#include "picture.h"
#include "progress.h"
#include "sound.h"
#include "whole_file.h"

#include <inttypes.h>
#include <string.h>

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* A text without the mark at its beginning and the line break at its end, which are no letters of it. */
struct letters {
    const char *bytes;
    int64_t size;
    int64_t count;
};

static enum outcome find_letters(struct letters *letters, const struct whole_file *file, const char *path)
{
    size_t start = 0, size = file->size;
    /* Of the whole, so that the place of what is wrong counts from the beginning of the file. */
    enum outcome outcome =
        check_library(attnzoo_glimpse_letter_count(file->bytes, (int64_t)size, &letters->count), path);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (size >= strlen(byte_order_mark) && memcmp(file->bytes, byte_order_mark, strlen(byte_order_mark)) == 0)
        start = strlen(byte_order_mark);
    if (size > start && file->bytes[size - 1] == '\n')
        size--;
    if (size > start && size < file->size && file->bytes[size - 1] == '\r')
        size--;
    letters->bytes = file->bytes + start;
    letters->size = (int64_t)(size - start);
    return check_library(attnzoo_glimpse_letter_count(letters->bytes, letters->size, &letters->count), path);
}

static enum outcome make_one_hot(struct array *glimpses, const struct letters *letters,
                                 const struct glimpse_arguments *arguments)
{
    const char *alphabet = arguments->alphabet;
    struct operand rows = {0};
    int64_t columns = 0;
    enum outcome outcome =
        check_library_usage(attnzoo_glimpse_letter_count(alphabet, (int64_t)strlen(alphabet), &columns), "--alphabet");
    if (outcome == OUTCOME_OK && arguments->other == INT64_MAX)
        outcome = fail_usage("--other %s: the number is out of range", arguments->other_text);
    if (outcome == OUTCOME_OK && columns <= arguments->other)
        columns = arguments->other + 1;
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&rows.array, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){letters->count, columns},
                                 arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(&rows, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = check_library(attnzoo_glimpse_letters(letters->bytes, letters->size, alphabet,
                                                        (int64_t)strlen(alphabet), arguments->other, NULL, rows.view),
                                arguments->input);
    attnzoo_tensor_destroy(rows.view);
    *glimpses = rows.array;
    return outcome;
}

static enum outcome check_table(const struct operand *table, const struct glimpse_arguments *arguments)
{
    char text[ARRAY_SHAPE_TEXT_SIZE];
    if (table->array.rank != 2)
        return fail("--table %s: has shape %s, must have two axes: a row for each letter", arguments->table,
                    array_shape_text(&table->array, text));
    return OUTCOME_OK;
}

static enum outcome make_embedding(struct array *glimpses, const struct letters *letters,
                                   const struct glimpse_arguments *arguments)
{
    const char *alphabet = arguments->alphabet;
    struct operand table = {0}, indices = {0}, rows = {0};
    enum outcome outcome = operand_read(&table, "table", arguments->table);
    if (outcome == OUTCOME_OK)
        outcome = check_table(&table, arguments);
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&indices.array, ATTNZOO_DTYPE_INT64, 1, &letters->count, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(&indices, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome =
            check_library(attnzoo_glimpse_letters(letters->bytes, letters->size, alphabet, (int64_t)strlen(alphabet),
                                                  arguments->other, indices.view, NULL),
                          arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&rows.array, ATTNZOO_DTYPE_FLOAT32, 2,
                                 (int64_t[]){letters->count, table.array.shape[1]}, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(&rows, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = check_library(attnzoo_glimpse_embedding(indices.view, table.view, rows.view), arguments->table);
    attnzoo_tensor_destroy(rows.view);
    *glimpses = rows.array;
    operand_free(&table);
    operand_free(&indices);
    return outcome;
}

static enum outcome make_of_text(struct array *glimpses, const struct glimpse_arguments *arguments)
{
    struct whole_file file = {0};
    struct letters letters = {0};
    /* What was typed wrong is said before any file is read. */
    enum outcome outcome =
        check_library_usage(attnzoo_glimpse_letters(NULL, 0, arguments->alphabet, (int64_t)strlen(arguments->alphabet),
                                                    arguments->other, NULL, NULL),
                            "--alphabet");
    if (outcome == OUTCOME_OK)
        outcome = whole_file_read(&file, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = find_letters(&letters, &file, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = arguments->table != NULL ? make_embedding(glimpses, &letters, arguments)
                                           : make_one_hot(glimpses, &letters, arguments);
    whole_file_free(&file);
    return outcome;
}

enum outcome glimpse_count_tiles(const struct glimpse_arguments *arguments, int32_t axis_count, const int64_t *sizes,
                                 int64_t *total)
{
    *total = 1;
    for (int32_t axis = 0; axis < axis_count; axis++) {
        int64_t count = 0;
        enum outcome outcome = check_library(attnzoo_glimpse_tile_count(sizes[axis], arguments->tile[axis],
                                                                        arguments->step[axis], arguments->edge, &count),
                                             arguments->input);
        if (outcome != OUTCOME_OK)
            return outcome;
        if (__builtin_mul_overflow(*total, count, total))
            return fail("%s: there are too many tiles", arguments->input);
    }
    if (*total > 0)
        return OUTCOME_OK;
    const char *advice = arguments->edge == ATTNZOO_GLIMPSE_EDGE_PAD ? "" : "; --edge pad fills up what it lacks";
    if (axis_count == 1)
        return fail("%s: no window of %" PRId64 " fits in %" PRId64 " samples%s", arguments->input, arguments->tile[0],
                    sizes[0], advice);
    return fail("%s: no tile of %" PRId64 " x %" PRId64 " fits in the picture of %" PRId64 " x %" PRId64 "%s",
                arguments->input, arguments->tile[0], arguments->tile[1], sizes[0], sizes[1], advice);
}

/* Cuts what has been read along its first `axis_count` axes. */
static enum outcome cut(struct array *glimpses, struct operand *raw, int32_t axis_count,
                        const struct glimpse_arguments *arguments)
{
    const struct array *array = &raw->array;
    struct operand tiles = {0};
    int64_t shape[2] = {0, array->rank > axis_count ? array->shape[axis_count] : 1};
    enum outcome outcome = glimpse_count_tiles(arguments, axis_count, array->shape, &shape[0]);
    for (int32_t axis = 0; axis < axis_count && outcome == OUTCOME_OK; axis++) {
        if (__builtin_mul_overflow(shape[1], arguments->tile[axis], &shape[1]))
            outcome = fail("%s: the tiles are too large", arguments->input);
    }
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(&tiles.array, ATTNZOO_DTYPE_FLOAT32, 2, shape, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(&tiles, arguments->input);
    if (outcome == OUTCOME_OK)
        outcome = operand_make_view(raw, arguments->input);
    if (outcome == OUTCOME_OK) {
        progress_set("cutting", NULL);
        outcome = check_library(attnzoo_glimpse_tiles(raw->view, axis_count, arguments->tile, arguments->step,
                                                      arguments->edge, (double)arguments->padding, tiles.view),
                                arguments->input);
    }
    attnzoo_tensor_destroy(tiles.view);
    *glimpses = tiles.array;
    return outcome;
}

enum outcome glimpse_make(struct array *glimpses, const struct glimpse_arguments *arguments)
{
    struct operand raw = {0};
    if (arguments->kind == GLIMPSE_TEXT)
        return make_of_text(glimpses, arguments);
    bool is_image = arguments->kind == GLIMPSE_IMAGE;
    enum outcome outcome = is_image ? picture_read(&raw.array, arguments->input, arguments->is_grey)
                                    : sound_read(&raw.array, arguments->input, arguments->is_mono);
    if (outcome == OUTCOME_OK)
        outcome = cut(glimpses, &raw, is_image ? 2 : 1, arguments);
    operand_free(&raw);
    return outcome;
}
