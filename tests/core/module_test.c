/*
 * tests/core/module_test.c: the life of a module: creation, options, parameters, preparing, output shapes, and the
 * errors of forward calls that have to do with handles, places, shapes and types. Overlap is in overlap_test.c.
 */
#include "support/attention_case.h"
#include "support/one_key.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>

static attnzoo_module *make(void)
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    assert_non_null(module);
    return module;
}

static attnzoo_module *make_prepared(void)
{
    attnzoo_module *module = make();
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

static void unknown_mechanisms_are_refused(void **state)
{
    (void)state;
    const char *names[] = {
        "", "scaled_dot_produc", "scaled_dot_productx", "Scaled_Dot_Product", " scaled_dot_product", "%s%n"};
    attnzoo_module *marker = (attnzoo_module *)(void *)names;
    for (int i = 0; i < 6; i++) {
        attnzoo_module *module = marker;
        assert_refused(attnzoo_module_create(&module, names[i]), ATTNZOO_STATUS_UNKNOWN_NAME, "scaled_dot_product");
        assert_error_contains(names[i]);
        assert_ptr_equal(module, marker);
    }
    attnzoo_module *module = marker;
    assert_status(attnzoo_module_create(NULL, "scaled_dot_product"), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_create(&module, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_ptr_equal(module, marker);
}

static void a_very_long_name_is_refused_in_one_line(void **state)
{
    (void)state;
    static char name[100001];
    memset(name, 'x', sizeof name - 1);
    attnzoo_module *module = NULL;
    assert_status(attnzoo_module_create(&module, name), ATTNZOO_STATUS_UNKNOWN_NAME);
    assert_null(strchr(attnzoo_last_error(), '\n'));
    assert_true(strlen(attnzoo_last_error()) > 0);
}

static void modules_know_their_mechanism(void **state)
{
    (void)state;
    attnzoo_module *module = make();
    assert_string_equal(attnzoo_module_mechanism(module), "scaled_dot_product");
    assert_null(attnzoo_module_mechanism(NULL));
    attnzoo_module_destroy(module);
    attnzoo_module_destroy(NULL);
}

/* The score of a product of 1. Destroys the module. */
static double score_of(attnzoo_module *module)
{
    double score = one_key_score(module);
    attnzoo_module_destroy(module);
    return score;
}

static void options_take_effect_however_they_are_set(void **state)
{
    (void)state;
    assert_true(fabs(score_of(make()) - 1.0) < 1e-6);
    attnzoo_module *module = make();
    assert_ok(attnzoo_module_set_option_text(module, "scale", "0.125"));
    assert_true(fabs(score_of(module) - 0.125) < 1e-6);
    module = make();
    assert_ok(attnzoo_module_set_option_float(module, "scale", 2.0));
    assert_true(fabs(score_of(module) - 2.0) < 1e-6);
    module = make();
    assert_ok(attnzoo_module_set_option_text(module, "softcap", "2"));
    assert_true(fabs(score_of(module) - 2.0 * tanh(0.5)) < 1e-6);
    module = make();
    assert_ok(attnzoo_module_set_option_float(module, "softcap", 5.0));
    assert_ok(attnzoo_module_set_option_float(module, "softcap", 0.0));
    assert_true(fabs(score_of(module) - 1.0) < 1e-6);
    module = make();
    assert_ok(attnzoo_module_set_option_text(module, "scale", "-2.5e-1"));
    assert_true(fabs(score_of(module) + 0.25) < 1e-6);
}

static void p60_unknown_options_are_refused_and_list_those_there_are(void **state)
{
    (void)state;
    attnzoo_module *module = make();
    const char *names[] = {"num_head", "scal", "scalee", "Scale", "", "scale ", "softcap\n"};
    for (int i = 0; i < 7; i++) {
        assert_refused(attnzoo_module_set_option_text(module, names[i], "1"), ATTNZOO_STATUS_UNKNOWN_NAME, "scale");
        assert_error_contains("softcap");
        assert_status(attnzoo_module_set_option_float(module, names[i], 1.0), ATTNZOO_STATUS_UNKNOWN_NAME);
        assert_status(attnzoo_module_set_option_int(module, names[i], 1), ATTNZOO_STATUS_UNKNOWN_NAME);
        assert_status(attnzoo_module_set_option_bool(module, names[i], 1), ATTNZOO_STATUS_UNKNOWN_NAME);
    }
    assert_true(fabs(score_of(module) - 1.0) < 1e-6);
}

static void bad_option_values_are_refused(void **state)
{
    (void)state;
    const char *values[] = {"1e999",  "-1e999", "nan", "NaN",    "inf",  "-inf", "infinity", "",    " ",
                            " 1",     "1 ",     "0x1", "1,5",    "1.5.", "--1",  "e5",       "1e",  "true",
                            "1.0f",   "1\n",    "½",   "+",      "-",    ".",    "1e+",      "1_0", "0x",
                            "nan(1)", "1d5",    "\t1", "1e9999", "0b1",  "1e40"};
    attnzoo_module *module = make();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        attnzoo_status status = attnzoo_module_set_option_text(module, "scale", values[i]);
        if (status != ATTNZOO_STATUS_INVALID_ARGUMENT)
            fail_msg("scale='%s' gave '%s'", values[i], attnzoo_status_name(status));
        assert_error_contains("scale");
    }
    assert_status(attnzoo_module_set_option_float(module, "scale", NAN), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_float(module, "scale", INFINITY), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_refused(attnzoo_module_set_option_text(module, "softcap", "-1.5"), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "softcap");
    assert_error_contains("-1.5");
    assert_status(attnzoo_module_set_option_float(module, "softcap", -0.5), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_text(module, NULL, "1"), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_text(module, "scale", NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_text(NULL, "scale", "1"), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_float(NULL, "scale", 1.0), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_float(module, NULL, 1.0), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_true(fabs(score_of(module) - 1.0) < 1e-6);
}

/* 0 is a value of this option, so that text without digits must not count as 0. */
static void bad_whole_numbers_are_refused(void **state)
{
    (void)state;
    const char *values[] = {"",    "+",   "-",   " 1",  "1 ",  "\t1", "1\n",
                            "1.0", "1,0", "1e3", "0x1", "--1", "one", "99999999999999999999"};
    attnzoo_module *module;
    assert_ok(attnzoo_module_create(&module, "location_aware"));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_refused(attnzoo_module_set_option_text(module, "location_window", values[i]),
                       ATTNZOO_STATUS_INVALID_ARGUMENT, "location_window");
    assert_ok(attnzoo_module_set_option_text(module, "location_window", "+7"));
    attnzoo_module_destroy(module);
}

static void options_of_another_type_are_refused(void **state)
{
    (void)state;
    attnzoo_module *module = make();
    assert_refused(attnzoo_module_set_option_bool(module, "scale", 1), ATTNZOO_STATUS_INVALID_ARGUMENT, "scale");
    assert_refused(attnzoo_module_set_option_int(module, "scale", 1), ATTNZOO_STATUS_INVALID_ARGUMENT, "scale");
    assert_true(fabs(score_of(module) - 1.0) < 1e-6);
}

static void parameters_of_a_mechanism_without_any_are_refused(void **state)
{
    (void)state;
    static const float number = 1.0f;
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&tensor, &number, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){1}, NULL));
    attnzoo_module *module = make();
    assert_refused(attnzoo_module_set_parameter(module, "query_proj.weight", tensor), ATTNZOO_STATUS_UNKNOWN_NAME,
                   "query_proj.weight");
    assert_status(attnzoo_module_set_parameter(NULL, "query_proj.weight", tensor), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_parameter(module, NULL, tensor), ATTNZOO_STATUS_INVALID_ARGUMENT);
    attnzoo_module_destroy(module);
    attnzoo_tensor_destroy(tensor);
}

/* A zero stride makes a view cheap whose copy would take one byte more than 32 bits can count: wrapped, none. */
static void a_parameter_that_passes_what_can_be_addressed_is_refused(void **state)
{
    (void)state;
    static const float number = 1.0f;
    int64_t side = 1 << 15;
    if (sizeof(size_t) > 4) {
        print_message("skipped: where size_t has 64 bits such a view is refused itself\n");
        skip();
    }
    attnzoo_module *module = NULL;
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_module_create(&module, "additive"));
    assert_ok(attnzoo_tensor_create_readonly(&tensor, &number, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){side, side},
                                             (int64_t[]){0, 0}));
    assert_status(attnzoo_module_set_parameter(module, "query_proj.weight", tensor), ATTNZOO_STATUS_OUT_OF_MEMORY);
    attnzoo_tensor_destroy(tensor);
    attnzoo_module_destroy(module);
}

