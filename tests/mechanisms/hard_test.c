/*
 * tests/mechanisms/hard_test.c: what hard promises beside agreeing with the reference: ties, exact values, rows that see
 * nothing or a NaN, a million keys, the numbers at the ends, and every error.
 */
#include "mechanisms/hard_calls.h"
#include "support/executors.h"
#include "support/testing.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One batch has its keys cut into chunks, many go through tile after tile. */
static const int64_t BATCHES[] = {1, 20};
enum { BATCH_COUNT = 2 };

static void of_equal_scores_the_first_is_chosen(void **state)
{
    const struct executors *executors = *state;
    for (int threads = 0; threads < EXECUTOR_COUNT; threads++)
        for (int i = 0; i < BATCH_COUNT * 10; i++) {
            int64_t keys = 1;
            for (int power = 0; power < i / BATCH_COUNT; power++)
                keys = keys * 3 + 1;
            struct hard_call call = {.batch = BATCHES[i % BATCH_COUNT],
                                     .queries = 3,
                                     .keys = keys,
                                     .executor = executors->by_thread_count[threads]};
            hard_call_run(&call);
            for (int64_t row = 0; row < call.batch * call.queries; row++)
                assert_int_equal(call.index[row], 0);
            hard_call_destroy(&call);
        }
}

static void the_first_of_the_largest_is_chosen(void **state)
{
    (void)state;
    enum { KEYS = 9000 };
    static float keys[KEYS];
    keys[4000] = keys[4001] = keys[8000] = 2.0f;
    for (int i = 0; i < BATCH_COUNT; i++) {
        struct hard_call call = {.batch = BATCHES[i], .queries = 2, .keys = KEYS, .key = keys};
        hard_call_run(&call);
        for (int64_t row = 0; row < call.batch * call.queries; row++) {
            assert_int_equal(call.index[row], 4000);
            assert_true(call.context[row] == 2.0f);
        }
        hard_call_destroy(&call);
    }
}

/* Equal scores give ln 1/M, and the entropy ln M, a million times over: a float is within half an ulp, the sum of
 * exponentials of 0 being exact. */
static void a_million_keys_lose_nothing(void **state)
{
    const struct executors *executors = *state;
    enum { KEYS = 1000000 };
    for (int sampled = 0; sampled < 2; sampled++) {
        struct hard_call call = {.batch = 1,
                                 .queries = 2,
                                 .keys = KEYS,
                                 .is_sampled = sampled == 1,
                                 .seed = 5,
                                 .executor = executors->by_thread_count[1]};
        hard_call_run(&call);
        for (int64_t i = 0; i < call.queries; i++) {
            assert_in_range(call.index[i], 0, KEYS - 1);
            assert_true(fabs((double)call.log_probability[i] + log(1e6)) <= 0x1p-24 * log(1e6));
            assert_true(fabs((double)call.entropy[i] - log(1e6)) <= 0x1p-24 * log(1e6));
        }
        hard_call_destroy(&call);
    }
}

/* The maximum rises with every tile, and T must follow; where it falls, a later chunk's T must. Last it passes all. */
static void the_entropy_follows_a_rising_maximum(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    static float keys[KEYS];
    /* So little that what came before a tile still counts after it, so much that forgetting it shows. */
    const double step = 0.0005, highest = (KEYS - 1) * step;
    /* tests/reference/rounding.h, item 2, of exact scores within 50 of the largest: each weight is off by at most this
     * share; then item 20 of hard.h, with attention off by two such shares and its logarithm by one. */
    double share = 0x1p-24 * (50.0 + 5.0 * (KEYS / 16 + 2));
    for (int i = 0; i < BATCH_COUNT * 2; i++) {
        double sum = 0.0, spread = 0.0;
        for (int j = 0; j < KEYS; j++) {
            keys[j] = (float)((i < BATCH_COUNT ? j : KEYS - 1 - j) * step);
            sum += exp(keys[j] - highest);
            spread += exp(keys[j] - highest) * (keys[j] - highest);
        }
        double entropy = log(sum) - spread / sum;
        struct hard_call call = {.batch = BATCHES[i % BATCH_COUNT], .queries = 1, .keys = KEYS, .key = keys};
        hard_call_run(&call);
        for (int64_t row = 0; row < call.batch; row++)
            assert_true(fabs((double)call.entropy[row] - entropy) <= share * (2.0 * entropy + 1.0));
        hard_call_destroy(&call);
        keys[KEYS - 1] = FLT_MAX;
        hard_call_run(&call);
        for (int64_t row = 0; row < call.batch; row++) {
            assert_true(call.entropy[row] == 0.0f && call.log_probability[row] == 0.0f);
            assert_int_equal(call.index[row], KEYS - 1);
        }
        hard_call_destroy(&call);
    }
}

