/*
 * tests/mechanisms/multi_head_pitfalls_test.c: known pitfalls of attention libraries, named by their number, where
 * query, key and value are projected into heads. Those of relative positions are in relative_pitfalls_test.c.
 */
#include "support/multi_head_case.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>

enum { FLAVORS = 3 };

static void plan_small(struct multi_head_case *test, int flavor, int64_t queries, int64_t keys)
{
    multi_head_case_plan(test, (struct multi_head_sizes){.flavor = (enum reference_flavor)flavor,
                                                         .batch = 2,
                                                         .heads = 4,
                                                         .key_heads = 2,
                                                         .queries = queries,
                                                         .keys = keys,
                                                         .head_size = 8,
                                                         .value_size = 6,
                                                         .query_width = 12,
                                                         .key_width = 12,
                                                         .value_width = 12,
                                                         .out_width = 10,
                                                         .position_width = 9,
                                                         .farthest = 2});
    multi_head_case_plan_bias(test, OUT_BIAS);
    multi_head_case_plan_bias(test, VALUE_BIAS);
}

static void allocate_and_fill(struct multi_head_case *test)
{
    struct random_source source = {42};
    multi_head_case_allocate(test);
    multi_head_case_fill(test, &source, 1.0);
}

/* Against the reference: without an executor, with two threads, and without the attention. */
static void check_everywhere(struct multi_head_case *test)
{
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    multi_head_case_check(test, executor);
    attnzoo_executor_destroy(executor);
    struct test_tensor attention = test->base.attention;
    test->base.attention = (struct test_tensor){0};
    multi_head_case_check(test, NULL);
    test->base.attention = attention;
    multi_head_case_check(test, NULL);
}

static void set_all(struct test_tensor *tensor, double value)
{
    for (int64_t i = 0; i < tensor->count; i++)
        tensor->values[i] = value;
}

static void assert_row_is_out_bias(const struct multi_head_case *test, int64_t row)
{
    int64_t width = test->base.context.shape[2];
    const double *bias = test->parameters[OUT_BIAS].values;
    for (int64_t e = 0; e < width; e++)
        assert_true(test->base.context.values[row * width + e] == (bias != NULL ? bias[e] : 0.0));
}

static void assert_row_is_nan(const struct multi_head_case *test, int64_t row, bool is_nan)
{
    int64_t width = test->base.context.shape[2];
    for (int64_t e = 0; e < width; e++)
        assert_true(isnan(test->base.context.values[row * width + e]) == is_nan);
}

/* More queries than keys, bottom-right: queries 0 to 2 come before the first key. */
static void p01_a_query_that_sees_nothing_gives_the_bias_of_out_proj(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int has_out = 0; has_out < 2; has_out++) {
            struct multi_head_case test;
            plan_small(&test, flavor, 5, 2);
            if (has_out == 0) {
                test.parameters[OUT_WEIGHT].rank = test.parameters[OUT_BIAS].rank = 0;
                test.base.context.shape[2] = 4 * 6;
            }
            test.base.causal = true;
            allocate_and_fill(&test);
            check_everywhere(&test);
            for (int64_t b = 0; b < 2; b++)
                for (int64_t i = 0; i < 3; i++)
                    assert_row_is_out_bias(&test, b * 5 + i);
            multi_head_case_destroy(&test);
        }
}

static void p01_no_keys_give_the_bias_of_out_proj(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct multi_head_case test;
        plan_small(&test, flavor, 3, 0);
        allocate_and_fill(&test);
        check_everywhere(&test);
        for (int64_t row = 0; row < 6; row++)
            assert_row_is_out_bias(&test, row);
        multi_head_case_destroy(&test);
    }
}

/* Also where the query holds NaN: what the mask hides whole stays 0. */
static void a_query_past_its_length_gives_the_bias_of_out_proj(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct multi_head_case test;
        plan_small(&test, flavor, 5, 7);
        attention_case_plan_query_lengths(&test.base);
        allocate_and_fill(&test);
        test.base.query_lengths.values[0] = 2;
        test.base.query_lengths.values[1] = 5;
        for (int64_t i = 2 * 12; i < 5 * 12; i++)
            test.base.query.values[i] = NAN;
        check_everywhere(&test);
        for (int64_t i = 2; i < 5; i++) {
            assert_row_is_out_bias(&test, i);
            assert_row_is_nan(&test, 5 + i, false);
        }
        multi_head_case_destroy(&test);
    }
}

