/*
 * test_array.c: what happens to arrays between file and library.
 */
#include "array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct array make(int32_t rank, const int64_t *shape, float first)
{
    struct array array;
    assert_int_equal(array_allocate(&array, ATTNZOO_DTYPE_FLOAT32, rank, shape, "array"), OUTCOME_OK);
    for (int64_t index = 0; index < array_element_count(&array); index++)
        ((float *)array.data)[index] = first + (float)index;
    return array;
}

static void test_rows_are_joined_block_by_block(void **state)
{
    (void)state;
    struct array front = make(3, (int64_t[]){2, 1, 2}, 10), back = make(3, (int64_t[]){2, 2, 2}, 20), joined;
    assert_int_equal(array_join_rows(&joined, &front, "past", &back, "key"), OUTCOME_OK);
    assert_int_equal(joined.shape[1], 3);
    const float expected[] = {10, 11, 20, 21, 22, 23, 12, 13, 24, 25, 26, 27};
    assert_memory_equal(joined.data, expected, sizeof expected);
    array_free(&front);
    array_free(&back);
    array_free(&joined);
}

static void test_empty_past(void **state)
{
    (void)state;
    struct array front = make(2, (int64_t[]){0, 2}, 10), back = make(2, (int64_t[]){1, 2}, 20), joined;
    assert_int_equal(array_join_rows(&joined, &front, "past", &back, "key"), OUTCOME_OK);
    assert_memory_equal(joined.data, ((float[]){20, 21}), 8);
    array_free(&front);
    array_free(&back);
    array_free(&joined);
}

static void test_rows_that_cannot_be_joined(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{2, 1, 3}, {1, 1, 2}};
    struct array back = make(3, (int64_t[]){2, 2, 2}, 0), joined;
    for (size_t index = 0; index < sizeof shapes / sizeof *shapes; index++) {
        struct array front = make(3, shapes[index], 0);
        assert_int_equal(array_join_rows(&joined, &front, "past", &back, "key"), OUTCOME_ERROR);
        assert_non_null(strstr(problem_text(), "key has shape [2, 2, 2]"));
        array_free(&front);
    }
    struct array flat = make(2, (int64_t[]){2, 2}, 0);
    assert_int_equal(array_join_rows(&joined, &flat, "past", &back, "key"), OUTCOME_ERROR);
    flat.dtype = ATTNZOO_DTYPE_INT32;
    assert_int_equal(array_join_rows(&joined, &flat, "past", &back, "key"), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "past is int32 but key is float32"));
    struct array line = make(1, (int64_t[]){2}, 0);
    assert_int_equal(array_join_rows(&joined, &line, "past", &line, "key"), OUTCOME_ERROR);
    array_free(&flat);
    array_free(&line);
    array_free(&back);
}

static void test_sizes_that_overflow(void **state)
{
    (void)state;
    size_t size;
    const int64_t large = INT64_C(1) << 61;
    assert_false(array_byte_size(ATTNZOO_DTYPE_FLOAT32, 1, &large, &size));
    assert_false(array_byte_size(ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){large, 4}, &size));
    assert_true(array_byte_size(ATTNZOO_DTYPE_BOOL, 3, (int64_t[]){large, large, 0}, &size));
    assert_int_equal(size, 0);
    struct array array;
    assert_int_equal(array_allocate(&array, ATTNZOO_DTYPE_FLOAT32, 1, &large, "the name"), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "the name: shape [2305843009213693952] is too large"));
}

static void test_messages_stay_on_one_line(void **state)
{
    (void)state;
    assert_int_equal(fail_usage("%s", "a\nb\tc\x1b"), OUTCOME_USAGE);
    assert_string_equal(problem_text(), "a?b?c?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_joined_block_by_block),
        cmocka_unit_test(test_empty_past),
        cmocka_unit_test(test_rows_that_cannot_be_joined),
        cmocka_unit_test(test_sizes_that_overflow),
        cmocka_unit_test(test_messages_stay_on_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
