/*
 * tests/mechanisms/sameness_test.c: what must make no difference, in every mechanism: the number of threads, to the bit;
 * whether the attention was asked for; and, where distances play no part, the order of the keys.
 */
#include "support/multi_head_case.h"
#include "support/tanh_case.h"
#include "support/testing.h"
#include "support/zoo_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 5 };

static const int32_t THREAD_COUNTS[COUNTS] = {0, 1, 2, 3, 7}; /* 0: no executor */

static attnzoo_mask *make_mask(int way)
{
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_causal(mask, way == 1));
    assert_ok(attnzoo_mask_set_window(mask, way == 2 ? 100 : -1, way == 2 ? 50 : -1));
    return mask;
}

/* Many rows, few rows over many keys that are cut into chunks, and many small heads. */
static const struct zoo_sizes SHAPES[] = {{1, 4, 2, 150, 400, 24}, {1, 2, 1, 1, 6000, 16}, {5, 8, 8, 7, 40, 8}};

enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, WAYS = 3 };

static void p49_no_mechanism_depends_on_the_thread_count(void **state)
{
    (void)state;
    attnzoo_executor *executors[COUNTS] = {NULL};
    int compared = 0;
    for (int i = 1; i < COUNTS; i++)
        assert_ok(attnzoo_executor_create(&executors[i], THREAD_COUNTS[i]));
    for (int i = 0; i < ZOO_KINDS * SHAPE_COUNT * WAYS; i++) {
        struct zoo_case first, other;
        attnzoo_mask *mask = make_mask(i / (ZOO_KINDS * SHAPE_COUNT));
        zoo_case_create(&first, (enum zoo_kind)(i % ZOO_KINDS), SHAPES[i / ZOO_KINDS % SHAPE_COUNT], 41);
        zoo_case_share(&other, &first);
        assert_ok(zoo_case_forward(&first, first.module, NULL, mask, NULL));
        for (int count = 1; count < COUNTS; count++) {
            zoo_case_poison(&other);
            assert_ok(zoo_case_forward(&other, first.module, executors[count], mask, NULL));
            if (!zoo_case_same(&first, &other))
                fail_msg("%s, %d: %d threads give other bits", ZOO_NAMES[first.kind], i, (int)THREAD_COUNTS[count]);
            compared++;
        }
        zoo_case_destroy_outputs(&other);
        zoo_case_destroy(&first);
        attnzoo_mask_destroy(mask);
    }
    for (int i = 1; i < COUNTS; i++)
        attnzoo_executor_destroy(executors[i]);
    print_message("%d calls compared to the bit\n", compared);
}

/* The attention is made of finished sums, after the context: it changes no bit of it. */
static void p16_the_context_is_the_same_without_the_attention(void **state)
{
    (void)state;
    for (int i = 0; i < ZOO_KINDS * SHAPE_COUNT * WAYS; i++) {
        struct zoo_case with, without;
        attnzoo_mask *mask = make_mask(i / (ZOO_KINDS * SHAPE_COUNT));
        zoo_case_create(&with, (enum zoo_kind)(i % ZOO_KINDS), SHAPES[i / ZOO_KINDS % SHAPE_COUNT], 42);
        zoo_case_share(&without, &with);
        zoo_array_destroy(&without.outputs[ATTNZOO_OUTPUT_ATTENTION]);
        assert_ok(zoo_case_forward(&with, with.module, NULL, mask, NULL));
        assert_ok(zoo_case_forward(&without, with.module, NULL, mask, NULL));
        if (!zoo_case_same(&with, &without))
            fail_msg("%s, %d: the attention changes the context", ZOO_NAMES[with.kind], i);
        zoo_case_destroy_outputs(&without);
        zoo_case_destroy(&with);
        attnzoo_mask_destroy(mask);
    }
}

enum { KEYS = 301 };

/* Puts element order[i] of each run along an axis in place i, or, backwards, element i in place order[i]. */
static void permute(struct test_tensor *tensor, int32_t axis, const int64_t *order, bool is_backwards)
{
    if (tensor->rank == 0 || tensor->shape[axis] == 1)
        return;
    int64_t behind = 1, size = tensor->shape[axis];
    for (int32_t i = axis + 1; i < tensor->rank; i++)
        behind *= tensor->shape[i];
    double *before = malloc((size_t)tensor->count * sizeof *before);
    assert_non_null(before);
    memcpy(before, tensor->values, (size_t)tensor->count * sizeof *before);
    for (int64_t i = 0; i < tensor->count; i++) {
        int64_t place = i / behind % size;
        int64_t other = i + (order[place] - place) * behind;
        tensor->values[is_backwards ? other : i] = before[is_backwards ? i : other];
    }
    free(before);
}

static void permute_call(struct attention_case *call, const int64_t *order, bool is_backwards)
{
    permute(&call->key, call->key.rank - 2, order, is_backwards);
    permute(&call->value, call->value.rank - 2, order, is_backwards);
    permute(&call->boolean, 3, order, is_backwards);
    permute(&call->bias, 3, order, is_backwards);
    if (is_backwards)
        permute(&call->attention, call->attention.rank - 1, order, true);
}

