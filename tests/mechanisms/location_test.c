/*
 * tests/mechanisms/location_test.c: location by numbers worked out by hand, where its windows end, numbers past the
 * floats, and every way to set it up or call it wrongly. Its state is in location_state_test.c, random calls in
 * location_random_test.c.
 */
#include "mechanisms/location_calls.h"
#include "support/testing.h"

#include <float.h>
#include <math.h>

static void a_window_moves_on_by_exp_of_kappa(void **state)
{
    (void)state;
    /* alpha = 2 and 1, beta = 1/2 and 2, steps of 1 and 3. */
    const float bias[] = {logf(2.0f), 0.0f, logf(0.5f), logf(2.0f), 0.0f, logf(3.0f)};
    for (int64_t first = 0; first < 2; first++) {
        attnzoo_module *module = mixture_of(2, bias, false);
        struct call call = new_call(3, 6);
        assert_ok(attnzoo_module_set_option_int(module, "first_position", first));
        assert_ok(attnzoo_module_prepare(module));
        assert_ok(run(&call, module, NULL, NULL));
        for (int64_t t = 0; t < 3; t++) {
            double sum = 0.0;
            for (int64_t j = 0; j < 6; j++) {
                double u = (double)(j + first), near = (double)(t + 1) - u, far = 3.0 * (double)(t + 1) - u;
                double phi = 2.0 * exp(-0.5 * near * near) + exp(-2.0 * far * far);
                assert_near(call.attention[t * 6 + j], phi);
                sum += phi;
            }
            assert_near(call.context[t], sum);
        }
        attnzoo_module_destroy(module);
    }
}

static void normalized_windows_add_up_to_1_however_far_away(void **state)
{
    (void)state;
    const float steps[] = {0.0f, 5.0f, 8.0f};
    for (int i = 0; i < 3; i++) {
        const float bias[] = {0.3f, -1.0f, steps[i]};
        attnzoo_module *module = mixture_of(1, bias, true);
        struct call call = new_call(2, 9);
        assert_ok(attnzoo_module_prepare(module));
        assert_ok(run(&call, module, NULL, NULL));
        assert_near(call.context[0], 1.0);
        assert_near(call.context[1], 1.0);
        /* From far away the nearest key has it all. */
        assert_true(i == 0 || call.attention[8] > 0.99f);
        attnzoo_module_destroy(module);
    }
}

/* Heights, sharpnesses and steps whose exp is no float: the formula's limit comes out, and never NaN. */
static void numbers_past_the_floats_come_to_their_limit(void **state)
{
    (void)state;
    const struct {
        float bias[3];
        double weight[3]; /* of keys 0 to 2 after one step */
    } rows[] = {
        {{0.0f, 0.0f, 200.0f}, {0.0, 0.0, 0.0}},                               /* the window is past all keys */
        {{100.0f, 200.0f, 0.0f}, {0.0, INFINITY, 0.0}},                        /* infinitely sharp and high */
        {{0.0f, 200.0f, 0.0f}, {0.0, 1.0, 0.0}},                               /* one key */
        {{0.0f, INFINITY, 0.0f}, {0.0, 1.0, 0.0}},                             /* and where it is infinitely sharp */
        {{1.0f, -200.0f, 200.0f}, {exp(1.0), exp(1.0), exp(1.0)}},             /* infinitely wide and far away */
        {{-INFINITY, 0.0f, 0.0f}, {0.0, 0.0, 0.0}},                            /* nothing at all */
        {{-INFINITY, INFINITY, 0.0f}, {0.0, 0.0, 0.0}},                        /* nor here */
        {{0.0f, INFINITY, INFINITY}, {0.0, 0.0, 0.0}},                         /* nor where it is past all */
        {{100.0f, logf(30.0f), -INFINITY}, {INFINITY, exp(70.0), exp(-20.0)}}, /* exp(100) is no float */
        {{0.0f, -INFINITY, 3.0f}, {1.0, 1.0, 1.0}},                            /* infinitely wide */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        attnzoo_module *module = mixture_of(1, rows[i].bias, false);
        struct call call = new_call(1, 3);
        assert_ok(attnzoo_module_prepare(module));
        assert_ok(run(&call, module, NULL, NULL));
        for (int j = 0; j < 3; j++) {
            double weight = rows[i].weight[j];
            bool is_right = isinf(weight) ? isinf(call.attention[j]) != 0
                                          : fabs((double)call.attention[j] - weight) <= 1e-4 * weight;
            if (!is_right)
                fail_msg("row %d: weight %d is %g, not %g", (int)i, j, (double)call.attention[j], weight);
        }
        attnzoo_module_destroy(module);
    }
}

