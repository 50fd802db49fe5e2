/*
 * tests/mechanisms/multi_head_positions_test.c: rotary positions, relative buckets and sinks of multi_head, one property
 * at a time: what a cache keeps, what decoding gives, which numbers the buckets have, what a sink takes, what is
 * refused. That the numbers are right in all combinations is for multi_head_random_test.c.
 */
#include "support/multi_head_case.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>

enum { BATCH = 2, LENGTH = 9, HEADS = 4, KEY_HEADS = 2, HEAD_SIZE = 8, BUCKETS = 8 };

static struct multi_head_sizes sizes_of(int64_t queries, int64_t keys)
{
    return (struct multi_head_sizes){.batch = BATCH,
                                     .heads = HEADS,
                                     .key_heads = KEY_HEADS,
                                     .queries = queries,
                                     .keys = keys,
                                     .head_size = HEAD_SIZE,
                                     .value_size = 5,
                                     .query_width = 12,
                                     .key_width = 12,
                                     .value_width = 12,
                                     .out_width = 10};
}

static void plan_tables(struct multi_head_case *test, int64_t batches, int64_t rows)
{
    const int64_t shape[] = {batches, rows, HEAD_SIZE / 2};
    for (int parameter = ROTARY_COS; parameter <= ROTARY_SIN; parameter++)
        test->parameters[parameter] =
            test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, batches > 0 ? 3 : 2, batches > 0 ? shape : shape + 1);
}

static void plan_buckets_and_sink(struct multi_head_case *test)
{
    test->positions.max_distance = 6;
    test->parameters[RELATIVE_BUCKETS] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){BUCKETS, HEADS});
    test->parameters[SINK] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){HEADS});
}

static struct test_tensor plan_positions(int64_t batches, int64_t rows)
{
    return test_tensor_plan(ATTNZOO_DTYPE_INT64, 2, (int64_t[]){batches, rows});
}

static void allocate_and_fill(struct multi_head_case *test)
{
    struct random_source source = {42};
    multi_head_case_allocate(test);
    multi_head_case_fill(test, &source, 1.0);
}

/* Rows first to end of a compact float32 tensor [B, rows, columns]. */
static attnzoo_tensor *rows_of(const struct test_tensor *tensor, int64_t first, int64_t end)
{
    attnzoo_tensor *view = NULL;
    int64_t columns = tensor->shape[2];
    const int64_t shape[] = {tensor->shape[0], end - first, columns};
    const int64_t strides[] = {tensor->shape[1] * columns, columns, 1};
    assert_ok(attnzoo_tensor_create(&view, (float *)(void *)tensor->memory.bytes + first * columns,
                                    ATTNZOO_DTYPE_FLOAT32, 3, shape, strides));
    return view;
}

/* A prompt and then a token a call, each into its place of one context, come to what the reference says of one call. */
static void check_decoding(struct multi_head_case *whole)
{
    attnzoo_state *cache = NULL;
    multi_head_case_store(whole);
    attnzoo_module *module = multi_head_case_module(whole);
    attnzoo_mask *mask = attention_case_mask(&whole->base);
    assert_ok(attnzoo_state_create(&cache, module, BATCH, LENGTH));
    for (int64_t first = 0, end = 4; first < LENGTH; first = end++) {
        attnzoo_tensor *tokens = rows_of(&whole->base.query, first, end);
        attnzoo_tensor *context = rows_of(&whole->base.context, first, end);
        assert_ok(attnzoo_module_forward(module, NULL, tokens, tokens, tokens, mask, cache, context, NULL));
        attnzoo_tensor_destroy(tokens);
        attnzoo_tensor_destroy(context);
    }
    multi_head_case_load(whole);
    assert_true(multi_head_case_compare(whole));
    attnzoo_state_destroy(cache);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
}

static void steps_with_a_cache_are_one_causal_call(void **state)
{
    (void)state;
    static const char *const kinds[] = {NULL, "interleaved", "half_split"};
    for (int kind = 0; kind < 3; kind++)
        for (int has_tables = 0; has_tables < 2; has_tables++) {
            struct multi_head_case whole;
            multi_head_case_plan(&whole, sizes_of(LENGTH, LENGTH));
            multi_head_case_share_all(&whole);
            whole.base.attention.rank = 0;
            whole.base.is_masked = true;
            whole.base.causal = true;
            whole.positions.rotary = kinds[kind];
            if (has_tables && kind > 0)
                plan_tables(&whole, 0, LENGTH);
            plan_buckets_and_sink(&whole);
            allocate_and_fill(&whole);
            multi_head_case_check(&whole, NULL);
            check_decoding(&whole);
            multi_head_case_destroy(&whole);
        }
}

