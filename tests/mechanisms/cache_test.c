/*
 * tests/mechanisms/cache_test.c: key/value caches of multi_head and relative_multi_head: decoding step by step, what
 * the cache holds and how it is changed from outside, and what is refused.
 */
#include "support/element.h"
#include "support/multi_head_case.h"
#include "support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLAVORS = 3, BATCH = 2, LENGTH = 9, CAPACITY = 12 };

static struct multi_head_sizes sizes_of(int flavor, int64_t queries, int64_t keys)
{
    return (struct multi_head_sizes){.flavor = (enum reference_flavor)flavor,
                                     .batch = BATCH,
                                     .heads = 4,
                                     .key_heads = 2,
                                     .queries = queries,
                                     .keys = keys,
                                     .head_size = 8,
                                     .value_size = 5,
                                     .query_width = 12,
                                     .key_width = 12,
                                     .value_width = 12,
                                     .out_width = 10,
                                     .position_width = 7,
                                     .farthest = 2};
}

/* A sequence of LENGTH tokens under a causal mask, its module, and room for what steps give. */
struct sequence {
    struct multi_head_case whole;
    attnzoo_module *module;
    attnzoo_mask *mask;
    struct reference_multi_head_result expected;
};

static void open_sequence(struct sequence *sequence, int flavor, bool is_one_sided)
{
    struct random_source source = {77};
    struct multi_head_case *whole = &sequence->whole;
    multi_head_case_plan(whole, sizes_of(flavor, LENGTH, LENGTH));
    multi_head_case_plan_bias(whole, KEY_BIAS);
    multi_head_case_plan_bias(whole, OUT_BIAS);
    multi_head_case_share_all(whole);
    whole->base.causal = true;
    if (flavor == REFERENCE_TRANSFORMER_XL && is_one_sided)
        multi_head_case_plan_position(whole, false, LENGTH);
    multi_head_case_allocate(whole);
    multi_head_case_fill(whole, &source, 1.0);
    multi_head_case_store(whole);
    sequence->module = multi_head_case_module(whole);
    sequence->mask = attention_case_mask(&whole->base);
    struct reference_multi_head problem = multi_head_case_problem(whole);
    sequence->expected = reference_multi_head_compute(&problem);
}

static void close_sequence(struct sequence *sequence)
{
    reference_multi_head_result_destroy(&sequence->expected);
    attnzoo_mask_destroy(sequence->mask);
    attnzoo_module_destroy(sequence->module);
    multi_head_case_destroy(&sequence->whole);
}

static attnzoo_state *new_state(const struct sequence *sequence)
{
    attnzoo_state *cache = NULL;
    assert_ok(attnzoo_state_create(&cache, sequence->module, BATCH, CAPACITY));
    return cache;
}

/* A view of the rows first to end of a compact float32 tensor [B, rows, columns]. */
static attnzoo_tensor *rows_of(const struct test_tensor *tensor, int64_t first, int64_t end)
{
    attnzoo_tensor *view = NULL;
    int64_t columns = tensor->shape[2];
    float *data = (float *)(void *)tensor->memory.bytes;
    assert_ok(attnzoo_tensor_create(&view, data + first * columns, ATTNZOO_DTYPE_FLOAT32, 3,
                                    (int64_t[]){tensor->shape[0], end - first, columns},
                                    (int64_t[]){tensor->shape[1] * columns, columns, 1}));
    return view;
}

/* Tokens first to end, into their rows of the whole context. Distance d is row LENGTH - 1 - d of the whole table, so M
 * keys begin at row LENGTH - M, and M + N - 1 rows are wanted; a one-sided table ends at row LENGTH. */
static attnzoo_status step(struct sequence *sequence, attnzoo_state *cache, attnzoo_executor *executor, int64_t first,
                           int64_t end)
{
    struct multi_head_case *whole = &sequence->whole;
    attnzoo_tensor *tokens = rows_of(&whole->base.query, first, end);
    attnzoo_tensor *context = rows_of(&whole->base.context, first, end);
    attnzoo_tensor *position = NULL;
    if (whole->position.rank > 0) {
        int64_t keys = attnzoo_state_length(cache) + end - first;
        int64_t rows = keys + end - first - 1;
        if (whole->position.shape[1] == LENGTH)
            rows = keys;
        position = rows_of(&whole->position, LENGTH - keys, LENGTH - keys + (rows > 0 ? rows : 0));
    }
    const attnzoo_tensor *inputs[] = {tokens, tokens, tokens, position};
    attnzoo_tensor *outputs[] = {context};
    attnzoo_status status = attnzoo_module_forward_slots(sequence->module, executor, inputs, position != NULL ? 4 : 3,
                                                         sequence->mask, cache, outputs, 1);
    attnzoo_tensor_destroy(tokens);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(position);
    return status;
}

