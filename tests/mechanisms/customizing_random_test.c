/*
 * tests/mechanisms/customizing_random_test.c: thousands of random calls of customizing against the reference, each
 * within the bound derived for it: without a state, with one, from a loaded alignment, and with the steps dealt to
 * several calls. Calls in parts and calls with any number of threads must agree to the bit. ATTNZOO_TEST_CASES sets how
 * many; each has its own seed, so that ATTNZOO_TEST_SEED with the number that a failure prints and
 * ATTNZOO_TEST_CASES=1 repeats it alone.
 */
#include "mechanisms/random_case.h"
#include "reference/customizing.h"
#include "support/executors.h"
#include "support/output_copy.h"
#include "support/tanh_part.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>

enum { DEFAULT_CASES = 3000 };

/* One case under way. A tanh_case, in shapes of this mechanism's own. */
struct trial {
    struct tanh_case test;
    struct random_source source;
    const struct executors *executors;
    attnzoo_module *module;
    attnzoo_mask *mask;
    double scale; /* NaN for the default */
    bool has_key, is_loaded;
    struct test_tensor loaded; /* an alignment to start from */
};

static const int64_t SIZES[] = {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64};
static const int64_t WIDTHS[] = {1, 3, 3, 7, 31, 101};

static int64_t any_size(struct trial *trial, int64_t most_index)
{
    return SIZES[random_between(&trial->source, random_chance(&trial->source, 0.05) ? 0 : 1, most_index)];
}

static void plan_sizes(struct trial *trial)
{
    struct random_source *source = &trial->source;
    struct tanh_sizes *sizes = &trial->test.sizes;
    *sizes = (struct tanh_sizes){.batch = random_chance(source, 0.02) ? 0 : random_between(source, 1, 3),
                                 .heads = random_between(source, 1, 4),
                                 .queries = random_between(source, random_chance(source, 0.1) ? 0 : 1, 6),
                                 .keys = random_between(source, random_chance(source, 0.1) ? 0 : 1, 40),
                                 .query_size = any_size(trial, 11),
                                 .key_size = any_size(trial, 11),
                                 .value_size = any_size(trial, 11),
                                 .attention_size = any_size(trial, 9),
                                 .filters = any_size(trial, 6),
                                 .width = WIDTHS[random_between(source, 0, 5)]};
    /* Several tiles and chunks of keys, whatever these are. */
    if (random_chance(source, 0.02)) {
        sizes->keys = random_between(source, 1000, 5000);
        sizes->queries = random_between(source, 1, 2);
        sizes->attention_size = any_size(trial, 5);
    }
    sizes->key_heads = sizes->heads;
    sizes->value_columns = sizes->attention_size;
}

static void plan_parameters(struct trial *trial)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    int64_t joined = sizes->heads * sizes->attention_size;
    const struct {
        int parameter;
        int32_t rank;
        int64_t shape[3];
        double presence;
    } plans[] = {{TANH_QUERY_WEIGHT, 2, {joined, sizes->query_size}, 1.0},
                 {TANH_QUERY_BIAS, 1, {joined}, 0.7},
                 {TANH_VALUE_WEIGHT, 2, {joined, sizes->value_size}, 1.0},
                 {TANH_BIAS, 1, {joined}, 0.7},
                 {TANH_CONV_WEIGHT, 3, {sizes->filters, 1, sizes->width}, 1.0},
                 {TANH_CONV_BIAS, 1, {sizes->filters}, 0.7},
                 {TANH_LOCATION_WEIGHT, 2, {sizes->attention_size, sizes->filters}, 1.0}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct test_tensor *tensor = &trial->test.parameters[plans[i].parameter];
        if (!random_chance(&trial->source, plans[i].presence))
            continue;
        *tensor = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, plans[i].rank, plans[i].shape);
        random_plan_input(tensor, &trial->source, random_float_type(&trial->source), plans[i].rank);
    }
}

