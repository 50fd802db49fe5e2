/*
 * tests/mechanisms/tanh_pitfalls_test.c: known pitfalls, for additive and location_aware alike: NaN, padding, memory
 * that must not be read, long rows, heads. Those of the recurrence are in recurrence_pitfalls_test.c, memory is counted
 * in core/allocation_recurrent_test.c.
 */
#include "support/tanh_part.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const NAMES[] = {"additive", "location_aware"};

static struct tanh_sizes small_sizes(int64_t batch, int64_t queries, int64_t keys)
{
    return (struct tanh_sizes){.batch = batch,
                               .heads = 1,
                               .key_heads = 1,
                               .queries = queries,
                               .keys = keys,
                               .query_size = 5,
                               .key_size = 4,
                               .value_size = 3,
                               .attention_size = 17,
                               .value_columns = 6,
                               .filters = 3,
                               .width = 3};
}

static void plan(struct tanh_case *test, int which, struct tanh_sizes sizes)
{
    tanh_case_plan(test, NAMES[which], sizes, REFERENCE_PREVIOUS);
}

/* Without an executor, with two threads, and without the attention. */
static void check_everywhere(struct tanh_case *test)
{
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    tanh_case_check(test, executor);
    attnzoo_executor_destroy(executor);
    struct test_tensor attention = test->call.attention;
    test->call.attention = (struct test_tensor){0};
    tanh_case_check(test, NULL);
    test->call.attention = attention;
    tanh_case_check(test, NULL);
}

static bool row_is_nan(const struct tanh_case *test, int64_t row)
{
    int64_t columns = test->sizes.value_columns, keys = test->sizes.keys;
    bool is_nan = true;
    for (int64_t d = 0; d < columns; d++)
        is_nan = is_nan && isnan(test->call.context.values[row * columns + d]);
    for (int64_t j = 0; j < keys; j++)
        is_nan = is_nan && isnan(test->call.attention.values[row * keys + j]);
    return is_nan;
}

static bool row_is_finite(const struct tanh_case *test, int64_t row)
{
    int64_t columns = test->sizes.value_columns, keys = test->sizes.keys;
    bool is_finite = true;
    for (int64_t d = 0; d < columns; d++)
        is_finite = is_finite && isfinite(test->call.context.values[row * columns + d]);
    for (int64_t j = 0; j < keys; j++)
        is_finite = is_finite && isfinite(test->call.attention.values[row * keys + j]);
    return is_finite;
}

static void p13_a_nan_query_spoils_its_own_row_only(void **state)
{
    (void)state;
    struct tanh_case test;
    plan(&test, 0, small_sizes(2, 40, 300));
    tanh_case_allocate_and_fill(&test);
    test.call.query.values[(40 + 17) * 5 + 3] = NAN;
    check_everywhere(&test);
    for (int64_t row = 0; row < 80; row++)
        assert_true(row == 57 ? row_is_nan(&test, row) : row_is_finite(&test, row));
    tanh_case_destroy(&test);
}

static void p13_a_nan_bias_or_infinity_spoils_its_own_row_only(void **state)
{
    (void)state;
    const double faults[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        struct tanh_case test;
        plan(&test, 0, small_sizes(1, 9, 130));
        attention_case_plan_bias(&test.call, 1, 1, 9, 130);
        tanh_case_allocate_and_fill(&test);
        test.call.bias.values[4 * 130 + 100] = faults[i];
        check_everywhere(&test);
        for (int64_t row = 0; row < 9; row++)
            assert_true(row == 4 ? row_is_nan(&test, row) : row_is_finite(&test, row));
        tanh_case_destroy(&test);
    }
}