static void a_prepared_module_never_changes(void **state)
{
    (void)state;
    attnzoo_module *module = make_prepared();
    assert_status(attnzoo_module_prepare(module), ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_module_set_option_text(module, "scale", "1"), ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_module_set_option_float(module, "scale", 1.0), ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_module_set_option_int(module, "scale", 1), ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_module_set_option_bool(module, "scale", 1), ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_module_prepare(NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    attnzoo_module_destroy(module);
}

static void plan_small(struct attention_case *test)
{
    attention_case_plan(test, (struct attention_sizes){2, 4, 2, 3, 5, 8, 6});
}

static void allocate_small(struct attention_case *test)
{
    struct random_source source = {3};
    attention_case_allocate(test);
    attention_case_fill(test, &source, 1.0);
    attention_case_store(test);
}

static void assert_outputs_untouched(const struct attention_case *test)
{
    assert_true(test_tensor_is_untouched(&test->context));
    assert_true(test_tensor_is_untouched(&test->attention));
    assert_true(test_tensor_is_untouched(&test->log_sum_exp));
}

static void a_module_that_is_not_prepared_does_not_run(void **state)
{
    (void)state;
    struct attention_case test;
    plan_small(&test);
    allocate_small(&test);
    attnzoo_module *module = make();
    assert_status(attention_case_forward(&test, module, NULL, NULL), ATTNZOO_STATUS_BAD_STATE);
    assert_outputs_untouched(&test);
    const attnzoo_tensor *inputs[] = {test.query.view, test.key.view, test.value.view};
    int32_t rank = -5;
    int64_t shape[ATTNZOO_RANK_MAX] = {-5};
    assert_status(attnzoo_module_output_shape(module, inputs, 3, NULL, 0, &rank, shape), ATTNZOO_STATUS_BAD_STATE);
    assert_int_equal(rank, -5);
    attnzoo_state *carried = NULL;
    assert_status(attnzoo_state_create(&carried, module, 1, 1), ATTNZOO_STATUS_BAD_STATE);
    attnzoo_module_destroy(module);
    attention_case_destroy(&test);
}

static void states_are_refused_where_none_is_carried(void **state)
{
    (void)state;
    attnzoo_module *module = make_prepared();
    attnzoo_state *carried = NULL;
    assert_status(attnzoo_state_create(&carried, module, 1, 16), ATTNZOO_STATUS_UNSUPPORTED);
    assert_status(attnzoo_state_create(NULL, module, 1, 16), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&carried, NULL, 1, 16), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&carried, module, -1, 16), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&carried, module, 1, -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_null(carried);
    attnzoo_state_destroy(NULL);
    attnzoo_module_destroy(module);
}

static void null_handles_are_refused_by_forward(void **state)
{
    (void)state;
    struct attention_case test;
    plan_small(&test);
    allocate_small(&test);
    attnzoo_module *module = make_prepared();
    attnzoo_tensor *q = test.query.view, *k = test.key.view, *v = test.value.view, *c = test.context.view;
    const attnzoo_status invalid = ATTNZOO_STATUS_INVALID_ARGUMENT;
    assert_status(attnzoo_module_forward(NULL, NULL, q, k, v, NULL, NULL, c, NULL), invalid);
    assert_refused(attnzoo_module_forward(module, NULL, NULL, k, v, NULL, NULL, c, NULL), invalid, "query");
    assert_refused(attnzoo_module_forward(module, NULL, q, NULL, v, NULL, NULL, c, NULL), invalid, "key");
    assert_refused(attnzoo_module_forward(module, NULL, q, k, NULL, NULL, NULL, c, NULL), invalid, "value");
    assert_refused(attnzoo_module_forward(module, NULL, q, k, v, NULL, NULL, NULL, test.attention.view), invalid,
                   "context");
    const attnzoo_tensor *inputs[] = {q, k, v, NULL, q};
    attnzoo_tensor *outputs[] = {c, NULL, NULL, NULL, test.attention.view};
    assert_status(attnzoo_module_forward_slots(module, NULL, NULL, 3, NULL, NULL, outputs, 1), invalid);
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, NULL, 1), invalid);
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, -1, NULL, NULL, outputs, 1), invalid);
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, -1), invalid);
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 2, NULL, NULL, outputs, 1), invalid);
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 0), invalid);
    /* A view in a place that the mechanism does not have; NULL there is fine. */
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 5, NULL, NULL, outputs, 1),
                  ATTNZOO_STATUS_UNSUPPORTED);
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 5),
                  ATTNZOO_STATUS_UNSUPPORTED);
    assert_outputs_untouched(&test);
    assert_ok(attnzoo_module_forward_slots(module, NULL, inputs, 4, NULL, NULL, outputs, 4));
    attnzoo_module_destroy(module);
    attention_case_destroy(&test);
}

