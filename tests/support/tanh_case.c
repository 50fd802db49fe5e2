/*
 * tests/support/tanh_case.c: from the description of a call to the library's handles and to the reference's problem.
 */
#include "support/tanh_case.h"

#include "reference/general.h"
#include "support/element.h"
#include "support/tanh_relatives.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const NAMES[TANH_ALL_PARAMETERS] = {
    [TANH_QUERY_WEIGHT] = "query_proj.weight",
    [TANH_QUERY_BIAS] = "query_proj.bias",
    [TANH_KEY_WEIGHT] = "key_proj.weight",
    [TANH_KEY_BIAS] = "key_proj.bias",
    [TANH_VALUE_WEIGHT] = "value_proj.weight",
    [TANH_VALUE_BIAS] = "value_proj.bias",
    [TANH_BIAS] = "bias",
    [TANH_SCORE_WEIGHT] = "score_proj.weight",
    [TANH_SCORE_BIAS] = "score_proj.bias",
    [TANH_CONV_WEIGHT] = "location_conv.weight",
    [TANH_CONV_BIAS] = "location_conv.bias",
    [TANH_LOCATION_WEIGHT] = "location_proj.weight",
    [TANH_LOCATION_BIAS] = "location_proj.bias",
    [TANH_WINDOW_WEIGHT] = "window_proj.weight",
    [TANH_WINDOW_BIAS] = "window_proj.bias",
};

const char *tanh_parameter_name(int parameter)
{
    return NAMES[parameter];
}

static bool is_absent(const struct tanh_sizes *sizes, int parameter)
{
    return (sizes->absent & TANH_WITHOUT(parameter)) != 0;
}

/* Sizes that follow from others, and biases that go with their weights. */
static struct tanh_sizes fitted(struct tanh_sizes sizes, bool is_location_aware)
{
    if (is_absent(&sizes, TANH_QUERY_WEIGHT)) {
        sizes.query_size = sizes.heads * sizes.attention_size;
        sizes.absent |= TANH_WITHOUT(TANH_QUERY_BIAS);
    }
    if (is_absent(&sizes, TANH_KEY_WEIGHT)) {
        sizes.key_size = sizes.key_heads * sizes.attention_size;
        sizes.absent |= TANH_WITHOUT(TANH_KEY_BIAS);
    }
    if (is_absent(&sizes, TANH_VALUE_WEIGHT)) {
        sizes.value_size = sizes.key_heads * sizes.value_columns;
        sizes.absent |= TANH_WITHOUT(TANH_VALUE_BIAS);
    }
    if (is_absent(&sizes, TANH_LOCATION_WEIGHT)) {
        sizes.filters = sizes.attention_size;
        sizes.absent |= TANH_WITHOUT(TANH_LOCATION_BIAS);
    }
    if (!is_location_aware)
        sizes.absent |= TANH_WITHOUT(TANH_CONV_WEIGHT) | TANH_WITHOUT(TANH_CONV_BIAS) |
                        TANH_WITHOUT(TANH_LOCATION_WEIGHT) | TANH_WITHOUT(TANH_LOCATION_BIAS);
    return sizes;
}

static void plan_parameters(struct tanh_case *test)
{
    const struct tanh_sizes *sizes = &test->sizes;
    int64_t query_columns = sizes->heads * sizes->attention_size;
    int64_t key_columns = sizes->key_heads * sizes->attention_size;
    int64_t value_columns = sizes->key_heads * sizes->value_columns;
    int64_t channels = test->feedback == REFERENCE_BOTH ? 2 * sizes->heads : sizes->heads;
    const struct {
        int32_t rank;
        int64_t shape[3];
    } shapes[TANH_PARAMETER_COUNT] = {
        [TANH_QUERY_WEIGHT] = {2, {query_columns, sizes->query_size}},
        [TANH_QUERY_BIAS] = {1, {query_columns}},
        [TANH_KEY_WEIGHT] = {2, {key_columns, sizes->key_size}},
        [TANH_KEY_BIAS] = {1, {key_columns}},
        [TANH_VALUE_WEIGHT] = {2, {value_columns, sizes->value_size}},
        [TANH_VALUE_BIAS] = {1, {value_columns}},
        [TANH_BIAS] = {1, {sizes->attention_size}},
        [TANH_SCORE_WEIGHT] = {2, {1, sizes->attention_size}},
        [TANH_SCORE_BIAS] = {1, {1}},
        [TANH_CONV_WEIGHT] = {3, {sizes->filters, channels, sizes->width}},
        [TANH_CONV_BIAS] = {1, {sizes->filters}},
        [TANH_LOCATION_WEIGHT] = {2, {sizes->attention_size, sizes->filters}},
        [TANH_LOCATION_BIAS] = {1, {sizes->attention_size}},
    };
    for (int i = 0; i < TANH_PARAMETER_COUNT; i++)
        if (!is_absent(sizes, i))
            test->parameters[i] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, shapes[i].rank, shapes[i].shape);
}

