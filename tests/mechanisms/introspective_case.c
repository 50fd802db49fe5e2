/*
 * tests/mechanisms/introspective_case.c: making and running calls of introspective.
 */
#include "introspective_case.h"

#include "support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[REFERENCE_SIGNALS] = {"key_proj",        "strength_proj", "gate_proj", "shift_proj",
                                                     "sharpening_proj", "erase_proj",    "add_proj"};

void introspective_case_plan(struct introspective_case *test, struct introspective_sizes sizes)
{
    int64_t heads = sizes.reads + sizes.writes, columns = sizes.columns;
    const int64_t outputs[REFERENCE_SIGNALS] = {
        heads * columns,       heads, heads, heads * (2 * sizes.reach + 1), heads, sizes.writes * columns,
        sizes.writes * columns};
    *test = (struct introspective_case){.sizes = sizes};
    test->query = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){sizes.batch, sizes.steps, sizes.features});
    test->value = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){sizes.batch, sizes.rows, columns});
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++) {
        if (signal >= REFERENCE_ERASE && sizes.writes == 0)
            continue;
        test->weights[signal] =
            test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){outputs[signal], sizes.features});
        test->biases[signal] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){outputs[signal]});
    }
}

void introspective_case_allocate(struct introspective_case *test)
{
    test_tensor_allocate(&test->query);
    test_tensor_allocate(&test->value);
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++) {
        test_tensor_allocate(&test->weights[signal]);
        test_tensor_allocate(&test->biases[signal]);
    }
}

static void set_lengths(attnzoo_mask *mask, const int64_t *lengths, int64_t count,
                        attnzoo_status (*set)(attnzoo_mask *, const attnzoo_tensor *))
{
    attnzoo_tensor *view = NULL;
    if (lengths == NULL)
        return;
    assert_ok(attnzoo_tensor_create_readonly(&view, lengths, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){count}, NULL));
    assert_ok(set(mask, view));
    attnzoo_tensor_destroy(view);
}

static void set_parameter(attnzoo_module *module, const char *layer, const char *part, struct test_tensor *tensor)
{
    char name[64];
    if (tensor->rank == 0)
        return;
    test_tensor_store(tensor);
    assert_true(snprintf(name, sizeof name, "%s.%s", layer, part) < (int)sizeof name);
    assert_ok(attnzoo_module_set_parameter(module, name, tensor->view));
}

void introspective_case_prepare(struct introspective_case *test)
{
    test_tensor_store(&test->query);
    test_tensor_store(&test->value);
    assert_ok(attnzoo_module_create(&test->module, "introspective"));
    assert_ok(attnzoo_module_set_option_int(test->module, "num_read_heads", test->sizes.reads));
    assert_ok(attnzoo_module_set_option_int(test->module, "num_write_heads", test->sizes.writes));
    if (test->read != NULL)
        assert_ok(attnzoo_module_set_option_text(test->module, "read", test->read));
    if (test->initial != NULL)
        assert_ok(attnzoo_module_set_option_text(test->module, "initial", test->initial));
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++) {
        set_parameter(test->module, NAMES[signal], "weight", &test->weights[signal]);
        set_parameter(test->module, NAMES[signal], "bias", &test->biases[signal]);
    }
    assert_ok(attnzoo_module_prepare(test->module));
}

void introspective_case_destroy(struct introspective_case *test)
{
    attnzoo_module_destroy(test->module);
    attnzoo_mask_destroy(test->mask);
    test_tensor_destroy(&test->query);
    test_tensor_destroy(&test->value);
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++) {
        test_tensor_destroy(&test->weights[signal]);
        test_tensor_destroy(&test->biases[signal]);
    }
    free(test->row_lengths);
    free(test->step_lengths);
}

static float *numbers(int64_t count)
{
    float *memory = calloc((size_t)count + 1, sizeof *memory);
    assert_non_null(memory);
    return memory;
}

