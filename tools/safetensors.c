/*
 * safetensors.c: reads .safetensors files. The first 8 bytes are the length of the header, a JSON object that
 * gives each tensor's type, shape and place; the elements follow, lowest byte first, at no promised alignment.
 */
#include "safetensors.h"

#include "byte_order.h"
#include "spelling.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The bound that the format's own implementation sets. */
enum { HEADER_LENGTH_MAX = 100 * 1000 * 1000 };

struct element_type {
    const char *name;
    int32_t size;
    int32_t dtype;
};

/* Those without a dtype are known only so that their extents can be checked. */
static const struct element_type element_types[] = {
    {"F32", 4, ATTNZOO_DTYPE_FLOAT32},
    {"F16", 2, ATTNZOO_DTYPE_FLOAT16},
    {"BF16", 2, ATTNZOO_DTYPE_BFLOAT16},
    {"BOOL", 1, ATTNZOO_DTYPE_BOOL},
    {"I32", 4, ATTNZOO_DTYPE_INT32},
    {"I64", 8, ATTNZOO_DTYPE_INT64},
    {"F64", 8, 0},
    {"I16", 2, 0},
    {"I8", 1, 0},
    {"U64", 8, 0},
    {"U32", 4, 0},
    {"U16", 2, 0},
    {"U8", 1, 0},
};

static const struct element_type *find_element_type(const char *name)
{
    for (size_t index = 0; index < sizeof element_types / sizeof *element_types; index++) {
        if (strcmp(element_types[index].name, name) == 0)
            return &element_types[index];
    }
    return NULL;
}

static bool is_size(const json_t *number)
{
    return json_is_integer(number) && json_integer_value(number) >= 0;
}

static enum outcome read_shape(struct safetensors_entry *entry, const json_t *shape, const char *path)
{
    if (!json_is_array(shape))
        return fail("%s: tensor '%s' has no shape", path, entry->name);
    if (json_array_size(shape) > ATTNZOO_RANK_MAX)
        return fail("%s: tensor '%s' has more than %d axes", path, entry->name, (int)ATTNZOO_RANK_MAX);
    entry->rank = (int32_t)json_array_size(shape);
    for (int32_t axis = 0; axis < entry->rank; axis++) {
        const json_t *size = json_array_get(shape, (size_t)axis);
        if (!is_size(size))
            return fail("%s: the shape of tensor '%s' must be whole numbers, none negative", path, entry->name);
        entry->shape[axis] = json_integer_value(size);
    }
    return OUTCOME_OK;
}

/* Checks that the extent is what type and shape need. Types that are not known are let be. */
static enum outcome check_extent(const struct safetensors_entry *entry, const char *path)
{
    const struct element_type *type = find_element_type(entry->type_name);
    if (type == NULL)
        return OUTCOME_OK;
    bool is_empty = false, fits = true;
    for (int32_t axis = 0; axis < entry->rank; axis++)
        is_empty = is_empty || entry->shape[axis] == 0;
    int64_t bytes = is_empty ? 0 : type->size;
    for (int32_t axis = 0; axis < entry->rank && fits; axis++)
        fits = !__builtin_mul_overflow(bytes, entry->shape[axis], &bytes);
    if (!fits || bytes != entry->end - entry->begin)
        return fail("%s: tensor '%s' takes %" PRId64 " bytes, which does not fit its type and shape", path, entry->name,
                    entry->end - entry->begin);
    return OUTCOME_OK;
}

static enum outcome read_entry(struct safetensors_entry *entry, const char *name, const json_t *description,
                               const char *path)
{
    entry->name = strdup(name);
    if (entry->name == NULL)
        return fail("%s: not enough memory", path);
    const char *type_name = json_string_value(json_object_get(description, "dtype"));
    if (type_name == NULL || strlen(type_name) >= sizeof entry->type_name)
        return fail("%s: tensor '%s' has no dtype", path, name);
    memcpy(entry->type_name, type_name, strlen(type_name) + 1);
    const struct element_type *type = find_element_type(type_name);
    entry->dtype = type == NULL ? 0 : type->dtype;
    const json_t *offsets = json_object_get(description, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !is_size(begin) || !is_size(end))
        return fail("%s: tensor '%s' has no data_offsets of two whole numbers, none negative", path, name);
    entry->begin = json_integer_value(begin);
    entry->end = json_integer_value(end);
    if (entry->begin > entry->end)
        return fail("%s: tensor '%s' ends before it begins (%" PRId64 ", %" PRId64 ")", path, name, entry->begin,
                    entry->end);
    enum outcome outcome = read_shape(entry, json_object_get(description, "shape"), path);
    return outcome == OUTCOME_OK ? check_extent(entry, path) : outcome;
}

