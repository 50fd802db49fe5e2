/*
 * tests/core/state_test.c: states as such: making, asking, resetting and copying them, and every refusal, after which
 * all is as it was. They are those of location_aware; caches are tested with the mechanisms that have them. Exporting
 * and importing is in state_fields_test.c.
 */
#include "state_fixture.h"

#include <sys/mman.h>

static void mechanisms_without_a_state_say_so(void **state)
{
    (void)state;
    const char *names[] = {"scaled_dot_product", "additive"};
    static const float ones[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    attnzoo_tensor *weight = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&weight, ones, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 4}, NULL));
    for (int i = 0; i < 2; i++) {
        attnzoo_module *module = NULL;
        attnzoo_state *none = NULL;
        assert_ok(attnzoo_module_create(&module, names[i]));
        if (i == 1)
            assert_ok(attnzoo_module_set_parameter(module, "score_proj.weight", weight));
        assert_ok(attnzoo_module_prepare(module));
        assert_refused(attnzoo_state_create(&none, module, 1, 1), ATTNZOO_STATUS_UNSUPPORTED, names[i]);
        assert_null(none);
        const struct attention_case *call = &fixture.test.call;
        assert_refused(attnzoo_module_forward(module, NULL, call->query.view, call->key.view, call->value.view, NULL,
                                              fixture.state, call->context.view, NULL),
                       ATTNZOO_STATUS_UNSUPPORTED, names[i]);
        assert_true(test_tensor_is_untouched(&call->context));
        attnzoo_module_destroy(module);
    }
    attnzoo_tensor_destroy(weight);
    fixture_destroy(&fixture);
}

static void creating_checks_its_arguments(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    attnzoo_state *made = NULL;
    assert_refused(attnzoo_state_create(NULL, fixture.module, 1, 1), ATTNZOO_STATUS_INVALID_ARGUMENT, "state");
    assert_refused(attnzoo_state_create(&made, NULL, 1, 1), ATTNZOO_STATUS_INVALID_ARGUMENT, "module");
    assert_refused(attnzoo_state_create(&made, fixture.module, -1, 1), ATTNZOO_STATUS_INVALID_ARGUMENT, "-1");
    assert_refused(attnzoo_state_create(&made, fixture.module, 1, -3), ATTNZOO_STATUS_INVALID_ARGUMENT, "-3");
    const int64_t huge[][2] = {{INT64_MAX, 2},
                               {2, INT64_MAX},
                               {INT64_C(1) << 40, INT64_C(1) << 40},
                               {INT64_MAX, INT64_MAX},
                               {0, INT64_C(1) << 62}};
    for (int i = 0; i < 5; i++)
        assert_status(attnzoo_state_create(&made, fixture.module, huge[i][0], huge[i][1]),
                      ATTNZOO_STATUS_INVALID_ARGUMENT);
        /* Sizes that can be counted but not had; 32 bits count none such. Sanitizers end the program where they are
         * asked for so much. */
#if SIZE_MAX > UINT32_MAX && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_status(attnzoo_state_create(&made, fixture.module, 1, INT64_C(1) << 52), ATTNZOO_STATUS_OUT_OF_MEMORY);
#endif
    attnzoo_module *raw = tanh_case_unprepared_module(&fixture.test);
    assert_refused(attnzoo_state_create(&made, raw, 1, 1), ATTNZOO_STATUS_BAD_STATE, "prepared");
    attnzoo_module_destroy(raw);
    assert_null(made);
    attnzoo_state_destroy(NULL);
    fixture_destroy(&fixture);
}

