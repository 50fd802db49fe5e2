/*
 * tests/mechanisms/general_random_test.c: thousands of random calls of general against the reference, each within the
 * bound derived for it, and the same to the bit for any number of threads. The reference projects the queries in double
 * (item 7 of reference/rounding.h) and puts them to that of scaled dot-product attention, whose bounds take inputs that
 * are off (items 8 and 9). ATTNZOO_TEST_CASES sets how many; each has its own seed, so that ATTNZOO_TEST_SEED with the
 * number that a failure prints and ATTNZOO_TEST_CASES=1 repeats it alone.
 */
#include "mechanisms/random_case.h"
#include "reference/additive.h"
#include "support/executors.h"
#include "support/output_copy.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { DEFAULT_CASES = 3000, MOST_BATCHES = 3 };

static const int64_t WIDTHS[] = {0, 1, 3, 8, 16, 17, 33, 64, 100};
enum { WIDTH_COUNT = 9 };

struct general_case {
    struct attention_case call; /* query [B, N, Eq], key [B, M, Ek], value [B, M, Ev]; its scale is never the default */
    struct test_tensor score_weight, value_weight, value_bias; /* rank 0: not set */
    double offsets[MOST_BATCHES];
};

static int64_t random_width(struct random_source *source)
{
    return WIDTHS[random_between(source, random_chance(source, 0.03) ? 0 : 1, WIDTH_COUNT - 1)];
}

static int64_t random_length(struct random_source *source)
{
    if (random_chance(source, 0.04))
        return 0;
    return random_chance(source, 0.9) ? random_between(source, 1, 40) : random_between(source, 41, 300);
}

static void plan_layer(struct test_tensor *weight, struct random_source *source, int64_t outputs, int64_t inputs)
{
    *weight = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){outputs, inputs});
    random_plan_input(weight, source, random_float_type(source), 2);
}

static void plan(struct general_case *test, struct random_source *source)
{
    int64_t batch = random_chance(source, 0.02) ? 0 : random_between(source, 1, MOST_BATCHES);
    int64_t queries = random_length(source), keys = random_length(source);
    int64_t query_width = random_width(source), key_width = random_width(source), value_width = random_width(source);
    /* One query over many keys, which are cut into chunks. */
    if (random_chance(source, 0.02)) {
        batch = queries = 1;
        keys = random_between(source, 3000, 6000);
        key_width = 16;
    }
    bool has_value_layer = random_chance(source, 0.5);
    int64_t columns = has_value_layer ? random_width(source) : value_width;
    *test = (struct general_case){0};
    attention_case_plan(&test->call, (struct attention_sizes){batch, 1, 1, queries, keys, key_width, columns});
    struct attention_case *call = &test->call;
    call->query = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){batch, queries, query_width});
    call->key = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){batch, keys, key_width});
    call->value = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){batch, keys, value_width});
    call->context = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){batch, queries, columns});
    call->attention = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){batch, queries, keys});
    call->log_sum_exp.rank = 0;
    struct test_tensor *inputs[] = {&call->query, &call->key, &call->value};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        random_plan_input(inputs[i], source, random_float_type(source), 2);
    random_plan_output(&call->context, source, random_float_type(source), 2);
    random_plan_output(&call->attention, source, random_float_type(source), 2);
    if (random_chance(source, 0.4))
        call->attention.rank = 0;
    plan_layer(&test->score_weight, source, query_width, key_width);
    if (has_value_layer)
        plan_layer(&test->value_weight, source, columns, value_width);
    if (has_value_layer && random_chance(source, 0.5))
        test->value_bias = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, &columns);
    call->scale = random_chance(source, 0.5) ? 1.0 : random_real(source, -2.0, 2.0);
    call->softcap = random_chance(source, 0.3) ? random_real(source, 0.5, 20.0) : 0.0;
    call->is_masked = random_chance(source, 0.85);
    if (call->is_masked)
        random_masks_plan(call, source);
}

static void fill_case(struct general_case *test, struct random_source *source)
{
    struct test_tensor *parameters[] = {&test->score_weight, &test->value_weight, &test->value_bias};
    attention_case_allocate(&test->call);
    attention_case_fill(&test->call, source, 1.0);
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        double width = parameters[i]->rank == 2 ? (double)parameters[i]->shape[1] + 1.0 : 1.0;
        test_tensor_allocate(parameters[i]);
        test_tensor_fill(parameters[i], source, -sqrt(3.0 / width), sqrt(3.0 / width));
    }
    random_masks_fill(&test->call, source);
}

static struct reference_problem mask_of(struct general_case *test)
{
    struct reference_problem problem = attention_case_problem(&test->call);
    for (int b = 0; b < MOST_BATCHES; b++)
        test->offsets[b] = (double)test->call.offset;
    if (test->call.has_offset)
        problem.offsets = test->offsets;
    return problem;
}

/* What no query sees holds NaN, which must not matter. */
static void poison_hidden_keys(struct general_case *test)
{
    struct reference_problem problem = mask_of(test);
    struct test_tensor *poisoned[] = {&test->call.key, &test->call.value};
    for (int64_t row = 0; row < problem.batch * problem.keys; row++) {
        bool is_seen = false;
        for (int64_t i = 0; i < problem.queries && !is_seen; i++)
            is_seen = reference_sees(&problem, row / problem.keys, 0, i, row % problem.keys);
        for (int side = 0; side < 2 && !is_seen; side++)
            for (int64_t d = 0; d < poisoned[side]->shape[2] && !test_tensor_repeats(poisoned[side]); d++)
                poisoned[side]->values[row * poisoned[side]->shape[2] + d] = NAN;
    }
}