static void p02_causal_where_queries_and_keys_differ_in_number(void **state)
{
    (void)state;
    static const char *const patterns[3][2] = {{"xxxx.", "xxxxx"}, {"x....", "xx..."}, {"xx...", "xxx.."}};
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int32_t alignment = 0; alignment < 3; alignment++) {
            struct multi_head_case test;
            plan_small(&test, flavor, 2, 5);
            test.base.causal = true;
            test.base.alignment = alignment;
            attention_case_plan_key_lengths(&test.base);
            allocate_and_fill(&test);
            set_all(&test.base.key_lengths, alignment == ATTNZOO_ALIGNMENT_LENGTHS ? 3 : 5);
            check_everywhere(&test);
            for (int64_t row = 0; row < 2 * 4 * 2; row++)
                for (int64_t j = 0; j < 5; j++)
                    assert_true((test.base.attention.values[row * 5 + j] > 0.0) ==
                                (patterns[alignment][row % 2][j] == 'x'));
            multi_head_case_destroy(&test);
        }
}

/* The dense mask [B, 1, 1, M] hides two keys, which hold NaN; so does what lies beyond the key length of batch 1. */
static void p04_hidden_keys_that_hold_nan_change_nothing(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int is_shared = 0; is_shared < 2; is_shared++) {
            struct multi_head_case test;
            plan_small(&test, flavor, 3, 6);
            attention_case_plan_boolean(&test.base, 2, 1, 1, 6);
            attention_case_plan_key_lengths(&test.base);
            if (is_shared != 0)
                multi_head_case_share_value(&test);
            allocate_and_fill(&test);
            set_all(&test.base.boolean, 1.0);
            test.base.boolean.values[0] = test.base.boolean.values[4] = 0.0;
            test.base.key_lengths.values[0] = 6;
            test.base.key_lengths.values[1] = 4;
            const int64_t hidden[] = {0, 4, 6 + 4, 6 + 5};
            for (int i = 0; i < 4; i++)
                for (int64_t e = 0; e < 12; e++) {
                    test.base.key.values[hidden[i] * 12 + e] = NAN;
                    if (is_shared == 0)
                        test.base.value.values[hidden[i] * 12 + e] = NAN;
                }
            check_everywhere(&test);
            for (int64_t row = 0; row < 6; row++)
                assert_row_is_nan(&test, row, false);
            multi_head_case_destroy(&test);
        }
}

/* Points the views of key and value at memory of which only the rows from first up to end can be touched: a page lies
 * right behind their last row, or, with rows that run backwards, right behind their first. */
static void show_rows_only(struct multi_head_case *test, struct guarded_memory memory[2], int64_t first, int64_t end)
{
    struct test_tensor *tensors[] = {&test->base.key, &test->base.value};
    for (int i = 0; i < 2; i++) {
        int64_t width = tensors[i]->shape[2];
        bool is_backwards = first > 0;
        size_t row_size = (size_t)width * sizeof(float);
        memory[i] = guarded_memory_create((size_t)(end - first) * row_size);
        for (int64_t row = first; row < end; row++)
            for (int64_t e = 0; e < width; e++) {
                float value = (float)tensors[i]->values[row * width + e];
                int64_t place = is_backwards ? end - 1 - row : row;
                memcpy(memory[i].bytes + (size_t)place * row_size + (size_t)e * sizeof value, &value, sizeof value);
            }
        unsigned char *row_0 = memory[i].bytes + (is_backwards ? (size_t)(end - 1) * row_size : 0);
        assert_ok(attnzoo_tensor_assign_readonly(tensors[i]->view, row_0, ATTNZOO_DTYPE_FLOAT32, 3, tensors[i]->shape,
                                                 (int64_t[]){0, is_backwards ? -width : width, 1}));
    }
}

/* way 0: key lengths; 1: the same with a cache; 2: causal from the top left; 3: a window at the end, which hides the
 * first keys. */
static void plan_out_of_reach(struct multi_head_case *test, int flavor, int way)
{
    plan_small(test, flavor, 3, 8);
    test->sizes.batch = 1;
    multi_head_case_plan(test, test->sizes);
    if (way < 2)
        attention_case_plan_key_lengths(&test->base);
    if (way == 1)
        multi_head_case_plan_state(test, 8);
    test->base.causal = way == 2;
    test->base.alignment = way == 2 ? ATTNZOO_ALIGNMENT_TOP_LEFT : ATTNZOO_ALIGNMENT_BOTTOM_RIGHT;
    test->base.has_window = way == 3;
    test->base.window_left = 1;
    test->base.window_right = 0;
}

