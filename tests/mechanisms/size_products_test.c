/*
 * tests/mechanisms/size_products_test.c: sizes whose products pass 2^32 or 63 bits, by views that repeat a little memory
 * or lie in memory that is mostly never touched: computed right, or refused. Strides alone are in
 * strides_at_the_ends_test.c.
 */
#include "support/testing.h"
#include "support/zoo_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 120 };

/* Sanitizers end the program over memory that nobody has, unless they are told not to. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *__asan_default_options(void);
EXPORTED const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static attnzoo_tensor *view_of(const void *data, int32_t rank, const int64_t *shape, const int64_t *strides)
{
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create_readonly(&view, data, ATTNZOO_DTYPE_FLOAT32, rank, shape, strides));
    return view;
}

static const int64_t HUGE_SIZE = INT64_C(1) << 60;

/* A module of weights that are all zeros of the given number of rows, and no columns. */
static attnzoo_status make_empty_heads(attnzoo_module **module, const char *mechanism, int64_t heads, int64_t rows)
{
    static const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight"};
    const int64_t shapes[][2] = {{heads, 0}, {1, 0}, {rows, 0}};
    assert_ok(attnzoo_module_create(module, mechanism));
    assert_ok(attnzoo_module_set_option_int(*module, "num_heads", heads));
    assert_ok(attnzoo_module_set_option_int(*module, "num_kv_heads", 1));
    for (int i = 0; i < 3; i++) {
        attnzoo_tensor *weight = view_of(NULL, 2, shapes[i], NULL);
        assert_ok(attnzoo_module_set_parameter(*module, names[i], weight));
        attnzoo_tensor_destroy(weight);
    }
    if (strcmp(mechanism, "relative_multi_head") == 0) {
        attnzoo_tensor *distances = view_of(&(float){0.0f}, 2, (int64_t[]){1, 1}, NULL);
        assert_ok(attnzoo_module_set_option_text(*module, "flavor", "shaw"));
        assert_ok(attnzoo_module_set_parameter(*module, "relative_key", distances));
        attnzoo_tensor_destroy(distances);
    }
    return attnzoo_module_prepare(*module);
}

/* H heads of Dv = 2^60 have 2^70 features together. */
static void p26_joined_heads_past_63_bits_are_refused(void **state)
{
    (void)state;
    const char *const mechanisms[] = {"multi_head", "relative_multi_head"};
    for (int i = 0; i < 2; i++) {
        attnzoo_module *module = NULL;
        assert_refused(make_empty_heads(&module, mechanisms[i], 1024, HUGE_SIZE), ATTNZOO_STATUS_SHAPE_MISMATCH,
                       "value_proj.weight");
        attnzoo_module_destroy(module);
    }
}

/* As many features as the inputs have, in each of 1024 heads. */
static void p26_joined_values_past_63_bits_are_refused(void **state)
{
    (void)state;
    float number = 0.0f;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "location_aware"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", 1024));
    assert_ok(attnzoo_module_set_option_int(module, "num_kv_heads", 1));
    const struct {
        const char *name;
        int32_t rank;
        int64_t shape[3];
    } parameters[] = {{"score_proj.weight", 2, {1, 0}}, {"location_conv.weight", 3, {0, 1024, 1}}};
    for (int i = 0; i < 2; i++) {
        attnzoo_tensor *parameter = view_of(NULL, parameters[i].rank, parameters[i].shape, NULL);
        assert_ok(attnzoo_module_set_parameter(module, parameters[i].name, parameter));
        attnzoo_tensor_destroy(parameter);
    }
    assert_ok(attnzoo_module_prepare(module));
    attnzoo_tensor *query = view_of(NULL, 2, (int64_t[]){1, 0}, NULL);
    attnzoo_tensor *key = view_of(NULL, 2, (int64_t[]){0, 0}, NULL);
    attnzoo_tensor *value = view_of(NULL, 2, (int64_t[]){0, HUGE_SIZE}, NULL), *context = NULL;
    const attnzoo_tensor *inputs[] = {query, key, value};
    int32_t rank = 0;
    int64_t shape[ATTNZOO_RANK_MAX];
    assert_refused(attnzoo_module_output_shape(module, inputs, 3, NULL, ATTNZOO_OUTPUT_CONTEXT, &rank, shape),
                   ATTNZOO_STATUS_SHAPE_MISMATCH, "value");
    assert_ok(attnzoo_tensor_create(&context, &number, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 0}, NULL));
    assert_status(attnzoo_module_forward(module, NULL, query, key, value, NULL, NULL, context, NULL),
                  ATTNZOO_STATUS_SHAPE_MISMATCH);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(value);
    attnzoo_tensor_destroy(key);
    attnzoo_tensor_destroy(query);
    attnzoo_module_destroy(module);
}

