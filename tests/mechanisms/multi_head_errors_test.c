/*
 * tests/mechanisms/multi_head_errors_test.c: what multi_head and relative_multi_head refuse, in what words, and that a
 * refused call writes nothing. Errors of caches are in cache_test.c.
 */
#include "support/multi_head_case.h"
#include "support/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FLAVORS = 3 };

/* All sizes differ, so that a message can only mean the right one. */
static void plan_case(struct multi_head_case *test, int flavor)
{
    multi_head_case_plan(test, (struct multi_head_sizes){.flavor = (enum reference_flavor)flavor,
                                                         .batch = 2,
                                                         .heads = 4,
                                                         .key_heads = 2,
                                                         .queries = 5,
                                                         .keys = 7,
                                                         .head_size = 8,
                                                         .value_size = 6,
                                                         .query_width = 13,
                                                         .key_width = 11,
                                                         .value_width = 9,
                                                         .out_width = 10,
                                                         .position_width = 14,
                                                         .farthest = 3});
    for (int weight = QUERY_WEIGHT; weight <= POSITION_WEIGHT; weight += 2)
        if (test->parameters[weight].rank > 0)
            multi_head_case_plan_bias(test, weight + 1);
}

static void allocate_and_fill(struct multi_head_case *test)
{
    struct random_source source = {42};
    multi_head_case_allocate(test);
    multi_head_case_fill(test, &source, 1.0);
    multi_head_case_store(test);
}

/* Preparing the case's module must fail with the status and name the parameter, and work once the case is mended: its
 * parameters are then set anew. */
static void assert_not_prepared(struct multi_head_case *test, attnzoo_status wanted, const char *text)
{
    attnzoo_module *module = NULL;
    allocate_and_fill(test);
    module = multi_head_case_unprepared(test);
    assert_refused(attnzoo_module_prepare(module), wanted, text);
    assert_status(attnzoo_module_forward(module, NULL, test->base.query.view, test->base.key.view,
                                         test->base.value.view, NULL, NULL, test->base.context.view, NULL),
                  ATTNZOO_STATUS_BAD_STATE);
    assert_true(test_tensor_is_untouched(&test->base.context));
    attnzoo_module_destroy(module);
}

static void required_parameters_are_missed(void **state)
{
    (void)state;
    static const struct {
        int flavor, parameter;
    } required[] = {{0, QUERY_WEIGHT}, {0, KEY_WEIGHT},      {0, VALUE_WEIGHT}, {1, QUERY_WEIGHT}, {1, KEY_WEIGHT},
                    {1, VALUE_WEIGHT}, {1, POSITION_WEIGHT}, {2, QUERY_WEIGHT}, {2, VALUE_WEIGHT}, {2, RELATIVE_KEY}};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        for (int has_bias = 0; has_bias < 2; has_bias++) {
            struct multi_head_case test;
            int parameter = required[i].parameter;
            plan_case(&test, required[i].flavor);
            test.parameters[parameter].rank = 0;
            if (has_bias == 0 && parameter < U_BIAS)
                test.parameters[parameter + 1].rank = 0;
            assert_not_prepared(&test, ATTNZOO_STATUS_INVALID_ARGUMENT, MULTI_HEAD_PARAMETER_NAMES[parameter]);
            multi_head_case_destroy(&test);
        }
}

static void the_bias_of_out_proj_needs_its_weight(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct multi_head_case test;
        plan_case(&test, flavor);
        test.parameters[OUT_WEIGHT].rank = 0;
        assert_not_prepared(&test, ATTNZOO_STATUS_INVALID_ARGUMENT, "out_proj.weight");
        multi_head_case_destroy(&test);
    }
}

/* "[4, 5]" or "[4]" */
static void write_shape(char text[64], const int64_t *shape, int32_t rank)
{
    if (rank == 1)
        snprintf(text, 64, "[%" PRId64 "]", shape[0]);
    else
        snprintf(text, 64, "[%" PRId64 ", %" PRId64 "]", shape[0], shape[1]);
}