/* Which tensor gets which wrong size along which axis. */
static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        int tensor, axis;
        int64_t size;
        const char *name;
    } wrong[] = {{0, 0, 3, "query"},     {0, 1, 3, "query"},     {0, 3, 7, "query"},    {1, 0, 1, "key"},
                 {1, 1, 4, "key"},       {1, 1, 0, "key"},       {1, 2, 4, "key"},      {1, 3, 9, "key"},
                 {2, 0, 3, "value"},     {2, 1, 1, "value"},     {2, 2, 6, "value"},    {3, 0, 1, "context"},
                 {3, 1, 2, "context"},   {3, 2, 4, "context"},   {3, 3, 5, "context"},  {4, 0, 1, "attention"},
                 {4, 1, 2, "attention"}, {4, 2, 1, "attention"}, {4, 3, 4, "attention"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct attention_case test;
        plan_small(&test);
        struct test_tensor *tensors[] = {&test.query, &test.key, &test.value, &test.context, &test.attention};
        tensors[wrong[i].tensor]->shape[wrong[i].axis] = wrong[i].size;
        allocate_small(&test);
        attnzoo_module *module = make_prepared();
        attnzoo_status status = attention_case_forward(&test, module, NULL, NULL);
        if (status != ATTNZOO_STATUS_SHAPE_MISMATCH)
            fail_msg("%s with axis %d of %d: '%s'", wrong[i].name, wrong[i].axis, (int)wrong[i].size,
                     attnzoo_status_name(status));
        if (wrong[i].tensor > 0)
            assert_error_contains(wrong[i].name);
        assert_outputs_untouched(&test);
        attnzoo_module_destroy(module);
        attention_case_destroy(&test);
    }
}