/* Without biases keys out of reach are not read; with a bias that could lift them they are. */
static void keys_out_of_reach_are_not_read(void **state)
{
    (void)state;
    const float bias[] = {0.0f, 0.0f, 0.0f};
    attnzoo_module *module = mixture_of(1, bias, false);
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_module_prepare(module));
    struct call call = new_call(1, 40), lifted = new_call(1, 40);
    for (int64_t j = 13; j < 40; j++)
        call.value[j] = NAN;
    assert_ok(run(&call, module, NULL, NULL));
    assert_true(!isnan(call.context[0]));
    assert_true(call.attention[11] > 0.0f && call.attention[12] == 0.0f && call.attention[39] == 0.0f);
    float biases[40] = {0.0f};
    biases[31] = 900.0f; /* (31 - 1)^2 */
    attnzoo_tensor *view = view_of(biases, 2, 1, 40, 1);
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_bias(mask, view));
    assert_ok(run(&lifted, module, mask, NULL));
    assert_near(lifted.attention[31], 1.0);
    assert_true(lifted.attention[30] == 0.0f && lifted.attention[1] == 1.0f);
    attnzoo_tensor_destroy(view);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
}

/* A window that is nowhere makes a row of NaN (P13), and no step after it knows where it is. */
static void a_nan_query_loses_the_window(void **state)
{
    (void)state;
    const float weight[] = {0.0f, 0.0f, 1.0f}, bias[] = {0.0f, 0.0f, 0.0f};
    struct call call = new_call(3, 5);
    attnzoo_module *module = new_module("gaussian_mixture");
    assert_ok(set(module, "window_proj.weight", weight, 2, 3, 1));
    assert_ok(set(module, "window_proj.bias", bias, 1, 3, 0));
    assert_ok(attnzoo_module_prepare(module));
    call.query[1] = NAN;
    assert_ok(run(&call, module, NULL, NULL));
    assert_true(!isnan(call.context[0]) && isnan(call.context[1]) && isnan(call.context[2]));
    attnzoo_module_destroy(module);
}

static void position_takes_the_first_m_rows(void **state)
{
    (void)state;
    const float weight[] = {0.0f, logf(3.0f), 7.0f};
    attnzoo_module *module = new_module("position");
    assert_ok(set(module, "location_proj.weight", weight, 2, 3, 1));
    assert_ok(attnzoo_module_prepare(module));
    struct call call = new_call(2, 2);
    call.query[0] = 1.0f;
    assert_ok(run(&call, module, NULL, NULL));
    assert_near(call.attention[0], 0.25);
    assert_near(call.attention[1], 0.75);
    assert_near(call.attention[2], 0.5);
    call = new_call(1, 4);
    assert_refused(run(&call, module, NULL, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "value has 4 rows, but location_proj.weight has only 3 positions");
    attnzoo_module_destroy(module);
}

static void local_p_looks_within_d_of_half_the_length(void **state)
{
    (void)state;
    for (int32_t length = 0; length <= 12; length += 2) {
        attnzoo_tensor *view = NULL;
        attnzoo_mask *mask = mask_of_length(&length, &view);
        attnzoo_module *module = local_of(3);
        struct call call = new_call(1, 12);
        assert_ok(attnzoo_module_prepare(module));
        assert_ok(run(&call, module, mask, NULL));
        double centre = (double)length / 2.0, count = 0.0;
        for (int64_t j = 0; j < 12; j++)
            count += fabs((double)j - centre) <= 3.0 && j < length;
        for (int64_t j = 0; j < 12; j++) {
            double d = (double)j - centre;
            bool is_in = fabs(d) <= 3.0 && j < length;
            assert_near(call.attention[j], is_in ? exp(-d * d / (2.0 * 1.5 * 1.5)) / count : 0.0);
        }
        attnzoo_module_destroy(module);
        attnzoo_mask_destroy(mask);
        attnzoo_tensor_destroy(view);
    }
}

/* A window that is nowhere makes a row of NaN (P13), but not where a mask hides every key of it (P01). */
static void nan_queries_of_local_p_that_see_nothing_give_zeros(void **state)
{
    (void)state;
    attnzoo_module *module = local_of(2);
    attnzoo_tensor *view = NULL;
    attnzoo_mask *mask = NULL;
    unsigned char allowed[2] = {1, 0};
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_tensor_create(&view, allowed, ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){2, 1}, NULL));
    assert_ok(attnzoo_mask_set_boolean(mask, view));
    struct call call = new_call(2, 6);
    call.query[0] = call.query[1] = NAN;
    assert_ok(run(&call, module, mask, NULL));
    for (int j = 0; j < 6; j++)
        assert_true(isnan(call.attention[j]) != 0 && call.attention[6 + j] == 0.0f);
    assert_true(isnan(call.context[0]) != 0 && call.context[1] == 0.0f);
    attnzoo_tensor_destroy(view);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
}