/* One axis of one parameter is longer by one. Inputs' sizes are the weights' own, and free. */
static void wrong_shapes_are_told_with_the_right_ones(void **state)
{
    (void)state;
    static const struct {
        int parameter, axis;
    } axes[] = {{QUERY_BIAS, 0},      {KEY_BIAS, 0},      {VALUE_BIAS, 0},     {OUT_WEIGHT, 1},    {OUT_BIAS, 0},
                {POSITION_WEIGHT, 0}, {POSITION_BIAS, 0}, {U_BIAS, 0},         {U_BIAS, 1},        {V_BIAS, 0},
                {V_BIAS, 1},          {RELATIVE_KEY, 1},  {RELATIVE_VALUE, 0}, {RELATIVE_VALUE, 1}};
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
            struct multi_head_case test;
            char has[64], should[64];
            plan_case(&test, flavor);
            struct test_tensor *parameter = &test.parameters[axes[i].parameter];
            if (parameter->rank == 0)
                continue;
            write_shape(should, parameter->shape, parameter->rank);
            parameter->shape[axes[i].axis]++;
            write_shape(has, parameter->shape, parameter->rank);
            assert_not_prepared(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "");
            attnzoo_module *module = multi_head_case_unprepared(&test);
            assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_SHAPE_MISMATCH,
                           MULTI_HEAD_PARAMETER_NAMES[axes[i].parameter]);
            assert_error_contains(has);
            assert_error_contains(should);
            attnzoo_module_destroy(module);
            multi_head_case_destroy(&test);
        }
}

/* The error leaves the module as it can be mended: the right parameter is set, and it is prepared. */
static void a_module_may_be_mended(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_case(&test, REFERENCE_TRANSFORMER_XL);
    allocate_and_fill(&test);
    attnzoo_module *module = multi_head_case_unprepared(&test);
    assert_ok(attnzoo_module_set_parameter(module, "u_bias", test.parameters[KEY_WEIGHT].view));
    assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_SHAPE_MISMATCH, "u_bias");
    assert_ok(attnzoo_module_set_parameter(module, "u_bias", test.parameters[U_BIAS].view));
    assert_ok(attnzoo_module_prepare(module));
    assert_status(attnzoo_module_prepare(module), ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_module_set_parameter(module, "u_bias", test.parameters[U_BIAS].view),
                  ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_module_set_option_int(module, "num_heads", 2), ATTNZOO_STATUS_BAD_STATE);
    assert_ok(multi_head_case_forward(&test, module, NULL, NULL, NULL));
    multi_head_case_load(&test);
    assert_true(multi_head_case_compare(&test));
    attnzoo_module_destroy(module);
    multi_head_case_destroy(&test);
}

/* Rows of the weights that heads do not divide, a head size that key and query do not share, heads that heads do not
 * divide. */
static void heads_that_do_not_divide_are_refused(void **state)
{
    (void)state;
    static const struct {
        int parameter;
        int64_t rows;
        attnzoo_status status;
        const char *first, *second;
    } cases[] = {{QUERY_WEIGHT, 33, ATTNZOO_STATUS_SHAPE_MISMATCH, "query_proj.weight", "33"},
                 {KEY_WEIGHT, 17, ATTNZOO_STATUS_SHAPE_MISMATCH, "key_proj.weight", "17"},
                 {KEY_WEIGHT, 18, ATTNZOO_STATUS_SHAPE_MISMATCH, "key_proj.weight", "[18, 11]"},
                 {VALUE_WEIGHT, 13, ATTNZOO_STATUS_SHAPE_MISMATCH, "value_proj.weight", "13"}};
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct multi_head_case test;
            plan_case(&test, flavor);
            test.parameters[cases[i].parameter].shape[0] = cases[i].rows;
            test.parameters[cases[i].parameter + 1].shape[0] = cases[i].rows;
            assert_not_prepared(&test, cases[i].status, "");
            attnzoo_module *module = multi_head_case_unprepared(&test);
            assert_refused(attnzoo_module_prepare(module), cases[i].status, cases[i].first);
            assert_error_contains(cases[i].second);
            attnzoo_module_destroy(module);
            multi_head_case_destroy(&test);
        }
    struct multi_head_case test;
    plan_case(&test, REFERENCE_PLAIN);
    test.sizes.key_heads = 3;
    allocate_and_fill(&test);
    attnzoo_module *module = multi_head_case_unprepared(&test);
    assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_INVALID_ARGUMENT, "num_kv_heads");
    assert_error_contains("3");
    assert_error_contains("4");
    attnzoo_module_destroy(module);
    multi_head_case_destroy(&test);
}

