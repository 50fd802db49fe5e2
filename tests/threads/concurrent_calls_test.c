/*
 * tests/threads/concurrent_calls_test.c: one module used from many threads at once, with executors of their own, with
 * none, and with one that they share. Every result must be the one that a single thread gets, to the bit.
 */
#include "support/attention_case.h"
#include "support/testing.h"

#include <pthread.h>
#include <string.h>

enum { SHAPES = 4, THREADS = 6, ROUNDS = 25, CROWD = 150 };

struct shared {
    attnzoo_module *module;
    attnzoo_mask *mask;
    attnzoo_executor *executor;
    struct attention_case expected[SHAPES];
    pthread_barrier_t start;
    bool uses_own_executor;
};

struct worker {
    struct shared *shared;
    int number;
    const char *complaint;
};

static void plan_shape(struct attention_case *test, int shape)
{
    const int64_t queries[SHAPES] = {90, 1, 17, 140};
    attention_case_plan(test, (struct attention_sizes){1, 4, 2, queries[shape], 150 + 40 * shape, 32, 40});
    test->causal = true;
    if (shape == 2)
        test->attention.rank = 0;
    struct random_source source = {(uint64_t)shape};
    attention_case_allocate(test);
    attention_case_fill(test, &source, 1.0);
    attention_case_store(test);
}

static bool has_same_bytes(const struct test_tensor *a, const struct test_tensor *b)
{
    return a->rank == 0 || memcmp(a->memory.bytes, b->memory.bytes, a->memory.size) == 0;
}

static void run_rounds(struct worker *worker, attnzoo_executor *executor, int rounds)
{
    struct shared *shared = worker->shared;
    for (int round = 0; round < rounds; round++) {
        int shape = (round + worker->number) % SHAPES;
        struct attention_case *expected = &shared->expected[shape];
        /* Inputs are shared by all, outputs are the thread's own. */
        struct attention_case mine = *expected;
        struct test_tensor *outputs[] = {&mine.context, &mine.attention, &mine.log_sum_exp};
        for (int i = 0; i < 3; i++)
            test_tensor_allocate(outputs[i]);
        if (attention_case_forward(&mine, shared->module, executor, shared->mask) != ATTNZOO_STATUS_OK)
            worker->complaint = "a call failed";
        else if (attnzoo_last_error()[0] != '\0')
            worker->complaint = "a message after success";
        else if (!has_same_bytes(&mine.context, &expected->context) ||
                 !has_same_bytes(&mine.attention, &expected->attention) ||
                 !has_same_bytes(&mine.log_sum_exp, &expected->log_sum_exp))
            worker->complaint = "a result differs";
        for (int i = 0; i < 3; i++)
            test_tensor_destroy(outputs[i]);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct shared *shared = worker->shared;
    attnzoo_executor *own = NULL;
    if (shared->uses_own_executor && attnzoo_executor_create(&own, 1 + worker->number % 3) != ATTNZOO_STATUS_OK)
        worker->complaint = "no executor";
    pthread_barrier_wait(&shared->start);
    run_rounds(worker, own != NULL ? own : shared->executor, ROUNDS);
    attnzoo_executor_destroy(own);
    return NULL;
}

static void *work_in_crowd(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(&worker->shared->start);
    run_rounds(worker, NULL, 3);
    return NULL;
}

static void run_threads(struct shared *shared, int count, void *(*body)(void *))
{
    static struct worker workers[CROWD];
    static pthread_t threads[CROWD];
    assert_int_equal(pthread_barrier_init(&shared->start, NULL, (unsigned)count), 0);
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){.shared = shared, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&shared->start);
    for (int i = 0; i < count; i++)
        if (workers[i].complaint != NULL)
            fail_msg("thread %d: %s", i, workers[i].complaint);
}

static int set_up(void **state)
{
    static struct shared shared;
    shared = (struct shared){0};
    for (int shape = 0; shape < SHAPES; shape++)
        plan_shape(&shared.expected[shape], shape);
    shared.module = attention_case_module(&shared.expected[0]);
    shared.mask = attention_case_mask(&shared.expected[0]);
    for (int shape = 0; shape < SHAPES; shape++) {
        struct attention_case *test = &shared.expected[shape];
        assert_ok(attention_case_forward(test, shared.module, NULL, shared.mask));
        attention_case_load(test);
        assert_true(attention_case_compare(test));
    }
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    struct shared *shared = *state;
    attnzoo_module_destroy(shared->module);
    attnzoo_mask_destroy(shared->mask);
    attnzoo_executor_destroy(shared->executor);
    for (int shape = 0; shape < SHAPES; shape++)
        attention_case_destroy(&shared->expected[shape]);
    return 0;
}

static void p50_one_module_many_threads_with_executors_of_their_own(void **state)
{
    struct shared *shared = *state;
    shared->uses_own_executor = true;
    run_threads(shared, THREADS, work);
}

static void p50_one_module_many_threads_without_executors(void **state)
{
    run_threads(*state, THREADS, work);
}

static void p50_one_module_many_threads_on_one_executor(void **state)
{
    struct shared *shared = *state;
    for (int32_t count = 1; count <= 3; count++) {
        assert_ok(attnzoo_executor_create(&shared->executor, count));
        run_threads(shared, THREADS, work);
        attnzoo_executor_destroy(shared->executor);
        shared->executor = NULL;
    }
}

/* More threads than any packaged BLAS was built for. */
static void p48_more_threads_than_the_blas_was_built_for(void **state)
{
    run_threads(*state, CROWD, work_in_crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(p50_one_module_many_threads_with_executors_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(p50_one_module_many_threads_without_executors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(p50_one_module_many_threads_on_one_executor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(p48_more_threads_than_the_blas_was_built_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
