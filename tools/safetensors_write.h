/*
 * safetensors_write.h: writes .safetensors files.
 */
#ifndef TOOLS_SAFETENSORS_WRITE_H
#define TOOLS_SAFETENSORS_WRITE_H

#include "array.h"

#include <stdio.h>

/*
 * Writes arrays of float32 under their names, in this order. Whether all was written is told by the stream.
 */
enum outcome safetensors_write_float32(const struct array *arrays, const char *const *names, int32_t count, FILE *stream);

#endif
