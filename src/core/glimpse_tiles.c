/*
 * core/glimpse_tiles.c: attnzoo/glimpse.h: tiles copied into glimpses, and glimpses put back. Counts and views are in
 * glimpse_view.c, text is in glimpse_text.c.
 */
#include "core/glimpse_tiling.h"

#include "base/checked.h"
#include "kernels/grid.h"

#include <inttypes.h>

/* Elements done at a time, in memory on the stack. */
enum { PIECE = 128 };

/* Glimpses [B, N, E] as they lie. */
struct glimpse_grid {
    char *data;
    int32_t dtype;
    int64_t element_size;
    int64_t batch_stride;
    int64_t stride;
    int64_t element_stride;
};

static struct glimpse_grid grid_of(const struct attnzoo_view *view)
{
    return (struct glimpse_grid){.data = view->data,
                                 .dtype = view->dtype,
                                 .element_size = attnzoo_base_dtype_size(view->dtype),
                                 .batch_stride = view->rank == 3 ? view->strides[0] : 0,
                                 .stride = view->strides[view->rank - 2],
                                 .element_stride = view->strides[view->rank - 1]};
}

static char *element_at(const struct glimpse_grid *grid, int64_t batch, int64_t glimpse, int64_t element)
{
    return grid->data +
           (batch * grid->batch_stride + glimpse * grid->stride + element * grid->element_stride) * grid->element_size;
}

