/*
 * tests/threads/churn_test.c: handles that are made, used and destroyed in some threads while others use theirs: modules,
 * views, masks, states and executors, of every mechanism, with one module that all share and an application that changes
 * the number of the BLAS' threads meanwhile. Every result must be the one that a single thread gets, to the bit.
 */
#include "support/process.h"
#include "support/testing.h"
#include "support/zoo_case.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WORKERS = 6, ROUNDS = 120, CAPACITY = 40 };

static const struct zoo_sizes SIZES = {2, 2, 1, 5, 30, 8};

struct shared {
    struct zoo_case cases[ZOO_KINDS];
    attnzoo_mask *mask;
    attnzoo_executor *executor;
    pthread_barrier_t start;
    atomic_bool is_done;
    atomic_int calls, handles;
};

struct worker {
    struct shared *shared;
    int number;
    const char *complaint;
};

/* A mask of the thread's own that hides what the shared one does. */
static attnzoo_status make_mask(attnzoo_mask **mask)
{
    attnzoo_status status = attnzoo_mask_create(mask);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_causal(*mask, 1);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_window(*mask, 20, -1);
    return status;
}

/* One life of all handles, of which `own` says which are the thread's own. */
static void live(struct worker *worker, enum zoo_kind kind, unsigned own)
{
    struct shared *shared = worker->shared;
    struct zoo_case mine;
    attnzoo_module *module = shared->cases[kind].module, *own_module = NULL;
    attnzoo_mask *own_mask = NULL;
    attnzoo_executor *own_executor = NULL;
    attnzoo_state *state = NULL;
    zoo_case_share(&mine, &shared->cases[kind]);
    attnzoo_status status = ATTNZOO_STATUS_OK;
    if ((own & 1) != 0)
        status = zoo_case_make_module(&mine, &own_module);
    if (status == ATTNZOO_STATUS_OK && (own & 2) != 0)
        status = make_mask(&own_mask);
    if (status == ATTNZOO_STATUS_OK && (own & 4) != 0)
        status = attnzoo_executor_create(&own_executor, 1 + worker->number % 3);
    if (own_module != NULL)
        module = own_module;
    /* With a state keys are kept that the window hides, and so projected in products of another size. */
    bool has_state = (own & 8) != 0 && zoo_is_recurrent(kind);
    if (status == ATTNZOO_STATUS_OK && has_state)
        status = attnzoo_state_create(&state, module, SIZES.batch, CAPACITY);
    for (int call = 0; call < 3 && status == ATTNZOO_STATUS_OK; call++) {
        zoo_case_poison(&mine);
        status = zoo_case_forward(&mine, module, own_executor != NULL ? own_executor : shared->executor,
                                  own_mask != NULL ? own_mask : shared->mask, state);
        if (status == ATTNZOO_STATUS_OK && !zoo_case_same(&mine, &shared->cases[kind]))
            worker->complaint = "a result differs";
        if (status == ATTNZOO_STATUS_OK && state != NULL)
            status = attnzoo_state_reset(state);
        atomic_fetch_add(&shared->calls, 1);
    }
    if (status != ATTNZOO_STATUS_OK)
        worker->complaint = attnzoo_status_name(status);
    attnzoo_state_destroy(state);
    attnzoo_executor_destroy(own_executor);
    attnzoo_mask_destroy(own_mask);
    attnzoo_module_destroy(own_module);
    atomic_fetch_add(&shared->handles, (own_module != NULL) + (own_mask != NULL) + (own_executor != NULL) + has_state);
    zoo_case_destroy_outputs(&mine);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(&worker->shared->start);
    for (int round = 0; round < ROUNDS; round++)
        live(worker, (enum zoo_kind)((round + worker->number) % ZOO_KINDS), (unsigned)(round * 5 + worker->number * 3));
    return NULL;
}

static void run_workers(struct shared *shared)
{
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    assert_int_equal(pthread_barrier_init(&shared->start, NULL, WORKERS), 0);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.shared = shared, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&shared->start);
    for (int i = 0; i < WORKERS; i++)
        if (workers[i].complaint != NULL)
            fail_msg("thread %d: %s", i, workers[i].complaint);
}

static int set_up(void **state)
{
    static struct shared shared;
    shared = (struct shared){0};
    if (make_mask(&shared.mask) != ATTNZOO_STATUS_OK)
        return -1;
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        zoo_case_create(&shared.cases[kind], (enum zoo_kind)kind, SIZES, 11);
        assert_ok(zoo_case_forward(&shared.cases[kind], shared.cases[kind].module, NULL, shared.mask, NULL));
    }
    assert_ok(attnzoo_executor_create(&shared.executor, 2));
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    struct shared *shared = *state;
    for (int kind = 0; kind < ZOO_KINDS; kind++)
        zoo_case_destroy(&shared->cases[kind]);
    attnzoo_executor_destroy(shared->executor);
    attnzoo_mask_destroy(shared->mask);
    return 0;
}

static void p50_handles_come_and_go_beside_calls(void **state)
{
    struct shared *shared = *state;
    run_workers(shared);
    int before = process_entries("task");
    run_workers(shared);
    assert_true(process_threads_fall_to(before));
    print_message("%d calls in %d threads, %d handles made and destroyed beside them\n", atomic_load(&shared->calls),
                  WORKERS, atomic_load(&shared->handles));
}

/* The numbers are the application's to set whenever it likes; results do not hang on them. */
static void *set_threads_often(void *argument)
{
    struct shared *shared = argument;
    static const char *const names[] = {"openblas_set_num_threads", "omp_set_num_threads"};
    void (*setters[2])(int);
    for (int i = 0; i < 2; i++)
        *(void **)&setters[i] = dlsym(RTLD_DEFAULT, names[i]);
    int changes = 0;
    while (!atomic_load(&shared->is_done)) {
        for (int i = 0; i < 2; i++)
            if (setters[i] != NULL)
                setters[i](1 + changes % 4);
        changes++;
        sched_yield();
    }
    return NULL;
}

static void p45_the_application_sets_threads_during_calls(void **state)
{
    struct shared *shared = *state;
    int (*get_threads)(void);
    void (*set_threads)(int);
    *(void **)&get_threads = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    int original = get_threads != NULL ? get_threads() : 1;
    pthread_t setter;
    atomic_store(&shared->is_done, false);
    assert_int_equal(pthread_create(&setter, NULL, set_threads_often, shared), 0);
    run_workers(shared);
    atomic_store(&shared->is_done, true);
    assert_int_equal(pthread_join(setter, NULL), 0);
    if (set_threads != NULL)
        set_threads(original);
    run_workers(shared);
    if (get_threads != NULL)
        assert_int_equal(get_threads(), original);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(p50_handles_come_and_go_beside_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(p45_the_application_sets_threads_during_calls, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