/* Both fields of a cache as compact floats, with their length. */
struct content {
    int64_t length;
    float *fields[2];
};

static const int64_t COLUMNS[] = {8, 5};

static attnzoo_tensor *field_view(float *data, int field, int64_t length)
{
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, data, ATTNZOO_DTYPE_FLOAT32, 4,
                                    (int64_t[]){BATCH, 2, length, COLUMNS[field]}, NULL));
    return view;
}

static struct content content_of(const attnzoo_state *cache)
{
    struct content content = {.length = attnzoo_state_length(cache)};
    for (int field = 0; field < 2; field++) {
        content.fields[field] = calloc((size_t)(BATCH * 2 * content.length * COLUMNS[field] + 1), sizeof(float));
        assert_non_null(content.fields[field]);
        attnzoo_tensor *view = field_view(content.fields[field], field, content.length);
        assert_ok(attnzoo_state_get_field(cache, field, view));
        attnzoo_tensor_destroy(view);
    }
    return content;
}

static void free_content(struct content *content)
{
    free(content->fields[0]);
    free(content->fields[1]);
}

static bool contents_are_same(const struct content *a, const struct content *b)
{
    if (a->length != b->length)
        return false;
    for (int field = 0; field < 2; field++)
        if (memcmp(a->fields[field], b->fields[field],
                   (size_t)(BATCH * 2 * a->length * COLUMNS[field]) * sizeof(float)) != 0)
            return false;
    return true;
}

/* Frees what was there before. */
static void assert_holds(const attnzoo_state *cache, struct content *before)
{
    struct content now = content_of(cache);
    assert_true(contents_are_same(before, &now));
    free_content(&now);
    free_content(before);
}

static void assert_whole_context(struct sequence *sequence)
{
    test_tensor_load(&sequence->whole.base.context);
    assert_true(attention_case_compare_tensor(&sequence->whole.base.context, sequence->expected.context,
                                              sequence->expected.context_bound, "context"));
}

/* Causal, bottom-right: a step's query stands at the last key, which is its own. */
static void p41_prefill_and_steps_give_what_one_causal_call_gives(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int is_one_sided = 0; is_one_sided < 2; is_one_sided++)
            for (int64_t prefill = 0; prefill <= LENGTH; prefill += 3)
                for (int64_t width = 1; width <= 2; width++) {
                    struct sequence sequence;
                    attnzoo_executor *executor = NULL;
                    assert_ok(attnzoo_executor_create(&executor, 2));
                    open_sequence(&sequence, flavor, is_one_sided != 0);
                    attnzoo_state *cache = new_state(&sequence);
                    assert_ok(step(&sequence, cache, executor, 0, prefill));
                    for (int64_t t = prefill; t < LENGTH; t += width) {
                        assert_int_equal(attnzoo_state_length(cache), t);
                        assert_ok(step(&sequence, cache, executor, t, t + width < LENGTH ? t + width : LENGTH));
                    }
                    assert_whole_context(&sequence);
                    attnzoo_state_destroy(cache);
                    attnzoo_executor_destroy(executor);
                    close_sequence(&sequence);
                }
}

static void fields_have_the_shapes_that_are_told(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct sequence sequence;
        open_sequence(&sequence, flavor, false);
        attnzoo_state *cache = new_state(&sequence);
        assert_int_equal(attnzoo_state_batch(cache), BATCH);
        assert_int_equal(attnzoo_state_capacity(cache), CAPACITY);
        for (int64_t length = 0; length < 5; length += 4) {
            assert_ok(step(&sequence, cache, NULL, 0, length));
            assert_int_equal(attnzoo_state_length(cache), length);
            for (int field = 0; field < 2; field++) {
                int32_t rank = 0;
                int64_t shape[ATTNZOO_RANK_MAX] = {0};
                assert_ok(attnzoo_state_field_shape(cache, field, &rank, shape));
                assert_int_equal(rank, 4);
                const int64_t expected[] = {BATCH, 2, length, COLUMNS[field]};
                assert_memory_equal(shape, expected, sizeof expected);
            }
        }
        int32_t rank;
        int64_t shape[ATTNZOO_RANK_MAX];
        assert_status(attnzoo_state_field_shape(cache, 2, &rank, shape), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_status(attnzoo_state_field_shape(cache, -1, &rank, shape), ATTNZOO_STATUS_INVALID_ARGUMENT);
        attnzoo_state_destroy(cache);
        close_sequence(&sequence);
    }
    const char *const names[] = {"key", "value"};
    for (int field = 0; field < 2; field++)
        assert_string_equal(attnzoo_item_text("multi_head", ATTNZOO_ITEM_STATE, field, ATTNZOO_FIELD_NAME),
                            names[field]);
    assert_int_equal(attnzoo_item_count("relative_multi_head", ATTNZOO_ITEM_STATE), 2);
}

