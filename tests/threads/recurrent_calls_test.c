/*
 * tests/threads/recurrent_calls_test.c: pitfall 50 for mechanisms with projections and states: one module used from
 * many threads at once, each with a state of its own, with an executor of its own, with none and with one that they
 * share. Every step must give what a single thread gets, to the bit.
 */
#include "support/tanh_part.h"
#include "support/testing.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 12, STEPS = 5 };

struct shared {
    struct tanh_case expected;
    attnzoo_module *module;
    attnzoo_executor *executor;
    pthread_barrier_t start;
    bool uses_own_executor;
};

struct worker {
    struct shared *shared;
    int number;
    const char *complaint;
};

/* An utterance in steps of one query, or for additive in one call, into outputs of the thread's own. */
static void run_utterance(struct worker *worker, attnzoo_executor *executor)
{
    struct shared *shared = worker->shared;
    struct tanh_case mine = shared->expected;
    test_tensor_allocate(&mine.call.context);
    test_tensor_allocate(&mine.call.attention);
    attnzoo_state *carried = NULL;
    attnzoo_status status = ATTNZOO_STATUS_OK;
    if (mine.is_location_aware)
        status = attnzoo_state_create(&carried, shared->module, mine.sizes.batch, mine.sizes.keys);
    for (int64_t t = 0; t < STEPS && status == ATTNZOO_STATUS_OK && carried != NULL; t++)
        status = tanh_case_forward_part(&mine, t, 1, shared->module, executor, carried);
    if (status == ATTNZOO_STATUS_OK && carried == NULL)
        status = tanh_case_forward(&mine, shared->module, executor, NULL, NULL);
    const struct attention_case *expected = &shared->expected.call;
    if (status != ATTNZOO_STATUS_OK)
        worker->complaint = "a call failed";
    else if (memcmp(mine.call.context.memory.bytes, expected->context.memory.bytes, expected->context.memory.size) !=
                 0 ||
             memcmp(mine.call.attention.memory.bytes, expected->attention.memory.bytes,
                    expected->attention.memory.size) != 0)
        worker->complaint = "a result differs";
    attnzoo_state_destroy(carried);
    test_tensor_destroy(&mine.call.context);
    test_tensor_destroy(&mine.call.attention);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct shared *shared = worker->shared;
    attnzoo_executor *own = NULL;
    if (shared->uses_own_executor && attnzoo_executor_create(&own, 1 + worker->number % 3) != ATTNZOO_STATUS_OK)
        worker->complaint = "no executor";
    pthread_barrier_wait(&shared->start);
    for (int round = 0; round < ROUNDS; round++)
        run_utterance(worker, own != NULL ? own : shared->executor);
    attnzoo_executor_destroy(own);
    return NULL;
}

static void create(struct shared *shared, const char *mechanism)
{
    struct random_source source = {4};
    struct tanh_sizes sizes = {.batch = 2,
                               .heads = 1,
                               .key_heads = 1,
                               .queries = STEPS,
                               .keys = 200,
                               .query_size = 24,
                               .key_size = 20,
                               .value_size = 16,
                               .attention_size = 40,
                               .value_columns = 32,
                               .filters = 4,
                               .width = 15};
    tanh_case_plan(&shared->expected, mechanism, sizes, REFERENCE_PREVIOUS);
    shared->expected.call.is_masked = false;
    tanh_case_allocate(&shared->expected);
    tanh_case_fill(&shared->expected, &source, 1.0);
    tanh_case_store(&shared->expected);
    shared->module = tanh_case_module(&shared->expected);
    attnzoo_state *carried =
        shared->expected.is_location_aware ? tanh_case_state(&shared->expected, shared->module) : NULL;
    assert_ok(tanh_case_forward(&shared->expected, shared->module, NULL, NULL, carried));
    tanh_case_load(&shared->expected);
    assert_true(tanh_case_compare(&shared->expected));
    attnzoo_state_destroy(carried);
}

static void run_threads(struct shared *shared)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&shared->start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shared = shared, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&shared->start);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].complaint != NULL)
            fail_msg("thread %d: %s", i, workers[i].complaint);
}

static void p50_one_module_serves_many_threads(void **state)
{
    (void)state;
    const char *names[] = {"additive", "location_aware"};
    for (int which = 0; which < 2; which++)
        for (int way = 0; way < 3; way++) {
            struct shared shared = {.uses_own_executor = way == 1};
            create(&shared, names[which]);
            if (way == 2)
                assert_ok(attnzoo_executor_create(&shared.executor, 2));
            run_threads(&shared);
            attnzoo_executor_destroy(shared.executor);
            attnzoo_module_destroy(shared.module);
            tanh_case_destroy(&shared.expected);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p50_one_module_serves_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
