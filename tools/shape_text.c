/*
 * shape_text.c: reads shapes that are written as text.
 */
#include "shape_text.h"

#include <string.h>

int32_t shape_text_rank(const char *shape)
{
    int32_t axes = shape != NULL;
    for (; shape != NULL && *shape != '\0'; shape++)
        axes += *shape == ',';
    return axes;
}

int32_t shape_text_axis_from_end(const char *shape, const char *name)
{
    int32_t rank = shape_text_rank(shape);
    for (int32_t axis = 0; axis < rank; axis++) {
        shape += strspn(shape, "[, ");
        size_t length = strcspn(shape, ",] ");
        if (length == strlen(name) && memcmp(shape, name, length) == 0)
            return rank - 1 - axis;
        shape += length;
    }
    return -1;
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character == '_' ||
           character == '\'';
}

bool shape_text_mentions(const char *shape, const char *name)
{
    size_t length = strlen(name);
    for (const char *found = shape; found != NULL && (found = strstr(found, name)) != NULL; found++) {
        if ((found == shape || !is_letter(found[-1])) && !is_letter(found[length]))
            return true;
    }
    return false;
}
