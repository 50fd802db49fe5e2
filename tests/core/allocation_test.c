/*
 * tests/core/allocation_test.c: how much memory calls ask for. What happens when it is refused is in
 * allocation_failure_test.c.
 */
#include "support/attention_case.h"
#include "support/testing.h"
#include "support/watched_allocator.h"

#include <inttypes.h>

/* Different paths through the library: one query, grouped heads, halves, strides, masks of every kind. */
static void plan_variant(struct attention_case *test, int variant)
{
    const int64_t queries[] = {200, 1, 70, 5, 130, 1};
    attention_case_plan(test, (struct attention_sizes){2, 4, 2, queries[variant], 300, 48, 80});
    test->is_masked = variant > 0;
    test->causal = variant == 2;
    if (variant == 1 || variant == 5)
        attention_case_plan_key_lengths(test);
    if (variant == 2) {
        attention_case_plan_boolean(test, 1, 1, 70, 300);
        attention_case_plan_bias(test, 2, 4, 1, 300);
        test->attention.rank = 0;
        test->log_sum_exp.rank = 0;
    }
    if (variant == 3) {
        test->key.dtype = ATTNZOO_DTYPE_FLOAT16;
        test->value.dtype = ATTNZOO_DTYPE_BFLOAT16;
        test->context.dtype = ATTNZOO_DTYPE_FLOAT16;
        test->query.step = test->key.step = test->value.step = test->context.step = 2;
    }
    if (variant == 4) {
        test->slopes = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){4});
        test->segments = test_tensor_plan(ATTNZOO_DTYPE_INT32, 2, (int64_t[]){2, 300});
        attention_case_plan_query_lengths(test);
        test->has_window = true;
        test->window_left = 40;
        test->window_right = 7;
        test->softcap = 3.0;
    }
    struct random_source source = {5};
    attention_case_allocate(test);
    attention_case_fill(test, &source, 1.0);
    attention_case_store(test);
}

enum { VARIANTS = 6 };

static void after_the_first_call_of_a_shape_nothing_is_allocated(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            struct attention_case test;
            plan_variant(&test, variant);
            attnzoo_executor *executor = NULL;
            assert_ok(attnzoo_executor_create(&executor, threads));
            attnzoo_module *module = attention_case_module(&test);
            attnzoo_mask *mask = attention_case_mask(&test);
            assert_ok(attention_case_forward(&test, module, executor, mask));
            allocator_watch();
            attnzoo_status status = ATTNZOO_STATUS_OK;
            for (int call = 0; call < 20 && status == ATTNZOO_STATUS_OK; call++)
                status = attention_case_forward(&test, module, executor, mask);
            struct allocation_counts counts = allocator_stop();
            assert_ok(status);
            if (counts.calls + counts.threads > 0)
                fail_msg("variant %d, %d threads: %" PRId64 " allocations, the last from %s; %" PRId64 " threads",
                         variant, (int)threads, counts.calls, allocator_last_caller(), counts.threads);
            /* A BLAS may keep a buffer for each thread that calls it, and a thread may get its first work late. */
            if (counts.blas_calls > 0)
                print_message("variant %d, %d threads: the BLAS allocated %" PRId64 " times\n", variant, (int)threads,
                              counts.blas_calls);
            attnzoo_mask_destroy(mask);
            attnzoo_module_destroy(module);
            attnzoo_executor_destroy(executor);
            attention_case_destroy(&test);
        }
}

/* One executor that has seen all shapes allocates for none of them, in any order. */
static void shapes_may_take_turns(void **state)
{
    (void)state;
    struct attention_case tests[VARIANTS];
    attnzoo_module *modules[VARIANTS];
    attnzoo_mask *masks[VARIANTS];
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    for (int i = 0; i < VARIANTS; i++) {
        plan_variant(&tests[i], i);
        modules[i] = attention_case_module(&tests[i]);
        masks[i] = attention_case_mask(&tests[i]);
        assert_ok(attention_case_forward(&tests[i], modules[i], executor, masks[i]));
    }
    allocator_watch();
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (int i = 0; i < 5 * VARIANTS && status == ATTNZOO_STATUS_OK; i++) {
        int variant = i * 5 % VARIANTS;
        status = attention_case_forward(&tests[variant], modules[variant], executor, masks[variant]);
    }
    struct allocation_counts counts = allocator_stop();
    assert_ok(status);
    assert_int_equal(counts.calls, 0);
    for (int i = 0; i < VARIANTS; i++) {
        attnzoo_mask_destroy(masks[i]);
        attnzoo_module_destroy(modules[i]);
        attention_case_destroy(&tests[i]);
    }
    attnzoo_executor_destroy(executor);
}

