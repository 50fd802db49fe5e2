/*
 * tests/core/allocation_multi_head_test.c: how much memory multi_head and relative_multi_head ask for, that decoding
 * with a cache asks for none, and that each allocation may fail.
 */
#include "support/multi_head_case.h"
#include "support/testing.h"
#include "support/failing_allocation.h"
#include "support/watched_allocator.h"

#include <inttypes.h>

enum { FLAVORS = 3, VARIANTS = 5, PAST = 6 };

/* Different paths: self-attention in one product, a cache, types, strides, masks, options. */
static void create(struct multi_head_case *test, int flavor, int variant)
{
    struct random_source source = {5};
    struct multi_head_sizes sizes = {.flavor = (enum reference_flavor)flavor,
                                     .batch = 2,
                                     .heads = 4,
                                     .key_heads = 2,
                                     .queries = variant == 1 ? 1 : 90,
                                     .keys = variant == 1 ? 1 : 90,
                                     .past = variant == 1 || variant == 4 ? PAST : 0,
                                     .head_size = 24,
                                     .value_size = 20,
                                     .query_width = 30,
                                     .key_width = 30,
                                     .value_width = 30,
                                     .out_width = variant == 2 ? 0 : 40,
                                     .position_width = 12,
                                     .farthest = 5};
    multi_head_case_plan(test, sizes);
    if (variant < 2)
        multi_head_case_share_all(test);
    if (sizes.past > 0)
        multi_head_case_plan_state(test, sizes.past + sizes.keys);
    if (variant == 2) {
        multi_head_case_share_value(test);
        test->base.query.dtype = test->base.context.dtype = ATTNZOO_DTYPE_FLOAT16;
        test->base.key.dtype = ATTNZOO_DTYPE_BFLOAT16;
        test->base.query.step = test->base.key.step = test->base.context.step = 2;
        test->base.attention.rank = 0;
        test->base.causal = true;
    }
    if (variant > 2) {
        attention_case_plan_key_lengths(&test->base);
        attention_case_plan_query_lengths(&test->base);
        attention_case_plan_boolean(&test->base, 1, 1, sizes.queries, sizes.past + sizes.keys);
        multi_head_case_average(test);
        test->base.softcap = 4.0;
    }
    multi_head_case_allocate(test);
    multi_head_case_fill(test, &source, 1.0);
    multi_head_case_store(test);
}

static void after_the_first_call_of_a_shape_nothing_is_allocated(void **state)
{
    (void)state;
    for (int i = 0; i < FLAVORS * VARIANTS * 3; i++) {
        int flavor = i % FLAVORS, variant = i / FLAVORS % VARIANTS, threads = 1 + i / (FLAVORS * VARIANTS);
        struct multi_head_case test;
        create(&test, flavor, variant);
        attnzoo_executor *executor = NULL;
        assert_ok(attnzoo_executor_create(&executor, threads));
        attnzoo_module *module = multi_head_case_module(&test);
        attnzoo_mask *mask = attention_case_mask(&test.base);
        attnzoo_state *cache = multi_head_case_state(&test, module);
        assert_ok(multi_head_case_forward(&test, module, executor, mask, cache));
        allocator_watch();
        attnzoo_status status = ATTNZOO_STATUS_OK;
        for (int call = 0; call < 10 && status == ATTNZOO_STATUS_OK; call++) {
            if (cache != NULL)
                status = attnzoo_state_truncate(cache, PAST);
            if (status == ATTNZOO_STATUS_OK)
                status = multi_head_case_forward(&test, module, executor, mask, cache);
        }
        struct allocation_counts counts = allocator_stop();
        assert_ok(status);
        if (counts.calls + counts.threads > 0)
            fail_msg("flavor %d, variant %d, %d threads: %" PRId64 " allocations, the last from %s; %" PRId64
                     " threads",
                     flavor, variant, threads, counts.calls, allocator_last_caller(), counts.threads);
        attnzoo_state_destroy(cache);
        attnzoo_mask_destroy(mask);
        attnzoo_module_destroy(module);
        attnzoo_executor_destroy(executor);
        multi_head_case_destroy(&test);
    }
}