/* P06: all keys hidden by numbers that are finite have equal shares of the alignment, before the Gaussian. */
static void p06_local_p_of_keys_hidden_by_finite_biases(void **state)
{
    (void)state;
    const float hidden[] = {-1e9f, -FLT_MAX, -10000.0f};
    attnzoo_module *module = local_of(2);
    assert_ok(attnzoo_module_prepare(module));
    for (int i = 0; i < 3; i++) {
        attnzoo_mask *mask = NULL;
        float biases[8];
        for (int j = 0; j < 8; j++)
            biases[j] = hidden[i];
        attnzoo_tensor *view = view_of(biases, 2, 1, 8, 1);
        struct call call = new_call(1, 8);
        assert_ok(attnzoo_mask_create(&mask));
        assert_ok(attnzoo_mask_set_bias(mask, view));
        assert_ok(run(&call, module, mask, NULL));
        for (int j = 0; j < 8; j++)
            assert_near(call.attention[j], j < 2 || j > 6 ? 0.0 : exp(-0.5 * (j - 4.0) * (j - 4.0)) / 5.0);
        attnzoo_mask_destroy(mask);
        attnzoo_tensor_destroy(view);
    }
    attnzoo_module_destroy(module);
}

static void rows_that_see_nothing_are_zeros_in_every_flavor(void **state)
{
    (void)state;
    const float bias[] = {0.0f, 0.0f, 0.0f};
    for (int flavor = 0; flavor < 4; flavor++) {
        attnzoo_module *module = flavor < 2    ? mixture_of(1, bias, flavor == 1)
                                 : flavor == 2 ? new_module("position")
                                               : local_of(3);
        if (flavor == 2)
            assert_ok(set(module, "location_proj.weight", location_zeros, 2, 5, 1));
        assert_ok(attnzoo_module_prepare(module));
        int32_t length = 0;
        attnzoo_tensor *view = NULL;
        attnzoo_mask *mask = mask_of_length(&length, &view);
        for (int way = 0; way < 3; way++) {
            struct call call = new_call(2, way == 2 ? 0 : 5);
            unsigned char none[5] = {0};
            attnzoo_tensor *allowed = NULL;
            for (int64_t j = 0; j < call.keys; j++)
                call.value[j] = NAN;
            assert_ok(attnzoo_tensor_create(&allowed, none, ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){1, 5}, NULL));
            if (way == 1) {
                assert_ok(attnzoo_mask_set_key_lengths(mask, NULL));
                assert_ok(attnzoo_mask_set_boolean(mask, allowed));
            }
            assert_ok(run(&call, module, way == 2 ? NULL : mask, NULL));
            for (int64_t i = 0; i < 2; i++)
                assert_true(call.context[i] == 0.0f);
            for (int64_t i = 0; i < 2 * call.keys; i++)
                assert_true(call.attention[i] == 0.0f);
            assert_ok(attnzoo_mask_set_boolean(mask, NULL));
            attnzoo_tensor_destroy(allowed);
        }
        attnzoo_mask_destroy(mask);
        attnzoo_tensor_destroy(view);
        attnzoo_module_destroy(module);
    }
}

static void assert_prepare_refused(attnzoo_module *module, attnzoo_status status, const char *text)
{
    assert_refused(attnzoo_module_prepare(module), status, text);
    attnzoo_module_destroy(module);
}

