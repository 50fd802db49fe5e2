/*
 * tests/mechanisms/luong_errors_test.c: what general and concat refuse: parameters that do not fit each other, inputs
 * that do not fit the parameters. Every message names the thing and its numbers, and no output is touched.
 */
#include "support/testing.h"

static float buffer[128];

static attnzoo_tensor *view_of(int64_t first, int32_t rank, int64_t rows, int64_t columns)
{
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, buffer + first, ATTNZOO_DTYPE_FLOAT32, rank,
                                    (int64_t[]){rows, rank > 1 ? columns : 0}, NULL));
    return view;
}

struct parameter {
    const char *name; /* NULL ends a list */
    int32_t rank;
    int64_t rows, columns;
};

enum { PARAMETERS = 4 };

static attnzoo_module *module_of(const char *mechanism, const struct parameter parameters[PARAMETERS])
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, mechanism));
    for (int i = 0; i < PARAMETERS && parameters[i].name != NULL; i++) {
        attnzoo_tensor *view = view_of(0, parameters[i].rank, parameters[i].rows, parameters[i].columns);
        assert_ok(attnzoo_module_set_parameter(module, parameters[i].name, view));
        attnzoo_tensor_destroy(view);
    }
    return module;
}

static void parameters_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *mechanism;
        struct parameter parameters[PARAMETERS];
        attnzoo_status status;
        const char *message;
    } cases[] = {
        {"general", {{0}}, ATTNZOO_STATUS_INVALID_ARGUMENT, "score_proj.weight"},
        {"general",
         {{"score_proj.weight", 2, 2, 3}, {"value_proj.bias", 1, 2, 0}},
         ATTNZOO_STATUS_INVALID_ARGUMENT,
         "value_proj.weight"},
        {"general",
         {{"score_proj.weight", 2, 2, 3}, {"value_proj.weight", 2, 4, 3}, {"value_proj.bias", 1, 2, 0}},
         ATTNZOO_STATUS_SHAPE_MISMATCH,
         "value_proj.bias has shape [2], must have [4]"},
        {"concat", {{"concat_proj.weight", 2, 4, 5}}, ATTNZOO_STATUS_INVALID_ARGUMENT, "score_proj.weight"},
        {"concat",
         {{"concat_proj.weight", 2, 4, 5}, {"score_proj.weight", 2, 1, 5}},
         ATTNZOO_STATUS_SHAPE_MISMATCH,
         "score_proj.weight has shape [1, 5], must have [1, 4]"},
        {"concat",
         {{"concat_proj.weight", 2, 4, 5}, {"score_proj.weight", 2, 1, 4}, {"concat_proj.bias", 1, 5, 0}},
         ATTNZOO_STATUS_SHAPE_MISMATCH,
         "concat_proj.bias has shape [5], must have [4]"},
        {"concat",
         {{"concat_proj.weight", 2, 4, 5}, {"score_proj.weight", 2, 1, 4}, {"score_proj.bias", 1, 2, 0}},
         ATTNZOO_STATUS_SHAPE_MISMATCH,
         "score_proj.bias has shape [2], must have [1]"},
        {"concat",
         {{"concat_proj.weight", 2, 4, 5}, {"score_proj.weight", 2, 1, 4}, {"value_proj.bias", 1, 2, 0}},
         ATTNZOO_STATUS_INVALID_ARGUMENT,
         "value_proj.weight"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attnzoo_module *module = module_of(cases[i].mechanism, cases[i].parameters);
        assert_refused(attnzoo_module_prepare(module), cases[i].status, cases[i].message);
        attnzoo_module_destroy(module);
    }
}

static const struct parameter GENERAL[PARAMETERS] = {{"score_proj.weight", 2, 2, 3}, {"value_proj.weight", 2, 2, 4}};
static const struct parameter CONCAT[PARAMETERS] = {
    {"concat_proj.weight", 2, 4, 5}, {"score_proj.weight", 2, 1, 4}, {"value_proj.weight", 2, 2, 4}};

static void inputs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *mechanism;
        int64_t query_size, key_size, value_size;
        const char *message;
    } cases[] = {
        {"general", 3, 3, 4, "query has 3 features, but score_proj.weight takes 2"},
        {"general", 2, 2, 4, "key has 2 features, but score_proj.weight takes 3"},
        {"general", 2, 3, 3, "value has 3 features, but value_proj.weight takes 4"},
        {"concat", 2, 2, 4, "query has 2 features and key 2, but concat_proj.weight takes 5 together"},
        {"concat", 6, 1, 4, "query has 6 features and key 1, but concat_proj.weight takes 5 together"},
        {"concat", 2, 3, 5, "value has 5 features, but value_proj.weight takes 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attnzoo_module *module = module_of(cases[i].mechanism, cases[i].mechanism[0] == 'g' ? GENERAL : CONCAT);
        attnzoo_tensor *query = view_of(0, 2, 3, cases[i].query_size), *key = view_of(32, 2, 4, cases[i].key_size);
        attnzoo_tensor *value = view_of(64, 2, 4, cases[i].value_size), *context = view_of(96, 2, 3, 2);
        const attnzoo_tensor *inputs[] = {query, key, value};
        int32_t rank = 0;
        int64_t shape[ATTNZOO_RANK_MAX];
        assert_ok(attnzoo_module_prepare(module));
        buffer[96] = 7.0f;
        assert_refused(attnzoo_module_output_shape(module, inputs, 3, NULL, ATTNZOO_OUTPUT_CONTEXT, &rank, shape),
                       ATTNZOO_STATUS_SHAPE_MISMATCH, cases[i].message);
        assert_refused(attnzoo_module_forward(module, NULL, query, key, value, NULL, NULL, context, NULL),
                       ATTNZOO_STATUS_SHAPE_MISMATCH, cases[i].message);
        assert_true(buffer[96] == 7.0f);
        attnzoo_module_destroy(module);
        attnzoo_tensor_destroy(query);
        attnzoo_tensor_destroy(key);
        attnzoo_tensor_destroy(value);
        attnzoo_tensor_destroy(context);
    }
}

static void inputs_of_one_axis_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"general", "concat"};
    for (int i = 0; i < 2; i++)
        for (int flat = 0; flat < 3; flat++) {
            attnzoo_module *module = module_of(names[i], i == 0 ? GENERAL : CONCAT);
            attnzoo_tensor *query = view_of(0, flat == 0 ? 1 : 2, 2, 2), *key = view_of(32, flat == 1 ? 1 : 2, 3, 3);
            attnzoo_tensor *value = view_of(64, flat == 2 ? 1 : 2, 4, 4), *context = view_of(96, 2, 2, 2);
            static const char *const messages[] = {"query has shape [2]", "key has shape [3]", "value has shape [4]"};
            assert_ok(attnzoo_module_prepare(module));
            assert_refused(attnzoo_module_forward(module, NULL, query, key, value, NULL, NULL, context, NULL),
                           ATTNZOO_STATUS_SHAPE_MISMATCH, messages[flat]);
            attnzoo_module_destroy(module);
            attnzoo_tensor_destroy(query);
            attnzoo_tensor_destroy(key);
            attnzoo_tensor_destroy(value);
            attnzoo_tensor_destroy(context);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_that_do_not_fit_are_refused),
        cmocka_unit_test(inputs_that_do_not_fit_are_refused),
        cmocka_unit_test(inputs_of_one_axis_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
