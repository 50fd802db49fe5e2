/*
 * tests/support/output_copy.c: copies of all bytes behind two outputs, those around their elements included.
 */
#include "support/output_copy.h"

#include "support/testing.h"

#include <stdlib.h>
#include <string.h>

static unsigned char *copy_of(const struct test_tensor *tensor)
{
    unsigned char *bytes = malloc(tensor->memory.pages_size + 1);
    assert_non_null(bytes);
    if (tensor->memory.pages_size > 0)
        memcpy(bytes, tensor->memory.pages, tensor->memory.pages_size);
    return bytes;
}

struct output_copy output_copy_create(const struct test_tensor *context, const struct test_tensor *attention)
{
    return (struct output_copy){copy_of(context), copy_of(attention)};
}

static bool is_same(const unsigned char *bytes, const struct test_tensor *tensor)
{
    return tensor->memory.pages_size == 0 || memcmp(bytes, tensor->memory.pages, tensor->memory.pages_size) == 0;
}

bool output_copy_is_same(const struct output_copy *copy, const struct test_tensor *context,
                         const struct test_tensor *attention)
{
    return is_same(copy->context, context) && is_same(copy->attention, attention);
}

void output_copy_destroy(struct output_copy *copy)
{
    free(copy->context);
    free(copy->attention);
    *copy = (struct output_copy){0};
}