/* One axis is too few for an input, five are too many for anything. */
static void wrong_ranks_are_refused(void **state)
{
    (void)state;
    float memory[64] = {0};
    const int64_t ones[ATTNZOO_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    attnzoo_module *module = make_prepared();
    for (int wrong = 0; wrong < 5; wrong++)
        for (int32_t rank = wrong < 3 ? 1 : 5; rank <= 5; rank += 4) {
            attnzoo_tensor *views[5];
            for (int i = 0; i < 5; i++)
                assert_ok(attnzoo_tensor_create(&views[i], memory + 8 * i, ATTNZOO_DTYPE_FLOAT32, i == wrong ? rank : 2,
                                                ones, NULL));
            attnzoo_status status =
                attnzoo_module_forward(module, NULL, views[0], views[1], views[2], NULL, NULL, views[3], views[4]);
            if (status != ATTNZOO_STATUS_SHAPE_MISMATCH)
                fail_msg("view %d with %d axes: '%s'", wrong, (int)rank, attnzoo_status_name(status));
            for (int i = 0; i < 5; i++)
                attnzoo_tensor_destroy(views[i]);
        }
    attnzoo_module_destroy(module);
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_BOOL, ATTNZOO_DTYPE_INT32, ATTNZOO_DTYPE_INT64, ATTNZOO_DTYPE_FLOAT16};
    const char *names[] = {"query", "key", "value", "context", "attention", "log_sum_exp"};
    for (int i = 0; i < 6; i++)
        for (int type = 0; type < (i == 5 ? 4 : 3); type++) {
            struct attention_case test;
            plan_small(&test);
            struct test_tensor *tensors[] = {&test.query,   &test.key,       &test.value,
                                             &test.context, &test.attention, &test.log_sum_exp};
            tensors[i]->dtype = types[type];
            allocate_small(&test);
            attnzoo_module *module = make_prepared();
            assert_refused(attention_case_forward(&test, module, NULL, NULL), ATTNZOO_STATUS_DTYPE_MISMATCH, names[i]);
            assert_outputs_untouched(&test);
            attnzoo_module_destroy(module);
            attention_case_destroy(&test);
        }
}

