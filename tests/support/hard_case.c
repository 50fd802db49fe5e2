/*
 * tests/support/hard_case.c: calls of hard and what they must give.
 */
#include "support/hard_case.h"

#include "support/element.h"
#include "support/testing.h"

#include <inttypes.h>
#include <math.h>

void hard_case_plan(struct hard_case *test)
{
    const struct tanh_sizes *sizes = &test->tanh.sizes;
    int64_t with_heads[] = {sizes->batch, sizes->heads, sizes->queries}, without[] = {sizes->batch, sizes->queries};
    int64_t one = 1, *shape = sizes->heads > 1 ? with_heads : without;
    int32_t rank = sizes->heads > 1 ? 3 : 2;
    test->is_additive = test->is_sampled = test->has_seed_input = false;
    test->seed = 0;
    test->seed_input = test_tensor_plan(ATTNZOO_DTYPE_INT64, 1, &one);
    test->index = test_tensor_plan(ATTNZOO_DTYPE_INT64, rank, shape);
    test->log_probability = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, rank, shape);
    test->entropy = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, rank, shape);
}

void hard_case_allocate(struct hard_case *test)
{
    test_tensor_allocate(&test->seed_input);
    test_tensor_allocate(&test->index);
    test_tensor_allocate(&test->log_probability);
    test_tensor_allocate(&test->entropy);
}

static bool belongs_to_additive(int parameter)
{
    return parameter == TANH_BIAS || parameter == TANH_SCORE_WEIGHT || parameter == TANH_SCORE_BIAS;
}