static void parameters_of_the_other_flavor_are_refused(void **state)
{
    (void)state;
    static const int others[][2] = {{REFERENCE_SHAW, POSITION_WEIGHT},
                                    {REFERENCE_SHAW, POSITION_BIAS},
                                    {REFERENCE_SHAW, U_BIAS},
                                    {REFERENCE_SHAW, V_BIAS},
                                    {REFERENCE_TRANSFORMER_XL, RELATIVE_KEY},
                                    {REFERENCE_TRANSFORMER_XL, RELATIVE_VALUE}};
    for (int i = 0; i < 6; i++) {
        struct multi_head_case test;
        plan_case(&test, others[i][0]);
        allocate_and_fill(&test);
        attnzoo_module *module = multi_head_case_unprepared(&test);
        const char *name = MULTI_HEAD_PARAMETER_NAMES[others[i][1]];
        bool is_vector = others[i][1] == POSITION_BIAS;
        assert_ok(
            attnzoo_module_set_parameter(module, name, test.parameters[is_vector ? QUERY_BIAS : QUERY_WEIGHT].view));
        assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_INVALID_ARGUMENT, name);
        attnzoo_module_destroy(module);
        multi_head_case_destroy(&test);
    }
}

/* 2 k + 1 rows. */
static void relative_key_has_an_odd_number_of_rows(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows <= 4; rows += 2) {
        struct multi_head_case test;
        plan_case(&test, REFERENCE_SHAW);
        test.parameters[RELATIVE_KEY].shape[0] = test.parameters[RELATIVE_VALUE].shape[0] = rows;
        assert_not_prepared(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "relative_key");
        multi_head_case_destroy(&test);
    }
}