static void output_shapes_follow_the_inputs(void **state)
{
    (void)state;
    struct attention_case test;
    plan_small(&test);
    allocate_small(&test);
    attnzoo_module *module = make_prepared();
    const attnzoo_tensor *inputs[] = {test.query.view, test.key.view, test.value.view};
    const int64_t expected[3][4] = {{2, 4, 3, 6}, {2, 4, 3, 5}, {2, 4, 3, 0}};
    for (int32_t output = 0; output < 3; output++) {
        int32_t rank = 0;
        int64_t shape[ATTNZOO_RANK_MAX] = {0};
        assert_ok(attnzoo_module_output_shape(module, inputs, 3, NULL, output, &rank, shape));
        assert_int_equal(rank, output == ATTNZOO_OUTPUT_LOG_SUM_EXP ? 3 : 4);
        assert_memory_equal(shape, expected[output], (size_t)rank * sizeof *shape);
    }
    int32_t rank = -5;
    int64_t shape[ATTNZOO_RANK_MAX] = {-5};
    const attnzoo_status invalid = ATTNZOO_STATUS_INVALID_ARGUMENT;
    assert_status(attnzoo_module_output_shape(module, inputs, 3, NULL, 3, &rank, shape), ATTNZOO_STATUS_UNSUPPORTED);
    assert_status(attnzoo_module_output_shape(module, inputs, 3, NULL, -1, &rank, shape), ATTNZOO_STATUS_UNSUPPORTED);
    assert_status(attnzoo_module_output_shape(module, inputs, 1, NULL, 0, &rank, shape), invalid);
    assert_status(attnzoo_module_output_shape(NULL, inputs, 3, NULL, 0, &rank, shape), invalid);
    assert_status(attnzoo_module_output_shape(module, NULL, 3, NULL, 0, &rank, shape), invalid);
    assert_status(attnzoo_module_output_shape(module, inputs, 3, NULL, 0, NULL, shape), invalid);
    assert_status(attnzoo_module_output_shape(module, inputs, 3, NULL, 0, &rank, NULL), invalid);
    const attnzoo_tensor *swapped[] = {test.query.view, test.query.view, test.value.view};
    assert_status(attnzoo_module_output_shape(module, swapped, 3, NULL, 0, &rank, shape),
                  ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_int_equal(rank, -5);
    assert_int_equal(shape[0], -5);
    attnzoo_module_destroy(module);
    attention_case_destroy(&test);
}

static void output_shapes_leave_out_what_the_query_leaves_out(void **state)
{
    (void)state;
    float memory[64] = {0};
    attnzoo_module *module = make_prepared();
    attnzoo_tensor *query = NULL, *key = NULL;
    assert_ok(attnzoo_tensor_create(&query, memory, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){2, 3, 4}, NULL));
    assert_ok(attnzoo_tensor_create(&key, memory, ATTNZOO_DTYPE_FLOAT32, 4, (int64_t[]){1, 1, 5, 4}, NULL));
    const attnzoo_tensor *inputs[] = {query, key, key};
    int32_t rank = 0;
    int64_t shape[ATTNZOO_RANK_MAX];
    assert_ok(attnzoo_module_output_shape(module, inputs, 3, NULL, ATTNZOO_OUTPUT_ATTENTION, &rank, shape));
    assert_int_equal(rank, 3);
    assert_memory_equal(shape, ((int64_t[]){2, 3, 5}), 24);
    assert_ok(attnzoo_tensor_assign(query, memory, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){3, 4}, NULL));
    assert_ok(attnzoo_module_output_shape(module, inputs, 3, NULL, ATTNZOO_OUTPUT_CONTEXT, &rank, shape));
    assert_int_equal(rank, 2);
    assert_memory_equal(shape, ((int64_t[]){3, 4}), 16);
    assert_ok(attnzoo_module_output_shape(module, inputs, 3, NULL, ATTNZOO_OUTPUT_LOG_SUM_EXP, &rank, shape));
    assert_int_equal(rank, 1);
    assert_int_equal(shape[0], 3);
    attnzoo_tensor_destroy(query);
    attnzoo_tensor_destroy(key);
    attnzoo_module_destroy(module);
}