static void plan(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    struct attention_case *call = &test->call;
    const struct tanh_sizes *sizes = &test->sizes;
    struct random_source *source = &trial->source;
    plan_sizes(trial);
    test->mechanism = "customizing";
    test->initial = (enum reference_initial)random_between(source, REFERENCE_ZEROS, REFERENCE_FIRST);
    trial->scale = random_chance(source, 0.3) ? random_real(source, -0.5, 0.5) : (double)NAN;
    int64_t B = sizes->batch, H = sizes->heads, N = sizes->queries, M = sizes->keys, D = sizes->attention_size;
    attention_case_plan(call, (struct attention_sizes){B, H, H, N, M, D, D});
    const int32_t dtype = ATTNZOO_DTYPE_FLOAT32;
    call->query = test_tensor_plan(dtype, 3, (int64_t[]){B, N, sizes->query_size});
    call->key = test_tensor_plan(dtype, 3, (int64_t[]){B, M, sizes->key_size});
    call->value = test_tensor_plan(dtype, 3, (int64_t[]){B, M, sizes->value_size});
    call->context = test_tensor_plan(dtype, 3, (int64_t[]){B, N, H * D});
    call->attention =
        H > 1 ? test_tensor_plan(dtype, 4, (int64_t[]){B, H, N, M}) : test_tensor_plan(dtype, 3, (int64_t[]){B, N, M});
    call->log_sum_exp.rank = 0;
    struct test_tensor *const data[] = {&call->query, &call->key, &call->value};
    for (int i = 0; i < 3; i++)
        random_plan_input(data[i], source, random_float_type(source), 2);
    random_plan_output(&call->context, source, random_float_type(source), 2);
    random_plan_output(&call->attention, source, random_float_type(source), 2);
    trial->has_key = random_chance(source, 0.5);
    if (!trial->has_key)
        call->key.rank = 0;
    if (random_chance(source, 0.3))
        call->attention.rank = 0;
    call->is_masked = random_chance(source, 0.8);
    if (call->is_masked)
        random_masks_plan(call, source);
    plan_parameters(trial);
}

static void fill_parameter(struct trial *trial, int parameter, double widest)
{
    test_tensor_fill(&trial->test.parameters[parameter], &trial->source, -widest, widest);
}

/* So that a step does not multiply errors by much: the features of an alignment are about 1 at most. */
static void fill(struct trial *trial)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    attention_case_fill(&trial->test.call, &trial->source, 1.0);
    random_masks_fill(&trial->test.call, &trial->source);
    fill_parameter(trial, TANH_QUERY_WEIGHT, 1.7 / sqrt((double)sizes->query_size + 1.0));
    fill_parameter(trial, TANH_QUERY_BIAS, 0.5);
    fill_parameter(trial, TANH_VALUE_WEIGHT, 1.7 / sqrt((double)sizes->value_size + 1.0));
    fill_parameter(trial, TANH_BIAS, 0.5);
    fill_parameter(trial, TANH_CONV_WEIGHT, 1.0);
    fill_parameter(trial, TANH_CONV_BIAS, 0.3);
    fill_parameter(trial, TANH_LOCATION_WEIGHT, 1.0 / sqrt((double)sizes->filters + 1.0));
}

static struct reference_layer layer_of(const struct tanh_case *test, int weight, int bias, int64_t inputs)
{
    return (struct reference_layer){test->parameters[weight].values, test->parameters[bias].values, inputs,
                                    test->sizes.heads * test->sizes.attention_size};
}

