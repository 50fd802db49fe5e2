/*
 * tests/mechanisms/location_random_test.c: thousands of random calls of location, in all its flavors, against the
 * reference, each within the bound derived for it: without a state, with one, and gaussian_mixture's steps dealt to
 * several calls, which must agree to the bit with one, as must calls with any number of threads. ATTNZOO_TEST_CASES sets
 * how many; each has its own seed, so that ATTNZOO_TEST_SEED with the number that a failure prints and
 * ATTNZOO_TEST_CASES=1 repeats it alone.
 */
#include "mechanisms/random_case.h"
#include "reference/location.h"
#include "support/element.h"
#include "support/executors.h"
#include "support/output_copy.h"
#include "support/tanh_part.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { DEFAULT_CASES = 3000 };

/* One case under way. */
struct trial {
    struct tanh_case test;
    struct reference_location model; /* but for the pointers */
    struct random_source source;
    const struct executors *executors;
    attnzoo_module *module;
    attnzoo_mask *mask;
    bool has_key, is_loaded;
    struct test_tensor loaded; /* kappa to start from */
};

static const int64_t SIZES[] = {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64};

static int64_t any_size(struct trial *trial)
{
    return SIZES[random_between(&trial->source, random_chance(&trial->source, 0.05) ? 0 : 1, 11)];
}

static int64_t any_length(struct trial *trial, int64_t usual)
{
    struct random_source *source = &trial->source;
    double draw = random_real(source, 0.0, 1.0);
    if (draw < 0.04)
        return 0;
    if (draw < 0.12)
        return 1;
    return random_between(source, 2, draw < 0.9 ? usual : 4 * usual);
}

static void plan_parameter(struct trial *trial, int parameter, int32_t rank, int64_t first, int64_t second)
{
    struct test_tensor *tensor = &trial->test.parameters[parameter];
    *tensor = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, rank, (int64_t[]){first, second});
    random_plan_input(tensor, &trial->source, random_float_type(&trial->source), rank);
}

/* A layer with or without a bias; the bias is the parameter that follows. */
static void plan_layer(struct trial *trial, int weight, int64_t outputs, int64_t inputs)
{
    plan_parameter(trial, weight, 2, outputs, inputs);
    if (random_chance(&trial->source, 0.7))
        plan_parameter(trial, weight + 1, 1, outputs, 0);
}

static void plan_parameters(struct trial *trial)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    struct reference_location *model = &trial->model;
    struct random_source *source = &trial->source;
    int64_t features = sizes->query_size;
    model->flavor = (enum reference_location_flavor)random_between(source, 0, 2);
    model->components = random_between(source, 1, 5);
    if (model->flavor == REFERENCE_GAUSSIAN_MIXTURE)
        plan_layer(trial, TANH_WINDOW_WEIGHT, 3 * model->components, features);
    if (model->flavor == REFERENCE_LOCAL_P) {
        plan_layer(trial, TANH_QUERY_WEIGHT, sizes->attention_size, features);
        plan_layer(trial, TANH_SCORE_WEIGHT, 1, sizes->attention_size);
    }
    if (model->flavor == REFERENCE_POSITION || (model->flavor == REFERENCE_LOCAL_P && random_chance(source, 0.6)))
        plan_parameter(trial, TANH_LOCATION_WEIGHT, 2, sizes->keys + random_between(source, 0, 3), features);
    if (sizes->value_size != sizes->value_columns || random_chance(source, 0.3))
        plan_layer(trial, TANH_VALUE_WEIGHT, sizes->value_columns, sizes->value_size);
    model->is_normalized = random_chance(source, 0.4);
    model->first_position = random_chance(source, 0.5) ? 1.0 : 0.0;
    model->window = (double)random_between(source, 1, random_chance(source, 0.7) ? 8 : 2 * sizes->keys + 2);
}