/* Angles of long double, where its significand is longer: then the test sees what double loses. */
static void positions_are_exact_up_to_two_to_the_31(void **state)
{
    (void)state;
    enum { SIZE = 64, ROWS = 70 };
    struct multi_head_case test;
    struct multi_head_sizes sizes = sizes_of(1, ROWS);
    sizes.batch = sizes.heads = sizes.key_heads = 1;
    sizes.head_size = sizes.key_width = SIZE;
    multi_head_case_plan(&test, sizes);
    multi_head_case_plan_state(&test, ROWS);
    test.positions.rotary = "half_split";
    test.positions.key_positions = plan_positions(1, ROWS);
    allocate_and_fill(&test);
    for (int64_t i = 0; i < SIZE * SIZE; i++)
        test.parameters[KEY_WEIGHT].values[i] = i % (SIZE + 1) == 0;
    for (int64_t i = 0; i < ROWS; i++)
        test.positions.key_positions.values[i] = (double)(INT32_MAX - ROWS + i);
    for (int64_t i = 0; i < test.base.key.count; i++)
        test.base.key.values[i] = i % SIZE < SIZE / 2;
    assert_ok(multi_head_case_run(&test, NULL));
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t pair = 0; pair < SIZE / 2; pair++) {
            long double position = (long double)(INT32_MAX - ROWS + i);
            long double angle = position * powl(10000.0L, -2.0L * (long double)pair / SIZE);
            /* Item 10a of rounding.h, for x = 1 and y = 0. */
            double bound = (double)angle * 0x1p-50 + 0x1p-45 + 3.01 * 0x1p-24;
            const double *row = test.kept_key.values + i * SIZE;
            assert_true(fabs(row[pair] - (double)cosl(angle)) <= bound);
            assert_true(fabs(row[SIZE / 2 + pair] - (double)sinl(angle)) <= bound);
        }
    multi_head_case_destroy(&test);
}

static void set_moved(struct multi_head_case *test, int64_t move)
{
    for (int64_t i = 0; i < test->positions.query_positions.count; i++)
        test->positions.query_positions.values[i] = (double)(20 - 7 * i + move);
    for (int64_t i = 0; i < test->positions.key_positions.count; i++)
        test->positions.key_positions.values[i] = (double)(3 * i + move);
}

/* What the library gives is what the reference says of queries and keys that all stand a million further on. */
static void only_distances_count(void **state)
{
    (void)state;
    static const char *const kinds[] = {"interleaved", "half_split"};
    for (int kind = 0; kind < 2; kind++) {
        struct multi_head_case test;
        multi_head_case_plan(&test, sizes_of(3, LENGTH));
        test.positions.rotary = kinds[kind];
        test.positions.query_positions = plan_positions(1, 3);
        test.positions.key_positions = plan_positions(1, LENGTH);
        allocate_and_fill(&test);
        set_moved(&test, 0);
        assert_ok(multi_head_case_run(&test, NULL));
        set_moved(&test, 1000000);
        assert_true(multi_head_case_compare(&test));
        multi_head_case_destroy(&test);
    }
}

/* Rows that a length cuts off have no position that must be in the tables. */
static void positions_of_padding_are_not_looked_at(void **state)
{
    (void)state;
    for (int has_state = 0; has_state < 2; has_state++) {
        struct multi_head_case test;
        multi_head_case_plan(&test, sizes_of(LENGTH, LENGTH));
        test.positions.rotary = "half_split";
        plan_tables(&test, BATCH, 5);
        test.positions.query_positions = plan_positions(BATCH, LENGTH);
        test.positions.key_positions = plan_positions(BATCH, LENGTH);
        if (has_state)
            multi_head_case_plan_state(&test, LENGTH);
        test.base.is_masked = true;
        attention_case_plan_key_lengths(&test.base);
        attention_case_plan_query_lengths(&test.base);
        allocate_and_fill(&test);
        for (int64_t b = 0; b < BATCH; b++) {
            int64_t length = 4 + b;
            test.base.key_lengths.values[b] = test.base.query_lengths.values[b] = (double)length;
            for (int64_t i = 0; i < LENGTH; i++) {
                double position = i < length ? (double)i : (i % 2 == 0 ? -1.0 : 1e9);
                test.positions.query_positions.values[b * LENGTH + i] = position;
                test.positions.key_positions.values[b * LENGTH + i] = position;
            }
        }
        assert_ok(multi_head_case_run(&test, NULL));
        /* The reference turns all rows, these too; what comes of them does not count. */
        for (int64_t i = 0; i < BATCH * LENGTH; i++)
            if (i % LENGTH >= 4 + i / LENGTH)
                test.positions.query_positions.values[i] = test.positions.key_positions.values[i] = 0.0;
        assert_true(multi_head_case_compare(&test));
        multi_head_case_destroy(&test);
    }
}