/* Scores are divided by the softcap. */
static void softcaps_below_the_normal_floats_are_refused(void **state)
{
    (void)state;
    attnzoo_module *module = make();
    assert_ok(attnzoo_module_set_option_text(module, "softcap", "1e-40"));
    assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_INVALID_ARGUMENT, "softcap");
    assert_ok(attnzoo_module_set_option_text(module, "softcap", "1e-37"));
    assert_ok(attnzoo_module_prepare(module));
    attnzoo_module_destroy(module);
}

/* Parameters are kept as float32: what fits as bfloat16 need not. What was set before stays. */
static void parameters_too_large_as_float32_are_refused(void **state)
{
    (void)state;
    attnzoo_module *module = NULL;
    attnzoo_tensor *fitting = NULL, *large = NULL;
    assert_ok(attnzoo_module_create(&module, "multi_head"));
    assert_ok(attnzoo_module_set_option_text(module, "num_heads", "1"));
    assert_ok(attnzoo_tensor_create(&fitting, NULL, ATTNZOO_DTYPE_BFLOAT16, 2, (int64_t[]){0, 1}, NULL));
    assert_ok(attnzoo_tensor_create(&large, NULL, ATTNZOO_DTYPE_BFLOAT16, 2, (int64_t[]){0, INT64_C(1) << 61}, NULL));
    const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight"};
    for (int i = 0; i < 3; i++) {
        assert_ok(attnzoo_module_set_parameter(module, names[i], fitting));
        assert_refused(attnzoo_module_set_parameter(module, names[i], large), ATTNZOO_STATUS_INVALID_ARGUMENT,
                       "63 bits");
    }
    assert_ok(attnzoo_module_prepare(module));
    attnzoo_tensor_destroy(large);
    attnzoo_tensor_destroy(fitting);
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_mechanisms_are_refused),
        cmocka_unit_test(a_very_long_name_is_refused_in_one_line),
        cmocka_unit_test(modules_know_their_mechanism),
        cmocka_unit_test(options_take_effect_however_they_are_set),
        cmocka_unit_test(p60_unknown_options_are_refused_and_list_those_there_are),
        cmocka_unit_test(bad_option_values_are_refused),
        cmocka_unit_test(bad_whole_numbers_are_refused),
        cmocka_unit_test(options_of_another_type_are_refused),
        cmocka_unit_test(parameters_of_a_mechanism_without_any_are_refused),
        cmocka_unit_test(a_parameter_that_passes_what_can_be_addressed_is_refused),
        cmocka_unit_test(softcaps_below_the_normal_floats_are_refused),
        cmocka_unit_test(parameters_too_large_as_float32_are_refused),
        cmocka_unit_test(a_prepared_module_never_changes),
        cmocka_unit_test(a_module_that_is_not_prepared_does_not_run),
        cmocka_unit_test(states_are_refused_where_none_is_carried),
        cmocka_unit_test(null_handles_are_refused_by_forward),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(wrong_ranks_are_refused),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(output_shapes_follow_the_inputs),
        cmocka_unit_test(output_shapes_leave_out_what_the_query_leaves_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
