/*
 * shim.h: the calls that need tensor views, as Go makes them. A view keeps a pointer to memory, which Go forbids C to do
 * with Go's memory once a call has returned. So views come in as descriptions; shim.c makes the library's views of
 * them, calls the library and frees them again, all within one call from Go.
 *
 * Go memory that is passed by pointer must not hold pointers into Go memory. So the descriptions, which Go keeps in a
 * slice, have none: the data pointers are in a struct that is passed by value, each an argument in its own right.
 */
#ifndef ATTNZOO_GO_SHIM_H
#define ATTNZOO_GO_SHIM_H

#include <attnzoo/attnzoo.h>

#include <stddef.h>

/* Places of views in a forward call: inputs, outputs, then what a mask is made of. */
enum {
    ATTNZOO_GO_SLOTS = 8,
    ATTNZOO_GO_FIRST_INPUT = 0,
    ATTNZOO_GO_FIRST_OUTPUT = ATTNZOO_GO_FIRST_INPUT + ATTNZOO_GO_SLOTS,
    ATTNZOO_GO_QUERY_OFFSETS = ATTNZOO_GO_FIRST_OUTPUT + ATTNZOO_GO_SLOTS,
    ATTNZOO_GO_KEY_LENGTHS,
    ATTNZOO_GO_QUERY_LENGTHS,
    ATTNZOO_GO_BOOLEAN,
    ATTNZOO_GO_BIAS,
    ATTNZOO_GO_LINEAR_BIAS,
    ATTNZOO_GO_SEGMENTS,
    ATTNZOO_GO_PLACES
};

struct attnzoo_go_view {
    int32_t place;
    int32_t is_output;
    int32_t dtype;
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    int64_t strides[ATTNZOO_RANK_MAX];
};

/* data[i] belongs to described[i]. */
struct attnzoo_go_views {
    int32_t count;
    const struct attnzoo_go_view *described;
    unsigned char *data[ATTNZOO_GO_PLACES];
};

struct attnzoo_go_mask {
    int32_t is_causal;
    int32_t has_window;
    int32_t has_offset;
    int32_t alignment;
    int64_t left, right, offset;
};

/* mask may be NULL, as may executor and state. */
attnzoo_status attnzoo_go_forward(const attnzoo_module *module, attnzoo_executor *executor, attnzoo_state *state,
                                  const struct attnzoo_go_mask *mask, struct attnzoo_go_views views);
attnzoo_status attnzoo_go_output_shape(const attnzoo_module *module, const attnzoo_state *state, int32_t output,
                                       int32_t *rank, int64_t *shape, struct attnzoo_go_views views);
attnzoo_status attnzoo_go_set_parameter(attnzoo_module *module, const char *name, struct attnzoo_go_views views);

/* Fields of states stand at their numbers. */
attnzoo_status attnzoo_go_get_field(const attnzoo_state *state, int32_t field, struct attnzoo_go_views views);
attnzoo_status attnzoo_go_set_fields(attnzoo_state *state, struct attnzoo_go_views views);

/* Places 0 to 5 are the arguments of attnzoo_merge_contexts(), in their order. */
attnzoo_status attnzoo_go_merge_contexts(struct attnzoo_go_views views);
attnzoo_status attnzoo_go_fill_positions(int64_t first, int64_t step, int32_t arrangement,
                                         struct attnzoo_go_views views);

/* The layout of a view that was made of another, which begins at the same element. */
struct attnzoo_go_layout {
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    int64_t strides[ATTNZOO_RANK_MAX];
};

/* Sizes of a tile and steps from one to the next, along axis_count axes. */
struct attnzoo_go_tiling {
    int32_t axis_count;
    int32_t edge;
    int64_t tile[ATTNZOO_GLIMPSE_AXES_MAX];
    int64_t step[ATTNZOO_GLIMPSE_AXES_MAX];
};

/* Places 0 and on are the tensors of the functions of glimpse.h, in their order; a view is of place 0. */
attnzoo_status attnzoo_go_glimpse_letters(const char *text, int64_t size, const char *alphabet, int64_t alphabet_size,
                                          int64_t other, struct attnzoo_go_views views);
attnzoo_status attnzoo_go_glimpse_embedding(struct attnzoo_go_views views);
attnzoo_status attnzoo_go_glimpse_tile_view(const struct attnzoo_go_tiling *tiling, struct attnzoo_go_layout *layout,
                                            struct attnzoo_go_views views);
attnzoo_status attnzoo_go_glimpse_flat_view(int32_t batch_axes, int32_t glimpse_axes, struct attnzoo_go_layout *layout,
                                            struct attnzoo_go_views views);
attnzoo_status attnzoo_go_glimpse_tiles(const struct attnzoo_go_tiling *tiling, double padding,
                                        struct attnzoo_go_views views);
attnzoo_status attnzoo_go_glimpse_untile(const struct attnzoo_go_tiling *tiling, struct attnzoo_go_views views);

/* Whether so many bytes can be had now: 1 or 0. They are given back at once. */
int32_t attnzoo_go_has_memory(size_t bytes);

#endif
