/*
 * tests/mechanisms/tanh_setup_errors_test.c: every way in which additive and location_aware are set up wrongly: the
 * status, and what the message names. Wrong calls are in tanh_call_errors_test.c.
 */
#include "mechanisms/tanh_errors.h"
#include "support/tanh_part.h"
#include "support/testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int parameter_count(int which)
{
    return which == 1 ? TANH_PARAMETER_COUNT : TANH_CONV_WEIGHT;
}

static void required_parameters_are_asked_for(void **state)
{
    (void)state;
    const int required[] = {TANH_SCORE_WEIGHT, TANH_CONV_WEIGHT};
    for (int which = 0; which < 2; which++)
        for (int i = 0; i <= which; i++) {
            struct tanh_case test;
            tanh_errors_create(&test, which, TANH_WITHOUT(required[i]));
            attnzoo_module *module = tanh_case_unprepared_module(&test);
            assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_INVALID_ARGUMENT,
                           tanh_parameter_name(required[i]));
            /* Mended, it can be prepared. */
            static const float zeros[200];
            attnzoo_tensor *view = NULL;
            const int64_t shapes[][3] = {{1, 6}, {7, 2, 3}};
            assert_ok(
                attnzoo_tensor_create_readonly(&view, zeros, ATTNZOO_DTYPE_FLOAT32, i == 0 ? 2 : 3, shapes[i], NULL));
            assert_ok(attnzoo_module_set_parameter(module, tanh_parameter_name(required[i]), view));
            assert_ok(attnzoo_module_prepare(module));
            attnzoo_tensor_destroy(view);
            attnzoo_module_destroy(module);
            tanh_case_destroy(&test);
        }
}

/* Replaces a parameter by zeros of another shape and prepares. */
static attnzoo_status prepare_with(const struct tanh_case *test, int parameter, const int64_t *shape)
{
    static const float zeros[1000];
    attnzoo_module *module = tanh_case_unprepared_module(test);
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&view, zeros, ATTNZOO_DTYPE_FLOAT32, test->parameters[parameter].rank,
                                             shape, NULL));
    assert_ok(attnzoo_module_set_parameter(module, tanh_parameter_name(parameter), view));
    attnzoo_status status = attnzoo_module_prepare(module);
    attnzoo_tensor_destroy(view);
    attnzoo_module_destroy(module);
    return status;
}

/* Is the axis one that nothing else fixes: Eq, Ek, Ev, and Ev' of one key/value head? */
static bool is_free(int parameter, int axis)
{
    bool is_input = parameter == TANH_QUERY_WEIGHT || parameter == TANH_KEY_WEIGHT;
    return (is_input && axis == 1) || (parameter == TANH_VALUE_WEIGHT && axis == 1);
}

static void wrong_shapes_are_told_with_name_and_numbers(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct tanh_case test;
        tanh_errors_create(&test, which, 0);
        for (int i = 0; i < parameter_count(which); i++)
            for (int axis = 0; axis < test.parameters[i].rank; axis++)
                for (int change = -1; change <= 1; change += 2) {
                    int64_t shape[3];
                    memcpy(shape, test.parameters[i].shape, sizeof shape);
                    shape[axis] += change;
                    if (is_free(i, axis)) {
                        assert_ok(prepare_with(&test, i, shape));
                        continue;
                    }
                    assert_status(prepare_with(&test, i, shape), ATTNZOO_STATUS_SHAPE_MISMATCH);
                    /* Two that contradict each other may be told either way round. */
                    char number[24];
                    snprintf(number, sizeof number, "%d", (int)shape[axis]);
                    bool is_either = i == TANH_SCORE_WEIGHT || i == TANH_VALUE_WEIGHT || i == TANH_CONV_WEIGHT ||
                                     i == TANH_LOCATION_WEIGHT;
                    if (is_either)
                        continue;
                    assert_error_contains(tanh_parameter_name(i));
                    assert_error_contains(number);
                    snprintf(number, sizeof number, "%d", (int)test.parameters[i].shape[axis]);
                    assert_error_contains(number);
                }
        tanh_case_destroy(&test);
    }
}

