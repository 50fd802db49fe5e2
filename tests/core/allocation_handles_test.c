/*
 * tests/core/allocation_handles_test.c: a forward call that gets no memory, in every mechanism, with and without threads
 * and a state: it says so, writes no output, leaves nothing behind, and the very same handles then give what they would
 * have given, to the bit.
 */
#include "support/failing_allocation.h"
#include "support/testing.h"
#include "support/watched_allocator.h"
#include "support/zoo_case.h"

#include <inttypes.h>

enum { MOST_FAILURES = 200, CAPACITY = 80 };

static const struct zoo_sizes SIZES = {2, 4, 2, 20, 70, 12};

/* What a call is made with. */
struct handles {
    struct zoo_case *test;
    attnzoo_mask *mask;
    int32_t threads;
    bool has_state;
    attnzoo_executor *executor;
    attnzoo_state *state;
};

/* Executor and state are new each time: later calls of a shape allocate nothing. */
static void open_handles(struct handles *handles)
{
    handles->executor = NULL;
    handles->state = NULL;
    if (handles->threads > 0)
        assert_ok(attnzoo_executor_create(&handles->executor, handles->threads));
    if (handles->has_state)
        assert_ok(attnzoo_state_create(&handles->state, handles->test->module, SIZES.batch, CAPACITY));
    zoo_case_poison(handles->test);
}

static void close_handles(const struct handles *handles)
{
    attnzoo_state_destroy(handles->state);
    attnzoo_executor_destroy(handles->executor);
}

static attnzoo_status call(const struct handles *handles)
{
    return zoo_case_forward(handles->test, handles->test->module, handles->executor, handles->mask, handles->state);
}

/* Fails one allocation of a call, and makes the call again; false if there was none of that number. */
static bool fail_once(struct handles *handles, int64_t number, const struct zoo_case *expected)
{
    open_handles(handles);
    allocator_fail(number);
    allocator_watch();
    attnzoo_status status = call(handles);
    struct allocation_counts counts = allocator_stop();
    bool has_failed = allocator_has_failed();
    if (has_failed) {
        assert_true(status == ATTNZOO_STATUS_OUT_OF_MEMORY || status == ATTNZOO_STATUS_SYSTEM);
        assert_true(attnzoo_last_error()[0] != '\0');
        assert_true(zoo_case_is_poisoned(handles->test));
        assert_true(handles->state == NULL || attnzoo_state_length(handles->state) == 0);
        if (handles->executor == NULL)
            assert_true(counts.live <= 0);
        status = call(handles);
    }
    assert_ok(status);
    if (!zoo_case_same(handles->test, expected))
        fail_msg("%s, %d threads, failure %" PRId64 ": the next call gives something else",
                 ZOO_NAMES[handles->test->kind], (int)handles->threads, number);
    assert_true(handles->state == NULL || attnzoo_state_length(handles->state) == SIZES.keys);
    close_handles(handles);
    return has_failed;
}

static int64_t fail_each(struct handles *handles)
{
    int64_t number = 1;
    struct zoo_case expected, *test = handles->test;
    zoo_case_share(&expected, test);
    /* What is made once for the process or a thread, an OpenMP's too, is made here. */
    for (int i = 0; i < 3; i++) {
        handles->test = &expected;
        open_handles(handles);
        assert_ok(call(handles));
        close_handles(handles);
    }
    handles->test = test;
    while (number <= MOST_FAILURES && fail_once(handles, number, &expected))
        number++;
    zoo_case_destroy_outputs(&expected);
    assert_true(number > 1 && number <= MOST_FAILURES);
    return number - 1;
}

static void handles_work_after_a_call_without_memory(void **state)
{
    (void)state;
    int64_t faults = 0, calls = 0;
    for (int kind = 0; kind < ZOO_KINDS; kind++)
        for (int is_masked = 0; is_masked < 2; is_masked++) {
            struct zoo_case test;
            attnzoo_mask *mask = NULL;
            zoo_case_create(&test, (enum zoo_kind)kind, SIZES, 8);
            assert_ok(attnzoo_mask_create(&mask));
            assert_ok(attnzoo_mask_set_causal(mask, is_masked));
            assert_ok(attnzoo_mask_set_window(mask, is_masked != 0 ? 40 : -1, -1));
            for (int32_t threads = 0; threads <= 3; threads++)
                for (int has_state = 0; has_state <= zoo_has_state(test.kind); has_state++) {
                    struct handles handles = {
                        .test = &test, .mask = mask, .threads = threads, .has_state = has_state != 0};
                    faults += fail_each(&handles);
                    calls++;
                }
            attnzoo_mask_destroy(mask);
            zoo_case_destroy(&test);
        }
    print_message("%" PRId64 " calls, %" PRId64 " allocations failed in turn\n", calls, faults);
}

