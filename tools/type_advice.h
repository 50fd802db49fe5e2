/*
 * type_advice.h: which element types an option takes, and what to do about an array of another.
 */
#ifndef TOOLS_TYPE_ADVICE_H
#define TOOLS_TYPE_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

enum wanted_type { WANTED_FLOAT, WANTED_INTEGER, WANTED_BOOL };

/* What the file of an option should hold; floats for NULL, which is no option. */
enum wanted_type type_wanted_by(const char *option);

bool type_is_float(int32_t dtype);

/* Whether an array of this type is one of those wanted; a mask may also be of integers. */
bool type_fits(int32_t dtype, enum wanted_type wanted);

/* The types that are wanted, in words. */
const char *type_names(enum wanted_type wanted);

/* What saves an array of numbers as the type that is wanted: in NumPy, and in PyTorch also where it says so. */
const char *type_advice(enum wanted_type wanted, bool is_float, bool with_pytorch);

#endif
