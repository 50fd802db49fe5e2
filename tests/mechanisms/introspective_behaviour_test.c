/*
 * tests/mechanisms/introspective_behaviour_test.c: what the heads of introspective do where it can be worked out by hand:
 * finding by content, moving by location, sharpening, erasing and adding, and what is left at the ends of the float range.
 * FIRM is so far from 0 that softmax and sigmoid of it are 0 or 1 to the last bit.
 */
#include "introspective_case.h"

#include "support/testing.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FIRM = 200.0;

/* No weights but in biases, so that all steps are alike: heads that stay where they are, writing nothing. */
static void plan_still(struct introspective_case *test, struct introspective_sizes sizes)
{
    sizes.features = 1;
    introspective_case_plan(test, sizes);
    introspective_case_allocate(test);
    for (int64_t head = 0; head < sizes.reads + sizes.writes; head++) {
        test->biases[REFERENCE_GATE].values[head] = -FIRM;
        test->biases[REFERENCE_SHARPENING].values[head] = -FIRM;
        test->biases[REFERENCE_SHIFT].values[head * (2 * sizes.reach + 1) + sizes.reach] = FIRM;
    }
    for (int64_t i = 0; i < sizes.writes * sizes.columns; i++)
        test->biases[REFERENCE_ERASE].values[i] = -FIRM;
}

static void move_by(struct introspective_case *test, int64_t head, int64_t distance)
{
    int64_t count = 2 * test->sizes.reach + 1;
    double *shifts = test->biases[REFERENCE_SHIFT].values + head * count;
    for (int64_t o = 0; o < count; o++)
        shifts[o] = o == test->sizes.reach + distance ? FIRM : 0.0;
}

/* beta, exactly: softplus of it is x + ln(1 + e^-x). */
static double inverse_softplus(double value)
{
    return value > 40.0 ? value : log(expm1(value));
}

/* Row i of the memory is the i-th unit vector. */
static void fill_with_units(struct introspective_case *test)
{
    for (int64_t row = 0; row < test->sizes.rows; row++)
        test->value.values[row * test->sizes.columns + row] = 1.0;
}

static struct introspective_result run(struct introspective_case *test)
{
    introspective_case_prepare(test);
    struct introspective_result result = introspective_result_create(test);
    assert_ok(introspective_case_run(test, NULL, 0, test->sizes.steps, true, NULL, &result));
    return result;
}

static void finish(struct introspective_case *test, struct introspective_result *result)
{
    introspective_result_destroy(result);
    introspective_case_destroy(test);
}

static void assert_near(double got, double wanted)
{
    /* A handful of roundings of numbers of at most 1. */
    if (!(fabs(got - wanted) <= 16.0 * 0x1p-24))
        fail_msg("%.9g, not %.9g", got, wanted);
}

static void assert_one_hot(const float *weights, int64_t count, int64_t place)
{
    for (int64_t i = 0; i < count; i++)
        if (weights[i] != (i == place ? 1.0f : 0.0f))
            fail_msg("row %d has the weight %.9g where all should be on row %d", (int)i, (double)weights[i],
                     (int)place);
}

static void a_strong_key_finds_its_row(void **state)
{
    (void)state;
    struct introspective_case test;
    plan_still(&test, (struct introspective_sizes){1, 1, 5, 5, 1, 0, 0, 1});
    fill_with_units(&test);
    test.biases[REFERENCE_GATE].values[0] = FIRM;
    test.biases[REFERENCE_STRENGTH].values[0] = FIRM;
    test.biases[REFERENCE_KEY].values[3] = 0.25; /* Its length says nothing. */
    struct introspective_result result = run(&test);
    assert_one_hot(result.attention, 5, 3);
    assert_one_hot(result.context, 5, 3);
    finish(&test, &result);
}