/* Texts of which one stands within the other: the largest keys of all lie between a query's own, whole tiles of them. */
static void keys_that_no_query_sees_are_passed_over(void **state)
{
    (void)state;
    enum { KEYS = 6000, INNER = 1000, END = 5000, BEST = 5500, INNER_BEST = 3000 };
    static float keys[KEYS], queries[KEYS];
    static int32_t texts[KEYS];
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *ids = NULL;
    for (int j = 0; j < KEYS; j++) {
        texts[j] = j >= INNER && j < END ? 1 : 0;
        keys[j] = texts[j] == 1 ? 9.0f : 0.0f;
        queries[j] = 1.0f;
    }
    keys[BEST] = 1.0f;
    keys[INNER_BEST] = 10.0f;
    assert_ok(attnzoo_tensor_create_readonly(&ids, texts, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){KEYS}, NULL));
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_segments(mask, ids));
    struct hard_call call = {.batch = 1, .queries = KEYS, .keys = KEYS, .query = queries, .key = keys, .mask = mask};
    hard_call_run(&call);
    for (int64_t row = 0; row < KEYS; row++)
        assert_int_equal(call.index[row], texts[row] == 0 ? BEST : INNER_BEST);
    hard_call_destroy(&call);
    attnzoo_mask_destroy(mask);
    attnzoo_tensor_destroy(ids);
}

static void a_row_that_sees_nothing_chooses_nothing(void **state)
{
    (void)state;
    const float keys[] = {1.0f, 2.0f, 3.0f};
    int64_t length = 0;
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *lengths = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&lengths, &length, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){1}, NULL));
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_key_lengths(mask, lengths));
    for (int64_t count = 0; count <= 3; count += 3)
        for (int sampled = 0; sampled < 2; sampled++) {
            struct hard_call call = {
                .batch = 1, .queries = 2, .keys = count, .key = keys, .is_sampled = sampled == 1, .mask = mask};
            hard_call_run(&call);
            for (int64_t i = 0; i < call.queries; i++) {
                assert_int_equal(call.index[i], -1);
                assert_true(call.context[i] == 0.0f && call.log_probability[i] == 0.0f && call.entropy[i] == 0.0f);
            }
            hard_call_destroy(&call);
        }
    attnzoo_mask_destroy(mask);
    attnzoo_tensor_destroy(lengths);
}

/* A NaN or +infinity among the scores that a row sees makes that row NaN, and no other. */
static void a_nan_stays_in_its_row(void **state)
{
    (void)state;
    const float keys[] = {1.0f, 2.0f, 3.0f}, faults[] = {NAN, INFINITY};
    for (int fault = 0; fault < 2; fault++)
        for (int sampled = 0; sampled < 2; sampled++) {
            const float queries[] = {1.0f, faults[fault], -1.0f};
            struct hard_call call = {
                .batch = 1, .queries = 3, .keys = 3, .query = queries, .key = keys, .is_sampled = sampled == 1};
            hard_call_run(&call);
            assert_int_equal(call.index[1], -1);
            assert_true(isnan(call.context[1]) && isnan(call.log_probability[1]) && isnan(call.entropy[1]));
            for (int i = 0; i < 3; i += 2) {
                assert_in_range(call.index[i], 0, 2);
                assert_true(call.context[i] == keys[call.index[i]] && isfinite(call.entropy[i]));
            }
            hard_call_destroy(&call);
        }
}

/* What a value holds is nobody's business: a NaN with bits of its own comes out as it is, beside a NaN that is not
 * chosen. */