/* The shape of the attention counts the keys that are kept. */
static void output_shapes_count_past_keys(void **state)
{
    (void)state;
    struct sequence sequence;
    open_sequence(&sequence, REFERENCE_PLAIN, false);
    attnzoo_state *cache = new_state(&sequence);
    assert_ok(step(&sequence, cache, NULL, 0, 6));
    attnzoo_tensor *token = rows_of(&sequence.whole.base.query, 6, 7);
    const attnzoo_tensor *inputs[] = {token, token, token};
    int32_t rank = 0;
    int64_t shape[ATTNZOO_RANK_MAX] = {0};
    assert_ok(attnzoo_module_output_shape(sequence.module, inputs, 3, cache, ATTNZOO_OUTPUT_ATTENTION, &rank, shape));
    const int64_t expected[] = {BATCH, 4, 1, 7};
    assert_int_equal(rank, 4);
    assert_memory_equal(shape, expected, sizeof expected);
    attnzoo_tensor_destroy(token);
    attnzoo_state_destroy(cache);
    close_sequence(&sequence);
}

/* A refused call leaves the cache and the context as they were, and the next one works. */
static void past_the_capacity_is_refused_and_nothing_changes(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct sequence sequence;
        open_sequence(&sequence, flavor, false);
        attnzoo_state *cache = NULL;
        assert_ok(attnzoo_state_create(&cache, sequence.module, BATCH, 6));
        assert_ok(step(&sequence, cache, NULL, 0, 5));
        struct content before = content_of(cache);
        test_tensor_poison(&sequence.whole.base.context);
        assert_refused(step(&sequence, cache, NULL, 5, 7), ATTNZOO_STATUS_INVALID_ARGUMENT, "6");
        assert_error_contains("5");
        assert_error_contains("2");
        assert_true(test_tensor_is_untouched(&sequence.whole.base.context));
        assert_holds(cache, &before);
        assert_ok(step(&sequence, cache, NULL, 5, 6));
        assert_status(step(&sequence, cache, NULL, 6, 7), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_int_equal(attnzoo_state_length(cache), 6);
        attnzoo_state_destroy(cache);
        close_sequence(&sequence);
    }
}

