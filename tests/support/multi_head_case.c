/*
 * tests/support/multi_head_case.c: from the description of a call with projected heads to the library's handles and the
 * call itself. What is asked of the reference and how results are compared is in multi_head_compare.c.
 */
#include "support/multi_head_case.h"

#include "support/testing.h"

#include <math.h>

const char *const MULTI_HEAD_PARAMETER_NAMES[MULTI_HEAD_PARAMETERS] = {"query_proj.weight",
                                                                       "query_proj.bias",
                                                                       "key_proj.weight",
                                                                       "key_proj.bias",
                                                                       "value_proj.weight",
                                                                       "value_proj.bias",
                                                                       "out_proj.weight",
                                                                       "out_proj.bias",
                                                                       "pos_proj.weight",
                                                                       "pos_proj.bias",
                                                                       "u_bias",
                                                                       "v_bias",
                                                                       "relative_key",
                                                                       "relative_value",
                                                                       "rotary_cos",
                                                                       "rotary_sin",
                                                                       "relative_buckets",
                                                                       "sink"};

static const int32_t FLOAT32 = ATTNZOO_DTYPE_FLOAT32;

static struct test_tensor plan_matrix(int64_t rows, int64_t columns)
{
    return test_tensor_plan(FLOAT32, 2, (int64_t[]){rows, columns});
}

static void plan_parameters(struct multi_head_case *test)
{
    const struct multi_head_sizes *sizes = &test->sizes;
    int64_t H = sizes->heads, G = sizes->key_heads, D = sizes->head_size, Dv = sizes->value_size;
    test->parameters[QUERY_WEIGHT] = plan_matrix(H * D, sizes->query_width);
    test->parameters[KEY_WEIGHT] = plan_matrix(G * D, sizes->key_width);
    test->parameters[VALUE_WEIGHT] = plan_matrix(G * Dv, sizes->value_width);
    if (sizes->out_width > 0)
        test->parameters[OUT_WEIGHT] = plan_matrix(sizes->out_width, H * Dv);
    if (sizes->flavor == REFERENCE_TRANSFORMER_XL) {
        test->parameters[POSITION_WEIGHT] = plan_matrix(H * D, sizes->position_width);
        test->parameters[U_BIAS] = plan_matrix(H, D);
        test->parameters[V_BIAS] = plan_matrix(H, D);
    }
    if (sizes->flavor == REFERENCE_SHAW) {
        test->parameters[RELATIVE_KEY] = plan_matrix(2 * sizes->farthest + 1, D);
        test->parameters[RELATIVE_VALUE] = plan_matrix(2 * sizes->farthest + 1, Dv);
    }
}

void multi_head_case_plan(struct multi_head_case *test, struct multi_head_sizes sizes)
{
    int64_t B = sizes.batch, H = sizes.heads, N = sizes.queries, M = sizes.keys, all = sizes.past + sizes.keys;
    *test = (struct multi_head_case){.sizes = sizes};
    attention_case_plan(&test->base,
                        (struct attention_sizes){B, H, sizes.key_heads, N, all, sizes.head_size, sizes.value_size});
    test->base.query = test_tensor_plan(FLOAT32, 3, (int64_t[]){B, N, sizes.query_width});
    test->base.key = test_tensor_plan(FLOAT32, 3, (int64_t[]){B, M, sizes.key_width});
    test->base.value = test_tensor_plan(FLOAT32, 3, (int64_t[]){B, M, sizes.value_width});
    int64_t width = sizes.out_width > 0 ? sizes.out_width : H * sizes.value_size;
    test->base.context = test_tensor_plan(FLOAT32, 3, (int64_t[]){B, N, width});
    test->base.log_sum_exp.rank = 0;
    plan_parameters(test);
    if (sizes.flavor == REFERENCE_TRANSFORMER_XL)
        multi_head_case_plan_position(test, false, all + N > 0 ? all + N - 1 : 0);
}

void multi_head_case_plan_bias(struct multi_head_case *test, int parameter)
{
    test->parameters[parameter] = test_tensor_plan(FLOAT32, 1, test->parameters[parameter - 1].shape);
}

void multi_head_case_plan_position(struct multi_head_case *test, bool is_by_batch, int64_t rows)
{
    test->position = test_tensor_plan(
        FLOAT32, 3, (int64_t[]){is_by_batch ? test->sizes.batch : 1, rows, test->sizes.position_width});
}

void multi_head_case_share_value(struct multi_head_case *test)
{
    test->base.value.rank = 0;
}

void multi_head_case_share_all(struct multi_head_case *test)
{
    test->base.key.rank = 0;
    test->base.value.rank = 0;
}

void multi_head_case_average(struct multi_head_case *test)
{
    const struct attention_sizes *sizes = &test->base.sizes;
    test->averages_heads = true;
    test->base.attention = test_tensor_plan(FLOAT32, 3, (int64_t[]){sizes->batch, sizes->queries, sizes->keys});
}

