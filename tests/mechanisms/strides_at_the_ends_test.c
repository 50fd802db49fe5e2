/*
 * tests/mechanisms/strides_at_the_ends_test.c: strides that no element needs may be any number: those of axes of one
 * element, and all of a view without elements. UndefinedBehaviorSanitizer sees where such a stride is multiplied.
 * Products of sizes are in size_products_test.c.
 */
#include "support/testing.h"
#include "support/zoo_case.h"

static const int64_t EXTREMES[] = {INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1, INT64_MIN / 2 - 1};

enum { EXTREME_COUNT = sizeof EXTREMES / sizeof *EXTREMES };

/* Strides that are only those of no element, or of axes of one, are extreme. */
static void stretch(attnzoo_tensor *view, const void *data, int number)
{
    int64_t shape[ATTNZOO_RANK_MAX], strides[ATTNZOO_RANK_MAX];
    int32_t rank = attnzoo_tensor_rank(view);
    bool is_empty = attnzoo_tensor_element_count(view) == 0;
    for (int32_t axis = 0; axis < rank; axis++) {
        shape[axis] = attnzoo_tensor_size(view, axis);
        strides[axis] = attnzoo_tensor_stride(view, axis);
        if (is_empty || shape[axis] == 1)
            strides[axis] = EXTREMES[(number + 1 + axis) % EXTREME_COUNT];
    }
    assert_ok(attnzoo_tensor_assign(view, (void *)(uintptr_t)data, attnzoo_tensor_dtype(view), rank, shape, strides));
    for (int32_t axis = 0; axis < rank; axis++)
        assert_true(attnzoo_tensor_stride(view, axis) == strides[axis]);
}

static void stretch_all(struct zoo_case *test, int number)
{
    struct zoo_array *const groups[] = {test->inputs, test->outputs, test->parameters};
    const int counts[] = {ZOO_INPUTS, ZOO_OUTPUTS, ZOO_PARAMETERS};
    for (int group = 0; group < 3; group++)
        for (int i = 0; i < counts[group]; i++)
            if (groups[group][i].rank > 0)
                stretch(groups[group][i].view, groups[group][i].data, number + i);
}

/* Every tensor that a mask takes, for one batch, head, query and key. */
struct mask_tensors {
    attnzoo_tensor *views[7];
    int64_t zero, one;
    unsigned char yes;
    float bias, slope;
};

static attnzoo_mask *make_mask(struct mask_tensors *tensors, int number)
{
    *tensors = (struct mask_tensors){.zero = 0, .one = 1, .yes = 1, .bias = 0.25f, .slope = 0.5f};
    const struct {
        void *data;
        int32_t dtype, rank;
        attnzoo_status (*set)(attnzoo_mask *, const attnzoo_tensor *);
    } rows[] = {{&tensors->zero, ATTNZOO_DTYPE_INT64, 1, attnzoo_mask_set_query_offsets},
                {&tensors->one, ATTNZOO_DTYPE_INT64, 1, attnzoo_mask_set_key_lengths},
                {&tensors->one, ATTNZOO_DTYPE_INT64, 1, attnzoo_mask_set_query_lengths},
                {&tensors->yes, ATTNZOO_DTYPE_BOOL, 4, attnzoo_mask_set_boolean},
                {&tensors->bias, ATTNZOO_DTYPE_FLOAT32, 4, attnzoo_mask_set_bias},
                {&tensors->slope, ATTNZOO_DTYPE_FLOAT32, 1, attnzoo_mask_set_linear_bias},
                {&tensors->zero, ATTNZOO_DTYPE_INT64, 2, attnzoo_mask_set_segments}};
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    for (int i = 0; i < 7; i++) {
        assert_ok(attnzoo_tensor_create(&tensors->views[i], rows[i].data, rows[i].dtype, rows[i].rank,
                                        (int64_t[]){1, 1, 1, 1}, NULL));
        if (number >= 0)
            stretch(tensors->views[i], rows[i].data, number + i);
        assert_ok(rows[i].set(mask, tensors->views[i]));
    }
    return mask;
}

static void destroy_mask(struct mask_tensors *tensors, attnzoo_mask *mask)
{
    attnzoo_mask_destroy(mask);
    for (int i = 0; i < 7; i++)
        attnzoo_tensor_destroy(tensors->views[i]);
}

/* Every field out and in again by views with extreme strides. */
static void move_fields(attnzoo_state *state, int32_t field_count, int number)
{
    struct zoo_array fields[2];
    const attnzoo_tensor *views[2];
    for (int32_t field = 0; field < field_count; field++) {
        int32_t rank = 0;
        int64_t shape[ATTNZOO_RANK_MAX];
        assert_ok(attnzoo_state_field_shape(state, field, &rank, shape));
        zoo_array_create(&fields[field], rank, shape);
        stretch(fields[field].view, fields[field].data, number);
        assert_ok(attnzoo_state_get_field(state, field, fields[field].view));
        views[field] = fields[field].view;
    }
    assert_ok(attnzoo_state_set_fields(state, views, field_count));
    for (int32_t field = 0; field < field_count; field++)
        zoo_array_destroy(&fields[field]);
}

