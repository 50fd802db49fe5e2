/*
 * tests/threads/fork_mechanisms_test.c: fork() between the calls of every mechanism: the child goes on with module, mask,
 * state and executor of the parent, whose threads it does not have, and both come to the same, to the bit. Forks beside
 * running calls are in fork_test.c.
 */
#include "support/testing.h"
#include "support/zoo_case.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 120, CAPACITY = 40, CALLS = 3 };

static const struct zoo_sizes SIZES = {2, 2, 1, 5, 30, 8};

/* Several calls, each of which begins where the first did; false if one gives something else. */
static bool go_on(struct zoo_case *test, const struct zoo_case *expected, attnzoo_executor *executor,
                  const attnzoo_mask *mask, attnzoo_state *state)
{
    for (int call = 0; call < CALLS; call++) {
        if (state != NULL && attnzoo_state_reset(state) != ATTNZOO_STATUS_OK)
            return false;
        zoo_case_poison(test);
        if (zoo_case_forward(test, test->module, executor, mask, state) != ATTNZOO_STATUS_OK ||
            !zoo_case_same(test, expected))
            return false;
    }
    return true;
}

static bool child_succeeds(struct zoo_case *test, const struct zoo_case *expected, attnzoo_executor *executor,
                           attnzoo_mask *mask, attnzoo_state *state)
{
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        alarm(PATIENCE_SECONDS);
        bool is_right = go_on(test, expected, executor, mask, state) && go_on(test, expected, NULL, mask, state);
        attnzoo_state_destroy(state);
        attnzoo_mask_destroy(mask);
        attnzoo_executor_destroy(executor);
        attnzoo_module_destroy(test->module);
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void p47_every_mechanism_goes_on_in_the_child(void **unused)
{
    (void)unused;
    int forks = 0;
    for (int kind = 0; kind < ZOO_KINDS; kind++)
        for (int32_t threads = 1; threads <= 3; threads++)
            for (int has_state = 0; has_state <= zoo_has_state((enum zoo_kind)kind); has_state++) {
                struct zoo_case test, expected;
                attnzoo_executor *executor = NULL;
                attnzoo_mask *mask = NULL;
                attnzoo_state *state = NULL;
                zoo_case_create(&test, (enum zoo_kind)kind, SIZES, 21);
                zoo_case_share(&expected, &test);
                assert_ok(attnzoo_executor_create(&executor, threads));
                assert_ok(attnzoo_mask_create(&mask));
                assert_ok(attnzoo_mask_set_causal(mask, 1));
                if (has_state != 0)
                    assert_ok(attnzoo_state_create(&state, test.module, SIZES.batch, CAPACITY));
                assert_ok(zoo_case_forward(&expected, test.module, executor, mask, state));
                if (!child_succeeds(&test, &expected, executor, mask, state))
                    fail_msg("%s, %d threads, state %d", ZOO_NAMES[kind], (int)threads, has_state);
                assert_true(go_on(&test, &expected, executor, mask, state));
                forks++;
                attnzoo_state_destroy(state);
                attnzoo_mask_destroy(mask);
                attnzoo_executor_destroy(executor);
                zoo_case_destroy_outputs(&expected);
                zoo_case_destroy(&test);
            }
    print_message("%d forks\n", forks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p47_every_mechanism_goes_on_in_the_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