static enum outcome read_entries(struct safetensors *file, json_t *header)
{
    const char *path = file->file.path;
    file->entries = calloc(json_object_size(header) + 1, sizeof *file->entries);
    if (file->entries == NULL)
        return fail("%s: not enough memory", path);
    const char *name;
    json_t *description;
    json_object_foreach(header, name, description)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        enum outcome outcome = read_entry(&file->entries[file->entry_count++], name, description, path);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    return OUTCOME_OK;
}

static int compare_places(const void *left, const void *right)
{
    const struct safetensors_entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static enum outcome check_places(struct safetensors *file)
{
    int64_t place = 0;
    qsort(file->entries, (size_t)file->entry_count, sizeof *file->entries, compare_places);
    for (int64_t index = 0; index < file->entry_count; index++) {
        const struct safetensors_entry *entry = &file->entries[index];
        if (entry->begin != place)
            return fail("%s: tensor '%s' begins at %" PRId64 ", which leaves %s before it", file->file.path,
                        entry->name, entry->begin, entry->begin > place ? "a gap" : "an overlap with the tensor");
        place = entry->end;
    }
    if (place != file->file.remaining)
        return fail("%s: the tensors take %" PRId64 " bytes, the file has %" PRId64 " for them", file->file.path, place,
                    file->file.remaining);
    return OUTCOME_OK;
}

static enum outcome parse_header(struct safetensors *file, const char *text, size_t length)
{
    json_error_t error;
    json_t *header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (header == NULL)
        return fail("%s: malformed .safetensors header: %s", file->file.path, error.text);
    enum outcome outcome = OUTCOME_OK;
    if (!json_is_object(header))
        outcome = fail("%s: malformed .safetensors header: not an object", file->file.path);
    if (outcome == OUTCOME_OK)
        outcome = read_entries(file, header);
    json_decref(header);
    return outcome == OUTCOME_OK ? check_places(file) : outcome;
}

/*
 * Files of other kinds begin with what would be the length of an enormous header. Those that people take for
 * .safetensors are told by name.
 */
static enum outcome check_header_length(const struct safetensors *file, const unsigned char *bytes, uint64_t length)
{
    static const struct {
        const char *start;
        size_t size;
        const char *what;
    } kinds[] = {
        {"PK\x03\x04", 4, "a PyTorch or .npz archive; safetensors.torch.save_file"},
        {"\x80\x02\x8a\nl\xfc\x9c\x46", 8, "an old PyTorch file; safetensors.torch.save_file"},
        {"\x93NUMPY", 6, "a .npy file; safetensors.numpy.save_file"},
    };
    const char *path = file->file.path;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds && length > HEADER_LENGTH_MAX; kind++) {
        if (memcmp(bytes, kinds[kind].start, kinds[kind].size) == 0)
            return fail("%s: not a .safetensors file but %s writes .safetensors", path, kinds[kind].what);
    }
    enum outcome outcome = input_file_expect(&file->file, length, "the header");
    if (outcome == OUTCOME_OK && length > HEADER_LENGTH_MAX)
        outcome =
            fail("%s: the header is %" PRIu64 " bytes long; at most %d are read", path, length, HEADER_LENGTH_MAX);
    return outcome;
}

static enum outcome read_header(struct safetensors *file)
{
    unsigned char bytes[8];
    enum outcome outcome = input_file_read(&file->file, bytes, sizeof bytes, "the length of the header");
    if (outcome != OUTCOME_OK)
        return outcome;
    uint64_t length = little_endian_number(bytes, sizeof bytes);
    outcome = check_header_length(file, bytes, length);
    if (outcome != OUTCOME_OK)
        return outcome;
    char *text = malloc((size_t)length + 1);
    if (text == NULL)
        return fail("%s: not enough memory", file->file.path);
    outcome = input_file_read(&file->file, text, (size_t)length, "the header");
    file->data_start = (int64_t)sizeof bytes + (int64_t)length;
    if (outcome == OUTCOME_OK)
        outcome = parse_header(file, text, (size_t)length);
    free(text);
    return outcome;
}