static void run(struct zoo_case *test, attnzoo_executor *executor, int number)
{
    struct mask_tensors tensors;
    attnzoo_mask *mask = make_mask(&tensors, number);
    attnzoo_module *module = NULL;
    attnzoo_state *state = NULL;
    assert_ok(zoo_case_make_module(test, &module));
    if (zoo_has_state(test->kind)) {
        assert_ok(attnzoo_state_create(&state, module, 1, 1));
        assert_ok(zoo_case_forward(test, module, executor, mask, state));
        move_fields(state, zoo_field_count(test->kind), number);
    }
    zoo_case_poison(test);
    assert_ok(zoo_case_forward(test, module, executor, mask, NULL));
    attnzoo_state_destroy(state);
    attnzoo_module_destroy(module);
    destroy_mask(&tensors, mask);
}

static void strides_of_axes_of_one_element_are_any_number(void **state)
{
    (void)state;
    attnzoo_executor *executor = NULL;
    assert_ok(attnzoo_executor_create(&executor, 2));
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case compact, stretched;
        zoo_case_create(&compact, (enum zoo_kind)kind, (struct zoo_sizes){1, 1, 1, 1, 1, 1}, 3);
        run(&compact, NULL, -1);
        for (int number = 0; number < EXTREME_COUNT; number++) {
            zoo_case_create(&stretched, (enum zoo_kind)kind, (struct zoo_sizes){1, 1, 1, 1, 1, 1}, 3);
            stretch_all(&stretched, number);
            run(&stretched, number % 2 == 0 ? NULL : executor, number);
            if (!zoo_case_same(&compact, &stretched))
                fail_msg("%s: strides that no element needs change the result", ZOO_NAMES[kind]);
            zoo_case_destroy(&stretched);
        }
        zoo_case_destroy(&compact);
    }
    attnzoo_executor_destroy(executor);
}

/* Each of the sizes is 0 in turn, and the views that have no element for it, stretched, give what compact ones give. */
static void strides_of_views_without_elements_are_any_number(void **state)
{
    (void)state;
    for (int i = 0; i < ZOO_KINDS * 4; i++) {
        enum zoo_kind kind = (enum zoo_kind)(i / 4);
        struct zoo_sizes sizes = {2, 2, 2, 3, 4, 4};
        int64_t *const zeros[] = {&sizes.batch, &sizes.queries, &sizes.keys, &sizes.size};
        *zeros[i % 4] = 0;
        struct zoo_case compact, stretched;
        zoo_case_create(&compact, kind, sizes, 4);
        assert_ok(zoo_case_forward(&compact, compact.module, NULL, NULL, NULL));
        for (int number = 0; number < EXTREME_COUNT; number++) {
            zoo_case_create(&stretched, kind, sizes, 4);
            struct zoo_array *const groups[] = {stretched.inputs, stretched.outputs, stretched.parameters};
            const int counts[] = {ZOO_INPUTS, ZOO_OUTPUTS, ZOO_PARAMETERS};
            for (int group = 0; group < 3; group++)
                for (int k = 0; k < counts[group]; k++)
                    if (groups[group][k].rank > 0 && groups[group][k].count == 0)
                        stretch(groups[group][k].view, NULL, number + k);
            attnzoo_module *module = NULL;
            assert_ok(zoo_case_make_module(&stretched, &module));
            assert_ok(zoo_case_forward(&stretched, module, NULL, NULL, NULL));
            assert_true(zoo_case_same(&compact, &stretched));
            attnzoo_module_destroy(module);
            zoo_case_destroy(&stretched);
        }
        zoo_case_destroy(&compact);
    }
}

/* A reach of exactly 2^63 bytes below the data is as far as any number goes, and too far. */
static void reaches_at_the_ends_are_refused(void **state)
{
    (void)state;
    float data[2] = {0};
    attnzoo_tensor *tensor = NULL;
    const int64_t strides[] = {INT64_MIN / 4, INT64_MIN / 8, INT64_MIN, INT64_MAX, INT64_MAX / 4 + 1};
    for (int i = 0; i < 5; i++)
        assert_status(
            attnzoo_tensor_create(&tensor, data, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){2}, (int64_t[]){strides[i]}),
            ATTNZOO_STATUS_INVALID_ARGUMENT);
    const int64_t lengths[] = {INT64_MAX, INT64_MAX / 4 + 1, INT64_C(1) << 62};
    for (int i = 0; i < 3; i++)
        assert_status(
            attnzoo_tensor_create(&tensor, data, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){lengths[i]}, (int64_t[]){0}),
            ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_create(&tensor, data, ATTNZOO_DTYPE_FLOAT32, 2,
                                        (int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32}, (int64_t[]){0, 0}),
                  ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_null(tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_of_axes_of_one_element_are_any_number),
        cmocka_unit_test(strides_of_views_without_elements_are_any_number),
        cmocka_unit_test(reaches_at_the_ends_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
