/*
 * tests/mechanisms/kept_keys_test.c: pitfall 40: a state of location_aware keeps the projections of keys and values, of
 * those that were seen and no others, and knows which they are.
 */
#include "mechanisms/recurrence.h"
#include "support/tanh_part.h"
#include "support/testing.h"

#include <string.h>
#include <sys/mman.h>

static void protect(const struct test_tensor *tensor, int access)
{
    assert_int_equal(mprotect(tensor->memory.pages, tensor->memory.pages_size, access), 0);
}

/* Keys and values cannot be read after the first step: their projections are in the state. */
static void p40_later_steps_do_not_read_the_keys(void **state)
{
    (void)state;
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    for (int i = 0; i < 6; i++) {
        struct tanh_case test;
        recurrence_plan(&test, recurrence_sizes(2, 5, 700), (enum reference_feedback)(i % 3));
        attention_case_plan_key_lengths(&test.call);
        tanh_case_allocate_and_fill(&test);
        tanh_case_store(&test);
        attnzoo_module *module = tanh_case_module(&test);
        attnzoo_state *carried = tanh_case_state(&test, module);
        for (int64_t t = 0; t < 5; t++) {
            if (t == 1) {
                protect(&test.call.key, PROT_NONE);
                protect(&test.call.value, PROT_NONE);
                /* Another handle that shows the same is the same view. */
                int64_t shape[] = {2, 700, 4};
                assert_ok(attnzoo_tensor_assign_readonly(test.call.key.view, test.call.key.memory.bytes,
                                                         ATTNZOO_DTYPE_FLOAT32, 3, shape, NULL));
            }
            assert_ok(tanh_case_forward_part(&test, t, 1, module, i % 2 == 0 ? executor : NULL, carried));
        }
        protect(&test.call.key, PROT_READ | PROT_WRITE);
        protect(&test.call.value, PROT_READ | PROT_WRITE);
        tanh_case_load(&test);
        assert_true(tanh_case_compare(&test));
        attnzoo_state_destroy(carried);
        attnzoo_module_destroy(module);
        tanh_case_destroy(&test);
    }
    attnzoo_executor_destroy(executor);
}

/* Key lengths that grow from step to step, as a stream does: keys that come into sight later are projected then. */
static void p40_keys_that_come_into_sight_later(void **state)
{
    (void)state;
    struct tanh_case test;
    recurrence_plan(&test, recurrence_sizes(2, 6, 50), REFERENCE_BOTH);
    attention_case_plan_key_lengths(&test.call);
    tanh_case_allocate_and_fill(&test);
    attnzoo_module *module = NULL;
    attnzoo_state *carried = NULL;
    struct reference_alignment expected = reference_alignment_create(2, 2, 50);
    const double lengths[6][2] = {{10, 50}, {20, 3}, {20, 40}, {0, 50}, {49, 1}, {50, 50}};
    tanh_case_store(&test);
    module = tanh_case_module(&test);
    carried = tanh_case_state(&test, module);
    for (int call = 0; call < 6; call++) {
        memcpy(test.call.key_lengths.values, lengths[call], sizeof lengths[call]);
        tanh_case_store(&test);
        attnzoo_mask *mask = attention_case_mask(&test.call);
        struct reference_result result = tanh_case_expect(&test, &expected);
        assert_ok(tanh_case_forward(&test, module, NULL, mask, carried));
        tanh_case_load(&test);
        assert_true(tanh_case_compare_with(&test, &result));
        reference_result_destroy(&result);
        attnzoo_mask_destroy(mask);
    }
    reference_alignment_destroy(&expected);
    attnzoo_state_destroy(carried);
    attnzoo_module_destroy(module);
    tanh_case_destroy(&test);
}

