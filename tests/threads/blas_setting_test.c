/*
 * tests/threads/blas_setting_test.c: the application's own setting of BLAS threads survives every call, and the machine
 * is not oversubscribed. The setting can be looked at where the BLAS is OpenBLAS; elsewhere those tests say that they
 * skip.
 */
#include "support/attention_case.h"
#include "support/process.h"
#include "support/testing.h"

#include <dlfcn.h>
#include <pthread.h>

enum { THREADS = 6, CALLS = 30 };

static int (*get_threads)(void);
static void (*set_threads)(int);

struct problem {
    struct attention_case test;
    attnzoo_module *module;
    pthread_barrier_t start;
};

static int set_up(void **state)
{
    static struct problem problem;
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    attention_case_plan(&problem.test, (struct attention_sizes){1, 4, 4, 130, 200, 32, 32});
    problem.test.is_masked = false;
    struct random_source source = {1};
    attention_case_allocate(&problem.test);
    attention_case_fill(&problem.test, &source, 1.0);
    attention_case_store(&problem.test);
    problem.module = attention_case_module(&problem.test);
    *state = &problem;
    return 0;
}

static int tear_down(void **state)
{
    struct problem *problem = *state;
    attnzoo_module_destroy(problem->module);
    attention_case_destroy(&problem->test);
    return 0;
}

static void skip_without_openblas(void)
{
    if (get_threads != NULL && set_threads != NULL)
        return;
    print_message("skipped: this BLAS has no openblas_get_num_threads() to look at\n");
    skip();
}

/* The highest setting that the BLAS takes, of 1 to 4: a serial build keeps 1. */
static int choose_setting(int wanted)
{
    set_threads(wanted);
    return get_threads();
}

static attnzoo_status call(struct problem *problem, attnzoo_executor *executor)
{
    return attention_case_forward(&problem->test, problem->module, executor, NULL);
}

static void p45_the_setting_survives_calls(void **state)
{
    struct problem *problem = *state;
    skip_without_openblas();
    int original = get_threads();
    for (int wanted = 1; wanted <= 4; wanted++) {
        int setting = choose_setting(wanted);
        assert_ok(call(problem, NULL));
        assert_int_equal(get_threads(), setting);
        for (int32_t count = 1; count <= 3; count++) {
            attnzoo_executor *executor = NULL;
            assert_ok(attnzoo_executor_create(&executor, count));
            assert_int_equal(get_threads(), setting);
            for (int i = 0; i < 5; i++) {
                assert_ok(call(problem, executor));
                assert_int_equal(get_threads(), setting);
            }
            attnzoo_executor_destroy(executor);
            assert_int_equal(get_threads(), setting);
        }
    }
    set_threads(original);
}

static void p45_the_setting_survives_errors(void **state)
{
    struct problem *problem = *state;
    skip_without_openblas();
    int original = get_threads();
    int setting = choose_setting(3);
    attnzoo_tensor *views = problem->test.query.view;
    assert_status(attnzoo_module_forward(problem->module, NULL, views, views, views, NULL, NULL, views, NULL),
                  ATTNZOO_STATUS_OVERLAP);
    assert_int_equal(get_threads(), setting);
    set_threads(original);
}

struct caller {
    struct problem *problem;
    int32_t thread_count; /* 0: no executor */
    const char *complaint;
};

static void *call_often(void *argument)
{
    struct caller *caller = argument;
    struct problem *problem = caller->problem;
    attnzoo_executor *executor = NULL;
    if (caller->thread_count > 0 && attnzoo_executor_create(&executor, caller->thread_count) != ATTNZOO_STATUS_OK)
        caller->complaint = "no executor";
    struct attention_case mine = problem->test;
    struct test_tensor *outputs[] = {&mine.context, &mine.attention, &mine.log_sum_exp};
    for (int i = 0; i < 3; i++)
        test_tensor_allocate(outputs[i]);
    pthread_barrier_wait(&problem->start);
    for (int i = 0; i < CALLS; i++)
        if (attention_case_forward(&mine, problem->module, executor, NULL) != ATTNZOO_STATUS_OK)
            caller->complaint = "a call failed";
    for (int i = 0; i < 3; i++)
        test_tensor_destroy(outputs[i]);
    attnzoo_executor_destroy(executor);
    return NULL;
}

static void call_from_threads(struct problem *problem)
{
    struct caller callers[THREADS];
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&problem->start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.problem = problem, .thread_count = i % 3};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&problem->start);
    for (int i = 0; i < THREADS; i++)
        if (callers[i].complaint != NULL)
            fail_msg("%s", callers[i].complaint);
}

static void p45_the_setting_survives_concurrent_calls(void **state)
{
    skip_without_openblas();
    int original = get_threads();
    for (int wanted = 2; wanted <= 4; wanted += 2) {
        int setting = choose_setting(wanted);
        for (int round = 0; round < 10; round++) {
            call_from_threads(*state);
            assert_int_equal(get_threads(), setting);
        }
    }
    set_threads(original);
}

/* What calls from an application's own threads start is there after the first of them, and does not grow. */
static void p46_calls_from_a_thread_pool_leave_no_threads_behind(void **state)
{
    call_from_threads(*state);
    int before = process_entries("task");
    for (int round = 0; round < 5; round++)
        call_from_threads(*state);
    assert_true(process_threads_fall_to(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p45_the_setting_survives_calls),
        cmocka_unit_test(p45_the_setting_survives_errors),
        cmocka_unit_test(p45_the_setting_survives_concurrent_calls),
        cmocka_unit_test(p46_calls_from_a_thread_pool_leave_no_threads_behind),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
