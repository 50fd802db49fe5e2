/*
 * tests/kernels/mask_test.c: spans of keys, the cover of tiles and single visibility of a resolved mask. What masks do
 * to attention as a whole is in tests/mechanisms.
 */
#include "kernels/mask.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct attnzoo_mask_description nothing_hidden(void)
{
    return (struct attnzoo_mask_description){.window_left = -1, .window_right = -1};
}

static struct attnzoo_mask_plan resolve(const struct attnzoo_mask_description *description, int64_t batch,
                                        int64_t heads, int64_t queries, int64_t keys)
{
    struct attnzoo_mask_plan plan;
    assert_int_equal(attnzoo_mask_resolve(&plan, description, batch, heads, queries, keys), ATTNZOO_STATUS_OK);
    return plan;
}

static void set_tensor(struct attnzoo_mask_tensor *tensor, const void *data, int32_t dtype, int32_t rank,
                       const int64_t *shape)
{
    assert_int_equal(attnzoo_base_view_describe(&tensor->view, data, true, dtype, rank, shape, NULL),
                     ATTNZOO_STATUS_OK);
    tensor->is_set = true;
}

static void assert_span(const struct attnzoo_mask_plan *plan, int64_t query, int64_t first, int64_t end)
{
    struct attnzoo_key_span span = attnzoo_mask_span(plan, 0, query);
    assert_int_equal(span.first, first);
    assert_int_equal(span.end, end);
}

static void bottom_right_lines_up_the_last_query(void **state)
{
    (void)state;
    struct attnzoo_mask_description description = nothing_hidden();
    description.is_causal = true;
    struct attnzoo_mask_plan plan = resolve(&description, 1, 1, 2, 5);
    assert_span(&plan, 0, 0, 4);
    assert_span(&plan, 1, 0, 5);
    plan = resolve(&description, 1, 1, 5, 2);
    for (int64_t query = 0; query < 3; query++)
        assert_true(attnzoo_mask_span(&plan, 0, query).end <= 0);
    assert_span(&plan, 3, 0, 1);
    assert_span(&plan, 4, 0, 2);
}

static void windows_count_from_the_querys_own_key(void **state)
{
    (void)state;
    struct attnzoo_mask_description description = nothing_hidden();
    description.window_left = 0;
    description.window_right = 0;
    struct attnzoo_mask_plan plan = resolve(&description, 1, 1, 4, 4);
    for (int64_t query = 0; query < 4; query++)
        assert_span(&plan, query, query, query + 1);
}

static void far_offsets_and_windows_do_not_wrap(void **state)
{
    (void)state;
    struct attnzoo_mask_description description = nothing_hidden();
    description.is_causal = true;
    description.has_offset = true;
    description.window_right = INT64_MAX;
    description.offset = INT64_MAX;
    struct attnzoo_mask_plan plan = resolve(&description, 1, 1, 3, 4);
    assert_span(&plan, 2, 0, 4);
    description.window_left = 5;
    plan = resolve(&description, 1, 1, 3, 4);
    assert_true(attnzoo_mask_span(&plan, 0, 0).first > 4);
    description.offset = INT64_MIN;
    plan = resolve(&description, 1, 1, 3, 4);
    assert_true(attnzoo_mask_span(&plan, 0, 2).end < 0);
}

/* Offset and window may both be huge; only what they come to together counts. */
static void huge_offsets_and_windows_cancel_out_exactly(void **state)
{
    (void)state;
    const int64_t half = INT64_C(1) << 62;
    struct attnzoo_mask_description description = nothing_hidden();
    description.has_offset = true;
    description.offset = half;
    description.window_left = half / 2;
    struct attnzoo_mask_plan plan = resolve(&description, 1, 1, 1, 3);
    assert_true(attnzoo_mask_span(&plan, 0, 0).first >= 3);
    description.window_left = half - 1;
    plan = resolve(&description, 1, 1, 2, 3);
    assert_span(&plan, 0, 1, 3);
    assert_span(&plan, 1, 2, 3);
    description.window_left = -1;
    description.offset = -half;
    description.window_right = half - 1;
    plan = resolve(&description, 1, 1, 2, 3);
    assert_span(&plan, 0, 0, 0);
    assert_span(&plan, 1, 0, 1);
    description.offset = INT64_MAX;
    description.window_right = INT64_MAX;
    description.window_left = INT64_MAX;
    plan = resolve(&description, 1, 1, 3, 4);
    assert_span(&plan, 2, 2, 4);
}

