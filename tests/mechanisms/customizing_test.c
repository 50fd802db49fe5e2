/*
 * tests/mechanisms/customizing_test.c: customizing by numbers worked out by hand, its state, and every way to set it up
 * or call it wrongly. Random calls are in customizing_random_test.c.
 */
#include "support/testing.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static attnzoo_tensor *view_of(const float *data, int32_t rank, int64_t first, int64_t second, int64_t third)
{
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, (void *)(uintptr_t)data, ATTNZOO_DTYPE_FLOAT32, rank,
                                    (int64_t[]){first, second, third}, NULL));
    return view;
}

static void set(attnzoo_module *module, const char *name, const float *data, int32_t rank, int64_t first,
                int64_t second, int64_t third)
{
    attnzoo_tensor *view = view_of(data, rank, first, second, third);
    assert_ok(attnzoo_module_set_parameter(module, name, view));
    attnzoo_tensor_destroy(view);
}

/*
 * Two heads of one number each over three keys. Head 0: x = v0 + f + 1, head 1: x = v1 + f - 1, with f = 2 a_(j-1) +
 * 3 a_j + 5 a_(j+1) + 1/2 of the head's own alignment, U = 2. Queries q0 and q1 + 1.
 */
enum { H = 2, M = 3 };

static const float QUERY_WEIGHT[] = {1.0f, 0.0f, 0.0f, 1.0f}, QUERY_BIAS[] = {0.0f, 1.0f};
static const float CONVOLUTION[] = {2.0f, 3.0f, 5.0f}, CONVOLUTION_BIAS[] = {0.5f}, LOCATION[] = {2.0f};
static const float BIAS[] = {1.0f, -1.0f};

static attnzoo_module *unprepared_module(void)
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "customizing"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", H));
    set(module, "query_proj.weight", QUERY_WEIGHT, 2, 2, 2, 1);
    set(module, "query_proj.bias", QUERY_BIAS, 1, 2, 1, 1);
    set(module, "value_proj.weight", QUERY_WEIGHT, 2, 2, 2, 1);
    set(module, "bias", BIAS, 1, 2, 1, 1);
    set(module, "location_conv.weight", CONVOLUTION, 3, 1, 1, 3);
    set(module, "location_conv.bias", CONVOLUTION_BIAS, 1, 1, 1, 1);
    set(module, "location_proj.weight", LOCATION, 2, 1, 1, 1);
    return module;
}

