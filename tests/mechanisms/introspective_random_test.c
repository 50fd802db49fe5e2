/*
 * tests/mechanisms/introspective_random_test.c: introspective against the reference, step by step: each step is checked
 * from the library's own memory and weightings before it (reference/introspective.h says why). And all steps in one call,
 * or in two, with and without a state, in any layout, by any number of threads, must be the same to the bit as one by one.
 */
#include "introspective_case.h"

#include "random_case.h"
#include "support/element.h"
#include "support/executors.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double worst[3];

/* Numbers compared, and those of them whose bounds are so small that they say something of weights between 0 and 1. */
static int64_t compared, close;
static const double SMALL_BOUND = 1e-4;

static void compare(const char *what, int kind, const float *got, const struct reference_bounded *wanted, int64_t count,
                    uint64_t seed, int64_t step)
{
    for (int64_t i = 0; i < count; i++) {
        double error = fabs((double)got[i] - wanted->value[i]);
        if (!(error <= wanted->bound[i]))
            fail_msg("seed %" PRIu64 ", step %" PRId64 ": number %" PRId64 " of %s is %.9g, not %.9g within %.3g", seed,
                     step, i, what, (double)got[i], wanted->value[i], wanted->bound[i]);
        compared++;
        close += wanted->bound[i] <= SMALL_BOUND;
        if (error > 0.0)
            worst[kind] = fmax(worst[kind], error / wanted->bound[i]);
    }
}

static void widen(double *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

/* What the library holds: [B, M, C] and [B, R + W, M]. */
struct held {
    float *memory, *weights;
};

static struct held held_create(const struct introspective_sizes *sizes)
{
    int64_t heads = sizes->reads + sizes->writes;
    struct held held = {calloc((size_t)(sizes->batch * sizes->rows * sizes->columns) + 1, sizeof(float)),
                        calloc((size_t)(sizes->batch * heads * sizes->rows) + 1, sizeof(float))};
    assert_true(held.memory != NULL && held.weights != NULL);
    return held;
}

static void held_destroy(struct held *held)
{
    free(held->memory);
    free(held->weights);
}

/* What the state should hold before the first step. */
static void start(const struct introspective_case *test, struct held *held)
{
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t heads = sizes->reads + sizes->writes, size = sizes->rows * sizes->columns;
    for (int64_t batch = 0; batch < sizes->batch; batch++) {
        int64_t length = test->row_lengths != NULL ? test->row_lengths[batch] : sizes->rows;
        for (int64_t i = 0; i < length * sizes->columns; i++)
            held->memory[batch * size + i] = (float)test->value.values[batch * size + i];
        for (int64_t head = 0; head < heads; head++)
            for (int64_t row = 0; row < length; row++) {
                float *weight = &held->weights[(batch * heads + head) * sizes->rows + row];
                if (test->initial != NULL && strcmp(test->initial, "uniform") == 0)
                    *weight = (float)(1.0 / (double)length);
                else if (test->initial == NULL || strcmp(test->initial, "first") == 0)
                    *weight = row == 0 ? 1.0f : 0.0f;
            }
    }
}

static struct reference_introspective reference_of(const struct introspective_case *test)
{
    const struct introspective_sizes *sizes = &test->sizes;
    struct reference_introspective problem = {.reads = sizes->reads,
                                              .writes = sizes->writes,
                                              .rows = sizes->rows,
                                              .columns = sizes->columns,
                                              .shifts = 2 * sizes->reach + 1,
                                              .reads_before_write =
                                                  test->read != NULL && strcmp(test->read, "before") == 0};
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++)
        if (test->weights[signal].rank > 0)
            problem.layers[signal] = (struct reference_layer){
                test->weights[signal].values, test->biases[signal].rank > 0 ? test->biases[signal].values : NULL,
                sizes->features, test->weights[signal].shape[0]};
    return problem;
}

static void assert_zeros(const float *numbers, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        assert_true(numbers[i] == 0.0f);
}