/* No shape that is told has a negative size, and what it is told for the attention is B, H, N, M, however large. */
static void p26_output_shapes_do_not_wrap(void **state)
{
    (void)state;
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case test;
        /* Whose keys are as many as its parameter has rows. */
        if (kind == ZOO_POSITION)
            continue;
        zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){1, 2, 2, 1, 1, 4}, 1);
        const int64_t many = INT64_C(1) << 57;
        bool has_heads = kind == ZOO_SCALED_DOT_PRODUCT;
        const int64_t rows[] = {1, 2, many, 4}, zeros[] = {0, 0, 0, 1};
        const attnzoo_tensor *inputs[ZOO_INPUTS] = {NULL};
        attnzoo_tensor *views[3];
        for (int i = 0; i < 3; i++)
            inputs[i] = views[i] = view_of(test.inputs[i].data, has_heads ? 4 : 2, has_heads ? rows : rows + 2,
                                           has_heads ? zeros : zeros + 2);
        int32_t rank = 0;
        int64_t shape[ATTNZOO_RANK_MAX];
        assert_ok(attnzoo_module_output_shape(test.module, inputs, 3, NULL, ATTNZOO_OUTPUT_ATTENTION, &rank, shape));
        assert_true(shape[rank - 1] == many && shape[rank - 2] == many);
        assert_ok(attnzoo_module_output_shape(test.module, inputs, 3, NULL, ATTNZOO_OUTPUT_CONTEXT, &rank, shape));
        assert_true(shape[rank - 2] == many && shape[rank - 1] == test.outputs[0].shape[test.outputs[0].rank - 1]);
        for (int i = 0; i < 3; i++)
            attnzoo_tensor_destroy(views[i]);
        zoo_case_destroy(&test);
    }
}

/* States of what nobody can address, and states that take no memory however many keys they have room for. */
static void p26_capacities_past_what_can_be_addressed(void **state)
{
    (void)state;
    const int64_t ends[] = {INT64_MAX, INT64_MAX / 2, HUGE_SIZE, INT64_C(1) << 48};
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case test;
        if (!zoo_has_state((enum zoo_kind)kind))
            continue;
        zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){1, 2, 2, 3, 4, 4}, 1);
        for (int i = 0; i < 16; i++) {
            attnzoo_state *made = NULL;
            attnzoo_status status = attnzoo_state_create(&made, test.module, ends[i / 4], ends[i % 4]);
            assert_true(status == ATTNZOO_STATUS_INVALID_ARGUMENT || status == ATTNZOO_STATUS_OUT_OF_MEMORY);
            status = attnzoo_state_create(&made, test.module, 1, ends[i % 4]);
            assert_true(status == ATTNZOO_STATUS_INVALID_ARGUMENT || status == ATTNZOO_STATUS_OUT_OF_MEMORY);
            status = attnzoo_state_create(&made, test.module, ends[i / 4], 0);
            assert_true(status == ATTNZOO_STATUS_INVALID_ARGUMENT || status == ATTNZOO_STATUS_OUT_OF_MEMORY);
            assert_null(made);
        }
        zoo_case_destroy(&test);
    }
    /* 2^20 heads without columns: room for 2^60 keys takes nothing. */
    attnzoo_module *module = NULL;
    attnzoo_state *cache = NULL, *copy = NULL;
    int64_t shape[ATTNZOO_RANK_MAX];
    int32_t rank = 0;
    assert_ok(attnzoo_module_create(&module, "multi_head"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", 1 << 20));
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight"};
        attnzoo_tensor *weight = view_of(NULL, 2, (int64_t[]){0, 1}, NULL);
        assert_ok(attnzoo_module_set_parameter(module, names[i], weight));
        attnzoo_tensor_destroy(weight);
    }
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_state_create(&cache, module, 1, HUGE_SIZE));
    assert_ok(attnzoo_state_create(&copy, module, 1, HUGE_SIZE));
    const int64_t many = INT64_C(1) << 59;
    attnzoo_tensor *field = view_of(NULL, 4, (int64_t[]){1, 1 << 20, many / (1 << 20), 0}, NULL);
    const attnzoo_tensor *const fields[] = {field, field};
    assert_ok(attnzoo_state_set_fields(cache, fields, 2));
    assert_true(attnzoo_state_length(cache) == many / (1 << 20));
    assert_ok(attnzoo_state_copy(copy, cache));
    assert_ok(attnzoo_state_field_shape(copy, 1, &rank, shape));
    assert_true(rank == 4 && shape[2] == many / (1 << 20));
    assert_ok(attnzoo_state_truncate(copy, INT64_MAX));
    assert_true(attnzoo_state_length(copy) == many / (1 << 20));
    attnzoo_tensor_destroy(field);
    attnzoo_state_destroy(copy);
    attnzoo_state_destroy(cache);
    attnzoo_module_destroy(module);
}