/* Queries before all keys see none under a causal mask, and need not be in the tables either. */
static void queries_that_see_nothing_may_stand_before_the_tables(void **state)
{
    (void)state;
    static const char *const kinds[] = {"interleaved", "half_split"};
    for (int kind = 0; kind < 2; kind++) {
        struct multi_head_case test;
        multi_head_case_plan(&test, sizes_of(LENGTH, 4));
        test.positions.rotary = kinds[kind];
        plan_tables(&test, 0, 4);
        test.base.is_masked = true;
        test.base.causal = true;
        allocate_and_fill(&test);
        multi_head_case_check(&test, NULL);
        multi_head_case_destroy(&test);
    }
}

/* The bucket of each distance from a query in the middle of all keys, told by scores that are nothing but the bias. */
static void assert_buckets(int64_t bucket_count, int64_t max_distance, bool is_bidirectional)
{
    enum { REACH = 300 };
    struct multi_head_case test;
    struct multi_head_sizes sizes = sizes_of(1, 2 * REACH + 1);
    sizes.batch = sizes.heads = sizes.key_heads = 1;
    multi_head_case_plan(&test, sizes);
    test.positions.max_distance = max_distance;
    test.positions.is_unidirectional = !is_bidirectional;
    test.parameters[RELATIVE_BUCKETS] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){bucket_count, 1});
    test.base.scale = 0.0;
    test.base.is_masked = true;
    test.base.has_offset = true;
    test.base.offset = REACH;
    allocate_and_fill(&test);
    for (int64_t i = 0; i < bucket_count; i++)
        test.parameters[RELATIVE_BUCKETS].values[i] = (double)i / 8.0;
    multi_head_case_check(&test, NULL);
    const struct reference_buckets buckets = {
        .count = bucket_count, .max_distance = max_distance, .is_bidirectional = is_bidirectional};
    const double *attention = test.base.attention.values;
    for (int64_t i = 0; i <= 2 * REACH; i++) {
        double bucket = log(attention[i] / attention[REACH]) * 8.0;
        assert_int_equal(lround(bucket), reference_bucket(&buckets, i - REACH));
    }
    multi_head_case_destroy(&test);
}

/* What T5's published function gives with 32 buckets and 128: the reference itself has to. */
static void assert_published_buckets(void)
{
    static const struct {
        int64_t relative_position, both_ways, one_way;
    } published[] = {{-1000, 15, 31}, {-113, 15, 31}, {-91, 15, 29}, {-90, 14, 29}, {-64, 14, 26}, {-63, 13, 26},
                     {-32, 12, 21},   {-31, 11, 21},  {-20, 10, 17}, {-16, 10, 16}, {-15, 9, 15},  {-12, 9, 12},
                     {-11, 8, 11},    {-7, 7, 7},     {0, 0, 0},     {1, 17, 0},    {11, 24, 0},   {12, 25, 0},
                     {16, 26, 0},     {32, 28, 0},    {64, 30, 0},   {90, 30, 0},   {91, 31, 0},   {500, 31, 0}};
    const struct reference_buckets both_ways = {.count = 32, .max_distance = 128, .is_bidirectional = true};
    const struct reference_buckets one_way = {.count = 32, .max_distance = 128};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        assert_int_equal(reference_bucket(&both_ways, published[i].relative_position), published[i].both_ways);
        assert_int_equal(reference_bucket(&one_way, published[i].relative_position), published[i].one_way);
    }
}

static void buckets_are_those_of_t5(void **state)
{
    (void)state;
    assert_published_buckets();
    assert_buckets(32, 128, true);
    assert_buckets(32, 128, false);
    assert_buckets(4, 3, true);
    assert_buckets(2, 2, false);
    assert_buckets(33, 129, true);
    assert_buckets(40, 1 << 30, false);
    assert_buckets(20, 11, false);
    assert_buckets(64, 200, true);
}

