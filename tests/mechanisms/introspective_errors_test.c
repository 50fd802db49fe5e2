/*
 * tests/mechanisms/introspective_errors_test.c: what introspective refuses, what it says then, and that it has touched
 * neither outputs nor state; and the rule for `value` with and without a state.
 */
#include "introspective_case.h"

#include "support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct introspective_sizes SIZES = {2, 3, 4, 5, 2, 1, 1, 6};

static void make(struct introspective_case *test, struct introspective_sizes sizes, uint64_t seed)
{
    struct random_source source = {seed};
    introspective_case_plan(test, sizes);
    introspective_case_allocate(test);
    test_tensor_fill(&test->query, &source, -1.0, 1.0);
    test_tensor_fill(&test->value, &source, -1.0, 1.0);
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++)
        test_tensor_fill(&test->weights[signal], &source, -1.0, 1.0);
    introspective_case_prepare(test);
}

static attnzoo_tensor *zeros(int32_t rank, const int64_t *shape)
{
    static float memory[4096];
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, memory, ATTNZOO_DTYPE_FLOAT32, rank, shape, NULL));
    return view;
}

/* A module of 2 + 1 heads over 5 columns with every parameter but for one, which has this shape; rank 0 leaves it out. */
static attnzoo_status prepare_with(const char *name, int32_t rank, int64_t rows, int64_t columns, int64_t writes)
{
    static const char *const names[] = {"key_proj.weight",   "strength_proj.weight",   "gate_proj.weight",
                                        "shift_proj.weight", "sharpening_proj.weight", "erase_proj.weight",
                                        "add_proj.weight"};
    const int64_t outputs[] = {(2 + writes) * 5, 2 + writes, 2 + writes, (2 + writes) * 3,
                               2 + writes,       writes * 5, writes * 5};
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "introspective"));
    assert_ok(attnzoo_module_set_option_int(module, "num_read_heads", 2));
    assert_ok(attnzoo_module_set_option_int(module, "num_write_heads", writes));
    for (int i = 0; i < 7; i++) {
        if (strcmp(names[i], name) == 0 || outputs[i] == 0)
            continue;
        attnzoo_tensor *view = zeros(2, (int64_t[]){outputs[i], 6});
        assert_ok(attnzoo_module_set_parameter(module, names[i], view));
        attnzoo_tensor_destroy(view);
    }
    if (rank > 0) {
        attnzoo_tensor *view = zeros(rank, (int64_t[]){rows, columns});
        assert_ok(attnzoo_module_set_parameter(module, name, view));
        attnzoo_tensor_destroy(view);
    }
    attnzoo_status status = attnzoo_module_prepare(module);
    attnzoo_module_destroy(module);
    return status;
}

static void parameters_that_do_not_fit_are_named(void **state)
{
    (void)state;
    const attnzoo_status shape = ATTNZOO_STATUS_SHAPE_MISMATCH, invalid = ATTNZOO_STATUS_INVALID_ARGUMENT;
    assert_ok(prepare_with("", 0, 0, 0, 1));
    assert_ok(prepare_with("", 0, 0, 0, 0));
    assert_refused(prepare_with("key_proj.weight", 0, 0, 0, 1), invalid, "key_proj.weight");
    assert_refused(prepare_with("key_proj.weight", 2, 16, 6, 1), shape, "key_proj.weight has 16 rows, which 3 heads");
    assert_refused(prepare_with("key_proj.weight", 2, 15, 7, 1), shape,
                   "strength_proj.weight has shape [3, 6], must have [3, 7]");
    assert_refused(prepare_with("strength_proj.weight", 2, 4, 6, 1), shape, "must have [3, 6]");
    assert_refused(prepare_with("shift_proj.weight", 2, 10, 6, 1), shape, "shift_proj.weight has 10 rows");
    assert_refused(prepare_with("shift_proj.weight", 2, 6, 6, 1), shape,
                   "2 for each of 3 heads; must be an odd number");
    assert_refused(prepare_with("sharpening_proj.bias", 1, 4, 0, 1), shape,
                   "sharpening_proj.bias has shape [4], must have [3]");
    assert_refused(prepare_with("erase_proj.weight", 0, 0, 0, 1), invalid,
                   "num_write_heads is 1, so the parameter erase_proj.weight of shape [Hw*C, Eq] must be set");
    assert_refused(prepare_with("add_proj.weight", 2, 6, 6, 1), shape, "must have [5, 6]");
    assert_refused(prepare_with("add_proj.weight", 2, 5, 6, 0), invalid,
                   "num_write_heads is 0, so the parameter add_proj.weight must not be set");
    assert_refused(prepare_with("erase_proj.bias", 1, 5, 0, 0), invalid, "erase_proj.bias is set");
}

