/*
 * tests/core/glimpse_tiles_test.c: tiles of images, video and audio: counted, viewed, copied and put back, against
 * their definitions.
 *
 * BOUND. Counts, views and copies are exact: a copy is rounded to the output's type alone. What is put back is the mean
 * of k numbers v of the glimpses' type, summed in double: k additions and a division, each off by at most 2^-53 of a
 * number of at most sum |v|, so that the mean errs by (k + 1) 2^-53 max |v|; the reference, in double, by as much
 * again. Then one rounding to float32 of magnitude |mean| and one to the output's type, both as element_rounding() has
 * them.
 */
#include "support/element.h"
#include "support/test_tensor.h"
#include "support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How an input of three cut axes is cut; an axis that is not there has size, tile and step 1. */
struct cut {
    int32_t axis_count;
    bool has_batches, has_channels;
    int64_t batches, channels;
    int64_t size[3], tile[3], step[3], count[3];
    int32_t edge;
};

/* Tiles as they are described: one after the other until there is no place for more. */
static int64_t count_by_walking(int64_t size, int64_t tile, int64_t step, int32_t edge)
{
    int64_t count = 0;
    for (int64_t start = 0; start < size; start += step, count++) {
        if (edge == ATTNZOO_GLIMPSE_EDGE_DROP && start + tile > size)
            break;
        if (edge == ATTNZOO_GLIMPSE_EDGE_PAD && count > 0 && start - step + tile >= size)
            break;
    }
    return count;
}

static void counts_are_those_of_tiles_laid_out(void **state)
{
    (void)state;
    for (int64_t size = 0; size < 20; size++)
        for (int64_t tile = 1; tile < 8; tile++)
            for (int64_t step = 1; step < 8; step++)
                for (int32_t edge = 0; edge < 2; edge++) {
                    int64_t count = -1;
                    assert_ok(attnzoo_glimpse_tile_count(size, tile, step, edge, &count));
                    assert_int_equal(count, count_by_walking(size, tile, step, edge));
                }
    const struct {
        int64_t size, tile, step, drop, pad;
    } huge[] = {{INT64_MAX, 1, 1, INT64_MAX, INT64_MAX},
                {INT64_MAX, INT64_MAX, INT64_MAX, 1, 1},
                {INT64_MAX, 2, INT64_MAX, 1, 1},
                {1, INT64_MAX, INT64_MAX, 0, 1},
                {INT64_MAX, 2, 2, INT64_MAX / 2, INT64_MAX / 2 + 1},
                {0, INT64_MAX, 1, 0, 0}};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        int64_t drop = -1, pad = -1;
        assert_ok(attnzoo_glimpse_tile_count(huge[i].size, huge[i].tile, huge[i].step, 0, &drop));
        assert_ok(attnzoo_glimpse_tile_count(huge[i].size, huge[i].tile, huge[i].step, 1, &pad));
        assert_int_equal(drop, huge[i].drop);
        assert_int_equal(pad, huge[i].pad);
    }
}

static void wrong_counts_are_refused(void **state)
{
    (void)state;
    int64_t count = 55;
    const int32_t invalid = ATTNZOO_STATUS_INVALID_ARGUMENT;
    assert_refused(attnzoo_glimpse_tile_count(-1, 1, 1, 0, &count), invalid, "size is -1");
    assert_refused(attnzoo_glimpse_tile_count(1, 0, 1, 0, &count), invalid, "tile is 0");
    assert_refused(attnzoo_glimpse_tile_count(1, 1, 0, 0, &count), invalid, "step is 0");
    assert_refused(attnzoo_glimpse_tile_count(1, 1, 1, 2, &count), invalid, "edge is 2");
    assert_refused(attnzoo_glimpse_tile_count(1, 1, 1, 0, NULL), invalid, "count is NULL");
    assert_int_equal(count, 55);
}

