/*
 * test_difference.c: what is measured between two arrays, element by element.
 */
#include "difference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct tolerance exact = {0.0, 0.0};

static struct array floats(float *data, int64_t count)
{
    return (struct array){ATTNZOO_DTYPE_FLOAT32, 1, {count}, data};
}

static struct difference between(float *left, float *right, int64_t count, struct tolerance tolerance)
{
    const struct array a = floats(left, count), b = floats(right, count);
    return difference_measure(&a, &b, &tolerance);
}

static void test_equal_arrays(void **state)
{
    (void)state;
    float left[] = {0.0f, 1.0f, INFINITY, -INFINITY}, right[] = {-0.0f, 1.0f, INFINITY, -INFINITY};
    struct difference found = between(left, right, 4, exact);
    assert_true(found.count == 4 && found.disagreeing == 0 && found.first_disagreeing == -1);
    assert_true(found.largest_absolute == 0.0 && found.largest_absolute_at == -1);
    assert_true(found.largest_relative == 0.0 && found.largest_relative_at == -1);
}

/* The largest differences of either kind stand at different places. */
static void test_where_the_largest_differences_are(void **state)
{
    (void)state;
    float left[] = {100.0f, 0.5f, 2.0f, 3.0f}, right[] = {104.0f, 0.25f, 2.5f, 3.0f};
    struct difference found = between(left, right, 4, exact);
    assert_true(found.largest_absolute == 4.0 && found.largest_absolute_at == 0);
    assert_true(found.largest_relative == 1.0 && found.largest_relative_at == 1);
    assert_true(found.disagreeing == 3 && found.first_disagreeing == 0);
}

/* Beside a zero any other number is infinitely far, as a part of it. */
static void test_zeros_to_measure_by(void **state)
{
    (void)state;
    float left[] = {5.0f, 0.0f, 1.0f, -1e-38f}, right[] = {10.0f, -0.0f, 0.0f, 0.0f};
    struct difference found = between(left, right, 4, exact);
    assert_true(found.largest_absolute == 5.0 && found.largest_absolute_at == 0);
    assert_true(isinf(found.largest_relative) && found.largest_relative_at == 2);
    assert_true(found.disagreeing == 3);
    int64_t one = 1, zero = 0;
    const struct array a = {ATTNZOO_DTYPE_INT64, 1, {1}, &one}, b = {ATTNZOO_DTYPE_INT64, 1, {1}, &zero};
    assert_true(isinf(difference_measure(&a, &b, &exact).largest_relative));
    assert_true(difference_measure(&b, &a, &exact).largest_relative == 1.0);
}

static void test_tolerances_add_up(void **state)
{
    (void)state;
    /* Apart by 4; 2 + 0.25 * 8 is just enough, measured by the second array alone. */
    float left[] = {4.0f}, right[] = {8.0f};
    assert_int_equal(between(left, right, 1, (struct tolerance){2.0, 0.25}).disagreeing, 0);
    assert_int_equal(between(right, left, 1, (struct tolerance){2.0, 0.25}).disagreeing, 1);
    assert_int_equal(between(left, right, 1, (struct tolerance){1.99, 0.25}).disagreeing, 1);
    assert_int_equal(between(left, right, 1, (struct tolerance){4.0, 0.0}).disagreeing, 0);
    assert_int_equal(between(left, right, 1, (struct tolerance){0.0, 0.5}).disagreeing, 0);
}

static void test_nan_agrees_with_nan_alone(void **state)
{
    (void)state;
    float left[] = {NAN, NAN, 1.0f, 2.0f, NAN}, right[] = {NAN, 1.0f, NAN, 2.5f, INFINITY};
    struct difference found = between(left, right, 5, (struct tolerance){1e30, 1e30});
    assert_true(found.nan_in_both == 1 && found.nan_in_left == 2 && found.nan_in_right == 1);
    assert_true(found.disagreeing == 3 && found.first_disagreeing == 1);
    assert_true(found.largest_absolute == 0.5 && found.largest_absolute_at == 3);
}