static void options_out_of_bounds_are_refused(void **state)
{
    (void)state;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "introspective"));
    assert_refused(attnzoo_module_set_option_int(module, "num_read_heads", 0), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "num_read_heads");
    assert_refused(attnzoo_module_set_option_int(module, "num_write_heads", -1), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "num_write_heads");
    assert_refused(attnzoo_module_set_option_text(module, "read", "during"), ATTNZOO_STATUS_INVALID_ARGUMENT, "after");
    assert_refused(attnzoo_module_set_option_int(module, "num_heads", 2), ATTNZOO_STATUS_UNKNOWN_NAME,
                   "num_read_heads");
    attnzoo_module_destroy(module);
}

/* A call with one input replaced; outputs must be as they were where it fails. */
static attnzoo_status call_with(const struct introspective_case *test, const attnzoo_tensor *query,
                                const attnzoo_tensor *key, const attnzoo_tensor *value, const attnzoo_mask *mask,
                                attnzoo_state *state)
{
    struct introspective_result result = introspective_result_create(test);
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t width = sizes->reads * sizes->columns;
    attnzoo_tensor *context = NULL;
    int64_t count = sizes->batch * sizes->steps * width;
    for (int64_t i = 0; i < count; i++)
        result.context[i] = 777.0f;
    assert_ok(attnzoo_tensor_create(&context, result.context, ATTNZOO_DTYPE_FLOAT32, 3,
                                    (int64_t[]){sizes->batch, sizes->steps, width}, NULL));
    attnzoo_status status = attnzoo_module_forward(test->module, NULL, query, key, value, mask, state, context, NULL);
    for (int64_t i = 0; i < count; i++)
        assert_true((result.context[i] == 777.0f) == (status != ATTNZOO_STATUS_OK));
    attnzoo_tensor_destroy(context);
    introspective_result_destroy(&result);
    return status;
}