static attnzoo_module *new_module(void)
{
    attnzoo_module *module = unprepared_module();
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

static const float VALUES[M * 2] = {0.1f, -0.4f, 0.3f, 0.2f, -0.2f, 0.5f};
static const float QUERIES[2 * 2] = {0.7f, -0.3f, -0.5f, 0.9f};

/* Steps first to first + count - 1 of QUERIES. */
struct outcome {
    float context[2 * H], attention[H * 2 * M];
};

static attnzoo_status run(const attnzoo_module *module, int64_t first, int64_t count, const attnzoo_mask *mask,
                          attnzoo_state *state, struct outcome *outcome)
{
    attnzoo_tensor *query = view_of(QUERIES + 2 * first, 2, count, 2, 1), *value = view_of(VALUES, 2, M, 2, 1);
    attnzoo_tensor *context = view_of(outcome->context, 2, count, H, 1);
    attnzoo_tensor *attention = view_of(outcome->attention, 3, H, count, M);
    attnzoo_status status = attnzoo_module_forward(module, NULL, query, NULL, value, mask, state, context, attention);
    attnzoo_tensor_destroy(query);
    attnzoo_tensor_destroy(value);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(attention);
    return status;
}

/* One step of one head from an alignment, which it replaces; returns the context. */
static double step_by_hand(int head, const float *query, double alignment[M])
{
    double x[M], weight[M], sum = 0.0, context = 0.0;
    double q = (double)query[head] + (double)QUERY_BIAS[head];
    for (int j = 0; j < M; j++) {
        double left = j > 0 ? alignment[j - 1] : 0.0, right = j + 1 < M ? alignment[j + 1] : 0.0;
        x[j] = (double)VALUES[2 * j + head] + 2.0 * (2.0 * left + 3.0 * alignment[j] + 5.0 * right + 0.5) +
               (double)BIAS[head];
    }
    for (int j = 0; j < M; j++) {
        weight[j] = exp(q * x[j]);
        sum += weight[j];
    }
    for (int j = 0; j < M; j++) {
        alignment[j] = weight[j] / sum;
        context += alignment[j] * x[j];
    }
    return context;
}

/* Numbers below 16, of fewer than 32 roundings each, which two steps multiply by less than 32. */
static void assert_near(float got, double expected)
{
    if (!(fabs((double)got - expected) <= 16.0 * 32.0 * 32.0 * 0x1p-24))
        fail_msg("%.9g is not %.9g", (double)got, expected);
}

/* P21: heads come out side by side, each fed by its own last alignment. */
static void each_head_follows_its_own_alignment(void **state)
{
    (void)state;
    attnzoo_module *module = new_module();
    struct outcome whole;
    double alignments[H][M] = {{0.0}};
    assert_ok(run(module, 0, 2, NULL, NULL, &whole));
    for (int t = 0; t < 2; t++)
        for (int h = 0; h < H; h++) {
            assert_near(whole.context[t * H + h], step_by_hand(h, QUERIES + 2 * t, alignments[h]));
            for (int j = 0; j < M; j++)
                assert_near(whole.attention[(h * 2 + t) * M + j], alignments[h][j]);
        }
    attnzoo_module_destroy(module);
}

/* The state holds what the next call's first step sees: read, set, copied and forgotten. */
static void a_state_carries_the_last_alignment(void **unused)
{
    (void)unused;
    attnzoo_module *module = new_module();
    attnzoo_state *first = NULL, *second = NULL;
    struct outcome whole, part, rest;
    float alignment[H * M];
    assert_ok(attnzoo_state_create(&first, module, 1, M));
    assert_ok(attnzoo_state_create(&second, module, 1, M + 2));
    assert_ok(run(module, 0, 2, NULL, NULL, &whole));
    for (int way = 0; way < 3; way++) {
        assert_ok(attnzoo_state_reset(first));
        assert_ok(attnzoo_state_reset(second));
        assert_ok(run(module, 0, 1, NULL, first, &part));
        attnzoo_tensor *view = view_of(alignment, 3, 1, H, M);
        assert_ok(attnzoo_state_get_field(first, 0, view));
        assert_memory_equal(alignment, part.attention, sizeof alignment);
        if (way == 0)
            assert_ok(attnzoo_state_set_fields(second, (const attnzoo_tensor *const[]){view}, 1));
        else if (way == 1)
            assert_ok(attnzoo_state_copy(second, first));
        attnzoo_tensor_destroy(view);
        assert_ok(run(module, 1, 1, NULL, way == 2 ? first : second, &rest));
        for (int h = 0; h < H; h++) {
            assert_true(part.context[h] == whole.context[h] && rest.context[h] == whole.context[H + h]);
            assert_memory_equal(rest.attention + h * M, whole.attention + (h * 2 + 1) * M, M * sizeof(float));
        }
    }
    assert_ok(attnzoo_state_reset(second));
    assert_int_equal(attnzoo_state_length(second), 0);
    attnzoo_state_destroy(first);
    attnzoo_state_destroy(second);
    attnzoo_module_destroy(module);
}

/* A step that sees nothing leaves an alignment of zeros, and the next one starts from that. */
static void steps_that_see_nothing_leave_zeros(void **unused)
{
    (void)unused;
    attnzoo_module *module = new_module();
    attnzoo_state *state = NULL;
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *lengths = NULL;
    int32_t length = 0;
    struct outcome blind, next, fresh;
    assert_ok(attnzoo_state_create(&state, module, 1, M));
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_tensor_create(&lengths, &length, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){1}, NULL));
    assert_ok(attnzoo_mask_set_key_lengths(mask, lengths));
    assert_ok(run(module, 0, 1, NULL, state, &blind));
    assert_ok(run(module, 0, 1, mask, state, &blind));
    for (int i = 0; i < H * M; i++)
        assert_true(blind.attention[i] == 0.0f);
    assert_true(blind.context[0] == 0.0f && blind.context[1] == 0.0f);
    assert_ok(run(module, 1, 1, NULL, state, &next));
    assert_ok(run(module, 1, 1, NULL, NULL, &fresh));
    assert_memory_equal(next.attention, fresh.attention, H * M * sizeof(float));
    attnzoo_mask_destroy(mask);
    attnzoo_tensor_destroy(lengths);
    attnzoo_state_destroy(state);
    attnzoo_module_destroy(module);
}

