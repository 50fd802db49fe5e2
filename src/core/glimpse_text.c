/*
 * core/glimpse_text.c: attnzoo/glimpse.h: letters, and rows of an embedding table. Images, video and audio are cut in
 * glimpse_tiles.c.
 */
#include "core/handles.h"

#include "base/checked.h"
#include "kernels/grid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Elements done at a time, in memory on the stack. */
enum { PIECE = 128 };

/* A text that is read letter by letter. */
struct reader {
    const unsigned char *bytes;
    int64_t size;
    /* Of the next letter. */
    int64_t offset;
};

/* Indices by code point, for those up to the highest of the alphabet. */
struct alphabet {
    int64_t letters;
    int64_t code_points;
    /* Index + 1; 0 for what is no letter of it. An alphabet has fewer letters than there are code points. */
    int32_t *places;
    int64_t other;
};

/* How many bytes a letter takes that begins with this one; 0 for a byte that none begins with. */
static int32_t length_by_first_byte(unsigned char byte)
{
    if (byte < 0x80)
        return 1;
    if (byte >> 5 == 0x6)
        return 2;
    if (byte >> 4 == 0xe)
        return 3;
    return byte >> 3 == 0x1e ? 4 : 0;
}

/* Moves behind the next letter, whose code point is returned; -1 where the bytes are none, without moving. */
static int32_t next_letter(struct reader *reader)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = reader->bytes + reader->offset;
    int32_t length = length_by_first_byte(bytes[0]);
    if (length == 0 || length > reader->size - reader->offset)
        return -1;
    int32_t letter = length == 1 ? bytes[0] : bytes[0] & (0x7f >> length);
    for (int32_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return -1;
        letter = letter << 6 | (bytes[i] & 0x3f);
    }
    if (letter < least[length] || letter > 0x10ffff || (letter >= 0xd800 && letter <= 0xdfff))
        return -1;
    reader->offset += length;
    return letter;
}

static attnzoo_status open_text(struct reader *reader, const char *text, int64_t size, const char *name)
{
    ATTNZOO_REQUIRE(size >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "the size of %s is %" PRId64 ", must not be negative",
                    name, size);
    ATTNZOO_REQUIRE(text != NULL || size == 0, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "%s is NULL, but its size is %" PRId64 " bytes", name, size);
    *reader = (struct reader){.bytes = (const unsigned char *)text, .size = size};
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status fail_at(const struct reader *reader, const char *name)
{
    return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                             "%s is not UTF-8 at byte %" PRId64 ": 0x%02x begins no whole letter there", name,
                             reader->offset, (unsigned)reader->bytes[reader->offset]);
}

/* Reads all of a text, and tells how many letters it has and which is the highest. */
static attnzoo_status measure_text(struct reader reader, const char *name, int64_t *count, int32_t *highest)
{
    *count = 0;
    *highest = -1;
    while (reader.offset < reader.size) {
        int32_t letter = next_letter(&reader);
        if (letter < 0)
            return fail_at(&reader, name);
        if (letter > *highest)
            *highest = letter;
        ++*count;
    }
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_glimpse_letter_count(const char *text, int64_t size, int64_t *count)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(count);
    struct reader reader;
    attnzoo_status status = open_text(&reader, text, size, "text");
    int64_t letters = 0;
    int32_t highest;
    if (status == ATTNZOO_STATUS_OK)
        status = measure_text(reader, "text", &letters, &highest);
    if (status == ATTNZOO_STATUS_OK)
        *count = letters;
    return status;
}