static void a_state_tells_what_it_is(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
    attnzoo_state *made = NULL;
    assert_ok(attnzoo_state_create(&made, fixture.module, B, M + 9));
    assert_int_equal(attnzoo_state_capacity(made), M + 9);
    assert_int_equal(attnzoo_state_batch(made), B);
    assert_int_equal(attnzoo_state_length(made), 0);
    assert_ok(step(&fixture, made));
    assert_int_equal(attnzoo_state_length(made), M);
    assert_int_equal(attnzoo_state_capacity(made), M + 9);
    assert_ok(attnzoo_state_reset(made));
    assert_int_equal(attnzoo_state_length(made), 0);
    assert_int_equal(attnzoo_state_capacity(NULL), -1);
    assert_int_equal(attnzoo_state_batch(NULL), -1);
    assert_int_equal(attnzoo_state_length(NULL), -1);
    attnzoo_state_destroy(made);
    for (int64_t capacity = 0; capacity <= 1; capacity++) {
        assert_ok(attnzoo_state_create(&made, fixture.module, 0, capacity));
        assert_int_equal(attnzoo_state_batch(made), 0);
        assert_int_equal(attnzoo_state_capacity(made), capacity);
        attnzoo_state_destroy(made);
    }
    fixture_destroy(&fixture);
}

/* P38: what an utterance left behind would change the next. */
static void p38_a_reset_state_is_as_new(void **state)
{
    (void)state;
    for (enum reference_initial initial = REFERENCE_ZEROS; initial <= REFERENCE_FIRST; initial++) {
        struct fixture fixture;
        fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
        attnzoo_module_destroy(fixture.module);
        attnzoo_state_destroy(fixture.state);
        fixture.test.initial = initial;
        fixture.module = tanh_case_module(&fixture.test);
        fixture.state = tanh_case_state(&fixture.test, fixture.module);
        assert_ok(step(&fixture, fixture.state));
        struct fields first = fields_of(fixture.state);
        assert_ok(step(&fixture, fixture.state));
        struct fields second = fields_of(fixture.state);
        assert_memory_not_equal(&first, &second, sizeof first);
        assert_ok(attnzoo_state_reset(fixture.state));
        assert_ok(step(&fixture, fixture.state));
        assert_holds(fixture.state, &first);
        fixture_destroy(&fixture);
    }
    assert_refused(attnzoo_state_reset(NULL), ATTNZOO_STATUS_INVALID_ARGUMENT, "state");
}

static void an_alignment_cannot_be_truncated(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    assert_ok(step(&fixture, fixture.state));
    struct fields before = fields_of(fixture.state);
    for (int64_t length = 0; length <= M; length += M)
        assert_status(attnzoo_state_truncate(fixture.state, length), ATTNZOO_STATUS_UNSUPPORTED);
    assert_refused(attnzoo_state_truncate(NULL, 0), ATTNZOO_STATUS_INVALID_ARGUMENT, "state");
    assert_holds(fixture.state, &before);
    fixture_destroy(&fixture);
}

static void a_copy_continues_as_the_original_does(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
    attnzoo_state *copy = NULL;
    assert_ok(attnzoo_state_create(&copy, fixture.module, B, M + 4));
    assert_ok(step(&fixture, fixture.state));
    struct fields after_one = fields_of(fixture.state);
    assert_ok(attnzoo_state_copy(copy, fixture.state));
    assert_holds(copy, &after_one);
    assert_ok(step(&fixture, fixture.state));
    struct fields after_two = fields_of(fixture.state);
    assert_holds(copy, &after_one);
    assert_ok(step(&fixture, copy));
    assert_holds(copy, &after_two);
    assert_ok(attnzoo_state_copy(copy, copy));
    assert_holds(copy, &after_two);
    /* An empty one empties the other, which then starts anew. */
    attnzoo_state *empty = tanh_case_state(&fixture.test, fixture.module);
    assert_ok(attnzoo_state_copy(copy, empty));
    assert_int_equal(attnzoo_state_length(copy), 0);
    assert_ok(step(&fixture, copy));
    assert_holds(copy, &after_one);
    attnzoo_state_destroy(empty);
    attnzoo_state_destroy(copy);
    fixture_destroy(&fixture);
}

