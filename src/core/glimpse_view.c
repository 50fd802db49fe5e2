/*
 * core/glimpse_view.c: attnzoo/glimpse.h: how many tiles there are, and views of them. What copies is in
 * glimpse_tiles.c.
 */
#include "core/glimpse_tiling.h"

#include "base/checked.h"

#include <inttypes.h>

static int64_t count_tiles(int64_t size, int64_t tile, int64_t step, int32_t edge)
{
    if (edge == ATTNZOO_GLIMPSE_EDGE_DROP)
        return size < tile ? 0 : (size - tile) / step + 1;
    if (size == 0)
        return 0;
    int64_t beyond_first = attnzoo_base_maximum(size - tile, 0);
    /* The sum cannot pass 63 bits: what lies beyond the first tile, which has an element, is less than all. */
    return attnzoo_base_minimum(attnzoo_base_divide_up(beyond_first, step) + 1, attnzoo_base_divide_up(size, step));
}

static attnzoo_status check_edge(int32_t edge)
{
    ATTNZOO_REQUIRE(edge == ATTNZOO_GLIMPSE_EDGE_DROP || edge == ATTNZOO_GLIMPSE_EDGE_PAD,
                    ATTNZOO_STATUS_INVALID_ARGUMENT, "edge is %d, must be 0 or 1", (int)edge);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_glimpse_tile_count(int64_t size, int64_t tile, int64_t step, int32_t edge, int64_t *count)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(count);
    ATTNZOO_REQUIRE(size >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "size is %" PRId64 ", must not be negative", size);
    ATTNZOO_REQUIRE(tile >= 1, ATTNZOO_STATUS_INVALID_ARGUMENT, "tile is %" PRId64 ", must be 1 or more", tile);
    ATTNZOO_REQUIRE(step >= 1, ATTNZOO_STATUS_INVALID_ARGUMENT, "step is %" PRId64 ", must be 1 or more", step);
    attnzoo_status status = check_edge(edge);
    if (status == ATTNZOO_STATUS_OK)
        *count = count_tiles(size, tile, step, edge);
    return status;
}

static attnzoo_status check_numbers(int32_t axis_count, const int64_t *tile, const int64_t *step, int32_t edge)
{
    ATTNZOO_REQUIRE(axis_count >= 1 && axis_count <= ATTNZOO_GLIMPSE_AXES_MAX, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "axis_count is %d, must be 1 to %d", (int)axis_count, (int)ATTNZOO_GLIMPSE_AXES_MAX);
    ATTNZOO_REQUIRE_POINTER(tile);
    for (int32_t axis = 0; axis < axis_count; axis++) {
        ATTNZOO_REQUIRE(tile[axis] >= 1, ATTNZOO_STATUS_INVALID_ARGUMENT, "tile[%d] is %" PRId64 ", must be 1 or more",
                        (int)axis, tile[axis]);
        ATTNZOO_REQUIRE(step == NULL || step[axis] >= 1, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "step[%d] is %" PRId64 ", must be 1 or more", (int)axis, step[axis]);
    }
    return check_edge(edge);
}