void tanh_case_plan(struct tanh_case *test, const char *mechanism, struct tanh_sizes sizes,
                    enum reference_feedback feedback)
{
    bool is_location_aware = strcmp(mechanism, "location_aware") == 0;
    sizes.absent = tanh_relatives_absent(mechanism, sizes.absent);
    sizes = fitted(sizes, is_location_aware);
    *test = (struct tanh_case){.mechanism = mechanism,
                               .is_location_aware = is_location_aware,
                               .sizes = sizes,
                               .sharpening = 1.0,
                               .feedback = feedback};
    int64_t B = sizes.batch, H = sizes.heads, N = sizes.queries, M = sizes.keys;
    attention_case_plan(
        &test->call, (struct attention_sizes){B, H, sizes.key_heads, N, M, sizes.attention_size, sizes.value_columns});
    const int32_t dtype = ATTNZOO_DTYPE_FLOAT32;
    test->call.query = test_tensor_plan(dtype, 3, (int64_t[]){B, N, sizes.query_size});
    test->call.key = test_tensor_plan(dtype, 3, (int64_t[]){B, M, sizes.key_size});
    test->call.value = test_tensor_plan(dtype, 3, (int64_t[]){B, M, sizes.value_size});
    test->call.context = test_tensor_plan(dtype, 3, (int64_t[]){B, N, H * sizes.value_columns});
    test->call.attention =
        H > 1 ? test_tensor_plan(dtype, 4, (int64_t[]){B, H, N, M}) : test_tensor_plan(dtype, 3, (int64_t[]){B, N, M});
    test->call.log_sum_exp.rank = 0;
    plan_parameters(test);
}

void tanh_case_allocate(struct tanh_case *test)
{
    attention_case_allocate(&test->call);
    for (int i = 0; i < TANH_ALL_PARAMETERS; i++)
        test_tensor_allocate(&test->parameters[i]);
}

static void scale_values(struct test_tensor *tensor, double factor)
{
    for (int64_t i = 0; i < tensor->count; i++)
        tensor->values[i] = element_rounded(tensor->dtype, tensor->values[i] * factor);
}

void tanh_case_limit_growth(struct tanh_case *test, double growth)
{
    bool has_weights = test->parameters[TANH_CONV_WEIGHT].rank > 0 && test->parameters[TANH_SCORE_WEIGHT].rank > 0;
    if (!has_weights)
        return;
    struct reference_location_aware problem = tanh_case_problem(test);
    double grows = reference_location_aware_growth(&problem);
    if (grows > growth)
        scale_values(&test->parameters[TANH_CONV_WEIGHT], growth / grows);
}

void tanh_case_fill(struct tanh_case *test, struct random_source *source, double growth)
{
    attention_case_fill(&test->call, source, 1.0);
    const struct tanh_sizes *sizes = &test->sizes;
    const double widest[TANH_PARAMETER_COUNT] = {
        [TANH_QUERY_WEIGHT] = 1.7 / sqrt((double)sizes->query_size + 1.0),
        [TANH_QUERY_BIAS] = 0.5,
        [TANH_KEY_WEIGHT] = 1.7 / sqrt((double)sizes->key_size + 1.0),
        [TANH_KEY_BIAS] = 0.5,
        [TANH_VALUE_WEIGHT] = 1.7 / sqrt((double)sizes->value_size + 1.0),
        [TANH_VALUE_BIAS] = 0.5,
        [TANH_BIAS] = 0.5,
        [TANH_SCORE_WEIGHT] = 3.0 / sqrt((double)sizes->attention_size + 1.0),
        [TANH_SCORE_BIAS] = 1.0,
        [TANH_CONV_WEIGHT] = 2.0,
        [TANH_CONV_BIAS] = 0.5,
        [TANH_LOCATION_WEIGHT] = 1.7 / sqrt((double)sizes->filters + 1.0),
        [TANH_LOCATION_BIAS] = 0.5,
    };
    for (int i = 0; i < TANH_PARAMETER_COUNT; i++)
        test_tensor_fill(&test->parameters[i], source, -widest[i], widest[i]);
    tanh_case_limit_growth(test, growth);
}

void tanh_case_allocate_and_fill(struct tanh_case *test)
{
    struct random_source source = {42};
    tanh_case_allocate(test);
    tanh_case_fill(test, &source, 1.0);
}