/* Once an executor has seen a shape, calls of it ask for nothing: in every mechanism, with a state and without. */
static void calls_of_a_known_shape_allocate_nothing(void **state)
{
    (void)state;
    static const struct zoo_sizes shapes[] = {{2, 2, 1, 5, 30, 8}, {1, 2, 1, 3, 6000, 24}};
    for (int i = 0; i < ZOO_KINDS * 2 * 3; i++) {
        struct zoo_case test;
        attnzoo_executor *executor = NULL;
        attnzoo_state *carried = NULL;
        zoo_case_create(&test, (enum zoo_kind)(i % ZOO_KINDS), shapes[i / ZOO_KINDS % 2], 10);
        assert_ok(attnzoo_executor_create(&executor, 1 + i / (2 * ZOO_KINDS)));
        if (zoo_has_state(test.kind))
            assert_ok(attnzoo_state_create(&carried, test.module, test.sizes.batch, test.sizes.keys));
        attnzoo_status status = zoo_case_forward(&test, test.module, executor, NULL, NULL);
        if (status == ATTNZOO_STATUS_OK && carried != NULL)
            status = zoo_case_forward(&test, test.module, executor, NULL, carried);
        assert_ok(status);
        allocator_watch();
        for (int call = 0; call < 3 && status == ATTNZOO_STATUS_OK; call++) {
            status = zoo_case_forward(&test, test.module, executor, NULL, NULL);
            if (status == ATTNZOO_STATUS_OK && carried != NULL)
                status = attnzoo_state_reset(carried);
            if (status == ATTNZOO_STATUS_OK && carried != NULL)
                status = zoo_case_forward(&test, test.module, executor, NULL, carried);
        }
        struct allocation_counts counts = allocator_stop();
        assert_ok(status);
        if (counts.calls + counts.threads > 0)
            fail_msg("%s, case %d: %" PRId64 " allocations, the last from %s", ZOO_NAMES[test.kind], i, counts.calls,
                     allocator_last_caller());
        attnzoo_state_destroy(carried);
        attnzoo_executor_destroy(executor);
        zoo_case_destroy(&test);
    }
}

/* A parameter that could not be copied leaves the one that was set before; preparing that failed may be done again. */
static void modules_keep_what_they_had(void **state)
{
    (void)state;
    int64_t faults = 0;
    for (int kind = ZOO_MULTI_HEAD; kind < ZOO_KINDS; kind++) {
        struct zoo_case test, expected, other;
        zoo_case_create(&test, (enum zoo_kind)kind, SIZES, 8);
        zoo_case_create(&other, (enum zoo_kind)kind, SIZES, 9);
        zoo_case_share(&expected, &test);
        assert_ok(zoo_case_forward(&expected, test.module, NULL, NULL, NULL));
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, zoo_mechanism(test.kind)));
        assert_ok(zoo_case_set_options(&test, module));
        for (int32_t i = 0; i < test.parameter_count; i++) {
            assert_ok(attnzoo_module_set_parameter(module, other.parameter_names[i], other.parameters[i].view));
            /* One that takes its place leaves nothing of it. */
            allocator_watch();
            attnzoo_status status =
                attnzoo_module_set_parameter(module, test.parameter_names[i], test.parameters[i].view);
            struct allocation_counts counts = allocator_stop();
            assert_ok(status);
            assert_int_equal(counts.live, 0);
            allocator_fail(1);
            allocator_watch();
            status = attnzoo_module_set_parameter(module, other.parameter_names[i], other.parameters[i].view);
            allocator_stop();
            assert_int_equal(status, ATTNZOO_STATUS_OUT_OF_MEMORY);
            faults++;
        }
        for (int64_t number = 1;; number++) {
            allocator_fail(number);
            allocator_watch();
            attnzoo_status status = attnzoo_module_prepare(module);
            struct allocation_counts counts = allocator_stop();
            if (status == ATTNZOO_STATUS_OK)
                break;
            assert_int_equal(status, ATTNZOO_STATUS_OUT_OF_MEMORY);
            assert_int_equal(counts.live, 0);
            faults++;
        }
        assert_ok(zoo_case_forward(&test, module, NULL, NULL, NULL));
        assert_true(zoo_case_same(&test, &expected));
        attnzoo_module_destroy(module);
        zoo_case_destroy_outputs(&expected);
        zoo_case_destroy(&other);
        zoo_case_destroy(&test);
    }
    print_message("%" PRId64 " allocations failed\n", faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_work_after_a_call_without_memory),
        cmocka_unit_test(calls_of_a_known_shape_allocate_nothing),
        cmocka_unit_test(modules_keep_what_they_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