/* Rows that see a NaN key are NaN, rows from which it is hidden are not: causal, and with holes. */
static void p13_a_nan_key_spoils_the_rows_that_see_it(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct tanh_case test;
        plan(&test, 0, small_sizes(1, 50, 50));
        test.call.causal = way == 0;
        if (way == 1)
            attention_case_plan_boolean(&test.call, 1, 1, 50, 50);
        tanh_case_allocate_and_fill(&test);
        test.call.key.values[30 * 4] = NAN;
        check_everywhere(&test);
        for (int64_t row = 0; row < 50; row++) {
            bool sees = way == 0 ? row >= 30 : test.call.boolean.values[row * 50 + 30] != 0.0;
            assert_true(sees ? row_is_nan(&test, row) : row_is_finite(&test, row));
        }
        tanh_case_destroy(&test);
    }
}

/* A NaN value without a projection reaches its own column of the rows that see its key. */
static void p13_a_nan_value_spoils_the_rows_that_see_it(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++)
        for (int is_projected = 0; is_projected < 2; is_projected++) {
            struct tanh_case test;
            struct tanh_sizes sizes = small_sizes(1, 20, 20);
            sizes.absent = is_projected != 0 ? 0 : TANH_WITHOUT(TANH_VALUE_WEIGHT);
            plan(&test, which, sizes);
            test.call.causal = true;
            tanh_case_allocate_and_fill(&test);
            test.call.value.values[9 * test.sizes.value_size + 2] = NAN;
            check_everywhere(&test);
            for (int64_t row = 0; row < 20; row++)
                for (int64_t d = 0; d < 6; d++)
                    assert_true(isnan(test.call.context.values[row * 6 + d]) ==
                                (row >= 9 && (is_projected != 0 || d == 2)));
            tanh_case_destroy(&test);
        }
}

static void p17_a_nan_query_that_sees_nothing_gives_zeros(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct tanh_case test;
        plan(&test, which, small_sizes(1, 4, 60));
        attention_case_plan_boolean(&test.call, 1, 1, 4, 60);
        tanh_case_allocate_and_fill(&test);
        for (int64_t i = 0; i < 4 * 60; i++)
            test.call.boolean.values[i] = i / 60 != 1;
        test.call.query.values[1 * 5 + 2] = NAN;
        test.call.query.values[3 * 5 + 2] = NAN;
        check_everywhere(&test);
        for (int64_t d = 0; d < 6; d++)
            assert_true(test.call.context.values[6 + d] == 0.0);
        assert_true(row_is_finite(&test, 0) && row_is_finite(&test, 2) && row_is_nan(&test, 3));
        tanh_case_destroy(&test);
    }
}

/* Zeros become the bias of key_proj, and a score like any other: it is the length that hides them. */
static void p3a_padding_is_hidden_though_projections_have_biases(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct tanh_case test;
        plan(&test, which, small_sizes(2, 3, 40));
        attention_case_plan_key_lengths(&test.call);
        tanh_case_allocate_and_fill(&test);
        test.call.key_lengths.values[0] = 25.0;
        test.call.key_lengths.values[1] = 0.0;
        for (int64_t i = 25 * 4; i < 40 * 4; i++)
            test.call.key.values[i] = 0.0;
        for (int64_t i = 25 * 3; i < 40 * 3; i++)
            test.call.value.values[i] = 0.0;
        check_everywhere(&test);
        for (int64_t i = 0; i < 6 * 40; i++)
            if (i % 40 >= 25 || i >= 3 * 40)
                assert_true(test.call.attention.values[i] == 0.0);
        for (int64_t i = 3 * 6; i < 6 * 6; i++)
            assert_true(test.call.context.values[i] == 0.0);
        tanh_case_destroy(&test);
    }
}

/* How much of keys and values is hidden for every query, in a mask of one kind: all from key `end` on, all before
 * `begin`. */
struct hidden {
    int64_t begin, end;
};

static struct hidden hide(struct tanh_case *test, int way)
{
    if (way == 0) {
        attention_case_plan_key_lengths(&test->call);
        return (struct hidden){0, 3};
    }
    if (way == 1) {
        test->call.causal = true;
        test->call.alignment = ATTNZOO_ALIGNMENT_TOP_LEFT;
        return (struct hidden){0, test->sizes.queries};
    }
    test->call.has_window = true;
    test->call.window_left = 1;
    test->call.window_right = 0;
    test->call.has_offset = true;
    test->call.offset = 3;
    return (struct hidden){2, 3 + test->sizes.queries};
}