static void a_mild_key_weighs_by_the_cosine(void **state)
{
    (void)state;
    struct introspective_case test;
    plan_still(&test, (struct introspective_sizes){1, 1, 3, 2, 1, 0, 0, 1});
    const double memory[] = {2.0, 0.0, 3.0, 3.0, 0.0, -1.0}; /* cosines with (1, 0): 1, sqrt(1/2), 0 */
    memcpy(test.value.values, memory, sizeof memory);
    test.biases[REFERENCE_GATE].values[0] = FIRM;
    test.biases[REFERENCE_STRENGTH].values[0] = inverse_softplus(2.0);
    test.biases[REFERENCE_KEY].values[0] = 7.0;
    struct introspective_result result = run(&test);
    const double powers[] = {exp(2.0), exp(2.0 * sqrt(0.5)), 1.0};
    for (int i = 0; i < 3; i++)
        assert_near((double)result.attention[i], powers[i] / (powers[0] + powers[1] + powers[2]));
    finish(&test, &result);
}

static void a_shift_goes_around_the_circle(void **state)
{
    (void)state;
    for (int64_t distance = -2; distance <= 2; distance++) {
        struct introspective_case test;
        plan_still(&test, (struct introspective_sizes){2, 9, 5, 5, 1, 0, 2, 1});
        fill_with_units(&test);
        test.row_lengths = calloc(2, sizeof *test.row_lengths);
        assert_non_null(test.row_lengths);
        test.row_lengths[0] = 5;
        test.row_lengths[1] = 3; /* a smaller circle */
        move_by(&test, 0, distance);
        struct introspective_result result = run(&test);
        for (int64_t batch = 0; batch < 2; batch++)
            for (int64_t step = 0; step < 9; step++) {
                int64_t length = test.row_lengths[batch];
                int64_t place = ((step + 1) * distance % length + length) % length;
                assert_one_hot(result.attention + (batch * 9 + step) * 5, 5, place);
            }
        finish(&test, &result);
    }
}

/* More shifts than rows: those that come to the same place add up. */
static void shifts_past_the_circle_add_up(void **state)
{
    (void)state;
    struct introspective_case test;
    plan_still(&test, (struct introspective_sizes){1, 1, 2, 1, 1, 0, 3, 1});
    for (int64_t o = 0; o < 7; o++)
        test.biases[REFERENCE_SHIFT].values[o] = 0.0;
    struct introspective_result result = run(&test);
    assert_near((double)result.attention[0], 3.0 / 7.0); /* -2, 0, 2 */
    assert_near((double)result.attention[1], 4.0 / 7.0); /* -3, -1, 1, 3 */
    finish(&test, &result);
}

/* Puts memory and weightings into a state, as one that begins elsewhere would. */
static attnzoo_state *load(const struct introspective_case *test, const float *memory, const float *weights)
{
    const struct introspective_sizes *sizes = &test->sizes;
    attnzoo_state *loaded = NULL;
    attnzoo_tensor *fields[2] = {NULL, NULL};
    assert_ok(attnzoo_state_create(&loaded, test->module, sizes->batch, sizes->rows));
    assert_ok(attnzoo_tensor_create_readonly(&fields[0], memory, ATTNZOO_DTYPE_FLOAT32, 4,
                                             (int64_t[]){sizes->batch, 1, sizes->rows, sizes->columns}, NULL));
    assert_ok(attnzoo_tensor_create_readonly(&fields[1], weights, ATTNZOO_DTYPE_FLOAT32, 3,
                                             (int64_t[]){sizes->batch, sizes->reads + sizes->writes, sizes->rows},
                                             NULL));
    assert_ok(attnzoo_state_set_fields(loaded, (const attnzoo_tensor *const *)fields, 2));
    attnzoo_tensor_destroy(fields[0]);
    attnzoo_tensor_destroy(fields[1]);
    return loaded;
}

