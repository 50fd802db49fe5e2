/*
 * safetensors_write.h: writes .safetensors files.
 */
#ifndef TOOLS_SAFETENSORS_WRITE_H
#define TOOLS_SAFETENSORS_WRITE_H

#include "array.h"

#include <stdio.h>

/*
 * Writes arrays of float32 under their names, in this order. On a machine whose numbers have the highest byte first the
 * arrays' bytes are turned around for it and stay so. Whether all was written is told by the stream.
 */
enum outcome safetensors_write_float32(struct array *arrays, const char *const *names, int32_t count, FILE *stream);

#endif
