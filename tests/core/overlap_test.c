/*
 * tests/core/overlap_test.c: outputs that share memory with an input, a mask, another output or themselves are refused,
 * and views that only look as if they did are not.
 */
#include "support/testing.h"

#include <math.h>
#include <string.h>

enum { N = 4, M = 6, D = 3 };

/* Queries, keys, values and outputs with elements at places of one's choosing in one array. */
struct places {
    float memory[4096];
    attnzoo_tensor *query, *key, *value, *context, *attention, *log_sum_exp;
    attnzoo_module *module;
    attnzoo_mask *mask;
};

static attnzoo_tensor *view_of(float *data, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
{
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create(&tensor, data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){rows, columns},
                                    (int64_t[]){row_stride, column_stride}));
    return tensor;
}

static int set_up(void **state)
{
    static struct places places;
    float *memory = places.memory;
    for (int i = 0; i < 4096; i++)
        memory[i] = (float)sin(i);
    places.query = view_of(memory, N, D, D, 1);
    places.key = view_of(memory + 100, M, D, D, 1);
    places.value = view_of(memory + 200, M, D, D, 1);
    places.context = view_of(memory + 300, N, D, D, 1);
    places.attention = view_of(memory + 400, N, M, M, 1);
    places.log_sum_exp = NULL;
    assert_ok(attnzoo_tensor_create(&places.log_sum_exp, memory + 500, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){N}, NULL));
    assert_ok(attnzoo_module_create(&places.module, "scaled_dot_product"));
    assert_ok(attnzoo_module_prepare(places.module));
    assert_ok(attnzoo_mask_create(&places.mask));
    *state = &places;
    return 0;
}

static int tear_down(void **state)
{
    struct places *places = *state;
    attnzoo_tensor *tensors[] = {places->query,   places->key,       places->value,
                                 places->context, places->attention, places->log_sum_exp};
    for (int i = 0; i < 6; i++)
        attnzoo_tensor_destroy(tensors[i]);
    attnzoo_module_destroy(places->module);
    attnzoo_mask_destroy(places->mask);
    return 0;
}

static attnzoo_status forward(const struct places *places)
{
    const attnzoo_tensor *inputs[] = {places->query, places->key, places->value};
    attnzoo_tensor *outputs[] = {places->context, places->attention, places->log_sum_exp};
    return attnzoo_module_forward_slots(places->module, NULL, inputs, 3, places->mask, NULL, outputs, 3);
}

/* Refused, with both names in the message and not a byte of memory changed. */
static void assert_overlap(struct places *places, const char *output, const char *other)
{
    static float before[4096];
    memcpy(before, places->memory, sizeof before);
    assert_refused(forward(places), ATTNZOO_STATUS_OVERLAP, output);
    assert_error_contains(other);
    assert_memory_equal(places->memory, before, sizeof before);
}

static void outputs_over_inputs_are_refused(void **state)
{
    struct places *places = *state;
    const int places_of_inputs[] = {0, 100, 200};
    const char *inputs[] = {"query", "key", "value"};
    for (int i = 0; i < 3; i++) {
        float *input = places->memory + places_of_inputs[i];
        /* The whole, the last element alone, the first element alone. */
        const ptrdiff_t input_size = i == 0 ? N * D : M * D;
        const ptrdiff_t starts[] = {0, input_size - 1, 1 - N * D};
        for (int k = (i == 0 ? 0 : 2); k >= 0; k--) {
            assert_ok(attnzoo_tensor_set_data(places->context, input + starts[k]));
            assert_overlap(places, "context", inputs[i]);
        }
        assert_ok(attnzoo_tensor_set_data(places->context, places->memory + 300));
        assert_ok(attnzoo_tensor_set_data(places->attention, input + 2));
        assert_overlap(places, "attention", inputs[i]);
        assert_ok(attnzoo_tensor_set_data(places->attention, places->memory + 400));
        assert_ok(attnzoo_tensor_set_data(places->log_sum_exp, input + 5));
        assert_overlap(places, "log_sum_exp", inputs[i]);
        assert_ok(attnzoo_tensor_set_data(places->log_sum_exp, places->memory + 500));
    }
    assert_ok(forward(places));
}