static void values_come_out_to_the_bit(void **state)
{
    (void)state;
    const uint32_t values[2][3] = {{0x7fa12345u, 0x80000000u, 0x00000001u}, {0x7fc00000u, 0x7fc00000u, 0x7fc00000u}};
    const float key[2] = {1.0f, 0.0f}, one = 1.0f;
    uint32_t out[3] = {0};
    attnzoo_tensor *views[4];
    assert_ok(attnzoo_tensor_create_readonly(&views[0], &one, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
    assert_ok(attnzoo_tensor_create_readonly(&views[1], key, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 1}, NULL));
    assert_ok(attnzoo_tensor_create_readonly(&views[2], values, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 3}, NULL));
    assert_ok(attnzoo_tensor_create(&views[3], out, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 3}, NULL));
    attnzoo_module *module = hard_call_module(false);
    assert_ok(attnzoo_module_forward(module, NULL, views[0], views[1], views[2], NULL, NULL, views[3], NULL));
    assert_memory_equal(out, values[0], sizeof out);
    attnzoo_module_destroy(module);
    for (int i = 0; i < 4; i++)
        attnzoo_tensor_destroy(views[i]);
}

/* Views of one buffer, for calls that are refused before they look at it. */
static float buffer[64];

static attnzoo_tensor *view_of(int32_t dtype, int32_t rank, const int64_t *shape, int64_t first)
{
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, buffer + first, dtype, rank, shape, NULL));
    return view;
}

struct refused {
    int place; /* an input's, or 100 and an output's */
    int32_t dtype, rank;
    int64_t shape[3];
    attnzoo_status status;
    const char *message;
};

static void calls_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    enum { OUT = 100 };
    const struct refused cases[] = {
        {ATTNZOO_INPUT_QUERY, ATTNZOO_DTYPE_FLOAT32, 2, {2, 3}, ATTNZOO_STATUS_SHAPE_MISMATCH, "key has 2 features"},
        {ATTNZOO_INPUT_SEED, ATTNZOO_DTYPE_FLOAT32, 1, {1}, ATTNZOO_STATUS_DTYPE_MISMATCH, "seed is float32"},
        {ATTNZOO_INPUT_SEED, ATTNZOO_DTYPE_INT64, 1, {2}, ATTNZOO_STATUS_SHAPE_MISMATCH, "seed has shape [2]"},
        {OUT + ATTNZOO_OUTPUT_INDEX, ATTNZOO_DTYPE_FLOAT32, 1, {2}, ATTNZOO_STATUS_DTYPE_MISMATCH, "index is float32"},
        {OUT + ATTNZOO_OUTPUT_INDEX, ATTNZOO_DTYPE_INT32, 1, {3}, ATTNZOO_STATUS_SHAPE_MISMATCH, "index has shape [3]"},
        {OUT + ATTNZOO_OUTPUT_ENTROPY,
         ATTNZOO_DTYPE_FLOAT16,
         1,
         {2},
         ATTNZOO_STATUS_DTYPE_MISMATCH,
         "entropy is float16"},
        {OUT + ATTNZOO_OUTPUT_LOG_PROBABILITY,
         ATTNZOO_DTYPE_FLOAT32,
         2,
         {2, 1},
         ATTNZOO_STATUS_SHAPE_MISMATCH,
         "log_probability has shape"},
    };
    attnzoo_module *module = hard_call_module(true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attnzoo_tensor *inputs[7] = {view_of(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 2}, 0),
                                     view_of(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 2}, 8),
                                     view_of(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 2}, 16)};
        attnzoo_tensor *outputs[6] = {view_of(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 2}, 24)};
        attnzoo_tensor **slot = cases[i].place >= OUT ? &outputs[cases[i].place - OUT] : &inputs[cases[i].place];
        attnzoo_tensor_destroy(*slot);
        *slot = view_of(cases[i].dtype, cases[i].rank, cases[i].shape, 40);
        buffer[24] = 7.0f;
        assert_refused(attnzoo_module_forward_slots(module, NULL, (const attnzoo_tensor *const *)inputs, 7, NULL, NULL,
                                                    outputs, 6),
                       cases[i].status, cases[i].message);
        assert_true(buffer[24] == 7.0f);
        for (int j = 0; j < 7; j++)
            attnzoo_tensor_destroy(inputs[j]);
        for (int j = 0; j < 6; j++)
            attnzoo_tensor_destroy(outputs[j]);
    }
    attnzoo_module_destroy(module);
}