/* Decoding: views and mask are changed between calls without a new allocation. */
static void views_are_pointed_elsewhere_without_allocating(void **state)
{
    (void)state;
    struct attention_case test;
    plan_variant(&test, 1);
    attnzoo_mask *mask = attention_case_mask(&test);
    allocator_watch();
    attnzoo_status status = attnzoo_tensor_set_data(test.key.view, test.key.memory.bytes);
    status |= attnzoo_tensor_set_readonly_data(test.key.view, test.key.memory.bytes);
    status |= attnzoo_tensor_assign(test.value.view, test.value.memory.bytes, ATTNZOO_DTYPE_FLOAT32, 2,
                                    (int64_t[]){2, 2}, NULL);
    status |= attnzoo_tensor_assign_readonly(test.value.view, test.value.memory.bytes, ATTNZOO_DTYPE_FLOAT32, 2,
                                             (int64_t[]){2, 2}, NULL);
    status |= attnzoo_mask_set_key_lengths(mask, test.key_lengths.view);
    status |= attnzoo_mask_set_query_offset(mask, 7);
    struct allocation_counts counts = allocator_stop();
    assert_ok(status);
    assert_int_equal(counts.calls, 0);
    attnzoo_mask_destroy(mask);
    attention_case_destroy(&test);
}

/* What one call without an executor asks for. */
static struct allocation_counts counts_of_call(struct attention_case *test)
{
    struct random_source source = {5};
    attention_case_allocate(test);
    attention_case_fill(test, &source, 1.0);
    attention_case_store(test);
    attnzoo_module *module = attention_case_module(test);
    attnzoo_mask *mask = attention_case_mask(test);
    allocator_watch();
    attnzoo_status status = attention_case_forward(test, module, NULL, mask);
    struct allocation_counts counts = allocator_stop();
    assert_ok(status);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    attention_case_destroy(test);
    return counts;
}

static void plan_large(struct attention_case *test)
{
    attention_case_plan(test, (struct attention_sizes){1, 8, 8, 1024, 1024, 16, 16});
    test->attention.rank = 0;
    test->log_sum_exp.rank = 0;
}

/* A mask [N, M] of bytes takes a megabyte, a copy a head eight, widened to floats thirty-two. */
static void p1b_a_broadcast_mask_is_not_copied(void **state)
{
    (void)state;
    struct attention_case test;
    plan_large(&test);
    int64_t without = counts_of_call(&test).bytes;
    for (int way = 0; way < 4; way++) {
        plan_large(&test);
        if (way == 0)
            attention_case_plan_boolean(&test, 1, 1, 1024, 1024);
        if (way == 1)
            attention_case_plan_bias(&test, 1, 1, 1024, 1024);
        if (way == 2)
            attention_case_plan_bias(&test, 1, 8, 1, 1024);
        if (way == 3) {
            attention_case_plan_bias(&test, 1, 1, 1024, 1024);
            test.bias.order[2] = 3;
            test.bias.order[3] = 2;
        }
        int64_t with = counts_of_call(&test).bytes;
        if (with - without >= 512 * 1024)
            fail_msg("way %d: %" PRId64 " bytes with the mask, %" PRId64 " without", way, with, without);
    }
}

/* 1024 x 1024 floats are four megabytes a head. */
static void without_the_attention_no_matrix_of_scores_is_held(void **state)
{
    (void)state;
    struct attention_case test;
    plan_large(&test);
    int64_t bytes = counts_of_call(&test).bytes;
    if (bytes >= 4 * 1024 * 1024)
        fail_msg("%" PRId64 " bytes", bytes);
}

/* Everything made is given back. */
static void nothing_is_left_after_handles_are_destroyed(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        allocator_watch();
        struct attention_case test;
        plan_variant(&test, round);
        attnzoo_executor *executor = NULL;
        assert_ok(attnzoo_executor_create(&executor, 1));
        attnzoo_module *module = attention_case_module(&test);
        attnzoo_mask *mask = attention_case_mask(&test);
        assert_ok(attention_case_forward(&test, module, executor, mask));
        assert_ok(attention_case_forward(&test, module, NULL, mask));
        attnzoo_mask_destroy(mask);
        attnzoo_module_destroy(module);
        attnzoo_executor_destroy(executor);
        attention_case_destroy(&test);
        struct allocation_counts counts = allocator_stop();
        if (round > 0)
            assert_int_equal(counts.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_the_first_call_of_a_shape_nothing_is_allocated),
        cmocka_unit_test(shapes_may_take_turns),
        cmocka_unit_test(views_are_pointed_elsewhere_without_allocating),
        cmocka_unit_test(p1b_a_broadcast_mask_is_not_copied),
        cmocka_unit_test(without_the_attention_no_matrix_of_scores_is_held),
        cmocka_unit_test(nothing_is_left_after_handles_are_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