static void protect(const struct test_tensor *tensor, struct hidden hidden, int64_t keys, int access)
{
    size_t page = tensor->memory.size / (size_t)keys;
    unsigned char *bytes = tensor->memory.bytes;
    if (hidden.begin > 0)
        assert_int_equal(mprotect(bytes, (size_t)hidden.begin * page, access), 0);
    if (hidden.end < keys)
        assert_int_equal(mprotect(bytes + (size_t)hidden.end * page, (size_t)(keys - hidden.end) * page, access), 0);
}

/* Each key and each value is a page, and pages of hidden ones cannot be read. Projections are no exception. */
static void p04_what_masks_hide_from_all_is_never_read(void **state)
{
    (void)state;
    const int64_t columns = (int64_t)sysconf(_SC_PAGESIZE) / (int64_t)sizeof(float);
    const int64_t keys = 9;
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 3));
    for (int i = 0; i < 24; i++) {
        int which = i % 2, way = i / 2 % 3;
        struct tanh_case test;
        struct tanh_sizes sizes = small_sizes(1, 3, keys);
        bool is_projected = i < 12;
        sizes.key_size = sizes.value_size = columns;
        sizes.attention_size = is_projected ? 5 : columns;
        sizes.value_columns = columns;
        if (!is_projected)
            sizes.absent = TANH_WITHOUT(TANH_KEY_WEIGHT) | TANH_WITHOUT(TANH_VALUE_WEIGHT);
        plan(&test, which, sizes);
        struct hidden hidden = hide(&test, way);
        if (i / 6 % 2 == 1)
            test.call.attention.rank = 0;
        tanh_case_allocate_and_fill(&test);
        if (way == 0)
            test.call.key_lengths.values[0] = (double)hidden.end;
        tanh_case_store(&test);
        attnzoo_module *module = tanh_case_module(&test);
        attnzoo_mask *mask = attention_case_mask(&test.call);
        attnzoo_state *carried = which == 1 && i % 4 == 1 ? tanh_case_state(&test, module) : NULL;
        protect(&test.call.key, hidden, keys, PROT_NONE);
        protect(&test.call.value, hidden, keys, PROT_NONE);
        assert_ok(tanh_case_forward(&test, module, i % 3 == 0 ? executor : NULL, mask, carried));
        protect(&test.call.key, hidden, keys, PROT_READ | PROT_WRITE);
        protect(&test.call.value, hidden, keys, PROT_READ | PROT_WRITE);
        tanh_case_load(&test);
        assert_true(tanh_case_compare(&test));
        attnzoo_state_destroy(carried);
        attnzoo_mask_destroy(mask);
        attnzoo_module_destroy(module);
        tanh_case_destroy(&test);
    }
    attnzoo_executor_destroy(executor);
}

static void p15_many_equal_scores_share_evenly(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct tanh_case test;
        struct tanh_sizes sizes = small_sizes(1, 2, 300000);
        sizes.query_size = sizes.key_size = sizes.value_size = sizes.value_columns = 1;
        sizes.attention_size = sizes.filters = sizes.width = 1;
        plan(&test, which, sizes);
        tanh_case_allocate_and_fill(&test);
        for (int64_t i = 0; i < test.call.key.count; i++) {
            test.call.key.values[i] = 0.25;
            test.call.value.values[i] = 3.0;
        }
        assert_ok(tanh_case_run(&test, NULL));
        for (int64_t i = 0; i < test.call.attention.count; i++)
            assert_true(fabs(test.call.attention.values[i] * 300000.0 - 1.0) <= 8.0 * 0x1p-23);
        tanh_case_destroy(&test);
    }
}