/* Wrong tokens are taken back, and what follows is as if they had never been. */
static void truncated_caches_are_continued(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct sequence sequence;
        open_sequence(&sequence, flavor, false);
        attnzoo_state *cache = new_state(&sequence);
        assert_ok(step(&sequence, cache, NULL, 0, 4));
        struct content before = content_of(cache);
        assert_ok(step(&sequence, cache, NULL, 4, 7));
        assert_ok(attnzoo_state_truncate(cache, 7));
        assert_ok(attnzoo_state_truncate(cache, 100));
        assert_int_equal(attnzoo_state_length(cache), 7);
        assert_status(attnzoo_state_truncate(cache, -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_status(attnzoo_state_truncate(NULL, 0), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_ok(attnzoo_state_truncate(cache, 4));
        assert_int_equal(attnzoo_state_length(cache), 4);
        assert_holds(cache, &before);
        for (int64_t t = 4; t < LENGTH; t++)
            assert_ok(step(&sequence, cache, NULL, t, t + 1));
        assert_whole_context(&sequence);
        assert_ok(attnzoo_state_truncate(cache, 0));
        assert_int_equal(attnzoo_state_length(cache), 0);
        attnzoo_state_destroy(cache);
        close_sequence(&sequence);
    }
}

static void a_reset_cache_is_as_a_new_one(void **state)
{
    (void)state;
    struct sequence sequence;
    open_sequence(&sequence, REFERENCE_PLAIN, false);
    attnzoo_state *cache = new_state(&sequence);
    for (int64_t first = 5; first >= 0; first -= 5) {
        assert_ok(step(&sequence, cache, NULL, first, LENGTH));
        if (first == 0)
            break;
        assert_ok(attnzoo_state_reset(cache));
        assert_int_equal(attnzoo_state_length(cache), 0);
        assert_int_equal(attnzoo_state_capacity(cache), CAPACITY);
    }
    assert_whole_context(&sequence);
    assert_status(attnzoo_state_reset(NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    attnzoo_state_destroy(cache);
    attnzoo_state_destroy(NULL);
    close_sequence(&sequence);
}

/* What the rest of the sequence gives, from token 5 on, into memory of its own. */
static void continue_into(struct sequence *sequence, attnzoo_state *cache, float *context)
{
    for (int64_t t = 5; t < LENGTH; t++)
        assert_ok(step(sequence, cache, NULL, t, t + 1));
    memcpy(context, sequence->whole.base.context.memory.bytes, BATCH * LENGTH * 10 * sizeof *context);
    test_tensor_poison(&sequence->whole.base.context);
}

/* A copy, and a cache made of what another one gave, continue to the bit as the first does. */
static void copies_and_round_trips_continue_to_the_bit(void **state)
{
    (void)state;
    static float contexts[3][BATCH * LENGTH * 10];
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        struct sequence sequence;
        open_sequence(&sequence, flavor, false);
        attnzoo_state *cache = new_state(&sequence);
        assert_ok(step(&sequence, cache, NULL, 0, 5));
        attnzoo_state *copy = NULL, *restored = NULL;
        assert_ok(attnzoo_state_create(&copy, sequence.module, BATCH, LENGTH));
        assert_ok(attnzoo_state_create(&restored, sequence.module, BATCH, LENGTH + 1));
        assert_ok(step(&sequence, copy, NULL, 2, 4));
        assert_ok(attnzoo_state_copy(copy, cache));
        struct content content = content_of(cache);
        attnzoo_tensor *fields[2];
        for (int field = 0; field < 2; field++)
            fields[field] = field_view(content.fields[field], field, 5);
        assert_ok(attnzoo_state_set_fields(restored, (const attnzoo_tensor *const[]){fields[0], fields[1]}, 2));
        attnzoo_state *const caches[] = {cache, copy, restored};
        for (int i = 0; i < 3; i++) {
            struct content same = content_of(caches[i]);
            assert_true(contents_are_same(&content, &same));
            free_content(&same);
            test_tensor_poison(&sequence.whole.base.context);
            continue_into(&sequence, caches[i], contexts[i]);
            assert_memory_equal(contexts[0], contexts[i], sizeof contexts[0]);
            attnzoo_state_destroy(caches[i]);
        }
        free_content(&content);
        attnzoo_tensor_destroy(fields[0]);
        attnzoo_tensor_destroy(fields[1]);
        close_sequence(&sequence);
    }
}

/* A field comes out in halves, rounded to nearest, in any layout. */
static void fields_come_out_in_halves(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    struct sequence sequence;
    open_sequence(&sequence, REFERENCE_PLAIN, false);
    attnzoo_state *cache = new_state(&sequence);
    assert_ok(step(&sequence, cache, NULL, 0, 4));
    struct content content = content_of(cache);
    for (int type = 0; type < 2; type++)
        for (int field = 0; field < 2; field++) {
            struct test_tensor halves = test_tensor_plan(types[type], 4, (int64_t[]){BATCH, 2, 4, COLUMNS[field]});
            halves.order[1] = 2;
            halves.order[2] = 1;
            halves.reversed[3] = true;
            halves.padding[2] = 3;
            test_tensor_allocate(&halves);
            assert_ok(attnzoo_state_get_field(cache, field, halves.view));
            test_tensor_load(&halves);
            for (int64_t i = 0; i < halves.count; i++)
                assert_true(halves.values[i] == element_rounded(types[type], (double)content.fields[field][i]));
            assert_true(test_tensor_gaps_are_untouched(&halves));
            test_tensor_destroy(&halves);
        }
    assert_holds(cache, &content);
    attnzoo_state_destroy(cache);
    close_sequence(&sequence);
}

/* What set_fields refuses, and that it changes nothing. */
static void wrong_fields_are_refused(void **state)
{
    (void)state;
    struct sequence sequence;
    open_sequence(&sequence, REFERENCE_PLAIN, false);
    attnzoo_state *cache = new_state(&sequence);
    assert_ok(step(&sequence, cache, NULL, 0, 4));
    struct content before = content_of(cache);
    static float room[BATCH * 2 * (CAPACITY + 1) * 8];
    attnzoo_tensor *key = field_view(room, 0, 3), *value = field_view(room, 1, 3), *longer = field_view(room, 1, 4);
    attnzoo_tensor *key_above = field_view(room, 0, CAPACITY + 1), *value_above = field_view(room, 1, CAPACITY + 1);
    attnzoo_tensor *ids = NULL;
    assert_ok(attnzoo_tensor_create(&ids, room, ATTNZOO_DTYPE_INT32, 4, (int64_t[]){BATCH, 2, 3, 8}, NULL));
    const struct {
        const attnzoo_tensor *fields[3];
        int32_t count;
        attnzoo_status status;
    } cases[] = {
        {{key, NULL, NULL}, 2, ATTNZOO_STATUS_INVALID_ARGUMENT},
        {{NULL, value, NULL}, 2, ATTNZOO_STATUS_INVALID_ARGUMENT},
        {{key, value, NULL}, 1, ATTNZOO_STATUS_INVALID_ARGUMENT},
        {{key_above, value_above, NULL}, 2, ATTNZOO_STATUS_INVALID_ARGUMENT},
        {{key, longer, NULL}, 2, ATTNZOO_STATUS_SHAPE_MISMATCH},
        {{value, key, NULL}, 2, ATTNZOO_STATUS_SHAPE_MISMATCH},
        {{ids, value, NULL}, 2, ATTNZOO_STATUS_DTYPE_MISMATCH},
        {{key, value, key}, 3, ATTNZOO_STATUS_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_status(attnzoo_state_set_fields(cache, cases[i].fields, cases[i].count), cases[i].status);
    assert_status(attnzoo_state_set_fields(cache, NULL, 2), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_get_field(cache, 0, key), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_holds(cache, &before);
    attnzoo_tensor *const views[] = {key, value, longer, key_above, value_above, ids};
    for (int i = 0; i < 6; i++)
        attnzoo_tensor_destroy(views[i]);
    attnzoo_state_destroy(cache);
    close_sequence(&sequence);
}

/* A copy needs the same kind of cache and room. */
static void wrong_copies_are_refused(void **state)
{
    (void)state;
    struct sequence sequence;
    open_sequence(&sequence, REFERENCE_PLAIN, false);
    attnzoo_state *cache = new_state(&sequence);
    attnzoo_state *narrow = NULL, *other_batch = NULL;
    assert_ok(attnzoo_state_create(&narrow, sequence.module, BATCH, 3));
    assert_ok(attnzoo_state_create(&other_batch, sequence.module, BATCH + 1, CAPACITY));
    assert_ok(step(&sequence, cache, NULL, 0, 4));
    assert_ok(step(&sequence, narrow, NULL, 0, 2));
    struct content before = content_of(narrow);
    assert_refused(attnzoo_state_copy(narrow, cache), ATTNZOO_STATUS_INVALID_ARGUMENT, "3");
    assert_holds(narrow, &before);
    assert_status(attnzoo_state_copy(other_batch, cache), ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_status(attnzoo_state_copy(NULL, cache), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_copy(cache, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_ok(attnzoo_state_truncate(cache, 3));
    assert_ok(attnzoo_state_copy(narrow, cache));
    attnzoo_state_destroy(narrow);
    attnzoo_state_destroy(other_batch);
    attnzoo_state_destroy(cache);
    close_sequence(&sequence);
}

/* A cache serves the module and the batch that it was made for. */
static void other_modules_and_batches_are_refused(void **state)
{
    (void)state;
    struct sequence sequence;
    open_sequence(&sequence, REFERENCE_PLAIN, false);
    attnzoo_module *own = sequence.module;
    attnzoo_state *cache = new_state(&sequence);
    assert_ok(step(&sequence, cache, NULL, 0, 2));
    struct content before = content_of(cache);
    test_tensor_poison(&sequence.whole.base.context);
    sequence.module = multi_head_case_module(&sequence.whole);
    attnzoo_status status = step(&sequence, cache, NULL, 2, 3);
    assert_true(status == ATTNZOO_STATUS_BAD_STATE || status == ATTNZOO_STATUS_SHAPE_MISMATCH);
    attnzoo_module_destroy(sequence.module);
    sequence.module = own;
    attnzoo_state *other_batch = NULL;
    assert_ok(attnzoo_state_create(&other_batch, own, BATCH + 1, CAPACITY));
    status = step(&sequence, other_batch, NULL, 0, 1);
    assert_true(status == ATTNZOO_STATUS_BAD_STATE || status == ATTNZOO_STATUS_SHAPE_MISMATCH);
    assert_int_equal(attnzoo_state_length(other_batch), 0);
    assert_true(test_tensor_is_untouched(&sequence.whole.base.context));
    assert_holds(cache, &before);
    attnzoo_state_destroy(other_batch);
    attnzoo_state_destroy(cache);
    close_sequence(&sequence);
}

static void creation_checks_its_arguments(void **state)
{
    (void)state;
    struct sequence sequence;
    open_sequence(&sequence, REFERENCE_PLAIN, false);
    attnzoo_state *const marker = (attnzoo_state *)(void *)&sequence;
    attnzoo_state *cache = marker;
    attnzoo_module *unprepared = multi_head_case_unprepared(&sequence.whole);
    attnzoo_module *stateless = NULL;
    assert_ok(attnzoo_module_create(&stateless, "scaled_dot_product"));
    assert_ok(attnzoo_module_prepare(stateless));
    assert_status(attnzoo_state_create(NULL, sequence.module, 1, 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&cache, NULL, 1, 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&cache, sequence.module, -1, 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&cache, sequence.module, 1, -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&cache, sequence.module, INT64_MAX, INT64_MAX), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_state_create(&cache, unprepared, 1, 1), ATTNZOO_STATUS_BAD_STATE);
    assert_status(attnzoo_state_create(&cache, stateless, 1, 1), ATTNZOO_STATUS_UNSUPPORTED);
    assert_ptr_equal(cache, marker);
    assert_ok(attnzoo_state_create(&cache, sequence.module, 0, 0));
    assert_int_equal(attnzoo_state_capacity(cache), 0);
    assert_int_equal(attnzoo_state_length(cache), 0);
    attnzoo_state_destroy(cache);
    assert_int_equal(attnzoo_state_length(NULL), -1);
    assert_int_equal(attnzoo_state_capacity(NULL), -1);
    assert_int_equal(attnzoo_state_batch(NULL), -1);
    attnzoo_module_destroy(unprepared);
    attnzoo_module_destroy(stateless);
    close_sequence(&sequence);
}

/* Keys beyond a length are kept as zeros, in self-attention too, whatever they held, and later calls may see them. */
static void padded_keys_are_kept_as_zeros(void **state)
{
    (void)state;
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int is_shared = 0; is_shared < 2; is_shared++)
            for (int64_t past = 0; past <= 3; past += 3) {
                struct multi_head_sizes sizes = sizes_of(flavor, 5, 5);
                struct multi_head_case test;
                struct random_source source = {19};
                sizes.past = past;
                multi_head_case_plan(&test, sizes);
                multi_head_case_plan_bias(&test, KEY_BIAS);
                multi_head_case_plan_bias(&test, VALUE_BIAS);
                if (is_shared != 0)
                    multi_head_case_share_all(&test);
                attention_case_plan_key_lengths(&test.base);
                multi_head_case_plan_state(&test, past + 5);
                multi_head_case_allocate(&test);
                multi_head_case_fill(&test, &source, 1.0);
                test.base.key_lengths.values[0] = (double)past + 2;
                test.base.key_lengths.values[1] = (double)past - (past > 0);
                if (is_shared == 0)
                    test.base.key.values[3 * 12] = test.base.value.values[4 * 12] = NAN;
                multi_head_case_check(&test, NULL);
                for (int64_t g = 0; g < 2; g++)
                    for (int64_t i = 2 * 8; i < 5 * 8; i++)
                        assert_true(test.kept_key.values[(g * (past + 5) + past) * 8 + i] == 0.0);
                multi_head_case_destroy(&test);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p41_prefill_and_steps_give_what_one_causal_call_gives),
        cmocka_unit_test(fields_have_the_shapes_that_are_told),
        cmocka_unit_test(output_shapes_count_past_keys),
        cmocka_unit_test(past_the_capacity_is_refused_and_nothing_changes),
        cmocka_unit_test(truncated_caches_are_continued),
        cmocka_unit_test(a_reset_cache_is_as_a_new_one),
        cmocka_unit_test(copies_and_round_trips_continue_to_the_bit),
        cmocka_unit_test(fields_come_out_in_halves),
        cmocka_unit_test(wrong_fields_are_refused),
        cmocka_unit_test(wrong_copies_are_refused),
        cmocka_unit_test(other_modules_and_batches_are_refused),
        cmocka_unit_test(creation_checks_its_arguments),
        cmocka_unit_test(padded_keys_are_kept_as_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