static void draw_order(int64_t order[KEYS], uint64_t seed)
{
    struct random_source source = {seed};
    for (int64_t i = 0; i < KEYS; i++)
        order[i] = i;
    for (int64_t i = KEYS - 1; i > 0; i--) {
        int64_t other = random_between(&source, 0, i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static void plan_masks(struct attention_case *call, int64_t heads)
{
    attention_case_plan_boolean(call, 1, 1, 6, KEYS);
    attention_case_plan_bias(call, 1, heads, 6, KEYS);
}

/* What the library gives for keys in another order must lie within the bounds of the reference for the first order: those
 * hold for sums in any order (reference/rounding.h). */
static void the_order_of_keys_makes_no_difference_in_scaled_dot_product(void **state)
{
    (void)state;
    int64_t order[KEYS];
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct attention_case test;
        struct random_source source = {seed};
        draw_order(order, seed);
        attention_case_plan(&test, (struct attention_sizes){2, 4, 2, 6, KEYS, 16, 12});
        if (seed % 2 == 1)
            plan_masks(&test, 4);
        attention_case_allocate(&test);
        attention_case_fill(&test, &source, 2.0);
        permute_call(&test, order, false);
        assert_ok(attention_case_run(&test, NULL));
        permute_call(&test, order, true);
        assert_true(attention_case_compare(&test));
        attention_case_destroy(&test);
    }
}

static void the_order_of_keys_makes_no_difference_in_multi_head(void **state)
{
    (void)state;
    int64_t order[KEYS];
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct multi_head_case test;
        struct random_source source = {seed};
        draw_order(order, seed);
        multi_head_case_plan(
            &test, (struct multi_head_sizes){REFERENCE_PLAIN, 2, 4, 2, 6, KEYS, 0, 8, 6, 12, 11, 10, 9, 13, 2});
        if (seed % 2 == 1)
            plan_masks(&test.base, 4);
        multi_head_case_allocate(&test);
        multi_head_case_fill(&test, &source, 1.0);
        permute_call(&test.base, order, false);
        assert_ok(multi_head_case_run(&test, NULL));
        permute_call(&test.base, order, true);
        assert_true(multi_head_case_compare(&test));
        multi_head_case_destroy(&test);
    }
}

static void the_order_of_keys_makes_no_difference_in_additive(void **state)
{
    (void)state;
    int64_t order[KEYS];
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct tanh_case test;
        draw_order(order, seed);
        tanh_case_plan(&test, "additive",
                       (struct tanh_sizes){.batch = 2,
                                           .heads = 1,
                                           .key_heads = 1,
                                           .queries = 6,
                                           .keys = KEYS,
                                           .query_size = 6,
                                           .key_size = 7,
                                           .value_size = 8,
                                           .attention_size = 9,
                                           .value_columns = 10},
                       REFERENCE_PREVIOUS);
        if (seed % 2 == 1)
            plan_masks(&test.call, 1);
        tanh_case_allocate_and_fill(&test);
        permute_call(&test.call, order, false);
        assert_ok(tanh_case_run(&test, NULL));
        permute_call(&test.call, order, true);
        assert_true(tanh_case_compare(&test));
        tanh_case_destroy(&test);
    }
}

enum { MILLION = 1000000, TILE = 4096 };

/*
 * Weights of a million keys. Each is the product of a float with the float nearest to one over their sum, which is added
 * up in double from the sums of tiles of at most TILE keys: TILE additions, 4 other roundings, whatever the number of
 * keys. Without that the sum could be off by a million roundings, 6 %.
 */
static void p15_a_million_weights_add_up_to_1(void **state)
{
    (void)state;
    const double u = 0x1p-24, bound = (TILE + 4) * u / (1.0 - (TILE + 4) * u);
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case test;
        double sum = 0.0;
        if (!zoo_adds_up((enum zoo_kind)kind))
            continue;
        zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){1, 1, 1, 1, MILLION, 2}, 43);
        assert_ok(zoo_case_forward(&test, test.module, NULL, NULL, NULL));
        for (int64_t key = 0; key < MILLION; key++)
            sum += (double)test.outputs[ATTNZOO_OUTPUT_ATTENTION].data[key];
        print_message("%s: 1 %+.3g\n", ZOO_NAMES[kind], sum - 1.0);
        assert_true(fabs(sum - 1.0) <= bound);
        /* All keys alike: 1/M each, to a few ulp. */
        for (int64_t i = 2; i < test.inputs[1].count; i++)
            test.inputs[1].data[i] = test.inputs[1].data[i - 2];
        for (int64_t i = 2; i < test.inputs[3].count; i++)
            test.inputs[3].data[i] = test.inputs[3].data[i - 2];
        if (kind != ZOO_SHAW && kind != ZOO_LOCATION_AWARE && kind != ZOO_MULTI_HEAD_POSITIONS &&
            !zoo_is_hard((enum zoo_kind)kind) && zoo_reads_key((enum zoo_kind)kind)) {
            assert_ok(zoo_case_forward(&test, test.module, NULL, NULL, NULL));
            for (int64_t key = 0; key < MILLION; key++)
                if (!(fabs((double)test.outputs[ATTNZOO_OUTPUT_ATTENTION].data[key] - 1e-6) <= 4.0 * 0x1p-23 * 1e-6))
                    fail_msg("%s: weight %" PRId64 " is %.9g", ZOO_NAMES[kind], key,
                             (double)test.outputs[ATTNZOO_OUTPUT_ATTENTION].data[key]);
        }
        zoo_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p49_no_mechanism_depends_on_the_thread_count),
        cmocka_unit_test(p16_the_context_is_the_same_without_the_attention),
        cmocka_unit_test(the_order_of_keys_makes_no_difference_in_scaled_dot_product),
        cmocka_unit_test(the_order_of_keys_makes_no_difference_in_multi_head),
        cmocka_unit_test(the_order_of_keys_makes_no_difference_in_additive),
        cmocka_unit_test(p15_a_million_weights_add_up_to_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