/* No tolerance reaches from an infinity to anything else. */
static void test_infinities(void **state)
{
    (void)state;
    float left[] = {1.0f, INFINITY, INFINITY}, right[] = {INFINITY, 1.0f, -INFINITY};
    struct difference found = between(left, right, 3, (struct tolerance){1e300, 1.0});
    assert_int_equal(found.disagreeing, 3);
    assert_true(isinf(found.largest_absolute) && found.largest_absolute_at == 0);
    assert_true(isinf(found.largest_relative) && found.largest_relative_at == 0);
}

/* 2^53 + 1 and its neighbour are one double; as integers they differ by 1. The extremes differ by 2^64 - 1. */
static void test_integers_are_exact(void **state)
{
    (void)state;
    int64_t left[] = {(INT64_C(1) << 53) + 1, INT64_MAX, 5}, right[] = {INT64_C(1) << 53, INT64_MIN, 5};
    const struct array a = {ATTNZOO_DTYPE_INT64, 1, {3}, left}, b = {ATTNZOO_DTYPE_INT64, 1, {3}, right};
    struct difference found = difference_measure(&a, &b, &exact);
    assert_int_equal(found.disagreeing, 2);
    assert_true(found.largest_absolute == 0x1p64 && found.largest_absolute_at == 1);
    const struct tolerance one = {1.0, 0.0};
    assert_int_equal(difference_measure(&a, &b, &one).disagreeing, 1);
}

static void test_types_may_differ(void **state)
{
    (void)state;
    /* float16: 1, -2, 65504, 2^-24, infinity, NaN, -0; 2^-14, the smallest normal one. */
    uint16_t half[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x7e00, 0x8000, 0x0400};
    float wide[] = {1.0f, -2.0f, 65504.0f, 0x1p-24f, INFINITY, NAN, 0.0f, 0x1p-14f};
    const struct array a = {ATTNZOO_DTYPE_FLOAT16, 1, {8}, half}, b = floats(wide, 8);
    assert_int_equal(difference_measure(&a, &b, &exact).disagreeing, 0);
    uint16_t brain[] = {0x3f80, 0xc000, 0x7f80};
    float few[] = {1.0f, -2.0f, INFINITY};
    const struct array c = {ATTNZOO_DTYPE_BFLOAT16, 1, {3}, brain}, d = floats(few, 3);
    assert_int_equal(difference_measure(&c, &d, &exact).disagreeing, 0);
    unsigned char flags[] = {1, 0};
    int32_t numbers[] = {1, 0};
    const struct array e = {ATTNZOO_DTYPE_BOOL, 1, {2}, flags}, f = {ATTNZOO_DTYPE_INT32, 1, {2}, numbers};
    assert_int_equal(difference_measure(&e, &f, &exact).disagreeing, 0);
}

static void test_empty_arrays_are_equal(void **state)
{
    (void)state;
    const struct array a = floats(NULL, 0);
    struct difference found = difference_measure(&a, &a, &exact);
    assert_true(found.count == 0 && found.disagreeing == 0);
}

static void test_elements_as_text(void **state)
{
    (void)state;
    char text[ELEMENT_TEXT_SIZE];
    float numbers[] = {0.1f, NAN};
    struct array array = floats(numbers, 2);
    assert_string_equal(element_text(&array, 0, text), "0.100000001");
    int64_t lowest = INT64_MIN;
    array = (struct array){ATTNZOO_DTYPE_INT64, 0, {0}, &lowest};
    assert_string_equal(element_text(&array, 0, text), "-9223372036854775808");
    unsigned char flag = 1;
    array = (struct array){ATTNZOO_DTYPE_BOOL, 0, {0}, &flag};
    assert_string_equal(element_text(&array, 0, text), "true");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_arrays),
        cmocka_unit_test(test_where_the_largest_differences_are),
        cmocka_unit_test(test_zeros_to_measure_by),
        cmocka_unit_test(test_tolerances_add_up),
        cmocka_unit_test(test_nan_agrees_with_nan_alone),
        cmocka_unit_test(test_infinities),
        cmocka_unit_test(test_integers_are_exact),
        cmocka_unit_test(test_types_may_differ),
        cmocka_unit_test(test_empty_arrays_are_equal),
        cmocka_unit_test(test_elements_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