static struct reference_customizing problem_of(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    const struct tanh_sizes *sizes = &test->sizes;
    double size = sizes->attention_size > 0 ? (double)sizes->attention_size : 1.0;
    return (struct reference_customizing){.mask = tanh_case_problem(test).model.mask,
                                          .query = test->call.query.values,
                                          .value = test->call.value.values,
                                          .query_proj =
                                              layer_of(test, TANH_QUERY_WEIGHT, TANH_QUERY_BIAS, sizes->query_size),
                                          .value_proj = layer_of(test, TANH_VALUE_WEIGHT, TANH_BIAS, sizes->value_size),
                                          .filters = sizes->filters,
                                          .width = sizes->width,
                                          .conv_weight = test->parameters[TANH_CONV_WEIGHT].values,
                                          .conv_bias = test->parameters[TANH_CONV_BIAS].values,
                                          .proj_weight = test->parameters[TANH_LOCATION_WEIGHT].values,
                                          .scale = isnan(trial->scale) ? 1.0 / sqrt(size) : trial->scale,
                                          .initial = test->initial};
}

/* Now and then a NaN: where no query sees it, or anywhere. */
static void plant_nan(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    struct reference_customizing problem = problem_of(trial);
    struct test_tensor *value = &test->call.value, *query = &test->call.query;
    bool may_poison = random_chance(&trial->source, 0.6) && !test_tensor_repeats(value);
    for (int64_t row = 0; may_poison && row < test->sizes.batch * test->sizes.keys; row++) {
        bool is_seen = false;
        for (int64_t h = 0; h < test->sizes.heads; h++)
            for (int64_t i = 0; i < test->sizes.queries; i++)
                is_seen =
                    is_seen || reference_sees(&problem.mask, row / test->sizes.keys, h, i, row % test->sizes.keys);
        for (int64_t d = 0; d < test->sizes.value_size && !is_seen; d++)
            value->values[row * test->sizes.value_size + d] = NAN;
    }
    if (query->count > 0 && random_chance(&trial->source, 0.05))
        query->values[random_between(&trial->source, 0, query->count - 1)] = NAN;
    if (value->count > 0 && random_chance(&trial->source, 0.05))
        value->values[random_between(&trial->source, 0, value->count - 1)] = NAN;
    test_tensor_make_repeats_equal(query);
    test_tensor_make_repeats_equal(value);
}

static attnzoo_module *module_of(struct trial *trial)
{
    static const char *const initials[] = {"zeros", "uniform", "first"};
    attnzoo_module *module = tanh_case_unprepared_module(&trial->test);
    assert_ok(attnzoo_module_set_option_text(module, "initial", initials[trial->test.initial]));
    if (!isnan(trial->scale))
        assert_ok(attnzoo_module_set_option_float(module, "scale", trial->scale));
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

static attnzoo_executor *any_executor(struct trial *trial)
{
    return trial->executors->by_thread_count[random_between(&trial->source, 0, EXECUTOR_COUNT - 1)];
}

static struct test_tensor planned_alignment(const struct trial *trial)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    return test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){sizes->batch, sizes->heads, sizes->keys});
}

static void draw_loaded(struct trial *trial)
{
    trial->is_loaded = random_chance(&trial->source, 0.3);
    if (!trial->is_loaded)
        return;
    trial->loaded = planned_alignment(trial);
    random_plan_input(&trial->loaded, &trial->source, random_float_type(&trial->source), 3);
    test_tensor_allocate(&trial->loaded);
    test_tensor_fill(&trial->loaded, &trial->source, 0.0, 0.5);
    test_tensor_store(&trial->loaded);
}

static attnzoo_state *new_state(struct trial *trial)
{
    attnzoo_state *state = tanh_case_state(&trial->test, trial->module);
    if (trial->is_loaded)
        assert_ok(attnzoo_state_set_fields(state, (const attnzoo_tensor *const[]){trial->loaded.view}, 1));
    return state;
}

static struct reference_alignment new_alignment(const struct trial *trial)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    struct reference_alignment alignment = reference_alignment_create(sizes->batch, sizes->heads, sizes->keys);
    alignment.is_fresh = !trial->is_loaded;
    for (int64_t i = 0; i < trial->loaded.count; i++)
        alignment.alignment.value[i] = trial->loaded.values[i];
    return alignment;
}