static void p04_rows_that_no_query_may_see_are_not_read(void **state)
{
    (void)state;
    const int64_t first[] = {0, 0, 0, 4};
    const int64_t end[] = {5, 5, 3, 8};
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int way = 0; way < 4; way++) {
            struct multi_head_case test;
            struct guarded_memory memory[2];
            plan_out_of_reach(&test, flavor, way);
            allocate_and_fill(&test);
            set_all(&test.base.key_lengths, 5);
            multi_head_case_store(&test);
            show_rows_only(&test, memory, first[way], end[way]);
            attnzoo_module *module = multi_head_case_module(&test);
            attnzoo_mask *mask = attention_case_mask(&test.base);
            attnzoo_state *cache = multi_head_case_state(&test, module);
            assert_ok(multi_head_case_forward(&test, module, NULL, mask, cache));
            if (cache != NULL) {
                assert_ok(attnzoo_state_get_field(cache, 0, test.kept_key.view));
                assert_ok(attnzoo_state_get_field(cache, 1, test.kept_value.view));
            }
            multi_head_case_load(&test);
            assert_true(multi_head_case_compare(&test));
            attnzoo_state_destroy(cache);
            attnzoo_mask_destroy(mask);
            attnzoo_module_destroy(module);
            multi_head_case_destroy(&test);
            for (int i = 0; i < 2; i++)
                guarded_memory_destroy(&memory[i]);
        }
}

/* Key 3 of batch 0 holds NaN: under a causal mask queries 3, 4, 5 see it. Batch 1 is as it was. */
static void p13_a_nan_stays_in_the_rows_that_see_it(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int is_value = 0; is_value < 2; is_value++) {
            struct multi_head_case test;
            plan_small(&test, flavor, 6, 6);
            test.base.causal = true;
            allocate_and_fill(&test);
            (is_value != 0 ? &test.base.value : &test.base.key)->values[3 * 12 + 5] = NAN;
            check_everywhere(&test);
            for (int64_t row = 0; row < 12; row++)
                assert_row_is_nan(&test, row, row >= 3 && row < 6);
            multi_head_case_destroy(&test);
        }
}

static void p17_a_nan_in_a_query_is_seen_in_its_row_alone(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct multi_head_case test;
        plan_small(&test, flavor, 6, 6);
        multi_head_case_average(&test);
        allocate_and_fill(&test);
        test.base.query.values[(6 + 2) * 12] = NAN;
        check_everywhere(&test);
        for (int64_t row = 0; row < 12; row++)
            assert_row_is_nan(&test, row, row == 6 + 2);
        multi_head_case_destroy(&test);
    }
}

/* The value of key head g is g + 1 throughout, whatever the input. */
static void p20_query_head_reads_key_head_h_over_group(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct multi_head_case test;
        plan_small(&test, flavor, 3, 4);
        test.parameters[OUT_WEIGHT].rank = test.parameters[OUT_BIAS].rank = test.parameters[RELATIVE_VALUE].rank = 0;
        test.base.context.shape[2] = 4 * 6;
        allocate_and_fill(&test);
        set_all(&test.parameters[VALUE_WEIGHT], 0.0);
        for (int64_t row = 0; row < 2 * 6; row++)
            test.parameters[VALUE_BIAS].values[row] = (double)(row / 6 + 1);
        check_everywhere(&test);
        for (int64_t i = 0; i < test.base.context.count; i++)
            assert_true(fabs(test.base.context.values[i] - (double)(i / 6 % 4 / 2 + 1)) < 1e-5);
        multi_head_case_destroy(&test);
    }
}

