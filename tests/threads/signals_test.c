/*
 * tests/threads/signals_test.c: signals are the application's. No handler is set, none is ever run in a thread of the
 * library's, the caller's mask of blocked signals stays, and calls that signals interrupt give what others give.
 */
#include "support/attention_case.h"
#include "support/testing.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAST_SIGNAL = 64, MOST_THREADS = 512, LEAST_ROUNDS = 40, INTERRUPTIONS = 50 };

static struct attention_case test_case;
static attnzoo_module *module;
static struct reference_result expected;

static int set_up(void **state)
{
    (void)state;
    struct random_source source = {1};
    attention_case_plan(&test_case, (struct attention_sizes){1, 4, 2, 120, 300, 32, 32});
    test_case.is_masked = false;
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

static attnzoo_status call(attnzoo_executor *executor)
{
    return attention_case_forward(&test_case, module, executor, NULL);
}

static void read_handlers(struct sigaction handlers[LAST_SIGNAL + 1])
{
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        memset(&handlers[number], 0, sizeof handlers[number]);
        sigaction(number, NULL, &handlers[number]);
    }
}

/* Field by field: what is left of a structure holds anything. */
static void assert_same_handlers(const struct sigaction before[LAST_SIGNAL + 1],
                                 const struct sigaction now[LAST_SIGNAL + 1])
{
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        if (before[number].sa_handler != now[number].sa_handler || before[number].sa_flags != now[number].sa_flags)
            fail_msg("the handler of signal %d is another", number);
        for (int other = 1; other <= LAST_SIGNAL; other++)
            assert_int_equal(sigismember(&before[number].sa_mask, other), sigismember(&now[number].sa_mask, other));
    }
}

static void no_handler_is_set_and_no_mask_is_changed(void **state)
{
    (void)state;
    static struct sigaction before[LAST_SIGNAL + 1], now[LAST_SIGNAL + 1];
    sigset_t mask_before, mask_now, some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &some, NULL), 0);
    memset(&mask_before, 0, sizeof mask_before);
    memset(&mask_now, 0, sizeof mask_now);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask_before), 0);
    read_handlers(before);
    for (int32_t threads = 0; threads <= 3; threads++) {
        attnzoo_executor *executor = NULL;
        if (threads > 0)
            assert_ok(attnzoo_executor_create(&executor, threads));
        assert_ok(call(executor));
        read_handlers(now);
        assert_same_handlers(before, now);
        attnzoo_executor_destroy(executor);
        assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask_now), 0);
        for (int number = 1; number <= LAST_SIGNAL; number++)
            assert_int_equal(sigismember(&mask_now, number), sigismember(&mask_before, number));
    }
    read_handlers(now);
    assert_same_handlers(before, now);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &some, NULL), 0);
}

static int list_threads(long numbers[MOST_THREADS])
{
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *entry = readdir(threads); entry != NULL; entry = readdir(threads))
        if (entry->d_name[0] != '.' && count < MOST_THREADS)
            numbers[count++] = strtol(entry->d_name, NULL, 10);
    closedir(threads);
    return count;
}

/* The signals that a thread blocks: bit 0 is signal 1. */
static unsigned long long blocked_by(long thread)
{
    char path[64], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", thread);
    FILE *status = fopen(path, "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    fclose(status);
    return blocked;
}

/* Threads of a BLAS are its own matter, and there before. */
static void threads_of_an_executor_take_no_signal(void **state)
{
    (void)state;
    static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,   SIGUSR2, SIGPIPE,  SIGALRM,
                                  SIGTERM, SIGCHLD, SIGURG,  SIGVTALRM, SIGPROF, SIGWINCH, SIGIO};
    long before[MOST_THREADS], now[MOST_THREADS];
    assert_ok(call(NULL));
    int count_before = list_threads(before);
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 4));
    int32_t wanted = attnzoo_executor_thread_count(executor) - 1;
    int count_now = list_threads(now), found = 0;
    for (int i = 0; i < count_now; i++) {
        bool is_new = true;
        for (int k = 0; k < count_before; k++)
            is_new = is_new && now[i] != before[k];
        if (!is_new)
            continue;
        found++;
        unsigned long long blocked = blocked_by(now[i]);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            if ((blocked >> (numbers[k] - 1) & 1) == 0)
                fail_msg("a thread of the executor would take signal %d", numbers[k]);
    }
    assert_int_equal(found, wanted);
    attnzoo_executor_destroy(executor);
}

static volatile sig_atomic_t interruptions;

static void count_interruption(int number)
{
    (void)number;
    interruptions++;
}

struct interrupter {
    pthread_t target;
    atomic_bool is_done;
};

static void *interrupt_often(void *argument)
{
    struct interrupter *interrupter = argument;
    const struct timespec a_moment = {0, 200 * 1000};
    while (!atomic_load(&interrupter->is_done)) {
        pthread_kill(interrupter->target, SIGUSR1);
        nanosleep(&a_moment, NULL);
    }
    return NULL;
}

/* The signals are sent to the thread that calls, and waiting is not begun anew: whatever the library waits for there
 * ends early. */
static void calls_that_signals_interrupt_are_right(void **state)
{
    (void)state;
    struct sigaction mine, before;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = count_interruption;
    assert_int_equal(sigaction(SIGUSR1, &mine, &before), 0);
    struct interrupter interrupter = {.target = pthread_self()};
    pthread_t thread;
    interruptions = 0;
    assert_int_equal(pthread_create(&thread, NULL, interrupt_often, &interrupter), 0);
    for (int round = 0; round < LEAST_ROUNDS || interruptions < INTERRUPTIONS; round++) {
        attnzoo_executor *executor = NULL;
        if (round % 4 > 0)
            assert_ok(attnzoo_executor_create(&executor, round % 4));
        test_tensor_poison(&test_case.context);
        test_tensor_poison(&test_case.attention);
        test_tensor_poison(&test_case.log_sum_exp);
        assert_ok(call(executor));
        attention_case_load(&test_case);
        assert_true(attention_case_compare_with(&test_case, &expected));
        attnzoo_executor_destroy(executor);
    }
    atomic_store(&interrupter.is_done, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_handler_is_set_and_no_mask_is_changed),
        cmocka_unit_test(threads_of_an_executor_take_no_signal),
        cmocka_unit_test(calls_that_signals_interrupt_are_right),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