/* Up to four axes in all, as test_tensor has. */
static struct cut draw_cut(struct random_source *source)
{
    struct cut cut = {.axis_count = (int32_t)random_between(source, 1, 3), .batches = 1, .channels = 1};
    cut.has_batches = cut.axis_count < 3 && random_chance(source, 0.4);
    cut.has_channels = cut.has_batches || random_chance(source, 0.6);
    cut.edge = (int32_t)random_between(source, 0, 1);
    if (cut.has_batches)
        cut.batches = random_between(source, 0, 3);
    if (cut.has_channels)
        cut.channels = random_chance(source, 0.05) ? 300 : random_between(source, 0, 4);
    for (int axis = 0; axis < 3; axis++) {
        bool is_cut = axis >= 3 - cut.axis_count;
        cut.size[axis] = is_cut ? random_between(source, 0, 9) : 1;
        cut.tile[axis] = is_cut ? random_between(source, 1, 5) : 1;
        cut.step[axis] = is_cut ? random_between(source, 1, 5) : 1;
        cut.count[axis] = count_by_walking(cut.size[axis], cut.tile[axis], cut.step[axis], cut.edge);
    }
    return cut;
}

static int32_t raw_shape(const struct cut *cut, int64_t shape[5])
{
    int32_t rank = 0;
    if (cut->has_batches)
        shape[rank++] = cut->batches;
    for (int axis = 3 - cut->axis_count; axis < 3; axis++)
        shape[rank++] = cut->size[axis];
    if (cut->has_channels)
        shape[rank++] = cut->channels;
    return rank;
}

static int32_t glimpse_shape(const struct cut *cut, int64_t shape[3])
{
    int32_t rank = 0;
    if (cut->has_batches)
        shape[rank++] = cut->batches;
    shape[rank++] = cut->count[0] * cut->count[1] * cut->count[2];
    shape[rank++] = cut->tile[0] * cut->tile[1] * cut->tile[2] * cut->channels;
    return rank;
}

/* Where in the compact raw side the element of a glimpse comes from; -1 where that is beyond it. */
static int64_t origin_of(const struct cut *cut, int64_t batch, int64_t glimpse, int64_t element)
{
    int64_t channel = element % cut->channels, at[3];
    element /= cut->channels;
    for (int axis = 2; axis >= 0; axis--) {
        at[axis] = glimpse % cut->count[axis] * cut->step[axis] + element % cut->tile[axis];
        glimpse /= cut->count[axis];
        element /= cut->tile[axis];
        if (at[axis] >= cut->size[axis])
            return -1;
    }
    return (((batch * cut->size[0] + at[0]) * cut->size[1] + at[1]) * cut->size[2] + at[2]) * cut->channels + channel;
}

static const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};

static void check_copy(const struct cut *cut, const struct test_tensor *raw, struct test_tensor *glimpses)
{
    const double padding = -2.5;
    const int32_t first = 3 - cut->axis_count;
    test_tensor_poison(glimpses);
    assert_ok(attnzoo_glimpse_tiles(raw->view, cut->axis_count, cut->tile + first, cut->step + first, cut->edge,
                                    padding, glimpses->view));
    test_tensor_load(glimpses);
    int64_t elements = glimpses->shape[glimpses->rank - 1], count = glimpses->shape[glimpses->rank - 2];
    for (int64_t i = 0; i < glimpses->count; i++) {
        int64_t origin = origin_of(cut, i / elements / count, i / elements % count, i % elements);
        double want = origin < 0 ? padding : raw->values[origin];
        assert_true(glimpses->values[i] == element_rounded(glimpses->dtype, want));
    }
    assert_true(test_tensor_gaps_are_untouched(glimpses));
}