static void wrong_modules_are_told_what_is_wrong(void **state)
{
    (void)state;
    static const float zeros[16];
    const struct {
        const char *name;
        int32_t rank;
        int64_t shape[3];
        const char *text;
    } rows[] = {
        {"query_proj.weight", 2, {3, 2, 1}, "query_proj.weight has 3 rows, which 2 heads do not divide"},
        {"query_proj.bias", 1, {3, 1, 1}, "query_proj.bias has shape [3], must have [2]"},
        {"value_proj.weight", 2, {4, 2, 1}, "value_proj.weight has shape [4, 2], must have [2, 2]"},
        {"bias", 1, {1, 1, 1}, "bias has shape [1], must have [2]"},
        {"location_conv.weight", 3, {1, 2, 3}, "location_conv.weight has shape [1, 2, 3], must have [1, 1, 3]"},
        {"location_conv.weight", 3, {1, 1, 4}, "location_conv.weight has a width of 4, must be odd"},
        {"location_conv.bias", 1, {2, 1, 1}, "location_conv.bias has shape [2], must have [1]"},
        {"location_proj.weight", 2, {2, 1, 1}, "location_proj.weight has shape [2, 1], must have [1, 1]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        attnzoo_module *module = unprepared_module();
        set(module, rows[i].name, zeros, rows[i].rank, rows[i].shape[0], rows[i].shape[1], rows[i].shape[2]);
        assert_refused(attnzoo_module_prepare(module), ATTNZOO_STATUS_SHAPE_MISMATCH, rows[i].text);
        attnzoo_module_destroy(module);
    }
}

static void wrong_calls_are_told_what_is_wrong(void **state)
{
    (void)state;
    attnzoo_module *module = new_module();
    attnzoo_state *small = NULL, *wide = NULL;
    struct outcome outcome;
    float numbers[32] = {0.0f}, out[32];
    const struct {
        int64_t query[3], key[3], value[3];
        const char *text;
    } rows[] = {
        {{1, 2, 3}, {1, 3, 1}, {1, 3, 2}, "query has 3 features, but query_proj.weight takes 2"},
        {{1, 2, 2}, {1, 3, 1}, {1, 3, 1}, "value has 1 features, but value_proj.weight takes 2"},
        {{1, 2, 2}, {1, 4, 1}, {1, 3, 2}, "numbers of keys differ: key has 4, value has 3"},
        {{2, 2, 2}, {1, 3, 1}, {1, 3, 2}, "batch sizes differ: query has 2, value has 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        attnzoo_tensor *query = view_of(numbers, 3, rows[i].query[0], rows[i].query[1], rows[i].query[2]);
        attnzoo_tensor *key = view_of(numbers, 3, rows[i].key[0], rows[i].key[1], rows[i].key[2]);
        attnzoo_tensor *value = view_of(numbers, 3, rows[i].value[0], rows[i].value[1], rows[i].value[2]);
        attnzoo_tensor *context = view_of(out, 3, rows[i].query[0], 2, H);
        assert_refused(attnzoo_module_forward(module, NULL, query, key, value, NULL, NULL, context, NULL),
                       ATTNZOO_STATUS_SHAPE_MISMATCH, rows[i].text);
        attnzoo_tensor_destroy(query);
        attnzoo_tensor_destroy(key);
        attnzoo_tensor_destroy(value);
        attnzoo_tensor_destroy(context);
    }
    assert_ok(attnzoo_state_create(&small, module, 1, M - 1));
    assert_ok(attnzoo_state_create(&wide, module, 2, M));
    assert_refused(run(module, 0, 1, NULL, small, &outcome), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "the state has room for 2 keys, but value has 3");
    assert_refused(run(module, 0, 1, NULL, wide, &outcome), ATTNZOO_STATUS_SHAPE_MISMATCH, "the state has 2");
    attnzoo_state_destroy(small);
    attnzoo_state_destroy(wide);
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_head_follows_its_own_alignment), cmocka_unit_test(a_state_carries_the_last_alignment),
        cmocka_unit_test(steps_that_see_nothing_leave_zeros),  cmocka_unit_test(wrong_modules_are_told_what_is_wrong),
        cmocka_unit_test(wrong_calls_are_told_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
