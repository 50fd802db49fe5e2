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
                                          "location, gaussian_mixture",
                                          "location, position",
                                          "location, local_p",
                                          "customizing",
                                          "multi_head, positions",
                                          "introspective",
                                          "hard"};

/* What outputs hold before a call. */
static const unsigned char POISON = 0xa5;

static bool is_location(enum zoo_kind kind)
{
    return kind == ZOO_GAUSSIAN_MIXTURE || kind == ZOO_POSITION || kind == ZOO_LOCAL_P;
}

static bool is_luong(enum zoo_kind kind)
{
    return kind == ZOO_GENERAL || kind == ZOO_CONCAT;
}

static bool has_one_head(enum zoo_kind kind)
{
    return kind == ZOO_ADDITIVE || is_luong(kind) || is_location(kind);
}

bool zoo_has_state(enum zoo_kind kind)
{
    return kind != ZOO_SCALED_DOT_PRODUCT && kind != ZOO_ADDITIVE && !is_luong(kind) && kind != ZOO_POSITION &&
           kind != ZOO_LOCAL_P && kind != ZOO_HARD;
}

int32_t zoo_field_count(enum zoo_kind kind)
{
    return attnzoo_item_count(zoo_mechanism(kind), ATTNZOO_ITEM_STATE);
}

bool zoo_is_recurrent(enum zoo_kind kind)
{
    return kind == ZOO_LOCATION_AWARE || kind == ZOO_GAUSSIAN_MIXTURE || kind == ZOO_CUSTOMIZING ||
           kind == ZOO_INTROSPECTIVE;
}

bool zoo_reads_key(enum zoo_kind kind)
{
    return !is_location(kind) && kind != ZOO_CUSTOMIZING && kind != ZOO_INTROSPECTIVE;
}

bool zoo_adds_up(enum zoo_kind kind)
{
    return kind != ZOO_LOCAL_P;
}

bool zoo_takes_masks(enum zoo_kind kind)
{
    return kind != ZOO_INTROSPECTIVE;
}

const char *zoo_mechanism(enum zoo_kind kind)
{
    if (is_location(kind))
        return "location";
    if (kind == ZOO_MULTI_HEAD_POSITIONS)
        return "multi_head";
    return kind == ZOO_TRANSFORMER_XL || kind == ZOO_SHAW ? "relative_multi_head" : ZOO_NAMES[kind];
}

static bool has_projected_heads(enum zoo_kind kind)
{
    return kind == ZOO_MULTI_HEAD || kind == ZOO_TRANSFORMER_XL || kind == ZOO_SHAW || kind == ZOO_MULTI_HEAD_POSITIONS;
}