static void parameters_of_the_wrong_rank_are_refused_at_once(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct tanh_case test;
        tanh_errors_create(&test, which, 0);
        attnzoo_module *module = tanh_case_unprepared_module(&test);
        for (int i = 0; i < parameter_count(which); i++) {
            static const float zeros[1000];
            const int64_t ones[] = {1, 1, 1, 1};
            attnzoo_tensor *view = NULL;
            assert_ok(attnzoo_tensor_create_readonly(&view, zeros, ATTNZOO_DTYPE_FLOAT32, test.parameters[i].rank + 1,
                                                     ones, NULL));
            assert_refused(attnzoo_module_set_parameter(module, tanh_parameter_name(i), view),
                           ATTNZOO_STATUS_SHAPE_MISMATCH, tanh_parameter_name(i));
            assert_ok(
                attnzoo_tensor_assign_readonly(view, zeros, ATTNZOO_DTYPE_INT32, test.parameters[i].rank, ones, NULL));
            assert_refused(attnzoo_module_set_parameter(module, tanh_parameter_name(i), view),
                           ATTNZOO_STATUS_DTYPE_MISMATCH, tanh_parameter_name(i));
            attnzoo_tensor_destroy(view);
        }
        assert_ok(attnzoo_module_prepare(module));
        attnzoo_module_destroy(module);
        tanh_case_destroy(&test);
    }
}

static void a_bias_without_its_weight_is_refused(void **state)
{
    (void)state;
    const int weights[] = {TANH_QUERY_WEIGHT, TANH_KEY_WEIGHT, TANH_VALUE_WEIGHT, TANH_LOCATION_WEIGHT};
    static const float zeros[32];
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < 3 + which; i++) {
            struct tanh_case test;
            tanh_errors_create(&test, which, TANH_WITHOUT(weights[i]));
            attnzoo_module *module = tanh_case_unprepared_module(&test);
            attnzoo_tensor *bias = NULL;
            const int64_t lengths[] = {which == 1 ? 12 : 6, 6, 10, 6};
            assert_ok(attnzoo_tensor_create_readonly(&bias, zeros, ATTNZOO_DTYPE_FLOAT32, 1, &lengths[i], NULL));
            assert_ok(attnzoo_module_set_parameter(module, tanh_parameter_name(weights[i] + 1), bias));
            assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_INVALID_ARGUMENT,
                           tanh_parameter_name(weights[i] + 1));
            attnzoo_tensor_destroy(bias);
            attnzoo_module_destroy(module);
            tanh_case_destroy(&test);
        }
}

static void unknown_parameters_are_listed(void **state)
{
    (void)state;
    const char *const unknown[2][5] = {
        {"out_proj.weight", "location_conv.weight", "u_bias", "query_proj", "Bias"},
        {"out_proj.weight", "pos_proj.weight", "relative_key", "location_conv", "score_proj.bias "}};
    static const float zeros[1];
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&view, zeros, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){1}, NULL));
    for (int which = 0; which < 2; which++) {
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, tanh_errors_names[which]));
        for (int i = 0; i < 5; i++) {
            assert_refused(attnzoo_module_set_parameter(module, unknown[which][i], view), ATTNZOO_STATUS_UNKNOWN_NAME,
                           unknown[which][i]);
            for (int known = 0; known < parameter_count(which); known++)
                assert_error_contains(tanh_parameter_name(known));
        }
        attnzoo_module_destroy(module);
    }
    attnzoo_tensor_destroy(view);
}