struct introspective_result introspective_result_create(const struct introspective_case *test)
{
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t steps = sizes->batch * sizes->steps;
    return (struct introspective_result){numbers(steps * sizes->reads * sizes->columns),
                                         numbers(steps * (sizes->reads + sizes->writes) * sizes->rows)};
}

void introspective_result_destroy(struct introspective_result *result)
{
    free(result->context);
    free(result->attention);
}

/* The part of the query's view that shows some steps. */
static attnzoo_tensor *show_steps(const struct introspective_case *test, int64_t first, int64_t count)
{
    attnzoo_tensor *view = NULL;
    const struct test_tensor *query = &test->query;
    int64_t size = query->dtype == ATTNZOO_DTYPE_FLOAT32 ? 4 : 2;
    int64_t offset = (query->first + (count > 0 ? first : 0) * query->strides[1]) * size;
    const int64_t shape[] = {query->shape[0], count, query->shape[2]};
    assert_ok(
        attnzoo_tensor_create_readonly(&view, query->memory.bytes + offset, query->dtype, 3, shape, query->strides));
    return view;
}

/* The lengths of the steps that are left of each batch. */
static attnzoo_mask *mask_of(const struct introspective_case *test, int64_t first, int64_t count, int64_t *left)
{
    attnzoo_mask *mask = NULL;
    if (test->row_lengths == NULL && test->step_lengths == NULL)
        return NULL;
    assert_ok(attnzoo_mask_create(&mask));
    set_lengths(mask, test->row_lengths, test->sizes.batch, attnzoo_mask_set_key_lengths);
    for (int64_t batch = 0; batch < test->sizes.batch && test->step_lengths != NULL; batch++) {
        int64_t rest = test->step_lengths[batch] - first;
        left[batch] = rest < 0 ? 0 : rest > count ? count : rest;
    }
    set_lengths(mask, test->step_lengths != NULL ? left : NULL, test->sizes.batch, attnzoo_mask_set_query_lengths);
    return mask;
}

attnzoo_status introspective_case_run(const struct introspective_case *test, attnzoo_executor *executor, int64_t first,
                                      int64_t count, bool has_value, attnzoo_state *state,
                                      struct introspective_result *result)
{
    const struct introspective_sizes *sizes = &test->sizes;
    int64_t width = sizes->reads * sizes->columns, heads = sizes->reads + sizes->writes, rows = sizes->rows;
    int64_t *left = calloc((size_t)sizes->batch + 1, sizeof *left);
    attnzoo_tensor *query = show_steps(test, first, count), *context = NULL, *attention = NULL;
    attnzoo_mask *mask = mask_of(test, first, count, left);
    assert_ok(attnzoo_tensor_create(&context, result->context + first * width, ATTNZOO_DTYPE_FLOAT32, 3,
                                    (int64_t[]){sizes->batch, count, width},
                                    (int64_t[]){sizes->steps * width, width, 1}));
    assert_ok(attnzoo_tensor_create(&attention, result->attention + first * rows, ATTNZOO_DTYPE_FLOAT32, 4,
                                    (int64_t[]){sizes->batch, heads, count, rows},
                                    (int64_t[]){heads * sizes->steps * rows, sizes->steps * rows, rows, 1}));
    attnzoo_status status = attnzoo_module_forward(
        test->module, executor, query, NULL, has_value ? test->value.view : NULL, mask, state, context, attention);
    attnzoo_tensor_destroy(query);
    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(attention);
    attnzoo_mask_destroy(mask);
    free(left);
    return status;
}

static void get_field(attnzoo_state *state, int32_t field, float *values)
{
    int32_t rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_state_field_shape(state, field, &rank, shape));
    assert_ok(attnzoo_tensor_create(&view, values, ATTNZOO_DTYPE_FLOAT32, rank, shape, NULL));
    assert_ok(attnzoo_state_get_field(state, field, view));
    attnzoo_tensor_destroy(view);
}

void introspective_case_fields(const struct introspective_case *test, attnzoo_state *state, float *memory,
                               float *weights)
{
    (void)test;
    get_field(state, 0, memory);
    get_field(state, 1, weights);
}