static void setters_refuse_what_can_never_fit(void **state)
{
    (void)state;
    static const struct {
        const char *mechanism, *option, *value;
        attnzoo_status status;
    } options[] = {{"multi_head", "num_heads", "0", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"multi_head", "num_heads", "-4", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"multi_head", "num_heads", "1.5", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"multi_head", "num_kv_heads", "0", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"multi_head", "average_heads", "maybe", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"multi_head", "softcap", "-1", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"multi_head", "scale", "nan", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"multi_head", "flavor", "shaw", ATTNZOO_STATUS_UNKNOWN_NAME},
                   {"multi_head", "normalizer", "softmax", ATTNZOO_STATUS_UNKNOWN_NAME},
                   {"relative_multi_head", "flavor", "rotary", ATTNZOO_STATUS_INVALID_ARGUMENT},
                   {"relative_multi_head", "num_head", "8", ATTNZOO_STATUS_UNKNOWN_NAME}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, options[i].mechanism));
        assert_refused(attnzoo_module_set_option_text(module, options[i].option, options[i].value), options[i].status,
                       options[i].option);
        if (options[i].status == ATTNZOO_STATUS_UNKNOWN_NAME)
            assert_error_contains("average_heads");
        attnzoo_module_destroy(module);
    }
    attnzoo_module *module = NULL;
    attnzoo_tensor *whole = NULL, *vector = NULL;
    int32_t numbers[6] = {0};
    assert_ok(attnzoo_module_create(&module, "multi_head"));
    assert_ok(attnzoo_tensor_create(&whole, numbers, ATTNZOO_DTYPE_INT32, 2, (int64_t[]){2, 3}, NULL));
    assert_ok(attnzoo_tensor_create(&vector, numbers, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){6}, NULL));
    assert_refused(attnzoo_module_set_parameter(module, "query_proj.weight", whole), ATTNZOO_STATUS_DTYPE_MISMATCH,
                   "query_proj.weight");
    assert_refused(attnzoo_module_set_parameter(module, "query_proj.weight", vector), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "query_proj.weight");
    assert_refused(attnzoo_module_set_parameter(module, "u_bias", vector), ATTNZOO_STATUS_UNKNOWN_NAME,
                   "value_proj.bias");
    assert_status(attnzoo_module_set_parameter(module, "out_proj.bias", NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    attnzoo_tensor_destroy(whole);
    attnzoo_tensor_destroy(vector);
    attnzoo_module_destroy(module);
}

/* The call with one tensor's sizes changed is refused with these words and writes nothing. */
static void assert_call_refused(struct multi_head_case *test, attnzoo_status wanted, const char *first,
                                const char *second)
{
    allocate_and_fill(test);
    attnzoo_module *module = multi_head_case_module(test);
    attnzoo_mask *mask = attention_case_mask(&test->base);
    assert_refused(multi_head_case_forward(test, module, NULL, mask, NULL), wanted, first);
    assert_error_contains(second);
    assert_true(test_tensor_is_untouched(&test->base.context));
    if (test->base.attention.rank > 0)
        assert_true(test_tensor_is_untouched(&test->base.attention));
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    multi_head_case_destroy(test);
}

static void inputs_and_outputs_of_wrong_shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        int tensor, axis;
        int64_t size;
        const char *first, *second;
    } cases[] = {{0, 2, 12, "query", "12"},
                 {1, 2, 13, "key", "13"},
                 {2, 2, 11, "value", "11"},
                 {0, 0, 3, "query", "3"},
                 {1, 0, 1, "key", "1"},
                 {2, 0, 3, "value", "3"},
                 {1, 1, 8, "key", "8"},
                 {2, 1, 6, "value", "6"},
                 {3, 2, 24, "context", "[2, 5, 10]"},
                 {3, 1, 4, "context", "[2, 5, 10]"},
                 {3, 0, 1, "context", "[2, 5, 10]"},
                 {4, 1, 2, "attention", "[2, 4, 5, 7]"},
                 {4, 3, 6, "attention", "[2, 4, 5, 7]"}};
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct multi_head_case test;
            plan_case(&test, flavor);
            struct attention_case *base = &test.base;
            struct test_tensor *const tensors[] = {&base->query, &base->key, &base->value, &base->context,
                                                   &base->attention};
            tensors[cases[i].tensor]->shape[cases[i].axis] = cases[i].size;
            assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, cases[i].first, cases[i].second);
        }
    /* Averaged attention has no heads, and the other has some. */
    struct multi_head_case test;
    plan_case(&test, REFERENCE_PLAIN);
    test.averages_heads = true;
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "attention", "[2, 5, 7]");
    plan_case(&test, REFERENCE_PLAIN);
    test.base.attention = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){2, 5, 7});
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "attention", "[2, 4, 5, 7]");
    /* Too few axes and too many. */
    plan_case(&test, REFERENCE_PLAIN);
    test.base.key = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){11});
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "key", "[11]");
    plan_case(&test, REFERENCE_PLAIN);
    test.base.query = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 4, (int64_t[]){1, 2, 5, 13});
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "query", "[1, 2, 5, 13]");
    plan_case(&test, REFERENCE_PLAIN);
    test.base.value.dtype = ATTNZOO_DTYPE_INT32;
    assert_call_refused(&test, ATTNZOO_STATUS_DTYPE_MISMATCH, "value", "int32");
    plan_case(&test, REFERENCE_PLAIN);
    attention_case_plan_boolean(&test.base, 2, 3, 5, 7);
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "[2, 3, 5, 7]", "");
}