/* Other memory, or the same after a reset, is looked at anew. */
static void p40_other_keys_are_projected_anew(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct tanh_case test;
        recurrence_plan(&test, recurrence_sizes(1, 1, 20), REFERENCE_PREVIOUS);
        struct test_tensor other_key = test.call.key, other_value = test.call.value;
        tanh_case_allocate_and_fill(&test);
        struct random_source source = {77};
        test_tensor_allocate(&other_key);
        test_tensor_allocate(&other_value);
        test_tensor_fill(&other_key, &source, -1.0, 1.0);
        test_tensor_fill(&other_value, &source, -1.0, 1.0);
        test_tensor_store(&other_key);
        test_tensor_store(&other_value);
        tanh_case_store(&test);
        attnzoo_module *module = tanh_case_module(&test);
        attnzoo_state *carried = tanh_case_state(&test, module);
        struct reference_alignment expected = reference_alignment_create(1, 2, 20);
        struct reference_result result = tanh_case_expect(&test, &expected);
        reference_result_destroy(&result);
        assert_ok(tanh_case_forward(&test, module, NULL, NULL, carried));
        if (way == 0 || way == 1) {
            /* Keys alone, or values alone. */
            struct test_tensor *mine = way == 0 ? &test.call.key : &test.call.value;
            struct test_tensor *other = way == 0 ? &other_key : &other_value;
            struct test_tensor kept = *mine;
            *mine = *other;
            *other = kept;
        } else {
            test_tensor_set(&test.call.key, other_key.values);
            tanh_case_store(&test);
        }
        if (way == 2) {
            assert_ok(attnzoo_state_reset(carried));
            reference_alignment_destroy(&expected);
            expected = reference_alignment_create(1, 2, 20);
        }
        result = tanh_case_expect(&test, &expected);
        assert_ok(tanh_case_forward(&test, module, NULL, NULL, carried));
        tanh_case_load(&test);
        assert_true(tanh_case_compare_with(&test, &result));
        reference_result_destroy(&result);
        reference_alignment_destroy(&expected);
        test_tensor_destroy(&other_key);
        test_tensor_destroy(&other_value);
        attnzoo_state_destroy(carried);
        attnzoo_module_destroy(module);
        tanh_case_destroy(&test);
    }
}

/* One query a call, each of which sees the keys from first to end - 1: what was projected before is a span, and spans
 * grow, leap, leave gaps and come back. */
static void p40_spans_of_keys_that_leap(void **state)
{
    (void)state;
    const int64_t spans[][2] = {{4, 6}, {0, 3}, {4, 6}, {5, 6}, {7, 9}, {3, 9}, {10, 12}, {0, 12}, {2, 20}, {0, 20}};
    struct tanh_case test;
    recurrence_plan(&test, recurrence_sizes(1, 1, 20), REFERENCE_CUMULATIVE);
    test.call.has_window = test.call.has_offset = true;
    tanh_case_allocate_and_fill(&test);
    tanh_case_store(&test);
    attnzoo_module *module = tanh_case_module(&test);
    attnzoo_state *carried = tanh_case_state(&test, module);
    struct reference_alignment expected = reference_alignment_create(1, 2, 20);
    for (size_t call = 0; call < sizeof spans / sizeof *spans; call++) {
        test.call.offset = spans[call][0];
        test.call.window_left = 0;
        test.call.window_right = spans[call][1] - spans[call][0] - 1;
        attnzoo_mask *mask = attention_case_mask(&test.call);
        struct reference_result result = tanh_case_expect(&test, &expected);
        assert_ok(tanh_case_forward(&test, module, NULL, mask, carried));
        tanh_case_load(&test);
        assert_true(tanh_case_compare_with(&test, &result));
        reference_result_destroy(&result);
        attnzoo_mask_destroy(mask);
    }
    reference_alignment_destroy(&expected);
    attnzoo_state_destroy(carried);
    attnzoo_module_destroy(module);
    tanh_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p40_later_steps_do_not_read_the_keys),
        cmocka_unit_test(p40_keys_that_come_into_sight_later),
        cmocka_unit_test(p40_other_keys_are_projected_anew),
        cmocka_unit_test(p40_spans_of_keys_that_leap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
