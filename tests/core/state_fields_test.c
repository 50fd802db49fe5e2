/*
 * tests/core/state_fields_test.c: the fields of a state: their shapes, exporting and importing them, and every refusal,
 * after which all is as it was.
 */
#include "state_fixture.h"

static void field_shapes_follow_the_length(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    for (int round = 0; round < 2; round++) {
        for (int32_t field = 0; field < 2; field++) {
            rank = -7;
            assert_ok(attnzoo_state_field_shape(fixture.state, field, &rank, shape));
            assert_int_equal(rank, 3);
            assert_int_equal(shape[0], B);
            assert_int_equal(shape[1], H);
            assert_int_equal(shape[2], round == 0 ? 0 : M);
        }
        assert_ok(step(&fixture, fixture.state));
    }
    rank = -7;
    for (int32_t field = -1; field <= 2; field += 3)
        assert_status(attnzoo_state_field_shape(fixture.state, field, &rank, shape), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_refused(attnzoo_state_field_shape(NULL, 0, &rank, shape), ATTNZOO_STATUS_INVALID_ARGUMENT, "state");
    assert_refused(attnzoo_state_field_shape(fixture.state, 0, NULL, shape), ATTNZOO_STATUS_INVALID_ARGUMENT, "rank");
    assert_refused(attnzoo_state_field_shape(fixture.state, 0, &rank, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT, "shape");
    assert_int_equal(rank, -7);
    fixture_destroy(&fixture);
}

static void descriptions_name_the_fields(void **state)
{
    (void)state;
    const char *names[] = {"alignment", "cumulative"};
    assert_int_equal(attnzoo_item_count("location_aware", ATTNZOO_ITEM_STATE), 2);
    for (int32_t i = 0; i < 2; i++) {
        assert_string_equal(attnzoo_item_text("location_aware", ATTNZOO_ITEM_STATE, i, ATTNZOO_FIELD_NAME), names[i]);
        assert_string_equal(attnzoo_item_text("location_aware", ATTNZOO_ITEM_STATE, i, ATTNZOO_FIELD_SHAPE),
                            "[B, H, M]");
        assert_non_null(attnzoo_item_text("location_aware", ATTNZOO_ITEM_STATE, i, ATTNZOO_FIELD_SUMMARY));
    }
    assert_null(attnzoo_item_text("location_aware", ATTNZOO_ITEM_STATE, 2, ATTNZOO_FIELD_NAME));
    assert_int_equal(attnzoo_item_count("additive", ATTNZOO_ITEM_STATE), 0);
    assert_int_equal(attnzoo_item_count("scaled_dot_product", ATTNZOO_ITEM_STATE), 0);
}

static attnzoo_status get_into(const attnzoo_state *state, int32_t field, void *data, int32_t dtype, int32_t rank,
                               const int64_t *shape, const int64_t *strides, bool is_readonly)
{
    attnzoo_tensor *view = NULL;
    if (is_readonly)
        assert_ok(attnzoo_tensor_create_readonly(&view, data, dtype, rank, shape, strides));
    else
        assert_ok(attnzoo_tensor_create(&view, data, dtype, rank, shape, strides));
    attnzoo_status status = attnzoo_state_get_field(state, field, view);
    attnzoo_tensor_destroy(view);
    return status;
}

static void exporting_checks_its_arguments(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    assert_ok(step(&fixture, fixture.state));
    int64_t memory[FIELD_COUNT], before[FIELD_COUNT];
    memset(memory, 0x5a, sizeof memory);
    memcpy(before, memory, sizeof memory);
    const int32_t f32 = ATTNZOO_DTYPE_FLOAT32;
    const int64_t right[] = {B, H, M, 1};
    const int64_t wrong[][3] = {{B + 1, H, M}, {B, H - 1, M}, {B, H, M - 1}, {B, H, M + 1}};
    for (int i = 0; i < 4; i++)
        assert_status(get_into(fixture.state, 0, memory, f32, 3, wrong[i], NULL, false), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_status(get_into(fixture.state, 0, memory, f32, 4, right, NULL, false), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_status(get_into(fixture.state, 0, memory, f32, 2, right, NULL, false), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_status(get_into(fixture.state, 0, memory, ATTNZOO_DTYPE_INT64, 3, right, NULL, false),
                  ATTNZOO_STATUS_DTYPE_MISMATCH);
    assert_status(get_into(fixture.state, 0, memory, ATTNZOO_DTYPE_BOOL, 3, right, NULL, false),
                  ATTNZOO_STATUS_DTYPE_MISMATCH);
    assert_refused(get_into(fixture.state, 0, memory, f32, 3, right, NULL, true), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "read-only");
    assert_status(get_into(fixture.state, 1, memory, f32, 3, right, (int64_t[]){0, M, 1}, false),
                  ATTNZOO_STATUS_OVERLAP);
    assert_status(get_into(fixture.state, 1, memory, f32, 3, right, (int64_t[]){H * M, 1, 1}, false),
                  ATTNZOO_STATUS_OVERLAP);
    for (int32_t field = -1; field <= 2; field += 3)
        assert_status(get_into(fixture.state, field, memory, f32, 3, right, NULL, false),
                      ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_refused(get_into(NULL, 0, memory, f32, 3, right, NULL, false), ATTNZOO_STATUS_INVALID_ARGUMENT, "state");
    assert_refused(attnzoo_state_get_field(fixture.state, 0, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT, "values");
    assert_memory_equal(memory, before, sizeof memory);
    fixture_destroy(&fixture);
}

/* Two fields to be imported, which a test spoils one way. */
struct import {
    float values[2][FIELD_COUNT];
    attnzoo_tensor *views[3];
};

static void import_create(struct import *import)
{
    *import = (struct import){0};
    for (int field = 0; field < 2; field++) {
        for (int i = 0; i < FIELD_COUNT; i++)
            import->values[field][i] = (float)(field + 1) / (float)(M + i % M);
        assert_ok(attnzoo_tensor_create(&import->views[field], import->values[field], ATTNZOO_DTYPE_FLOAT32, 3,
                                        (int64_t[]){B, H, M}, NULL));
    }
}

static void import_destroy(struct import *import)
{
    for (int i = 0; i < 3; i++)
        attnzoo_tensor_destroy(import->views[i]);
}

static attnzoo_status import_to(const struct import *import, attnzoo_state *state, int32_t count)
{
    return attnzoo_state_set_fields(state, (const attnzoo_tensor *const *)import->views, count);
}

static void assign(struct import *import, int field, int32_t dtype, int32_t rank, const int64_t *shape)
{
    assert_ok(attnzoo_tensor_assign(import->views[field], import->values[field], dtype, rank, shape, NULL));
}

static void importing_checks_its_arguments(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
    assert_ok(step(&fixture, fixture.state));
    struct fields before = fields_of(fixture.state);
    const int32_t f32 = ATTNZOO_DTYPE_FLOAT32;
    const int64_t right[] = {B, H, M};
    struct import import;
    import_create(&import);
    assert_refused(import_to(&import, NULL, 2), ATTNZOO_STATUS_INVALID_ARGUMENT, "state");
    assert_refused(attnzoo_state_set_fields(fixture.state, NULL, 2), ATTNZOO_STATUS_INVALID_ARGUMENT, "fields");
    assert_status(import_to(&import, fixture.state, -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_refused(import_to(&import, fixture.state, 0), ATTNZOO_STATUS_INVALID_ARGUMENT, "alignment");
    assert_refused(import_to(&import, fixture.state, 1), ATTNZOO_STATUS_INVALID_ARGUMENT, "cumulative");
    attnzoo_tensor *kept = import.views[0];
    import.views[0] = NULL;
    assert_refused(import_to(&import, fixture.state, 2), ATTNZOO_STATUS_INVALID_ARGUMENT, "alignment");
    import.views[0] = kept;
    import.views[2] = kept;
    assert_status(import_to(&import, fixture.state, 3), ATTNZOO_STATUS_UNSUPPORTED);
    import.views[2] = NULL;
    for (int field = 0; field < 2; field++) {
        const int64_t wrong[][3] = {{B - 1, H, M}, {B, H - 1, M}, {B, H, M - 1}};
        for (int i = 0; i < 3; i++) {
            assign(&import, field, f32, 3, wrong[i]);
            assert_status(import_to(&import, fixture.state, 2), ATTNZOO_STATUS_SHAPE_MISMATCH);
        }
        assign(&import, field, f32, 2, right);
        assert_status(import_to(&import, fixture.state, 2), ATTNZOO_STATUS_SHAPE_MISMATCH);
        assign(&import, field, ATTNZOO_DTYPE_INT32, 3, right);
        assert_status(import_to(&import, fixture.state, 2), ATTNZOO_STATUS_DTYPE_MISMATCH);
        assign(&import, field, f32, 3, right);
    }
    assert_holds(fixture.state, &before);
    /* A third place that is NULL is none. */
    assert_ok(import_to(&import, fixture.state, 3));
    attnzoo_state *small = NULL;
    assert_ok(attnzoo_state_create(&small, fixture.module, B, M - 1));
    assert_refused(import_to(&import, small, 2), ATTNZOO_STATUS_INVALID_ARGUMENT, "7");
    assert_error_contains("6");
    assert_int_equal(attnzoo_state_length(small), 0);
    attnzoo_state_destroy(small);
    import_destroy(&import);
    fixture_destroy(&fixture);
}

static void what_was_imported_is_exported_to_the_bit(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_CUMULATIVE);
    struct random_source source = {8};
    for (int round = 0; round < 60; round++) {
        struct test_tensor in[2], out;
        const int64_t shape[] = {B, H, random_between(&source, 0, M)};
        for (int32_t field = 0; field < 2; field++) {
            in[field] = test_tensor_plan(types[round % 3], 3, shape);
            test_tensor_plan_any_layout(&in[field], &source, 3, true);
            test_tensor_allocate(&in[field]);
            test_tensor_fill(&in[field], &source, 0.0, 1.0);
            test_tensor_store(&in[field]);
        }
        assert_ok(attnzoo_state_set_fields(fixture.state, (const attnzoo_tensor *const[]){in[0].view, in[1].view}, 2));
        assert_int_equal(attnzoo_state_length(fixture.state), shape[2]);
        for (int32_t field = 0; field < 2; field++) {
            out = test_tensor_plan(types[round % 3], 3, shape);
            test_tensor_plan_any_layout(&out, &source, 3, false);
            test_tensor_allocate(&out);
            assert_ok(attnzoo_state_get_field(fixture.state, field, out.view));
            test_tensor_load(&out);
            for (int64_t i = 0; i < out.count; i++)
                assert_true(out.values[i] == in[field].values[i]);
            assert_true(test_tensor_gaps_are_untouched(&out));
            test_tensor_destroy(&out);
        }
        test_tensor_destroy(&in[0]);
        test_tensor_destroy(&in[1]);
    }
    fixture_destroy(&fixture);
}

static void without_a_cumulative_it_starts_as_the_alignment(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_PREVIOUS);
    struct import import;
    import_create(&import);
    assert_ok(import_to(&import, fixture.state, 1));
    struct fields fields = fields_of(fixture.state);
    assert_memory_equal(fields.alignment, import.values[0], sizeof fields.alignment);
    assert_memory_equal(fields.cumulative, import.values[0], sizeof fields.cumulative);
    assert_ok(import_to(&import, fixture.state, 2));
    fields = fields_of(fixture.state);
    assert_memory_equal(fields.cumulative, import.values[1], sizeof fields.cumulative);
    import_destroy(&import);
    fixture_destroy(&fixture);
}

/* What an empty state exports makes another one empty, which then starts as a new one does. */
static void what_an_empty_state_holds_can_be_moved(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_BOTH);
    attnzoo_state *other = tanh_case_state(&fixture.test, fixture.module);
    assert_ok(step(&fixture, other));
    struct fields first = fields_of(other);
    struct fields empty = fields_of(fixture.state);
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, empty.alignment, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){B, H, 0}, NULL));
    assert_ok(attnzoo_state_set_fields(other, (const attnzoo_tensor *const[]){view, view}, 2));
    assert_int_equal(attnzoo_state_length(other), 0);
    assert_ok(step(&fixture, other));
    assert_holds(other, &first);
    attnzoo_tensor_destroy(view);
    attnzoo_state_destroy(other);
    fixture_destroy(&fixture);
}

/* An import begins another utterance: the same memory may hold other keys by then. */
static void after_an_import_keys_are_looked_at_anew(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_create(&fixture, state_fixture_sizes(), REFERENCE_CUMULATIVE);
    assert_ok(step(&fixture, fixture.state));
    struct test_tensor *keys = &fixture.test.call.key;
    for (int64_t i = 0; i < keys->count; i++)
        keys->values[i] = -keys->values[i];
    tanh_case_store(&fixture.test);
    struct import import;
    import_create(&import);
    struct reference_alignment expected = reference_alignment_create(B, H, M);
    expected.is_fresh = false;
    for (int i = 0; i < FIELD_COUNT; i++) {
        expected.alignment.value[i] = (double)import.values[0][i];
        expected.cumulative.value[i] = (double)import.values[1][i];
    }
    assert_ok(import_to(&import, fixture.state, 2));
    struct reference_result result = tanh_case_expect(&fixture.test, &expected);
    assert_ok(step(&fixture, fixture.state));
    tanh_case_load(&fixture.test);
    assert_true(tanh_case_compare_with(&fixture.test, &result));
    reference_result_destroy(&result);
    reference_alignment_destroy(&expected);
    import_destroy(&import);
    fixture_destroy(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(field_shapes_follow_the_length),
        cmocka_unit_test(descriptions_name_the_fields),
        cmocka_unit_test(exporting_checks_its_arguments),
        cmocka_unit_test(importing_checks_its_arguments),
        cmocka_unit_test(what_was_imported_is_exported_to_the_bit),
        cmocka_unit_test(without_a_cumulative_it_starts_as_the_alignment),
        cmocka_unit_test(what_an_empty_state_holds_can_be_moved),
        cmocka_unit_test(after_an_import_keys_are_looked_at_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