/* A scatter, where the library gathers. */
static void check_back(const struct cut *cut, const struct test_tensor *glimpses, struct test_tensor *raw)
{
    const int32_t first = 3 - cut->axis_count;
    double *sums = calloc((size_t)raw->count * 3 + 1, sizeof *sums);
    double *counts = sums + raw->count, *largest = counts + raw->count;
    test_tensor_poison(raw);
    assert_ok(attnzoo_glimpse_untile(glimpses->view, cut->axis_count, cut->tile + first, cut->step + first, cut->edge,
                                     raw->view));
    test_tensor_load(raw);
    int64_t elements = glimpses->shape[glimpses->rank - 1], count = glimpses->shape[glimpses->rank - 2];
    for (int64_t i = 0; i < glimpses->count; i++) {
        int64_t origin = origin_of(cut, i / elements / count, i / elements % count, i % elements);
        if (origin < 0)
            continue;
        sums[origin] += glimpses->values[i];
        counts[origin] += 1.0;
        largest[origin] = fmax(largest[origin], fabs(glimpses->values[i]));
    }
    for (int64_t i = 0; i < raw->count; i++) {
        double want = counts[i] > 0.0 ? sums[i] / counts[i] : 0.0, room = fabs(want) * 1.001;
        double bound = 2.0 * (counts[i] + 1.0) * 0x1p-53 * largest[i] + element_rounding(ATTNZOO_DTYPE_FLOAT32, room) +
                       element_rounding(raw->dtype, room);
        if (!(fabs(raw->values[i] - want) <= bound))
            fail_msg("element %d is %.9g, not %.9g, the mean of %g", (int)i, raw->values[i], want, counts[i]);
    }
    assert_true(test_tensor_gaps_are_untouched(raw));
    free(sums);
}

static void tiles_are_copied_and_put_back(void **state)
{
    (void)state;
    struct random_source source = {41};
    for (int round = 0; round < 1500; round++) {
        struct cut cut = draw_cut(&source);
        int64_t shape[5], flat[3];
        int32_t rank = raw_shape(&cut, shape), flat_rank = glimpse_shape(&cut, flat);
        struct test_tensor raw = test_tensor_plan(types[round % 3], rank, shape);
        struct test_tensor glimpses = test_tensor_plan(types[round / 3 % 3], flat_rank, flat);
        test_tensor_plan_any_layout(&raw, &source, rank, false);
        test_tensor_plan_any_layout(&glimpses, &source, flat_rank, false);
        test_tensor_allocate(&raw);
        test_tensor_allocate(&glimpses);
        test_tensor_fill(&raw, &source, -3.0, 3.0);
        test_tensor_store(&raw);
        check_copy(&cut, &raw, &glimpses);
        test_tensor_fill(&glimpses, &source, -3.0, 3.0);
        test_tensor_store(&glimpses);
        check_back(&cut, &glimpses, &raw);
        test_tensor_destroy(&raw);
        test_tensor_destroy(&glimpses);
    }
}

/* Inputs whose axes repeat: an image of one row, shown again and again. */
static void inputs_may_repeat(void **state)
{
    (void)state;
    struct random_source source = {43};
    for (int round = 0; round < 300; round++) {
        struct cut cut = draw_cut(&source);
        int64_t shape[5], flat[3];
        int32_t rank = raw_shape(&cut, shape), flat_rank = glimpse_shape(&cut, flat);
        struct test_tensor raw = test_tensor_plan(types[round % 3], rank, shape);
        struct test_tensor glimpses = test_tensor_plan(types[round / 3 % 3], flat_rank, flat);
        test_tensor_plan_any_layout(&raw, &source, rank, true);
        test_tensor_allocate(&raw);
        test_tensor_allocate(&glimpses);
        test_tensor_fill(&raw, &source, -3.0, 3.0);
        test_tensor_store(&raw);
        check_copy(&cut, &raw, &glimpses);
        test_tensor_destroy(&raw);
        test_tensor_destroy(&glimpses);
    }
}

/* The place in memory of an element of a view, by its number row-major. */
static const void *place_in(const attnzoo_tensor *view, int64_t number)
{
    int64_t offset = 0;
    for (int32_t axis = attnzoo_tensor_rank(view) - 1; axis >= 0; axis--) {
        offset += number % attnzoo_tensor_size(view, axis) * attnzoo_tensor_stride(view, axis);
        number /= attnzoo_tensor_size(view, axis);
    }
    return (const char *)attnzoo_tensor_data(view) + offset * attnzoo_dtype_size(attnzoo_tensor_dtype(view));
}