void multi_head_case_plan_state(struct multi_head_case *test, int64_t capacity)
{
    const struct multi_head_sizes *sizes = &test->sizes;
    int64_t B = sizes->batch, G = sizes->key_heads, T = sizes->past, all = sizes->past + sizes->keys;
    test->has_state = true;
    test->capacity = capacity;
    test->past_key = test_tensor_plan(FLOAT32, 4, (int64_t[]){B, G, T, sizes->head_size});
    test->past_value = test_tensor_plan(FLOAT32, 4, (int64_t[]){B, G, T, sizes->value_size});
    test->kept_key = test_tensor_plan(FLOAT32, 4, (int64_t[]){B, G, all, sizes->head_size});
    test->kept_value = test_tensor_plan(FLOAT32, 4, (int64_t[]){B, G, all, sizes->value_size});
}

enum { OWN_INPUTS = MULTI_HEAD_PARAMETERS + 5, OWN_TENSORS = OWN_INPUTS + 2 };

/* Those that base does not have; inputs come first. */
static void own_tensors(struct multi_head_case *test, struct test_tensor *tensors[OWN_TENSORS])
{
    struct test_tensor *others[] = {&test->position,
                                    &test->positions.query_positions,
                                    &test->positions.key_positions,
                                    &test->past_key,
                                    &test->past_value,
                                    &test->kept_key,
                                    &test->kept_value};
    for (int i = 0; i < MULTI_HEAD_PARAMETERS; i++)
        tensors[i] = &test->parameters[i];
    for (int i = MULTI_HEAD_PARAMETERS; i < OWN_TENSORS; i++)
        tensors[i] = others[i - MULTI_HEAD_PARAMETERS];
}

void multi_head_case_allocate(struct multi_head_case *test)
{
    struct test_tensor *tensors[OWN_TENSORS];
    own_tensors(test, tensors);
    attention_case_allocate(&test->base);
    for (int i = 0; i < OWN_TENSORS; i++)
        test_tensor_allocate(tensors[i]);
}

void multi_head_case_fill(struct multi_head_case *test, struct random_source *source, double magnitude)
{
    attention_case_fill(&test->base, source, magnitude);
    for (int i = 0; i < MULTI_HEAD_PARAMETERS; i++) {
        struct test_tensor *parameter = &test->parameters[i];
        bool is_weight = i < U_BIAS && i % 2 == 0;
        double largest = is_weight ? sqrt(3.0 / (double)(parameter->shape[1] + 1)) : 1.0;
        test_tensor_fill(parameter, source, -largest, largest);
    }
    test_tensor_fill(&test->position, source, -1.0, 1.0);
    test_tensor_fill(&test->past_key, source, -magnitude, magnitude);
    test_tensor_fill(&test->past_value, source, -1.0, 1.0);
}

struct test_tensor *multi_head_case_key(struct multi_head_case *test)
{
    return test->base.key.rank > 0 ? &test->base.key : &test->base.query;
}

struct test_tensor *multi_head_case_value(struct multi_head_case *test)
{
    return test->base.value.rank > 0 ? &test->base.value : multi_head_case_key(test);
}

void multi_head_case_store(struct multi_head_case *test)
{
    struct test_tensor *tensors[OWN_TENSORS];
    own_tensors(test, tensors);
    attention_case_store(&test->base);
    for (int i = 0; i < OWN_INPUTS; i++)
        test_tensor_store(tensors[i]);
    for (int i = OWN_INPUTS; i < OWN_TENSORS; i++)
        test_tensor_poison(tensors[i]);
}

static void set_positions(const struct multi_head_positions *positions, attnzoo_module *module)
{
    if (positions->rotary != NULL)
        assert_ok(attnzoo_module_set_option_text(module, "rotary", positions->rotary));
    if (positions->rotary_size > 0)
        assert_ok(attnzoo_module_set_option_int(module, "rotary_size", positions->rotary_size));
    if (positions->rotary_base > 0.0)
        assert_ok(attnzoo_module_set_option_float(module, "rotary_base", positions->rotary_base));
    if (positions->max_distance > 0)
        assert_ok(attnzoo_module_set_option_int(module, "relative_max_distance", positions->max_distance));
    if (positions->is_unidirectional)
        assert_ok(attnzoo_module_set_option_bool(module, "relative_bidirectional", 0));
}