/* N = 5, M = 7: 11 rows, or 7 where the mask shows no key behind a query's own place. */
static void tables_with_a_wrong_number_of_rows_are_refused(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows <= 13; rows++)
        for (int way = 0; way < 5; way++) {
            struct multi_head_case test;
            plan_case(&test, REFERENCE_TRANSFORMER_XL);
            multi_head_case_plan_position(&test, way == 0, rows);
            test.base.causal = way > 0;
            /* Offsets of 2 are bottom-right. */
            test.base.has_offset = way == 2 || way == 3;
            test.base.offset = way == 2 ? 3 : 2;
            if (way == 4) {
                attention_case_plan_query_lengths(&test.base);
                test.base.alignment = ATTNZOO_ALIGNMENT_LENGTHS;
            }
            if (rows == 11 || (rows == 7 && (way == 1 || way == 3)))
                continue;
            /* Here the second batch's queries are one short, so that their offset is 3. */
            char has[32];
            snprintf(has, sizeof has, "%d", (int)rows);
            allocate_and_fill(&test);
            if (way == 4) {
                test.base.query_lengths.values[0] = 5;
                test.base.query_lengths.values[1] = 4;
                multi_head_case_store(&test);
            }
            attnzoo_module *module = multi_head_case_module(&test);
            attnzoo_mask *mask = attention_case_mask(&test.base);
            assert_refused(multi_head_case_forward(&test, module, NULL, mask, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH,
                           "position");
            assert_error_contains(has);
            assert_error_contains("11");
            assert_true(test_tensor_is_untouched(&test.base.context));
            attnzoo_mask_destroy(mask);
            attnzoo_module_destroy(module);
            multi_head_case_destroy(&test);
        }
}

/* N = 5, M = 2, offset -2: the first queries see nothing, but query 3, which stands at 2 - 5 + 3 = 0, sees key 1. */
static void a_one_sided_table_is_refused_where_a_later_query_sees_the_future(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_case(&test, REFERENCE_TRANSFORMER_XL);
    test.sizes.keys = 2;
    multi_head_case_plan(&test, test.sizes);
    multi_head_case_plan_position(&test, false, 2);
    test.base.causal = true;
    test.base.has_offset = true;
    test.base.offset = -2;
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "position", "6");
}

static void positions_are_refused_where_they_do_not_belong(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_case(&test, REFERENCE_TRANSFORMER_XL);
    test.position.rank = 0;
    assert_call_refused(&test, ATTNZOO_STATUS_INVALID_ARGUMENT, "position", "");
    plan_case(&test, REFERENCE_TRANSFORMER_XL);
    test.position.shape[2] = 15;
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "position", "15");
    plan_case(&test, REFERENCE_TRANSFORMER_XL);
    test.position.shape[0] = 3;
    assert_call_refused(&test, ATTNZOO_STATUS_SHAPE_MISMATCH, "position", "3");
    plan_case(&test, REFERENCE_TRANSFORMER_XL);
    test.position.dtype = ATTNZOO_DTYPE_INT32;
    assert_call_refused(&test, ATTNZOO_STATUS_DTYPE_MISMATCH, "position", "int32");
    for (int flavor = 0; flavor < FLAVORS; flavor += 2) {
        plan_case(&test, flavor);
        test.position = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){11, 14});
        assert_call_refused(&test, ATTNZOO_STATUS_UNSUPPORTED, "", "");
    }
}