/* A view of tiles has the elements of the copy, where they lie in the input. */
static void tiles_are_seen_where_they_lie(void **state)
{
    (void)state;
    struct random_source source = {47};
    for (int round = 0; round < 1000; round++) {
        struct cut cut = draw_cut(&source);
        cut.edge = ATTNZOO_GLIMPSE_EDGE_DROP;
        for (int axis = 0; axis < 3; axis++)
            cut.count[axis] = count_by_walking(cut.size[axis], cut.tile[axis], cut.step[axis], cut.edge);
        int64_t shape[5], flat[3];
        int32_t rank = raw_shape(&cut, shape), flat_rank = glimpse_shape(&cut, flat), first = 3 - cut.axis_count;
        struct test_tensor raw = test_tensor_plan(types[round % 3], rank, shape);
        test_tensor_plan_any_layout(&raw, &source, rank, true);
        test_tensor_allocate(&raw);
        attnzoo_tensor *view = NULL;
        assert_ok(attnzoo_glimpse_tile_view(&view, raw.view, cut.axis_count, cut.tile + first, cut.step + first));
        assert_int_equal(attnzoo_tensor_rank(view), rank + cut.axis_count);
        assert_int_equal(attnzoo_tensor_dtype(view), raw.dtype);
        int32_t lead = cut.has_batches ? 1 : 0;
        for (int axis = first; axis < 3; axis++) {
            assert_int_equal(attnzoo_tensor_size(view, lead + axis - first), cut.count[axis]);
            assert_int_equal(attnzoo_tensor_size(view, lead + axis - first + cut.axis_count), cut.tile[axis]);
        }
        int64_t elements = flat[flat_rank - 1], count = flat[flat_rank - 2];
        assert_int_equal(attnzoo_tensor_element_count(view), cut.batches * count * elements);
        for (int64_t i = 0; i < cut.batches * count * elements; i++) {
            int64_t origin = origin_of(&cut, i / elements / count, i / elements % count, i % elements);
            assert_ptr_equal(place_in(view, i), place_in(raw.view, origin));
        }
        attnzoo_tensor_destroy(view);
        test_tensor_destroy(&raw);
    }
}

/* Where axes can be joined, and only there, a flat view shows the same elements in the same order. */
static void flat_views_are_made_where_strides_can(void **state)
{
    (void)state;
    struct random_source source = {53};
    int made = 0, refused = 0;
    for (int round = 0; round < 3000; round++) {
        int32_t rank = (int32_t)random_between(&source, 1, 4);
        int64_t shape[4];
        for (int axis = 0; axis < rank; axis++)
            shape[axis] = random_between(&source, 1, 3);
        struct test_tensor raw = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, rank, shape);
        if (random_chance(&source, 0.7))
            test_tensor_plan_any_layout(&raw, &source, rank, true);
        test_tensor_allocate(&raw);
        int32_t batch_axes = (int32_t)random_between(&source, 0, rank - 1);
        int32_t glimpse_axes = (int32_t)random_between(&source, 1, rank - batch_axes);
        attnzoo_tensor *view = NULL;
        attnzoo_status status = attnzoo_glimpse_flat_view(&view, raw.view, batch_axes, glimpse_axes);
        /* Whether it can be done, by trying the strides that the first elements call for. */
        int64_t sizes[3] = {1, 1, 1}, steps[3] = {0, 0, 0}, below = 1;
        for (int axis = 0; axis < rank; axis++)
            sizes[axis < batch_axes ? 0 : axis < batch_axes + glimpse_axes ? 1 : 2] *= shape[axis];
        const char *start = place_in(raw.view, 0);
        for (int part = 2; part >= 0; part--) {
            if (sizes[part] > 1)
                steps[part] = (const char *)place_in(raw.view, below) - start;
            below *= sizes[part];
        }
        bool can = true;
        for (int64_t i = 0; i < raw.count; i++)
            can = can && (const char *)place_in(raw.view, i) - start == i / sizes[2] / sizes[1] * steps[0] +
                                                                            i / sizes[2] % sizes[1] * steps[1] +
                                                                            i % sizes[2] * steps[2];
        assert_status(status, can ? ATTNZOO_STATUS_OK : ATTNZOO_STATUS_UNSUPPORTED);
        made += can;
        refused += !can;
        for (int64_t i = 0; can && i < raw.count; i++)
            assert_ptr_equal(place_in(view, i), place_in(raw.view, i));
        if (can)
            assert_int_equal(attnzoo_tensor_rank(view), batch_axes > 0 ? 3 : 2);
        attnzoo_tensor_destroy(view);
        test_tensor_destroy(&raw);
    }
    assert_true(made > 1000 && refused > 100);
}