static void poison_outputs(struct trial *trial)
{
    test_tensor_poison(&trial->test.call.context);
    test_tensor_poison(&trial->test.call.attention);
}

/* How many numbers the reference vouches for, of how many; and the largest share of its bound that an error took. */
static int64_t bounded_count, number_count;
static double largest_share;

static void count_bounded(const struct tanh_case *test, const struct reference_result *expected)
{
    const struct test_tensor *context = &test->call.context;
    for (int64_t i = 0; i < context->count; i++) {
        double bound = expected->context_bound[i];
        number_count++;
        bounded_count += isnan(expected->context[i]) || bound < 0.01 * (fabs(expected->context[i]) + 1.0);
        if (context->dtype == ATTNZOO_DTYPE_FLOAT32 && bound > 0.0 && isfinite(bound) && !isnan(expected->context[i]))
            largest_share = fmax(largest_share, fabs(context->values[i] - expected->context[i]) / bound);
    }
}

static bool alignment_agrees(struct trial *trial, const attnzoo_state *state,
                             const struct reference_alignment *expected)
{
    struct test_tensor got = planned_alignment(trial);
    random_plan_output(&got, &trial->source, random_float_type(&trial->source), 3);
    test_tensor_allocate(&got);
    assert_ok(attnzoo_state_get_field(state, 0, got.view));
    test_tensor_load(&got);
    bool is_same =
        tanh_case_values_agree(&got, expected->alignment.value, expected->alignment.bound, "the state's alignment");
    test_tensor_destroy(&got);
    return is_same;
}

/* A new state that holds what this one does, which is destroyed: by its field, or copied. */
static attnzoo_state *moved(struct trial *trial, attnzoo_state *state)
{
    attnzoo_state *other = tanh_case_state(&trial->test, trial->module);
    if (attnzoo_state_length(state) > 0 && random_chance(&trial->source, 0.5)) {
        struct test_tensor alignment = planned_alignment(trial);
        test_tensor_allocate(&alignment);
        assert_ok(attnzoo_state_get_field(state, 0, alignment.view));
        assert_ok(attnzoo_state_set_fields(other, (const attnzoo_tensor *const[]){alignment.view}, 1));
        test_tensor_destroy(&alignment);
    } else {
        assert_ok(attnzoo_state_copy(other, state));
    }
    attnzoo_state_destroy(state);
    return other;
}

/* The whole in two or three calls: to the bit what one call gives, where all queries may see the same keys; otherwise
 * values may be projected in other batches of rows, and it is the reference that parts are held to. */
static bool parts_agree(struct trial *trial, const struct reference_result *expected)
{
    struct tanh_case *test = &trial->test;
    int64_t queries = test->sizes.queries, first = 0;
    int64_t ends[3] = {random_between(&trial->source, 0, queries), random_between(&trial->source, 0, queries), queries};
    bool has_frontier = test->call.causal || test->call.has_window || test->call.query_lengths.rank > 0;
    bool is_moved = random_chance(&trial->source, 0.5);
    poison_outputs(trial);
    attnzoo_state *state = new_state(trial);
    assert_ok(tanh_case_forward(test, trial->module, any_executor(trial), trial->mask, state));
    attnzoo_state_destroy(state);
    struct output_copy whole = output_copy_create(&test->call.context, &test->call.attention);
    poison_outputs(trial);
    state = new_state(trial);
    for (int part = 0; part < 3; part++) {
        if (ends[part] < first)
            continue;
        assert_ok(tanh_case_forward_part(test, first, ends[part] - first, trial->module, any_executor(trial), state));
        first = ends[part];
        if (is_moved && part < 2)
            state = moved(trial, state);
    }
    attnzoo_state_destroy(state);
    tanh_case_load(test);
    bool is_same = has_frontier ? tanh_case_compare_with(test, expected)
                                : output_copy_is_same(&whole, &test->call.context, &test->call.attention);
    output_copy_destroy(&whole);
    if (!is_same)
        print_error("in parts that end at %" PRId64 " and %" PRId64 "%s it gives something else\n", ends[0], ends[1],
                    is_moved ? ", the state moved," : "");
    return is_same;
}