/* More rows than can be walked over, without an element in any: it is done at once. */
static void rows_without_columns_take_no_time(void **state)
{
    (void)state;
    const int64_t many = INT64_C(1) << 60;
    float nothing = 0.0f;
    attnzoo_tensor *rows = NULL, *no_batch = NULL, *sums = NULL;
    assert_ok(attnzoo_tensor_create(&rows, NULL, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){many, 0}, NULL));
    assert_ok(attnzoo_tensor_create(&no_batch, NULL, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){0, many, 1}, NULL));
    assert_ok(
        attnzoo_tensor_create_readonly(&sums, &nothing, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){many}, (int64_t[]){0}));
    alarm(PATIENCE_SECONDS);
    assert_ok(attnzoo_fill_sinusoidal_positions(rows, 0, 1, ATTNZOO_SINUSOID_HALVES));
    assert_ok(attnzoo_fill_sinusoidal_positions(no_batch, 0, -1, ATTNZOO_SINUSOID_INTERLEAVED));
    assert_ok(attnzoo_merge_contexts(rows, sums, rows, sums, rows, NULL));
    alarm(0);
    assert_status(attnzoo_fill_sinusoidal_positions(rows, 0, INT64_MAX, ATTNZOO_SINUSOID_HALVES),
                  ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_fill_sinusoidal_positions(rows, INT64_MAX, 1, ATTNZOO_SINUSOID_HALVES),
                  ATTNZOO_STATUS_INVALID_ARGUMENT);
    attnzoo_tensor_destroy(rows);
    attnzoo_tensor_destroy(no_batch);
    attnzoo_tensor_destroy(sums);
}

/* Keys whose projections nobody has memory for. What was there stays, and the next call is as any. */
static void more_memory_than_there_is_is_refused(void **state)
{
    (void)state;
    for (int kind = ZOO_MULTI_HEAD; kind < ZOO_KINDS; kind++)
        for (int32_t threads = 0; threads <= 2 && kind != ZOO_POSITION; threads += 2) {
            struct zoo_case test, usual;
            attnzoo_executor *executor = NULL;
            const int64_t many = INT64_C(1) << 46;
            zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){1, 2, 2, 3, 4, 4}, 1);
            zoo_case_share(&usual, &test);
            zoo_case_poison(&test);
            if (threads > 0)
                assert_ok(attnzoo_executor_create(&executor, threads));
            attnzoo_tensor *keys = view_of(test.inputs[1].data, 2, (int64_t[]){many, 4}, (int64_t[]){0, 1});
            attnzoo_tensor *table = view_of(test.inputs[1].data, 2, (int64_t[]){many + 2, 4}, (int64_t[]){0, 1});
            const attnzoo_tensor *inputs[] = {test.inputs[0].view, keys, keys,
                                              kind == ZOO_TRANSFORMER_XL ? table : NULL};
            attnzoo_tensor *outputs[] = {test.outputs[0].view};
            assert_status(attnzoo_module_forward_slots(test.module, executor, inputs, 4, NULL, NULL, outputs, 1),
                          /* More than hard can draw from. */
                          zoo_is_hard(test.kind) ? ATTNZOO_STATUS_UNSUPPORTED : ATTNZOO_STATUS_OUT_OF_MEMORY);
            assert_true(zoo_case_is_poisoned(&test));
            assert_ok(zoo_case_forward(&test, test.module, executor, NULL, NULL));
            assert_ok(zoo_case_forward(&usual, test.module, NULL, NULL, NULL));
            assert_true(zoo_case_same(&test, &usual));
            attnzoo_tensor_destroy(table);
            attnzoo_tensor_destroy(keys);
            attnzoo_executor_destroy(executor);
            zoo_case_destroy_outputs(&usual);
            zoo_case_destroy(&test);
        }
}

