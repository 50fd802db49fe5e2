/*
 * tests/threads/fork_test.c: the library after fork(): in a child that calls before the parent ever did, in one that
 * inherits executors whose threads it does not have, and beside calls that run while the process forks. A child that
 * hangs is ended by an alarm.
 */
#include "support/attention_case.h"
#include "support/testing.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 120, FORKS = 25, BUSY_THREADS = 3 };

static struct attention_case test_case;
static attnzoo_module *module;
static struct reference_result expected;

static bool call_is_right(attnzoo_executor *executor)
{
    test_tensor_poison(&test_case.context);
    test_tensor_poison(&test_case.attention);
    test_tensor_poison(&test_case.log_sum_exp);
    if (attention_case_forward(&test_case, module, executor, NULL) != ATTNZOO_STATUS_OK)
        return false;
    attention_case_load(&test_case);
    return attention_case_compare_with(&test_case, &expected);
}

static bool new_executor_is_right(void)
{
    attnzoo_executor *executor = NULL;
    if (attnzoo_executor_create(&executor, 3) != ATTNZOO_STATUS_OK)
        return false;
    bool is_right = call_is_right(executor) && call_is_right(executor);
    attnzoo_executor_destroy(executor);
    return is_right;
}

/* Runs the body in a child: does it return true there in good time? */
static bool child_succeeds(bool (*body)(attnzoo_executor *), attnzoo_executor *executor)
{
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        alarm(PATIENCE_SECONDS);
        _exit(body(executor) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        print_error("the child was ended by signal %d (%d: it hung)\n", WTERMSIG(status), SIGALRM);
    else if (WEXITSTATUS(status) != 0)
        print_error("the child exited with %d\n", WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool use_everything(attnzoo_executor *executor)
{
    if (!call_is_right(NULL) || !new_executor_is_right())
        return false;
    if (executor == NULL)
        return true;
    bool is_right = call_is_right(executor) && call_is_right(executor);
    attnzoo_executor_destroy(executor);
    return is_right && call_is_right(NULL);
}

static bool only_destroy(attnzoo_executor *executor)
{
    attnzoo_executor_destroy(executor);
    return true;
}

static bool fork_again(attnzoo_executor *executor)
{
    return call_is_right(executor) && child_succeeds(use_everything, executor) && use_everything(executor);
}

/* Must be the first test: nothing has been computed yet. */
static void p47_the_child_calls_first(void **state)
{
    (void)state;
    assert_true(child_succeeds(use_everything, NULL));
    assert_true(use_everything(NULL));
    assert_true(child_succeeds(use_everything, NULL));
}

static void p47_an_unused_executor_is_inherited(void **state)
{
    (void)state;
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 3));
    assert_true(child_succeeds(use_everything, executor));
    assert_true(child_succeeds(only_destroy, executor));
    assert_true(call_is_right(executor));
    attnzoo_executor_destroy(executor);
}

static void p47_a_used_executor_is_inherited(void **state)
{
    (void)state;
    for (int32_t count = 1; count <= 3; count++) {
        attnzoo_executor *executor = NULL;
        assert_ok(attnzoo_executor_create(&executor, count));
        assert_true(call_is_right(executor));
        assert_true(child_succeeds(use_everything, executor));
        assert_true(call_is_right(executor));
        assert_true(child_succeeds(only_destroy, executor));
        assert_true(child_succeeds(fork_again, executor));
        assert_true(call_is_right(executor));
        attnzoo_executor_destroy(executor);
    }
}

static atomic_bool is_done;
static atomic_int calls_made;

/* Calls without end, on an executor of its own or none, and makes executors. */
static void *stay_busy(void *argument)
{
    int number = *(int *)argument;
    struct attention_case mine = test_case;
    struct test_tensor *outputs[] = {&mine.context, &mine.attention, &mine.log_sum_exp};
    for (int i = 0; i < 3; i++)
        test_tensor_allocate(outputs[i]);
    while (!is_done) {
        attnzoo_executor *executor = NULL;
        if (number > 0)
            attnzoo_executor_create(&executor, number + 1);
        for (int i = 0; i < 10; i++)
            attention_case_forward(&mine, module, executor, NULL);
        calls_made += 10;
        attnzoo_executor_destroy(executor);
    }
    for (int i = 0; i < 3; i++)
        test_tensor_destroy(outputs[i]);
    return NULL;
}

static void p47_fork_beside_running_calls(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    /* Its allocator's locks are not taken before a fork, so a child may wait for one that a thread of the
     * parent held. */
    print_message("not under AddressSanitizer, whose allocator does not survive a fork beside running threads\n");
    skip();
#endif
    pthread_t threads[BUSY_THREADS];
    int numbers[BUSY_THREADS];
    is_done = false;
    calls_made = 0;
    for (int i = 0; i < BUSY_THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, stay_busy, &numbers[i]), 0);
    }
    while (calls_made < 10 * BUSY_THREADS)
        sched_yield();
    int successes = 0;
    for (int i = 0; i < FORKS; i++)
        successes += child_succeeds(use_everything, NULL);
    is_done = true;
    for (int i = 0; i < BUSY_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(successes, FORKS);
    assert_true(use_everything(NULL));
}

static int set_up(void **state)
{
    (void)state;
    attention_case_plan(&test_case, (struct attention_sizes){1, 4, 2, 70, 150, 32, 24});
    test_case.is_masked = false;
    struct random_source source = {1};
    attention_case_allocate(&test_case);
    attention_case_fill(&test_case, &source, 1.0);
    attention_case_store(&test_case);
    module = attention_case_module(&test_case);
    struct reference_problem problem = attention_case_problem(&test_case);
    expected = reference_compute(&problem);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    reference_result_destroy(&expected);
    attnzoo_module_destroy(module);
    attention_case_destroy(&test_case);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p47_the_child_calls_first),
        cmocka_unit_test(p47_an_unused_executor_is_inherited),
        cmocka_unit_test(p47_a_used_executor_is_inherited),
        cmocka_unit_test(p47_fork_beside_running_calls),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