static void the_convolution_must_fit(void **state)
{
    (void)state;
    struct tanh_case test;
    tanh_errors_create(&test, 1, 0);
    const int64_t even[] = {0, 2, 4};
    for (int i = 0; i < 3; i++) {
        assert_refused(prepare_with(&test, TANH_CONV_WEIGHT, (int64_t[]){7, 2, even[i]}), ATTNZOO_STATUS_SHAPE_MISMATCH,
                       "location_conv.weight");
        assert_error_contains("odd");
    }
    const int64_t channels[] = {1, 3, 4};
    for (int i = 0; i < 3; i++)
        assert_refused(prepare_with(&test, TANH_CONV_WEIGHT, (int64_t[]){7, channels[i], 3}),
                       ATTNZOO_STATUS_SHAPE_MISMATCH, "location_conv.weight");
    test.feedback = REFERENCE_BOTH;
    assert_refused(prepare_with(&test, TANH_CONV_WEIGHT, (int64_t[]){7, 2, 3}), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "location_conv.weight");
    assert_error_contains("4");
    assert_ok(prepare_with(&test, TANH_CONV_WEIGHT, (int64_t[]){7, 4, 3}));
    tanh_case_destroy(&test);
    tanh_errors_create(&test, 1, TANH_WITHOUT(TANH_LOCATION_WEIGHT) | TANH_WITHOUT(TANH_CONV_BIAS));
    for (int64_t filters = 5; filters <= 7; filters++) {
        attnzoo_status wanted = filters == 6 ? ATTNZOO_STATUS_OK : ATTNZOO_STATUS_SHAPE_MISMATCH;
        assert_status(prepare_with(&test, TANH_CONV_WEIGHT, (int64_t[]){filters, 2, 3}), wanted);
        if (filters != 6)
            assert_error_contains("location_conv.weight");
    }
    tanh_case_destroy(&test);
}

static attnzoo_status prepare_with_heads(struct tanh_case *test, int64_t heads, int64_t key_heads)
{
    test->sizes.heads = heads;
    test->sizes.key_heads = key_heads;
    attnzoo_module *module = tanh_case_unprepared_module(test);
    attnzoo_status status = attnzoo_module_prepare(module);
    attnzoo_module_destroy(module);
    return status;
}

