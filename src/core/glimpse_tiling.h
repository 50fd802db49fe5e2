/*
 * core/glimpse_tiling.h: an input that is cut into tiles, brought to three cut axes between one of batches and one of
 * channels: which of them there are is told by its rank.
 */
#ifndef ATTNZOO_CORE_GLIMPSE_TILING_H
#define ATTNZOO_CORE_GLIMPSE_TILING_H

#include "core/handles.h"

enum { ATTNZOO_TILING_AXES = ATTNZOO_GLIMPSE_AXES_MAX };

struct attnzoo_tiling {
    int32_t axis_count;
    /** Whether the input has these axes. Their sizes are 1 where it has not. */
    bool has_batches;
    bool has_channels;
    int64_t batches;
    int64_t channels;
    /** In elements. */
    int64_t batch_stride;
    int64_t channel_stride;
    /** By cut axis, outermost first. Those that the input has not stand in front: one tile of one element. */
    int64_t size[ATTNZOO_TILING_AXES];
    int64_t stride[ATTNZOO_TILING_AXES];
    int64_t tile[ATTNZOO_TILING_AXES];
    int64_t step[ATTNZOO_TILING_AXES];
    int64_t count[ATTNZOO_TILING_AXES];
    /** N and E. */
    int64_t glimpses;
    int64_t elements;
};

/** Checks the numbers of attnzoo_glimpse_tiles() and its kin against the raw input, or output, of that name. */
attnzoo_status attnzoo_core_tiling_make(struct attnzoo_tiling *tiling, const struct attnzoo_view *raw, const char *name,
                                        int32_t axis_count, const int64_t *tile, const int64_t *step, int32_t edge);

#endif
