/*
 * tests/core/merge_test.c: merging of partial contexts: against the formula, against one call over all keys, in place,
 * with parts that saw nothing, and its errors.
 */
#include "reference/rounding.h"
#include "support/attention_case.h"
#include "support/element.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>

struct merge_case {
    struct test_tensor context_a, log_a, context_b, log_b, context, log;
};

static void plan(struct merge_case *test, struct random_source *source)
{
    const int64_t shape[] = {random_between(source, 1, 2), random_between(source, 1, 3), random_between(source, 0, 9),
                             random_between(source, 0, 70)};
    struct test_tensor *contexts[] = {&test->context_a, &test->context_b, &test->context};
    struct test_tensor *logs[] = {&test->log_a, &test->log_b, &test->log};
    for (int i = 0; i < 3; i++) {
        const int32_t dtype = (int32_t)random_between(source, ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_BFLOAT16);
        *contexts[i] = test_tensor_plan(dtype, 4, shape);
        *logs[i] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, shape);
        test_tensor_plan_any_layout(contexts[i], source, 4, i < 2);
        test_tensor_plan_any_layout(logs[i], source, 3, i < 2);
        test_tensor_allocate(contexts[i]);
        test_tensor_allocate(logs[i]);
        test_tensor_fill(contexts[i], source, -2.0, 2.0);
        test_tensor_fill(logs[i], source, -30.0, 30.0);
        for (int64_t k = 0; k < logs[i]->count && i < 2; k++)
            if (random_chance(source, 0.15))
                logs[i]->values[k] = -INFINITY;
        test_tensor_store(contexts[i]);
        test_tensor_store(logs[i]);
        test_tensor_load(contexts[i]);
        test_tensor_load(logs[i]);
    }
    test_tensor_poison(&test->context);
    test_tensor_poison(&test->log);
}

static void destroy(struct merge_case *test)
{
    struct test_tensor *tensors[] = {&test->context_a, &test->log_a,   &test->context_b,
                                     &test->log_b,     &test->context, &test->log};
    for (int i = 0; i < 6; i++)
        test_tensor_destroy(tensors[i]);
}

/* The formula in double. The weights exp(La - L) stray by what the difference of the logs rounds to, exp and its sum by
 * a few units each: 12 u and u |La - Lb|; products, their sum and the quotient by gamma(4). */
static double merged(double context_a, double log_a, double context_b, double log_b, double *bound)
{
    double highest = fmax(log_a, log_b);
    *bound = 0.0;
    if (highest == -INFINITY)
        return 0.0;
    double weight_a = exp(log_a - highest);
    double weight_b = exp(log_b - highest);
    double part_a = weight_a > 0.0 ? weight_a / (weight_a + weight_b) * context_a : 0.0;
    double part_b = weight_b > 0.0 ? weight_b / (weight_a + weight_b) * context_b : 0.0;
    double distance = fmin(fabs(log_a - log_b), 110.0);
    *bound = rounding_gamma(16.0 + distance) * (fabs(part_a) + fabs(part_b)) +
             0x1p-126 * (fabs(context_a) + fabs(context_b));
    return part_a + part_b;
}

static void assert_close(double got, double expected, double bound, uint64_t seed)
{
    if (!(got == expected || fabs(got - expected) <= bound))
        fail_msg("seed %" PRIu64 ": got %.9g, expected %.9g within %g", seed, got, expected, bound);
}

static void check_merge(struct merge_case *test, bool wants_log, uint64_t seed)
{
    int64_t width = test->context.shape[3];
    test_tensor_load(&test->context);
    test_tensor_load(&test->log);
    for (int64_t i = 0; i < test->context.count; i++) {
        double bound;
        double expected = merged(test->context_a.values[i], test->log_a.values[i / width], test->context_b.values[i],
                                 test->log_b.values[i / width], &bound);
        bound += bound > 0.0 ? element_rounding(test->context.dtype, fabs(expected) + bound) : 0.0;
        assert_close(test->context.values[i], expected, bound, seed);
    }
    for (int64_t i = 0; i < test->log.count && wants_log; i++) {
        double a = test->log_a.values[i], b = test->log_b.values[i];
        double highest = fmax(a, b);
        double expected = highest == -INFINITY ? -INFINITY : highest + log(exp(a - highest) + exp(b - highest));
        assert_close(test->log.values[i], expected, rounding_gamma(12.0) * (fabs(highest) + 1.0), seed);
    }
    assert_true(test_tensor_gaps_are_untouched(&test->context));
    assert_true(wants_log ? test_tensor_gaps_are_untouched(&test->log) : test_tensor_is_untouched(&test->log));
}

static void random_parts_agree_with_the_formula(void **state)
{
    (void)state;
    uint64_t first = number_from_environment("ATTNZOO_TEST_SEED", 1);
    uint64_t count = number_from_environment("ATTNZOO_TEST_CASES", 1000);
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct random_source source = {seed};
        struct merge_case test;
        plan(&test, &source);
        bool wants_log = random_chance(&source, 0.7);
        assert_ok(attnzoo_merge_contexts(test.context_a.view, test.log_a.view, test.context_b.view, test.log_b.view,
                                         test.context.view, wants_log ? test.log.view : NULL));
        check_merge(&test, wants_log, seed);
        destroy(&test);
    }
}

