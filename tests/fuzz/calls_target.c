/*
 * calls_target.c: the input is a sequence of calls. Its first bytes draw a small case of some mechanism, with its layouts,
 * types, masks, options, parameters and state; the rest draws what is done with it, right calls and wrong ones in turn.
 * Each right call must come to what the plain reference says, whatever went before it.
 */
#include "hostile.h"
#include "random_from_input.h"
#include "support/executors.h"
#include "support/testing.h"
#include "target.h"
#include "wrong_calls.h"

#include <stdlib.h>

enum { ACTIONS_MAX = 8 };

static struct executors *executors;

/* Threads that still wait at the end are what valgrind takes for a loss. */
static void destroy_executors(void)
{
    void *created = executors;
    executors_destroy(&created);
}

int LLVMFuzzerInitialize(int *argument_count, char ***arguments)
{
    (void)argument_count;
    (void)arguments;
    /* An assertion of the tests' own that fails outside of a test would exit, which AFL++ takes for success. */
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    void *created = NULL;
    executors_create(&created);
    executors = created;
    atexit(destroy_executors);
    return 0;
}

/* The first is none. */
static attnzoo_executor *any_executor(struct random_source *source)
{
    return executors->by_thread_count[random_between(source, 0, EXECUTOR_COUNT - 1)];
}

/* That the library foretells the outputs' sizes. */
static void check_output_shapes(struct subject *subject)
{
    struct attention_case *call = subject_call(subject);
    const attnzoo_tensor *inputs[] = {call->query.view, subject_key(subject), subject_value(subject),
                                      subject_position(subject)->view};
    const struct test_tensor *outputs[] = {&call->context, &call->attention, &call->log_sum_exp};
    subject_rewind(subject);
    for (int32_t output = 0; output < 3; output++) {
        int32_t rank;
        int64_t shape[ATTNZOO_RANK_MAX];
        if (outputs[output]->rank == 0)
            continue;
        assert_ok(attnzoo_module_output_shape(subject->module, inputs, 4, subject->state, output, &rank, shape));
        /* Leading axes of size 1 may be left out, there and in the case. */
        for (int32_t back = 1; back <= rank || back <= outputs[output]->rank; back++) {
            int64_t told = back <= rank ? shape[rank - back] : 1;
            int64_t planned = back <= outputs[output]->rank ? outputs[output]->shape[outputs[output]->rank - back] : 1;
            require(told == planned);
        }
    }
}

static void call_with_new_executor(struct subject *subject, struct random_source *source)
{
    attnzoo_executor *executor = NULL;
    int32_t threads = (int32_t)random_between(source, 1, 3);
    assert_ok(attnzoo_executor_create(&executor, threads));
    require(attnzoo_executor_thread_count(executor) >= 1 && attnzoo_executor_thread_count(executor) <= threads);
    subject_check(subject, executor);
    attnzoo_executor_destroy(executor);
}

/* A module that is ready takes no more settings, and is none the worse for being asked. */
static void change_prepared(struct subject *subject)
{
    struct attention_case *call = subject_call(subject);
    const char *mechanism = attnzoo_module_mechanism(subject->module);
    const char *option = attnzoo_item_text(mechanism, ATTNZOO_ITEM_OPTION, 0, ATTNZOO_FIELD_NAME);
    const char *parameter = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, 0, ATTNZOO_FIELD_NAME);
    if (option != NULL)
        require(attnzoo_module_set_option_text(subject->module, option, "1") == ATTNZOO_STATUS_BAD_STATE);
    if (parameter != NULL)
        require(attnzoo_module_set_parameter(subject->module, parameter, call->query.view) == ATTNZOO_STATUS_BAD_STATE);
}

static void act(struct subject *subject, struct random_source *source)
{
    attnzoo_executor *executor = any_executor(source);
    switch (random_between(source, 0, 11)) {
    case 0:
        subject_check(subject, executor);
        break;
    case 1:
        check_output_shapes(subject);
        break;
    case 2:
        wrong_module(subject, source, executor);
        break;
    case 3:
        wrong_state(subject, source);
        break;
    case 4:
        wrong_helpers(subject, source);
        break;
    case 5:
        wrong_questions(source);
        hostile_descriptions(source);
        break;
    case 6:
        change_prepared(subject);
        break;
    case 7:
        call_with_new_executor(subject, source);
        break;
    default:
        wrong_forward(subject, source, executor);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct random_source source = {0};
    struct subject subject;
    random_follow(data, size);
    subject_create(&subject, &source);
    subject_check(&subject, any_executor(&source));
    for (int actions = 0; actions < ACTIONS_MAX && !random_input_is_spent(); actions++)
        act(&subject, &source);
    subject_check(&subject, any_executor(&source));
    subject_destroy(&subject);
    return 0;
}
