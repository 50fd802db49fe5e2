/*
 * tests/mechanisms/special_numbers_test.c: NaN, infinities, numbers at both ends of the float range and -0, one at a time,
 * in each input, bias of the mask and parameter of every mechanism, held to what mask.h promises. What depends on the
 * order of keys or the number of threads is in sameness_test.c.
 */
#include "support/element.h"
#include "support/testing.h"
#include "support/zoo_case.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = ATTNZOO_OUTPUT_CONTEXT, ATTENTION = ATTNZOO_OUTPUT_ATTENTION };

static const struct zoo_sizes SIZES = {2, 2, 1, 5, 9, 4};

static int64_t planted;

/* A place for a number, and what it is called. */
struct place {
    struct zoo_array *array;
    char name[64];
};

enum { PLACES = ZOO_INPUTS + ZOO_PARAMETERS };

static int list_places(struct zoo_case *test, struct place places[PLACES])
{
    static const char *const inputs[ZOO_INPUTS] = {"query", "key", "value", "position"};
    int count = 0;
    for (int i = 0; i < ZOO_INPUTS; i++)
        if (test->inputs[i].rank > 0 && (i != ATTNZOO_INPUT_KEY || zoo_reads_key(test->kind))) {
            places[count].array = &test->inputs[i];
            strcpy(places[count++].name, inputs[i]);
        }
    for (int i = 0; i < test->parameter_count; i++) {
        places[count].array = &test->parameters[i];
        strcpy(places[count++].name, test->parameter_names[i]);
    }
    return count;
}

/* With a module of the parameters as they are now. */
static void run(struct zoo_case *test, attnzoo_executor *executor, const attnzoo_mask *mask)
{
    attnzoo_module *module = NULL;
    assert_ok(zoo_case_make_module(test, &module));
    zoo_case_poison(test);
    assert_ok(zoo_case_forward(test, module, executor, mask, NULL));
    attnzoo_module_destroy(module);
}

static bool is_same_number(float left, float right)
{
    return memcmp(&left, &right, sizeof left) == 0;
}

/* Rows of the attention are NaN as a whole, or numbers of 0 to 1 that add up to 1: each is off by a few roundings, and
 * so is their sum, which the library takes of the very weights. */
static void assert_rows_are_attention(const struct zoo_case *test, const char *name)
{
    const struct zoo_array *attention = &test->outputs[ATTENTION];
    int64_t keys = test->sizes.keys;
    for (int64_t row = 0; row < attention->count / keys; row++) {
        double sum = 0.0;
        int64_t nans = 0;
        for (int64_t key = 0; key < keys; key++) {
            double weight = (double)attention->data[row * keys + key];
            nans += isnan(weight) != 0;
            if (weight < 0.0 || weight > 1.0 + 4.0 * 0x1p-24)
                fail_msg("%s, %s: a weight of %g", ZOO_NAMES[test->kind], name, weight);
            sum += weight;
        }
        if (nans != keys && (nans != 0 || fabs(sum - 1.0) > (double)(keys + 4) * 0x1p-24))
            fail_msg("%s, %s: row %" PRId64 " has %" PRId64 " NaN and the sum %.9g", ZOO_NAMES[test->kind], name, row,
                     nans, sum);
    }
}

/*
 * Each number is NaN or what it was; some are NaN. To the bit, unless a mask hides keys: where a NaN is among values that
 * some row may not see, those are summed in another order. All numbers are below 4, and sums of few: 64 roundings.
 */
static void assert_nan_or_clean(const struct zoo_case *test, const struct zoo_case *clean, const char *name,
                                bool is_masked)
{
    const double bound = is_masked ? 64.0 * 4.0 * 0x1p-24 : 0.0;
    int64_t nans = 0;
    for (int output = 0; output < ZOO_OUTPUTS; output++)
        for (int64_t i = 0; i < test->outputs[output].count; i++) {
            float got = test->outputs[output].data[i], was = clean->outputs[output].data[i];
            nans += isnan(got) != 0;
            if (!isnan(got) && !(is_same_number(got, was) || fabs((double)got - (double)was) <= bound))
                fail_msg("%s, NaN in %s: number %" PRId64 " of output %d is %.9g, was %.9g", ZOO_NAMES[test->kind],
                         name, i, output, (double)got, (double)was);
        }
    /* A value that is not chosen is not looked at. */
    if (nans == 0 && !(zoo_is_hard(test->kind) && strcmp(name, "value") == 0))
        fail_msg("%s: the NaN in %s was lost", ZOO_NAMES[test->kind], name);
}

