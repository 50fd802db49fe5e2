/*
 * tests/support/zoo_case.c: one small call of any mechanism.
 */
#include "support/zoo_case.h"

#include "support/random.h"
#include "support/testing.h"

#include <stdlib.h>
#include <string.h>

const char *const ZOO_NAMES[ZOO_KINDS] = {"scaled_dot_product",
                                          "multi_head",
                                          "relative_multi_head, transformer_xl",
                                          "relative_multi_head, shaw",
                                          "additive",
                                          "location_aware",
                                          "general",
                                          "concat",
                                          "hard"};

/* What outputs hold before a call. */
static const unsigned char POISON = 0xa5;

const char *zoo_mechanism(enum zoo_kind kind)
{
    return kind == ZOO_TRANSFORMER_XL || kind == ZOO_SHAW ? "relative_multi_head" : ZOO_NAMES[kind];
}

static bool has_projected_heads(enum zoo_kind kind)
{
    return kind == ZOO_MULTI_HEAD || kind == ZOO_TRANSFORMER_XL || kind == ZOO_SHAW;
}

static bool is_relative_of_additive(enum zoo_kind kind)
{
    return kind == ZOO_GENERAL || kind == ZOO_CONCAT;
}

bool zoo_is_hard(enum zoo_kind kind)
{
    return kind == ZOO_HARD;
}

bool zoo_has_state(enum zoo_kind kind)
{
    return has_projected_heads(kind) || kind == ZOO_LOCATION_AWARE;
}

static void create_array(struct zoo_array *array, int32_t dtype, int32_t rank, const int64_t *shape)
{
    *array = (struct zoo_array){.dtype = dtype, .rank = rank, .count = 1};
    for (int32_t axis = 0; axis < rank; axis++) {
        array->shape[axis] = shape[axis];
        array->count *= shape[axis];
    }
    array->data = calloc((size_t)array->count + 1, sizeof *array->data);
    assert_non_null(array->data);
    assert_ok(attnzoo_tensor_create(&array->view, array->data, dtype, rank, shape, NULL));
}

void zoo_array_create(struct zoo_array *array, int32_t rank, const int64_t *shape)
{
    create_array(array, ATTNZOO_DTYPE_FLOAT32, rank, shape);
}

void zoo_array_destroy(struct zoo_array *array)
{
    attnzoo_tensor_destroy(array->view);
    free(array->data);
    *array = (struct zoo_array){0};
}

static void fill(struct zoo_array *array, struct random_source *source, double magnitude)
{
    for (int64_t i = 0; i < array->count; i++)
        array->data[i] = (float)random_real(source, -magnitude, magnitude);
}

static void add_parameter(struct zoo_case *test, struct random_source *source, const char *name, int32_t rank,
                          const int64_t *shape)
{
    int32_t number = test->parameter_count++;
    assert_true(number < ZOO_PARAMETERS);
    test->parameter_names[number] = name;
    zoo_array_create(&test->parameters[number], rank, shape);
    fill(&test->parameters[number], source, 0.5);
}

static void add_layer(struct zoo_case *test, struct random_source *source, const char *weight, const char *bias,
                      int64_t outputs, int64_t features)
{
    add_parameter(test, source, weight, 2, (int64_t[]){outputs, features});
    if (bias != NULL)
        add_parameter(test, source, bias, 1, (int64_t[]){outputs});
}

static void add_parameters_of_relatives(struct zoo_case *test, struct random_source *source)
{
    int64_t size = test->sizes.size;
    if (test->kind == ZOO_GENERAL) {
        add_layer(test, source, "score_proj.weight", NULL, size, size);
    } else {
        add_layer(test, source, "concat_proj.weight", "concat_proj.bias", size, 2 * size);
        add_layer(test, source, "score_proj.weight", "score_proj.bias", 1, size);
    }
    add_layer(test, source, "value_proj.weight", "value_proj.bias", size, size);
}