enum outcome safetensors_open(struct safetensors *file, const char *path)
{
    *file = (struct safetensors){0};
    enum outcome outcome = input_file_open(&file->file, path);
    if (outcome == OUTCOME_OK && file->file.remaining < 0)
        outcome = fail("%s: not a regular file", path);
    if (outcome == OUTCOME_OK)
        outcome = read_header(file);
    if (outcome != OUTCOME_OK)
        safetensors_close(file);
    return outcome;
}

void safetensors_close(struct safetensors *file)
{
    for (int64_t index = 0; index < file->entry_count; index++)
        free(file->entries[index].name);
    free(file->entries);
    input_file_close(&file->file);
    *file = (struct safetensors){0};
}

static enum outcome refuse_type(const struct safetensors_entry *entry, const char *path, enum wanted_type wanted)
{
    bool is_known = find_element_type(entry->type_name) != NULL;
    return fail("%s: tensor '%s' is %s, which is not supported; F32, F16, BF16, BOOL, I32 and I64 are%s%s", path,
                entry->name, entry->type_name, is_known ? "; " : "",
                is_known ? type_advice(wanted, entry->type_name[0] == 'F', true) : "");
}

enum outcome safetensors_read(struct safetensors *file, const struct safetensors_entry *entry, struct array *array,
                              enum wanted_type wanted)
{
    *array = (struct array){0};
    const char *path = file->file.path;
    if (entry->dtype == 0)
        return refuse_type(entry, path, wanted);
    if (fseeko(file->file.stream, (off_t)(file->data_start + entry->begin), SEEK_SET) != 0)
        return fail("%s: %s", path, strerror(errno));
    int64_t size = entry->end - entry->begin;
    file->file.remaining = size;
    enum outcome outcome = array_allocate(array, entry->dtype, entry->rank, entry->shape, path);
    if (outcome == OUTCOME_OK)
        outcome = input_file_read(&file->file, array->data, (size_t)size, entry->name);
    if (outcome == OUTCOME_OK && host_is_big_endian())
        array_swap_bytes(array);
    if (outcome != OUTCOME_OK)
        array_free(array);
    return outcome;
}

/* Says that there is no such tensor, and which name may have been meant, or some that there are. */
static enum outcome refuse_name(const struct safetensors *file, const char *name)
{
    const char *path = file->file.path, *shown[3] = {"", "", ""};
    struct spelling_search search = {.typed = name, .length = strlen(name)};
    for (int64_t index = 0; index < file->entry_count; index++) {
        spelling_offer(&search, file->entries[index].name);
        if (index < 3)
            shown[index] = file->entries[index].name;
    }
    if (search.word != NULL)
        return fail("%s: there is no tensor '%s'; did you mean '%s'?", path, name, search.word);
    if (file->entry_count == 0)
        return fail("%s: there is no tensor '%s', nor any other", path, name);
    return fail("%s: there is no tensor '%s'; there %s '%s'%s%s%s%s%s%s", path, name,
                file->entry_count == 1 ? "is" : "are", shown[0], file->entry_count > 1 ? ", '" : "", shown[1],
                file->entry_count > 1 ? "'" : "", file->entry_count > 2 ? ", '" : "", shown[2],
                file->entry_count > 3   ? "', ... ('attnzoo list' tells all)"
                : file->entry_count > 2 ? "'"
                                        : "");
}

enum outcome safetensors_read_named(struct array *array, const char *path, const char *name, enum wanted_type wanted)
{
    *array = (struct array){0};
    struct safetensors file;
    enum outcome outcome = safetensors_open(&file, path);
    if (outcome != OUTCOME_OK)
        return outcome;
    const struct safetensors_entry *found = NULL;
    for (int64_t index = 0; index < file.entry_count; index++) {
        if (strcmp(file.entries[index].name, name) == 0)
            found = &file.entries[index];
    }
    outcome = found == NULL ? refuse_name(&file, name) : safetensors_read(&file, found, array, wanted);
    safetensors_close(&file);
    return outcome;
}