static double sum_of_row(const struct multi_head_case *test, int64_t row)
{
    double sum = 0.0;
    for (int64_t j = 0; j < test->base.sizes.keys; j++)
        sum += test->base.attention.values[row * test->base.sizes.keys + j];
    return sum;
}

/* All scores are 0: each of M keys has exp(0), the sink exp(s), and what is left for the keys is M / (M + exp(s)). The
 * cap, which would make 1 of a score of 5, is not for sinks. */
static void a_sink_takes_its_share(void **state)
{
    (void)state;
    static const double sinks[HEADS] = {0.0, 5.0, -3.0, -INFINITY};
    struct multi_head_case test;
    multi_head_case_plan(&test, sizes_of(3, LENGTH));
    test.parameters[SINK] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){HEADS});
    test.base.scale = 0.0;
    test.base.softcap = 1.0;
    allocate_and_fill(&test);
    test_tensor_set(&test.parameters[SINK], sinks);
    multi_head_case_check(&test, NULL);
    for (int64_t row = 0; row < BATCH * HEADS * 3; row++) {
        double left = LENGTH / (LENGTH + exp(sinks[row / 3 % HEADS]));
        assert_true(fabs(sum_of_row(&test, row) - left) <= 64 * 0x1p-24);
    }
    multi_head_case_destroy(&test);
}

/* Far above all scores it takes everything; rows that see no key give 0 whatever it is; NaN and infinity are faults of
 * their head alone. */
static void sinks_at_the_extremes(void **state)
{
    (void)state;
    static const double sinks[HEADS] = {1e30, NAN, INFINITY, -1e30};
    struct multi_head_case test;
    multi_head_case_plan(&test, sizes_of(LENGTH, 4));
    test.sizes.out_width = 0;
    test.parameters[OUT_WEIGHT].rank = 0;
    test.base.context = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){BATCH, LENGTH, HEADS * 5});
    test.parameters[SINK] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){HEADS});
    test.base.is_masked = true;
    test.base.causal = true;
    allocate_and_fill(&test);
    test_tensor_set(&test.parameters[SINK], sinks);
    multi_head_case_check(&test, NULL);
    for (int64_t row = 0; row < BATCH * HEADS * LENGTH; row++) {
        bool sees = row % LENGTH >= LENGTH - 4;
        int64_t head = row / LENGTH % HEADS;
        double sum = sum_of_row(&test, row);
        if (!sees || head == 0)
            assert_true(sum == 0.0);
        else
            assert_true(head == 3 ? fabs(sum - 1.0) < 1e-6 : isnan(sum));
    }
    multi_head_case_destroy(&test);
}

/* -infinity in the table of buckets hides, as it does in a dense bias; a value behind it may be NaN. */
static void buckets_of_minus_infinity_hide(void **state)
{
    (void)state;
    struct multi_head_case test;
    multi_head_case_plan(&test, sizes_of(1, 3));
    plan_buckets_and_sink(&test);
    test.parameters[SINK].rank = 0;
    allocate_and_fill(&test);
    /* The query stands at the last key; the one before is at distance 1. */
    for (int64_t head = 0; head < HEADS; head++)
        test.parameters[RELATIVE_BUCKETS].values[HEADS + head] = -INFINITY;
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t e = 0; e < 12; e++)
            test.base.key.values[(b * 3 + 1) * 12 + e] = test.base.value.values[(b * 3 + 1) * 12 + e] = NAN;
    assert_ok(multi_head_case_run(&test, NULL));
    for (int64_t i = 0; i < test.base.attention.count; i++)
        assert_true(i % 3 == 1 ? test.base.attention.values[i] == 0.0 : test.base.attention.values[i] > 0.0);
    for (int64_t i = 0; i < test.base.context.count; i++)
        assert_true(isfinite(test.base.context.values[i]));
    multi_head_case_destroy(&test);
}

/* Preparing fails with these words. */
static void assert_not_prepared(struct multi_head_case *test, attnzoo_status wanted, const char *first,
                                const char *second)
{
    allocate_and_fill(test);
    multi_head_case_store(test);
    attnzoo_module *module = multi_head_case_unprepared(test);
    assert_refused(attnzoo_module_prepare(module), wanted, first);
    assert_error_contains(second);
    attnzoo_module_destroy(module);
    multi_head_case_destroy(test);
}

