/*
 * tests/support/failing_allocation.c: each allocation of a call failing in turn.
 */
#include "support/failing_allocation.h"

#include "support/testing.h"
#include "support/watched_allocator.h"

#include <inttypes.h>

enum { MOST_FAILURES = 500, WARM_UPS = 3, ATTEMPTS = 4 };

static void poison(const struct failing_call *call)
{
    for (int i = 0; i < FAILING_OUTPUTS; i++)
        if (call->outputs[i] != NULL)
            test_tensor_poison(call->outputs[i]);
}

/* Runs with one failure, which is told; false if there was nothing left to fail. */
static bool run_with_failure(const struct failing_call *call, int64_t number, int64_t *live)
{
    poison(call);
    if (call->is_thread)
        allocator_fail_thread(number);
    else
        allocator_fail(number);
    allocator_watch();
    attnzoo_status status = call->run(call->context);
    *live = allocator_stop().live;
    if (!allocator_has_failed())
        return false;
    if (status != ATTNZOO_STATUS_OUT_OF_MEMORY && status != ATTNZOO_STATUS_SYSTEM)
        fail_msg("%s, failure %" PRId64 ": '%s', from %s", call->name, number, attnzoo_status_name(status),
                 allocator_last_caller());
    for (int i = 0; i < FAILING_OUTPUTS; i++)
        if (call->outputs[i] != NULL && !test_tensor_is_untouched(call->outputs[i]))
            fail_msg("%s, failure %" PRId64 " wrote to output %d", call->name, number, i);
    if (call->check != NULL)
        call->check(call->context);
    return true;
}

static bool fail_once(const struct failing_call *call, int64_t number, int64_t usual_live)
{
    int64_t live = INT64_MAX;
    /* A leak shows each time; what an OpenMP makes for a thread that comes to its first product here, once. */
    for (int attempt = 0; attempt < ATTEMPTS && live > usual_live; attempt++)
        if (!run_with_failure(call, number, &live))
            return false;
    if (live > usual_live)
        fail_msg("%s, failure %" PRId64 " left %" PRId64 " allocations", call->name, number, live - usual_live);
    return true;
}

int64_t fail_in_turn(const struct failing_call *call)
{
    /* What is made once for the whole process is made here. */
    for (int i = 0; i < WARM_UPS; i++)
        assert_ok(call->run(call->context));
    allocator_watch();
    assert_ok(call->run(call->context));
    int64_t usual_live = allocator_stop().live, number = 1;
    while (number <= MOST_FAILURES && fail_once(call, number, usual_live))
        number++;
    assert_true(number <= MOST_FAILURES);
    poison(call);
    assert_ok(call->run(call->context));
    return number - 1;
}