static void inputs_that_do_not_fit_are_named(void **state)
{
    (void)state;
    const attnzoo_status shape = ATTNZOO_STATUS_SHAPE_MISMATCH;
    struct introspective_case test;
    make(&test, SIZES, 1);
    const attnzoo_tensor *query = test.query.view, *value = test.value.view;
    attnzoo_tensor *narrow = zeros(3, (int64_t[]){2, 3, 5}), *wide = zeros(3, (int64_t[]){2, 4, 6});
    attnzoo_tensor *other_batch = zeros(3, (int64_t[]){1, 4, 5}), *five_rows = zeros(3, (int64_t[]){2, 5, 9});
    attnzoo_tensor *any_key = zeros(3, (int64_t[]){2, 4, 9}), *flat = zeros(1, (int64_t[]){6});
    assert_refused(call_with(&test, narrow, NULL, value, NULL, NULL), shape, "query has 5 features");
    assert_refused(call_with(&test, flat, NULL, value, NULL, NULL), shape, "query has shape [6]");
    assert_refused(call_with(&test, query, NULL, wide, NULL, NULL), shape, "value has 6 features");
    assert_refused(call_with(&test, query, NULL, other_batch, NULL, NULL), shape,
                   "batch sizes differ: query has 2, value has 1");
    assert_refused(call_with(&test, query, five_rows, value, NULL, NULL), shape,
                   "numbers of rows differ: key has 5, the memory has 4");
    assert_refused(call_with(&test, query, NULL, NULL, NULL, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "value is NULL, but there is no state that holds a memory");
    assert_ok(call_with(&test, query, any_key, value, NULL, NULL));
    attnzoo_tensor *const views[] = {narrow, wide, other_batch, five_rows, any_key, flat};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        attnzoo_tensor_destroy(views[i]);
    introspective_case_destroy(&test);
}

/* The memory is given once; what is given afterwards must have its shape and is not read. */
static void the_memory_comes_from_a_started_state(void **state)
{
    (void)state;
    struct introspective_case test;
    attnzoo_state *held = NULL, *small = NULL, *single = NULL;
    float memory[2 * 4 * 5], weights[2 * 3 * 4], later_memory[2 * 4 * 5], later_weights[2 * 3 * 4];
    make(&test, SIZES, 2);
    attnzoo_tensor *three_rows = zeros(3, (int64_t[]){2, 3, 5});
    assert_ok(attnzoo_state_create(&held, test.module, 2, 6));
    assert_ok(attnzoo_state_create(&small, test.module, 2, 3));
    assert_ok(attnzoo_state_create(&single, test.module, 1, 6));
    assert_refused(call_with(&test, test.query.view, NULL, test.value.view, NULL, single),
                   ATTNZOO_STATUS_SHAPE_MISMATCH, "batch sizes differ: query has 2, the state has 1");
    assert_refused(call_with(&test, test.query.view, NULL, NULL, NULL, held), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "the state is empty");
    assert_refused(call_with(&test, test.query.view, NULL, test.value.view, NULL, small),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "the state has room for 3 rows, but value has 4");
    assert_int_equal(attnzoo_state_length(held), 0);
    assert_ok(call_with(&test, test.query.view, NULL, test.value.view, NULL, held));
    assert_int_equal(attnzoo_state_length(held), 4);
    introspective_case_fields(&test, held, memory, weights);
    assert_refused(call_with(&test, test.query.view, NULL, three_rows, NULL, held), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "numbers of rows differ: value has 3, the state has 4");
    introspective_case_fields(&test, held, later_memory, later_weights);
    assert_memory_equal(memory, later_memory, sizeof memory);
    assert_memory_equal(weights, later_weights, sizeof weights);
    assert_ok(call_with(&test, test.query.view, NULL, NULL, NULL, held));
    introspective_case_fields(&test, held, later_memory, later_weights);
    assert_memory_not_equal(memory, later_memory, sizeof memory);
    /* And so it is with a value that is there, whatever it holds. */
    assert_ok(attnzoo_state_reset(held));
    assert_ok(call_with(&test, test.query.view, NULL, test.value.view, NULL, held));
    for (int64_t i = 0; i < test.value.count; i++)
        test.value.values[i] = (double)NAN;
    test_tensor_store(&test.value);
    assert_ok(call_with(&test, test.query.view, NULL, test.value.view, NULL, held));
    introspective_case_fields(&test, held, memory, weights);
    assert_memory_equal(memory, later_memory, sizeof memory);
    assert_memory_equal(weights, later_weights, sizeof weights);
    attnzoo_tensor_destroy(three_rows);
    attnzoo_state_destroy(held);
    attnzoo_state_destroy(small);
    attnzoo_state_destroy(single);
    introspective_case_destroy(&test);
}

static void masks_of_more_than_lengths_are_refused(void **state)
{
    (void)state;
    struct introspective_case test;
    static uint8_t allowed[12];
    attnzoo_tensor *boolean = NULL, *bias = zeros(2, (int64_t[]){3, 4}), *slopes = zeros(1, (int64_t[]){3});
    make(&test, SIZES, 3);
    assert_ok(attnzoo_tensor_create(&boolean, allowed, ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){3, 4}, NULL));
    for (int way = 0; way < 5; way++) {
        static const char *const texts[] = {"a causal mask", "a window", "a boolean mask", "biases", "linear biases"};
        attnzoo_mask *mask = NULL;
        assert_ok(attnzoo_mask_create(&mask));
        if (way == 0)
            assert_ok(attnzoo_mask_set_causal(mask, 1));
        if (way == 1)
            assert_ok(attnzoo_mask_set_window(mask, 1, -1));
        if (way == 2)
            assert_ok(attnzoo_mask_set_boolean(mask, boolean));
        if (way == 3)
            assert_ok(attnzoo_mask_set_bias(mask, bias));
        if (way == 4)
            assert_ok(attnzoo_mask_set_linear_bias(mask, slopes));
        assert_refused(call_with(&test, test.query.view, NULL, test.value.view, mask, NULL), ATTNZOO_STATUS_UNSUPPORTED,
                       texts[way]);
        attnzoo_mask_destroy(mask);
    }
    attnzoo_tensor_destroy(boolean);
    attnzoo_tensor_destroy(bias);
    attnzoo_tensor_destroy(slopes);
    introspective_case_destroy(&test);
}

/* A state must be given both fields: neither follows from the other. */
static void a_state_is_loaded_as_a_whole(void **state)
{
    (void)state;
    struct introspective_case test;
    attnzoo_state *held = NULL;
    make(&test, SIZES, 4);
    assert_ok(attnzoo_state_create(&held, test.module, 2, 4));
    attnzoo_tensor *memory = zeros(4, (int64_t[]){2, 1, 4, 5});
    const attnzoo_tensor *const fields[] = {memory};
    assert_refused(attnzoo_state_set_fields(held, fields, 1), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "weights of the state is missing");
    attnzoo_tensor_destroy(memory);
    attnzoo_state_destroy(held);
    introspective_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_that_do_not_fit_are_named),
        cmocka_unit_test(options_out_of_bounds_are_refused),
        cmocka_unit_test(inputs_that_do_not_fit_are_named),
        cmocka_unit_test(the_memory_comes_from_a_started_state),
        cmocka_unit_test(masks_of_more_than_lengths_are_refused),
        cmocka_unit_test(a_state_is_loaded_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