attnzoo_module *hard_case_module(const struct hard_case *test)
{
    const struct tanh_case *tanh = &test->tanh;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "hard"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", tanh->sizes.heads));
    assert_ok(attnzoo_module_set_option_int(module, "num_kv_heads", tanh->sizes.key_heads));
    assert_ok(attnzoo_module_set_option_text(module, "similarity", test->is_additive ? "additive" : "dot_product"));
    assert_ok(attnzoo_module_set_option_text(module, "select", test->is_sampled ? "sample" : "argmax"));
    if (!test->has_seed_input)
        assert_ok(attnzoo_module_set_option_int(module, "seed", (int64_t)test->seed));
    if (!isnan(tanh->call.scale))
        assert_ok(attnzoo_module_set_option_float(module, "scale", tanh->call.scale));
    if (tanh->call.softcap > 0.0)
        assert_ok(attnzoo_module_set_option_float(module, "softcap", tanh->call.softcap));
    for (int i = 0; i < TANH_PARAMETER_COUNT; i++)
        if (tanh->parameters[i].rank > 0 && (test->is_additive || !belongs_to_additive(i)))
            assert_ok(attnzoo_module_set_parameter(module, tanh_parameter_name(i), tanh->parameters[i].view));
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

static attnzoo_status forward(struct hard_case *test, const attnzoo_module *module, attnzoo_executor *executor,
                              const attnzoo_mask *mask)
{
    const struct attention_case *call = &test->tanh.call;
    const attnzoo_tensor *inputs[] = {[ATTNZOO_INPUT_QUERY] = call->query.view,
                                      [ATTNZOO_INPUT_KEY] = call->key.view,
                                      [ATTNZOO_INPUT_VALUE] = call->value.view,
                                      [ATTNZOO_INPUT_SEED] = test->has_seed_input ? test->seed_input.view : NULL};
    attnzoo_tensor *outputs[] = {[ATTNZOO_OUTPUT_CONTEXT] = call->context.view,
                                 [ATTNZOO_OUTPUT_ATTENTION] = call->attention.view,
                                 [ATTNZOO_OUTPUT_INDEX] = test->index.view,
                                 [ATTNZOO_OUTPUT_LOG_PROBABILITY] = test->log_probability.view,
                                 [ATTNZOO_OUTPUT_ENTROPY] = test->entropy.view};
    return attnzoo_module_forward_slots(module, executor, inputs, sizeof inputs / sizeof *inputs, mask, NULL, outputs,
                                        sizeof outputs / sizeof *outputs);
}

attnzoo_status hard_case_run(struct hard_case *test, attnzoo_executor *executor)
{
    tanh_case_store(&test->tanh);
    test->seed_input.values[0] = (double)(int64_t)test->seed;
    test_tensor_store(&test->seed_input);
    test_tensor_poison(&test->index);
    test_tensor_poison(&test->log_probability);
    test_tensor_poison(&test->entropy);
    attnzoo_module *module = hard_case_module(test);
    attnzoo_mask *mask = attention_case_mask(&test->tanh.call);
    attnzoo_status status = forward(test, module, executor, mask);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    tanh_case_load(&test->tanh);
    test_tensor_load(&test->index);
    test_tensor_load(&test->log_probability);
    test_tensor_load(&test->entropy);
    return status;
}

static struct reference_hard problem_of(struct hard_case *test)
{
    const struct tanh_case *tanh = &test->tanh;
    struct reference_hard problem = {.model = tanh_case_problem(&test->tanh).model,
                                     .is_additive = test->is_additive,
                                     .is_sampled = test->is_sampled,
                                     .seed = test->seed};
    int64_t size = tanh->sizes.attention_size;
    problem.model.sharpening = test->is_additive || size == 0 ? 1.0 : 1.0 / sqrt((double)size);
    if (!isnan(tanh->call.scale))
        problem.model.sharpening = (float)tanh->call.scale;
    return problem;
}

static bool is_near(double got, double expected, double bound, const char *name)
{
    if (isinf(bound) || (isnan(expected) ? isnan(got) : fabs(got - expected) <= bound))
        return true;
    print_error("%s is %.9g, expected %.9g within %.3g\n", name, got, expected, bound);
    return false;
}

/* The numbers of one row: [B, H, N]. */
static bool numbers_agree(const struct hard_case *test, const struct reference_row *row, int64_t place, int64_t key)
{
    double log_bound = 0.0, entropy_bound = 0.0;
    double other = row->is_nan ? (double)NAN : 0.0;
    double log_probability = key >= 0 ? reference_hard_log_probability(row, key, &log_bound) : other;
    double entropy = key >= 0 ? reference_hard_entropy(row, &entropy_bound) : other;
    return (test->log_probability.rank == 0 ||
            is_near(test->log_probability.values[place], log_probability, log_bound, "log_probability")) &&
           (test->entropy.rank == 0 || is_near(test->entropy.values[place], entropy, entropy_bound, "entropy"));
}

/* The chosen value, exactly where no layer makes it. */
static bool context_agrees(const struct hard_case *test, const struct reference_projections *projections,
                           const struct reference_row *row, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    const struct tanh_sizes *sizes = &test->tanh.sizes;
    const struct test_tensor *context = &test->tanh.call.context;
    bool is_exact = test->tanh.parameters[TANH_VALUE_WEIGHT].rank == 0;
    int64_t columns = sizes->value_columns, key_head = head / (sizes->heads / sizes->key_heads);
    const double *got = context->values + ((batch * sizes->queries + query) * sizes->heads + head) * columns;
    int64_t value_place = ((batch * sizes->keys + key) * sizes->key_heads + key_head) * columns;
    for (int64_t d = 0; d < columns; d++) {
        double value = key >= 0 ? projections->value.value[value_place + d] : row->is_nan ? (double)NAN : 0.0;
        double bound = key >= 0 && !is_exact ? projections->value.bound[value_place + d] : 0.0;
        if (key >= 0 && !is_exact)
            bound += element_rounding(context->dtype, fabs(value) + bound);
        else
            value = element_rounded(context->dtype, value);
        if (!is_near(got[d], value, bound, "context"))
            return false;
    }
    return true;
}

static bool attention_agrees(const struct hard_case *test, const struct reference_row *row, int64_t place, int64_t key)
{
    const struct test_tensor *attention = &test->tanh.call.attention;
    for (int64_t j = 0; attention->rank > 0 && j < row->keys; j++) {
        double expected = row->is_nan ? (double)NAN : j == key ? 1.0 : 0.0;
        if (!is_near(attention->values[place * row->keys + j], expected, 0.0, "attention"))
            return false;
    }
    return true;
}

static bool row_agrees(const struct hard_case *test, const struct reference_hard *problem,
                       const struct reference_projections *projections, struct reference_row *row, int64_t batch,
                       int64_t head, int64_t query)
{
    const struct tanh_sizes *sizes = &test->tanh.sizes;
    int64_t place = (batch * sizes->heads + head) * sizes->queries + query;
    reference_hard_row(problem, projections, row, batch, head, query);
    int64_t key = test->index.rank > 0 ? (int64_t)test->index.values[place]
                                       : reference_hard_choose(problem, row, batch, head, query);
    bool agrees = reference_hard_may_choose(problem, row, batch, head, query, key);
    if (!agrees)
        print_error("index is %" PRId64 ", expected %" PRId64 "\n", key,
                    reference_hard_choose(problem, row, batch, head, query));
    /* Without an index a close call cannot be told from a mistake. */
    agrees = agrees && (test->index.rank == 0 || (numbers_agree(test, row, place, key) &&
                                                  context_agrees(test, projections, row, batch, head, query, key) &&
                                                  attention_agrees(test, row, place, key)));
    if (!agrees)
        print_error("in batch %" PRId64 ", head %" PRId64 ", query %" PRId64 "\n", batch, head, query);
    return agrees;
}

bool hard_case_compare(struct hard_case *test)
{
    const struct tanh_sizes *sizes = &test->tanh.sizes;
    const struct reference_hard problem = problem_of(test);
    struct reference_projections projections = reference_projections_create(&problem.model);
    struct reference_row row = reference_row_create(sizes->keys);
    bool agrees = true;
    for (int64_t b = 0; b < sizes->batch && agrees; b++)
        for (int64_t h = 0; h < sizes->heads && agrees; h++)
            for (int64_t i = 0; i < sizes->queries && agrees; i++)
                agrees = row_agrees(test, &problem, &projections, &row, b, h, i);
    reference_row_destroy(&row);
    reference_projections_destroy(&projections);
    const struct test_tensor *outputs[] = {&test->tanh.call.context, &test->tanh.call.attention, &test->index,
                                           &test->log_probability, &test->entropy};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs && agrees; i++) {
        agrees = outputs[i]->rank == 0 || test_tensor_gaps_are_untouched(outputs[i]);
        if (!agrees)
            print_error("bytes around output %zu were written\n", i);
    }
    return agrees;
}

void hard_case_print(const struct hard_case *test)
{
    print_error("%s, %s, seed %" PRIu64 "%s; ", test->is_additive ? "additive" : "dot_product",
                test->is_sampled ? "sample" : "argmax", test->seed, test->has_seed_input ? " of the call" : "");
    tanh_case_print(&test->tanh);
}

void hard_case_destroy(struct hard_case *test)
{
    tanh_case_destroy(&test->tanh);
    test_tensor_destroy(&test->seed_input);
    test_tensor_destroy(&test->index);
    test_tensor_destroy(&test->log_probability);
    test_tensor_destroy(&test->entropy);
}