bool zoo_is_hard(enum zoo_kind kind)
{
    return kind == ZOO_HARD;
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

static void add_luong_parameters(struct zoo_case *test, struct random_source *source)
{
    int64_t size = test->sizes.size;
    add_layer(test, source, "value_proj.weight", "value_proj.bias", size, size);
    if (test->kind == ZOO_GENERAL) {
        add_layer(test, source, "score_proj.weight", NULL, size, size);
        return;
    }
    add_layer(test, source, "concat_proj.weight", "concat_proj.bias", size, 2 * size);
    add_layer(test, source, "score_proj.weight", "score_proj.bias", 1, size);
}

static void add_location_parameters(struct zoo_case *test, struct random_source *source)
{
    int64_t size = test->sizes.size;
    if (test->kind == ZOO_GAUSSIAN_MIXTURE)
        add_layer(test, source, "window_proj.weight", "window_proj.bias", 6, size);
    if (test->kind == ZOO_POSITION)
        add_layer(test, source, "location_proj.weight", NULL, test->sizes.keys, size);
    if (test->kind == ZOO_LOCAL_P) {
        add_layer(test, source, "query_proj.weight", "query_proj.bias", size, size);
        add_layer(test, source, "score_proj.weight", "score_proj.bias", 1, size);
    }
    add_layer(test, source, "value_proj.weight", "value_proj.bias", size, size);
}

static void add_customizing_parameters(struct zoo_case *test, struct random_source *source)
{
    int64_t size = test->sizes.size, all = test->sizes.heads * size;
    add_layer(test, source, "query_proj.weight", "query_proj.bias", all, size);
    add_layer(test, source, "value_proj.weight", "bias", all, size);
    add_parameter(test, source, "location_conv.weight", 3, (int64_t[]){3, 1, 5});
    add_parameter(test, source, "location_conv.bias", 1, (int64_t[]){3});
    add_layer(test, source, "location_proj.weight", NULL, size, 3);
}

/* Of introspective: half of the heads read, the others write; one if there is but one. */
static int64_t write_heads(const struct zoo_sizes *sizes)
{
    return sizes->heads / 2;
}

static void add_addressing(struct zoo_case *test, struct random_source *source)
{
    int64_t heads = test->sizes.heads, size = test->sizes.size, writes = write_heads(&test->sizes);
    add_layer(test, source, "key_proj.weight", "key_proj.bias", heads * size, size);
    add_layer(test, source, "strength_proj.weight", "strength_proj.bias", heads, size);
    add_layer(test, source, "gate_proj.weight", "gate_proj.bias", heads, size);
    add_layer(test, source, "shift_proj.weight", "shift_proj.bias", heads * 3, size);
    add_layer(test, source, "sharpening_proj.weight", "sharpening_proj.bias", heads, size);
    if (writes == 0)
        return;
    add_layer(test, source, "erase_proj.weight", "erase_proj.bias", writes * size, size);
    add_layer(test, source, "add_proj.weight", "add_proj.bias", writes * size, size);
}

static void add_parameters(struct zoo_case *test, struct random_source *source)
{
    const struct zoo_sizes *sizes = &test->sizes;
    int64_t all = sizes->heads * sizes->size, kept = sizes->key_heads * sizes->size, size = sizes->size;
    if (test->kind == ZOO_CUSTOMIZING)
        add_customizing_parameters(test, source);
    if (test->kind == ZOO_INTROSPECTIVE)
        add_addressing(test, source);
    if (is_location(test->kind))
        add_location_parameters(test, source);
    if (!zoo_reads_key(test->kind) || test->kind == ZOO_SCALED_DOT_PRODUCT)
        return;
    if (is_luong(test->kind)) {
        add_luong_parameters(test, source);
        return;
    }
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
    if (test->kind == ZOO_MULTI_HEAD_POSITIONS)
        add_parameter(test, source, "relative_buckets", 2, (int64_t[]){8, sizes->heads});
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
        if (test->kind == ZOO_INTROSPECTIVE)
            width = (sizes->heads - write_heads(sizes)) * size;
        zoo_array_create(&outputs[0], 3, (int64_t[]){batch, queries, width});
    }
    if (test->kind == ZOO_TRANSFORMER_XL)
        zoo_array_create(&inputs[3], 2, (int64_t[]){wants_attention ? keys + queries - 1 : keys, size});
    if (wants_attention && sizes->heads == 1 && !has_projected_heads(test->kind) &&
        test->kind != ZOO_SCALED_DOT_PRODUCT && test->kind != ZOO_INTROSPECTIVE)
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
    if (has_one_head(kind))
        test->sizes.heads = test->sizes.key_heads = 1;
    if (kind == ZOO_CUSTOMIZING)
        test->sizes.key_heads = test->sizes.heads;
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
    static const char *const flavors[ZOO_KINDS] = {[ZOO_SHAW] = "shaw",
                                                   [ZOO_GAUSSIAN_MIXTURE] = "gaussian_mixture",
                                                   [ZOO_POSITION] = "position",
                                                   [ZOO_LOCAL_P] = "local_p"};
    attnzoo_status status = ATTNZOO_STATUS_OK;
    int64_t writes = write_heads(&test->sizes);
    bool has_heads = test->kind != ZOO_SCALED_DOT_PRODUCT && !is_location(test->kind) && !is_luong(test->kind) &&
                     test->kind != ZOO_INTROSPECTIVE;
    if (has_heads)
        status = attnzoo_module_set_option_int(module, "num_heads", test->sizes.heads);
    if (status == ATTNZOO_STATUS_OK && has_heads && zoo_reads_key(test->kind))
        status = attnzoo_module_set_option_int(module, "num_kv_heads", test->sizes.key_heads);
    if (status == ATTNZOO_STATUS_OK && flavors[test->kind] != NULL)
        status = attnzoo_module_set_option_text(module, "flavor", flavors[test->kind]);
    if (status == ATTNZOO_STATUS_OK && test->kind == ZOO_GAUSSIAN_MIXTURE)
        status = attnzoo_module_set_option_bool(module, "normalized", 1);
    if (status == ATTNZOO_STATUS_OK && test->kind == ZOO_MULTI_HEAD_POSITIONS)
        status = attnzoo_module_set_option_bool(module, "relative_bidirectional", 0);
    /* Turned are pairs of columns. */
    bool is_turned = test->kind == ZOO_MULTI_HEAD_POSITIONS && test->sizes.size > 1;
    if (status == ATTNZOO_STATUS_OK && is_turned)
        status = attnzoo_module_set_option_text(module, "rotary", "half_split");
    if (status == ATTNZOO_STATUS_OK && is_turned)
        status = attnzoo_module_set_option_int(module, "rotary_size", test->sizes.size / 2 * 2);
    if (status == ATTNZOO_STATUS_OK && test->kind == ZOO_INTROSPECTIVE)
        status = attnzoo_module_set_option_int(module, "num_read_heads", test->sizes.heads - writes);
    if (status == ATTNZOO_STATUS_OK && test->kind == ZOO_INTROSPECTIVE)
        status = attnzoo_module_set_option_int(module, "num_write_heads", writes);
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
    if (!zoo_takes_masks(test->kind))
        mask = NULL;
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
