/*
 * tests/base/overlap_test.c: whether views share memory, against a list of every byte that they touch.
 */
#include "base/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 4096, MIDDLE = BYTES / 2 };

static _Alignas(8) char memory[BYTES];

/* Counts how often a view touches each byte. */
static void count_touches(const struct attnzoo_view *view, uint8_t touches[BYTES])
{
    int64_t element_size = attnzoo_base_dtype_size(view->dtype), count = attnzoo_base_view_element_count(view);
    for (int64_t element = 0; element < count; element++) {
        int64_t rest = element, offset = 0;
        for (int32_t axis = view->rank - 1; axis >= 0; axis--) {
            offset += rest % view->shape[axis] * view->strides[axis];
            rest /= view->shape[axis];
        }
        for (int64_t byte = 0; byte < element_size; byte++)
            touches[view->data - memory + offset * element_size + byte]++;
    }
}

static struct attnzoo_view random_view(void)
{
    static const int32_t dtypes[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BOOL};
    struct attnzoo_view view;
    int32_t dtype = dtypes[rand() % 3], rank = 1 + rand() % 3;
    int64_t shape[3], strides[3];
    for (int32_t axis = 0; axis < rank; axis++) {
        shape[axis] = rand() % 5;
        strides[axis] = rand() % 3 == 0 ? rand() % 4 : (rand() % 9 - 4) * (1 + rand() % 8);
    }
    char *start = memory + MIDDLE + rand() % 16 * attnzoo_base_dtype_size(dtype);
    assert_int_equal(attnzoo_base_view_describe(&view, start, false, dtype, rank, shape, strides), ATTNZOO_STATUS_OK);
    return view;
}

static void self_overlap_is_never_missed(void **state)
{
    (void)state;
    srand(1);
    int apart = 0;
    for (int round = 0; round < 20000; round++) {
        struct attnzoo_view view = random_view();
        uint8_t touches[BYTES] = {0};
        count_touches(&view, touches);
        bool overlaps = false;
        for (int byte = 0; byte < BYTES; byte++)
            overlaps = overlaps || touches[byte] > 1;
        if (overlaps)
            assert_true(attnzoo_base_view_overlaps_itself(&view));
        else
            apart += !attnzoo_base_view_overlaps_itself(&view);
    }
    /* It may err on the safe side, but not always. */
    assert_true(apart > 4000);
}

static void shared_memory_is_never_missed(void **state)
{
    (void)state;
    srand(2);
    int apart = 0;
    for (int round = 0; round < 20000; round++) {
        struct attnzoo_view a = random_view(), b = random_view();
        uint8_t touches_a[BYTES] = {0}, touches_b[BYTES] = {0};
        count_touches(&a, touches_a);
        count_touches(&b, touches_b);
        bool overlaps = false;
        for (int byte = 0; byte < BYTES; byte++)
            overlaps = overlaps || (touches_a[byte] > 0 && touches_b[byte] > 0);
        assert_int_equal(attnzoo_base_views_overlap(&a, &b), attnzoo_base_views_overlap(&b, &a));
        if (overlaps)
            assert_true(attnzoo_base_views_overlap(&a, &b));
        else
            apart += !attnzoo_base_views_overlap(&a, &b);
    }
    assert_true(apart > 4000);
}

static void interleaved_slices_are_apart(void **state)
{
    (void)state;
    /* [rows, 4, 8]: four matrices side by side in each row. */
    enum { ROWS = 5, SLICES = 4, COLUMNS = 8 };
    for (int64_t a = 0; a < SLICES; a++)
        for (int64_t b = 0; b < SLICES; b++) {
            struct attnzoo_view views[2];
            const int64_t shape[] = {ROWS, COLUMNS}, strides[] = {SLICES * COLUMNS, 1}, slices[] = {a, b};
            for (int i = 0; i < 2; i++)
                assert_int_equal(attnzoo_base_view_describe(&views[i], memory + slices[i] * COLUMNS * 4, false,
                                                            ATTNZOO_DTYPE_FLOAT32, 2, shape, strides),
                                 ATTNZOO_STATUS_OK);
            assert_int_equal(attnzoo_base_views_overlap(&views[0], &views[1]), a == b);
        }
}

static void slices_of_rows_and_columns_are_apart(void **state)
{
    (void)state;
    /* [batch, rows, columns], cut along rows and columns both. */
    enum { BATCH = 3, ROWS = 6, COLUMNS = 8, PARTS = 2 };
    const int64_t shape[] = {BATCH, ROWS / PARTS, COLUMNS / PARTS}, strides[] = {ROWS * COLUMNS, COLUMNS, 1};
    for (int64_t pair = 0; pair < PARTS * PARTS * PARTS * PARTS; pair++) {
        struct attnzoo_view views[2];
        const int64_t parts[] = {pair % (PARTS * PARTS), pair / (PARTS * PARTS)};
        for (int i = 0; i < 2; i++) {
            int64_t offset = parts[i] / PARTS * shape[1] * COLUMNS + parts[i] % PARTS * shape[2];
            assert_int_equal(attnzoo_base_view_describe(&views[i], memory + offset * 4, false, ATTNZOO_DTYPE_FLOAT32, 3,
                                                        shape, strides),
                             ATTNZOO_STATUS_OK);
        }
        assert_int_equal(attnzoo_base_views_overlap(&views[0], &views[1]), parts[0] == parts[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_overlap_is_never_missed),
        cmocka_unit_test(shared_memory_is_never_missed),
        cmocka_unit_test(interleaved_slices_are_apart),
        cmocka_unit_test(slices_of_rows_and_columns_are_apart),
    };
    return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