static void add_parameters(struct zoo_case *test, struct random_source *source)
{
    const struct zoo_sizes *sizes = &test->sizes;
    int64_t all = sizes->heads * sizes->size, kept = sizes->key_heads * sizes->size, size = sizes->size;
    if (is_relative_of_additive(test->kind))
        add_parameters_of_relatives(test, source);
    if (test->kind == ZOO_SCALED_DOT_PRODUCT || is_relative_of_additive(test->kind))
        return;
    add_layer(test, source, "query_proj.weight", "query_proj.bias", all, size);
    add_layer(test, source, "key_proj.weight", "key_proj.bias", kept, size);
    add_layer(test, source, "value_proj.weight", "value_proj.bias", kept, size);
    if (has_projected_heads(test->kind))
        add_layer(test, source, "out_proj.weight", "out_proj.bias", size + 1, all);
    if (test->kind == ZOO_TRANSFORMER_XL) {
        add_layer(test, source, "pos_proj.weight", NULL, all, size);
        add_parameter(test, source, "u_bias", 2, (int64_t[]){sizes->heads, size});
        add_parameter(test, source, "v_bias", 2, (int64_t[]){sizes->heads, size});
    }
    if (test->kind == ZOO_SHAW) {
        add_parameter(test, source, "relative_key", 2, (int64_t[]){5, size});
        add_parameter(test, source, "relative_value", 2, (int64_t[]){5, size});
    }
    if (test->kind == ZOO_ADDITIVE || test->kind == ZOO_LOCATION_AWARE) {
        add_parameter(test, source, "bias", 1, (int64_t[]){size});
        add_layer(test, source, "score_proj.weight", "score_proj.bias", 1, size);
    }
    if (test->kind == ZOO_LOCATION_AWARE) {
        add_parameter(test, source, "location_conv.weight", 3, (int64_t[]){3, sizes->heads, 5});
        add_layer(test, source, "location_proj.weight", NULL, size, 3);
    }
}

/* What hard gives beside context and attention. */
static void add_outputs_of_hard(struct zoo_case *test)
{
    const struct zoo_sizes *sizes = &test->sizes;
    int64_t with_heads[] = {sizes->batch, sizes->heads, sizes->queries}, without[] = {sizes->batch, sizes->queries};
    int64_t *shape = sizes->heads > 1 ? with_heads : without;
    int32_t rank = sizes->heads > 1 ? 3 : 2;
    create_array(&test->outputs[ATTNZOO_OUTPUT_INDEX], ATTNZOO_DTYPE_INT32, rank, shape);
    zoo_array_create(&test->outputs[ATTNZOO_OUTPUT_LOG_PROBABILITY], rank, shape);
    zoo_array_create(&test->outputs[ATTNZOO_OUTPUT_ENTROPY], rank, shape);
}

static void add_arrays(struct zoo_case *test, struct random_source *source, bool wants_attention)
{
    const struct zoo_sizes *sizes = &test->sizes;
    int64_t batch = sizes->batch, queries = sizes->queries, keys = sizes->keys, size = sizes->size;
    struct zoo_array *inputs = test->inputs, *outputs = test->outputs;
    if (test->kind == ZOO_SCALED_DOT_PRODUCT) {
        zoo_array_create(&inputs[0], 4, (int64_t[]){batch, sizes->heads, queries, size});
        zoo_array_create(&inputs[1], 4, (int64_t[]){batch, sizes->key_heads, keys, size});
        zoo_array_create(&inputs[2], 4, (int64_t[]){batch, sizes->key_heads, keys, size});
        zoo_array_create(&outputs[0], 4, (int64_t[]){batch, sizes->heads, queries, size});
        zoo_array_create(&outputs[2], 3, (int64_t[]){batch, sizes->heads, queries});
    } else {
        zoo_array_create(&inputs[0], 3, (int64_t[]){batch, queries, size});
        zoo_array_create(&inputs[1], 3, (int64_t[]){batch, keys, size});
        zoo_array_create(&inputs[2], 3, (int64_t[]){batch, keys, size});
        int64_t width = has_projected_heads(test->kind) ? size + 1 : sizes->heads * size;
        zoo_array_create(&outputs[0], 3, (int64_t[]){batch, queries, width});
    }
    if (test->kind == ZOO_TRANSFORMER_XL)
        zoo_array_create(&inputs[3], 2, (int64_t[]){wants_attention ? keys + queries - 1 : keys, size});
    if (wants_attention && sizes->heads == 1 && !has_projected_heads(test->kind) &&
        test->kind != ZOO_SCALED_DOT_PRODUCT)
        zoo_array_create(&outputs[1], 3, (int64_t[]){batch, queries, keys});
    else if (wants_attention)
        zoo_array_create(&outputs[1], 4, (int64_t[]){batch, sizes->heads, queries, keys});
    if (test->kind == ZOO_HARD)
        add_outputs_of_hard(test);
    for (int i = 0; i < ZOO_INPUTS; i++)
        if (inputs[i].rank > 0)
            fill(&inputs[i], source, 1.0);
}

static void create(struct zoo_case *test, enum zoo_kind kind, struct zoo_sizes sizes, uint64_t seed,
                   bool wants_attention)
{
    struct random_source source = {seed};
    *test = (struct zoo_case){.kind = kind, .sizes = sizes};
    if (kind == ZOO_ADDITIVE || is_relative_of_additive(kind))
        test->sizes.heads = test->sizes.key_heads = 1;
    add_parameters(test, &source);
    add_arrays(test, &source, wants_attention);
    zoo_case_poison(test);
    assert_ok(zoo_case_make_module(test, &test->module));
}

void zoo_case_create(struct zoo_case *test, enum zoo_kind kind, struct zoo_sizes sizes, uint64_t seed)
{
    create(test, kind, sizes, seed, true);
}