/* Random masks: the cover of random tiles says no less than what single visibility says. */
static void covers_agree_with_single_keys(void **state)
{
    (void)state;
    enum { HEADS = 2, QUERIES = 9, KEYS = 21 };
    srand(7);
    for (int round = 0; round < 400; round++) {
        uint8_t allowed[QUERIES * KEYS];
        int32_t ids[KEYS];
        for (int i = 0; i < QUERIES * KEYS; i++)
            allowed[i] = (uint8_t)(round % 3 == 0 ? rand() % 2 : (i % KEYS < 7) == (round % 2 == 0));
        for (int i = 0; i < KEYS; i++)
            ids[i] = i / 7;
        struct attnzoo_mask_description description = nothing_hidden();
        if (round % 4 != 0)
            set_tensor(&description.allowed, allowed, ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){QUERIES, KEYS});
        if (round % 5 != 0)
            set_tensor(&description.segments, ids, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){KEYS});
        struct attnzoo_mask_plan plan = resolve(&description, 1, HEADS, QUERIES, KEYS);
        struct attnzoo_tile tile = {.head_count = HEADS, .first_query = rand() % QUERIES, .first_key = rand() % KEYS};
        tile.query_count = 1 + rand() % (QUERIES - tile.first_query);
        tile.key_count = 1 + rand() % (KEYS - tile.first_key);
        int64_t seen = 0, all = HEADS * tile.query_count * tile.key_count;
        for (int64_t head = 0; head < HEADS; head++)
            for (int64_t query = 0; query < tile.query_count; query++)
                for (int64_t key = 0; key < tile.key_count; key++)
                    seen += attnzoo_mask_sees(&plan, 0, head, tile.first_query + query, tile.first_key + key);
        enum attnzoo_tile_cover cover = attnzoo_mask_tile_cover(&plan, &tile, false);
        if (cover == ATTNZOO_TILE_HIDDEN)
            assert_int_equal(seen, 0);
        if (cover == ATTNZOO_TILE_CLEAR)
            assert_int_equal(seen, all);
    }
}

/* Spans narrowed to segments hide nothing that is seen, and all that is hidden where they say so. */
static void segments_narrow_spans(void **state)
{
    (void)state;
    enum { HEADS = 2, QUERIES = 24, KEYS = 40 };
    int narrowed = 0;
    srand(13);
    for (int round = 0; round < 400; round++) {
        int64_t ids[KEYS], queries = 1 + rand() % QUERIES;
        int segment_length = 1 + rand() % KEYS;
        for (int i = 0; i < KEYS; i++)
            ids[i] = round % 3 == 0 ? rand() % 3 : i / segment_length % (round % 3 == 1 ? KEYS : 2);
        struct attnzoo_mask_description description = nothing_hidden();
        description.is_causal = round % 2 == 0;
        set_tensor(&description.segments, ids, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){KEYS});
        struct attnzoo_mask_plan plan = resolve(&description, 1, HEADS, queries, KEYS);
        struct attnzoo_tile block = {.head_count = HEADS, .first_query = rand() % queries};
        block.query_count = queries - block.first_query;
        struct attnzoo_key_span spans[HEADS * QUERIES];
        for (int64_t row = 0; row < HEADS * block.query_count; row++)
            spans[row] = attnzoo_mask_span(&plan, 0, block.first_query + row % block.query_count);
        bool says_all = attnzoo_mask_narrow_to_segments(&plan, &block, spans);
        narrowed += says_all;
        for (int64_t row = 0; row < HEADS * block.query_count; row++)
            for (int64_t key = 0; key < KEYS; key++) {
                bool is_inside = key >= spans[row].first && key < spans[row].end;
                bool is_seen = attnzoo_mask_sees(&plan, 0, row / block.query_count,
                                                 block.first_query + row % block.query_count, key);
                assert_true(is_inside || !is_seen);
                assert_true(!says_all || is_inside == is_seen);
            }
    }
    /* Segments side by side, of four keys and more, are few enough to be found. */
    assert_true(narrowed > 100);
}

/* Queries past their length have no position: what lies where it would be is no segment of theirs, and may not even be
 * memory. */
static void covers_leave_out_queries_past_their_length(void **state)
{
    (void)state;
    enum { QUERIES = 6, LENGTH = 4, KEYS = 5 };
    /* Lined up by lengths, query 3 has the last key's position; 4 and 5 would have those of the ids behind the keys. */
    const int32_t ids[KEYS + QUERIES - LENGTH] = {1, 1, 1, 2, 2, 1, 3};
    const int32_t length = LENGTH;
    struct attnzoo_mask_description description = nothing_hidden();
    description.alignment = ATTNZOO_ALIGNMENT_LENGTHS;
    set_tensor(&description.segments, ids, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){KEYS});
    set_tensor(&description.query_lengths, &length, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){1});
    struct attnzoo_mask_plan plan = resolve(&description, 1, 1, QUERIES, KEYS);
    struct attnzoo_tile tile = {.head_count = 1, .first_query = 2, .query_count = 4, .first_key = 3, .key_count = 2};
    assert_int_equal(attnzoo_mask_tile_cover(&plan, &tile, false), ATTNZOO_TILE_CLEAR);
    tile.first_key = 0;
    assert_int_equal(attnzoo_mask_tile_cover(&plan, &tile, false), ATTNZOO_TILE_HIDDEN);
    tile.first_query = LENGTH;
    tile.query_count = 2;
    assert_int_equal(attnzoo_mask_tile_cover(&plan, &tile, false), ATTNZOO_TILE_HIDDEN);
}