static void sharpening_raises_to_a_power(void **state)
{
    (void)state;
    static const float memory[] = {1.0f, 2.0f, 4.0f}, weights[] = {0.2f, 0.3f, 0.5f};
    static const double gammas[] = {1.0, 3.0, 50.0, 1e4, 1e30};
    for (int i = 0; i < 5; i++) {
        struct introspective_case test;
        plan_still(&test, (struct introspective_sizes){1, 1, 3, 1, 1, 0, 0, 1});
        test.biases[REFERENCE_SHARPENING].values[0] = i == 0 ? -FIRM : inverse_softplus(gammas[i] - 1.0);
        introspective_case_prepare(&test);
        struct introspective_result result = introspective_result_create(&test);
        attnzoo_state *loaded = load(&test, memory, weights);
        /* The memory comes from the state: there is no value. */
        assert_ok(introspective_case_run(&test, NULL, 0, 1, false, loaded, &result));
        double powers[3], sum = 0.0;
        for (int row = 0; row < 3; row++)
            sum += powers[row] = pow((double)weights[row] / 0.5, gammas[i]);
        for (int row = 0; row < 3; row++)
            if (!(fabs((double)result.attention[row] - powers[row] / sum) <= 1e-5 * powers[row] / sum + 1e-37))
                fail_msg("gamma %g, row %d: %.9g", gammas[i], row, (double)result.attention[row]);
        attnzoo_state_destroy(loaded);
        finish(&test, &result);
    }
}

/* Weights whose third powers are below the floats, of all rows: relative to the largest they are not. */
static void sharpening_of_small_weights_does_not_underflow(void **state)
{
    (void)state;
    static const float memory[] = {1.0f, 2.0f}, weights[] = {1e-30f, 2e-30f};
    struct introspective_case test;
    plan_still(&test, (struct introspective_sizes){1, 1, 2, 1, 1, 0, 0, 1});
    test.biases[REFERENCE_SHARPENING].values[0] = inverse_softplus(2.0);
    introspective_case_prepare(&test);
    struct introspective_result result = introspective_result_create(&test);
    attnzoo_state *loaded = load(&test, memory, weights);
    assert_ok(introspective_case_run(&test, NULL, 0, 1, false, loaded, &result));
    assert_near((double)result.attention[0], 1.0 / 9.0);
    assert_near((double)result.attention[1], 8.0 / 9.0);
    attnzoo_state_destroy(loaded);
    finish(&test, &result);
}

/* A length that is shorter than that of the calls before leaves no weight behind it. */
static void a_shorter_length_takes_weights_away(void **state)
{
    (void)state;
    static const float memory[] = {1.0f, 2.0f, 4.0f, 8.0f}, weights[] = {0.1f, 0.3f, 0.2f, 0.4f};
    struct introspective_case test;
    plan_still(&test, (struct introspective_sizes){1, 1, 4, 1, 1, 0, 0, 1});
    test.row_lengths = calloc(1, sizeof *test.row_lengths);
    assert_non_null(test.row_lengths);
    test.row_lengths[0] = 2;
    introspective_case_prepare(&test);
    struct introspective_result result = introspective_result_create(&test);
    attnzoo_state *loaded = load(&test, memory, weights);
    assert_ok(introspective_case_run(&test, NULL, 0, 1, false, loaded, &result));
    assert_near((double)result.attention[0], 0.25);
    assert_near((double)result.attention[1], 0.75);
    assert_true(result.attention[2] == 0.0f && result.attention[3] == 0.0f);
    attnzoo_state_destroy(loaded);
    finish(&test, &result);
}

/* Heads on row 0: the read one, and as many that write. Each erases all and adds its own. */
static void plan_writing(struct introspective_case *test, int64_t writes, const char *read)
{
    plan_still(test, (struct introspective_sizes){1, 1, 2, 2, 1, writes, 0, 1});
    test->read = read;
    for (int64_t i = 0; i < 4; i++)
        test->value.values[i] = 0.1 * (double)(i + 1);
    for (int64_t i = 0; i < 4; i++)
        test->value.values[i] = (double)(float)test->value.values[i];
    for (int64_t i = 0; i < writes * 2; i++) {
        test->biases[REFERENCE_ERASE].values[i] = FIRM;
        test->biases[REFERENCE_ADD].values[i] = (double)(1 << i);
    }
}