attnzoo_module *multi_head_case_unprepared(const struct multi_head_case *test)
{
    const struct multi_head_sizes *sizes = &test->sizes;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, sizes->flavor == REFERENCE_PLAIN ? "multi_head" : "relative_multi_head"));
    if (sizes->flavor == REFERENCE_SHAW)
        assert_ok(attnzoo_module_set_option_text(module, "flavor", "shaw"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", sizes->heads));
    if (sizes->key_heads != sizes->heads)
        assert_ok(attnzoo_module_set_option_int(module, "num_kv_heads", sizes->key_heads));
    if (!isnan(test->base.scale))
        assert_ok(attnzoo_module_set_option_float(module, "scale", test->base.scale));
    if (test->base.softcap != 0.0)
        assert_ok(attnzoo_module_set_option_float(module, "softcap", test->base.softcap));
    if (test->averages_heads)
        assert_ok(attnzoo_module_set_option_bool(module, "average_heads", 1));
    set_positions(&test->positions, module);
    for (int i = 0; i < MULTI_HEAD_PARAMETERS; i++)
        if (test->parameters[i].rank > 0)
            assert_ok(attnzoo_module_set_parameter(module, MULTI_HEAD_PARAMETER_NAMES[i], test->parameters[i].view));
    return module;
}

attnzoo_module *multi_head_case_module(const struct multi_head_case *test)
{
    attnzoo_module *module = multi_head_case_unprepared(test);
    assert_ok(attnzoo_module_prepare(module));
    return module;
}

/* Fills a state with NaN to its capacity and empties it again, so that nothing it had before passes for zeros. */
static void dirty(const struct multi_head_case *test, attnzoo_state *state)
{
    struct test_tensor rubbish[2];
    for (int field = 0; field < 2; field++) {
        int64_t columns = field == 0 ? test->sizes.head_size : test->sizes.value_size;
        rubbish[field] = test_tensor_plan(
            FLOAT32, 4, (int64_t[]){test->sizes.batch, test->sizes.key_heads, test->capacity, columns});
        test_tensor_allocate(&rubbish[field]);
    }
    const attnzoo_tensor *fields[] = {rubbish[0].view, rubbish[1].view};
    assert_ok(attnzoo_state_set_fields(state, fields, 2));
    assert_ok(attnzoo_state_truncate(state, 0));
    test_tensor_destroy(&rubbish[0]);
    test_tensor_destroy(&rubbish[1]);
}

attnzoo_state *multi_head_case_state(const struct multi_head_case *test, const attnzoo_module *module)
{
    if (!test->has_state)
        return NULL;
    attnzoo_state *state = NULL;
    assert_ok(attnzoo_state_create(&state, module, test->sizes.batch, test->capacity));
    dirty(test, state);
    assert_int_equal(attnzoo_state_length(state), 0);
    const attnzoo_tensor *fields[] = {test->past_key.view, test->past_value.view};
    if (test->sizes.past > 0)
        assert_ok(attnzoo_state_set_fields(state, fields, 2));
    return state;
}

attnzoo_status multi_head_case_forward(struct multi_head_case *test, const attnzoo_module *module,
                                       attnzoo_executor *executor, const attnzoo_mask *mask, attnzoo_state *state)
{
    const attnzoo_tensor *inputs[] = {[ATTNZOO_INPUT_QUERY] = test->base.query.view,
                                      [ATTNZOO_INPUT_KEY] = multi_head_case_key(test)->view,
                                      [ATTNZOO_INPUT_VALUE] = multi_head_case_value(test)->view,
                                      [ATTNZOO_INPUT_POSITION] = test->position.view,
                                      [ATTNZOO_INPUT_QUERY_POSITIONS] = test->positions.query_positions.view,
                                      [ATTNZOO_INPUT_KEY_POSITIONS] = test->positions.key_positions.view};
    bool has_positions = test->positions.query_positions.rank > 0 || test->positions.key_positions.rank > 0;
    int32_t input_count = has_positions ? 6 : test->position.rank > 0 ? 4 : 3;
    attnzoo_tensor *outputs[] = {
        [ATTNZOO_OUTPUT_CONTEXT] = test->base.context.view, [ATTNZOO_OUTPUT_ATTENTION] = test->base.attention.view};
    return attnzoo_module_forward_slots(module, executor, inputs, input_count, mask, state, outputs, 2);
}

void multi_head_case_load(struct multi_head_case *test)
{
    attention_case_load(&test->base);
    test_tensor_load(&test->kept_key);
    test_tensor_load(&test->kept_value);
}

attnzoo_status multi_head_case_run(struct multi_head_case *test, attnzoo_executor *executor)
{
    multi_head_case_store(test);
    attnzoo_module *module = multi_head_case_module(test);
    attnzoo_mask *mask = attention_case_mask(&test->base);
    attnzoo_state *state = multi_head_case_state(test, module);
    attnzoo_status status = multi_head_case_forward(test, module, executor, mask, state);
    if (status == ATTNZOO_STATUS_OK && state != NULL) {
        assert_int_equal(attnzoo_state_length(state), test->sizes.past + test->sizes.keys);
        assert_ok(attnzoo_state_get_field(state, 0, test->kept_key.view));
        assert_ok(attnzoo_state_get_field(state, 1, test->kept_value.view));
    }
    attnzoo_state_destroy(state);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    multi_head_case_load(test);
    return status;
}

void multi_head_case_check(struct multi_head_case *test, attnzoo_executor *executor)
{
    assert_ok(multi_head_case_run(test, executor));
    if (!multi_head_case_compare(test)) {
        multi_head_case_print(test);
        fail();
    }
}

void multi_head_case_destroy(struct multi_head_case *test)
{
    struct test_tensor *tensors[OWN_TENSORS];
    own_tensors(test, tensors);
    attention_case_destroy(&test->base);
    for (int i = 0; i < OWN_TENSORS; i++)
        test_tensor_destroy(tensors[i]);
}