/* Both outputs over every input, the table of positions among them, over a mask and over each other. */
static void overlaps_are_refused(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_case(&test, REFERENCE_TRANSFORMER_XL);
    attention_case_plan_bias(&test.base, 2, 4, 5, 7);
    allocate_and_fill(&test);
    attnzoo_module *module = multi_head_case_module(&test);
    attnzoo_mask *mask = attention_case_mask(&test.base);
    const char *const names[] = {"query", "key", "value", "position", "mask", "attention"};
    struct test_tensor *const others[] = {&test.base.query, &test.base.key,  &test.base.value,
                                          &test.position,   &test.base.bias, &test.base.attention};
    struct test_tensor *const outputs[] = {&test.base.context, &test.base.attention};
    for (int output = 0; output < 2; output++)
        for (int i = 0; i < 6 - output; i++) {
            static unsigned char before[4096];
            const struct guarded_memory *memory = &others[i]->memory;
            size_t size = memory->size < sizeof before ? memory->size : sizeof before;
            memcpy(before, memory->bytes, size);
            /* The output begins at the other's last element but one. */
            struct test_tensor *view = outputs[output];
            unsigned char *place = memory->bytes + memory->size - 2 * sizeof(float);
            assert_ok(attnzoo_tensor_set_data(view->view, place));
            assert_refused(multi_head_case_forward(&test, module, NULL, mask, NULL), ATTNZOO_STATUS_OVERLAP,
                           output == 0 ? "context" : "attention");
            assert_error_contains(names[i]);
            assert_memory_equal(before, memory->bytes, size);
            assert_ok(attnzoo_tensor_set_data(view->view, view->memory.bytes));
        }
    assert_ok(multi_head_case_forward(&test, module, NULL, mask, NULL));
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    multi_head_case_destroy(&test);
}

static void absent_and_surplus_places_are_refused(void **state)
{
    (void)state;
    struct multi_head_case test;
    plan_case(&test, REFERENCE_PLAIN);
    allocate_and_fill(&test);
    attnzoo_module *module = multi_head_case_module(&test);
    const attnzoo_tensor *inputs[] = {test.base.query.view, test.base.key.view, test.base.value.view};
    attnzoo_tensor *outputs[] = {test.base.context.view, test.base.attention.view, NULL};
    const char *const names[] = {"query", "key", "value"};
    for (int i = 0; i < 3; i++) {
        const attnzoo_tensor *kept = inputs[i];
        inputs[i] = NULL;
        assert_refused(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 2),
                       ATTNZOO_STATUS_INVALID_ARGUMENT, names[i]);
        inputs[i] = kept;
    }
    attnzoo_tensor *lse = NULL, *readonly = NULL;
    static float room[2 * 5 * 10];
    assert_ok(attnzoo_tensor_create(&lse, room, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){2, 4, 5}, NULL));
    assert_ok(attnzoo_tensor_create_readonly(&readonly, room, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){2, 5, 10}, NULL));
    outputs[2] = lse;
    assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 3),
                  ATTNZOO_STATUS_UNSUPPORTED);
    outputs[0] = NULL;
    assert_refused(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 2),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "context");
    outputs[0] = readonly;
    assert_refused(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 2),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "context");
    assert_true(test_tensor_is_untouched(&test.base.context));
    assert_true(test_tensor_is_untouched(&test.base.attention));
    attnzoo_tensor_destroy(lse);
    attnzoo_tensor_destroy(readonly);
    attnzoo_module_destroy(module);
    multi_head_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(required_parameters_are_missed),
        cmocka_unit_test(the_bias_of_out_proj_needs_its_weight),
        cmocka_unit_test(wrong_shapes_are_told_with_the_right_ones),
        cmocka_unit_test(a_module_may_be_mended),
        cmocka_unit_test(heads_that_do_not_divide_are_refused),
        cmocka_unit_test(parameters_of_the_other_flavor_are_refused),
        cmocka_unit_test(relative_key_has_an_odd_number_of_rows),
        cmocka_unit_test(setters_refuse_what_can_never_fit),
        cmocka_unit_test(inputs_and_outputs_of_wrong_shapes_are_refused),
        cmocka_unit_test(tables_with_a_wrong_number_of_rows_are_refused),
        cmocka_unit_test(a_one_sided_table_is_refused_where_a_later_query_sees_the_future),
        cmocka_unit_test(positions_are_refused_where_they_do_not_belong),
        cmocka_unit_test(overlaps_are_refused),
        cmocka_unit_test(absent_and_surplus_places_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