static void erasing_all_and_adding_replaces_the_row(void **state)
{
    (void)state;
    for (int64_t writes = 1; writes <= 2; writes++) {
        struct introspective_case test;
        float memory[4], weights[6];
        attnzoo_state *held = NULL;
        plan_writing(&test, writes, NULL);
        introspective_case_prepare(&test);
        struct introspective_result result = introspective_result_create(&test);
        assert_ok(attnzoo_state_create(&held, test.module, 1, 2));
        assert_ok(introspective_case_run(&test, NULL, 0, 1, true, held, &result));
        introspective_case_fields(&test, held, memory, weights);
        /* All erase before any adds: with two, 1 + 4 and 2 + 8. */
        const float wanted[] = {writes == 1 ? 1.0f : 5.0f, writes == 1 ? 2.0f : 10.0f, 0.3f, 0.4f};
        assert_memory_equal(memory, wanted, sizeof wanted);
        /* The read comes after the write. */
        assert_memory_equal(result.context, wanted, 2 * sizeof(float));
        attnzoo_state_destroy(held);
        finish(&test, &result);
    }
}

static void read_before_shows_what_was_there(void **state)
{
    (void)state;
    struct introspective_case test;
    plan_writing(&test, 1, "before");
    struct introspective_result result = run(&test);
    assert_true(result.context[0] == 0.1f && result.context[1] == 0.2f);
    finish(&test, &result);
}

static void a_key_of_zeros_or_a_memory_of_zeros_is_like_nothing_more_than_another(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct introspective_case test;
        plan_still(&test, (struct introspective_sizes){1, 1, 4, 4, 1, 0, 0, 1});
        test.biases[REFERENCE_GATE].values[0] = FIRM;
        test.biases[REFERENCE_STRENGTH].values[0] = FIRM;
        if (way == 0)
            fill_with_units(&test);
        else
            test.biases[REFERENCE_KEY].values[1] = 1.0;
        struct introspective_result result = run(&test);
        for (int i = 0; i < 4; i++)
            assert_true(result.attention[i] == 0.25f);
        finish(&test, &result);
    }
}

/* Cosines do not depend on how long rows and keys are, as far as floats go. */
static void lengths_at_the_ends_of_the_range_do_not_matter(void **state)
{
    (void)state;
    static const double factors[] = {1.0, 0x1p-70, 0x1p70, 0x1p-120, 0x1p120, 0x1p126};
    double first[12] = {0};
    for (int i = 0; i < 6 * 6; i++) {
        struct introspective_case test;
        struct random_source source = {5};
        plan_still(&test, (struct introspective_sizes){1, 1, 12, 6, 1, 0, 0, 1});
        test.biases[REFERENCE_GATE].values[0] = FIRM;
        test.biases[REFERENCE_STRENGTH].values[0] = inverse_softplus(3.0);
        for (int64_t k = 0; k < test.value.count; k++)
            test.value.values[k] = (double)(float)random_real(&source, -1.0, 1.0) * factors[i % 6];
        for (int64_t k = 0; k < 6; k++)
            test.biases[REFERENCE_KEY].values[k] = (double)(float)random_real(&source, -1.0, 1.0) * factors[i / 6];
        struct introspective_result result = run(&test);
        for (int row = 0; row < 12; row++) {
            if (i == 0)
                first[row] = (double)result.attention[row];
            assert_near((double)result.attention[row], first[row]);
        }
        finish(&test, &result);
    }
}

static void the_strongest_keys_and_hardest_sharpening_give_numbers(void **state)
{
    (void)state;
    static const double strengths[] = {0.0, 1e5, 1e30, 3e38};
    for (int i = 0; i < 16; i++) {
        struct introspective_case test;
        struct random_source source = {6};
        plan_still(&test, (struct introspective_sizes){1, 3, 40, 3, 2, 2, 1, 1});
        for (int64_t head = 0; head < 4; head++) {
            test.biases[REFERENCE_GATE].values[head] = 0.0;
            test.biases[REFERENCE_STRENGTH].values[head] = strengths[i % 4];
            test.biases[REFERENCE_SHARPENING].values[head] = strengths[i / 4];
        }
        test_tensor_fill(&test.value, &source, -1.0, 1.0);
        test_tensor_fill(&test.biases[REFERENCE_KEY], &source, -1.0, 1.0);
        struct introspective_result result = run(&test);
        for (int64_t row = 0; row < 12; row++) {
            double sum = 0.0;
            for (int64_t k = 0; k < 40; k++)
                sum += (double)result.attention[row * 40 + k];
            assert_near(sum, 1.0);
        }
        finish(&test, &result);
    }
}

