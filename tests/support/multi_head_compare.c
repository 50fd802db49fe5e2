/*
 * tests/support/multi_head_compare.c: puts a call with projected heads to the reference and compares what the library
 * gave.
 */
#include "support/multi_head_case.h"

#include "support/testing.h"

#include <inttypes.h>

static struct reference_linear linear_of(const struct multi_head_case *test, int weight)
{
    const struct test_tensor *tensor = &test->parameters[weight];
    return (struct reference_linear){.weight = tensor->values,
                                     .bias = test->parameters[weight + 1].values,
                                     .inputs = tensor->shape[1],
                                     .outputs = tensor->shape[0]};
}

static struct reference_rotary rotary_of(const struct multi_head_case *test)
{
    const struct multi_head_positions *positions = &test->positions;
    const struct test_tensor *table = &test->parameters[ROTARY_COS];
    struct reference_rotary rotary = {.is_on = positions->rotary != NULL,
                                      .is_interleaved = positions->rotary != NULL && positions->rotary[0] == 'i',
                                      .size =
                                          positions->rotary_size > 0 ? positions->rotary_size : test->sizes.head_size,
                                      .base = positions->rotary_base > 0.0 ? positions->rotary_base : 10000.0,
                                      .cosines = table->values,
                                      .sines = test->parameters[ROTARY_SIN].values,
                                      .table_batch = table->rank == 3 ? table->shape[0] : 1,
                                      .query_positions = positions->query_positions.values,
                                      .key_positions = positions->key_positions.values,
                                      .query_position_batch = positions->query_positions.shape[0],
                                      .key_position_batch = positions->key_positions.shape[0]};
    if (table->rank > 0)
        rotary.table_rows = table->shape[table->rank - 2];
    return rotary;
}

static struct reference_buckets buckets_of(const struct multi_head_case *test)
{
    const struct multi_head_positions *positions = &test->positions;
    return (struct reference_buckets){.table = test->parameters[RELATIVE_BUCKETS].values,
                                      .count = test->parameters[RELATIVE_BUCKETS].shape[0],
                                      .max_distance = positions->max_distance > 0 ? positions->max_distance : 128,
                                      .is_bidirectional = !positions->is_unidirectional};
}

struct reference_multi_head multi_head_case_problem(struct multi_head_case *test)
{
    const struct multi_head_sizes *sizes = &test->sizes;
    struct reference_multi_head problem = {.core = attention_case_problem(&test->base),
                                           .flavor = sizes->flavor,
                                           .query = test->base.query.values,
                                           .key = multi_head_case_key(test)->values,
                                           .value = multi_head_case_value(test)->values,
                                           .query_proj = linear_of(test, QUERY_WEIGHT),
                                           .key_proj = linear_of(test, KEY_WEIGHT),
                                           .value_proj = linear_of(test, VALUE_WEIGHT),
                                           .out_proj = linear_of(test, OUT_WEIGHT),
                                           .past = sizes->past,
                                           .past_key = test->past_key.values,
                                           .past_value = test->past_value.values,
                                           .is_cached = test->has_state,
                                           .averages_heads = test->averages_heads,
                                           .position = test->position.values,
                                           .position_batch = test->position.shape[0],
                                           .position_rows = test->position.shape[1],
                                           .pos_proj = linear_of(test, POSITION_WEIGHT),
                                           .u_bias = test->parameters[U_BIAS].values,
                                           .v_bias = test->parameters[V_BIAS].values,
                                           .relative_key = test->parameters[RELATIVE_KEY].values,
                                           .relative_value = test->parameters[RELATIVE_VALUE].values,
                                           .farthest = sizes->farthest,
                                           .rotary = rotary_of(test)};
    problem.core.buckets = buckets_of(test);
    problem.core.sinks = test->parameters[SINK].values;
    assert_true(sizes->batch <= MULTI_HEAD_BATCH_MAX);
    for (int64_t b = 0; b < sizes->batch; b++)
        test->offsets[b] = (double)test->base.offset;
    if (test->base.has_offset)
        problem.core.offsets = test->offsets;
    return problem;
}

/* What was kept: within its bounds, and what was there before the call the same to the bit. */
static bool compare_kept(const struct test_tensor *kept, const struct test_tensor *past, const double *expected,
                         const double *bound, const char *name)
{
    if (!attention_case_compare_tensor(kept, expected, bound, name))
        return false;
    int64_t heads = past->shape[0] * past->shape[1];
    int64_t count = past->shape[2] * past->shape[3];
    int64_t step = kept->shape[2] * kept->shape[3];
    if (kept->dtype != past->dtype)
        return true;
    for (int64_t i = 0; i < heads * count; i++) {
        double before = past->values[i];
        double after = kept->values[i / count * step + i % count];
        if (before == after || (before != before && after != after))
            continue;
        print_error("%s was changed: %.9g is %.9g\n", name, before, after);
        return false;
    }
    return true;
}

bool multi_head_case_compare(struct multi_head_case *test)
{
    struct reference_multi_head problem = multi_head_case_problem(test);
    struct reference_multi_head_result expected = reference_multi_head_compute(&problem);
    bool is_same =
        attention_case_compare_tensor(&test->base.context, expected.context, expected.context_bound, "context") &&
        attention_case_compare_tensor(&test->base.attention, expected.attention, expected.attention_bound,
                                      "attention") &&
        compare_kept(&test->kept_key, &test->past_key, expected.key, expected.key_bound, "kept key") &&
        compare_kept(&test->kept_value, &test->past_value, expected.value, expected.value_bound, "kept value");
    reference_multi_head_result_destroy(&expected);
    return is_same;
}

void multi_head_case_print(const struct multi_head_case *test)
{
    const struct multi_head_sizes *sizes = &test->sizes;
    static const char *const flavors[] = {"multi_head", "transformer_xl", "shaw"};
    attention_case_print(&test->base);
    print_error("  %s, T %" PRId64 " Eq %" PRId64 " Ek %" PRId64 " Ev %" PRId64 " Eo %" PRId64 " E %" PRId64
                " k %" PRId64 ", averaged %d, state %d\n",
                flavors[sizes->flavor], sizes->past, sizes->query_width, sizes->key_width, sizes->value_width,
                sizes->out_width, sizes->position_width, sizes->farthest, test->averages_heads, test->has_state);
    for (int i = 0; i < MULTI_HEAD_PARAMETERS; i++)
        if (test->parameters[i].rank > 0)
            print_error("  %s [%" PRId64 ", %" PRId64 "]", MULTI_HEAD_PARAMETER_NAMES[i], test->parameters[i].shape[0],
                        test->parameters[i].shape[1]);
    print_error(
        "\n  rotary %s, R %" PRId64 ", base %g, queries' positions %d, keys' %d, farthest %" PRId64 ", one way %d",
        test->positions.rotary != NULL ? test->positions.rotary : "none", test->positions.rotary_size,
        test->positions.rotary_base, test->positions.query_positions.rank > 0, test->positions.key_positions.rank > 0,
        test->positions.max_distance, test->positions.is_unidirectional);
    print_error("\n  position [%" PRId64 ", %" PRId64 ", %" PRId64 "], key %s, value %s\n", test->position.shape[0],
                test->position.shape[1], test->position.shape[2], test->base.key.rank > 0 ? "its own" : "as query",
                test->base.value.rank > 0 ? "its own" : "as key");
}
