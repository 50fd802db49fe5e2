/*
 * tests/kernels/attention_output_test.c: attention that is made again after the sums are known (because it is not
 * compact float32, or averaged over the heads) is the attention that is kept, to the bit, however large scores are; and
 * what is NaN stays where it is with a BLAS that scales what it overwrites by zero. Links the library's objects with a
 * cblas_sgemm and a cblas_sgemv that do so.
 */
#include "support/testing.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR_NO_TRANSPOSE = 111 };

void __real_cblas_sgemm(int order, int transpose_a, int transpose_b, int rows, int columns, int inner, float scale,
                        const float *a, int a_step, const float *b, int b_step, float keep, float *c, int c_step);
void __wrap_cblas_sgemm(int order, int transpose_a, int transpose_b, int rows, int columns, int inner, float scale,
                        const float *a, int a_step, const float *b, int b_step, float keep, float *c, int c_step);
void __real_cblas_sgemv(int order, int transpose, int rows, int columns, float scale, const float *a, int a_step,
                        const float *x, int x_step, float keep, float *y, int y_step);
void __wrap_cblas_sgemv(int order, int transpose, int rows, int columns, float scale, const float *a, int a_step,
                        const float *x, int x_step, float keep, float *y, int y_step);

void __wrap_cblas_sgemm(int order, int transpose_a, int transpose_b, int rows, int columns, int inner, float scale,
                        const float *a, int a_step, const float *b, int b_step, float keep, float *c, int c_step)
{
    for (int64_t row = 0; keep == 0.0f && row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            c[row * c_step + column] *= 0.0f;
    __real_cblas_sgemm(order, transpose_a, transpose_b, rows, columns, inner, scale, a, a_step, b, b_step,
                       keep == 0.0f ? 1.0f : keep, c, c_step);
}

void __wrap_cblas_sgemv(int order, int transpose, int rows, int columns, float scale, const float *a, int a_step,
                        const float *x, int x_step, float keep, float *y, int y_step)
{
    int64_t length = transpose == ROW_MAJOR_NO_TRANSPOSE ? rows : columns;
    for (int64_t i = 0; keep == 0.0f && i < length; i++)
        y[i * y_step] *= 0.0f;
    __real_cblas_sgemv(order, transpose, rows, columns, scale, a, a_step, x, x_step, keep == 0.0f ? 1.0f : keep, y,
                       y_step);
}

static float *random_numbers(int64_t count, float largest)
{
    float *numbers = malloc((size_t)count * sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = ((float)rand() / (float)RAND_MAX * 2.0f - 1.0f) * largest;
    return numbers;
}

static attnzoo_tensor *view(float *data, int32_t rank, const int64_t *shape, const int64_t *strides)
{
    attnzoo_tensor *tensor;
    assert_ok(attnzoo_tensor_create(&tensor, data, ATTNZOO_DTYPE_FLOAT32, rank, shape, strides));
    return tensor;
}

struct sizes {
    int64_t batches, heads, groups, queries, keys, columns;
    bool is_causal;
};

/* Self-made inputs of a size, and what all calls over them share. */
struct inputs {
    float *memory[4];
    attnzoo_tensor *query, *key, *value, *context;
};

static void open_inputs(struct inputs *inputs, const int64_t *query_shape, const int64_t *key_shape, int32_t rank,
                        float largest)
{
    int64_t query_count = 1, key_count = 1;
    for (int32_t axis = 0; axis < rank; axis++) {
        query_count *= query_shape[axis];
        key_count *= key_shape[axis];
    }
    inputs->memory[0] = random_numbers(query_count, largest);
    inputs->memory[1] = random_numbers(key_count, largest);
    inputs->memory[2] = random_numbers(key_count, 1.0f);
    inputs->memory[3] = random_numbers(query_count, 1.0f);
    inputs->query = view(inputs->memory[0], rank, query_shape, NULL);
    inputs->key = view(inputs->memory[1], rank, key_shape, NULL);
    inputs->value = view(inputs->memory[2], rank, key_shape, NULL);
    inputs->context = view(inputs->memory[3], rank, query_shape, NULL);
}

static void close_inputs(struct inputs *inputs)
{
    attnzoo_tensor_destroy(inputs->query);
    attnzoo_tensor_destroy(inputs->key);
    attnzoo_tensor_destroy(inputs->value);
    attnzoo_tensor_destroy(inputs->context);
    for (int i = 0; i < 4; i++)
        free(inputs->memory[i]);
}

static bool are_same(float left, float right)
{
    return memcmp(&left, &right, sizeof left) == 0 || (isnan(left) && isnan(right));
}

/* The first of all queries is NaN where that is asked for: then so is its row, and only that. */
static void compare_strided_with_kept(const struct sizes *sizes, float largest, bool has_nan)
{
    const int64_t query_shape[] = {sizes->batches, sizes->heads, sizes->queries, sizes->columns};
    const int64_t key_shape[] = {sizes->batches, sizes->groups, sizes->keys, sizes->columns};
    const int64_t shape[] = {sizes->batches, sizes->heads, sizes->queries, sizes->keys};
    const int64_t strides[] = {sizes->heads * sizes->queries * sizes->keys * 2, sizes->queries * sizes->keys * 2,
                               sizes->keys * 2, 2};
    int64_t count = sizes->batches * sizes->heads * sizes->queries * sizes->keys;
    float *kept = random_numbers(count, 1.0f), *again = random_numbers(2 * count, 1.0f);
    struct inputs inputs;
    open_inputs(&inputs, query_shape, key_shape, 4, largest);
    if (has_nan)
        inputs.memory[0][0] = NAN;
    attnzoo_module *module;
    attnzoo_mask *mask;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_causal(mask, sizes->is_causal));
    attnzoo_tensor *attention = view(kept, 4, shape, NULL), *strided = view(again, 4, shape, strides);
    assert_ok(attnzoo_module_forward(module, NULL, inputs.query, inputs.key, inputs.value, mask, NULL, inputs.context,
                                     attention));
    assert_ok(attnzoo_module_forward(module, NULL, inputs.query, inputs.key, inputs.value, mask, NULL, inputs.context,
                                     strided));
    for (int64_t i = 0; i < count; i++)
        assert_true(are_same(kept[i], again[2 * i]));
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(isnan(again[2 * i]) != 0, has_nan && i < sizes->keys);
    attnzoo_tensor_destroy(attention);
    attnzoo_tensor_destroy(strided);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    close_inputs(&inputs);
    free(kept);
    free(again);
}

static void attention_that_is_made_again_is_the_one_that_is_kept(void **state)
{
    (void)state;
    static const struct sizes all[] = {
        {1, 1, 1, 48, 600, 50, false},   {1, 4, 1, 143, 533, 105, true}, {2, 2, 2, 72, 599, 100, false},
        {1, 2, 2, 450, 470, 16, true},   {1, 3, 1, 98, 577, 7, true},    {1, 1, 1, 3, 5000, 8, false},
        {1, 1, 1, 40, 5000, 200, false}, {2, 1, 1, 1, 7, 3, true},
    };
    srand(11);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (float largest = 1.0f; largest < 1e6f; largest *= 1000.0f)
            compare_strided_with_kept(&all[i], largest, false);
}

static void a_nan_row_is_nan_where_attention_is_made_again(void **state)
{
    (void)state;
    static const struct sizes all[] = {{1, 2, 2, 450, 470, 16, true}, {1, 1, 1, 3, 5000, 8, false}};
    srand(17);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        compare_strided_with_kept(&all[i], 1.0f, true);
}

/* A multi_head module of so many heads whose projections change nothing. */
static attnzoo_module *plain_multi_head(int64_t heads, int64_t features, bool averages)
{
    static const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight", "out_proj.weight"};
    const int64_t shape[] = {features, features};
    float *identity = calloc((size_t)(features * features), sizeof *identity);
    assert_non_null(identity);
    for (int64_t i = 0; i < features; i++)
        identity[i * features + i] = 1.0f;
    attnzoo_tensor *weight = view(identity, 2, shape, NULL);
    attnzoo_module *module;
    assert_ok(attnzoo_module_create(&module, "multi_head"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", heads));
    assert_ok(attnzoo_module_set_option_bool(module, "average_heads", averages));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_ok(attnzoo_module_set_parameter(module, names[i], weight));
    assert_ok(attnzoo_module_prepare(module));
    attnzoo_tensor_destroy(weight);
    free(identity);
    return module;
}

static void compare_average_over_one_head(const attnzoo_mask *mask)
{
    enum { BATCHES = 2, QUERIES = 150, KEYS = 700, FEATURES = 24 };
    const int64_t query_shape[] = {BATCHES, QUERIES, FEATURES}, key_shape[] = {BATCHES, KEYS, FEATURES};
    const int64_t shape[] = {BATCHES, 1, QUERIES, KEYS}, average_shape[] = {BATCHES, QUERIES, KEYS};
    enum { COUNT = BATCHES * QUERIES * KEYS };
    srand(12);
    for (float largest = 1.0f; largest < 1e6f; largest *= 1000.0f) {
        float *kept = random_numbers(COUNT, 1.0f), *averaged = random_numbers(COUNT, 1.0f);
        struct inputs inputs;
        open_inputs(&inputs, query_shape, key_shape, 3, largest);
        attnzoo_module *each = plain_multi_head(1, FEATURES, false), *all = plain_multi_head(1, FEATURES, true);
        attnzoo_tensor *attention = view(kept, 4, shape, NULL), *average = view(averaged, 3, average_shape, NULL);
        assert_ok(attnzoo_module_forward(each, NULL, inputs.query, inputs.key, inputs.value, mask, NULL, inputs.context,
                                         attention));
        assert_ok(attnzoo_module_forward(all, NULL, inputs.query, inputs.key, inputs.value, mask, NULL, inputs.context,
                                         average));
        assert_memory_equal(kept, averaged, COUNT * sizeof *kept);
        attnzoo_tensor_destroy(attention);
        attnzoo_tensor_destroy(average);
        attnzoo_module_destroy(each);
        attnzoo_module_destroy(all);
        close_inputs(&inputs);
        free(kept);
        free(averaged);
    }
}

static void average_over_one_head_is_its_attention(void **state)
{
    (void)state;
    compare_average_over_one_head(NULL);
    /* More keys than a tile has are hidden from all queries before the first that one sees. */
    attnzoo_mask *window;
    assert_ok(attnzoo_mask_create(&window));
    assert_ok(attnzoo_mask_set_window(window, 20, 3));
    compare_average_over_one_head(window);
    attnzoo_mask_destroy(window);
}

static void nan_stays_in_its_batch_with_a_blas_that_scales_what_it_overwrites(void **state)
{
    (void)state;
    enum { BATCHES = 2, HEADS = 2, QUERIES = 70, KEYS = 90, FEATURES = 32, PER_BATCH = QUERIES * KEYS };
    const int64_t query_shape[] = {BATCHES, QUERIES, FEATURES}, key_shape[] = {BATCHES, KEYS, FEATURES};
    const int64_t average_shape[] = {BATCHES, QUERIES, KEYS};
    srand(13);
    float *first = random_numbers(BATCHES * PER_BATCH, 1.0f), *second = random_numbers(BATCHES * PER_BATCH, 1.0f);
    struct inputs inputs;
    open_inputs(&inputs, query_shape, key_shape, 3, 1.0f);
    attnzoo_module *module = plain_multi_head(HEADS, FEATURES, true);
    attnzoo_tensor *whole = view(first, 3, average_shape, NULL), *stained = view(second, 3, average_shape, NULL);
    assert_ok(attnzoo_module_forward(module, NULL, inputs.query, inputs.key, inputs.value, NULL, NULL, inputs.context,
                                     whole));
    inputs.memory[1][5 * FEATURES] = NAN;
    assert_ok(attnzoo_module_forward(module, NULL, inputs.query, inputs.key, inputs.value, NULL, NULL, inputs.context,
                                     stained));
    for (int64_t i = 0; i < PER_BATCH; i++)
        assert_true(isnan(second[i]));
    assert_memory_equal(first + PER_BATCH, second + PER_BATCH, PER_BATCH * sizeof *first);
    attnzoo_tensor_destroy(whole);
    attnzoo_tensor_destroy(stained);
    attnzoo_module_destroy(module);
    close_inputs(&inputs);
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_that_is_made_again_is_the_one_that_is_kept),
        cmocka_unit_test(a_nan_row_is_nan_where_attention_is_made_again),
        cmocka_unit_test(average_over_one_head_is_its_attention),
        cmocka_unit_test(nan_stays_in_its_batch_with_a_blas_that_scales_what_it_overwrites),
    };
    return cmocka_run_group_tests_name("attention output", tests, NULL, NULL);
}