static void plan_sizes(struct trial *trial)
{
    struct tanh_sizes *sizes = &trial->test.sizes;
    struct random_source *source = &trial->source;
    *sizes = (struct tanh_sizes){.batch = random_chance(source, 0.02) ? 0 : random_between(source, 1, 3),
                                 .heads = 1,
                                 .key_heads = 1,
                                 .queries = any_length(trial, 12),
                                 .keys = any_length(trial, 40),
                                 .query_size = any_size(trial),
                                 .key_size = any_size(trial),
                                 .value_size = any_size(trial),
                                 .attention_size = any_size(trial)};
    sizes->value_columns = random_chance(source, 0.6) ? sizes->value_size : any_size(trial);
    /* Several tiles and chunks of keys, whatever these are. */
    if (random_chance(source, 0.02))
        sizes->keys = random_between(source, 1000, 5000);
}

static void plan(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    struct attention_case *call = &test->call;
    const struct tanh_sizes *sizes = &test->sizes;
    struct random_source *source = &trial->source;
    plan_sizes(trial);
    test->mechanism = "location";
    int64_t B = sizes->batch, N = sizes->queries, M = sizes->keys;
    attention_case_plan(call, (struct attention_sizes){B, 1, 1, N, M, sizes->query_size, sizes->value_columns});
    const int32_t dtype = ATTNZOO_DTYPE_FLOAT32;
    call->query = test_tensor_plan(dtype, 3, (int64_t[]){B, N, sizes->query_size});
    call->key = test_tensor_plan(dtype, 3, (int64_t[]){B, M, sizes->key_size});
    call->value = test_tensor_plan(dtype, 3, (int64_t[]){B, M, sizes->value_size});
    call->context = test_tensor_plan(dtype, 3, (int64_t[]){B, N, sizes->value_columns});
    call->attention = test_tensor_plan(dtype, 3, (int64_t[]){B, N, M});
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

/* Centres move so that they cross the keys in the steps there are, or pass them, or creep. */
static void fill(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    const struct tanh_sizes *sizes = &test->sizes;
    double narrow = 1.0 / sqrt((double)sizes->query_size + 1.0), speed = random_real(&trial->source, -3.0, 2.5);
    attention_case_fill(&test->call, &trial->source, 1.0);
    random_masks_fill(&test->call, &trial->source);
    fill_parameter(trial, TANH_WINDOW_WEIGHT, 2.0 * narrow);
    fill_parameter(trial, TANH_WINDOW_BIAS, 1.0);
    struct test_tensor *bias = &test->parameters[TANH_WINDOW_BIAS];
    for (int64_t k = 2 * bias->count / 3; k < bias->count && !test_tensor_repeats(bias); k++)
        bias->values[k] = element_rounded(bias->dtype, speed);
    fill_parameter(trial, TANH_LOCATION_WEIGHT, 3.0 * narrow);
    fill_parameter(trial, TANH_QUERY_WEIGHT, 2.0 * narrow);
    fill_parameter(trial, TANH_QUERY_BIAS, 0.5);
    fill_parameter(trial, TANH_SCORE_WEIGHT, 4.0 / sqrt((double)sizes->attention_size + 1.0));
    fill_parameter(trial, TANH_SCORE_BIAS, 1.0);
    fill_parameter(trial, TANH_VALUE_WEIGHT, 1.7 / sqrt((double)sizes->value_size + 1.0));
    fill_parameter(trial, TANH_VALUE_BIAS, 0.5);
}

static struct reference_layer layer_of(const struct tanh_case *test, int weight, int64_t inputs, int64_t outputs)
{
    const struct test_tensor *parameters = &test->parameters[weight];
    return (struct reference_layer){parameters[0].values, parameters[1].values, inputs, outputs};
}

static struct reference_location problem_of(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    const struct tanh_sizes *sizes = &test->sizes;
    struct reference_location problem = trial->model;
    problem.mask = tanh_case_problem(test).model.mask;
    problem.query = test->call.query.values;
    problem.value = test->call.value.values;
    problem.window_proj = layer_of(test, TANH_WINDOW_WEIGHT, sizes->query_size, 3 * problem.components);
    problem.query_proj = layer_of(test, TANH_QUERY_WEIGHT, sizes->query_size, sizes->attention_size);
    problem.value_proj = layer_of(test, TANH_VALUE_WEIGHT, sizes->value_size, sizes->value_columns);
    problem.location_weight = test->parameters[TANH_LOCATION_WEIGHT].values;
    problem.score_weight = test->parameters[TANH_SCORE_WEIGHT].values;
    if (test->parameters[TANH_SCORE_BIAS].rank > 0)
        problem.score_bias = test->parameters[TANH_SCORE_BIAS].values[0];
    return problem;
}

/* Now and then a NaN: where no query sees it, or anywhere. Weights that are 0 may leave a value out, so that only a
 * softmax is sure to meet a value's NaN. */
static void plant_nan(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    struct reference_location problem = problem_of(trial);
    struct test_tensor *value = &test->call.value, *query = &test->call.query;
    bool may_poison = random_chance(&trial->source, 0.6) && !test_tensor_repeats(value);
    for (int64_t row = 0; may_poison && row < test->sizes.batch * test->sizes.keys; row++) {
        bool is_seen = false;
        for (int64_t i = 0; i < test->sizes.queries; i++)
            is_seen = is_seen || reference_sees(&problem.mask, row / test->sizes.keys, 0, i, row % test->sizes.keys);
        for (int64_t d = 0; d < test->sizes.value_size && !is_seen; d++)
            value->values[row * test->sizes.value_size + d] = NAN;
    }
    if (query->count > 0 && random_chance(&trial->source, 0.05))
        query->values[random_between(&trial->source, 0, query->count - 1)] = NAN;
    if (value->count > 0 && random_chance(&trial->source, 0.05) && trial->model.flavor == REFERENCE_POSITION)
        value->values[random_between(&trial->source, 0, value->count - 1)] = NAN;
    test_tensor_make_repeats_equal(query);
    test_tensor_make_repeats_equal(value);
}

static attnzoo_module *module_of(struct trial *trial)
{
    static const char *const flavors[] = {"gaussian_mixture", "position", "local_p"};
    const struct reference_location *model = &trial->model;
    attnzoo_module *module = tanh_case_unprepared_module(&trial->test);
    assert_ok(attnzoo_module_set_option_text(module, "flavor", flavors[model->flavor]));
    assert_ok(attnzoo_module_set_option_bool(module, "normalized", model->is_normalized));
    assert_ok(attnzoo_module_set_option_int(module, "window", (int64_t)model->window));
    assert_ok(attnzoo_module_set_option_int(module, "first_position", (int64_t)model->first_position));
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

static attnzoo_executor *any_executor(struct trial *trial)
{
    return trial->executors->by_thread_count[random_between(&trial->source, 0, EXECUTOR_COUNT - 1)];
}

static void draw_loaded(struct trial *trial)
{
    trial->is_loaded = trial->model.flavor == REFERENCE_GAUSSIAN_MIXTURE && random_chance(&trial->source, 0.3);
    if (!trial->is_loaded)
        return;
    trial->loaded =
        test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){trial->test.sizes.batch, trial->model.components});
    random_plan_input(&trial->loaded, &trial->source, random_float_type(&trial->source), 2);
    test_tensor_allocate(&trial->loaded);
    test_tensor_fill(&trial->loaded, &trial->source, 0.0, 20.0);
    test_tensor_store(&trial->loaded);
}