static void wrong_modules_are_told_what_is_wrong(void **state)
{
    (void)state;
    const attnzoo_status invalid = ATTNZOO_STATUS_INVALID_ARGUMENT, mismatch = ATTNZOO_STATUS_SHAPE_MISMATCH;
    assert_prepare_refused(new_module("gaussian_mixture"), invalid,
                           "flavor=gaussian_mixture needs the parameter window_proj.weight of shape [3*K, Eq]");
    assert_prepare_refused(new_module("position"), invalid, "needs the parameter location_proj.weight");
    assert_prepare_refused(new_module("local_p"), invalid, "needs the parameter query_proj.weight");
    attnzoo_module *module = mixture_of(1, location_zeros, false);
    assert_ok(set(module, "location_proj.weight", location_zeros, 2, 3, 1));
    assert_prepare_refused(module, invalid, "location_proj.weight is set, but flavor=gaussian_mixture");
    module = local_of(2);
    assert_ok(set(module, "window_proj.bias", location_zeros, 1, 3, 1));
    assert_prepare_refused(module, invalid, "window_proj.bias is set, but flavor=local_p");
    module = new_module("gaussian_mixture");
    assert_ok(set(module, "window_proj.weight", location_zeros, 2, 4, 1));
    assert_prepare_refused(module, mismatch, "window_proj.weight has 4 rows, must have 3 for each Gaussian");
    module = mixture_of(1, location_zeros, false);
    assert_ok(set(module, "window_proj.bias", location_zeros, 1, 4, 1));
    assert_prepare_refused(module, mismatch, "window_proj.bias has shape [4], must have [3]");
    module = local_of(2);
    assert_ok(set(module, "score_proj.weight", location_zeros, 2, 1, 3));
    assert_prepare_refused(module, mismatch, "score_proj.weight has shape [1, 3], must have [1, 2]");
    module = local_of(2);
    assert_ok(set(module, "score_proj.bias", location_zeros, 1, 2, 1));
    assert_prepare_refused(module, mismatch, "score_proj.bias");
    module = local_of(2);
    assert_ok(set(module, "query_proj.bias", location_zeros, 1, 3, 1));
    assert_prepare_refused(module, mismatch, "query_proj.bias");
    module = local_of(2);
    assert_ok(set(module, "location_proj.weight", location_zeros, 2, 3, 2));
    assert_prepare_refused(module, mismatch, "location_proj.weight takes 2 features, query_proj.weight 1");
    module = local_of(2);
    assert_ok(set(module, "value_proj.bias", location_zeros, 1, 3, 1));
    assert_prepare_refused(module, invalid, "value_proj.weight");
    module = new_module("local_p");
    assert_refused(attnzoo_module_set_option_int(module, "window", 0), invalid, "window is 0");
    assert_refused(attnzoo_module_set_option_int(module, "first_position", 2), invalid, "first_position is 2");
    attnzoo_module_destroy(module);
}

static void wrong_calls_are_told_what_is_wrong(void **state)
{
    (void)state;
    attnzoo_module *module = mixture_of(1, location_zeros, false);
    float numbers[MOST] = {0.0f}, out[MOST];
    assert_ok(attnzoo_module_prepare(module));
    const struct {
        int64_t query[3], key[3], value[3], context[3];
        const char *text;
    } rows[] = {
        {{1, 2, 2}, {1, 4, 1}, {1, 4, 1}, {1, 2, 1}, "query has 2 features, but window_proj.weight takes 1"},
        {{1, 2, 1}, {1, 5, 1}, {1, 4, 1}, {1, 2, 1}, "numbers of keys differ: key has 5, value has 4"},
        {{2, 2, 1}, {1, 4, 1}, {1, 4, 1}, {2, 2, 1}, "batch sizes differ: query has 2, value has 1"},
        {{1, 2, 1}, {2, 4, 1}, {1, 4, 1}, {1, 2, 1}, "batch sizes differ: query has 1, key has 2"},
        {{2, 2, 1}, {0, 0, 0}, {1, 4, 1}, {2, 2, 1}, "batch sizes differ: query has 2, value has 1"},
        {{1, 2, 1}, {1, 4, 1}, {1, 4, 3}, {1, 2, 1}, "context has shape [1, 2, 1], must have [1, 2, 3]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        attnzoo_tensor *query = view_of(numbers, 3, rows[i].query[0], rows[i].query[1], rows[i].query[2]);
        attnzoo_tensor *value = view_of(numbers, 3, rows[i].value[0], rows[i].value[1], rows[i].value[2]);
        attnzoo_tensor *context = view_of(out, 3, rows[i].context[0], rows[i].context[1], rows[i].context[2]);
        attnzoo_tensor *key = NULL;
        if (rows[i].key[0] > 0)
            key = view_of(numbers, 3, rows[i].key[0], rows[i].key[1], rows[i].key[2]);
        assert_refused(attnzoo_module_forward(module, NULL, query, key, value, NULL, NULL, context, NULL),
                       ATTNZOO_STATUS_SHAPE_MISMATCH, rows[i].text);
        attnzoo_tensor_destroy(query);
        attnzoo_tensor_destroy(key);
        attnzoo_tensor_destroy(value);
        attnzoo_tensor_destroy(context);
    }
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_moves_on_by_exp_of_kappa),
        cmocka_unit_test(normalized_windows_add_up_to_1_however_far_away),
        cmocka_unit_test(numbers_past_the_floats_come_to_their_limit),
        cmocka_unit_test(keys_out_of_reach_are_not_read),
        cmocka_unit_test(a_nan_query_loses_the_window),
        cmocka_unit_test(position_takes_the_first_m_rows),
        cmocka_unit_test(local_p_looks_within_d_of_half_the_length),
        cmocka_unit_test(nan_queries_of_local_p_that_see_nothing_give_zeros),
        cmocka_unit_test(p06_local_p_of_keys_hidden_by_finite_biases),
        cmocka_unit_test(rows_that_see_nothing_are_zeros_in_every_flavor),
        cmocka_unit_test(wrong_modules_are_told_what_is_wrong),
        cmocka_unit_test(wrong_calls_are_told_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
