/*
 * tests/core/state_fixture.c: making the module and reading the state.
 */
#include "state_fixture.h"

struct tanh_sizes state_fixture_sizes(void)
{
    return (struct tanh_sizes){.batch = B,
                               .heads = H,
                               .key_heads = 1,
                               .queries = N,
                               .keys = M,
                               .query_size = 5,
                               .key_size = 4,
                               .value_size = 3,
                               .attention_size = 6,
                               .value_columns = 2,
                               .filters = 3,
                               .width = 3};
}

void fixture_create(struct fixture *fixture, struct tanh_sizes sizes, enum reference_feedback feedback)
{
    struct random_source source = {3};
    tanh_case_plan(&fixture->test, "location_aware", sizes, feedback);
    fixture->test.call.is_masked = false;
    tanh_case_allocate(&fixture->test);
    tanh_case_fill(&fixture->test, &source, 3.0);
    tanh_case_store(&fixture->test);
    fixture->module = tanh_case_module(&fixture->test);
    fixture->state = tanh_case_state(&fixture->test, fixture->module);
}

void fixture_destroy(struct fixture *fixture)
{
    attnzoo_state_destroy(fixture->state);
    attnzoo_module_destroy(fixture->module);
    tanh_case_destroy(&fixture->test);
}

attnzoo_status step(struct fixture *fixture, attnzoo_state *state)
{
    return tanh_case_forward(&fixture->test, fixture->module, NULL, NULL, state);
}

static void read_field(const attnzoo_state *state, int32_t field, float *values)
{
    int32_t rank = 0;
    int64_t shape[ATTNZOO_RANK_MAX];
    assert_ok(attnzoo_state_field_shape(state, field, &rank, shape));
    assert_int_equal(rank, 3);
    assert_true(shape[0] * shape[1] * shape[2] <= FIELD_COUNT);
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, values, ATTNZOO_DTYPE_FLOAT32, 3, shape, NULL));
    assert_ok(attnzoo_state_get_field(state, field, view));
    attnzoo_tensor_destroy(view);
}

struct fields fields_of(const attnzoo_state *state)
{
    struct fields fields;
    memset(&fields, 0xff, sizeof fields);
    fields.length = attnzoo_state_length(state);
    read_field(state, 0, fields.alignment);
    read_field(state, 1, fields.cumulative);
    return fields;
}

void assert_holds(const attnzoo_state *state, const struct fields *expected)
{
    struct fields fields = fields_of(state);
    assert_memory_equal(&fields, expected, sizeof fields);
}