static attnzoo_state *new_state(struct trial *trial)
{
    attnzoo_state *state = tanh_case_state(&trial->test, trial->module);
    if (trial->is_loaded)
        assert_ok(attnzoo_state_set_fields(state, (const attnzoo_tensor *const[]){trial->loaded.view}, 1));
    return state;
}

static struct reference_bounded new_kappa(const struct trial *trial)
{
    struct reference_bounded kappa = reference_bounded_create(trial->test.sizes.batch * trial->model.components);
    for (int64_t i = 0; i < trial->loaded.count; i++)
        kappa.value[i] = trial->loaded.values[i];
    return kappa;
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

static bool kappa_agrees(struct trial *trial, const attnzoo_state *state, const struct reference_bounded *expected)
{
    struct test_tensor got =
        test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){trial->test.sizes.batch, trial->model.components});
    /* Centres may be past float16. */
    int32_t dtype = random_chance(&trial->source, 0.5) ? ATTNZOO_DTYPE_FLOAT32 : ATTNZOO_DTYPE_BFLOAT16;
    random_plan_output(&got, &trial->source, dtype, 2);
    test_tensor_allocate(&got);
    assert_ok(attnzoo_state_get_field(state, 0, got.view));
    test_tensor_load(&got);
    bool is_same = tanh_case_values_agree(&got, expected->value, expected->bound, "kappa");
    test_tensor_destroy(&got);
    return is_same;
}

