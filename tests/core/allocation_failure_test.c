/*
 * tests/core/allocation_failure_test.c: every allocation and every start of a thread fails in turn, in every public
 * call that makes some: the call says so, leaks nothing, writes no output, and works when it is made again.
 */
#include "support/attention_case.h"
#include "support/testing.h"
#include "support/failing_allocation.h"
#include "support/watched_allocator.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One call under test. It owns what it makes and gives all of it back. */
struct scenario {
    const char *name;
    attnzoo_status (*run)(struct attention_case *test);
};

static attnzoo_status create_tensor(struct attention_case *test)
{
    attnzoo_tensor *tensor = NULL;
    attnzoo_status status =
        attnzoo_tensor_create(&tensor, test->key.memory.bytes, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){2}, NULL);
    assert_true((status == ATTNZOO_STATUS_OK) == (tensor != NULL));
    attnzoo_tensor_destroy(tensor);
    return status;
}

static attnzoo_status create_readonly_tensor(struct attention_case *test)
{
    attnzoo_tensor *tensor = NULL;
    attnzoo_status status =
        attnzoo_tensor_create_readonly(&tensor, test->key.memory.bytes, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){2}, NULL);
    assert_true((status == ATTNZOO_STATUS_OK) == (tensor != NULL));
    attnzoo_tensor_destroy(tensor);
    return status;
}

/* All setters together. */
static attnzoo_status make_mask(struct attention_case *test)
{
    attnzoo_mask *mask = NULL;
    attnzoo_status status = attnzoo_mask_create(&mask);
    assert_true((status == ATTNZOO_STATUS_OK) == (mask != NULL));
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_causal(mask, 1);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_window(mask, 5, 5);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_key_lengths(mask, test->key_lengths.view);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_query_lengths(mask, test->query_lengths.view);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_boolean(mask, test->boolean.view);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_bias(mask, test->bias.view);
    attnzoo_mask_destroy(mask);
    return status;
}

static attnzoo_status lend_as_dlpack(struct attention_case *test)
{
    struct DLManagedTensor *managed = NULL;
    attnzoo_tensor *tensor = NULL;
    attnzoo_status status = attnzoo_tensor_to_dlpack(&managed, test->context.view, NULL, NULL);
    assert_true((status == ATTNZOO_STATUS_OK) == (managed != NULL));
    if (status != ATTNZOO_STATUS_OK)
        return status;
    status = attnzoo_tensor_create_from_dlpack(&tensor, managed);
    assert_true((status == ATTNZOO_STATUS_OK) == (tensor != NULL));
    /* What was not taken over is still the caller's, who hands it on once more. */
    if (status != ATTNZOO_STATUS_OK)
        assert_int_equal(attnzoo_tensor_create_from_dlpack(&tensor, managed), ATTNZOO_STATUS_OK);
    attnzoo_tensor_destroy(tensor);
    return status;
}

static attnzoo_status lend_as_versioned_dlpack(struct attention_case *test)
{
    struct DLManagedTensorVersioned *managed = NULL;
    attnzoo_tensor *tensor = NULL;
    attnzoo_status status = attnzoo_tensor_to_dlpack_versioned(&managed, test->context.view, NULL, NULL);
    assert_true((status == ATTNZOO_STATUS_OK) == (managed != NULL));
    if (status != ATTNZOO_STATUS_OK)
        return status;
    status = attnzoo_tensor_create_from_dlpack_versioned(&tensor, managed);
    assert_true((status == ATTNZOO_STATUS_OK) == (tensor != NULL));
    if (status != ATTNZOO_STATUS_OK)
        assert_int_equal(attnzoo_tensor_create_from_dlpack_versioned(&tensor, managed), ATTNZOO_STATUS_OK);
    attnzoo_tensor_destroy(tensor);
    return status;
}

static attnzoo_status make_module(struct attention_case *test)
{
    (void)test;
    attnzoo_module *module = NULL;
    attnzoo_status status = attnzoo_module_create(&module, "scaled_dot_product");
    assert_true((status == ATTNZOO_STATUS_OK) == (module != NULL));
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_set_option_text(module, "scale", "0.5");
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_set_option_float(module, "softcap", 0.5);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_prepare(module);
    attnzoo_module_destroy(module);
    return status;
}

static attnzoo_status create_executor(struct attention_case *test)
{
    (void)test;
    attnzoo_executor *executor = NULL;
    attnzoo_status status = attnzoo_executor_create(&executor, 3);
    assert_true((status == ATTNZOO_STATUS_OK) == (executor != NULL));
    attnzoo_executor_destroy(executor);
    return status;
}