/* What the header says of frames, stereo windows, and the weights of tiles; and a batch of videos, in five axes. */
static void uses_that_the_header_tells(void **state)
{
    (void)state;
    static float memory[2 * 3 * 4 * 5 * 2], tiles[2 * 8 * 2 * 2 * 2 * 2 * 2], back[2 * 3 * 4 * 5 * 2];
    for (int i = 0; i < 240; i++)
        memory[i] = (float)i;
    attnzoo_tensor *video = NULL, *view = NULL, *flat = NULL, *glimpses = NULL, *output = NULL;
    assert_ok(attnzoo_tensor_create(&video, memory, ATTNZOO_DTYPE_FLOAT32, 4, (int64_t[]){6, 4, 5, 2}, NULL));
    assert_ok(attnzoo_glimpse_flat_view(&flat, video, 0, 1));
    assert_int_equal(attnzoo_tensor_size(flat, 0), 6);
    assert_int_equal(attnzoo_tensor_size(flat, 1), 40);
    attnzoo_tensor_destroy(flat);
    assert_ok(attnzoo_tensor_assign(video, memory, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){120, 2}, NULL));
    assert_ok(attnzoo_glimpse_tile_view(&view, video, 1, (int64_t[]){10}, (int64_t[]){4}));
    assert_ok(attnzoo_glimpse_flat_view(&flat, view, 0, 1));
    assert_int_equal(attnzoo_tensor_size(flat, 0), 28);
    assert_int_equal(attnzoo_tensor_size(flat, 1), 20);
    assert_int_equal(attnzoo_tensor_stride(flat, 0), 8);
    attnzoo_tensor_destroy(flat);
    attnzoo_tensor_destroy(view);
    assert_ok(attnzoo_tensor_assign(video, memory, ATTNZOO_DTYPE_FLOAT32, 5, (int64_t[]){2, 3, 4, 5, 2}, NULL));
    assert_ok(attnzoo_tensor_create(&glimpses, tiles, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){2, 8, 16}, NULL));
    assert_ok(attnzoo_tensor_create(&output, back, ATTNZOO_DTYPE_FLOAT32, 5, (int64_t[]){2, 3, 4, 5, 2}, NULL));
    const int64_t tile[] = {2, 2, 2};
    assert_ok(attnzoo_glimpse_tiles(video, 3, tile, (int64_t[]){1, 2, 3}, 0, 0.0, glimpses));
    /* Batch 1, tile (1, 1, 1), its element (1, 1, 1, 1): frame 2, row 3, column 4, channel 1. */
    assert_true(tiles[(8 + 7) * 16 + 15] == (float)((((3 + 2) * 4 + 3) * 5 + 4) * 2 + 1));
    assert_ok(attnzoo_glimpse_untile(glimpses, 3, tile, (int64_t[]){1, 2, 3}, 0, output));
    for (int i = 0; i < 240; i++)
        assert_true(back[i] == (i / 2 % 5 == 2 ? 0.0f : memory[i]));
    /* Without steps they are as long as tiles. */
    assert_ok(attnzoo_tensor_assign(glimpses, tiles, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){2, 4, 16}, NULL));
    assert_ok(attnzoo_glimpse_tiles(video, 3, tile, NULL, 0, 0.0, glimpses));
    assert_true(tiles[16] == 4.0f);
    /* Three overlapping tiles with weights of their own. */
    const float weights[] = {1.0f, 3.0f, 8.0f};
    assert_ok(attnzoo_tensor_assign_readonly(glimpses, weights, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){3, 4},
                                             (int64_t[]){1, 0}));
    assert_ok(attnzoo_tensor_assign(output, back, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 4}, NULL));
    assert_ok(attnzoo_glimpse_untile(glimpses, 2, tile, (int64_t[]){2, 1}, 0, output));
    const float drawn[] = {1.0f, 2.0f, 5.5f, 8.0f};
    assert_memory_equal(back, drawn, sizeof drawn);
    assert_memory_equal(back + 4, drawn, sizeof drawn);
    attnzoo_tensor_destroy(video);
    attnzoo_tensor_destroy(glimpses);
    attnzoo_tensor_destroy(output);
}