static struct multi_head_case *planned(struct multi_head_case *test, const char *rotary)
{
    multi_head_case_plan(test, sizes_of(5, 7));
    test->positions.rotary = rotary;
    return test;
}

static void rotary_options_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct multi_head_case test;
    const attnzoo_status invalid = ATTNZOO_STATUS_INVALID_ARGUMENT, mismatch = ATTNZOO_STATUS_SHAPE_MISMATCH;
    planned(&test, "half_split")->positions.rotary_size = 10;
    assert_not_prepared(&test, invalid, "rotary_size is 10", "which is 8");
    planned(&test, "interleaved")->positions.rotary_size = 5;
    assert_not_prepared(&test, invalid, "must be even", "it is 5");
    struct multi_head_sizes odd = sizes_of(5, 7);
    odd.head_size = 7;
    multi_head_case_plan(&test, odd);
    test.positions.rotary = "interleaved";
    assert_not_prepared(&test, invalid, "must be even", "a head's 7");
    plan_tables(planned(&test, "interleaved"), 0, 9);
    test.parameters[ROTARY_SIN].rank = 0;
    assert_not_prepared(&test, invalid, "rotary_cos is set", "rotary_sin");
    plan_tables(planned(&test, "interleaved"), 0, 9);
    test.parameters[ROTARY_COS].rank = 0;
    assert_not_prepared(&test, invalid, "rotary_sin is set", "rotary_cos");
    plan_tables(planned(&test, NULL), 0, 9);
    assert_not_prepared(&test, invalid, "rotary_cos is set", "rotary=none");
    plan_tables(planned(&test, "half_split"), 0, 9);
    test.positions.rotary_base = 500.0;
    assert_not_prepared(&test, invalid, "rotary_base is set", "rotary_cos");
    plan_tables(planned(&test, "half_split"), 0, 9);
    test.positions.rotary_size = 6;
    assert_not_prepared(&test, mismatch, "rotary_cos has shape [9, 4]", "R/2 = 3");
    plan_tables(planned(&test, "half_split"), 0, 9);
    test.parameters[ROTARY_SIN].shape[0] = 8;
    assert_not_prepared(&test, mismatch, "rotary_sin has shape [8, 4]", "[9, 4]");
    planned(&test, "half_split");
    test.parameters[ROTARY_COS] = test.parameters[ROTARY_SIN] =
        test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){4});
    assert_not_prepared(&test, mismatch, "rotary_cos has shape [4]", "2 to 3");
}

static void buckets_and_sinks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct multi_head_case test;
    const attnzoo_status invalid = ATTNZOO_STATUS_INVALID_ARGUMENT, mismatch = ATTNZOO_STATUS_SHAPE_MISMATCH;
    plan_buckets_and_sink(planned(&test, NULL));
    test.parameters[RELATIVE_BUCKETS].shape[1] = 3;
    assert_not_prepared(&test, mismatch, "relative_buckets has 3 columns", "4 heads");
    plan_buckets_and_sink(planned(&test, NULL));
    test.parameters[RELATIVE_BUCKETS].shape[0] = 3;
    assert_not_prepared(&test, mismatch, "relative_buckets has 3 rows", "at least 4");
    plan_buckets_and_sink(planned(&test, NULL));
    test.positions.is_unidirectional = true;
    test.parameters[RELATIVE_BUCKETS].shape[0] = 1;
    assert_not_prepared(&test, mismatch, "relative_buckets has 1 rows", "at least 2");
    plan_buckets_and_sink(planned(&test, NULL));
    test.positions.max_distance = 2;
    assert_not_prepared(&test, invalid, "relative_max_distance is 2", "above the 2");
    plan_buckets_and_sink(planned(&test, NULL));
    test.parameters[SINK].shape[0] = 2;
    assert_not_prepared(&test, mismatch, "sink has shape [2]", "[4]");
}

/* The call is refused with these words, writes nothing, and leaves the cache as it was. */
static void assert_call_refused(struct multi_head_case *test, attnzoo_status wanted, const char *first,
                                const char *second)
{
    multi_head_case_store(test);
    attnzoo_module *module = multi_head_case_module(test);
    attnzoo_mask *mask = attention_case_mask(&test->base);
    attnzoo_state *cache = multi_head_case_state(test, module);
    assert_refused(multi_head_case_forward(test, module, NULL, mask, cache), wanted, first);
    assert_error_contains(second);
    assert_true(test_tensor_is_untouched(&test->base.context));
    assert_true(test_tensor_is_untouched(&test->base.attention));
    if (cache != NULL)
        assert_int_equal(attnzoo_state_length(cache), test->sizes.past);
    attnzoo_state_destroy(cache);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    multi_head_case_destroy(test);
}