/* With one key the context is that key's value, whatever the score: its slices lie where the heads say. */
static void p20_p21_heads_read_their_own_slice(void **state)
{
    (void)state;
    struct tanh_case test;
    struct tanh_sizes sizes = small_sizes(1, 2, 1);
    sizes.heads = 4;
    sizes.key_heads = 2;
    sizes.value_columns = 2;
    sizes.absent = TANH_WITHOUT(TANH_VALUE_WEIGHT);
    plan(&test, 1, sizes);
    tanh_case_allocate_and_fill(&test);
    test_tensor_set(&test.call.value, (const double[]){1.0, 2.0, 3.0, 4.0});
    check_everywhere(&test);
    const double expected[] = {1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0};
    for (int i = 0; i < 16; i++)
        assert_true(test.call.context.values[i] == expected[i % 8]);
    tanh_case_destroy(&test);
}

/* A window moves along the keys with the queries, so that later queries of a block begin at a later key of its tile:
 * also where halves are widened for a tile of them. */
static void a_window_moves_along_widened_keys(void **state)
{
    (void)state;
    static const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    for (int type = 0; type < 3; type++) {
        struct tanh_case test;
        struct tanh_sizes sizes = small_sizes(1, 150, 150);
        sizes.absent = TANH_WITHOUT(TANH_KEY_WEIGHT);
        plan(&test, 0, sizes);
        test.call.key.dtype = types[type];
        test.call.has_window = true;
        test.call.window_left = 3;
        test.call.window_right = 2;
        tanh_case_allocate_and_fill(&test);
        check_everywhere(&test);
        tanh_case_destroy(&test);
    }
}

/* Scores far below and far above: only differences count. */
static void p12_a_large_score_bias_changes_nothing(void **state)
{
    (void)state;
    const double biases[] = {-20000.0, 20000.0, -1e30};
    for (int i = 0; i < 3; i++) {
        struct tanh_case test;
        plan(&test, 0, small_sizes(1, 3, 77));
        tanh_case_allocate_and_fill(&test);
        test.parameters[TANH_SCORE_BIAS].values[0] = biases[i];
        if (i == 2)
            for (int64_t a = 0; a < 17; a++)
                test.parameters[TANH_SCORE_WEIGHT].values[a] = 0.0;
        assert_ok(tanh_case_run(&test, NULL));
        for (int64_t row = 0; row < 3; row++)
            assert_true(row_is_finite(&test, row));
        double sum = 0.0;
        for (int64_t j = 0; j < 77; j++)
            sum += test.call.attention.values[j];
        assert_true(fabs(sum - 1.0) < 1e-5);
        tanh_case_destroy(&test);
    }
}

static void p27_zero_sized_axes(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++)
        for (int zeros = 1; zeros < 512; zeros++) {
            struct tanh_case test;
            struct tanh_sizes sizes = small_sizes(2, 3, 5);
            int64_t *axes[] = {&sizes.batch,          &sizes.queries,       &sizes.keys,
                               &sizes.query_size,     &sizes.key_size,      &sizes.value_size,
                               &sizes.attention_size, &sizes.value_columns, &sizes.filters};
            for (int i = 0; i < 9; i++)
                if ((zeros >> i & 1) != 0)
                    *axes[i] = 0;
            plan(&test, which, sizes);
            tanh_case_allocate_and_fill(&test);
            tanh_case_check(&test, NULL);
            tanh_case_destroy(&test);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p13_a_nan_query_spoils_its_own_row_only),
        cmocka_unit_test(p13_a_nan_bias_or_infinity_spoils_its_own_row_only),
        cmocka_unit_test(p13_a_nan_key_spoils_the_rows_that_see_it),
        cmocka_unit_test(p13_a_nan_value_spoils_the_rows_that_see_it),
        cmocka_unit_test(p17_a_nan_query_that_sees_nothing_gives_zeros),
        cmocka_unit_test(p3a_padding_is_hidden_though_projections_have_biases),
        cmocka_unit_test(p04_what_masks_hide_from_all_is_never_read),
        cmocka_unit_test(p15_many_equal_scores_share_evenly),
        cmocka_unit_test(p20_p21_heads_read_their_own_slice),
        cmocka_unit_test(a_window_moves_along_widened_keys),
        cmocka_unit_test(p12_a_large_score_bias_changes_nothing),
        cmocka_unit_test(p27_zero_sized_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