/* Rows that saw nothing may hold anything: it must not come through. */
static void contexts_of_empty_parts_count_for_nothing(void **state)
{
    (void)state;
    float a[] = {NAN, INFINITY, 3.0f, NAN}, la[] = {-INFINITY, -INFINITY, 1.0f, -INFINITY};
    float b[] = {1.5f, 2.5f, NAN, -INFINITY}, lb[] = {0.5f, -7.0f, -INFINITY, -INFINITY};
    float out[4], lout[4];
    const float expected[] = {1.5f, 2.5f, 3.0f, 0.0f}, expected_log[] = {0.5f, -7.0f, 1.0f, -INFINITY};
    attnzoo_tensor *views[6];
    float *data[] = {a, la, b, lb, out, lout};
    for (int i = 0; i < 6; i++)
        assert_ok(attnzoo_tensor_create(&views[i], data[i], ATTNZOO_DTYPE_FLOAT32, i % 2 == 0 ? 2 : 1,
                                        (int64_t[]){4, 1}, NULL));
    assert_ok(attnzoo_merge_contexts(views[0], views[1], views[2], views[3], views[4], views[5]));
    for (int i = 0; i < 4; i++) {
        assert_true(out[i] == expected[i]);
        assert_true(lout[i] == expected_log[i]);
    }
    for (int i = 0; i < 6; i++)
        attnzoo_tensor_destroy(views[i]);
}

/* Attention over the keys from ... to of a case's query, key and value. */
static void run_part(const struct attention_case *whole, struct attention_case *part, int64_t from, int64_t to)
{
    struct attention_sizes sizes = whole->sizes;
    sizes.keys = to - from;
    attention_case_plan(part, sizes);
    attention_case_allocate(part);
    for (int64_t i = 0; i < part->query.count; i++)
        part->query.values[i] = whole->query.values[i];
    int64_t heads = sizes.batch * sizes.key_heads;
    for (int64_t h = 0; h < heads; h++) {
        for (int64_t i = 0; i < sizes.keys * sizes.head_size; i++)
            part->key.values[h * sizes.keys * sizes.head_size + i] =
                whole->key.values[(h * whole->sizes.keys + from) * sizes.head_size + i];
        for (int64_t i = 0; i < sizes.keys * sizes.value_size; i++)
            part->value.values[h * sizes.keys * sizes.value_size + i] =
                whole->value.values[(h * whole->sizes.keys + from) * sizes.value_size + i];
    }
    assert_ok(attention_case_run(part, NULL));
}

/* Keys split in three parts, merged in place one after another. The bounds of a part's context and log-sum-exp hold for
 * the whole too, up to the merges' own few roundings: 1e-5 is well above them for scores below 10 and values below 2.
 */
static void keys_split_in_parts_give_the_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct random_source source = {seed};
        struct attention_case whole;
        int64_t keys = random_between(&source, 1, 300);
        attention_case_plan(&whole, (struct attention_sizes){2, 4, 2, random_between(&source, 1, 70), keys, 16, 12});
        attention_case_allocate(&whole);
        attention_case_fill(&whole, &source, 2.0);
        attention_case_check(&whole, NULL);
        int64_t first = random_between(&source, 0, keys);
        int64_t second = random_between(&source, first, keys);
        struct attention_case sum, part;
        run_part(&whole, &sum, 0, first);
        const int64_t ends[] = {first, second, keys};
        for (int i = 0; i < 2; i++) {
            run_part(&whole, &part, ends[i], ends[i + 1]);
            assert_ok(attnzoo_merge_contexts(sum.context.view, sum.log_sum_exp.view, part.context.view,
                                             part.log_sum_exp.view, sum.context.view, sum.log_sum_exp.view));
            attention_case_destroy(&part);
        }
        test_tensor_load(&sum.context);
        test_tensor_load(&sum.log_sum_exp);
        for (int64_t i = 0; i < whole.context.count; i++)
            assert_close(sum.context.values[i], whole.context.values[i], 1e-5, seed);
        for (int64_t i = 0; i < whole.log_sum_exp.count; i++)
            assert_close(sum.log_sum_exp.values[i], whole.log_sum_exp.values[i], 1e-5, seed);
        attention_case_destroy(&sum);
        attention_case_destroy(&whole);
    }
}

struct simple {
    float memory[6][32];
    attnzoo_tensor *views[6]; /* context a, log a, context b, log b, context, log */
};

static int set_up(void **state)
{
    static struct simple simple;
    for (int i = 0; i < 6; i++)
        assert_ok(attnzoo_tensor_create(&simple.views[i], simple.memory[i], ATTNZOO_DTYPE_FLOAT32, i % 2 == 0 ? 2 : 1,
                                        (int64_t[]){3, 4}, NULL));
    *state = &simple;
    return 0;
}