static void set_parameter(attnzoo_module *module, const char *name, int32_t rank, const int64_t *shape)
{
    attnzoo_tensor *view = view_of(ATTNZOO_DTYPE_FLOAT32, rank, shape, 0);
    assert_ok(attnzoo_module_set_parameter(module, name, view));
    attnzoo_tensor_destroy(view);
}

static void modules_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "hard"));
    assert_refused(attnzoo_module_set_option_text(module, "select", "most"), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "argmax|sample");
    assert_refused(attnzoo_module_set_option_int(module, "seed", -1), ATTNZOO_STATUS_INVALID_ARGUMENT, "seed");
    assert_ok(attnzoo_module_set_option_text(module, "similarity", "additive"));
    assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_INVALID_ARGUMENT, "score_proj.weight");
    assert_ok(attnzoo_module_set_option_text(module, "similarity", "dot_product"));
    set_parameter(module, "score_proj.weight", 2, (int64_t[]){1, 3});
    assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_INVALID_ARGUMENT, "score_proj.weight is set");
    attnzoo_module_destroy(module);
    assert_ok(attnzoo_module_create(&module, "hard"));
    set_parameter(module, "query_proj.weight", 2, (int64_t[]){4, 3});
    set_parameter(module, "key_proj.weight", 2, (int64_t[]){5, 3});
    assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_SHAPE_MISMATCH, "head sizes differ");
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", 3));
    assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_SHAPE_MISMATCH, "query_proj.weight has 4 rows");
    attnzoo_module_destroy(module);
}

/* The generator's counter has 32 bits for each axis. */
static void more_than_can_be_told_apart_is_refused(void **state)
{
    (void)state;
    static float number;
    static int64_t draws;
    const int64_t keys = (INT64_C(1) << 33) + 1;
    attnzoo_tensor *query = NULL, *key = NULL, *context = NULL, *index = NULL;
    const int64_t strides[] = {0, 0};
    assert_ok(attnzoo_tensor_create_readonly(&query, &number, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
    assert_ok(attnzoo_tensor_create_readonly(&key, &number, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){keys, 1}, strides));
    assert_ok(attnzoo_tensor_create(&context, &buffer[0], ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
    assert_ok(attnzoo_tensor_create(&index, &draws, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){1}, NULL));
    attnzoo_module *module = hard_call_module(true);
    assert_refused(attnzoo_module_forward(module, NULL, query, key, key, NULL, NULL, context, NULL),
                   ATTNZOO_STATUS_UNSUPPORTED, "2^33");
    const attnzoo_tensor *inputs[] = {query, key, key};
    attnzoo_tensor *outputs[] = {context, NULL, NULL, index};
    assert_refused(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 4),
                   ATTNZOO_STATUS_DTYPE_MISMATCH, "must be int64");
    attnzoo_module_destroy(module);
    attnzoo_tensor_destroy(query);
    attnzoo_tensor_destroy(key);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_equal_scores_the_first_is_chosen),
        cmocka_unit_test(the_first_of_the_largest_is_chosen),
        cmocka_unit_test(a_million_keys_lose_nothing),
        cmocka_unit_test(the_entropy_follows_a_rising_maximum),
        cmocka_unit_test(keys_that_no_query_sees_are_passed_over),
        cmocka_unit_test(a_row_that_sees_nothing_chooses_nothing),
        cmocka_unit_test(a_nan_stays_in_its_row),
        cmocka_unit_test(values_come_out_to_the_bit),
        cmocka_unit_test(calls_that_do_not_fit_are_refused),
        cmocka_unit_test(modules_that_do_not_fit_are_refused),
        cmocka_unit_test(more_than_can_be_told_apart_is_refused),
    };
    return cmocka_run_group_tests(tests, executors_create, executors_destroy);
}
