/*
 * tests/mechanisms/location_aware_random_test.c: thousands of random calls of location_aware against the reference,
 * each within the bound derived for it: without a state, with one, and with the steps dealt to several calls, where the
 * state may be exported and imported between them. Calls in parts and calls with any number of threads must agree to
 * the bit. ATTNZOO_TEST_CASES sets how many; each has its own seed, so that ATTNZOO_TEST_SEED with the number that a
 * failure prints and ATTNZOO_TEST_CASES=1 repeats it alone.
 */
#include "mechanisms/random_case.h"
#include "mechanisms/tanh_random_case.h"
#include "support/executors.h"
#include "support/output_copy.h"
#include "support/tanh_part.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>

enum { DEFAULT_CASES = 4000 };

/* One case under way. */
struct trial {
    struct tanh_case test;
    struct random_source source;
    const struct executors *executors;
    attnzoo_module *module;
    attnzoo_mask *mask;
    bool is_loaded;               /* states start from an alignment that is loaded into them */
    struct test_tensor loaded[2]; /* alignment and cumulative */
};

static attnzoo_executor *any_executor(struct trial *trial)
{
    return trial->executors->by_thread_count[random_between(&trial->source, 0, EXECUTOR_COUNT - 1)];
}

/* An alignment of no particular sum, padded keys and keys that nobody sees included. */
static void draw_loaded(struct trial *trial)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    trial->is_loaded = random_chance(&trial->source, 0.25);
    for (int i = 0; i < 2 && trial->is_loaded; i++) {
        struct test_tensor *field = &trial->loaded[i];
        *field = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){sizes->batch, sizes->heads, sizes->keys});
        random_plan_input(field, &trial->source, random_float_type(&trial->source), 3);
        test_tensor_allocate(field);
        test_tensor_fill(field, &trial->source, 0.0, 1.0);
        test_tensor_store(field);
    }
}

static attnzoo_state *new_state(struct trial *trial)
{
    attnzoo_state *state = tanh_case_state(&trial->test, trial->module);
    if (trial->is_loaded)
        assert_ok(attnzoo_state_set_fields(
            state, (const attnzoo_tensor *const[]){trial->loaded[0].view, trial->loaded[1].view}, 2));
    return state;
}

static struct reference_alignment new_alignment(const struct trial *trial)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    struct reference_alignment alignment = reference_alignment_create(sizes->batch, sizes->heads, sizes->keys);
    alignment.is_fresh = !trial->is_loaded;
    for (int64_t i = 0; i < trial->loaded[0].count; i++) {
        alignment.alignment.value[i] = trial->loaded[0].values[i];
        alignment.cumulative.value[i] = trial->loaded[1].values[i];
    }
    return alignment;
}

static void poison_outputs(struct trial *trial)
{
    test_tensor_poison(&trial->test.call.context);
    test_tensor_poison(&trial->test.call.attention);
}

/* How many numbers the reference vouches for, and of how many. */
static int64_t bounded_count, number_count;

static void count_bounded(const struct tanh_case *test, const struct reference_result *expected)
{
    for (int64_t i = 0; i < test->call.context.count; i++) {
        number_count++;
        double scale = fabs(expected->context[i]) + 1.0;
        bounded_count += isnan(expected->context[i]) || expected->context_bound[i] < 0.01 * scale;
    }
}

/* The state's fields against the reference's. */
static bool state_agrees(struct trial *trial, const attnzoo_state *state, const struct reference_alignment *expected)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    const struct reference_bounded *fields[] = {&expected->alignment, &expected->cumulative};
    bool is_same = attnzoo_state_length(state) == (expected->is_fresh ? 0 : sizes->keys);
    if (!is_same)
        print_error("the state has %" PRId64 " keys\n", attnzoo_state_length(state));
    for (int32_t field = 0; field < 2 && is_same && !expected->is_fresh; field++) {
        struct test_tensor got =
            test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){sizes->batch, sizes->heads, sizes->keys});
        random_plan_output(&got, &trial->source, random_float_type(&trial->source), 3);
        test_tensor_allocate(&got);
        assert_ok(attnzoo_state_get_field(state, field, got.view));
        test_tensor_load(&got);
        is_same = tanh_case_values_agree(&got, fields[field]->value, fields[field]->bound,
                                         field == 0 ? "alignment" : "cumulative");
        test_tensor_destroy(&got);
    }
    return is_same;
}

/* A new state that holds what this one does, which is destroyed. */
static attnzoo_state *moved(struct trial *trial, attnzoo_state *state)
{
    const struct tanh_sizes *sizes = &trial->test.sizes;
    attnzoo_state *other = tanh_case_state(&trial->test, trial->module);
    if (attnzoo_state_length(state) > 0 || sizes->keys == 0) {
        struct test_tensor fields[2];
        for (int32_t field = 0; field < 2; field++) {
            fields[field] =
                test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){sizes->batch, sizes->heads, sizes->keys});
            random_plan_output(&fields[field], &trial->source, ATTNZOO_DTYPE_FLOAT32, 3);
            test_tensor_allocate(&fields[field]);
            assert_ok(attnzoo_state_get_field(state, field, fields[field].view));
        }
        bool leave_out = trial->test.feedback == REFERENCE_PREVIOUS && random_chance(&trial->source, 0.5);
        const attnzoo_tensor *views[] = {fields[0].view, leave_out ? NULL : fields[1].view};
        assert_ok(attnzoo_state_set_fields(other, views, leave_out ? 1 : 2));
        test_tensor_destroy(&fields[0]);
        test_tensor_destroy(&fields[1]);
    }
    attnzoo_state_destroy(state);
    return other;
}