static int tear_down(void **state)
{
    struct simple *simple = *state;
    for (int i = 0; i < 6; i++)
        attnzoo_tensor_destroy(simple->views[i]);
    return 0;
}

static attnzoo_status merge(attnzoo_tensor *const *views)
{
    return attnzoo_merge_contexts(views[0], views[1], views[2], views[3], views[4], views[5]);
}

static void bad_arguments_are_refused(void **state)
{
    struct simple *simple = *state;
    for (int i = 0; i < 6; i++) {
        attnzoo_tensor *views[6];
        for (int k = 0; k < 6; k++)
            views[k] = k == i ? NULL : simple->views[k];
        assert_status(merge(views), i < 5 ? ATTNZOO_STATUS_INVALID_ARGUMENT : ATTNZOO_STATUS_OK);
        const int64_t shapes[][3] = {{3, 5, 1}, {2, 4, 1}, {3, 4, 1}};
        for (int wrong = 0; wrong < 3; wrong++) {
            int32_t rank = wrong == 2 ? 3 : i % 2 == 0 ? 2 : 1;
            if (wrong == 0 && i % 2 == 1)
                continue;
            assert_ok(attnzoo_tensor_assign(simple->views[i], simple->memory[i], ATTNZOO_DTYPE_FLOAT32, rank,
                                            shapes[wrong], NULL));
            assert_status(merge(simple->views), ATTNZOO_STATUS_SHAPE_MISMATCH);
        }
        int32_t dtype = i % 2 == 0 ? ATTNZOO_DTYPE_INT32 : ATTNZOO_DTYPE_FLOAT16;
        const int64_t right[] = {3, 4};
        assert_ok(attnzoo_tensor_assign(simple->views[i], simple->memory[i], dtype, i % 2 == 0 ? 2 : 1, right, NULL));
        assert_status(merge(simple->views), ATTNZOO_STATUS_DTYPE_MISMATCH);
        assert_ok(attnzoo_tensor_assign_readonly(simple->views[i], simple->memory[i], ATTNZOO_DTYPE_FLOAT32,
                                                 i % 2 == 0 ? 2 : 1, right, NULL));
        assert_status(merge(simple->views), i >= 4 ? ATTNZOO_STATUS_INVALID_ARGUMENT : ATTNZOO_STATUS_OK);
        assert_ok(attnzoo_tensor_set_data(simple->views[i], simple->memory[i]));
    }
    /* A context needs at least two axes. */
    for (int i = 0; i < 6; i += 2)
        assert_ok(
            attnzoo_tensor_assign(simple->views[i], simple->memory[i], ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){4}, NULL));
    assert_status(merge(simple->views), ATTNZOO_STATUS_SHAPE_MISMATCH);
}

static void overlaps_are_refused_but_for_the_very_views_of_a(void **state)
{
    struct simple *simple = *state;
    const int64_t shape[] = {3, 4};
    for (int output = 4; output < 6; output++)
        for (int other = 0; other < 6; other++) {
            if (other == output)
                continue;
            /* One element in. */
            assert_ok(attnzoo_tensor_set_data(simple->views[output], simple->memory[other] + 1));
            assert_status(merge(simple->views), ATTNZOO_STATUS_OVERLAP);
            assert_ok(attnzoo_tensor_set_data(simple->views[output], simple->memory[output]));
        }
    attnzoo_tensor *over_b[] = {simple->views[0], simple->views[1], simple->views[2],
                                simple->views[3], simple->views[2], simple->views[5]};
    assert_status(merge(over_b), ATTNZOO_STATUS_OVERLAP);
    over_b[4] = simple->views[4];
    over_b[5] = simple->views[3];
    assert_status(merge(over_b), ATTNZOO_STATUS_OVERLAP);
    attnzoo_tensor *in_place[] = {simple->views[0], simple->views[1], simple->views[2],
                                  simple->views[3], simple->views[0], simple->views[1]};
    assert_ok(merge(in_place));
    /* The same memory seen backwards is not the very view. */
    assert_ok(attnzoo_tensor_assign(simple->views[4], simple->memory[0] + 11, ATTNZOO_DTYPE_FLOAT32, 2, shape,
                                    (int64_t[]){-4, -1}));
    assert_status(merge(simple->views), ATTNZOO_STATUS_OVERLAP);
    assert_ok(
        attnzoo_tensor_assign(simple->views[4], simple->memory[4], ATTNZOO_DTYPE_FLOAT32, 2, shape, (int64_t[]){0, 1}));
    assert_status(merge(simple->views), ATTNZOO_STATUS_OVERLAP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_parts_agree_with_the_formula),
        cmocka_unit_test(contexts_of_empty_parts_count_for_nothing),
        cmocka_unit_test(keys_split_in_parts_give_the_whole),
        cmocka_unit_test_setup_teardown(bad_arguments_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overlaps_are_refused_but_for_the_very_views_of_a, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
