/*
 * tests/mechanisms/mask_pitfalls_test.c: pitfalls of masks: which keys are seen, and what is never read. Those of
 * scores and their softmax are in softmax_pitfalls_test.c.
 */
#include "mechanisms/pitfalls.h"

#include <math.h>
#include <sys/mman.h>

static void p01_row_that_sees_no_key_is_zero(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        struct attention_case test;
        plan_one_head(&test, 3, 2);
        if (way == 0)
            attention_case_plan_boolean(&test, 1, 1, 3, 2);
        if (way == 1)
            attention_case_plan_bias(&test, 1, 1, 3, 2);
        if (way == 2)
            attention_case_plan_key_lengths(&test);
        if (way == 3)
            attention_case_plan_query_lengths(&test);
        test.causal = way == 4;
        test.has_window = way == 5;
        test.window_left = test.window_right = 0;
        test.has_offset = way >= 4;
        test.offset = -9;
        allocate_and_fill(&test);
        set_all(&test.boolean, 0.0);
        set_all(&test.bias, -INFINITY);
        set_all(&test.key_lengths, 0.0);
        set_all(&test.query_lengths, 0.0);
        check_everywhere(&test);
        for (int64_t row = 0; row < 3; row++)
            assert_row_is_empty(&test, row);
        attention_case_destroy(&test);
    }
}

static void check_causal_pattern(int64_t queries, int64_t keys, int32_t alignment, const char *const *pattern)
{
    struct attention_case test;
    plan_one_head(&test, queries, keys);
    test.causal = true;
    test.alignment = alignment;
    allocate_and_fill(&test);
    check_everywhere(&test);
    assert_attention_pattern(&test, 0, 0, pattern);
    attention_case_destroy(&test);
}

static void p02_causal_with_unequal_lengths(void **state)
{
    (void)state;
    check_causal_pattern(2, 5, ATTNZOO_ALIGNMENT_BOTTOM_RIGHT, (const char *[]){"xxxx.", "xxxxx"});
    check_causal_pattern(2, 5, ATTNZOO_ALIGNMENT_TOP_LEFT, (const char *[]){"x....", "xx..."});
    check_causal_pattern(2, 5, ATTNZOO_ALIGNMENT_LENGTHS, (const char *[]){"xxxx.", "xxxxx"});
    check_causal_pattern(5, 2, ATTNZOO_ALIGNMENT_BOTTOM_RIGHT, (const char *[]){"..", "..", "..", "x.", "xx"});
    check_causal_pattern(5, 2, ATTNZOO_ALIGNMENT_TOP_LEFT, (const char *[]){"x.", "xx", "xx", "xx", "xx"});
}

static void p03_true_means_attend(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_BOOL, ATTNZOO_DTYPE_INT32, ATTNZOO_DTYPE_INT64};
    for (int i = 0; i < 3; i++) {
        struct attention_case test;
        plan_one_head(&test, 1, 4);
        attention_case_plan_boolean(&test, 1, 1, 1, 4);
        test.boolean.dtype = types[i];
        allocate_and_fill(&test);
        test_tensor_set(&test.boolean, (const double[]){1.0, 0.0, types[i] == ATTNZOO_DTYPE_BOOL ? 1.0 : -7.0, 0.0});
        check_everywhere(&test);
        assert_attention_pattern(&test, 0, 0, (const char *[]){"x.x."});
        attention_case_destroy(&test);
    }
}

/* Any byte but 0 is true. */
static void p03_any_byte_but_zero_is_true(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 1, 40);
    attention_case_plan_boolean(&test, 1, 1, 1, 40);
    allocate_and_fill(&test);
    attention_case_store(&test);
    for (int64_t j = 0; j < 40; j++) {
        test.boolean.memory.bytes[j] = (unsigned char)(j % 4 == 0 ? 0 : j * 7);
        test.boolean.values[j] = j % 4 != 0;
    }
    attnzoo_module *module = attention_case_module(&test);
    attnzoo_mask *mask = attention_case_mask(&test);
    assert_ok(attention_case_forward(&test, module, NULL, mask));
    attention_case_load(&test);
    assert_true(attention_case_compare(&test));
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    attention_case_destroy(&test);
}

/* Leaves only the rows first ... end - 1 of a stored tensor readable. A row takes 256 bytes, so that 16 rows fill a
 * page. */
static void leave_readable(struct test_tensor *tensor, int64_t first, int64_t end)
{
    test_tensor_store(tensor);
    unsigned char *bytes = tensor->memory.bytes;
    size_t before = (size_t)first * 256;
    size_t behind = (size_t)end * 256;
    /* Not for no pages at all, which qemu refuses. */
    if (before > 0)
        assert_int_equal(mprotect(bytes, before, PROT_NONE), 0);
    if (behind < tensor->memory.size)
        assert_int_equal(mprotect(bytes + behind, tensor->memory.size - behind, PROT_NONE), 0);
}