/* Sizes that nothing can hold are counted or refused, not walked over. */
static void huge_sizes(void **state)
{
    (void)state;
    const int64_t most = INT64_MAX;
    float memory[16] = {0.0f};
    attnzoo_tensor *input = NULL, *view = NULL, *glimpses = NULL;
    assert_ok(attnzoo_tensor_create(&input, memory, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 4}, NULL));
    assert_ok(attnzoo_tensor_create(&glimpses, memory + 15, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
    assert_refused(attnzoo_glimpse_tiles(input, 2, (int64_t[]){most, most}, NULL, 1, 0.0, glimpses),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "passes 63 bits");
    assert_refused(attnzoo_glimpse_tile_view(&view, input, 2, (int64_t[]){most, 1}, NULL),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "63 bits");
    assert_ok(attnzoo_glimpse_tile_view(&view, input, 2, (int64_t[]){2, 2}, (int64_t[]){most, most}));
    assert_int_equal(attnzoo_tensor_size(view, 0), 1);
    attnzoo_tensor_destroy(view);
    /* No channels, and more tiles than can be walked over. */
    const int64_t none[] = {INT64_C(1) << 40, INT64_C(1) << 20, 0};
    assert_ok(attnzoo_tensor_assign(input, NULL, ATTNZOO_DTYPE_FLOAT32, 3, none, NULL));
    assert_ok(attnzoo_tensor_assign(glimpses, NULL, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){INT64_C(1) << 60, 0}, NULL));
    assert_ok(attnzoo_glimpse_tiles(input, 2, (int64_t[]){1, 1}, NULL, 1, 0.0, glimpses));
    assert_ok(attnzoo_glimpse_untile(glimpses, 2, (int64_t[]){1, 1}, NULL, 1, input));
    assert_ok(attnzoo_glimpse_flat_view(&view, input, 0, 2));
    assert_int_equal(attnzoo_tensor_size(view, 0), INT64_C(1) << 60);
    attnzoo_tensor_destroy(view);
    const int64_t long_axes[] = {0, INT64_C(1) << 20, INT64_C(1) << 40};
    assert_ok(attnzoo_tensor_assign(input, NULL, ATTNZOO_DTYPE_FLOAT32, 3, long_axes, (int64_t[]){5, 6, 7}));
    assert_ok(attnzoo_glimpse_flat_view(&view, input, 0, 1));
    assert_int_equal(attnzoo_tensor_size(view, 1), INT64_C(1) << 60);
    attnzoo_tensor_destroy(view);
    attnzoo_tensor_destroy(input);
    attnzoo_tensor_destroy(glimpses);
}