static bool executors_agree(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    struct output_copy whole = output_copy_create(&test->call.context, &test->call.attention);
    bool is_same = true;
    for (int i = 0; i < EXECUTOR_COUNT && is_same; i++) {
        poison_outputs(trial);
        assert_ok(tanh_case_forward(test, trial->module, trial->executors->by_thread_count[i], trial->mask, NULL));
        is_same = output_copy_is_same(&whole, &test->call.context, &test->call.attention);
    }
    output_copy_destroy(&whole);
    if (!is_same)
        print_error("another number of threads gives other bits\n");
    return is_same;
}

static bool try(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    draw_loaded(trial);
    struct reference_customizing problem = problem_of(trial);
    struct reference_alignment alignment = new_alignment(trial);
    struct reference_result expected = reference_customizing_compute(&problem, &alignment);
    attnzoo_state *state = trial->is_loaded || random_chance(&trial->source, 0.4) ? new_state(trial) : NULL;
    assert_ok(tanh_case_forward(test, trial->module, any_executor(trial), trial->mask, state));
    tanh_case_load(test);
    count_bounded(test, &expected);
    bool is_good = tanh_case_compare_with(test, &expected);
    if (is_good && state != NULL && test->sizes.batch > 0 && attnzoo_state_length(state) > 0)
        is_good = alignment_agrees(trial, state, &alignment);
    if (is_good && state == NULL && random_chance(&trial->source, 0.2))
        is_good = executors_agree(trial);
    if (is_good && test->sizes.batch > 0 && random_chance(&trial->source, 0.3))
        is_good = parts_agree(trial, &expected);
    attnzoo_state_destroy(state);
    reference_alignment_destroy(&alignment);
    reference_result_destroy(&expected);
    return is_good;
}

static void run_case(const struct executors *executors, uint64_t seed)
{
    struct trial trial = {.source = {seed * UINT64_C(0x9e3779b97f4a7c15)}, .executors = executors};
    plan(&trial);
    tanh_case_allocate(&trial.test);
    fill(&trial);
    plant_nan(&trial);
    tanh_case_store(&trial.test);
    trial.module = module_of(&trial);
    trial.mask = attention_case_mask(&trial.test.call);
    if (!try(&trial)) {
        const struct tanh_sizes *sizes = &trial.test.sizes;
        print_error("ATTNZOO_TEST_SEED=%" PRIu64 " ATTNZOO_TEST_CASES=1 repeats it\n", seed);
        print_error("B %" PRId64 ", H %" PRId64 ", N %" PRId64 ", M %" PRId64 ", D %" PRId64 ", Eq %" PRId64
                    ", Ev %" PRId64 ", F %" PRId64 ", W %" PRId64 "\n",
                    sizes->batch, sizes->heads, sizes->queries, sizes->keys, sizes->attention_size, sizes->query_size,
                    sizes->value_size, sizes->filters, sizes->width);
        attention_case_print(&trial.test.call);
        fail();
    }
    test_tensor_destroy(&trial.loaded);
    attnzoo_mask_destroy(trial.mask);
    attnzoo_module_destroy(trial.module);
    tanh_case_destroy(&trial.test);
}

static void random_calls_agree_with_the_reference(void **state)
{
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20201024);
    uint64_t cases = number_from_environment("ATTNZOO_TEST_CASES", DEFAULT_CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(*state, seed + i);
    double share = number_count > 0 ? (double)bounded_count / (double)number_count : 1.0;
    print_message("%.2f %% of the contexts' numbers have a bound below 1 %%; errors took up to %.2f of theirs\n",
                  100.0 * share, largest_share);
    assert_true(cases < 1000 || share > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_calls_agree_with_the_reference, executors_create, executors_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