static void check_unreadable_rows(struct attention_case *test, int64_t first, int64_t end)
{
    leave_readable(&test->key, first, end);
    leave_readable(&test->value, first, end);
    attnzoo_module *module = attention_case_module(test);
    attnzoo_mask *mask = attention_case_mask(test);
    test_tensor_store(&test->query);
    test_tensor_store(&test->key_lengths);
    for (int32_t threads = 0; threads <= 2; threads++) {
        attnzoo_executor *executor = NULL;
        if (threads > 0)
            assert_ok(attnzoo_executor_create(&executor, threads));
        test_tensor_poison(&test->context);
        test_tensor_poison(&test->attention);
        test_tensor_poison(&test->log_sum_exp);
        assert_ok(attention_case_forward(test, module, executor, mask));
        attention_case_load(test);
        assert_true(attention_case_compare(test));
        attnzoo_executor_destroy(executor);
    }
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    attention_case_destroy(test);
}

static void p04_keys_that_no_query_sees_are_never_read(void **state)
{
    (void)state;
    for (int64_t queries = 1; queries <= 48; queries += 47) {
        struct attention_case test;
        const struct attention_sizes sizes = {1, 2, 1, queries, 320, 64, 64};
        attention_case_plan(&test, sizes);
        attention_case_plan_key_lengths(&test);
        allocate_and_fill(&test);
        set_all(&test.key_lengths, 176.0);
        check_unreadable_rows(&test, 0, 176);

        attention_case_plan(&test, sizes);
        test.causal = true;
        test.has_offset = true;
        test.offset = 160 - queries;
        allocate_and_fill(&test);
        check_unreadable_rows(&test, 0, 160);

        attention_case_plan(&test, sizes);
        test.has_window = true;
        test.window_left = 16;
        test.window_right = 16;
        test.has_offset = true;
        test.offset = 160;
        allocate_and_fill(&test);
        check_unreadable_rows(&test, 144, 160 + (queries == 1 ? 32 : 64));
    }
}

static void p04_padding_by_a_dense_mask_cannot_change_the_result(void **state)
{
    (void)state;
    const double poison[] = {NAN, INFINITY, -INFINITY, 3e38};
    for (int i = 0; i < 8; i++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){2, 4, 2, 70, 150, 16, 24});
        if (i < 4)
            attention_case_plan_boolean(&test, 2, 1, 1, 150);
        else
            attention_case_plan_bias(&test, 2, 1, 1, 150);
        allocate_and_fill(&test);
        for (int64_t b = 0; b < 2; b++)
            for (int64_t j = 0; j < 150; j++) {
                bool is_hidden = j >= 100 + 10 * b || j == 7;
                if (i < 4)
                    test.boolean.values[b * 150 + j] = !is_hidden;
                else if (is_hidden)
                    test.bias.values[b * 150 + j] = -INFINITY;
                for (int64_t g = 0; g < 2 && is_hidden; g++) {
                    test.key.values[((b * 2 + g) * 150 + j) * 16 + 3] = poison[i % 4];
                    test.value.values[((b * 2 + g) * 150 + j) * 24 + 5] = poison[i % 4];
                }
            }
        check_everywhere(&test);
        attention_case_destroy(&test);
    }
}

/* Query heads that share a key head: hidden from one of them, seen by the other. */
static void p04_a_key_hidden_from_one_head_of_a_group(void **state)
{
    (void)state;
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){1, 2, 1, 5, 9, 8, 8});
    attention_case_plan_boolean(&test, 1, 2, 1, 9);
    allocate_and_fill(&test);
    set_all(&test.boolean, 1.0);
    test.boolean.values[4] = 0.0;
    test.key.values[4 * 8] = NAN;
    test.value.values[4 * 8] = NAN;
    check_everywhere(&test);
    for (int64_t row = 5; row < 10; row++)
        assert_true(isnan(test.context.values[row * 8 + 7]) && isnan(test.log_sum_exp.values[row]));
    attention_case_destroy(&test);
}

static void p08_dense_masks_broadcast_from_the_right(void **state)
{
    (void)state;
    const int64_t shapes[][4] = {{1, 1, 3, 4}, {2, 1, 3, 4}, {1, 2, 1, 4}, {2, 1, 1, 4},
                                 {1, 1, 3, 1}, {2, 2, 3, 4}, {1, 1, 1, 4}};
    const int32_t left_out[] = {2, 0, 1, 0, 2, 0, 3};
    for (int i = 0; i < 14; i++) {
        const int64_t *shape = shapes[i % 7];
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){2, 2, 2, 3, 4, 8, 8});
        if (i < 7)
            attention_case_plan_bias(&test, shape[0], shape[1], shape[2], shape[3]);
        else
            attention_case_plan_boolean(&test, shape[0], shape[1], shape[2], shape[3]);
        test.bias.left_out = test.boolean.left_out = left_out[i % 7];
        if (i == 2 || i == 9)
            test.bias.left_out = test.boolean.left_out = 1;
        allocate_and_fill(&test);
        check_everywhere(&test);
        attention_case_destroy(&test);
    }
}