/* One token a call. The cache grows from step to step, so the executor sees the longest first. */
static void decoding_with_a_cache_allocates_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < FLAVORS * 3; i++) {
        struct multi_head_case test;
        create(&test, i % FLAVORS, 1);
        attnzoo_executor *executor = NULL;
        assert_ok(attnzoo_executor_create(&executor, 1 + i / FLAVORS));
        attnzoo_module *module = multi_head_case_module(&test);
        attnzoo_state *cache = NULL, *copy = NULL;
        assert_ok(attnzoo_state_create(&cache, module, 2, PAST + 1));
        assert_ok(attnzoo_state_create(&copy, module, 2, PAST + 1));
        /* The table of the last step is the longest; those before are its last rows. */
        attnzoo_tensor *tables[PAST + 1] = {NULL};
        for (int64_t t = 0; t <= PAST && test.position.rank > 0; t++)
            assert_ok(attnzoo_tensor_create_readonly(
                &tables[t], (const float *)(const void *)test.position.memory.bytes + (PAST - t) * 12,
                ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){t + 1, 12}, NULL));
        const attnzoo_tensor *inputs[] = {test.base.query.view, test.base.query.view, test.base.query.view, NULL};
        attnzoo_tensor *outputs[] = {test.base.context.view};
        int32_t count = test.position.rank > 0 ? 4 : 3;
        attnzoo_status status = ATTNZOO_STATUS_OK;
        for (int round = 0; round < 3; round++) {
            if (round == 1)
                allocator_watch();
            for (int64_t t = 0; t <= PAST && status == ATTNZOO_STATUS_OK; t++) {
                inputs[3] = tables[t];
                status = attnzoo_module_forward_slots(module, executor, inputs, count, NULL, cache, outputs, 1);
            }
            if (status == ATTNZOO_STATUS_OK)
                status = attnzoo_state_copy(copy, cache);
            if (status == ATTNZOO_STATUS_OK)
                status = attnzoo_state_reset(cache);
        }
        struct allocation_counts counts = allocator_stop();
        assert_ok(status);
        if (counts.calls + counts.threads > 0)
            fail_msg("flavor %d: %" PRId64 " allocations, the last from %s", i % FLAVORS, counts.calls,
                     allocator_last_caller());
        for (int t = 0; t <= PAST; t++)
            attnzoo_tensor_destroy(tables[t]);
        attnzoo_state_destroy(copy);
        attnzoo_state_destroy(cache);
        attnzoo_module_destroy(module);
        attnzoo_executor_destroy(executor);
        multi_head_case_destroy(&test);
    }
}

/* 1024 x 1024 floats are four megabytes a head; positions have twice as many columns. */
static void no_matrix_of_scores_is_held(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct multi_head_case test;
        struct random_source source = {5};
        multi_head_case_plan(&test, (struct multi_head_sizes){(enum reference_flavor)flavor, 1, 8, 8, 1024, 1024, 0, 8,
                                                              8, 16, 16, 16, 0, 16, 4});
        test.base.attention.rank = 0;
        multi_head_case_allocate(&test);
        multi_head_case_fill(&test, &source, 1.0);
        multi_head_case_store(&test);
        attnzoo_module *module = multi_head_case_module(&test);
        allocator_watch();
        attnzoo_status status = multi_head_case_forward(&test, module, NULL, NULL, NULL);
        struct allocation_counts counts = allocator_stop();
        assert_ok(status);
        if (counts.bytes >= 4 * 1024 * 1024)
            fail_msg("flavor %d: %" PRId64 " bytes", flavor, counts.bytes);
        attnzoo_module_destroy(module);
        multi_head_case_destroy(&test);
    }
}

/* What the calls below need, made before anything fails. */
static attnzoo_module *module;
static attnzoo_mask *mask;
static attnzoo_state *cache;

/* One call under test. It owns what it makes and gives all of it back. */
struct scenario {
    const char *name;
    attnzoo_status (*run)(struct multi_head_case *test);
};

static attnzoo_status make_module(struct multi_head_case *test)
{
    attnzoo_module *made = NULL;
    attnzoo_status status =
        attnzoo_module_create(&made, test->sizes.flavor == REFERENCE_PLAIN ? "multi_head" : "relative_multi_head");
    assert_true((status == ATTNZOO_STATUS_OK) == (made != NULL));
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_set_option_int(made, "num_heads", 4);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_set_option_text(made, "num_kv_heads", "2");
    if (status == ATTNZOO_STATUS_OK && test->sizes.flavor == REFERENCE_SHAW)
        status = attnzoo_module_set_option_text(made, "flavor", "shaw");
    for (int i = 0; i < MULTI_HEAD_PARAMETERS && status == ATTNZOO_STATUS_OK; i++)
        if (test->parameters[i].rank > 0)
            status = attnzoo_module_set_parameter(made, MULTI_HEAD_PARAMETER_NAMES[i], test->parameters[i].view);
    if (status == ATTNZOO_STATUS_OK) {
        status = attnzoo_module_prepare(made);
        /* Preparing that failed may be tried again. */
        if (status != ATTNZOO_STATUS_OK)
            assert_int_equal(attnzoo_module_prepare(made), ATTNZOO_STATUS_OK);
    }
    attnzoo_module_destroy(made);
    return status;
}

