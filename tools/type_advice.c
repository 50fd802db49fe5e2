/*
 * type_advice.c: advice by option.
 */
#include "type_advice.h"

#include <attnzoo/attnzoo.h>

#include <stddef.h>
#include <string.h>

enum wanted_type type_wanted_by(const char *option)
{
    static const char *const of_integers[] = {"key-lengths", "query-lengths", "query-offset", "segments"};
    for (size_t index = 0; option != NULL && index < sizeof of_integers / sizeof *of_integers; index++) {
        if (strcmp(option, of_integers[index]) == 0)
            return WANTED_INTEGER;
    }
    return option != NULL && strcmp(option, "mask") == 0 ? WANTED_BOOL : WANTED_FLOAT;
}

bool type_is_float(int32_t dtype)
{
    return dtype == ATTNZOO_DTYPE_FLOAT32 || dtype == ATTNZOO_DTYPE_FLOAT16 || dtype == ATTNZOO_DTYPE_BFLOAT16;
}

bool type_fits(int32_t dtype, enum wanted_type wanted)
{
    bool is_float = type_is_float(dtype);
    if (wanted == WANTED_FLOAT)
        return is_float;
    return !is_float && (wanted == WANTED_BOOL || dtype != ATTNZOO_DTYPE_BOOL);
}

const char *type_names(enum wanted_type wanted)
{
    if (wanted == WANTED_FLOAT)
        return "float32, float16 or bfloat16";
    return wanted == WANTED_BOOL ? "bool, int32 or int64" : "int32 or int64";
}

const char *type_advice(enum wanted_type wanted, bool is_float, bool with_pytorch)
{
    /* Numbers that somebody gives for a mask may be meant to be added. */
    if (wanted == WANTED_BOOL && is_float)
        return with_pytorch ? "save it with .astype('bool') (in PyTorch, .bool()); numbers to add to the scores are "
                              "for --bias, as float32"
                            : "save it with .astype('bool'); numbers to add to the scores are for --bias, as float32";
    if (wanted == WANTED_BOOL)
        return with_pytorch ? "save it with .astype('bool') (in PyTorch, .bool())" : "save it with .astype('bool')";
    if (wanted == WANTED_INTEGER)
        return with_pytorch ? "save it with .astype('int64') (in PyTorch, .long())" : "save it with .astype('int64')";
    return with_pytorch ? "save it with .astype('float32') (in PyTorch, .float())" : "save it with .astype('float32')";
}