static void assert_equal_numbers(const struct zoo_case *test, const struct zoo_case *other, const char *name)
{
    for (int output = 0; output < ZOO_OUTPUTS; output++)
        for (int64_t i = 0; i < test->outputs[output].count; i++)
            if (!(test->outputs[output].data[i] == other->outputs[output].data[i]))
                fail_msg("%s, %s: number %" PRId64 " of output %d is %.9g, not %.9g", ZOO_NAMES[test->kind], name, i,
                         output, (double)test->outputs[output].data[i], (double)other->outputs[output].data[i]);
}

/* The row of a query in an output, and whether it is the planted one. */
static bool is_in_query(const struct zoo_case *test, int output, int64_t number, int64_t batch, int64_t query)
{
    const struct zoo_array *array = &test->outputs[output];
    int32_t query_axis = array->rank - (output >= ATTNZOO_OUTPUT_LOG_SUM_EXP ? 1 : 2);
    int64_t behind = 1, in_batch = array->count / array->shape[0];
    for (int32_t axis = query_axis + 1; axis < array->rank; axis++)
        behind *= array->shape[axis];
    return number / in_batch == batch && number / behind % array->shape[query_axis] == query;
}

static void assert_other_queries_are_clean(const struct zoo_case *test, const struct zoo_case *clean, int64_t batch,
                                           int64_t query, const char *name)
{
    for (int output = 0; output < ZOO_OUTPUTS; output++)
        for (int64_t i = 0; i < test->outputs[output].count; i++) {
            /* What a step of a recurrence gives, those after it start from. */
            if (is_in_query(test, output, i, batch, query) || zoo_is_recurrent(test->kind))
                continue;
            if (!is_same_number(test->outputs[output].data[i], clean->outputs[output].data[i]))
                fail_msg("%s, %s: another query changed", ZOO_NAMES[test->kind], name);
        }
}

static void check_place(struct zoo_case *test, const struct zoo_case *clean, struct place *place,
                        attnzoo_executor *executor, const attnzoo_mask *mask)
{
    static const float extremes[] = {INFINITY, -INFINITY, 3e38f, -3e38f, FLT_MAX, -FLT_MAX};
    static const float tiny[] = {-0.0f, 1e-42f, -1e-42f, FLT_MIN, 0x1p-149f};
    struct zoo_array *array = place->array;
    int64_t number = array->count / 2;
    float before = array->data[number];
    array->data[number] = NAN;
    run(test, executor, mask);
    assert_nan_or_clean(test, clean, place->name, mask != NULL);
    assert_rows_are_attention(test, place->name);
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
        array->data[number] = extremes[i];
        run(test, executor, mask);
        assert_rows_are_attention(test, place->name);
        if (array == &test->inputs[0]) {
            int64_t size = test->sizes.size, queries = test->sizes.queries;
            int64_t batch = number / (array->count / test->sizes.batch);
            assert_other_queries_are_clean(test, clean, batch, number / size % queries, place->name);
        }
    }
    struct zoo_case zero;
    zoo_case_share(&zero, test);
    array->data[number] = 0.0f;
    run(&zero, executor, mask);
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        array->data[number] = tiny[i];
        run(test, executor, mask);
        assert_equal_numbers(test, &zero, place->name);
    }
    zoo_case_destroy_outputs(&zero);
    array->data[number] = before;
    planted += 1 + (int64_t)(sizeof extremes / sizeof *extremes + sizeof tiny / sizeof *tiny);
}