/* One batch's part of a step, from what was held before it to what is held after. */
static void check_step(const struct introspective_case *test, int64_t batch, int64_t step, const struct held *before,
                       const struct held *after, const struct introspective_result *result, uint64_t seed)
{
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t heads = sizes->reads + sizes->writes, size = sizes->rows * sizes->columns, rows = sizes->rows;
    int64_t width = sizes->reads * sizes->columns;
    const float *context = result->context + (batch * sizes->steps + step) * width;
    const float *attention = result->attention + (batch * heads * sizes->steps + step) * rows;
    if (test->step_lengths != NULL && step >= test->step_lengths[batch]) {
        assert_memory_equal(before->memory + batch * size, after->memory + batch * size, (size_t)size * sizeof(float));
        assert_memory_equal(before->weights + batch * heads * rows, after->weights + batch * heads * rows,
                            (size_t)(heads * rows) * sizeof(float));
        assert_zeros(context, width);
        for (int64_t head = 0; head < heads; head++)
            assert_zeros(attention + head * sizes->steps * rows, rows);
        return;
    }
    const struct reference_introspective problem = reference_of(test);
    double *memory = calloc((size_t)size + 1, sizeof *memory);
    double *weights = calloc((size_t)(heads * rows) + 1, sizeof *weights);
    assert_true(memory != NULL && weights != NULL);
    widen(memory, before->memory + batch * size, size);
    widen(weights, before->weights + batch * heads * rows, heads * rows);
    struct reference_step wanted =
        reference_introspective_step(&problem, test->query.values + (batch * sizes->steps + step) * sizes->features,
                                     test->row_lengths != NULL ? test->row_lengths[batch] : rows, memory, weights);
    compare("weights", 0, after->weights + batch * heads * rows, &wanted.weights, heads * rows, seed, step);
    /* Where nothing is read or compared there are no rows: those beyond a length are zeros in both. */
    compare("memory", 1, after->memory + batch * size, &wanted.memory, size, seed, step);
    compare("context", 2, context, &wanted.read, width, seed, step);
    for (int64_t head = 0; head < heads; head++)
        assert_memory_equal(attention + head * sizes->steps * rows, after->weights + (batch * heads + head) * rows,
                            (size_t)rows * sizeof(float));
    reference_step_destroy(&wanted);
    free(memory);
    free(weights);
}

static void check_steps(const struct introspective_case *test, attnzoo_executor *executor, attnzoo_state *state,
                        struct introspective_result *result, uint64_t seed)
{
    struct held before = held_create(&test->sizes), after = held_create(&test->sizes);
    start(test, &before);
    for (int64_t step = 0; step < test->sizes.steps; step++) {
        assert_ok(introspective_case_run(test, executor, step, 1, step == 0, state, result));
        introspective_case_fields(test, state, after.memory, after.weights);
        for (int64_t batch = 0; batch < test->sizes.batch; batch++)
            check_step(test, batch, step, &before, &after, result, seed);
        struct held kept = before;
        before = after;
        after = kept;
    }
    held_destroy(&before);
    held_destroy(&after);
}

static void assert_same(const struct introspective_case *test, const struct introspective_result *left,
                        const struct introspective_result *right)
{
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t steps = sizes->batch * sizes->steps;
    assert_memory_equal(left->context, right->context, (size_t)(steps * sizes->reads * sizes->columns) * sizeof(float));
    assert_memory_equal(left->attention, right->attention,
                        (size_t)(steps * (sizes->reads + sizes->writes) * sizes->rows) * sizeof(float));
}

static void assert_same_states(const struct introspective_case *test, attnzoo_state *left, attnzoo_state *right)
{
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t heads = sizes->reads + sizes->writes;
    struct held of_left = held_create(sizes), of_right = held_create(sizes);
    introspective_case_fields(test, left, of_left.memory, of_left.weights);
    introspective_case_fields(test, right, of_right.memory, of_right.weights);
    assert_memory_equal(of_left.memory, of_right.memory,
                        (size_t)(sizes->batch * sizes->rows * sizes->columns) * sizeof(float));
    assert_memory_equal(of_left.weights, of_right.weights,
                        (size_t)(sizes->batch * heads * sizes->rows) * sizeof(float));
    held_destroy(&of_left);
    held_destroy(&of_right);
}

