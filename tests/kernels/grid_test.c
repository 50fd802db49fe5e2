/*
 * tests/kernels/grid_test.c: grids of views, which rows a BLAS may read in place, packing, and narrowing to 16 bits.
 */
#include "kernels/grid.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct attnzoo_view view_of(void *data, int32_t dtype, int32_t rank, const int64_t *shape,
                                   const int64_t *strides)
{
    struct attnzoo_view view;
    assert_int_equal(attnzoo_base_view_describe(&view, data, false, dtype, rank, shape, strides), ATTNZOO_STATUS_OK);
    return view;
}

static void missing_leading_axes_have_size_one(void **state)
{
    (void)state;
    float data[6] = {0};
    struct attnzoo_view view = view_of(data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 3}, NULL);
    struct attnzoo_grid grid = attnzoo_grid_of(&view);
    assert_memory_equal(grid.size, ((int64_t[]){1, 1, 2, 3}), sizeof grid.size);
    assert_ptr_equal(attnzoo_grid_at(&grid, 0, 0, 1, 2), &data[5]);
}

static bool is_direct(int32_t dtype, const int64_t shape[2], const int64_t strides[2])
{
    static float data[64];
    struct attnzoo_view view = view_of(data + 32, dtype, 2, shape, strides);
    struct attnzoo_grid grid = attnzoo_grid_of(&view);
    return attnzoo_grid_is_direct(&grid);
}

static void only_rows_that_a_blas_takes_are_direct(void **state)
{
    (void)state;
    const int64_t shape[2] = {3, 4};
    assert_true(is_direct(ATTNZOO_DTYPE_FLOAT32, shape, (int64_t[]){4, 1}));
    assert_true(is_direct(ATTNZOO_DTYPE_FLOAT32, shape, (int64_t[]){9, 1}));
    assert_false(is_direct(ATTNZOO_DTYPE_FLOAT32, shape, (int64_t[]){3, 1}));
    assert_false(is_direct(ATTNZOO_DTYPE_FLOAT32, shape, (int64_t[]){0, 1}));
    assert_false(is_direct(ATTNZOO_DTYPE_FLOAT32, shape, (int64_t[]){-4, 1}));
    assert_false(is_direct(ATTNZOO_DTYPE_FLOAT32, shape, (int64_t[]){1, 3}));
    assert_false(is_direct(ATTNZOO_DTYPE_FLOAT16, shape, (int64_t[]){4, 1}));
    assert_true(is_direct(ATTNZOO_DTYPE_FLOAT32, (int64_t[]){3, 1}, (int64_t[]){1, 7}));
    assert_true(is_direct(ATTNZOO_DTYPE_FLOAT32, (int64_t[]){1, 4}, (int64_t[]){-4, 1}));
}

static void rows_are_packed_in_order(void **state)
{
    (void)state;
    float data[12], memory[8];
    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    /* Transposed and reversed: element (row, column) is data[11 - row - 3 * column]. */
    struct attnzoo_view view = view_of(data + 11, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){3, 4}, (int64_t[]){-1, -3});
    struct attnzoo_grid grid = attnzoo_grid_of(&view);
    struct attnzoo_rows rows = attnzoo_grid_rows(&grid, 0, 0, 1, 2, memory);
    assert_ptr_equal(rows.data, memory);
    assert_int_equal(rows.step, 4);
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 4; column++)
            assert_true(memory[row * 4 + column] == (float)(11 - (row + 1) - 3 * column));
}

static void direct_rows_have_a_step_that_a_blas_takes(void **state)
{
    (void)state;
    float data[4] = {0};
    struct attnzoo_view view = view_of(data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 4}, (int64_t[]){0, 1});
    struct attnzoo_grid grid = attnzoo_grid_of(&view);
    assert_int_equal(attnzoo_grid_rows(&grid, 0, 0, 0, 1, NULL).step, 4);
    view = view_of(data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 0}, NULL);
    grid = attnzoo_grid_of(&view);
    assert_int_equal(attnzoo_grid_rows(&grid, 0, 0, 0, 1, NULL).step, 1);
}