static void outputs_over_each_other_are_refused(void **state)
{
    struct places *places = *state;
    assert_ok(attnzoo_tensor_set_data(places->attention, places->memory + 300 + N * D - 1));
    assert_overlap(places, "context", "attention");
    assert_ok(attnzoo_tensor_set_data(places->attention, places->memory + 400));
    assert_ok(attnzoo_tensor_set_data(places->log_sum_exp, places->memory + 400 + N * M - 1));
    assert_overlap(places, "attention", "log_sum_exp");
    assert_ok(attnzoo_tensor_set_data(places->log_sum_exp, places->memory + 300));
    assert_overlap(places, "context", "log_sum_exp");
}

/* Backwards views reach to lower addresses than where they start. */
static void views_that_run_backwards_are_looked_at_whole(void **state)
{
    struct places *places = *state;
    const int64_t shape[] = {N, D};
    const int64_t backwards[] = {-D, -1};
    float *end_of_query = places->memory + N * D - 1;
    assert_ok(attnzoo_tensor_assign(places->context, end_of_query, ATTNZOO_DTYPE_FLOAT32, 2, shape, backwards));
    assert_overlap(places, "context", "query");
    assert_ok(attnzoo_tensor_assign(places->context, end_of_query + N * D, ATTNZOO_DTYPE_FLOAT32, 2, shape, backwards));
    assert_ok(forward(places));
    assert_ok(
        attnzoo_tensor_assign(places->context, end_of_query + N * D - 1, ATTNZOO_DTYPE_FLOAT32, 2, shape, backwards));
    assert_overlap(places, "context", "query");
}

static void outputs_that_overlap_themselves_are_refused(void **state)
{
    struct places *places = *state;
    const int64_t shape[] = {N, D};
    const int64_t strides[][2] = {{0, 1}, {3, 0}, {1, 1}, {2, 1}, {0, 0}, {1, 2}, {-2, 1}, {1, -4}};
    for (int i = 0; i < 7; i++) {
        assert_ok(
            attnzoo_tensor_assign(places->context, places->memory + 350, ATTNZOO_DTYPE_FLOAT32, 2, shape, strides[i]));
        assert_overlap(places, "context", "context");
    }
    /* Columns beside each other, backwards: no element twice. */
    assert_ok(
        attnzoo_tensor_assign(places->context, places->memory + 350, ATTNZOO_DTYPE_FLOAT32, 2, shape, strides[7]));
    assert_ok(forward(places));
}

/* A zero stride along an axis of size 1 repeats nothing. */
static void a_zero_stride_over_one_element_is_fine(void **state)
{
    struct places *places = *state;
    assert_ok(attnzoo_tensor_assign(places->context, places->memory + 300, ATTNZOO_DTYPE_FLOAT32, 4,
                                    (int64_t[]){1, 1, N, D}, (int64_t[]){0, 0, D, 1}));
    assert_ok(forward(places));
}

static void outputs_over_masks_are_refused(void **state)
{
    struct places *places = *state;
    static const struct {
        const char *name;
        attnzoo_status (*set)(attnzoo_mask *, const attnzoo_tensor *);
        int32_t dtype, rank;
        int64_t shape[2];
    } masks[] = {{"boolean", attnzoo_mask_set_boolean, ATTNZOO_DTYPE_INT32, 2, {N, M}},
                 {"bias", attnzoo_mask_set_bias, ATTNZOO_DTYPE_FLOAT32, 2, {N, M}},
                 {"slopes", attnzoo_mask_set_linear_bias, ATTNZOO_DTYPE_FLOAT32, 1, {1}},
                 {"key lengths", attnzoo_mask_set_key_lengths, ATTNZOO_DTYPE_INT32, 1, {1}},
                 {"query lengths", attnzoo_mask_set_query_lengths, ATTNZOO_DTYPE_INT32, 1, {1}},
                 {"query offsets", attnzoo_mask_set_query_offsets, ATTNZOO_DTYPE_INT32, 1, {1}},
                 {"segments", attnzoo_mask_set_segments, ATTNZOO_DTYPE_INT32, 2, {1, M}}};
    float *shared = places->memory + 600;
    memset(shared, 0, 64 * sizeof *shared);
    for (int i = 0; i < 7; i++) {
        attnzoo_tensor *tensor = NULL;
        assert_ok(attnzoo_tensor_create_readonly(&tensor, shared, masks[i].dtype, masks[i].rank, masks[i].shape, NULL));
        assert_ok(masks[i].set(places->mask, tensor));
        attnzoo_tensor_destroy(tensor);
        assert_ok(forward(places));
        attnzoo_tensor *outputs[] = {places->context, places->attention, places->log_sum_exp};
        const char *names[] = {"context", "attention", "log_sum_exp"};
        for (int output = 0; output < 3; output++) {
            assert_ok(attnzoo_tensor_set_data(outputs[output], shared));
            assert_overlap(places, names[output], "mask");
            assert_ok(attnzoo_tensor_set_data(outputs[output], places->memory + 300 + 100 * output));
        }
        assert_ok(masks[i].set(places->mask, NULL));
    }
}