void tanh_case_store(struct tanh_case *test)
{
    attention_case_store(&test->call);
    for (int i = 0; i < TANH_ALL_PARAMETERS; i++)
        test_tensor_store(&test->parameters[i]);
}

static void set_options(const struct tanh_case *test, attnzoo_module *module)
{
    static const char *const feedbacks[] = {"previous", "cumulative", "both"};
    static const char *const initials[] = {"zeros", "uniform", "first"};
    if (test->sizes.heads != 1)
        assert_ok(attnzoo_module_set_option_int(module, "num_heads", test->sizes.heads));
    if (test->sizes.key_heads != test->sizes.heads)
        assert_ok(attnzoo_module_set_option_int(module, "num_kv_heads", test->sizes.key_heads));
    if (!test->is_location_aware)
        return;
    assert_ok(attnzoo_module_set_option_text(module, "normalizer", test->smoothing ? "smoothing" : "softmax"));
    assert_ok(attnzoo_module_set_option_text(module, "location_activation", test->has_tanh ? "tanh" : "none"));
    assert_ok(attnzoo_module_set_option_text(module, "feedback", feedbacks[test->feedback]));
    assert_ok(attnzoo_module_set_option_text(module, "initial", initials[test->initial]));
    assert_ok(attnzoo_module_set_option_float(module, "sharpening", test->sharpening));
    assert_ok(attnzoo_module_set_option_int(module, "location_window", test->window));
}

attnzoo_module *tanh_case_unprepared_module(const struct tanh_case *test)
{
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, test->mechanism));
    if (tanh_relatives_is_general(test->mechanism) || tanh_relatives_is_concat(test->mechanism)) {
        tanh_relatives_set_up(test, module);
        return module;
    }
    set_options(test, module);
    for (int i = 0; i < TANH_ALL_PARAMETERS; i++)
        if (test->parameters[i].rank > 0)
            assert_ok(attnzoo_module_set_parameter(module, NAMES[i], test->parameters[i].view));
    return module;
}

