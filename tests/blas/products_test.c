/*
 * tests/blas/products_test.c: the products, whole and split as they would be beyond a BLAS' int, against plain loops in
 * double; sizes of 0; outputs that held garbage.
 */
#include "blas/blas.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LARGEST = 9, STEP = 12 };

static float a[LARGEST * STEP], b[LARGEST * STEP], c[LARGEST * STEP], before[LARGEST * STEP];

static void fill(void)
{
    for (int i = 0; i < LARGEST * STEP; i++) {
        a[i] = (float)(rand() % 200 - 100) * 0.01f;
        b[i] = (float)(rand() % 200 - 100) * 0.01f;
        before[i] = c[i] = (float)(rand() % 200 - 100);
    }
}

/* A sum of `inner` products, each at most 1, and what was there before, at most 100. */
static void assert_near(double got, double want, int inner)
{
    assert_true(fabs(got - want) <= (double)FLT_EPSILON * (inner + 2) * (inner + 100.0));
}

static void check_transposed(int largest, int rows, int columns, int inner)
{
    fill();
    attnzoo_blas_multiply_transposed_split(largest, rows, columns, inner, 0.5f, a, STEP, b, STEP, c, STEP);
    for (int row = 0; row < LARGEST; row++)
        for (int column = 0; column < STEP; column++) {
            double sum = 0.0;
            for (int k = 0; k < inner; k++)
                sum += 0.5 * (double)a[row * STEP + k] * (double)(column < columns ? b[column * STEP + k] : 0.0f);
            if (row < rows && column < columns)
                assert_near((double)c[row * STEP + column], sum, inner);
            else
                assert_true(c[row * STEP + column] == before[row * STEP + column]);
        }
}

static void check_plain(int rows, int columns, int inner)
{
    fill();
    attnzoo_blas_multiply(rows, columns, inner, 0.5f, a, STEP, b, STEP, c, STEP);
    for (int row = 0; row < LARGEST; row++)
        for (int column = 0; column < STEP; column++) {
            double sum = 0.0;
            for (int k = 0; k < inner; k++)
                sum += 0.5 * (double)a[row * STEP + k] * (double)b[k * STEP + column];
            if (row < rows && column < columns)
                assert_near((double)c[row * STEP + column], sum, inner);
            else
                assert_true(c[row * STEP + column] == before[row * STEP + column]);
        }
}

static void check_add(int largest, int rows, int columns, int inner)
{
    fill();
    attnzoo_blas_multiply_add_split(largest, rows, columns, inner, a, STEP, b, STEP, c, STEP);
    for (int row = 0; row < LARGEST; row++)
        for (int column = 0; column < STEP; column++) {
            double sum = (double)before[row * STEP + column];
            for (int k = 0; k < inner && column < columns && row < rows; k++)
                sum += (double)a[row * STEP + k] * (double)b[k * STEP + column];
            if (row < rows && column < columns)
                assert_near((double)c[row * STEP + column], sum, inner);
            else
                assert_true(c[row * STEP + column] == before[row * STEP + column]);
        }
}

static void products_agree_with_plain_loops_at_every_size_and_split(void **state)
{
    (void)state;
    srand(5);
    for (int largest = 2; largest <= 16; largest = largest == 4 ? 16 : largest + 1)
        for (int rows = 0; rows <= LARGEST; rows++)
            for (int columns = 0; columns <= LARGEST; columns++)
                for (int inner = 0; inner <= LARGEST; inner++) {
                    check_transposed(largest, rows, columns, inner);
                    check_plain(rows, columns, inner);
                    check_add(largest, rows, columns, inner);
                }
}

static void empty_sums_are_zero(void **state)
{
    (void)state;
    float out[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    attnzoo_blas_multiply_transposed(2, 2, 0, 1.0f, a, 1, b, 1, out, 2);
    for (int i = 0; i < 4; i++) {
        assert_true(out[i] == 0.0f);
        out[i] = 1.0f;
    }
    attnzoo_blas_multiply(2, 2, 0, 1.0f, a, 1, b, 2, out, 2);
    for (int i = 0; i < 4; i++)
        assert_true(out[i] == 0.0f);
}

static void spans_stand_side_by_side_as_far_as_the_blas_bears(void **state)
{
    (void)state;
    assert_int_equal(attnzoo_blas_watch(), ATTNZOO_STATUS_OK);
    assert_true(attnzoo_blas_thread_limit() >= 1);
    /* A second span waits for the first where the BLAS bears one caller only. */
    int spans = attnzoo_blas_thread_limit() > 1 ? 2 : 1;
    for (int span = 0; span < spans; span++)
        attnzoo_blas_open(1);
    attnzoo_blas_leave(attnzoo_blas_enter());
    for (int span = 0; span < spans; span++)
        attnzoo_blas_close(1);
    assert_non_null(attnzoo_blas_description());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_plain_loops_at_every_size_and_split),
        cmocka_unit_test(empty_sums_are_zero),
        cmocka_unit_test(spans_stand_side_by_side_as_far_as_the_blas_bears),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, NULL);
}
