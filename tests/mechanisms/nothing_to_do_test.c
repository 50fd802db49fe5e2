/*
 * tests/mechanisms/nothing_to_do_test.c: calls, and parts of calls, that come to nothing: no queries, however many keys;
 * queries past their length; numbers of heads that no machine has.
 */
#include "support/guarded_memory.h"
#include "support/testing.h"

#include <string.h>

enum { SIZE = 4 };

static const char *const PROJECTED[] = {"multi_head", "relative_multi_head"};

static void set_parameter(attnzoo_module *module, const char *name, int64_t rows, int64_t columns)
{
    static const float numbers[SIZE * SIZE] = {1.0f, 0.5f, -0.25f, 0.125f};
    const int64_t shape[] = {rows, columns};
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&view, numbers, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL));
    assert_ok(attnzoo_module_set_parameter(module, name, view));
    attnzoo_tensor_destroy(view);
}

/* With small square projections, or, for the additive ones, with none. */
static attnzoo_module *make_module(const char *mechanism)
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, mechanism));
    if (strstr(mechanism, "multi_head") != NULL) {
        set_parameter(module, "query_proj.weight", SIZE, SIZE);
        set_parameter(module, "key_proj.weight", SIZE, SIZE);
        set_parameter(module, "value_proj.weight", SIZE, SIZE);
    }
    if (strcmp(mechanism, "relative_multi_head") == 0) {
        assert_ok(attnzoo_module_set_option_text(module, "flavor", "shaw"));
        set_parameter(module, "relative_key", 3, SIZE);
    }
    if (strcmp(mechanism, "additive") == 0)
        set_parameter(module, "score_proj.weight", 1, SIZE);
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

static attnzoo_tensor *make_view(void *data, int64_t batch, int64_t rows, int64_t row_stride)
{
    const int64_t shape[] = {batch, rows, SIZE}, strides[] = {0, row_stride, 1};
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, data, ATTNZOO_DTYPE_FLOAT32, 3, shape, strides));
    return view;
}

static void no_queries_need_no_memory(void **state)
{
    (void)state;
    static const char *const mechanisms[] = {"scaled_dot_product", "multi_head", "relative_multi_head", "additive"};
    const struct {
        int64_t batch, keys;
    } cases[] = {{1, INT64_C(1) << 50}, {INT64_C(1) << 50, 3}};
    for (size_t i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++)
        for (int way = 0; way < 2; way++) {
            float row[SIZE] = {0.0f}, nothing = 0.0f;
            attnzoo_module *module = make_module(mechanisms[i]);
            /* [B, N, E] and [H, N, D] alike. */
            attnzoo_tensor *query = make_view(&nothing, cases[way].batch, 0, SIZE);
            attnzoo_tensor *key = make_view(row, cases[way].batch, cases[way].keys, 0);
            attnzoo_tensor *context = make_view(&nothing, cases[way].batch, 0, SIZE);
            assert_ok(attnzoo_module_forward(module, NULL, query, key, key, NULL, NULL, context, NULL));
            attnzoo_tensor_destroy(context);
            attnzoo_tensor_destroy(key);
            attnzoo_tensor_destroy(query);
            attnzoo_module_destroy(module);
        }
}

static attnzoo_mask *mask_of_query_length(int64_t *length)
{
    const int64_t shape[] = {1};
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *lengths = NULL;
    assert_ok(attnzoo_tensor_create(&lengths, length, ATTNZOO_DTYPE_INT64, 1, shape, NULL));
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_query_lengths(mask, lengths));
    attnzoo_tensor_destroy(lengths);
    return mask;
}

/* The rows past the length lie where nothing may be read. */
static void queries_past_their_length_are_not_read(void **state)
{
    (void)state;
    static const char *const mechanisms[] = {"scaled_dot_product", "multi_head", "relative_multi_head", "additive"};
    enum { QUERIES = 6, LENGTH = 2 };
    int64_t length = LENGTH;
    for (size_t i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++) {
        struct guarded_memory memory = guarded_memory_create((size_t)LENGTH * SIZE * sizeof(float));
        memset(memory.bytes, 0, memory.size);
        float keys[3 * SIZE] = {1.0f, 2.0f, 3.0f}, contexts[QUERIES * SIZE];
        memset(contexts, 0xff, sizeof contexts);
        attnzoo_module *module = make_module(mechanisms[i]);
        attnzoo_mask *mask = mask_of_query_length(&length);
        attnzoo_tensor *query = make_view(memory.bytes, 1, QUERIES, SIZE);
        attnzoo_tensor *key = make_view(keys, 1, 3, SIZE), *context = make_view(contexts, 1, QUERIES, SIZE);
        assert_ok(attnzoo_module_forward(module, NULL, query, key, key, mask, NULL, context, NULL));
        for (int place = LENGTH * SIZE; place < QUERIES * SIZE; place++)
            assert_true(contexts[place] == 0.0f);
        attnzoo_tensor_destroy(context);
        attnzoo_tensor_destroy(key);
        attnzoo_tensor_destroy(query);
        attnzoo_mask_destroy(mask);
        attnzoo_module_destroy(module);
        guarded_memory_destroy(&memory);
    }
}

static void numbers_above_their_bounds_are_told_those(void **state)
{
    (void)state;
    attnzoo_module *module = NULL;
    for (size_t i = 0; i < sizeof PROJECTED / sizeof *PROJECTED; i++) {
        assert_ok(attnzoo_module_create(&module, PROJECTED[i]));
        assert_refused(attnzoo_module_set_option_int(module, "num_heads", INT64_C(1) << 40),
                       ATTNZOO_STATUS_INVALID_ARGUMENT, "2^31");
        attnzoo_module_destroy(module);
    }
    assert_ok(attnzoo_module_create(&module, "location_aware"));
    assert_refused(attnzoo_module_set_option_int(module, "location_window", INT64_C(1) << 60),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "2^52");
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_queries_need_no_memory),
        cmocka_unit_test(queries_past_their_length_are_not_read),
        cmocka_unit_test(numbers_above_their_bounds_are_told_those),
    };
    return cmocka_run_group_tests_name("nothing to do", tests, NULL, NULL);
}