/* A new state that holds what this one does, which is destroyed: by its field, or copied. */
static attnzoo_state *moved(struct trial *trial, attnzoo_state *state)
{
    attnzoo_state *other = tanh_case_state(&trial->test, trial->module);
    struct test_tensor kappa =
        test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){trial->test.sizes.batch, trial->model.components});
    test_tensor_allocate(&kappa);
    if (random_chance(&trial->source, 0.5)) {
        assert_ok(attnzoo_state_get_field(state, 0, kappa.view));
        assert_ok(attnzoo_state_set_fields(other, (const attnzoo_tensor *const[]){kappa.view}, 1));
    } else {
        assert_ok(attnzoo_state_copy(other, state));
    }
    test_tensor_destroy(&kappa);
    attnzoo_state_destroy(state);
    return other;
}

/* gaussian_mixture's steps in two or three calls: to the bit what one call gives where all queries see the same keys;
 * otherwise values may be projected in other batches of rows, and it is the reference that parts are held to. */
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
    bool is_projected = test->parameters[TANH_VALUE_WEIGHT].rank > 0;
    bool is_same = has_frontier && is_projected
                       ? tanh_case_compare_with(test, expected)
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
    bool is_mixture = trial->model.flavor == REFERENCE_GAUSSIAN_MIXTURE;
    struct reference_location problem = problem_of(trial);
    struct reference_bounded kappa = new_kappa(trial);
    struct reference_result expected = reference_location_compute(&problem, &kappa);
    attnzoo_state *state = trial->is_loaded || random_chance(&trial->source, 0.4) ? new_state(trial) : NULL;
    assert_ok(tanh_case_forward(test, trial->module, any_executor(trial), trial->mask, state));
    tanh_case_load(test);
    count_bounded(test, &expected);
    bool is_good = tanh_case_compare_with(test, &expected);
    if (is_good && is_mixture && state != NULL && test->sizes.batch > 0)
        is_good = kappa_agrees(trial, state, &kappa);
    if (is_good && state == NULL && random_chance(&trial->source, 0.2))
        is_good = executors_agree(trial);
    if (is_good && is_mixture && test->sizes.batch > 0 && random_chance(&trial->source, 0.3))
        is_good = parts_agree(trial, &expected);
    attnzoo_state_destroy(state);
    reference_bounded_destroy(&kappa);
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
        print_error("flavor %d, K %" PRId64 ", B %" PRId64 ", N %" PRId64 ", M %" PRId64 ", Eq %" PRId64 ", Ev %" PRId64
                    ", Dv %" PRId64 ", window %g, %s\n",
                    (int)trial.model.flavor, trial.model.components, sizes->batch, sizes->queries, sizes->keys,
                    sizes->query_size, sizes->value_size, sizes->value_columns, trial.model.window,
                    trial.model.is_normalized ? "normalized" : "plain");
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
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20130804);
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