static void inputs_and_parameters_take_any_number(void **state)
{
    (void)state;
    attnzoo_executor *executor = NULL;
    attnzoo_mask *causal = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    assert_ok(attnzoo_mask_create(&causal));
    assert_ok(attnzoo_mask_set_causal(causal, 1));
    for (int i = 0; i < ZOO_KINDS * 2; i++) {
        struct zoo_case test, clean;
        struct place places[PLACES];
        const attnzoo_mask *mask = i % 2 == 0 ? NULL : causal;
        if (!zoo_adds_up((enum zoo_kind)(i / 2)))
            continue;
        zoo_case_create(&test, (enum zoo_kind)(i / 2), SIZES, 31);
        zoo_case_share(&clean, &test);
        run(&clean, NULL, mask);
        int count = list_places(&test, places);
        for (int k = 0; k < count; k++)
            check_place(&test, &clean, &places[k], k % 2 == 0 ? NULL : executor, mask);
        zoo_case_destroy_outputs(&clean);
        zoo_case_destroy(&test);
    }
    attnzoo_mask_destroy(causal);
    attnzoo_executor_destroy(executor);
    print_message("%" PRId64 " numbers planted\n", planted);
}

enum { QUERY = 3, KEY = 6 };

/* A bias on one pair, the same for all batches and heads. */
static void run_with_bias(struct zoo_case *test, float bias)
{
    struct zoo_array biases;
    attnzoo_mask *mask = NULL;
    zoo_array_create(&biases, 2, (int64_t[]){test->sizes.queries, test->sizes.keys});
    biases.data[QUERY * test->sizes.keys + KEY] = bias;
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_bias(mask, biases.view));
    run(test, NULL, mask);
    attnzoo_mask_destroy(mask);
    zoo_array_destroy(&biases);
}

/* The weights of one key in the rows of the planted query. */
static void assert_weight(const struct zoo_case *test, int64_t key, double lowest, double highest)
{
    const struct zoo_array *attention = &test->outputs[ATTENTION];
    int64_t keys = test->sizes.keys, queries = test->sizes.queries;
    for (int64_t row = 0; row < attention->count / keys; row++) {
        double weight = (double)attention->data[row * keys + key];
        if (row % queries == QUERY && !(weight >= lowest && weight <= highest))
            fail_msg("%s: a weight of %.9g", ZOO_NAMES[test->kind], weight);
    }
}

static void biases_take_any_number(void **state)
{
    (void)state;
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        if (!zoo_adds_up((enum zoo_kind)kind))
            continue;
        struct zoo_case test, clean;
        if (!zoo_takes_masks((enum zoo_kind)kind))
            continue;
        zoo_case_create(&test, (enum zoo_kind)kind, SIZES, 32);
        zoo_case_share(&clean, &test);
        run_with_bias(&clean, 0.0f);
        const float nans[] = {NAN, INFINITY};
        for (int i = 0; i < 2; i++) {
            run_with_bias(&test, nans[i]);
            assert_nan_or_clean(&test, &clean, "the bias", true);
            for (int64_t batch = 0; batch < 2; batch++)
                assert_true(
                    isnan(test.outputs[CONTEXT].data[(batch * (test.outputs[CONTEXT].count / 2)) +
                                                     QUERY * (test.outputs[CONTEXT].count / 2 /
                                                              (kind == 0 ? 2 * SIZES.queries : SIZES.queries))]));
        }
        run_with_bias(&test, -INFINITY);
        assert_weight(&test, KEY, 0.0, 0.0);
        assert_rows_are_attention(&test, "a bias of -infinity");
        run_with_bias(&test, 3e38f);
        assert_weight(&test, KEY, 1.0, 1.0);
        assert_weight(&test, KEY - 1, 0.0, 0.0);
        run_with_bias(&test, -3e38f);
        assert_weight(&test, KEY, 0.0, 0.0);
        assert_weight(&test, KEY - 1, zoo_is_hard(test.kind) ? 0.0 : 1e-6, 1.0);
        assert_rows_are_attention(&test, "a bias of -3e38");
        run_with_bias(&test, 1e-42f);
        assert_equal_numbers(&test, &clean, "a bias of 1e-42");
        run_with_bias(&test, -0.0f);
        assert_equal_numbers(&test, &clean, "a bias of -0");
        zoo_case_destroy_outputs(&clean);
        zoo_case_destroy(&test);
    }
}