/* The other module has weights of its own: projections kept in the source are none of its. */
static void a_copy_of_another_module_s_state_uses_its_own_weights(void **state)
{
    (void)state;
    struct fixture fixture, other;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    fixture_create(&other, state_fixture_sizes(), REFERENCE_PREVIOUS);
    attnzoo_module_destroy(other.module);
    attnzoo_state_destroy(other.state);
    struct test_tensor *weight = &other.test.parameters[TANH_KEY_WEIGHT];
    for (int64_t i = 0; i < weight->count; i++)
        weight->values[i] = -weight->values[i];
    test_tensor_store(weight);
    other.module = tanh_case_module(&other.test);
    other.state = tanh_case_state(&other.test, other.module);
    /* Both read the same keys: the views are at one place. */
    attnzoo_tensor *keys = other.test.call.key.view;
    other.test.call.key.view = fixture.test.call.key.view;
    attnzoo_tensor *values = other.test.call.value.view;
    other.test.call.value.view = fixture.test.call.value.view;
    struct reference_alignment expected = reference_alignment_create(B, H, M);
    struct reference_result result = tanh_case_expect(&fixture.test, &expected);
    reference_result_destroy(&result);
    assert_ok(step(&fixture, fixture.state));
    assert_ok(step(&other, other.state));
    assert_ok(attnzoo_state_copy(other.state, fixture.state));
    result = tanh_case_expect(&other.test, &expected);
    assert_ok(step(&other, other.state));
    tanh_case_load(&other.test);
    assert_true(tanh_case_compare_with(&other.test, &result));
    other.test.call.key.view = keys;
    other.test.call.value.view = values;
    reference_result_destroy(&result);
    reference_alignment_destroy(&expected);
    fixture_destroy(&fixture);
    fixture_destroy(&other);
}

/* Which keys the projections in a copy are of goes with them: the copy does not read those keys again, and does not
 * take its own of before for them. */
static void a_copy_knows_which_keys_it_holds(void **state)
{
    (void)state;
    struct fixture one, two;
    fixture_create(&one, state_fixture_sizes(), REFERENCE_PREVIOUS);
    fixture_create(&two, state_fixture_sizes(), REFERENCE_PREVIOUS);
    for (int64_t i = 0; i < two.test.call.key.count; i++)
        two.test.call.key.values[i] = -two.test.call.key.values[i];
    tanh_case_store(&two.test);
    /* Both are steps of one module; the keys differ in place and in numbers. */
    attnzoo_module *module = two.module;
    two.module = one.module;
    attnzoo_state *copy = tanh_case_state(&one.test, one.module);
    assert_ok(step(&two, copy));
    assert_ok(step(&one, one.state));
    assert_ok(attnzoo_state_copy(copy, one.state));
    struct reference_alignment expected = reference_alignment_create(B, H, M);
    struct reference_result result = tanh_case_expect(&one.test, &expected);
    reference_result_destroy(&result);
    result = tanh_case_expect(&two.test, &expected);
    assert_ok(step(&two, copy));
    tanh_case_load(&two.test);
    assert_true(tanh_case_compare_with(&two.test, &result));
    attnzoo_state *fresh = tanh_case_state(&one.test, one.module);
    assert_ok(attnzoo_state_copy(copy, one.state));
    assert_ok(attnzoo_state_copy(fresh, one.state));
    struct guarded_memory *keys = &one.test.call.key.memory;
    assert_int_equal(mprotect(keys->pages, keys->pages_size, PROT_NONE), 0);
    assert_ok(step(&one, copy));
    assert_ok(step(&one, fresh));
    assert_int_equal(mprotect(keys->pages, keys->pages_size, PROT_READ | PROT_WRITE), 0);
    attnzoo_state_destroy(fresh);
    reference_result_destroy(&result);
    reference_alignment_destroy(&expected);
    attnzoo_state_destroy(copy);
    two.module = module;
    fixture_destroy(&one);
    fixture_destroy(&two);
}