/* [B, M] is read as [N, M]. */
static void p08_a_mask_that_does_not_broadcast_is_refused(void **state)
{
    (void)state;
    const int64_t shapes[][4] = {{1, 1, 2, 4}, {3, 1, 1, 4}, {1, 3, 3, 4}, {1, 1, 3, 5}, {1, 1, 3, 3}, {1, 1, 0, 4}};
    for (int i = 0; i < 12; i++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){2, 2, 2, 3, 4, 8, 8});
        const int64_t *shape = shapes[i % 6];
        if (i < 6)
            attention_case_plan_bias(&test, shape[0], shape[1], shape[2], shape[3]);
        else
            attention_case_plan_boolean(&test, shape[0], shape[1], shape[2], shape[3]);
        allocate_and_fill(&test);
        assert_status(attention_case_run(&test, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH);
        assert_true(test_tensor_is_untouched(&test.context));
        assert_true(test_tensor_is_untouched(&test.attention));
        attention_case_destroy(&test);
    }
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){2, 2, 2, 3, 4, 8, 8});
    attention_case_plan_boolean(&test, 1, 1, 2, 4);
    test.boolean.left_out = 2;
    allocate_and_fill(&test);
    assert_refused(attention_case_run(&test, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH, "[2, 4]");
    attention_case_destroy(&test);
}

static void check_window_pattern(int64_t left, int64_t right, const char *const *pattern)
{
    struct attention_case test;
    plan_one_head(&test, 4, 4);
    test.has_window = true;
    test.window_left = left;
    test.window_right = right;
    allocate_and_fill(&test);
    check_everywhere(&test);
    assert_attention_pattern(&test, 0, 0, pattern);
    attention_case_destroy(&test);
}

static void p09_window_counts_beside_its_own_key(void **state)
{
    (void)state;
    check_window_pattern(0, 0, (const char *[]){"x...", ".x..", "..x.", "...x"});
    check_window_pattern(1, 0, (const char *[]){"x...", "xx..", ".xx.", "..xx"});
    check_window_pattern(0, 2, (const char *[]){"xxx.", ".xxx", "..xx", "...x"});
    check_window_pattern(-1, 0, (const char *[]){"x...", "xx..", "xxx.", "xxxx"});
    check_window_pattern(1, -1, (const char *[]){"xxxx", "xxxx", ".xxx", "..xx"});
    check_window_pattern(-1, -1, (const char *[]){"xxxx", "xxxx", "xxxx", "xxxx"});
    check_window_pattern(INT64_MAX, INT64_MAX, (const char *[]){"xxxx", "xxxx", "xxxx", "xxxx"});
}

static void check_length_is_refused(bool is_query, int32_t dtype, double length)
{
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){3, 1, 1, 4, 5, 8, 8});
    struct test_tensor *lengths = is_query ? &test.query_lengths : &test.key_lengths;
    if (is_query)
        attention_case_plan_query_lengths(&test);
    else
        attention_case_plan_key_lengths(&test);
    lengths->dtype = dtype;
    allocate_and_fill(&test);
    test_tensor_set(lengths, (const double[]){2.0, 1.0, length});
    assert_refused(attention_case_run(&test, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT, "batch 2");
    assert_true(test_tensor_is_untouched(&test.context));
    assert_true(test_tensor_is_untouched(&test.attention));
    assert_true(test_tensor_is_untouched(&test.log_sum_exp));
    attention_case_destroy(&test);
}

static void p10_lengths_from_zero_to_all_are_legal_others_not(void **state)
{
    (void)state;
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){3, 1, 1, 4, 5, 8, 8});
    attention_case_plan_key_lengths(&test);
    attention_case_plan_query_lengths(&test);
    allocate_and_fill(&test);
    test_tensor_set(&test.key_lengths, (const double[]){0.0, 5.0, 2.0});
    test_tensor_set(&test.query_lengths, (const double[]){4.0, 0.0, 2.0});
    check_everywhere(&test);
    for (int64_t row = 0; row < 8; row++)
        assert_row_is_empty(&test, row);
    attention_case_destroy(&test);
    for (int is_query = 0; is_query < 2; is_query++) {
        check_length_is_refused(is_query != 0, ATTNZOO_DTYPE_INT64, -1.0);
        check_length_is_refused(is_query != 0, ATTNZOO_DTYPE_INT32, -1.0);
        check_length_is_refused(is_query != 0, ATTNZOO_DTYPE_INT64, 6.0);
        check_length_is_refused(is_query != 0, ATTNZOO_DTYPE_INT64, 0x1p32);
        check_length_is_refused(is_query != 0, ATTNZOO_DTYPE_INT64, -0x1p63);
    }
}

