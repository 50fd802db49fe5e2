/*
 * tests/mechanisms/location_state_test.c: what a state of location carries: kappa, which belongs to no key, read, set,
 * copied, forgotten and continued from; and projected values.
 */
#include "mechanisms/location_calls.h"
#include "support/testing.h"

#include <math.h>

enum { K = 2 };

static const float MOVING[] = {0.0f, 0.5f, -1.0f, 0.0f, -0.3f, 0.7f};

static void get_kappa(const attnzoo_state *state, float kappa[K])
{
    attnzoo_tensor *view = view_of(kappa, 2, 1, K, 1);
    assert_ok(attnzoo_state_get_field(state, 0, view));
    attnzoo_tensor_destroy(view);
}

static attnzoo_status set_kappa(attnzoo_state *state, const float *kappa, int32_t rank, int64_t first, int64_t second,
                                int64_t third)
{
    attnzoo_tensor *view = view_of(kappa, rank, first, second, third);
    attnzoo_status status = attnzoo_state_set_fields(state, (const attnzoo_tensor *const[]){view}, 1);
    attnzoo_tensor_destroy(view);
    return status;
}

static void assert_kappa(const attnzoo_state *state, const float *expected)
{
    float kappa[K];
    get_kappa(state, kappa);
    assert_memory_equal(kappa, expected, sizeof kappa);
}

/* kappa belongs to no key: it is [B, K] and can be read before anything was attended to. */
static void kappa_is_there_in_an_empty_state(void **unused)
{
    (void)unused;
    attnzoo_module *module = mixture_of(K, MOVING, false);
    attnzoo_state *state = NULL;
    int32_t rank = 0;
    int64_t shape[ATTNZOO_RANK_MAX];
    assert_ok(attnzoo_module_prepare(module));
    /* No room for keys is needed where none are kept. */
    assert_ok(attnzoo_state_create(&state, module, 1, 0));
    for (int round = 0; round < 2; round++) {
        assert_ok(attnzoo_state_field_shape(state, 0, &rank, shape));
        assert_int_equal(rank, 2);
        assert_true(shape[0] == 1 && shape[1] == K);
        assert_int_equal(attnzoo_state_length(state), 0);
        if (round == 0)
            assert_kappa(state, location_zeros);
        struct call call = new_call(3, 7);
        assert_ok(run(&call, module, NULL, state));
    }
    assert_ok(attnzoo_state_reset(state));
    assert_kappa(state, location_zeros);
    attnzoo_state_destroy(state);
    attnzoo_module_destroy(module);
}

/* Steps after a kappa was read, set, copied or forgotten, against the same steps in one call. */
static void kappa_continues_to_the_bit(void **unused)
{
    (void)unused;
    attnzoo_module *module = mixture_of(K, MOVING, false);
    attnzoo_state *whole = NULL, *first = NULL, *second = NULL;
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_state_create(&whole, module, 1, 9));
    assert_ok(attnzoo_state_create(&first, module, 1, 0));
    assert_ok(attnzoo_state_create(&second, module, 1, 4));
    struct call all = new_call(5, 9), part = new_call(2, 9), rest = new_call(3, 9);
    assert_ok(run(&all, module, NULL, whole));
    for (int way = 0; way < 3; way++) {
        float kappa[K], before = 0.0f;
        assert_ok(attnzoo_state_reset(first));
        assert_ok(attnzoo_state_reset(second));
        assert_ok(run(&part, module, NULL, first));
        get_kappa(first, kappa);
        for (int k = 0; k < K; k++)
            assert_true(kappa[k] > before);
        if (way == 0)
            assert_ok(set_kappa(second, kappa, 2, 1, K, 1));
        else if (way == 1)
            assert_ok(attnzoo_state_copy(second, first));
        assert_ok(run(&rest, module, NULL, way == 2 ? first : second));
        assert_memory_equal(part.attention, all.attention, 2 * 9 * sizeof(float));
        assert_memory_equal(rest.attention, all.attention + 2 * 9, 3 * 9 * sizeof(float));
        assert_memory_equal(part.context, all.context, 2 * sizeof(float));
        assert_memory_equal(rest.context, all.context + 2, 3 * sizeof(float));
        float end[K];
        get_kappa(whole, end);
        assert_kappa(way == 2 ? first : second, end);
    }
    attnzoo_state_destroy(whole);
    attnzoo_state_destroy(first);
    attnzoo_state_destroy(second);
    attnzoo_module_destroy(module);
}

