/*
 * labels.c: reads lines.
 */
#include "labels.h"

#include "input_file.h"
#include "utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Far more than any label that can be read, so that a file without lines does not fill the memory. */
enum { LINE_SIZE_MAX = 1 << 16 };

static const char byte_order_mark[] = "\xef\xbb\xbf";
/* U+2423, the open box. */
static const char space_sign[] = "\xe2\x90\xa3";

/* Takes off the line's end, and what cannot be drawn; returns the new length. */
static size_t clean(char *line, size_t length)
{
    if (length > 0 && line[length - 1] == '\n')
        length--;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = '\0';
    for (size_t index = 0; index < length; index++) {
        if ((unsigned char)line[index] < ' ' || line[index] == 127)
            line[index] = ' ';
    }
    return length;
}

static enum outcome add(struct labels *labels, const char *path, const char *line, size_t length)
{
    if (!utf8_is_valid(line))
        return fail("%s: line %" PRId64 " is not text in UTF-8", path, labels->count + 1);
    /* Room is made at powers of two. */
    if ((labels->count & (labels->count - 1)) == 0) {
        size_t room = labels->count == 0 ? 1 : 2 * (size_t)labels->count;
        char **texts = realloc(labels->texts, room * sizeof *texts);
        if (texts == NULL)
            return fail("%s: not enough memory", path);
        labels->texts = texts;
    }
    bool is_blank = length > 0 && strspn(line, " ") == length;
    labels->texts[labels->count] = strdup(is_blank ? space_sign : line);
    if (labels->texts[labels->count] == NULL)
        return fail("%s: not enough memory", path);
    labels->count++;
    return OUTCOME_OK;
}

/* Reads a line with its end into `line` of LINE_SIZE_MAX + 1 bytes; where it is longer, one byte more than fits is read. */
static size_t read_line(FILE *stream, char *line)
{
    size_t length = 0;
    for (int byte; length <= LINE_SIZE_MAX && (byte = getc(stream)) != EOF;) {
        line[length++] = (char)byte;
        if (byte == '\n')
            break;
    }
    return length;
}

static enum outcome read_lines(struct labels *labels, const struct input_file *file, int64_t wanted)
{
    static char line[LINE_SIZE_MAX + 2];
    enum outcome outcome = OUTCOME_OK;
    while (outcome == OUTCOME_OK && labels->count <= wanted) {
        errno = 0;
        size_t length = read_line(file->stream, line);
        if (ferror(file->stream))
            return fail("%s: %s", file->path, strerror(errno != 0 ? errno : EIO));
        if (length == 0)
            break;
        if (length > LINE_SIZE_MAX)
            return fail("%s: line %" PRId64 " is too long for a label, as it has more than %d bytes", file->path,
                        labels->count + 1, LINE_SIZE_MAX);
        bool is_marked = labels->count == 0 && strncmp(line, byte_order_mark, strlen(byte_order_mark)) == 0;
        size_t start = is_marked ? strlen(byte_order_mark) : 0;
        outcome = add(labels, file->path, line + start, clean(line + start, length - start));
    }
    return outcome;
}

enum outcome labels_read(struct labels *labels, const char *path, const char *option, int64_t wanted, const char *what)
{
    *labels = (struct labels){0};
    struct input_file file;
    bool ends_empty = false;
    enum outcome outcome = input_file_open(&file, path);
    if (outcome == OUTCOME_OK)
        outcome = read_lines(labels, &file, wanted);
    if (outcome == OUTCOME_OK && labels->count > wanted)
        ends_empty = labels->texts[wanted][0] == '\0' && getc(file.stream) == EOF;
    input_file_close(&file);
    if (outcome != OUTCOME_OK || labels->count == wanted)
        return outcome;
    if (ends_empty)
        return fail("--%s %s: the file has %" PRId64 " %s, the last of them empty, but there are %" PRId64 " %s",
                    option, path, labels->count, labels->count == 1 ? "line" : "lines", wanted, what);
    if (labels->count > wanted)
        return fail("--%s %s: the file has more than %" PRId64 " %s, but there are %" PRId64 " %s", option, path,
                    wanted, wanted == 1 ? "line" : "lines", wanted, what);
    return fail("--%s %s: the file has %" PRId64 " %s, but there are %" PRId64 " %s", option, path, labels->count,
                labels->count == 1 ? "line" : "lines", wanted, what);
}

void labels_free(struct labels *labels)
{
    for (int64_t index = 0; index < labels->count; index++)
        free(labels->texts[index]);
    free(labels->texts);
    *labels = (struct labels){0};
}
