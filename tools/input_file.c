/*
 * input_file.c: opening and reading.
 */
#include "input_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum outcome input_file_open(struct input_file *file, const char *path)
{
    *file = (struct input_file){.path = path, .stream = fopen(path, "rb"), .remaining = -1};
    if (file->stream == NULL)
        return fail("%s: %s", path, strerror(errno));
    struct stat status;
    if (fstat(fileno(file->stream), &status) != 0)
        return fail("%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return fail("%s: %s", path, strerror(EISDIR));
    if (S_ISREG(status.st_mode))
        file->remaining = status.st_size;
    return OUTCOME_OK;
}

void input_file_close(struct input_file *file)
{
    if (file->stream != NULL)
        fclose(file->stream);
    file->stream = NULL;
}

enum outcome input_file_expect(const struct input_file *file, uint64_t size, const char *what)
{
    if (file->remaining >= 0 && size > (uint64_t)file->remaining)
        return fail("%s: the file is too short: %s takes %" PRIu64 " bytes, %" PRId64 " are left", file->path, what,
                    size, file->remaining);
    return OUTCOME_OK;
}

enum outcome input_file_read(struct input_file *file, void *bytes, size_t size, const char *what)
{
    enum outcome outcome = input_file_expect(file, size, what);
    if (outcome != OUTCOME_OK)
        return outcome;
    size_t got = fread(bytes, 1, size, file->stream);
    if (ferror(file->stream))
        return fail("%s: reading %s: %s", file->path, what, strerror(errno));
    if (got < size)
        return fail("%s: the file is too short: %s takes %zu bytes, %zu were left", file->path, what, size, got);
    if (file->remaining >= 0)
        file->remaining -= (int64_t)size;
    return OUTCOME_OK;
}