static attnzoo_module *make_module(struct general_case *test)
{
    const struct {
        const char *name;
        struct test_tensor *tensor;
    } parameters[] = {{"score_proj.weight", &test->score_weight},
                      {"value_proj.weight", &test->value_weight},
                      {"value_proj.bias", &test->value_bias}};
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "general"));
    if (test->call.scale != 1.0)
        assert_ok(attnzoo_module_set_option_float(module, "scale", test->call.scale));
    if (test->call.softcap != 0.0)
        assert_ok(attnzoo_module_set_option_float(module, "softcap", test->call.softcap));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        test_tensor_store(parameters[i].tensor);
        if (parameters[i].tensor->rank > 0)
            assert_ok(attnzoo_module_set_parameter(module, parameters[i].name, parameters[i].tensor->view));
    }
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

static attnzoo_status run(struct general_case *test, attnzoo_executor *executor)
{
    struct attention_case *call = &test->call;
    attention_case_store(call);
    attnzoo_module *module = make_module(test);
    attnzoo_mask *mask = attention_case_mask(call);
    attnzoo_status status = attnzoo_module_forward(module, executor, call->query.view, call->key.view, call->value.view,
                                                   mask, NULL, call->context.view, call->attention.view);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    attention_case_load(call);
    return status;
}

/* Wa^T, so that the queries' layer is y = x W^T like any other. */
static double *turned(const struct test_tensor *weight)
{
    double *result = reference_zeros(weight->count + 1);
    int64_t rows = weight->shape[0], columns = weight->shape[1];
    for (int64_t i = 0; i < weight->count; i++)
        result[i % columns * rows + i / columns] = weight->values[i];
    return result;
}

static bool compare(struct general_case *test)
{
    struct reference_problem problem = mask_of(test);
    struct attention_case *call = &test->call;
    double *weight = turned(&test->score_weight);
    const struct reference_layer query_layer = {
        .weight = weight, .inputs = call->query.shape[2], .outputs = call->key.shape[2]};
    const struct reference_layer value_layer = {.weight = test->value_weight.values,
                                                .bias = test->value_bias.values,
                                                .inputs = call->value.shape[2],
                                                .outputs = call->sizes.value_size};
    struct reference_bounded query =
        reference_project(&query_layer, call->query.values, problem.batch * problem.queries);
    struct reference_bounded value = reference_project(&value_layer, call->value.values, problem.batch * problem.keys);
    problem.query = query.value;
    problem.query_error = query.bound;
    problem.value = value.value;
    problem.value_error = value.bound;
    struct reference_result expected = reference_compute(&problem);
    bool agrees =
        attention_case_compare_tensor(&call->context, expected.context, expected.context_bound, "context") &&
        attention_case_compare_tensor(&call->attention, expected.attention, expected.attention_bound, "attention");
    reference_result_destroy(&expected);
    reference_bounded_destroy(&query);
    reference_bounded_destroy(&value);
    free(weight);
    return agrees;
}

static bool agrees_with_other_executors(const struct executors *executors, struct general_case *test)
{
    struct output_copy copy = output_copy_create(&test->call.context, &test->call.attention);
    bool is_same = true;
    for (int i = 0; i < EXECUTOR_COUNT && is_same; i++)
        is_same = run(test, executors->by_thread_count[i]) == ATTNZOO_STATUS_OK &&
                  output_copy_is_same(&copy, &test->call.context, &test->call.attention);
    output_copy_destroy(&copy);
    if (!is_same)
        print_error("another number of threads gives other bits\n");
    return is_same;
}

static void run_case(const struct executors *executors, uint64_t seed)
{
    struct random_source source = {seed * UINT64_C(0x9e3779b97f4a7c15)};
    struct general_case test;
    plan(&test, &source);
    fill_case(&test, &source);
    if (random_chance(&source, 0.7))
        poison_hidden_keys(&test);
    int64_t threads = random_between(&source, 0, EXECUTOR_COUNT - 1);
    attnzoo_status status = run(&test, executors->by_thread_count[threads]);
    if (status != ATTNZOO_STATUS_OK)
        print_error("forward: %s: %s\n", attnzoo_status_name(status), attnzoo_last_error());
    if (status != ATTNZOO_STATUS_OK || !compare(&test) ||
        (seed % 5 == 0 && !agrees_with_other_executors(executors, &test))) {
        print_error("ATTNZOO_TEST_SEED=%" PRIu64 " ATTNZOO_TEST_CASES=1 repeats it; threads %" PRId64 "\n", seed,
                    threads);
        attention_case_print(&test.call);
        fail();
    }
    attention_case_destroy(&test.call);
    test_tensor_destroy(&test.score_weight);
    test_tensor_destroy(&test.value_weight);
    test_tensor_destroy(&test.value_bias);
}

static void random_calls_agree_with_the_reference(void **state)
{
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20150817);
    uint64_t cases = number_from_environment("ATTNZOO_TEST_CASES", DEFAULT_CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(*state, seed + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_calls_agree_with_the_reference, executors_create, executors_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