/* A batch that lies more than 2^32 elements behind the first: each input and output in turn. */
static void p26_strides_past_2_to_the_32_elements(void **state)
{
    (void)state;
    const int64_t stride = (INT64_C(1) << 32) + 5;
    int64_t size = (stride + 4096) * (int64_t)sizeof(float);
    float *far = MAP_FAILED;
    if ((uint64_t)size <= SIZE_MAX)
        far = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED) {
        print_message("skipped: no %" PRId64 " bytes of address space\n", size);
        skip();
        return;
    }
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case test, moved;
        zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){2, 2, 2, 3, 4, 4}, 5);
        assert_ok(zoo_case_forward(&test, test.module, NULL, NULL, NULL));
        for (int i = 0; i < ZOO_INPUTS + ZOO_OUTPUTS; i++) {
            zoo_case_share(&moved, &test);
            bool is_input = i < ZOO_INPUTS;
            struct zoo_array *array = is_input ? &moved.inputs[i] : &moved.outputs[i - ZOO_INPUTS];
            if (array->rank == 0 || array->shape[0] != 2) {
                zoo_case_destroy_outputs(&moved);
                continue;
            }
            int64_t half = array->count / 2, strides[ZOO_RANK];
            for (int32_t axis = 0; axis < array->rank; axis++)
                strides[axis] = attnzoo_tensor_stride(array->view, axis);
            strides[0] = stride;
            memcpy(far, array->data, (size_t)half * sizeof *far);
            memcpy(far + stride, array->data + half, (size_t)half * sizeof *far);
            assert_ok(attnzoo_tensor_assign(array->view, far, array->dtype, array->rank, array->shape, strides));
            assert_ok(zoo_case_forward(&moved, test.module, NULL, NULL, NULL));
            if (!is_input) {
                memcpy(array->data, far, (size_t)half * sizeof *far);
                memcpy(array->data + half, far + stride, (size_t)half * sizeof *far);
            }
            if (!zoo_case_same(&moved, &test))
                fail_msg("%s: number %d of inputs and outputs", ZOO_NAMES[kind], i);
            if (is_input)
                assert_ok(attnzoo_tensor_assign(array->view, array->data, ATTNZOO_DTYPE_FLOAT32, array->rank,
                                                array->shape, NULL));
            zoo_case_destroy_outputs(&moved);
        }
        zoo_case_destroy(&test);
    }
    munmap(far, (size_t)size);
}

/* 2^30 heads without columns, and a batch of 2^40: no memory but for what is kept of each batch, which nobody has. */
static void p26_heads_times_batch_past_63_bits(void **state)
{
    (void)state;
    const int64_t many = INT64_C(1) << 46;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "multi_head"));
    assert_ok(attnzoo_module_set_option_int(module, "num_heads", 1 << 30));
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight"};
        attnzoo_tensor *weight = view_of(NULL, 2, (int64_t[]){0, 0}, NULL);
        assert_ok(attnzoo_module_set_parameter(module, names[i], weight));
        attnzoo_tensor_destroy(weight);
    }
    assert_ok(attnzoo_module_prepare(module));
    attnzoo_tensor *input = view_of(NULL, 3, (int64_t[]){many, 1, 0}, NULL), *context = NULL;
    assert_ok(attnzoo_tensor_create(&context, NULL, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){many, 1, 0}, NULL));
    assert_status(attnzoo_module_forward(module, NULL, input, input, input, NULL, NULL, context, NULL),
                  ATTNZOO_STATUS_OUT_OF_MEMORY);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(input);
    attnzoo_module_destroy(module);
}

/* Keys of one feature fit, in a view that repeats one; their projections to 16 features pass 63 bits of numbers, or of
 * bytes alone. */