/* What one call with a new state gives. */
static struct output_copy whole_with_state(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    poison_outputs(trial);
    attnzoo_state *state = new_state(trial);
    assert_ok(tanh_case_forward(test, trial->module, any_executor(trial), trial->mask, state));
    attnzoo_state_destroy(state);
    return output_copy_create(&test->call.context, &test->call.attention);
}

/* The whole in two or three calls: to the bit what one call gives, where all queries may see the same keys. Where they
 * may not, keys are projected in other batches of rows, and a BLAS rounds by how many rows it is given: then it is the
 * reference that parts are held to. For the same reason a call without a state is no measure here. */
static bool parts_agree(struct trial *trial, const struct reference_result *expected)
{
    struct tanh_case *test = &trial->test;
    struct output_copy whole = whole_with_state(trial);
    int64_t queries = test->sizes.queries;
    int64_t ends[3] = {random_between(&trial->source, 0, queries), random_between(&trial->source, 0, queries), queries};
    bool is_moved = random_chance(&trial->source, 0.5);
    poison_outputs(trial);
    attnzoo_state *state = new_state(trial);
    int64_t first = 0;
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
    bool has_frontier = test->call.causal || test->call.has_window || test->call.query_lengths.rank > 0;
    bool is_same = has_frontier ? tanh_case_compare_with(test, expected)
                                : output_copy_is_same(&whole, &test->call.context, &test->call.attention);
    output_copy_destroy(&whole);
    if (!is_same)
        print_error("in parts that end at %" PRId64 " and %" PRId64 "%s it gives something else\n", ends[0], ends[1],
                    is_moved ? ", the state moved," : "");
    return is_same;
}

/* As many calls without a state as there are executors. */
static bool executors_agree(struct trial *trial, const struct output_copy *whole)
{
    struct tanh_case *test = &trial->test;
    bool is_same = true;
    for (int i = 0; i < EXECUTOR_COUNT && is_same; i++) {
        poison_outputs(trial);
        assert_ok(tanh_case_forward(test, trial->module, trial->executors->by_thread_count[i], trial->mask, NULL));
        is_same = output_copy_is_same(whole, &test->call.context, &test->call.attention);
    }
    if (!is_same)
        print_error("another number of threads gives other bits\n");
    return is_same;
}

static bool try(struct trial *trial)
{
    struct tanh_case *test = &trial->test;
    const struct tanh_sizes *sizes = &test->sizes;
    draw_loaded(trial);
    struct reference_alignment alignment = new_alignment(trial);
    struct reference_result expected = tanh_case_expect(test, &alignment);
    attnzoo_state *state = trial->is_loaded || random_chance(&trial->source, 0.4) ? new_state(trial) : NULL;
    assert_ok(tanh_case_forward(test, trial->module, any_executor(trial), trial->mask, state));
    tanh_case_load(test);
    bool is_good = tanh_case_compare_with(test, &expected) &&
                   (state == NULL || sizes->batch == 0 || state_agrees(trial, state, &alignment));
    count_bounded(test, &expected);
    reference_alignment_destroy(&alignment);
    struct output_copy whole = output_copy_create(&test->call.context, &test->call.attention);
    if (is_good && state == NULL && random_chance(&trial->source, 0.2))
        is_good = executors_agree(trial, &whole);
    if (is_good && random_chance(&trial->source, 0.3))
        is_good = parts_agree(trial, &expected);
    output_copy_destroy(&whole);
    attnzoo_state_destroy(state);
    reference_result_destroy(&expected);
    return is_good;
}

static void run_case(const struct executors *executors, uint64_t seed)
{
    struct trial trial = {.source = {seed * UINT64_C(0x9e3779b97f4a7c15)}, .executors = executors};
    tanh_random_case_create(&trial.test, &trial.source, "location_aware");
    tanh_case_store(&trial.test);
    trial.module = tanh_case_module(&trial.test);
    trial.mask = attention_case_mask(&trial.test.call);
    if (!try(&trial)) {
        print_error("ATTNZOO_TEST_SEED=%" PRIu64 " ATTNZOO_TEST_CASES=1 repeats it\n", seed);
        tanh_case_print(&trial.test);
        fail();
    }
    test_tensor_destroy(&trial.loaded[0]);
    test_tensor_destroy(&trial.loaded[1]);
    attnzoo_mask_destroy(trial.mask);
    attnzoo_module_destroy(trial.module);
    tanh_case_destroy(&trial.test);
}

static void random_calls_agree_with_the_reference(void **state)
{
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20150624);
    uint64_t cases = number_from_environment("ATTNZOO_TEST_CASES", DEFAULT_CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(*state, seed + i);
    double share = number_count > 0 ? (double)bounded_count / (double)number_count : 1.0;
    print_message("%.2f %% of the contexts' numbers have a bound below 1 %%\n", 100.0 * share);
    assert_true(cases < 1000 || share > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_calls_agree_with_the_reference, executors_create, executors_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
