/*
 * tests/core/executor_test.c: executors: thread counts, NULL, and that the affinity of the process is heeded. Many
 * threads on one executor are in threads/.
 */
#include "support/process.h"
#include "support/testing.h"

#include <sched.h>

static int32_t count_when_asked(int32_t asked)
{
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, asked));
    int32_t count = attnzoo_executor_thread_count(executor);
    attnzoo_executor_destroy(executor);
    return count;
}

/* A BLAS built for fewer threads than asked for bounds them: a serial OpenBLAS to one. */
static void p48_thread_counts_are_what_was_asked_and_the_blas_bears(void **state)
{
    (void)state;
    int32_t most = count_when_asked(256);
    assert_true(most >= 1 && most <= 256);
    for (int32_t asked = 1; asked <= 8; asked++)
        assert_int_equal(count_when_asked(asked), asked < most ? asked : most);
}

static void counts_out_of_range_are_refused(void **state)
{
    (void)state;
    const int32_t counts[] = {-1, 257, INT32_MAX, INT32_MIN};
    attnzoo_executor *marker = (attnzoo_executor *)(void *)&state;
    for (int i = 0; i < 4; i++) {
        attnzoo_executor *executor = marker;
        assert_refused(attnzoo_executor_create(&executor, counts[i]), ATTNZOO_STATUS_INVALID_ARGUMENT, "256");
        assert_ptr_equal(executor, marker);
    }
    assert_status(attnzoo_executor_create(NULL, 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
}

static void null_is_fine_where_the_header_says_so(void **state)
{
    (void)state;
    assert_int_equal(attnzoo_executor_thread_count(NULL), 0);
    attnzoo_executor_destroy(NULL);
}

static void zero_means_as_many_as_the_process_may_use(void **state)
{
    (void)state;
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 0));
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int32_t count = attnzoo_executor_thread_count(executor);
    assert_true(count >= 1 && count <= CPU_COUNT(&allowed));
    attnzoo_executor_destroy(executor);
}

static void p46_the_affinity_of_the_process_is_heeded(void **state)
{
    (void)state;
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    attnzoo_executor *executor = NULL;
    attnzoo_status status = attnzoo_executor_create(&executor, 0);
    assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
    assert_ok(status);
    assert_int_equal(attnzoo_executor_thread_count(executor), 1);
    attnzoo_executor_destroy(executor);
}

/* An executor never used, used, and gone: no more threads than it was made for, and none afterwards. */
static void p46_an_executor_has_no_more_threads_than_asked(void **state)
{
    (void)state;
    static float memory[3][64][64];
    attnzoo_tensor *views[3];
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    assert_ok(attnzoo_module_prepare(module));
    for (int i = 0; i < 3; i++)
        assert_ok(attnzoo_tensor_create(&views[i], memory[i], ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){64, 4, 16}, NULL));
    assert_ok(attnzoo_module_forward(module, NULL, views[0], views[1], views[1], NULL, NULL, views[2], NULL));
    int before = process_entries("task");
    for (int32_t count = 1; count <= 4; count++) {
        attnzoo_executor *executor = NULL;
        assert_ok(attnzoo_executor_create(&executor, count));
        for (int call = 0; call < 20; call++)
            assert_ok(
                attnzoo_module_forward(module, executor, views[0], views[1], views[1], NULL, NULL, views[2], NULL));
        assert_true(process_threads_fall_to(before + count - 1));
        attnzoo_executor_destroy(executor);
        assert_true(process_threads_fall_to(before));
    }
    for (int i = 0; i < 3; i++)
        attnzoo_tensor_destroy(views[i]);
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p48_thread_counts_are_what_was_asked_and_the_blas_bears),
        cmocka_unit_test(counts_out_of_range_are_refused),
        cmocka_unit_test(null_is_fine_where_the_header_says_so),
        cmocka_unit_test(zero_means_as_many_as_the_process_may_use),
        cmocka_unit_test(p46_the_affinity_of_the_process_is_heeded),
        cmocka_unit_test(p46_an_executor_has_no_more_threads_than_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
