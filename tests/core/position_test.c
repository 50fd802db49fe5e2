/*
 * tests/core/position_test.c: the sinusoidal table, against its formula in double.
 *
 * BOUND. With u = 2^-24: an entry is a number of magnitude at most 1 whose angle x / 10000^(2i/E) may be of any size,
 * so it is right only where the angle is worked out in more than float32: in double with about 16 roundings of 2^-53
 * (the power's exponent 2i/E log(10000) below 10 counts ten times its own roundings) the angle strays by
 * (16 + 10 * 4) 2^-53 |angle|, and sin and cos have slopes of at most 1. Then one rounding to float32, u of the result,
 * and one more to the table's type. So |error| <= 56 * 2^-53 |x| + u + the type's rounding; the reference's own double
 * arithmetic errs as much again: 112 * 2^-53 |x|.
 */
#include "support/element.h"
#include "support/test_tensor.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>

static double angle_of(double position, int64_t pair, int64_t columns)
{
    return position / pow(10000.0, 2.0 * (double)pair / (double)columns);
}

/* The table's entry by its definition. Halves: ceil(E / 2) sines, then the cosines. */
static double entry(double position, int64_t column, int64_t columns, int32_t arrangement)
{
    if (arrangement == ATTNZOO_SINUSOID_INTERLEAVED)
        return column % 2 == 0 ? sin(angle_of(position, column / 2, columns))
                               : cos(angle_of(position, column / 2, columns));
    int64_t sines = (columns + 1) / 2;
    return column < sines ? sin(angle_of(position, column, columns)) : cos(angle_of(position, column - sines, columns));
}

/* Fills an allocated table and compares it. */
static void check_table(struct test_tensor *table, int64_t first, int64_t step, int32_t arrangement)
{
    test_tensor_poison(table);
    assert_ok(attnzoo_fill_sinusoidal_positions(table->view, first, step, arrangement));
    test_tensor_load(table);
    int64_t columns = table->shape[table->rank - 1];
    int64_t rows = table->shape[table->rank - 2];
    for (int64_t i = 0; i < table->count; i++) {
        double position = (double)(first + i / columns % rows * step);
        double want = entry(position, i % columns, columns, arrangement);
        double bound = 112.0 * 0x1p-53 * fabs(position) + 0x1p-24 + element_rounding(table->dtype, 1.0);
        if (!(fabs(table->values[i] - want) <= bound))
            fail_msg("E %d, first %d, step %d, arrangement %d: row %d, column %d is %.9g, not %.9g", (int)columns,
                     (int)first, (int)step, (int)arrangement, (int)(i / columns % rows), (int)(i % columns),
                     table->values[i], want);
    }
    assert_true(test_tensor_gaps_are_untouched(table));
}

static void tables_follow_the_formula(void **state)
{
    (void)state;
    const int64_t columns[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 33, 64, 129};
    const int64_t rows[] = {0, 1, 2, 37};
    const int64_t positions[][2] = {{0, 1}, {36, -1}, {-5, 3}, {100000, -7}, {7, 0}};
    for (int c = 0; c < 12; c++)
        for (int r = 0; r < 4; r++) {
            struct test_tensor table = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){rows[r], columns[c]});
            test_tensor_allocate(&table);
            for (int p = 0; p < 5; p++)
                for (int32_t arrangement = 0; arrangement < 2; arrangement++)
                    check_table(&table, positions[p][0], positions[p][1], arrangement);
            test_tensor_destroy(&table);
        }
}

static void tables_of_any_type_and_layout(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    struct random_source source = {11};
    for (int i = 0; i < 600; i++) {
        int32_t rank = (int32_t)random_between(&source, 2, 3);
        const int64_t shape[3] = {random_between(&source, 1, 3), random_between(&source, 0, 12),
                                  random_between(&source, 0, 19)};
        struct test_tensor table = test_tensor_plan(types[i % 3], rank, shape + 3 - rank);
        test_tensor_plan_any_layout(&table, &source, 2, false);
        test_tensor_allocate(&table);
        check_table(&table, random_between(&source, -50, 50), random_between(&source, -3, 3), i / 3 % 2);
        test_tensor_destroy(&table);
    }
}

/* Where distances are large single precision would have lost the angle. */
static void large_positions_keep_their_angle(void **state)
{
    (void)state;
    struct test_tensor table = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){5, 8});
    test_tensor_allocate(&table);
    check_table(&table, INT64_C(20000000), -1, ATTNZOO_SINUSOID_INTERLEAVED);
    check_table(&table, INT64_C(-3000000000), 1, ATTNZOO_SINUSOID_HALVES);
    test_tensor_destroy(&table);
}