static void positions_outside_a_table_are_refused(void **state)
{
    (void)state;
    struct multi_head_case test;
    const attnzoo_status invalid = ATTNZOO_STATUS_INVALID_ARGUMENT;
    /* Key 6 at position 6. */
    plan_tables(planned(&test, "half_split"), 0, 6);
    test.positions.query_positions = plan_positions(1, 5);
    allocate_and_fill(&test);
    assert_call_refused(&test, invalid, "key 6 of batch 0 stands at position 6", "have 6 rows");
    /* With two keys cached, key 4 of the call stands at 6. */
    struct multi_head_sizes sizes = sizes_of(5, 7);
    sizes.past = 2;
    multi_head_case_plan(&test, sizes);
    test.positions.rotary = "interleaved";
    plan_tables(&test, 0, 6);
    test.positions.query_positions = plan_positions(1, 5);
    multi_head_case_plan_state(&test, 9);
    allocate_and_fill(&test);
    assert_call_refused(&test, invalid, "key 4 of batch 0 stands at position 6", "have 6 rows");
    plan_tables(planned(&test, "half_split"), 0, 7);
    test.positions.query_positions = plan_positions(BATCH, 5);
    allocate_and_fill(&test);
    test.positions.query_positions.values[8] = -1.0;
    assert_call_refused(&test, invalid, "query 3 of batch 1 stands at position -1", "have 7 rows");
    /* By themselves queries stand at M - N + i. */
    multi_head_case_plan(&test, sizes_of(7, 5));
    test.positions.rotary = "half_split";
    plan_tables(&test, 0, 7);
    allocate_and_fill(&test);
    assert_call_refused(&test, invalid, "query 0 of batch 0 stands at position -2", "have 7 rows");
}

static void inputs_of_positions_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct multi_head_case test;
    const attnzoo_status mismatch = ATTNZOO_STATUS_SHAPE_MISMATCH;
    planned(&test, "half_split")->positions.query_positions = plan_positions(BATCH, 6);
    allocate_and_fill(&test);
    assert_call_refused(&test, mismatch, "query_positions has shape [2, 6]", "[2, 5] or [5]");
    planned(&test, "half_split")->positions.key_positions = plan_positions(3, 7);
    allocate_and_fill(&test);
    assert_call_refused(&test, mismatch, "key_positions has shape [3, 7]", "[2, 7] or [7]");
    planned(&test, NULL)->positions.key_positions = plan_positions(BATCH, 7);
    allocate_and_fill(&test);
    assert_call_refused(&test, ATTNZOO_STATUS_UNSUPPORTED, "rotary=none", "key_positions");
    planned(&test, "half_split")->positions.key_positions = plan_positions(BATCH, 7);
    test.positions.key_positions.dtype = ATTNZOO_DTYPE_FLOAT32;
    allocate_and_fill(&test);
    assert_call_refused(&test, ATTNZOO_STATUS_DTYPE_MISMATCH, "key_positions is float32", "int64");
    plan_tables(planned(&test, "half_split"), 3, 9);
    allocate_and_fill(&test);
    assert_call_refused(&test, mismatch, "batch sizes", "rotary_cos has 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_with_a_cache_are_one_causal_call),
        cmocka_unit_test(positions_are_exact_up_to_two_to_the_31),
        cmocka_unit_test(only_distances_count),
        cmocka_unit_test(positions_of_padding_are_not_looked_at),
        cmocka_unit_test(queries_that_see_nothing_may_stand_before_the_tables),
        cmocka_unit_test(buckets_are_those_of_t5),
        cmocka_unit_test(a_sink_takes_its_share),
        cmocka_unit_test(sinks_at_the_extremes),
        cmocka_unit_test(buckets_of_minus_infinity_hide),
        cmocka_unit_test(rotary_options_that_do_not_fit_are_refused),
        cmocka_unit_test(buckets_and_sinks_that_do_not_fit_are_refused),
        cmocka_unit_test(positions_outside_a_table_are_refused),
        cmocka_unit_test(inputs_of_positions_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