/* Each element of a row of context lies beside one of attention; rows of all outputs lie between rows of inputs. */
static void interleaved_views_that_share_no_element_are_fine(void **state)
{
    struct places *places = *state;
    float *memory = places->memory + 1000;
    assert_ok(attnzoo_tensor_assign(places->context, memory, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){N, D},
                                    (int64_t[]){2 * M, 2}));
    assert_ok(attnzoo_tensor_assign(places->attention, memory + 1, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){N, M},
                                    (int64_t[]){2 * M, 2}));
    assert_ok(forward(places));
    /* Query, key, value and context side by side in rows of 16. */
    attnzoo_tensor *rows[] = {places->query, places->key, places->value, places->context};
    const int64_t counts[] = {N, M, M, N};
    for (int i = 0; i < 4; i++)
        assert_ok(attnzoo_tensor_assign(rows[i], memory + 4 * i, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){counts[i], D},
                                        (int64_t[]){16, 1}));
    assert_ok(attnzoo_tensor_set_data(places->attention, places->memory + 400));
    assert_ok(attnzoo_tensor_assign(places->attention, places->memory + 400, ATTNZOO_DTYPE_FLOAT32, 2,
                                    (int64_t[]){N, M}, NULL));
    assert_ok(forward(places));
    /* One element wider, and the context reaches into the next row's query. */
    assert_ok(attnzoo_tensor_assign(places->context, memory + 14, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){N, D},
                                    (int64_t[]){16, 1}));
    assert_overlap(places, "context", "query");
    /* The other way round: the query of one row reaches into the next row's context. */
    assert_ok(attnzoo_tensor_set_data(places->query, memory + 14));
    assert_ok(attnzoo_tensor_set_data(places->context, memory));
    assert_overlap(places, "context", "query");
}

static void inputs_may_overlap_each_other(void **state)
{
    struct places *places = *state;
    assert_ok(attnzoo_tensor_set_data(places->value, places->memory + 100));
    assert_ok(attnzoo_tensor_set_data(places->query, places->memory + 102));
    assert_ok(forward(places));
}

static void views_without_elements_overlap_nothing(void **state)
{
    struct places *places = *state;
    const int64_t no_queries[] = {0, D};
    assert_ok(attnzoo_tensor_assign(places->query, places->memory, ATTNZOO_DTYPE_FLOAT32, 2, no_queries, NULL));
    assert_ok(attnzoo_tensor_assign(places->context, places->memory + 101, ATTNZOO_DTYPE_FLOAT32, 2, no_queries, NULL));
    assert_ok(attnzoo_tensor_assign(places->attention, places->memory + 101, ATTNZOO_DTYPE_FLOAT32, 2,
                                    (int64_t[]){0, M}, NULL));
    assert_ok(attnzoo_tensor_assign(places->log_sum_exp, places->memory + 101, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){0},
                                    NULL));
    assert_ok(forward(places));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(outputs_over_inputs_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_over_each_other_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_that_run_backwards_are_looked_at_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_that_overlap_themselves_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_zero_stride_over_one_element_is_fine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_over_masks_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(interleaved_views_that_share_no_element_are_fine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inputs_may_overlap_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_without_elements_overlap_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