static void p26_projected_keys_past_63_bits_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *mechanism, *parameters[4];
    } cases[] = {
        {"multi_head", {"query_proj.weight", "key_proj.weight", "value_proj.weight"}},
        {"additive", {"query_proj.weight", "key_proj.weight", "score_proj.weight"}},
        {"location_aware", {"query_proj.weight", "key_proj.weight", "score_proj.weight", "location_conv.weight"}}};
    float numbers[16] = {0.0f}, results[16];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, cases[i].mechanism));
        if (i == 0)
            assert_ok(attnzoo_module_set_option_int(module, "num_heads", 1));
        for (int place = 0; place < 4 && cases[i].parameters[place] != NULL; place++) {
            const char *name = cases[i].parameters[place];
            const int64_t shape[] = {16, 1}, score[] = {1, 16}, filters[] = {16, 1, 1};
            bool is_convolution = place == 3, is_score = strcmp(name, "score_proj.weight") == 0;
            attnzoo_tensor *weight = view_of(numbers, is_convolution ? 3 : 2,
                                             is_convolution ? filters
                                             : is_score     ? score
                                                            : shape,
                                             NULL);
            assert_ok(attnzoo_module_set_parameter(module, name, weight));
            attnzoo_tensor_destroy(weight);
        }
        assert_ok(attnzoo_module_prepare(module));
        attnzoo_tensor *query = view_of(numbers, 2, (int64_t[]){1, 1}, NULL), *context = NULL;
        /* Without a weight for the values, they are used as they are. */
        assert_ok(
            attnzoo_tensor_create(&context, results, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, i == 0 ? 16 : 1}, NULL));
        for (int64_t many = HUGE_SIZE; many >= HUGE_SIZE / 4; many /= 4) {
            attnzoo_tensor *keys = view_of(numbers, 2, (int64_t[]){many, 1}, (int64_t[]){0, 1});
            alarm(PATIENCE_SECONDS);
            assert_refused(attnzoo_module_forward(module, NULL, query, keys, keys, NULL, NULL, context, NULL),
                           ATTNZOO_STATUS_OUT_OF_MEMORY, "18446744073709551615 bytes");
            alarm(0);
            attnzoo_tensor_destroy(keys);
        }
        attnzoo_tensor_destroy(context);
        attnzoo_tensor_destroy(query);
        attnzoo_module_destroy(module);
    }
}

enum { LONG = 70000, SHOWN = 3 };

/* The rows [first, first + count) of a case's queries and keys as a call of its own, whose keys end where its queries
 * do; results of its last query. */
static void call_part(struct zoo_case *test, const attnzoo_mask *mask, int64_t last, int64_t count, float *results)
{
    struct zoo_case part;
    zoo_case_create(&part, test->kind, (struct zoo_sizes){1, 1, 1, 1, count, test->sizes.size}, 7);
    int64_t size = test->sizes.size;
    memcpy(part.inputs[0].data, test->inputs[0].data + last * size, (size_t)size * sizeof(float));
    for (int i = 1; i < 3; i++)
        memcpy(part.inputs[i].data, test->inputs[i].data + (last - count + 1) * size,
               (size_t)(count * size) * sizeof(float));
    if (test->kind == ZOO_TRANSFORMER_XL)
        memcpy(part.inputs[3].data, test->inputs[3].data + (LONG - count) * size,
               (size_t)(count * size) * sizeof(float));
    assert_ok(zoo_case_forward(&part, test->module, NULL, mask, NULL));
    memcpy(results, part.outputs[0].data, (size_t)(part.outputs[0].count) * sizeof(float));
    zoo_case_destroy(&part);
}

/* 4.9e9 pairs of query and key, of which each query sees three: the same three by themselves give the same. Inputs and
 * weights are below 1, so that a score is the sum of few numbers below 2, each rounded a few times, and so is a context:
 * 64 roundings of numbers below 4 are more than either has. */
static void p26_more_than_2_to_the_32_pairs(void **state)
{
    (void)state;
    const double bound = 64.0 * 4.0 * 0x1p-24;
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_causal(mask, 1));
    assert_ok(attnzoo_mask_set_window(mask, SHOWN - 1, -1));
    for (int kind = 0; kind < ZOO_LOCATION_AWARE; kind++) {
        struct zoo_case test;
        zoo_case_create_without(&test, (enum zoo_kind)kind, (struct zoo_sizes){1, 1, 1, LONG, LONG, 2}, 7);
        assert_ok(zoo_case_forward(&test, test.module, NULL, mask, NULL));
        int64_t width = test.outputs[0].count / LONG;
        const int64_t places[] = {0, 1, 40000, 65535, 65536, LONG - 1};
        for (int i = 0; i < 6; i++) {
            float expected[4];
            int64_t seen = places[i] + 1 < SHOWN ? places[i] + 1 : SHOWN;
            call_part(&test, mask, places[i], seen, expected);
            for (int64_t d = 0; d < width; d++)
                if (!(fabs((double)test.outputs[0].data[places[i] * width + d] - (double)expected[d]) <= bound))
                    fail_msg("%s, query %" PRId64 ": %.9g instead of %.9g", ZOO_NAMES[kind], places[i],
                             (double)test.outputs[0].data[places[i] * width + d], (double)expected[d]);
        }
        zoo_case_destroy(&test);
    }
    attnzoo_mask_destroy(mask);
}