/* All steps in one call without a state, and in two with one: a value that is given again is not read. */
static void check_other_ways(const struct introspective_case *test, struct executors *executors, attnzoo_state *stepped,
                             const struct introspective_result *by_step, struct random_source *source)
{
    const struct introspective_sizes *sizes = &test->sizes;
    struct introspective_result result = introspective_result_create(test);
    attnzoo_state *state = NULL;
    int64_t first = random_between(source, 0, sizes->steps);
    for (int i = 0; i < EXECUTOR_COUNT; i++) {
        assert_ok(introspective_case_run(test, executors->by_thread_count[i], 0, sizes->steps, true, NULL, &result));
        assert_same(test, by_step, &result);
    }
    assert_ok(attnzoo_state_create(&state, test->module, sizes->batch, sizes->rows + random_between(source, 0, 5)));
    assert_ok(introspective_case_run(test, executors->by_thread_count[1], 0, first, true, state, &result));
    assert_ok(
        introspective_case_run(test, executors->by_thread_count[2], first, sizes->steps - first, true, state, &result));
    assert_same(test, by_step, &result);
    if (sizes->steps > 0 && sizes->batch > 0 && sizes->rows > 0)
        assert_same_states(test, stepped, state);
    attnzoo_state_destroy(state);
    introspective_result_destroy(&result);
}

/* Outputs of any type and layout hold the same numbers, rounded. */
static void check_layouts(const struct introspective_case *test, attnzoo_executor *executor,
                          const struct introspective_result *by_step, struct random_source *source)
{
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t heads = sizes->reads + sizes->writes;
    struct test_tensor context = test_tensor_plan(
        ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){sizes->batch, sizes->steps, sizes->reads * sizes->columns});
    struct test_tensor attention =
        test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 4, (int64_t[]){sizes->batch, heads, sizes->steps, sizes->rows});
    attnzoo_mask *mask = NULL;
    if (test->row_lengths != NULL || test->step_lengths != NULL)
        return;
    random_plan_output(&context, source, random_float_type(source), 2);
    random_plan_output(&attention, source, random_float_type(source), 2);
    test_tensor_allocate(&context);
    test_tensor_allocate(&attention);
    assert_ok(attnzoo_module_forward(test->module, executor, test->query.view, NULL, test->value.view, mask, NULL,
                                     context.view, attention.view));
    test_tensor_load(&context);
    test_tensor_load(&attention);
    for (int64_t i = 0; i < context.count; i++)
        assert_true(context.values[i] == element_rounded(context.dtype, (double)by_step->context[i]));
    for (int64_t i = 0; i < attention.count; i++)
        assert_true(attention.values[i] == element_rounded(attention.dtype, (double)by_step->attention[i]));
    assert_true(test_tensor_gaps_are_untouched(&context) && test_tensor_gaps_are_untouched(&attention));
    test_tensor_destroy(&context);
    test_tensor_destroy(&attention);
}

static int64_t *draw_lengths(struct random_source *source, int64_t batch, int64_t highest)
{
    int64_t *lengths = calloc((size_t)batch + 1, sizeof *lengths);
    assert_non_null(lengths);
    for (int64_t i = 0; i < batch; i++)
        lengths[i] = random_between(source, 0, highest);
    return lengths;
}

/* What lies behind a length is nothing that may be read. */
static void poison_hidden(struct introspective_case *test)
{
    const struct introspective_sizes *sizes = &test->sizes;
    for (int64_t batch = 0; batch < sizes->batch && test->row_lengths != NULL; batch++)
        for (int64_t i = test->row_lengths[batch] * sizes->columns; i < sizes->rows * sizes->columns; i++)
            test->value.values[batch * sizes->rows * sizes->columns + i] = (double)NAN;
    for (int64_t batch = 0; batch < sizes->batch && test->step_lengths != NULL; batch++)
        for (int64_t i = test->step_lengths[batch] * sizes->features; i < sizes->steps * sizes->features; i++)
            test->query.values[batch * sizes->steps * sizes->features + i] = (double)NAN;
}

static struct introspective_sizes draw_sizes(struct random_source *source)
{
    struct introspective_sizes sizes = {.batch = random_between(source, 1, 3),
                                        .steps = random_between(source, 0, 6),
                                        .rows = random_between(source, 1, 20),
                                        .columns = random_between(source, 1, 20),
                                        .reads = random_between(source, 1, 3),
                                        .writes = random_between(source, 0, 3),
                                        .reach = random_between(source, 0, 3),
                                        .features = random_between(source, 1, 12)};
    if (random_chance(source, 0.1))
        sizes.rows = random_between(source, 240, 600);
    if (random_chance(source, 0.1))
        sizes.columns = random_between(source, 30, 140);
    if (random_chance(source, 0.05))
        sizes.rows = 0;
    if (random_chance(source, 0.05))
        sizes.batch = 0;
    if (random_chance(source, 0.05))
        sizes.features = 0;
    return sizes;
}