static void p11_key_lengths_move_the_causal_frontier_only_with_lengths(void **state)
{
    (void)state;
    const char *const *patterns[] = {
        [ATTNZOO_ALIGNMENT_BOTTOM_RIGHT] = (const char *[]){"xxx..", "xxx.."},
        [ATTNZOO_ALIGNMENT_TOP_LEFT] = (const char *[]){"x....", "xx..."},
        [ATTNZOO_ALIGNMENT_LENGTHS] = (const char *[]){"xx...", "xxx.."},
    };
    for (int32_t alignment = 0; alignment < 3; alignment++) {
        struct attention_case test;
        plan_one_head(&test, 2, 5);
        test.causal = true;
        test.alignment = alignment;
        attention_case_plan_key_lengths(&test);
        allocate_and_fill(&test);
        set_all(&test.key_lengths, 3.0);
        check_everywhere(&test);
        assert_attention_pattern(&test, 0, 0, patterns[alignment]);
        attention_case_destroy(&test);
    }
}

static void p1a_holes_of_a_boolean_mask_stay_holes(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 1, 7);
    attention_case_plan_boolean(&test, 1, 1, 1, 7);
    allocate_and_fill(&test);
    test_tensor_set(&test.boolean, (const double[]){0, 1, 1, 0, 0, 1, 0});
    check_everywhere(&test);
    assert_attention_pattern(&test, 0, 0, (const char *[]){".xx..x."});
    attention_case_destroy(&test);
}

static void segments_outside_the_keys_are_refused(void **state)
{
    (void)state;
    const int64_t offsets[] = {-1, 3, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){2, 1, 1, 3, 5, 8, 8});
        test.segments = test_tensor_plan(ATTNZOO_DTYPE_INT32, 2, (int64_t[]){2, 5});
        test.has_offset = true;
        test.offset = offsets[i];
        allocate_and_fill(&test);
        assert_status(attention_case_run(&test, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_true(test_tensor_is_untouched(&test.context));
        attention_case_destroy(&test);
    }
    /* Queries past their query length have no position to look up. */
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){2, 1, 1, 3, 5, 8, 8});
    test.segments = test_tensor_plan(ATTNZOO_DTYPE_INT32, 2, (int64_t[]){2, 5});
    attention_case_plan_query_lengths(&test);
    test.has_offset = true;
    test.offset = 3;
    allocate_and_fill(&test);
    set_all(&test.query_lengths, 2.0);
    check_everywhere(&test);
    attention_case_destroy(&test);
}

static void offsets_at_the_ends_of_the_number_range(void **state)
{
    (void)state;
    const int64_t offsets[] = {INT64_MIN, INT64_MIN + 3, INT64_MAX - 3, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        struct attention_case test;
        plan_one_head(&test, 3, 5);
        test.causal = true;
        test.has_window = true;
        test.window_left = -1;
        test.window_right = INT64_MAX;
        test.has_offset = true;
        test.offset = offsets[i];
        allocate_and_fill(&test);
        assert_ok(attention_case_run(&test, NULL));
        for (int64_t row = 0; row < 3 && i < 2; row++)
            assert_row_is_empty(&test, row);
        if (i >= 2)
            assert_attention_pattern(&test, 0, 0, (const char *[]){"xxxxx", "xxxxx", "xxxxx"});
        attention_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p01_row_that_sees_no_key_is_zero),
        cmocka_unit_test(p02_causal_with_unequal_lengths),
        cmocka_unit_test(p03_true_means_attend),
        cmocka_unit_test(p03_any_byte_but_zero_is_true),
        cmocka_unit_test(p04_keys_that_no_query_sees_are_never_read),
        cmocka_unit_test(p04_padding_by_a_dense_mask_cannot_change_the_result),
        cmocka_unit_test(p04_a_key_hidden_from_one_head_of_a_group),
        cmocka_unit_test(p08_dense_masks_broadcast_from_the_right),
        cmocka_unit_test(p08_a_mask_that_does_not_broadcast_is_refused),
        cmocka_unit_test(p09_window_counts_beside_its_own_key),
        cmocka_unit_test(p10_lengths_from_zero_to_all_are_legal_others_not),
        cmocka_unit_test(p11_key_lengths_move_the_causal_frontier_only_with_lengths),
        cmocka_unit_test(p1a_holes_of_a_boolean_mask_stay_holes),
        cmocka_unit_test(segments_outside_the_keys_are_refused),
        cmocka_unit_test(offsets_at_the_ends_of_the_number_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