/* With nothing before and a gate that lets no content through there is nothing to divide by. */
static void a_weighting_of_zeros_stays_one(void **state)
{
    (void)state;
    struct introspective_case test;
    plan_still(&test, (struct introspective_sizes){1, 3, 4, 4, 1, 1, 1, 1});
    fill_with_units(&test);
    test.initial = "zeros";
    struct introspective_result result = run(&test);
    for (int i = 0; i < 3 * 4 * 2; i++)
        assert_true(result.attention[i] == 0.0f);
    for (int i = 0; i < 3 * 4; i++)
        assert_true(result.context[i] == 0.0f);
    finish(&test, &result);
}

/* A head that moves on while it writes, and one that waits and then follows it: what goes in comes out. */
static void a_sequence_is_copied(void **state)
{
    (void)state;
    enum { ITEMS = 4, COLUMNS = 3, STEPS = 2 * ITEMS, FEATURES = 2 + COLUMNS, ROWS = ITEMS + 1 };
    struct introspective_case test;
    struct random_source source = {7};
    introspective_case_plan(&test, (struct introspective_sizes){1, STEPS, ROWS, COLUMNS, 1, 1, 1, FEATURES});
    introspective_case_allocate(&test);
    double *shifts = test.weights[REFERENCE_SHIFT].values;
    for (int64_t head = 0; head < 2; head++) {
        test.biases[REFERENCE_GATE].values[head] = -FIRM;
        test.biases[REFERENCE_SHARPENING].values[head] = -FIRM;
    }
    shifts[1 * FEATURES + 0] = FIRM; /* the read head stays while there is input, */
    shifts[2 * FEATURES + 1] = FIRM; /* and moves on when it is asked for; */
    shifts[5 * FEATURES + 0] = FIRM; /* the write head moves on with the input, */
    shifts[4 * FEATURES + 1] = FIRM; /* and then stays. */
    for (int64_t c = 0; c < COLUMNS; c++) {
        test.weights[REFERENCE_ERASE].values[c * FEATURES + 0] = FIRM;
        test.weights[REFERENCE_ERASE].values[c * FEATURES + 1] = -FIRM;
        test.weights[REFERENCE_ADD].values[c * FEATURES + 2 + c] = 1.0;
    }
    test_tensor_fill(&test.value, &source, -1.0, 1.0);
    test_tensor_fill(&test.query, &source, -1.0, 1.0);
    for (int64_t step = 0; step < STEPS; step++) {
        double *query = test.query.values + step * FEATURES;
        query[0] = step < ITEMS ? 1.0 : 0.0;
        query[1] = 1.0 - query[0];
        for (int64_t c = 0; c < COLUMNS && step >= ITEMS; c++)
            query[2 + c] = 0.0;
    }
    struct introspective_result result = run(&test);
    for (int64_t item = 0; item < ITEMS; item++)
        for (int64_t c = 0; c < COLUMNS; c++)
            assert_true((double)result.context[(ITEMS + item) * COLUMNS + c] ==
                        test.query.values[item * FEATURES + 2 + c]);
    finish(&test, &result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strong_key_finds_its_row),
        cmocka_unit_test(a_mild_key_weighs_by_the_cosine),
        cmocka_unit_test(a_shift_goes_around_the_circle),
        cmocka_unit_test(shifts_past_the_circle_add_up),
        cmocka_unit_test(sharpening_raises_to_a_power),
        cmocka_unit_test(sharpening_of_small_weights_does_not_underflow),
        cmocka_unit_test(a_shorter_length_takes_weights_away),
        cmocka_unit_test(erasing_all_and_adding_replaces_the_row),
        cmocka_unit_test(read_before_shows_what_was_there),
        cmocka_unit_test(a_key_of_zeros_or_a_memory_of_zeros_is_like_nothing_more_than_another),
        cmocka_unit_test(lengths_at_the_ends_of_the_range_do_not_matter),
        cmocka_unit_test(the_strongest_keys_and_hardest_sharpening_give_numbers),
        cmocka_unit_test(a_weighting_of_zeros_stays_one),
        cmocka_unit_test(a_sequence_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