attnzoo_module *tanh_case_module(const struct tanh_case *test)
{
    attnzoo_module *module = tanh_case_unprepared_module(test);
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

attnzoo_status tanh_case_forward(struct tanh_case *test, const attnzoo_module *module, attnzoo_executor *executor,
                                 const attnzoo_mask *mask, attnzoo_state *state)
{
    struct attention_case *call = &test->call;
    return attnzoo_module_forward(module, executor, call->query.view, call->key.view, call->value.view, mask, state,
                                  call->context.view, call->attention.view);
}

void tanh_case_load(struct tanh_case *test)
{
    attention_case_load(&test->call);
}

attnzoo_status tanh_case_run(struct tanh_case *test, attnzoo_executor *executor)
{
    tanh_case_store(test);
    attnzoo_module *module = tanh_case_module(test);
    attnzoo_mask *mask = attention_case_mask(&test->call);
    attnzoo_status status = tanh_case_forward(test, module, executor, mask, NULL);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    tanh_case_load(test);
    return status;
}

static struct reference_layer layer_of(const struct tanh_case *test, int weight, int64_t inputs, int64_t outputs)
{
    return (struct reference_layer){.weight = test->parameters[weight].values,
                                    .bias = test->parameters[weight + 1].values,
                                    .inputs = inputs,
                                    .outputs = outputs};
}

static struct reference_additive model_of(struct tanh_case *test)
{
    const struct tanh_sizes *sizes = &test->sizes;
    struct reference_additive model = {
        .mask = attention_case_problem(&test->call),
        .attention_size = sizes->attention_size,
        .query = test->call.query.values,
        .key = test->call.key.values,
        .value = test->call.value.values,
        .query_proj = layer_of(test, TANH_QUERY_WEIGHT, sizes->query_size, sizes->heads * sizes->attention_size),
        .key_proj = layer_of(test, TANH_KEY_WEIGHT, sizes->key_size, sizes->key_heads * sizes->attention_size),
        .value_proj = layer_of(test, TANH_VALUE_WEIGHT, sizes->value_size, sizes->key_heads * sizes->value_columns),
        .bias = test->parameters[TANH_BIAS].values,
        .score_weight = test->parameters[TANH_SCORE_WEIGHT].values,
        .sharpening = (float)test->sharpening,
    };
    if (test->parameters[TANH_SCORE_BIAS].rank > 0)
        model.score_bias = test->parameters[TANH_SCORE_BIAS].values[0];
    /* The reference takes one offset a batch. */
    if (test->call.has_offset) {
        assert_true(sizes->batch <= 64);
        for (int64_t b = 0; b < sizes->batch; b++)
            test->offsets[b] = (double)test->call.offset;
        model.mask.offsets = test->offsets;
    }
    return model;
}

struct reference_location_aware tanh_case_problem(struct tanh_case *test)
{
    return (struct reference_location_aware){.model = model_of(test),
                                             .filters = test->sizes.filters,
                                             .width = test->sizes.width,
                                             .conv_weight = test->parameters[TANH_CONV_WEIGHT].values,
                                             .conv_bias = test->parameters[TANH_CONV_BIAS].values,
                                             .proj_weight = test->parameters[TANH_LOCATION_WEIGHT].values,
                                             .proj_bias = test->parameters[TANH_LOCATION_BIAS].values,
                                             .has_tanh = test->has_tanh,
                                             .smoothing = test->smoothing,
                                             .window = test->window,
                                             .feedback = test->feedback,
                                             .initial = test->initial};
}

struct reference_result tanh_case_expect(struct tanh_case *test, struct reference_alignment *alignment)
{
    struct reference_location_aware problem = tanh_case_problem(test);
    if (tanh_relatives_is_general(test->mechanism)) {
        problem.model.sharpening = isnan(test->call.scale) ? 1.0 : (float)test->call.scale;
        return reference_general_compute(&problem.model);
    }
    if (!test->is_location_aware)
        return reference_additive_compute(&problem.model);
    if (alignment != NULL)
        return reference_location_aware_compute(&problem, alignment);
    const struct tanh_sizes *sizes = &test->sizes;
    struct reference_alignment fresh = reference_alignment_create(sizes->batch, sizes->heads, sizes->keys);
    struct reference_result result = reference_location_aware_compute(&problem, &fresh);
    reference_alignment_destroy(&fresh);
    return result;
}

static bool is_within(double got, double expected, double limit)
{
    if (isinf(limit))
        return true;
    if (isnan(expected))
        return isnan(got);
    return fabs(got - expected) <= limit;
}

bool tanh_case_values_agree(const struct test_tensor *got, const double *expected, const double *bound,
                            const char *name)
{
    for (int64_t i = 0; i < got->count; i++) {
        double limit = bound[i];
        if (bound[i] != 0.0 || expected[i] != 0.0)
            limit += element_rounding(got->dtype, isnan(expected[i]) ? 0.0 : fabs(expected[i]) + bound[i]);
        if (is_within(got->values[i], expected[i], limit))
            continue;
        print_error("%s[%" PRId64 "] is %.9g, expected %.9g within %.3g\n", name, i, got->values[i], expected[i],
                    limit);
        return false;
    }
    if (!test_tensor_gaps_are_untouched(got)) {
        print_error("bytes around %s were written\n", name);
        return false;
    }
    return true;
}

bool tanh_case_compare_with(const struct tanh_case *test, const struct reference_result *expected)
{
    return tanh_case_values_agree(&test->call.context, expected->context, expected->context_bound, "context") &&
           tanh_case_values_agree(&test->call.attention, expected->attention, expected->attention_bound, "attention");
}

bool tanh_case_compare(struct tanh_case *test)
{
    struct reference_result expected = tanh_case_expect(test, NULL);
    bool is_same = tanh_case_compare_with(test, &expected);
    reference_result_destroy(&expected);
    return is_same;
}

void tanh_case_check(struct tanh_case *test, attnzoo_executor *executor)
{
    assert_ok(tanh_case_run(test, executor));
    if (!tanh_case_compare(test)) {
        tanh_case_print(test);
        fail();
    }
}

void tanh_case_print(const struct tanh_case *test)
{
    const struct tanh_sizes *sizes = &test->sizes;
    print_error("%s: Eq %" PRId64 " Ek %" PRId64 " Ev %" PRId64 " A %" PRId64 " F %" PRId64 " W %" PRId64 ", absent",
                test->mechanism, sizes->query_size, sizes->key_size, sizes->value_size, sizes->attention_size,
                sizes->filters, sizes->width);
    for (int i = 0; i < TANH_ALL_PARAMETERS; i++)
        if (test->parameters[i].rank == 0)
            print_error(" %s", NAMES[i]);
    print_error("\n  smoothing %d, tanh %d, sharpening %g, window %" PRId64 ", feedback %d, initial %d\n",
                test->smoothing, test->has_tanh, test->sharpening, test->window, (int)test->feedback,
                (int)test->initial);
    attention_case_print(&test->call);
}

void tanh_case_destroy(struct tanh_case *test)
{
    attention_case_destroy(&test->call);
    for (int i = 0; i < TANH_ALL_PARAMETERS; i++)
        test_tensor_destroy(&test->parameters[i]);
}