/* 2^33 + 7 keys of which the last four are seen, in memory that is zero up to there, with a mask of every kind that has a
 * place for each. Scores of the four are alike, so that the context is their mean. */
static void p26_more_than_2_to_the_33_keys(void **state)
{
    (void)state;
    const int64_t keys = (INT64_C(1) << 33) + 7;
    int64_t size = (keys + 1) * (int64_t)sizeof(float);
    float *far = MAP_FAILED;
    if ((uint64_t)size <= SIZE_MAX)
        far = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED) {
        print_message("skipped: no %" PRId64 " bytes of address space\n", size);
        skip();
        return;
    }
    for (int i = 0; i < 4; i++)
        far[keys - 4 + i] = (float)(1 << i);
    const float query_data[2] = {0.5f, -0.25f}, key_data[2] = {1.0f, 0.75f}, bias = 0.5f, slope = 0.0f;
    const unsigned char yes = 1;
    for (int which = 0; which < 2; which++) {
        attnzoo_module *module = NULL;
        attnzoo_mask *mask = NULL;
        attnzoo_tensor *allowed = NULL, *context = NULL;
        float context_data = 0.0f;
        assert_ok(attnzoo_module_create(&module, which == 0 ? "scaled_dot_product" : "additive"));
        attnzoo_tensor *query = view_of(query_data, 2, (int64_t[]){1, 2}, NULL);
        attnzoo_tensor *key = view_of(key_data, 2, (int64_t[]){keys, 2}, (int64_t[]){0, 1});
        attnzoo_tensor *value = view_of(far, 2, (int64_t[]){keys, 1}, NULL);
        attnzoo_tensor *biases = view_of(&bias, 4, (int64_t[]){1, 1, 1, keys}, (int64_t[]){0, 0, 0, 0});
        attnzoo_tensor *slopes = view_of(&slope, 1, (int64_t[]){1}, NULL);
        assert_ok(attnzoo_tensor_create_readonly(&allowed, &yes, ATTNZOO_DTYPE_BOOL, 4, (int64_t[]){1, 1, 1, keys},
                                                 (int64_t[]){0, 0, 0, 0}));
        assert_ok(attnzoo_tensor_create(&context, &context_data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
        if (which == 1)
            assert_ok(attnzoo_module_set_parameter(module, "score_proj.weight", query));
        assert_ok(attnzoo_module_prepare(module));
        assert_ok(attnzoo_mask_create(&mask));
        assert_ok(attnzoo_mask_set_window(mask, 3, 0));
        assert_ok(attnzoo_mask_set_boolean(mask, allowed));
        assert_ok(attnzoo_mask_set_bias(mask, biases));
        assert_ok(attnzoo_mask_set_linear_bias(mask, slopes));
        assert_ok(attnzoo_module_forward(module, NULL, query, key, value, mask, NULL, context, NULL));
        /* Weights of 1/4 of numbers up to 8: 8 roundings of at most 4 are more than there are. */
        assert_true(fabs((double)context_data - 15.0 / 4.0) <= 8.0 * 4.0 * 0x1p-24);
        attnzoo_mask_destroy(mask);
        attnzoo_module_destroy(module);
        attnzoo_tensor *const views[] = {query, key, value, biases, slopes, allowed, context};
        for (int i = 0; i < 7; i++)
            attnzoo_tensor_destroy(views[i]);
    }
    munmap(far, (size_t)size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p26_joined_heads_past_63_bits_are_refused),
        cmocka_unit_test(p26_joined_values_past_63_bits_are_refused),
        cmocka_unit_test(p26_output_shapes_do_not_wrap),
        cmocka_unit_test(p26_capacities_past_what_can_be_addressed),
        cmocka_unit_test(rows_without_columns_take_no_time),
        cmocka_unit_test(more_memory_than_there_is_is_refused),
        cmocka_unit_test(p26_strides_past_2_to_the_32_elements),
        cmocka_unit_test(p26_heads_times_batch_past_63_bits),
        cmocka_unit_test(p26_projected_keys_past_63_bits_are_refused),
        cmocka_unit_test(p26_more_than_2_to_the_32_pairs),
        cmocka_unit_test(p26_more_than_2_to_the_33_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