/* Head h's value is 10 h + d in column d, and so is column 6 h + d of the context, as out_proj changes nothing. */
static void p21_heads_lie_side_by_side_in_the_context(void **state)
{
    (void)state;
    for (int has_out = 0; has_out < 2; has_out++) {
        struct multi_head_case test;
        plan_small(&test, REFERENCE_PLAIN, 3, 4);
        struct multi_head_sizes sizes = test.sizes;
        sizes.key_heads = 4;
        sizes.out_width = has_out != 0 ? 4 * 6 : 0;
        multi_head_case_plan(&test, sizes);
        multi_head_case_plan_bias(&test, VALUE_BIAS);
        allocate_and_fill(&test);
        set_all(&test.parameters[VALUE_WEIGHT], 0.0);
        set_all(&test.parameters[OUT_WEIGHT], 0.0);
        for (int64_t row = 0; row < 4 * 6; row++) {
            test.parameters[VALUE_BIAS].values[row] = (double)(row / 6 * 10 + row % 6);
            if (has_out != 0)
                test.parameters[OUT_WEIGHT].values[row * 4 * 6 + row] = 1.0;
        }
        check_everywhere(&test);
        for (int64_t i = 0; i < test.base.context.count; i++)
            assert_true(fabs(test.base.context.values[i] - (double)(i / 6 % 4 * 10 + i % 6)) < 1e-4);
        multi_head_case_destroy(&test);
    }
}

/* Scores 16/sqrt(16) and 0 of heads of size 16, in a model of size 64. */
static void p22_the_default_scale_is_that_of_the_head(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct multi_head_case test;
        multi_head_case_plan(&test, (struct multi_head_sizes){(enum reference_flavor)flavor, 1, 4, 4, 1, 2, 0, 16, 16,
                                                              64, 1, 1, 0, 64, 1});
        multi_head_case_plan_bias(&test, QUERY_BIAS);
        allocate_and_fill(&test);
        for (int i = 0; i < MULTI_HEAD_PARAMETERS; i++)
            set_all(&test.parameters[i], i == QUERY_BIAS || i == KEY_WEIGHT ? 1.0 : 0.0);
        test.base.key.values[0] = 1.0;
        test.base.key.values[1] = 0.0;
        check_everywhere(&test);
        for (int64_t h = 0; h < 4; h++)
            assert_true(fabs(test.base.attention.values[h * 2] - 1.0 / (1.0 + exp(-4.0))) < 1e-6);
        multi_head_case_destroy(&test);
    }
}

/* Another handle on the same memory is the same view. */
static void self_attention_is_known_by_its_view_not_by_its_handle(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_small(&test, REFERENCE_PLAIN, 9, 9);
    multi_head_case_share_all(&test);
    allocate_and_fill(&test);
    check_everywhere(&test);
    static double before[2 * 9 * 10];
    assert_int_equal(test.base.context.count, 2 * 9 * 10);
    memcpy(before, test.base.context.values, sizeof before);
    attnzoo_module *module = multi_head_case_module(&test);
    attnzoo_tensor *twins[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        assert_ok(attnzoo_tensor_create_readonly(&twins[i], attnzoo_tensor_data(test.base.query.view),
                                                 ATTNZOO_DTYPE_FLOAT32, 3, test.base.query.shape, NULL));
    test_tensor_poison(&test.base.context);
    assert_ok(attnzoo_module_forward(module, NULL, test.base.query.view, twins[0], twins[1], NULL, NULL,
                                     test.base.context.view, test.base.attention.view));
    test_tensor_load(&test.base.context);
    assert_memory_equal(before, test.base.context.values, sizeof before);
    attnzoo_tensor_destroy(twins[0]);
    attnzoo_tensor_destroy(twins[1]);
    attnzoo_module_destroy(module);
    multi_head_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p01_a_query_that_sees_nothing_gives_the_bias_of_out_proj),
        cmocka_unit_test(p01_no_keys_give_the_bias_of_out_proj),
        cmocka_unit_test(a_query_past_its_length_gives_the_bias_of_out_proj),
        cmocka_unit_test(p02_causal_where_queries_and_keys_differ_in_number),
        cmocka_unit_test(p04_hidden_keys_that_hold_nan_change_nothing),
        cmocka_unit_test(p04_rows_that_no_query_may_see_are_not_read),
        cmocka_unit_test(p13_a_nan_stays_in_the_rows_that_see_it),
        cmocka_unit_test(p17_a_nan_in_a_query_is_seen_in_its_row_alone),
        cmocka_unit_test(p20_query_head_reads_key_head_h_over_group),
        cmocka_unit_test(p21_heads_lie_side_by_side_in_the_context),
        cmocka_unit_test(p22_the_default_scale_is_that_of_the_head),
        cmocka_unit_test(self_attention_is_known_by_its_view_not_by_its_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