/* Numbers that everybody knows. */
static void rows_of_known_positions(void **state)
{
    (void)state;
    struct test_tensor table = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){3, 4});
    test_tensor_allocate(&table);
    assert_ok(attnzoo_fill_sinusoidal_positions(table.view, 1, -1, ATTNZOO_SINUSOID_INTERLEAVED));
    test_tensor_load(&table);
    const double interleaved[] = {sin(1.0), cos(1.0), sin(0.01), cos(0.01), 0.0,        1.0,
                                  0.0,      1.0,      -sin(1.0), cos(1.0),  -sin(0.01), cos(0.01)};
    for (int i = 0; i < 12; i++)
        assert_true(fabs(table.values[i] - interleaved[i]) <= 0x1p-24);
    assert_ok(attnzoo_fill_sinusoidal_positions(table.view, 1, -1, ATTNZOO_SINUSOID_HALVES));
    test_tensor_load(&table);
    const double halves[] = {sin(1.0), sin(0.01), cos(1.0),  cos(0.01),  0.0,      0.0,
                             1.0,      1.0,       -sin(1.0), -sin(0.01), cos(1.0), cos(0.01)};
    for (int i = 0; i < 12; i++)
        assert_true(fabs(table.values[i] - halves[i]) <= 0x1p-24);
    test_tensor_destroy(&table);
}

/* Each refusal leaves the table as it was. */
static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    struct test_tensor table = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 6});
    test_tensor_allocate(&table);
    assert_refused(attnzoo_fill_sinusoidal_positions(NULL, 0, 1, 0), ATTNZOO_STATUS_INVALID_ARGUMENT, "table");
    for (int32_t arrangement = -1; arrangement <= 2; arrangement += 3)
        assert_refused(attnzoo_fill_sinusoidal_positions(table.view, 0, 1, arrangement),
                       ATTNZOO_STATUS_INVALID_ARGUMENT, arrangement < 0 ? "-1" : "2");
    const int64_t limits[][2] = {{INT64_MAX, 1}, {INT64_MIN, -1}, {0, INT64_MAX}, {0, INT64_MIN}, {-5, INT64_MIN / 2}};
    for (int i = 0; i < 5; i++)
        assert_status(attnzoo_fill_sinusoidal_positions(table.view, limits[i][0], limits[i][1], 0),
                      ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_true(test_tensor_is_untouched(&table));
    /* The last row's position is what counts. */
    assert_ok(attnzoo_fill_sinusoidal_positions(table.view, INT64_MAX - 3, 1, 0));
    assert_ok(attnzoo_fill_sinusoidal_positions(table.view, INT64_MIN + 3, -1, 0));
    test_tensor_destroy(&table);
}

static attnzoo_status fill_view(void *data, int32_t dtype, int32_t rank, const int64_t *shape, const int64_t *strides,
                                bool is_readonly)
{
    attnzoo_tensor *view = NULL;
    if (is_readonly)
        assert_ok(attnzoo_tensor_create_readonly(&view, data, dtype, rank, shape, strides));
    else
        assert_ok(attnzoo_tensor_create(&view, data, dtype, rank, shape, strides));
    attnzoo_status status = attnzoo_fill_sinusoidal_positions(view, 0, 1, ATTNZOO_SINUSOID_INTERLEAVED);
    attnzoo_tensor_destroy(view);
    return status;
}

static void wrong_tables_are_refused(void **state)
{
    (void)state;
    int64_t memory[64], before[64];
    memset(memory, 0x5a, sizeof memory);
    memcpy(before, memory, sizeof memory);
    const int64_t ones[] = {1, 1, 1, 1};
    const int64_t shape[] = {2, 3, 2};
    assert_refused(fill_view(memory, ATTNZOO_DTYPE_FLOAT32, 1, ones, NULL, false), ATTNZOO_STATUS_SHAPE_MISMATCH, "1");
    assert_refused(fill_view(memory, ATTNZOO_DTYPE_FLOAT32, 4, ones, NULL, false), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "[1, 1, 1, 1]");
    assert_refused(fill_view(memory, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL, true), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "read-only");
    const int32_t types[] = {ATTNZOO_DTYPE_BOOL, ATTNZOO_DTYPE_INT32, ATTNZOO_DTYPE_INT64};
    const char *names[] = {"bool", "int32", "int64"};
    for (int i = 0; i < 3; i++)
        assert_refused(fill_view(memory, types[i], 2, shape, NULL, false), ATTNZOO_STATUS_DTYPE_MISMATCH, names[i]);
    const int64_t strides[][3] = {{0, 2, 1}, {6, 0, 1}, {6, 1, 1}, {6, 2, 0}};
    for (int i = 0; i < 4; i++)
        assert_status(fill_view(memory, ATTNZOO_DTYPE_FLOAT32, 3, shape, strides[i], false), ATTNZOO_STATUS_OVERLAP);
    assert_memory_equal(memory, before, sizeof memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_follow_the_formula),        cmocka_unit_test(tables_of_any_type_and_layout),
        cmocka_unit_test(large_positions_keep_their_angle), cmocka_unit_test(rows_of_known_positions),
        cmocka_unit_test(wrong_arguments_are_refused),      cmocka_unit_test(wrong_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