/* Slopes so steep that every distance is beyond the range, and a query that sees its own key: that one is all it sees. */
static void slopes_past_the_range_leave_the_own_key(void **state)
{
    (void)state;
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        if (!zoo_adds_up((enum zoo_kind)kind))
            continue;
        struct zoo_case test;
        struct zoo_array slopes;
        attnzoo_mask *mask = NULL;
        if (!zoo_takes_masks((enum zoo_kind)kind))
            continue;
        zoo_case_create(&test, (enum zoo_kind)kind, SIZES, 33);
        zoo_array_create(&slopes, 1, (int64_t[]){test.sizes.heads});
        for (int64_t i = 0; i < slopes.count; i++)
            slopes.data[i] = 3e38f;
        assert_ok(attnzoo_mask_create(&mask));
        assert_ok(attnzoo_mask_set_linear_bias(mask, slopes.view));
        run(&test, NULL, mask);
        assert_rows_are_attention(&test, "steep slopes");
        assert_weight(&test, SIZES.keys - SIZES.queries + QUERY, 1.0, 1.0);
        attnzoo_mask_destroy(mask);
        zoo_array_destroy(&slopes);
        zoo_case_destroy(&test);
    }
}

/* One key has all the attention, exactly, whatever its score. */
static void a_single_key_has_all_the_attention(void **state)
{
    (void)state;
    for (int kind = 0; kind < ZOO_KINDS; kind++)
        for (int i = 0; i < 3 && zoo_adds_up((enum zoo_kind)kind); i++) {
            const float scales[] = {1.0f, 1e15f, 1e-30f};
            struct zoo_case test;
            zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){2, 2, 1, 5, 1, 4}, 34);
            for (int64_t k = 0; k < test.inputs[0].count; k++)
                test.inputs[0].data[k] *= scales[i];
            run(&test, NULL, NULL);
            for (int64_t k = 0; k < test.outputs[ATTENTION].count; k++)
                assert_true(test.outputs[ATTENTION].data[k] == 1.0f);
            zoo_case_destroy(&test);
        }
}

/* Contexts above 65504 are infinite as float16, those below as near as it has them; and likewise bfloat16. */
static void outputs_of_16_bits_are_the_rounded_float32(void **state)
{
    (void)state;
    const int32_t dtypes[] = {ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    for (int i = 0; i < ZOO_KINDS * 2; i++) {
        struct zoo_case test, wide;
        int32_t dtype = dtypes[i % 2];
        zoo_case_create(&test, (enum zoo_kind)(i / 2), SIZES, 35);
        for (int64_t k = 0; k < test.inputs[2].count; k++)
            test.inputs[2].data[k] *= dtype == ATTNZOO_DTYPE_FLOAT16 ? 2e6f : 0x1.8p127f;
        zoo_case_share(&wide, &test);
        run(&wide, NULL, NULL);
        for (int output = 0; output < 2; output++) {
            struct zoo_array *array = &test.outputs[output];
            assert_ok(attnzoo_tensor_assign(array->view, array->data, dtype, array->rank, array->shape, NULL));
        }
        run(&test, NULL, NULL);
        int64_t infinite = 0, finite = 0;
        for (int output = 0; output < 2; output++)
            for (int64_t k = 0; k < test.outputs[output].count; k++) {
                double value = (double)wide.outputs[output].data[k];
                double got = element_read((const unsigned char *)test.outputs[output].data + 2 * k, dtype);
                double expected = element_rounded(dtype, value);
                infinite += isinf(got) != 0;
                finite += isfinite(got) != 0;
                if (!(got == expected || (isnan(got) && isnan(expected))))
                    fail_msg("%s: %.9g became %.9g, not %.9g", ZOO_NAMES[test.kind], value, got, expected);
            }
        assert_true(finite > 0 && (infinite > 0 || dtype == ATTNZOO_DTYPE_BFLOAT16));
        zoo_case_destroy_outputs(&wide);
        zoo_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_and_parameters_take_any_number),
        cmocka_unit_test(biases_take_any_number),
        cmocka_unit_test(slopes_past_the_range_leave_the_own_key),
        cmocka_unit_test(a_single_key_has_all_the_attention),
        cmocka_unit_test(outputs_of_16_bits_are_the_rounded_float32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