static void wrong_fields_and_failed_calls_leave_kappa_alone(void **unused)
{
    (void)unused;
    const float kappa[] = {1.5f, 2.5f, 3.5f, 4.5f};
    attnzoo_module *module = mixture_of(K, MOVING, false);
    attnzoo_state *state = NULL, *other = NULL;
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_state_create(&state, module, 1, 4));
    assert_ok(attnzoo_state_create(&other, module, 2, 4));
    assert_ok(set_kappa(state, kappa, 2, 1, K, 1));
    assert_refused(set_kappa(state, location_zeros, 2, 1, K + 1, 1), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "kappa has shape [1, 3], must have [1, 2]");
    assert_refused(set_kappa(state, location_zeros, 2, 2, K, 1), ATTNZOO_STATUS_SHAPE_MISMATCH, "must have [1, 2]");
    assert_refused(set_kappa(state, location_zeros, 1, K, 1, 1), ATTNZOO_STATUS_SHAPE_MISMATCH, "must have [1, 2]");
    assert_refused(set_kappa(state, location_zeros, 3, 1, K, 1), ATTNZOO_STATUS_SHAPE_MISMATCH, "must have [1, 2]");
    assert_refused(attnzoo_state_set_fields(state, NULL, 0), ATTNZOO_STATUS_INVALID_ARGUMENT, "kappa");
    assert_status(attnzoo_state_copy(state, other), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_status(attnzoo_state_truncate(state, 0), ATTNZOO_STATUS_UNSUPPORTED);
    struct call call = new_call(2, 7);
    assert_refused(run(&call, module, NULL, other), ATTNZOO_STATUS_SHAPE_MISMATCH, "the state has 2");
    int32_t length = 8;
    attnzoo_tensor *view = NULL;
    attnzoo_mask *mask = mask_of_length(&length, &view);
    assert_status(run(&call, module, mask, state), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_kappa(state, kappa);
    attnzoo_mask_destroy(mask);
    attnzoo_tensor_destroy(view);
    attnzoo_state_destroy(state);
    attnzoo_state_destroy(other);
    attnzoo_module_destroy(module);
}

/* A query that is padding is no step; M = 0 is no reason not to move; N = 0 is. */
static void kappa_moves_with_the_queries_that_count(void **unused)
{
    (void)unused;
    const float bias[] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, logf(2.0f)};
    attnzoo_module *module = mixture_of(K, bias, false);
    attnzoo_state *state = NULL;
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *view = NULL;
    int64_t length = 2;
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_state_create(&state, module, 1, 4));
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_tensor_create(&view, &length, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){1}, NULL));
    assert_ok(attnzoo_mask_set_query_lengths(mask, view));
    struct call padded = new_call(5, 4), empty = new_call(1, 0), none = new_call(0, 4);
    padded.query[3] = NAN;
    assert_ok(run(&padded, module, mask, state));
    assert_kappa(state, (const float[]){2.0f, 4.0f});
    for (int64_t i = 2; i < 5; i++)
        assert_true(padded.context[i] == 0.0f);
    assert_ok(run(&empty, module, NULL, state));
    assert_kappa(state, (const float[]){3.0f, 6.0f});
    assert_ok(run(&none, module, NULL, state));
    assert_kappa(state, (const float[]){3.0f, 6.0f});
    attnzoo_mask_destroy(mask);
    attnzoo_tensor_destroy(view);
    attnzoo_state_destroy(state);
    attnzoo_module_destroy(module);
}

/* Projected values are kept with the state, as long as it has room for them. */
static void projected_values_are_kept(void **unused)
{
    (void)unused;
    const float weight[] = {2.0f};
    attnzoo_module *module = mixture_of(K, MOVING, false);
    attnzoo_state *state = NULL, *small = NULL;
    assert_ok(set(module, "value_proj.weight", weight, 2, 1, 1));
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_state_create(&state, module, 1, 6));
    assert_ok(attnzoo_state_create(&small, module, 1, 5));
    struct call call = new_call(1, 6), other;
    assert_ok(run(&call, module, NULL, state));
    assert_int_equal(attnzoo_state_length(state), 6);
    double sum = 0.0;
    for (int j = 0; j < 6; j++)
        sum += 2.0 * (double)call.attention[j];
    assert_near(call.context[0], sum);
    /* What the same memory holds now is not looked at: it must not change. */
    for (int j = 0; j < 6; j++)
        call.value[j] = NAN;
    assert_ok(run(&call, module, NULL, state));
    assert_true(!isnan(call.context[0]));
    other = new_call(1, 4);
    assert_ok(run(&other, module, NULL, state));
    assert_true(!isnan(other.context[0]));
    call = new_call(1, 6);
    assert_refused(run(&call, module, NULL, small), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "room for 5 keys, but value has 6");
    attnzoo_state_destroy(state);
    attnzoo_state_destroy(small);
    attnzoo_module_destroy(module);
}

static void flavors_without_a_recurrence_carry_nothing(void **unused)
{
    (void)unused;
    attnzoo_module *module = local_of(3);
    attnzoo_state *state = NULL;
    int32_t rank = 0;
    int64_t shape[ATTNZOO_RANK_MAX];
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_state_create(&state, module, 1, 0));
    struct call with = new_call(2, 5), without = new_call(2, 5);
    assert_ok(run(&with, module, NULL, state));
    assert_ok(run(&without, module, NULL, NULL));
    assert_memory_equal(with.attention, without.attention, 2 * 5 * sizeof(float));
    assert_ok(attnzoo_state_field_shape(state, 0, &rank, shape));
    assert_true(rank == 2 && shape[0] == 1 && shape[1] == 0);
    attnzoo_state_destroy(state);
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kappa_is_there_in_an_empty_state),
        cmocka_unit_test(kappa_continues_to_the_bit),
        cmocka_unit_test(wrong_fields_and_failed_calls_leave_kappa_alone),
        cmocka_unit_test(kappa_moves_with_the_queries_that_count),
        cmocka_unit_test(projected_values_are_kept),
        cmocka_unit_test(flavors_without_a_recurrence_carry_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
