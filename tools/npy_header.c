/*
 * npy_header.c: reads the dictionary at the front of a .npy file, such as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: exactly the three keys, in any order. Its
 * form is that of Python literals, of which nothing but what NumPy writes here is taken.
 */
#include "npy_header.h"

#include "byte_order.h"

#include <string.h>

struct reader {
    const char *place;
    const char *end;
    const char *path;
};

static void skip_space(struct reader *reader)
{
    while (reader->place < reader->end && strchr(" \t\r\n", *reader->place) != NULL && *reader->place != '\0')
        reader->place++;
}

/* Takes `character` if it comes next, after any space. */
static bool take(struct reader *reader, char character)
{
    skip_space(reader);
    if (reader->place == reader->end || *reader->place != character)
        return false;
    reader->place++;
    return true;
}

static bool take_word(struct reader *reader, const char *word)
{
    skip_space(reader);
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->place) < length || memcmp(reader->place, word, length) != 0)
        return false;
    reader->place += length;
    return true;
}

static enum outcome malformed(const struct reader *reader, const char *rule)
{
    return fail("%s: malformed .npy header: %s", reader->path, rule);
}

/* A string in single or double quotes, without escapes. */
static enum outcome read_string(struct reader *reader, char *text, size_t capacity)
{
    skip_space(reader);
    if (reader->place == reader->end || (*reader->place != '\'' && *reader->place != '"'))
        return malformed(reader, "a quoted string is missing");
    const char *start = reader->place + 1;
    const char *quote = memchr(start, *reader->place, (size_t)(reader->end - start));
    if (quote == NULL)
        return malformed(reader, "a string does not end");
    size_t length = (size_t)(quote - start);
    if (length >= capacity)
        return malformed(reader, "a string is too long");
    memcpy(text, start, length);
    text[length] = '\0';
    reader->place = quote + 1;
    return OUTCOME_OK;
}

static enum outcome read_descr(struct reader *reader, struct npy_header *header)
{
    static const struct {
        const char *code;
        int32_t dtype;
    } types[] = {
        {"f4", ATTNZOO_DTYPE_FLOAT32}, {"f2", ATTNZOO_DTYPE_FLOAT16}, {"b1", ATTNZOO_DTYPE_BOOL},
        {"i4", ATTNZOO_DTYPE_INT32},   {"i8", ATTNZOO_DTYPE_INT64},
    };
    skip_space(reader);
    if (reader->place < reader->end && *reader->place == '[')
        return fail("%s: structured dtypes are not supported; float32, float16, bool, int32 and int64 are",
                    reader->path);
    const char *descr = header->descr;
    enum outcome outcome = read_string(reader, header->descr, sizeof header->descr);
    if (outcome != OUTCOME_OK)
        return outcome;
    header->dtype = 0;
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
        /* Bytes have no order; whatever has more must say in which order they stand. */
        const char *orders = types[type].dtype == ATTNZOO_DTYPE_BOOL ? "<>=|" : "<>=";
        if (descr[0] != '\0' && strchr(orders, descr[0]) != NULL && strcmp(descr + 1, types[type].code) == 0)
            header->dtype = types[type].dtype;
    }
    header->is_big_endian = descr[0] == '>' || (descr[0] == '=' && host_is_big_endian());
    return OUTCOME_OK;
}

static enum outcome read_fortran_order(struct reader *reader, struct npy_header *header)
{
    header->is_fortran_order = take_word(reader, "True");
    if (!header->is_fortran_order && !take_word(reader, "False"))
        return malformed(reader, "'fortran_order' must be True or False");
    return OUTCOME_OK;
}

static enum outcome read_size(struct reader *reader, int64_t *size)
{
    if (take(reader, '-'))
        return malformed(reader, "'shape' has a negative size");
    skip_space(reader);
    const char *start = reader->place;
    *size = 0;
    for (; reader->place < reader->end && *reader->place >= '0' && *reader->place <= '9'; reader->place++) {
        if (__builtin_mul_overflow(*size, 10, size) || __builtin_add_overflow(*size, *reader->place - '0', size))
            return malformed(reader, "'shape' has a size beyond 63 bits");
    }
    if (reader->place == start)
        return malformed(reader, "'shape' must be a tuple of whole numbers");
    /* Python 2 wrote long numbers so. */
    if (reader->place < reader->end && *reader->place == 'L')
        reader->place++;
    return OUTCOME_OK;
}

static enum outcome read_shape(struct reader *reader, struct npy_header *header)
{
    if (!take(reader, '('))
        return malformed(reader, "'shape' must be a tuple");
    header->rank = 0;
    bool has_comma = true;
    while (!take(reader, ')')) {
        if (!has_comma)
            return malformed(reader, "'shape' must be a tuple of whole numbers");
        if (header->rank == ATTNZOO_RANK_MAX)
            return fail("%s: the array has more than %d axes", reader->path, (int)ATTNZOO_RANK_MAX);
        enum outcome outcome = read_size(reader, &header->shape[header->rank]);
        if (outcome != OUTCOME_OK)
            return outcome;
        header->rank++;
        has_comma = take(reader, ',');
    }
    /* In Python, (3) is a number and (3,) a tuple. */
    if (header->rank == 1 && !has_comma)
        return malformed(reader, "'shape' must be a tuple");
    return OUTCOME_OK;
}

enum outcome npy_header_parse(struct npy_header *header, const char *text, size_t length, const char *path)
{
    static const struct {
        const char *key;
        enum outcome (*read)(struct reader *reader, struct npy_header *header);
    } fields[] = {{"descr", read_descr}, {"fortran_order", read_fortran_order}, {"shape", read_shape}};
    enum { FIELD_COUNT = sizeof fields / sizeof *fields };
    struct reader reader = {text, text + length, path};
    bool is_read[FIELD_COUNT] = {false}, has_comma = true;
    if (!take(&reader, '{'))
        return malformed(&reader, "it must be a dictionary");
    while (!take(&reader, '}')) {
        char key[32];
        enum outcome outcome =
            has_comma ? read_string(&reader, key, sizeof key) : malformed(&reader, "a comma is missing");
        if (outcome != OUTCOME_OK)
            return outcome;
        size_t field = 0;
        while (field < FIELD_COUNT && strcmp(key, fields[field].key) != 0)
            field++;
        if (field == FIELD_COUNT || is_read[field])
            return malformed(&reader, "a key is unknown or given twice");
        if (!take(&reader, ':'))
            return malformed(&reader, "a colon is missing");
        outcome = fields[field].read(&reader, header);
        if (outcome != OUTCOME_OK)
            return outcome;
        is_read[field] = true;
        has_comma = take(&reader, ',');
    }
    for (size_t field = 0; field < FIELD_COUNT; field++) {
        if (!is_read[field])
            return malformed(&reader, "'descr', 'fortran_order' or 'shape' is missing");
    }
    skip_space(&reader);
    if (reader.place != reader.end)
        return malformed(&reader, "something follows the dictionary");
    return OUTCOME_OK;
}