static void copies_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    assert_ok(step(&fixture, fixture.state));
    attnzoo_state *small = NULL, *wide = NULL;
    assert_ok(attnzoo_state_create(&small, fixture.module, B, M - 1));
    assert_ok(attnzoo_state_create(&wide, fixture.module, B + 1, M));
    assert_refused(attnzoo_state_copy(small, fixture.state), ATTNZOO_STATUS_INVALID_ARGUMENT, "6");
    assert_error_contains("7");
    assert_status(attnzoo_state_copy(wide, fixture.state), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_int_equal(attnzoo_state_length(small), 0);
    assert_int_equal(attnzoo_state_length(wide), 0);
    struct tanh_sizes sizes = state_fixture_sizes();
    sizes.heads = 1;
    struct fixture other;
    fixture_create(&other, sizes, REFERENCE_PREVIOUS);
    assert_ok(step(&other, other.state));
    struct fields before = fields_of(other.state);
    assert_status(attnzoo_state_copy(other.state, fixture.state), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_holds(other.state, &before);
    assert_refused(attnzoo_state_copy(NULL, fixture.state), ATTNZOO_STATUS_INVALID_ARGUMENT, "destination");
    assert_refused(attnzoo_state_copy(fixture.state, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT, "source");
    fixture_destroy(&other);
    attnzoo_state_destroy(small);
    attnzoo_state_destroy(wide);
    fixture_destroy(&fixture);
}

/* A call that is refused for the sake of its state: no output, and the state as it was. */
static void assert_call_refused(struct fixture *fixture, attnzoo_state *state, attnzoo_status wanted, const char *text)
{
    int64_t length = attnzoo_state_length(state);
    test_tensor_poison(&fixture->test.call.context);
    test_tensor_poison(&fixture->test.call.attention);
    assert_refused(step(fixture, state), wanted, text);
    assert_true(test_tensor_is_untouched(&fixture->test.call.context));
    assert_true(test_tensor_is_untouched(&fixture->test.call.attention));
    assert_int_equal(attnzoo_state_length(state), length);
}

static void states_that_do_not_fit_a_call_are_refused(void **state)
{
    (void)state;
    struct fixture fixture, same, longer;
    struct tanh_sizes sizes = state_fixture_sizes();
    sizes.keys = M + 2;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    fixture_create(&same, state_fixture_sizes(), REFERENCE_PREVIOUS);
    fixture_create(&longer, sizes, REFERENCE_PREVIOUS);
    attnzoo_state *other = NULL;
    /* Of another module, though that is made the same way. */
    assert_call_refused(&fixture, same.state, ATTNZOO_STATUS_BAD_STATE, "module");
    assert_ok(attnzoo_state_create(&other, fixture.module, B + 1, M));
    assert_call_refused(&fixture, other, ATTNZOO_STATUS_SHAPE_MISMATCH, "3");
    attnzoo_state_destroy(other);
    assert_ok(attnzoo_state_create(&other, fixture.module, B, M - 1));
    assert_call_refused(&fixture, other, ATTNZOO_STATUS_INVALID_ARGUMENT, "6");
    assert_error_contains("7");
    attnzoo_state_destroy(other);
    /* It holds an alignment over other keys. */
    attnzoo_module *module = longer.module;
    longer.module = fixture.module;
    assert_ok(attnzoo_state_create(&other, fixture.module, B, M + 5));
    assert_ok(step(&fixture, other));
    struct fields before = fields_of(other);
    assert_call_refused(&longer, other, ATTNZOO_STATUS_SHAPE_MISMATCH, "9");
    assert_error_contains("7");
    assert_holds(other, &before);
    assert_ok(attnzoo_state_reset(other));
    assert_ok(step(&longer, other));
    assert_int_equal(attnzoo_state_length(other), M + 2);
    attnzoo_state_destroy(other);
    longer.module = module;
    fixture_destroy(&fixture);
    fixture_destroy(&same);
    fixture_destroy(&longer);
}

/* Refusals that have nothing to do with the state leave it alone too. */
static void a_failed_call_leaves_the_state_as_it_was(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
    assert_ok(step(&fixture, fixture.state));
    struct fields before = fields_of(fixture.state);
    struct attention_case *call = &fixture.test.call;
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *lengths = NULL;
    static const int64_t wrong[B] = {2, M + 1};
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_tensor_create_readonly(&lengths, wrong, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){B}, NULL));
    assert_ok(attnzoo_mask_set_key_lengths(mask, lengths));
    assert_status(tanh_case_forward(&fixture.test, fixture.module, NULL, mask, fixture.state),
                  ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_holds(fixture.state, &before);
    const attnzoo_tensor *const inputs[][3] = {{call->query.view, call->key.view, call->key.view},
                                               {call->key.view, call->key.view, call->value.view},
                                               {call->query.view, call->query.view, call->value.view},
                                               {call->query.view, call->key.view, NULL}};
    for (int i = 0; i < 4; i++) {
        assert_true(attnzoo_module_forward(fixture.module, NULL, inputs[i][0], inputs[i][1], inputs[i][2], NULL,
                                           fixture.state, call->context.view, NULL) != ATTNZOO_STATUS_OK);
        assert_holds(fixture.state, &before);
    }
    assert_status(attnzoo_module_forward(fixture.module, NULL, call->query.view, call->key.view, call->value.view, NULL,
                                         fixture.state, call->query.view, NULL),
                  ATTNZOO_STATUS_OVERLAP);
    assert_holds(fixture.state, &before);
    attnzoo_tensor_destroy(lengths);
    attnzoo_mask_destroy(mask);
    fixture_destroy(&fixture);
}

/* Calls without queries, or without keys, do nothing: what follows is a first step. */
static void a_call_without_queries_starts_nothing(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
    assert_ok(step(&fixture, fixture.state));
    struct fields first = fields_of(fixture.state);
    assert_ok(tanh_case_forward_part(&fixture.test, 0, 0, fixture.module, NULL, fixture.state));
    assert_holds(fixture.state, &first);
    assert_ok(attnzoo_state_reset(fixture.state));
    assert_ok(tanh_case_forward_part(&fixture.test, 0, 0, fixture.module, NULL, fixture.state));
    assert_int_equal(attnzoo_state_length(fixture.state), 0);
    assert_ok(step(&fixture, fixture.state));
    assert_holds(fixture.state, &first);
    fixture_destroy(&fixture);
}

/* Heads of no size take no memory, so that any capacity will do: no step through the fields may wrap. */
static void a_cache_of_nothing_may_have_any_capacity(void **state)
{
    (void)state;
    static const char *const weights[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight"};
    attnzoo_tensor *weight = NULL, *kept = NULL;
    attnzoo_module *module = NULL;
    attnzoo_state *first = NULL, *second = NULL;
    assert_ok(attnzoo_tensor_create(&weight, NULL, ATTNZOO_DTYPE_FLOAT32, 2, (const int64_t[]){0, 4}, NULL));
    assert_ok(attnzoo_tensor_create(&kept, NULL, ATTNZOO_DTYPE_FLOAT32, 4, (const int64_t[]){2, 8, 3, 0}, NULL));
    assert_ok(attnzoo_module_create(&module, "multi_head"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", 8));
    for (int i = 0; i < 3; i++)
        assert_ok(attnzoo_module_set_parameter(module, weights[i], weight));
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_state_create(&first, module, 2, INT64_MAX / 4));
    assert_ok(attnzoo_state_create(&second, module, 2, INT64_MAX / 4));
    assert_ok(attnzoo_state_set_fields(first, (const attnzoo_tensor *const[]){kept, kept}, 2));
    assert_ok(attnzoo_state_copy(second, first));
    assert_int_equal(attnzoo_state_length(second), 3);
    assert_ok(attnzoo_state_get_field(second, 1, kept));
    attnzoo_state_destroy(first);
    attnzoo_state_destroy(second);
    attnzoo_module_destroy(module);
    attnzoo_tensor_destroy(kept);
    attnzoo_tensor_destroy(weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mechanisms_without_a_state_say_so),
        cmocka_unit_test(creating_checks_its_arguments),
        cmocka_unit_test(a_state_tells_what_it_is),
        cmocka_unit_test(p38_a_reset_state_is_as_new),
        cmocka_unit_test(an_alignment_cannot_be_truncated),
        cmocka_unit_test(a_copy_continues_as_the_original_does),
        cmocka_unit_test(a_copy_of_another_module_s_state_uses_its_own_weights),
        cmocka_unit_test(a_copy_knows_which_keys_it_holds),
        cmocka_unit_test(copies_that_do_not_fit_are_refused),
        cmocka_unit_test(states_that_do_not_fit_a_call_are_refused),
        cmocka_unit_test(a_failed_call_leaves_the_state_as_it_was),
        cmocka_unit_test(a_call_without_queries_starts_nothing),
        cmocka_unit_test(a_cache_of_nothing_may_have_any_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