static void heads_must_divide(void **state)
{
    (void)state;
    struct tanh_case test;
    tanh_errors_create(&test, 1, 0);
    assert_ok(prepare_with_heads(&test, 2, 1));
    assert_refused(prepare_with_heads(&test, 3, 2), ATTNZOO_STATUS_INVALID_ARGUMENT, "num_kv_heads");
    assert_error_contains("3");
    assert_refused(prepare_with_heads(&test, 2, 4), ATTNZOO_STATUS_INVALID_ARGUMENT, "num_kv_heads");
    /* query_proj makes 2 heads of 6. */
    assert_status(prepare_with_heads(&test, 4, 1), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_status(prepare_with_heads(&test, 1, 1), ATTNZOO_STATUS_SHAPE_MISMATCH);
    /* key_proj makes 1 of 6. */
    assert_status(prepare_with_heads(&test, 2, 2), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_error_contains("key_proj.weight");
    tanh_case_destroy(&test);
    /* Three key/value heads and a value_proj of ten columns. */
    struct tanh_sizes sizes = tanh_errors_sizes(true);
    sizes.heads = sizes.key_heads = 3;
    tanh_case_plan(&test, tanh_errors_names[1], sizes, REFERENCE_PREVIOUS);
    tanh_case_allocate(&test);
    assert_status(prepare_with(&test, TANH_VALUE_WEIGHT, (int64_t[]){30, 8}), ATTNZOO_STATUS_OK);
    tanh_case_destroy(&test);
    sizes.absent = TANH_WITHOUT(TANH_VALUE_BIAS);
    tanh_case_plan(&test, tanh_errors_names[1], sizes, REFERENCE_PREVIOUS);
    tanh_case_allocate(&test);
    assert_refused(prepare_with(&test, TANH_VALUE_WEIGHT, (int64_t[]){10, 8}), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "value_proj.weight");
    assert_error_contains("10");
    tanh_case_destroy(&test);
}

static void option_values_are_checked(void **state)
{
    (void)state;
    static const struct {
        int which;
        const char *name, *value, *told;
    } wrong[] = {
        {0, "num_heads", "2", "num_heads"},
        {0, "num_kv_heads", "2", "num_kv_heads"},
        {0, "num_heads", "0", "num_heads"},
        {1, "num_heads", "0", "num_heads"},
        {1, "num_heads", "-1", "num_heads"},
        {1, "num_heads", "1.5", "1.5"},
        {1, "num_kv_heads", "0", "num_kv_heads"},
        {1, "normalizer", "sigmoid", "smoothing"},
        {1, "normalizer", "", "softmax"},
        {1, "normalizer", "softmax ", "softmax|smoothing"},
        {1, "sharpening", "0", "sharpening"},
        {1, "sharpening", "-1", "sharpening"},
        {1, "sharpening", "nan", "sharpening"},
        {1, "sharpening", "inf", "sharpening"},
        {1, "sharpening", "1e60", "sharpening"},
        {1, "sharpening", "two", "two"},
        {1, "location_window", "-1", "location_window"},
        {1, "location_window", "2.5", "2.5"},
        {1, "feedback", "sum", "previous|cumulative|both"},
        {1, "feedback", "Both", "both"},
        {1, "initial", "ones", "zeros|uniform|first"},
        {1, "location_activation", "relu", "none|tanh"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, tanh_errors_names[wrong[i].which]));
        assert_refused(attnzoo_module_set_option_text(module, wrong[i].name, wrong[i].value),
                       ATTNZOO_STATUS_INVALID_ARGUMENT, wrong[i].told);
        assert_error_contains(wrong[i].name);
        attnzoo_module_destroy(module);
    }
}

static void options_of_other_mechanisms_are_unknown(void **state)
{
    (void)state;
    const char *const unknown[2][7] = {
        {"scale", "softcap", "normalizer", "sharpening", "average_heads", "num_head", "feedback"},
        {"scale", "softcap", "flavor", "average_heads", "normaliser", "window", "num_head"}};
    const char *const known[] = {"num_heads", "sharpening"};
    for (int which = 0; which < 2; which++) {
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, tanh_errors_names[which]));
        for (int i = 0; i < 7; i++) {
            assert_refused(attnzoo_module_set_option_text(module, unknown[which][i], "1"), ATTNZOO_STATUS_UNKNOWN_NAME,
                           unknown[which][i]);
            assert_error_contains(known[which]);
        }
        assert_ok(attnzoo_module_set_option_text(module, "num_heads", "1"));
        attnzoo_module_destroy(module);
    }
}

static void typed_setters_keep_to_their_type(void **state)
{
    (void)state;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "location_aware"));
    assert_status(attnzoo_module_set_option_bool(module, "sharpening", 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_float(module, "location_window", 1.0), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_int(module, "normalizer", 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_ok(attnzoo_module_set_option_float(module, "sharpening", 0.5));
    assert_ok(attnzoo_module_set_option_int(module, "location_window", 0));
    assert_status(attnzoo_module_set_option_float(module, "sharpening", (double)NAN), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_module_set_option_int(module, "location_window", -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(required_parameters_are_asked_for),
        cmocka_unit_test(wrong_shapes_are_told_with_name_and_numbers),
        cmocka_unit_test(parameters_of_the_wrong_rank_are_refused_at_once),
        cmocka_unit_test(a_bias_without_its_weight_is_refused),
        cmocka_unit_test(unknown_parameters_are_listed),
        cmocka_unit_test(the_convolution_must_fit),
        cmocka_unit_test(heads_must_divide),
        cmocka_unit_test(option_values_are_checked),
        cmocka_unit_test(options_of_other_mechanisms_are_unknown),
        cmocka_unit_test(typed_setters_keep_to_their_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