static void wrong_tiles_are_refused(void **state)
{
    (void)state;
    const int32_t invalid = ATTNZOO_STATUS_INVALID_ARGUMENT, shape = ATTNZOO_STATUS_SHAPE_MISMATCH;
    float memory[32];
    memset(memory, 0x55, sizeof memory);
    const int64_t two[] = {2, 2, 2}, bad[] = {2, 0, 2};
    attnzoo_tensor *image = NULL, *glimpses = NULL, *view = NULL, *numbers = NULL;
    assert_ok(attnzoo_tensor_create(&image, memory, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 4}, NULL));
    assert_ok(attnzoo_tensor_create(&glimpses, memory + 16, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 4}, NULL));
    assert_ok(attnzoo_tensor_create(&numbers, memory, ATTNZOO_DTYPE_INT32, 2, (int64_t[]){4, 4}, NULL));
    assert_refused(attnzoo_glimpse_tiles(image, 2, bad, NULL, 0, 0.0, glimpses), invalid, "tile[1] is 0");
    assert_refused(attnzoo_glimpse_tiles(image, 2, two, bad, 0, 0.0, glimpses), invalid, "step[1] is 0");
    assert_refused(attnzoo_glimpse_tiles(image, 2, NULL, NULL, 0, 0.0, glimpses), invalid, "tile is NULL");
    assert_refused(attnzoo_glimpse_tiles(image, 2, two, NULL, -1, 0.0, glimpses), invalid, "edge is -1");
    assert_refused(attnzoo_glimpse_tiles(image, 0, two, NULL, 0, 0.0, glimpses), invalid, "axis_count is 0");
    assert_refused(attnzoo_glimpse_tiles(image, 4, two, NULL, 0, 0.0, glimpses), invalid, "axis_count is 4");
    assert_refused(attnzoo_glimpse_tiles(image, 3, two, NULL, 0, 0.0, glimpses), shape, "must have 3 to 5 axes");
    assert_refused(attnzoo_glimpse_tiles(image, 2, two, (int64_t[]){1, 1}, 0, 0.0, glimpses), shape,
                   "glimpses has shape [4, 4], must have [9, 4]: 1 x 3 x 3 tiles of 1 x 2 x 2 x 1 elements");
    assert_refused(attnzoo_glimpse_tiles(numbers, 2, two, NULL, 0, 0.0, glimpses), ATTNZOO_STATUS_DTYPE_MISMATCH,
                   "input is int32");
    assert_refused(attnzoo_glimpse_tiles(image, 2, two, NULL, 0, 0.0, numbers), ATTNZOO_STATUS_DTYPE_MISMATCH,
                   "glimpses is int32");
    assert_refused(attnzoo_glimpse_tiles(image, 2, two, NULL, 0, 0.0, image), ATTNZOO_STATUS_OVERLAP, "overlaps");
    assert_refused(attnzoo_glimpse_untile(glimpses, 2, two, NULL, 0, numbers), ATTNZOO_STATUS_DTYPE_MISMATCH,
                   "output is int32");
    assert_refused(attnzoo_glimpse_untile(image, 2, two, NULL, 0, image), ATTNZOO_STATUS_OVERLAP, "overlaps");
    assert_refused(attnzoo_glimpse_untile(glimpses, 1, two, NULL, 0, image), shape, "glimpses has shape");
    assert_refused(attnzoo_glimpse_flat_view(&view, image, -1, 1), invalid, "batch_axes is -1");
    assert_refused(attnzoo_glimpse_flat_view(&view, image, 2, 1), invalid, "batch_axes is 2");
    assert_refused(attnzoo_glimpse_flat_view(&view, image, 1, 2), invalid, "glimpse_axes is 2");
    assert_refused(attnzoo_glimpse_flat_view(&view, image, 1, 0), invalid, "glimpse_axes is 0");
    assert_refused(attnzoo_glimpse_flat_view(NULL, image, 0, 1), invalid, "view is NULL");
    assert_refused(attnzoo_glimpse_tile_view(NULL, image, 2, two, NULL), invalid, "view is NULL");
    assert_refused(attnzoo_glimpse_tile_view(&view, NULL, 2, two, NULL), invalid, "input is NULL");
    assert_null(view);
    /* Views are read-only, so that no output writes through overlapping tiles. */
    assert_ok(attnzoo_glimpse_tile_view(&view, image, 2, two, NULL));
    assert_refused(attnzoo_glimpse_untile(glimpses, 2, two, NULL, 0, view), invalid, "read-only");
    assert_refused(attnzoo_fill_sinusoidal_positions(view, 0, 1, 0), shape, "axes");
    attnzoo_tensor_destroy(view);
    assert_ok(attnzoo_glimpse_flat_view(&view, image, 0, 1));
    assert_refused(attnzoo_glimpse_untile(glimpses, 2, two, NULL, 0, view), invalid, "read-only");
    attnzoo_tensor_destroy(view);
    for (int i = 0; i < 32; i++)
        assert_memory_equal(&memory[i], "UUUU", 4);
    attnzoo_tensor_destroy(image);
    attnzoo_tensor_destroy(glimpses);
    attnzoo_tensor_destroy(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_tiles_laid_out),
        cmocka_unit_test(wrong_counts_are_refused),
        cmocka_unit_test(tiles_are_copied_and_put_back),
        cmocka_unit_test(inputs_may_repeat),
        cmocka_unit_test(tiles_are_seen_where_they_lie),
        cmocka_unit_test(flat_views_are_made_where_strides_can),
        cmocka_unit_test(uses_that_the_header_tells),
        cmocka_unit_test(huge_sizes),
        cmocka_unit_test(wrong_tiles_are_refused),
    };
    return cmocka_run_group_tests_name("core/glimpse_tiles", tests, NULL, NULL);
}