/* Strengths and sharpenings from mild to as good as hard, gates and shifts from mixed to one-sided. */
static void fill(struct introspective_case *test, struct random_source *source)
{
    static const double offsets[] = {0.0, 0.0, 4.0, 20.0, 300.0};
    test_tensor_fill(&test->query, source, -1.0, 1.0);
    test_tensor_fill(&test->value, source, -1.0, 1.0);
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++) {
        double offset = 0.0;
        if (signal == REFERENCE_STRENGTH || signal == REFERENCE_SHARPENING)
            offset = offsets[random_between(source, 0, 4)];
        double spread = random_chance(source, 0.2) ? 8.0 : 1.0;
        test_tensor_fill(&test->weights[signal], source, -1.0, 1.0);
        test_tensor_fill(&test->biases[signal], source, offset - spread, offset + spread);
    }
    for (int64_t i = 0; i < test->value.count && random_chance(source, 0.3); i++)
        test->value.values[i] = 0.0;
    test_tensor_make_repeats_equal(&test->value);
}

static void check_case(uint64_t seed, struct introspective_sizes sizes, struct executors *executors)
{
    static const char *const initials[] = {NULL, "first", "uniform", "zeros"}, *const reads[] = {NULL, "after",
                                                                                                 "before"};
    struct random_source source = {seed};
    struct introspective_case test;
    attnzoo_state *state = NULL;
    introspective_case_plan(&test, sizes);
    test.initial = initials[random_between(&source, 0, 3)];
    test.read = reads[random_between(&source, 0, 2)];
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++)
        if (random_chance(&source, 0.1))
            test.biases[signal].rank = 0;
    if (random_chance(&source, 0.3))
        test.row_lengths = draw_lengths(&source, test.sizes.batch, test.sizes.rows);
    if (random_chance(&source, 0.3))
        test.step_lengths = draw_lengths(&source, test.sizes.batch, test.sizes.steps);
    bool is_hiding = test.row_lengths != NULL || test.step_lengths != NULL;
    test.query.dtype = random_float_type(&source);
    test.value.dtype = random_float_type(&source);
    test_tensor_plan_any_layout(&test.query, &source, 3, !is_hiding);
    test_tensor_plan_any_layout(&test.value, &source, 2, !is_hiding);
    introspective_case_allocate(&test);
    fill(&test, &source);
    poison_hidden(&test);
    introspective_case_prepare(&test);
    struct introspective_result by_step = introspective_result_create(&test);
    assert_ok(attnzoo_state_create(&state, test.module, test.sizes.batch, test.sizes.rows));
    if (test.sizes.batch > 0 && test.sizes.rows > 0)
        check_steps(&test, executors->by_thread_count[random_between(&source, 0, EXECUTOR_COUNT - 1)], state, &by_step,
                    seed);
    check_other_ways(&test, executors, state, &by_step, &source);
    check_layouts(&test, executors->by_thread_count[2], &by_step, &source);
    attnzoo_state_destroy(state);
    introspective_result_destroy(&by_step);
    introspective_case_destroy(&test);
}

static void random_cases_agree_with_the_reference(void **state)
{
    uint64_t count = number_from_environment("ATTNZOO_TEST_CASES", 600);
    uint64_t first = number_from_environment("ATTNZOO_TEST_SEED", 1);
    for (uint64_t i = 0; i < count; i++) {
        struct random_source source = {first + i + (UINT64_C(1) << 32)};
        check_case(first + i, draw_sizes(&source), *state);
    }
    print_message("%" PRId64 " numbers compared, %.1f %% of them to within %g\n", compared,
                  100.0 * (double)close / (double)compared, SMALL_BOUND);
    assert_true((double)close >= 0.9 * (double)compared);
    print_message("worst error over its bound: weights %.3g, memory %.3g, context %.3g\n", worst[0], worst[1],
                  worst[2]);
}

/* Memories so large that threads share each step, and small ones in batches that they share. */
static void threads_share_steps_and_batches(void **state)
{
    check_case(1, (struct introspective_sizes){1, 4, 6000, 40, 2, 2, 2, 7}, *state);
    check_case(2, (struct introspective_sizes){2, 3, 3001, 96, 1, 1, 1, 5}, *state);
    check_case(3, (struct introspective_sizes){9, 5, 300, 33, 3, 1, 1, 8}, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_cases_agree_with_the_reference),
                                       cmocka_unit_test(threads_share_steps_and_batches)};
    return cmocka_run_group_tests(tests, executors_create, executors_destroy);
}