/* Whatever makes batches differ, the queries of each must stand among the keys: segments are looked up by position. */
static void segments_need_positions_among_the_keys_in_every_batch(void **state)
{
    (void)state;
    enum { BATCHES = 2, QUERIES = 3, KEYS = 4 };
    const int32_t ids[BATCHES * KEYS] = {0};
    const int32_t key_lengths[BATCHES] = {4, 2}, query_lengths[BATCHES] = {2, 3}, offsets[BATCHES] = {0, 2};
    for (int which = 0; which < 3; which++) {
        struct attnzoo_mask_description description = nothing_hidden();
        struct attnzoo_mask_plan plan;
        set_tensor(&description.segments, ids, ATTNZOO_DTYPE_INT32, 2, (int64_t[]){BATCHES, KEYS});
        struct attnzoo_mask_tensor *tensor = &description.offsets;
        const int32_t *values = offsets;
        if (which == 0) {
            /* Batch 1 begins at 2 - 3. */
            description.alignment = ATTNZOO_ALIGNMENT_LENGTHS;
            tensor = &description.key_lengths;
            values = key_lengths;
        } else if (which == 1) {
            /* Batch 1 ends at 2 + 3 - 1, batch 0 at 2 + 2 - 1. */
            description.has_offset = true;
            description.offset = 2;
            tensor = &description.query_lengths;
            values = query_lengths;
        }
        set_tensor(tensor, values, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){BATCHES});
        assert_int_equal(attnzoo_mask_resolve(&plan, &description, BATCHES, 1, QUERIES, KEYS),
                         ATTNZOO_STATUS_INVALID_ARGUMENT);
        /* The first batch's number for both is fine. */
        const int32_t first[BATCHES] = {values[0], values[0]};
        set_tensor(tensor, first, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){BATCHES});
        resolve(&description, BATCHES, 1, QUERIES, KEYS);
    }
}

static void whole_tiles_are_recognised(void **state)
{
    (void)state;
    enum { SIZE = 64 };
    static uint8_t allowed[SIZE * SIZE];
    for (int row = 0; row < SIZE; row++)
        memset(allowed + row * SIZE, 1 + row, SIZE / 2);
    struct attnzoo_mask_description description = nothing_hidden();
    set_tensor(&description.allowed, allowed, ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){SIZE, SIZE});
    struct attnzoo_mask_plan plan = resolve(&description, 1, 1, SIZE, SIZE);
    struct attnzoo_tile tile = {.head_count = 1, .query_count = SIZE, .key_count = SIZE / 2};
    assert_int_equal(attnzoo_mask_tile_cover(&plan, &tile, false), ATTNZOO_TILE_CLEAR);
    tile.first_key = SIZE / 2;
    assert_int_equal(attnzoo_mask_tile_cover(&plan, &tile, false), ATTNZOO_TILE_HIDDEN);
    tile.first_key = SIZE / 4;
    assert_int_equal(attnzoo_mask_tile_cover(&plan, &tile, false), ATTNZOO_TILE_MIXED);
}

static void applied_rows_agree_with_single_keys(void **state)
{
    (void)state;
    enum { KEYS = 37 };
    srand(11);
    for (int round = 0; round < 200; round++) {
        int64_t allowed[KEYS], ids[KEYS];
        float bias[KEYS], scores[KEYS], memory[2 * KEYS];
        for (int i = 0; i < KEYS; i++) {
            allowed[i] = rand() % 3;
            ids[i] = rand() % 2;
            bias[i] = rand() % 4 == 0 ? -INFINITY : (float)(rand() % 100);
            scores[i] = i % 5 == 0 ? NAN : (float)i;
        }
        struct attnzoo_mask_description description = nothing_hidden();
        set_tensor(&description.bias, bias, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){KEYS});
        if (round % 2 == 0)
            set_tensor(&description.allowed, allowed, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){KEYS});
        if (round % 3 == 0)
            set_tensor(&description.segments, ids, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){KEYS});
        struct attnzoo_mask_plan plan = resolve(&description, 1, 1, 1, KEYS);
        assert_true(attnzoo_mask_row_floats(KEYS) <= 2 * KEYS);
        attnzoo_mask_apply(&plan, 0, 0, 0, 0, KEYS, false, scores, memory);
        for (int key = 0; key < KEYS; key++) {
            bool sees = attnzoo_mask_sees(&plan, 0, 0, 0, key);
            if (!sees)
                assert_true(scores[key] == -INFINITY);
            else if (key % 5 == 0)
                assert_true(isnan(scores[key]));
            else
                assert_true(scores[key] == (float)key + bias[key]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bottom_right_lines_up_the_last_query),
        cmocka_unit_test(windows_count_from_the_querys_own_key),
        cmocka_unit_test(far_offsets_and_windows_do_not_wrap),
        cmocka_unit_test(huge_offsets_and_windows_cancel_out_exactly),
        cmocka_unit_test(covers_agree_with_single_keys),
        cmocka_unit_test(segments_narrow_spans),
        cmocka_unit_test(covers_leave_out_queries_past_their_length),
        cmocka_unit_test(segments_need_positions_among_the_keys_in_every_batch),
        cmocka_unit_test(whole_tiles_are_recognised),
        cmocka_unit_test(applied_rows_agree_with_single_keys),
    };
    return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}