static attnzoo_status create_state(struct multi_head_case *test)
{
    (void)test;
    attnzoo_state *made = NULL;
    attnzoo_status status = attnzoo_state_create(&made, module, 2, 50);
    assert_true((status == ATTNZOO_STATUS_OK) == (made != NULL));
    attnzoo_state_destroy(made);
    return status;
}

/* After a failure the cache holds what it held; after a success it is cut to that. */
static attnzoo_status forward_on(struct multi_head_case *test, attnzoo_executor *executor)
{
    attnzoo_status status = multi_head_case_forward(test, module, executor, mask, cache);
    int64_t past = test->sizes.past;
    if (cache != NULL)
        assert_int_equal(attnzoo_state_length(cache), status == ATTNZOO_STATUS_OK ? past + test->sizes.keys : past);
    if (cache != NULL && status == ATTNZOO_STATUS_OK)
        status = attnzoo_state_truncate(cache, past);
    return status;
}

static attnzoo_status forward_without_executor(struct multi_head_case *test)
{
    return forward_on(test, NULL);
}

static attnzoo_status forward_on_new_executor(struct multi_head_case *test)
{
    attnzoo_executor *executor = NULL;
    attnzoo_status status = attnzoo_executor_create(&executor, 3);
    if (status == ATTNZOO_STATUS_OK)
        status = forward_on(test, executor);
    /* A call that failed leaves an executor that can be used. */
    if (status != ATTNZOO_STATUS_OK && executor != NULL) {
        assert_true(test_tensor_is_untouched(&test->base.context));
        assert_int_equal(forward_on(test, executor), ATTNZOO_STATUS_OK);
        test_tensor_poison(&test->base.context);
        test_tensor_poison(&test->base.attention);
    }
    attnzoo_executor_destroy(executor);
    return status;
}

static const struct scenario SCENARIOS[] = {
    {"make_module", make_module},
    {"create_state", create_state},
    {"forward_without_executor", forward_without_executor},
    {"forward_on_new_executor", forward_on_new_executor},
};

/* A scenario and what it works on. */
struct scenario_run {
    const struct scenario *scenario;
    struct multi_head_case *test;
};

static attnzoo_status run_scenario(void *context)
{
    const struct scenario_run *run = context;
    return run->scenario->run(run->test);
}

/* What the cache holds is what was put into it. */
static void assert_cache_is_whole(void *context)
{
    const struct multi_head_case *test = ((const struct scenario_run *)context)->test;
    const struct test_tensor *const past[] = {&test->past_key, &test->past_value};
    for (int field = 0; field < 2 && cache != NULL; field++) {
        struct test_tensor got = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 4, past[field]->shape);
        test_tensor_allocate(&got);
        assert_ok(attnzoo_state_get_field(cache, field, got.view));
        assert_memory_equal(got.memory.bytes, past[field]->memory.bytes, got.memory.size);
        test_tensor_destroy(&got);
    }
}

static void check_scenario(const struct scenario *scenario, struct multi_head_case *test)
{
    struct scenario_run run = {scenario, test};
    const struct failing_call call = {.name = scenario->name,
                                      .run = run_scenario,
                                      .check = assert_cache_is_whole,
                                      .context = &run,
                                      .outputs = {&test->base.context, &test->base.attention}};
    assert_true(fail_in_turn(&call) > 0);
    multi_head_case_load(test);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < FLAVORS * VARIANTS; i++) {
        struct multi_head_case test;
        create(&test, i % FLAVORS, i / FLAVORS);
        module = multi_head_case_module(&test);
        mask = attention_case_mask(&test.base);
        cache = multi_head_case_state(&test, module);
        for (size_t k = 0; k < sizeof SCENARIOS / sizeof *SCENARIOS; k++)
            check_scenario(&SCENARIOS[k], &test);
        attnzoo_state_destroy(cache);
        attnzoo_mask_destroy(mask);
        attnzoo_module_destroy(module);
        multi_head_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_the_first_call_of_a_shape_nothing_is_allocated),
        cmocka_unit_test(decoding_with_a_cache_allocates_nothing),
        cmocka_unit_test(no_matrix_of_scores_is_held),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