static attnzoo_status fill_alphabet(struct alphabet *alphabet, struct reader reader)
{
    for (int32_t index = 0; reader.offset < reader.size; index++) {
        int64_t offset = reader.offset;
        int32_t letter = next_letter(&reader);
        ATTNZOO_REQUIRE(alphabet->places[letter] == 0, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "alphabet has the letter U+%04" PRIX32
                        " twice, as letter %d and as letter %d, at byte %" PRId64,
                        (uint32_t)letter, (int)alphabet->places[letter] - 1, (int)index, offset);
        alphabet->places[letter] = index + 1;
    }
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status make_alphabet(struct alphabet *alphabet, const char *text, int64_t size, int64_t other)
{
    struct reader reader;
    int32_t highest = 0;
    *alphabet = (struct alphabet){.other = other};
    ATTNZOO_REQUIRE(other >= ATTNZOO_GLIMPSE_REFUSE_LETTER, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "other is %" PRId64 ", must be an index from 0 on, -1 for none, or -2 to refuse", other);
    attnzoo_status status = open_text(&reader, text, size, "alphabet");
    if (status == ATTNZOO_STATUS_OK)
        status = measure_text(reader, "alphabet", &alphabet->letters, &highest);
    if (status != ATTNZOO_STATUS_OK || alphabet->letters == 0)
        return status;
    alphabet->code_points = highest + 1;
    alphabet->places = calloc((size_t)alphabet->code_points, sizeof *alphabet->places);
    if (alphabet->places == NULL)
        return attnzoo_base_fail_memory((uint64_t)alphabet->code_points * sizeof *alphabet->places);
    return fill_alphabet(alphabet, reader);
}

/* The index of a letter, or the rule for those that are not there. */
static int64_t index_of(const struct alphabet *alphabet, int32_t letter)
{
    int32_t place = (uint32_t)letter < (uint32_t)alphabet->code_points ? alphabet->places[letter] : 0;
    return place > 0 ? place - 1 : alphabet->other;
}

/* Counts the letters, and sees that each has an index. */
static attnzoo_status check_text(struct reader reader, const struct alphabet *alphabet, int64_t *count)
{
    int32_t highest;
    attnzoo_status status = measure_text(reader, "text", count, &highest);
    if (status != ATTNZOO_STATUS_OK || alphabet->other != ATTNZOO_GLIMPSE_REFUSE_LETTER)
        return status;
    while (reader.offset < reader.size) {
        int64_t offset = reader.offset;
        int32_t letter = next_letter(&reader);
        ATTNZOO_REQUIRE(index_of(alphabet, letter) >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "text has the letter U+%04" PRIX32 " at byte %" PRId64 ", which is not in the alphabet",
                        (uint32_t)letter, offset);
    }
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_indices(const struct attnzoo_view *view, int64_t count, const struct alphabet *alphabet)
{
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_integer(view->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "indices is %s, must be int32 or int64", attnzoo_base_dtype_name(view->dtype));
    char shape[ATTNZOO_SHAPE_TEXT_SIZE];
    ATTNZOO_REQUIRE(view->rank == 1 && view->shape[0] == count, ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "indices has shape %s, must have [%" PRId64 "], as many as the text has letters",
                    attnzoo_base_shape_text(shape, view->rank, view->shape), count);
    ATTNZOO_REQUIRE(view->dtype == ATTNZOO_DTYPE_INT64 || alphabet->other <= INT32_MAX, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "other is %" PRId64 ", which passes the int32 of indices", alphabet->other);
    ATTNZOO_REQUIRE(!view->readonly, ATTNZOO_STATUS_INVALID_ARGUMENT, "indices is a read-only view");
    ATTNZOO_REQUIRE(!attnzoo_base_view_overlaps_itself(view), ATTNZOO_STATUS_OVERLAP,
                    "indices has strides that put several elements in one place");
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_one_hot(const struct attnzoo_view *view, int64_t count, const struct alphabet *alphabet)
{
    char shape[ATTNZOO_SHAPE_TEXT_SIZE];
    attnzoo_base_shape_text(shape, view->rank, view->shape);
    ATTNZOO_REQUIRE(view->rank == 2 && view->shape[0] == count && view->shape[1] >= alphabet->letters,
                    ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "one_hot has shape %s, must have [%" PRId64 ", %" PRId64 " or more]: a row for each letter of the "
                    "text, a column for each of the alphabet",
                    shape, count, alphabet->letters);
    ATTNZOO_REQUIRE(alphabet->other < view->shape[1], ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "one_hot has shape %s, too few columns for other, which is %" PRId64, shape, alphabet->other);
    return attnzoo_core_check_writable(view, "one_hot");
}

/* An output lies apart from the bytes of a text. */
static attnzoo_status check_apart(const struct attnzoo_view *output, const char *name, const struct reader *reader,
                                  const char *text_name)
{
    struct attnzoo_view bytes;
    attnzoo_status status =
        attnzoo_base_view_describe(&bytes, reader->bytes, true, ATTNZOO_DTYPE_BOOL, 1, &reader->size, NULL);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE(!attnzoo_base_views_overlap(output, &bytes), ATTNZOO_STATUS_OVERLAP, "%s overlaps %s", name,
                    text_name);
    return ATTNZOO_STATUS_OK;
}

static void write_index(const struct attnzoo_view *indices, int64_t n, int64_t index)
{
    char *place = indices->data + n * indices->strides[0] * attnzoo_base_dtype_size(indices->dtype);
    if (indices->dtype == ATTNZOO_DTYPE_INT64) {
        memcpy(place, &index, sizeof index);
    } else {
        int32_t narrow = (int32_t)index;
        memcpy(place, &narrow, sizeof narrow);
    }
}

/* Writes a row of zeros; `at` is its first element. */
static void write_zeros(char *at, const struct attnzoo_view *view)
{
    static const float zeros[PIECE];
    int64_t columns = view->shape[view->rank - 1], stride = view->strides[view->rank - 1];
    for (int64_t first = 0; first < columns; first += PIECE)
        attnzoo_kernel_narrow(at + first * stride * attnzoo_base_dtype_size(view->dtype), view->dtype, stride, zeros,
                              attnzoo_base_minimum(PIECE, columns - first));
}

static void write_one_hot(const struct attnzoo_view *one_hot, int64_t n, int64_t index)
{
    static const float one = 1.0f;
    char *row = attnzoo_base_view_row(one_hot, 1, n);
    write_zeros(row, one_hot);
    if (index >= 0)
        attnzoo_kernel_narrow(row + index * one_hot->strides[1] * attnzoo_base_dtype_size(one_hot->dtype),
                              one_hot->dtype, 1, &one, 1);
}

static attnzoo_status check_outputs(const struct reader texts[2], const struct alphabet *alphabet, int64_t count,
                                    const struct attnzoo_view *indices, const struct attnzoo_view *one_hot)
{
    static const char *const text_names[2] = {"text", "alphabet"};
    attnzoo_status status = ATTNZOO_STATUS_OK;
    if (indices != NULL)
        status = check_indices(indices, count, alphabet);
    if (status == ATTNZOO_STATUS_OK && one_hot != NULL)
        status = check_one_hot(one_hot, count, alphabet);
    for (int i = 0; i < 2 && status == ATTNZOO_STATUS_OK; i++) {
        if (indices != NULL)
            status = check_apart(indices, "indices", &texts[i], text_names[i]);
        if (status == ATTNZOO_STATUS_OK && one_hot != NULL)
            status = check_apart(one_hot, "one_hot", &texts[i], text_names[i]);
    }
    if (status == ATTNZOO_STATUS_OK && indices != NULL && one_hot != NULL)
        ATTNZOO_REQUIRE(!attnzoo_base_views_overlap(indices, one_hot), ATTNZOO_STATUS_OVERLAP,
                        "indices overlaps one_hot");
    return status;
}

static void write_letters(struct reader reader, const struct alphabet *alphabet, const struct attnzoo_view *indices,
                          const struct attnzoo_view *one_hot)
{
    /* Rows without columns may have no memory. */
    bool has_rows = one_hot != NULL && attnzoo_base_view_element_count(one_hot) > 0;
    for (int64_t n = 0; reader.offset < reader.size; n++) {
        int64_t index = index_of(alphabet, next_letter(&reader));
        if (indices != NULL)
            write_index(indices, n, index);
        if (has_rows)
            write_one_hot(one_hot, n, index);
    }
}

attnzoo_status attnzoo_glimpse_letters(const char *text, int64_t size, const char *alphabet, int64_t alphabet_size,
                                       int64_t other, attnzoo_tensor *indices, attnzoo_tensor *one_hot)
{
    attnzoo_base_enter(__func__);
    if (indices != NULL)
        ATTNZOO_REQUIRE_HANDLE(indices, ATTNZOO_KIND_TENSOR);
    if (one_hot != NULL)
        ATTNZOO_REQUIRE_HANDLE(one_hot, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *index_view = indices == NULL ? NULL : &indices->view;
    const struct attnzoo_view *one_hot_view = one_hot == NULL ? NULL : &one_hot->view;
    struct reader texts[2];
    struct alphabet made;
    int64_t count = 0;
    attnzoo_status status = make_alphabet(&made, alphabet, alphabet_size, other);
    if (status == ATTNZOO_STATUS_OK)
        status = open_text(&texts[0], text, size, "text");
    if (status == ATTNZOO_STATUS_OK)
        status = open_text(&texts[1], alphabet, alphabet_size, "alphabet");
    if (status == ATTNZOO_STATUS_OK)
        status = check_text(texts[0], &made, &count);
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(texts, &made, count, index_view, one_hot_view);
    if (status == ATTNZOO_STATUS_OK)
        write_letters(texts[0], &made, index_view, one_hot_view);
    free(made.places);
    return status;
}

/* Index `number` of all, counted row-major. */
static int64_t index_at(const struct attnzoo_view *indices, int64_t number)
{
    return attnzoo_kernel_integer_at(attnzoo_base_view_row(indices, indices->rank, number), indices->dtype);
}

static attnzoo_status check_embedding(const struct attnzoo_view *indices, const struct attnzoo_view *table,
                                      const struct attnzoo_view *glimpses)
{
    char text[ATTNZOO_SHAPE_TEXT_SIZE], other[ATTNZOO_SHAPE_TEXT_SIZE];
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_integer(indices->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "indices is %s, must be int32 or int64", attnzoo_base_dtype_name(indices->dtype));
    ATTNZOO_REQUIRE(indices->rank <= 2, ATTNZOO_STATUS_SHAPE_MISMATCH, "indices has shape %s, must have [N] or [B, N]",
                    attnzoo_base_shape_text(text, indices->rank, indices->shape));
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_float(table->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "table is %s, must be float32, float16 or bfloat16", attnzoo_base_dtype_name(table->dtype));
    ATTNZOO_REQUIRE(table->rank == 2, ATTNZOO_STATUS_SHAPE_MISMATCH, "table has shape %s, must have [L, E]",
                    attnzoo_base_shape_text(text, table->rank, table->shape));
    int64_t wanted[3] = {indices->shape[0], indices->shape[indices->rank - 1], table->shape[1]};
    wanted[indices->rank] = table->shape[1];
    bool fits = glimpses->rank == indices->rank + 1 &&
                memcmp(glimpses->shape, wanted, (size_t)glimpses->rank * sizeof *wanted) == 0;
    ATTNZOO_REQUIRE(fits, ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "glimpses has shape %s, must have %s as indices and table tell",
                    attnzoo_base_shape_text(text, glimpses->rank, glimpses->shape),
                    attnzoo_base_shape_text(other, indices->rank + 1, wanted));
    attnzoo_status status = attnzoo_core_check_writable(glimpses, "glimpses");
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE(!attnzoo_base_views_overlap(glimpses, indices), ATTNZOO_STATUS_OVERLAP,
                    "glimpses overlaps indices");
    ATTNZOO_REQUIRE(!attnzoo_base_views_overlap(glimpses, table), ATTNZOO_STATUS_OVERLAP, "glimpses overlaps table");
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_range(const struct attnzoo_view *indices, int64_t letters)
{
    int64_t count = attnzoo_base_view_element_count(indices), columns = indices->shape[indices->rank - 1];
    for (int64_t number = 0; number < count; number++) {
        int64_t index = index_at(indices, number);
        bool is_there = index == ATTNZOO_GLIMPSE_NO_LETTER || (index >= 0 && index < letters);
        ATTNZOO_REQUIRE(is_there, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "indices has %" PRId64 " for glimpse %" PRId64 " of batch %" PRId64 ", must be 0 to %" PRId64
                        ", or -1 for zeros",
                        index, number % columns, number / columns, letters - 1);
    }
    return ATTNZOO_STATUS_OK;
}

static void copy_row(char *destination, const struct attnzoo_view *glimpses, const char *source,
                     const struct attnzoo_view *table)
{
    float values[PIECE];
    int64_t columns = table->shape[1], stride = glimpses->strides[glimpses->rank - 1];
    for (int64_t first = 0; first < columns; first += PIECE) {
        int64_t count = attnzoo_base_minimum(PIECE, columns - first);
        attnzoo_kernel_widen(values, source + first * table->strides[1] * attnzoo_base_dtype_size(table->dtype),
                             table->dtype, table->strides[1], count);
        attnzoo_kernel_narrow(destination + first * stride * attnzoo_base_dtype_size(glimpses->dtype), glimpses->dtype,
                              stride, values, count);
    }
}

attnzoo_status attnzoo_glimpse_embedding(const attnzoo_tensor *indices, const attnzoo_tensor *table,
                                         attnzoo_tensor *glimpses)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(indices, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(table, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(glimpses, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *output = &glimpses->view;
    attnzoo_status status = check_embedding(&indices->view, &table->view, output);
    /* Indices of rows without elements may be more than can be walked over. */
    if (status == ATTNZOO_STATUS_OK && table->view.shape[1] > 0)
        status = check_range(&indices->view, table->view.shape[0]);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    for (int64_t number = 0; number < attnzoo_base_view_row_count(output); number++) {
        int64_t index = index_at(&indices->view, number);
        char *row = attnzoo_base_view_row(output, output->rank - 1, number);
        if (index < 0)
            write_zeros(row, output);
        else
            copy_row(row, output, attnzoo_base_view_row(&table->view, 1, index), &table->view);
    }
    return ATTNZOO_STATUS_OK;
}