static float widened(uint16_t narrow, int32_t dtype)
{
    float wide;
    attnzoo_kernel_widen(&wide, (const char *)&narrow, dtype, 1, 1);
    return wide;
}

static uint16_t narrowed(float wide, int32_t dtype)
{
    uint16_t narrow;
    attnzoo_kernel_narrow((char *)&narrow, dtype, 1, &wide, 1);
    return narrow;
}

static bool is_nan_or_same(uint16_t a, uint16_t b, int32_t dtype)
{
    return a == b || (isnan(widened(a, dtype)) && isnan(widened(b, dtype)));
}

/* Every 16-bit value comes back; everything between two neighbours goes to the nearer, the middle to the even one. */
static void check_narrowing(int32_t dtype, uint16_t infinity)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++)
        assert_true(is_nan_or_same(narrowed(widened((uint16_t)bits, dtype), dtype), (uint16_t)bits, dtype));
    for (uint16_t low = 0; low + 1 < infinity; low++) {
        double below = (double)widened(low, dtype), above = (double)widened((uint16_t)(low + 1), dtype);
        float middle = (float)((below + above) / 2.0);
        uint16_t even = low % 2 == 0 ? low : (uint16_t)(low + 1);
        assert_int_equal(narrowed(middle, dtype), even);
        assert_int_equal(narrowed(nextafterf(middle, -1.0f), dtype), low);
        assert_int_equal(narrowed(nextafterf(middle, INFINITY), dtype), low + 1);
        assert_int_equal(narrowed(-middle, dtype), even | 0x8000);
    }
    assert_int_equal(narrowed(INFINITY, dtype), infinity);
    assert_int_equal(narrowed(-INFINITY, dtype), infinity | 0x8000);
}

static void float16_rounds_to_nearest_even(void **state)
{
    (void)state;
    check_narrowing(ATTNZOO_DTYPE_FLOAT16, 0x7c00);
    assert_int_equal(narrowed(65519.0f, ATTNZOO_DTYPE_FLOAT16), 0x7bff);
    assert_int_equal(narrowed(65520.0f, ATTNZOO_DTYPE_FLOAT16), 0x7c00);
}

static void bfloat16_rounds_to_nearest_even(void **state)
{
    (void)state;
    check_narrowing(ATTNZOO_DTYPE_BFLOAT16, 0x7f80);
}

static void strided_elements_are_widened_and_narrowed(void **state)
{
    (void)state;
    enum { COUNT = 130, STRIDE = 3 };
    static uint16_t narrow[COUNT * STRIDE];
    float wide[COUNT], back[COUNT];
    for (int i = 0; i < COUNT; i++)
        wide[i] = (float)i * 0.5f;
    const int32_t dtypes[] = {ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    for (int which = 0; which < 2; which++) {
        memset(narrow, 0xee, sizeof narrow);
        attnzoo_kernel_narrow((char *)narrow, dtypes[which], STRIDE, wide, COUNT);
        attnzoo_kernel_widen(back, (const char *)narrow, dtypes[which], STRIDE, COUNT);
        assert_memory_equal(back, wide, sizeof wide);
        assert_int_equal(narrow[1], 0xeeee);
        attnzoo_kernel_widen(back, (const char *)(narrow + (COUNT - 1) * STRIDE), dtypes[which], -STRIDE, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_true(back[i] == wide[COUNT - 1 - i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_leading_axes_have_size_one),
        cmocka_unit_test(only_rows_that_a_blas_takes_are_direct),
        cmocka_unit_test(rows_are_packed_in_order),
        cmocka_unit_test(direct_rows_have_a_step_that_a_blas_takes),
        cmocka_unit_test(float16_rounds_to_nearest_even),
        cmocka_unit_test(bfloat16_rounds_to_nearest_even),
        cmocka_unit_test(strided_elements_are_widened_and_narrowed),
    };
    return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