/* N and E: how many tiles there are, and how many elements each has. */
static attnzoo_status measure(struct attnzoo_tiling *tiling)
{
    tiling->glimpses = 1;
    tiling->elements = tiling->channels;
    for (int32_t axis = 0; axis < ATTNZOO_TILING_AXES; axis++) {
        ATTNZOO_REQUIRE(attnzoo_base_multiply(tiling->glimpses, tiling->count[axis], &tiling->glimpses) &&
                            attnzoo_base_multiply(tiling->elements, tiling->tile[axis], &tiling->elements),
                        ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "the number of tiles, or of the elements in one, passes 63 bits: the last factors are %" PRId64
                        " and %" PRId64,
                        tiling->count[axis], tiling->tile[axis]);
    }
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_core_tiling_make(struct attnzoo_tiling *tiling, const struct attnzoo_view *raw, const char *name,
                                        int32_t axis_count, const int64_t *tile, const int64_t *step, int32_t edge)
{
    attnzoo_status status = check_numbers(axis_count, tile, step, edge);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int32_t spare = raw->rank - axis_count;
    char shape[ATTNZOO_SHAPE_TEXT_SIZE];
    ATTNZOO_REQUIRE(spare >= 0 && spare <= 2, ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "%s has shape %s, must have %d to %d axes where %d are cut", name,
                    attnzoo_base_shape_text(shape, raw->rank, raw->shape), (int)axis_count, (int)axis_count + 2,
                    (int)axis_count);
    bool has_batches = spare == 2, has_channels = spare >= 1;
    *tiling = (struct attnzoo_tiling){.axis_count = axis_count,
                                      .has_batches = has_batches,
                                      .has_channels = has_channels,
                                      .batches = has_batches ? raw->shape[0] : 1,
                                      .batch_stride = has_batches ? raw->strides[0] : 0,
                                      .channels = has_channels ? raw->shape[raw->rank - 1] : 1,
                                      .channel_stride = has_channels ? raw->strides[raw->rank - 1] : 1};
    for (int32_t axis = 0; axis < ATTNZOO_TILING_AXES; axis++) {
        /* Which axis of the tile this is; none below 0. */
        int32_t from = axis - (ATTNZOO_TILING_AXES - axis_count), of_raw = from + (has_batches ? 1 : 0);
        tiling->size[axis] = from < 0 ? 1 : raw->shape[of_raw];
        tiling->stride[axis] = from < 0 ? 0 : raw->strides[of_raw];
        tiling->tile[axis] = from < 0 ? 1 : tile[from];
        tiling->step[axis] = from < 0 ? 1 : (step == NULL ? tile : step)[from];
        tiling->count[axis] = count_tiles(tiling->size[axis], tiling->tile[axis], tiling->step[axis], edge);
    }
    return measure(tiling);
}

static attnzoo_status create_view(attnzoo_tensor **view, const struct attnzoo_view *input, int32_t rank,
                                  const int64_t *shape, const int64_t *strides)
{
    struct attnzoo_view made;
    attnzoo_status status = attnzoo_base_view_describe(&made, input->data, true, input->dtype, rank, shape, strides);
    return status == ATTNZOO_STATUS_OK ? attnzoo_core_tensor_create(view, &made, NULL, NULL) : status;
}

attnzoo_status attnzoo_glimpse_tile_view(attnzoo_tensor **view, const attnzoo_tensor *input, int32_t axis_count,
                                         const int64_t *tile, const int64_t *step)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(view);
    ATTNZOO_REQUIRE_HANDLE(input, ATTNZOO_KIND_TENSOR);
    struct attnzoo_tiling tiling;
    attnzoo_status status =
        attnzoo_core_tiling_make(&tiling, &input->view, "input", axis_count, tile, step, ATTNZOO_GLIMPSE_EDGE_DROP);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t shape[ATTNZOO_RANK_MAX], strides[ATTNZOO_RANK_MAX];
    int32_t rank = 0;
    if (tiling.has_batches) {
        shape[rank] = tiling.batches;
        strides[rank++] = tiling.batch_stride;
    }
    for (int32_t axis = ATTNZOO_TILING_AXES - axis_count; axis < ATTNZOO_TILING_AXES; axis++) {
        shape[rank] = tiling.count[axis];
        /* A step of which there is none may be longer than 63 bits tell. */
        if (tiling.count[axis] < 2 || !attnzoo_base_multiply(tiling.stride[axis], tiling.step[axis], &strides[rank]))
            strides[rank] = 0;
        rank++;
    }
    for (int32_t axis = ATTNZOO_TILING_AXES - axis_count; axis < ATTNZOO_TILING_AXES; axis++) {
        shape[rank] = tiling.tile[axis];
        strides[rank++] = tiling.stride[axis];
    }
    if (tiling.has_channels) {
        shape[rank] = tiling.channels;
        strides[rank++] = tiling.channel_stride;
    }
    return create_view(view, &input->view, rank, shape, strides);
}

/* Joins the axes from first to last - 1 into one; those of size 1 lead nowhere and are passed over. */
static attnzoo_status join_axes(const struct attnzoo_view *view, int32_t first, int32_t last, int64_t *size,
                                int64_t *stride)
{
    int32_t inner = -1;
    *size = 1;
    *stride = 1;
    bool is_empty = attnzoo_base_view_element_count(view) == 0;
    for (int32_t axis = last - 1; axis >= first; axis--) {
        int64_t reach;
        if (view->shape[axis] == 1)
            continue;
        bool fits =
            inner < 0 || is_empty || (attnzoo_base_multiply(*size, *stride, &reach) && reach == view->strides[axis]);
        ATTNZOO_REQUIRE(fits, ATTNZOO_STATUS_UNSUPPORTED,
                        "axes %d and %d of input cannot be joined by strides: %" PRId64 " elements %" PRId64
                        " apart lie within a stride of %" PRId64 "; copy them instead",
                        (int)axis, (int)inner, *size, *stride, view->strides[axis]);
        if (inner < 0)
            *stride = view->strides[axis];
        inner = axis;
        ATTNZOO_REQUIRE(attnzoo_base_multiply(*size, view->shape[axis], size), ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "the joined sizes, up to %" PRId64 " of axis %d, pass 63 bits", view->shape[axis], (int)axis);
    }
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_glimpse_flat_view(attnzoo_tensor **view, const attnzoo_tensor *input, int32_t batch_axes,
                                         int32_t glimpse_axes)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(view);
    ATTNZOO_REQUIRE_HANDLE(input, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *raw = &input->view;
    ATTNZOO_REQUIRE(batch_axes >= 0 && batch_axes < raw->rank, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "batch_axes is %d, must be 0 to %d for an input of %d axes", (int)batch_axes, (int)raw->rank - 1,
                    (int)raw->rank);
    ATTNZOO_REQUIRE(glimpse_axes >= 1 && glimpse_axes <= raw->rank - batch_axes, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "glimpse_axes is %d, must be 1 to %d", (int)glimpse_axes, (int)(raw->rank - batch_axes));
    const int32_t ends[4] = {0, batch_axes, batch_axes + glimpse_axes, raw->rank};
    int64_t shape[3], strides[3];
    int32_t rank = 0;
    for (int32_t part = batch_axes == 0 ? 1 : 0; part < 3; part++, rank++) {
        attnzoo_status status = join_axes(raw, ends[part], ends[part + 1], &shape[rank], &strides[rank]);
        if (status != ATTNZOO_STATUS_OK)
            return status;
    }
    return create_view(view, raw, rank, shape, strides);
}