/* That glimpses are [N, E], or [B, N, E] where the raw side has batches. */
static attnzoo_status check_glimpses(const struct attnzoo_view *view, const struct attnzoo_tiling *tiling)
{
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_float(view->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "glimpses is %s, must be float32, float16 or bfloat16", attnzoo_base_dtype_name(view->dtype));
    const int64_t wanted[3] = {tiling->batches, tiling->glimpses, tiling->elements};
    const int32_t skipped = tiling->has_batches ? 0 : 1;
    char has[ATTNZOO_SHAPE_TEXT_SIZE], should[ATTNZOO_SHAPE_TEXT_SIZE];
    bool fits = view->rank == 3 - skipped;
    for (int32_t axis = 0; fits && axis < view->rank; axis++)
        fits = view->shape[axis] == wanted[axis + skipped];
    ATTNZOO_REQUIRE(fits, ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "glimpses has shape %s, must have %s: %" PRId64 " x %" PRId64 " x %" PRId64 " tiles of %" PRId64
                    " x %" PRId64 " x %" PRId64 " x %" PRId64 " elements",
                    attnzoo_base_shape_text(has, view->rank, view->shape),
                    attnzoo_base_shape_text(should, 3 - skipped, wanted + skipped), tiling->count[0], tiling->count[1],
                    tiling->count[2], tiling->tile[0], tiling->tile[1], tiling->tile[2], tiling->channels);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_raw(const struct attnzoo_view *view, const char *name)
{
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_float(view->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "%s is %s, must be float32, float16 or bfloat16", name, attnzoo_base_dtype_name(view->dtype));
    return ATTNZOO_STATUS_OK;
}

static void copy_run(const struct glimpse_grid *grid, char *to, const struct attnzoo_view *raw, const char *from,
                     int64_t stride, int64_t count)
{
    float values[PIECE];
    for (int64_t first = 0; first < count; first += PIECE) {
        int64_t part = attnzoo_base_minimum(PIECE, count - first);
        attnzoo_kernel_widen(values, from + first * stride * attnzoo_base_dtype_size(raw->dtype), raw->dtype, stride,
                             part);
        attnzoo_kernel_narrow(to + first * grid->element_stride * grid->element_size, grid->dtype, grid->element_stride,
                              values, part);
    }
}

static void pad_run(const struct glimpse_grid *grid, char *to, float padding, int64_t count)
{
    float values[PIECE];
    for (int i = 0; i < PIECE; i++)
        values[i] = padding;
    for (int64_t first = 0; first < count; first += PIECE)
        attnzoo_kernel_narrow(to + first * grid->element_stride * grid->element_size, grid->dtype, grid->element_stride,
                              values, attnzoo_base_minimum(PIECE, count - first));
}

/* One line along the last cut axis of one tile: what the input has of it, then padding. */
struct line {
    /* Where the line starts in the input, by cut axis. */
    int64_t start[ATTNZOO_TILING_AXES];
    int64_t batch;
    int64_t glimpse;
    /* Within the glimpse. */
    int64_t element;
};

static void copy_line(const struct attnzoo_tiling *tiling, const struct attnzoo_view *raw,
                      const struct glimpse_grid *grid, const struct line *line, float padding)
{
    int64_t channels = tiling->channels, width = tiling->tile[2];
    bool is_inside = line->start[0] < tiling->size[0] && line->start[1] < tiling->size[1];
    int64_t there = is_inside ? attnzoo_base_minimum(width, tiling->size[2] - line->start[2]) : 0;
    if (there > 0) {
        int64_t offset = line->batch * tiling->batch_stride;
        for (int32_t axis = 0; axis < ATTNZOO_TILING_AXES; axis++)
            offset += line->start[axis] * tiling->stride[axis];
        const char *from = raw->data + offset * attnzoo_base_dtype_size(raw->dtype);
        int64_t stride = tiling->stride[2];
        bool is_single = channels == 1;
        /* In one go where the channels are one, or lie close. */
        if (is_single || there == 1 || stride == channels * tiling->channel_stride) {
            copy_run(grid, element_at(grid, line->batch, line->glimpse, line->element), raw, from,
                     is_single ? stride : tiling->channel_stride, there * channels);
        } else {
            for (int64_t i = 0; i < there; i++)
                copy_run(grid, element_at(grid, line->batch, line->glimpse, line->element + i * channels), raw,
                         from + i * stride * attnzoo_base_dtype_size(raw->dtype), tiling->channel_stride, channels);
        }
    }
    if (there < width)
        pad_run(grid, element_at(grid, line->batch, line->glimpse, line->element + there * channels), padding,
                (width - there) * channels);
}

/* All lines of the tile at `place`, counted by cut axis. */
static void copy_tile(const struct attnzoo_tiling *tiling, const struct attnzoo_view *raw,
                      const struct glimpse_grid *grid, int64_t batch, int64_t glimpse,
                      const int64_t place[ATTNZOO_TILING_AXES], float padding)
{
    struct line line = {.batch = batch, .glimpse = glimpse, .element = 0};
    for (int32_t axis = 0; axis < ATTNZOO_TILING_AXES; axis++)
        line.start[axis] = place[axis] * tiling->step[axis];
    for (int64_t z = 0; z < tiling->tile[0]; z++) {
        line.start[1] = place[1] * tiling->step[1];
        for (int64_t y = 0; y < tiling->tile[1]; y++) {
            copy_line(tiling, raw, grid, &line, padding);
            line.start[1]++;
            line.element += tiling->tile[2] * tiling->channels;
        }
        line.start[0]++;
    }
}

attnzoo_status attnzoo_glimpse_tiles(const attnzoo_tensor *input, int32_t axis_count, const int64_t *tile,
                                     const int64_t *step, int32_t edge, double padding, attnzoo_tensor *glimpses)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(input, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(glimpses, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *raw = &input->view, *output = &glimpses->view;
    struct attnzoo_tiling tiling;
    attnzoo_status status = attnzoo_core_tiling_make(&tiling, raw, "input", axis_count, tile, step, edge);
    if (status == ATTNZOO_STATUS_OK)
        status = check_raw(raw, "input");
    if (status == ATTNZOO_STATUS_OK)
        status = check_glimpses(output, &tiling);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_core_check_writable(output, "glimpses");
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE(!attnzoo_base_views_overlap(output, raw), ATTNZOO_STATUS_OVERLAP, "glimpses overlaps input");
    /* Tiles without elements may be more than can be walked over. */
    if (attnzoo_base_view_element_count(output) == 0)
        return ATTNZOO_STATUS_OK;
    const struct glimpse_grid grid = grid_of(output);
    for (int64_t batch = 0; batch < tiling.batches; batch++) {
        for (int64_t glimpse = 0; glimpse < tiling.glimpses; glimpse++) {
            const int64_t place[ATTNZOO_TILING_AXES] = {glimpse / tiling.count[2] / tiling.count[1],
                                                        glimpse / tiling.count[2] % tiling.count[1],
                                                        glimpse % tiling.count[2]};
            copy_tile(&tiling, raw, &grid, batch, glimpse, place, (float)padding);
        }
    }
    return ATTNZOO_STATUS_OK;
}

/* The tiles that cover an element along one axis: from first to last, none where last is below first. */
struct cover {
    int64_t first;
    int64_t last;
};

static struct cover cover_of(const struct attnzoo_tiling *tiling, int32_t axis, int64_t place)
{
    int64_t tile = tiling->tile[axis], step = tiling->step[axis];
    return (struct cover){.first = place < tile ? 0 : (place - tile) / step + 1,
                          .last = attnzoo_base_minimum(place / step, tiling->count[axis] - 1)};
}

/* Where along each cut axis an element of the output lies, and the tiles that cover it. */
struct covered {
    int64_t batch;
    int64_t place[ATTNZOO_TILING_AXES];
    struct cover cover[ATTNZOO_TILING_AXES];
};

/* Adds the channels from first on of every tile that covers the element, and returns how many tiles these are. */
static int64_t add_tiles(const struct attnzoo_tiling *tiling, const struct glimpse_grid *grid,
                         const struct covered *covered, int64_t first, int64_t count, double sums[PIECE])
{
    const struct cover *cover = covered->cover;
    const int64_t *place = covered->place, *tile = tiling->tile, *step = tiling->step;
    int64_t tiles = 0;
    float values[PIECE];
    for (int64_t z = cover[0].first; z <= cover[0].last; z++) {
        for (int64_t y = cover[1].first; y <= cover[1].last; y++) {
            for (int64_t x = cover[2].first; x <= cover[2].last; x++) {
                int64_t line = (place[0] - z * step[0]) * tile[1] + place[1] - y * step[1];
                int64_t element = (line * tile[2] + place[2] - x * step[2]) * tiling->channels + first;
                int64_t glimpse = (z * tiling->count[1] + y) * tiling->count[2] + x;
                attnzoo_kernel_widen(values, element_at(grid, covered->batch, glimpse, element), grid->dtype,
                                     grid->element_stride, count);
                for (int64_t i = 0; i < count; i++)
                    sums[i] += (double)values[i];
                tiles++;
            }
        }
    }
    return tiles;
}

static void write_element(const struct attnzoo_tiling *tiling, const struct glimpse_grid *grid,
                          const struct covered *covered, const struct attnzoo_view *output)
{
    int64_t offset = covered->batch * tiling->batch_stride;
    for (int32_t axis = 0; axis < ATTNZOO_TILING_AXES; axis++)
        offset += covered->place[axis] * tiling->stride[axis];
    for (int64_t first = 0; first < tiling->channels; first += PIECE) {
        int64_t count = attnzoo_base_minimum(PIECE, tiling->channels - first);
        double sums[PIECE];
        float means[PIECE];
        for (int64_t i = 0; i < count; i++)
            sums[i] = 0.0;
        int64_t tiles = add_tiles(tiling, grid, covered, first, count, sums);
        for (int64_t i = 0; i < count; i++)
            means[i] = tiles == 0 ? 0.0f : (float)(sums[i] / (double)tiles);
        char *to = output->data + (offset + first * tiling->channel_stride) * attnzoo_base_dtype_size(output->dtype);
        attnzoo_kernel_narrow(to, output->dtype, tiling->channel_stride, means, count);
    }
}

static void write_all(const struct attnzoo_tiling *tiling, const struct glimpse_grid *grid,
                      const struct attnzoo_view *output)
{
    struct covered at = {0};
    for (at.batch = 0; at.batch < tiling->batches; at.batch++) {
        for (at.place[0] = 0; at.place[0] < tiling->size[0]; at.place[0]++) {
            at.cover[0] = cover_of(tiling, 0, at.place[0]);
            for (at.place[1] = 0; at.place[1] < tiling->size[1]; at.place[1]++) {
                at.cover[1] = cover_of(tiling, 1, at.place[1]);
                for (at.place[2] = 0; at.place[2] < tiling->size[2]; at.place[2]++) {
                    at.cover[2] = cover_of(tiling, 2, at.place[2]);
                    write_element(tiling, grid, &at, output);
                }
            }
        }
    }
}

attnzoo_status attnzoo_glimpse_untile(const attnzoo_tensor *glimpses, int32_t axis_count, const int64_t *tile,
                                      const int64_t *step, int32_t edge, attnzoo_tensor *output)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(glimpses, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(output, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *raw = &output->view, *input = &glimpses->view;
    struct attnzoo_tiling tiling;
    attnzoo_status status = attnzoo_core_tiling_make(&tiling, raw, "output", axis_count, tile, step, edge);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_core_check_writable(raw, "output");
    if (status == ATTNZOO_STATUS_OK)
        status = check_glimpses(input, &tiling);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE(!attnzoo_base_views_overlap(raw, input), ATTNZOO_STATUS_OVERLAP, "output overlaps glimpses");
    /* Axes without elements may be longer than can be walked over. */
    if (attnzoo_base_view_element_count(raw) > 0) {
        const struct glimpse_grid grid = grid_of(input);
        write_all(&tiling, &grid, raw);
    }
    return ATTNZOO_STATUS_OK;
}