void zoo_case_create_without(struct zoo_case *test, enum zoo_kind kind, struct zoo_sizes sizes, uint64_t seed)
{
    create(test, kind, sizes, seed, false);
}

void zoo_case_destroy_outputs(struct zoo_case *test)
{
    for (int i = 0; i < ZOO_OUTPUTS; i++)
        zoo_array_destroy(&test->outputs[i]);
}

void zoo_case_destroy(struct zoo_case *test)
{
    attnzoo_module_destroy(test->module);
    for (int i = 0; i < ZOO_INPUTS; i++)
        zoo_array_destroy(&test->inputs[i]);
    for (int i = 0; i < ZOO_PARAMETERS; i++)
        zoo_array_destroy(&test->parameters[i]);
    zoo_case_destroy_outputs(test);
}

void zoo_case_share(struct zoo_case *test, const struct zoo_case *other)
{
    *test = *other;
    for (int i = 0; i < ZOO_OUTPUTS; i++) {
        test->outputs[i] = (struct zoo_array){0};
        if (other->outputs[i].rank > 0)
            create_array(&test->outputs[i], other->outputs[i].dtype, other->outputs[i].rank, other->outputs[i].shape);
    }
}

attnzoo_status zoo_case_set_options(const struct zoo_case *test, attnzoo_module *module)
{
    bool has_heads = test->kind != ZOO_SCALED_DOT_PRODUCT && !is_relative_of_additive(test->kind);
    attnzoo_status status = ATTNZOO_STATUS_OK;
    if (has_heads)
        status = attnzoo_module_set_option_int(module, "num_heads", test->sizes.heads);
    if (status == ATTNZOO_STATUS_OK && has_heads)
        status = attnzoo_module_set_option_int(module, "num_kv_heads", test->sizes.key_heads);
    if (status == ATTNZOO_STATUS_OK && test->kind == ZOO_SHAW)
        status = attnzoo_module_set_option_text(module, "flavor", "shaw");
    if (status == ATTNZOO_STATUS_OK && test->kind == ZOO_HARD)
        status = attnzoo_module_set_option_text(module, "select", "sample");
    return status;
}

attnzoo_status zoo_case_make_module(const struct zoo_case *test, attnzoo_module **module)
{
    attnzoo_module *made = NULL;
    attnzoo_status status = attnzoo_module_create(&made, zoo_mechanism(test->kind));
    if (status == ATTNZOO_STATUS_OK)
        status = zoo_case_set_options(test, made);
    for (int32_t i = 0; i < test->parameter_count && status == ATTNZOO_STATUS_OK; i++)
        status = attnzoo_module_set_parameter(made, test->parameter_names[i], test->parameters[i].view);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_prepare(made);
    if (status != ATTNZOO_STATUS_OK) {
        attnzoo_module_destroy(made);
        made = NULL;
    }
    *module = made;
    return status;
}

attnzoo_status zoo_case_forward(const struct zoo_case *test, const attnzoo_module *module, attnzoo_executor *executor,
                                const attnzoo_mask *mask, attnzoo_state *state)
{
    const attnzoo_tensor *inputs[ZOO_INPUTS];
    attnzoo_tensor *outputs[ZOO_OUTPUTS];
    for (int i = 0; i < ZOO_INPUTS; i++)
        inputs[i] = test->inputs[i].view;
    for (int i = 0; i < ZOO_OUTPUTS; i++)
        outputs[i] = test->outputs[i].view;
    return attnzoo_module_forward_slots(module, executor, inputs, ZOO_INPUTS, mask, state, outputs, ZOO_OUTPUTS);
}

static size_t bytes_of(const struct zoo_array *array)
{
    return array->rank > 0 ? (size_t)array->count * sizeof *array->data : 0;
}

void zoo_case_poison(struct zoo_case *test)
{
    for (int i = 0; i < ZOO_OUTPUTS; i++)
        if (test->outputs[i].rank > 0)
            memset(test->outputs[i].data, POISON, bytes_of(&test->outputs[i]));
}

bool zoo_case_is_poisoned(const struct zoo_case *test)
{
    for (int i = 0; i < ZOO_OUTPUTS; i++)
        for (size_t byte = 0; byte < bytes_of(&test->outputs[i]); byte++)
            if (((const unsigned char *)test->outputs[i].data)[byte] != POISON)
                return false;
    return true;
}

bool zoo_case_same(const struct zoo_case *left, const struct zoo_case *right)
{
    for (int i = 0; i < ZOO_OUTPUTS; i++)
        if (left->outputs[i].rank > 0 && right->outputs[i].rank > 0 &&
            memcmp(left->outputs[i].data, right->outputs[i].data, bytes_of(&left->outputs[i])) != 0)
            return false;
    return true;
}