/* What the calls below need, made before anything fails. */
static attnzoo_module *module;
static attnzoo_mask *mask;

static attnzoo_status forward_without_executor(struct attention_case *test)
{
    return attention_case_forward(test, module, NULL, mask);
}

static attnzoo_status forward_on_new_executor(struct attention_case *test)
{
    attnzoo_executor *executor = NULL;
    attnzoo_status status = attnzoo_executor_create(&executor, 3);
    if (status == ATTNZOO_STATUS_OK)
        status = attention_case_forward(test, module, executor, mask);
    /* A call that failed leaves an executor that can be used. */
    if (status != ATTNZOO_STATUS_OK && executor != NULL) {
        char first_words[128];
        snprintf(first_words, sizeof first_words, "%s", attnzoo_last_error());
        assert_true(strlen(first_words) > 0);
        assert_true(test_tensor_is_untouched(&test->context));
        if (attention_case_forward(test, module, executor, mask) != ATTNZOO_STATUS_OK)
            print_error("the executor failed again: %s\n", attnzoo_last_error());
        attention_case_load(test);
        assert_true(attention_case_compare(test));
        test_tensor_poison(&test->context);
        test_tensor_poison(&test->attention);
        test_tensor_poison(&test->log_sum_exp);
    }
    attnzoo_executor_destroy(executor);
    return status;
}

static attnzoo_status merge(struct attention_case *test)
{
    return attnzoo_merge_contexts(test->query.view, test->log_sum_exp.view, test->query.view, test->log_sum_exp.view,
                                  test->context.view, NULL);
}

static attnzoo_status output_shape(struct attention_case *test)
{
    const attnzoo_tensor *inputs[] = {test->query.view, test->key.view, test->value.view};
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    return attnzoo_module_output_shape(module, inputs, 3, NULL, ATTNZOO_OUTPUT_CONTEXT, &rank, shape);
}

static const struct scenario SCENARIOS[] = {
    {"create_tensor", create_tensor},
    {"create_readonly_tensor", create_readonly_tensor},
    {"lend_as_dlpack", lend_as_dlpack},
    {"lend_as_versioned_dlpack", lend_as_versioned_dlpack},
    {"make_mask", make_mask},
    {"make_module", make_module},
    {"create_executor", create_executor},
    {"forward_without_executor", forward_without_executor},
    {"forward_on_new_executor", forward_on_new_executor},
    {"merge", merge},
    {"output_shape", output_shape},
};

enum { SCENARIO_COUNT = sizeof SCENARIOS / sizeof *SCENARIOS };

static void plan(struct attention_case *test)
{
    attention_case_plan(test, (struct attention_sizes){2, 4, 2, 70, 200, 24, 24});
    attention_case_plan_boolean(test, 1, 1, 70, 200);
    attention_case_plan_bias(test, 1, 4, 1, 200);
    attention_case_plan_key_lengths(test);
    attention_case_plan_query_lengths(test);
    struct random_source source = {9};
    attention_case_allocate(test);
    attention_case_fill(test, &source, 1.0);
    attention_case_store(test);
}

/* A scenario and what it works on. */
struct scenario_run {
    const struct scenario *scenario;
    struct attention_case *test;
};

static attnzoo_status run_scenario(void *context)
{
    const struct scenario_run *run = context;
    return run->scenario->run(run->test);
}

static void check_scenario(const struct scenario *scenario, struct attention_case *test, bool is_thread)
{
    struct scenario_run run = {scenario, test};
    const struct failing_call call = {.name = scenario->name,
                                      .run = run_scenario,
                                      .context = &run,
                                      .outputs = {&test->context, &test->attention, &test->log_sum_exp},
                                      .is_thread = is_thread};
    int64_t failures = fail_in_turn(&call);
    print_message("%s: %d %s failed in turn\n", scenario->name, (int)failures, is_thread ? "threads" : "allocations");
}

static void check_all(bool is_thread)
{
    struct attention_case test;
    plan(&test);
    module = attention_case_module(&test);
    mask = attention_case_mask(&test);
    for (int i = 0; i < SCENARIO_COUNT; i++)
        check_scenario(&SCENARIOS[i], &test, is_thread);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    attention_case_destroy(&test);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    check_all(false);
}

static void every_start_of_a_thread_may_fail(void **state)
{
    (void)state;
    check_all(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_start_of_a_thread_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
