/*
 * tests/core/tensor_test.c: tensor views: creation and each of its errors, getters, describing anew, read-only memory.
 */
#include "support/testing.h"

#include <string.h>

static _Alignas(8) float memory[64];

static attnzoo_tensor *make(int32_t rank, const int64_t *shape, const int64_t *strides)
{
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create(&tensor, memory, ATTNZOO_DTYPE_FLOAT32, rank, shape, strides));
    assert_non_null(tensor);
    return tensor;
}

static void element_types_have_sizes_and_names(void **state)
{
    (void)state;
    static const struct {
        int32_t dtype;
        int64_t size;
        const char *name;
    } types[] = {{ATTNZOO_DTYPE_FLOAT32, 4, "float32"},
                 {ATTNZOO_DTYPE_FLOAT16, 2, "float16"},
                 {ATTNZOO_DTYPE_BFLOAT16, 2, "bfloat16"},
                 {ATTNZOO_DTYPE_BOOL, 1, "bool"},
                 {ATTNZOO_DTYPE_INT32, 4, "int32"},
                 {ATTNZOO_DTYPE_INT64, 8, "int64"},
                 {0, 0, "unknown"},
                 {7, 0, "unknown"},
                 {-1, 0, "unknown"},
                 {INT32_MAX, 0, "unknown"},
                 {INT32_MIN, 0, "unknown"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_int_equal(attnzoo_dtype_size(types[i].dtype), types[i].size);
        assert_string_equal(attnzoo_dtype_name(types[i].dtype), types[i].name);
    }
}

static void getters_tell_what_was_given(void **state)
{
    (void)state;
    attnzoo_tensor *compact = make(3, (int64_t[]){2, 3, 4}, NULL);
    assert_int_equal(attnzoo_tensor_dtype(compact), ATTNZOO_DTYPE_FLOAT32);
    assert_int_equal(attnzoo_tensor_rank(compact), 3);
    assert_int_equal(attnzoo_tensor_size(compact, 0), 2);
    assert_int_equal(attnzoo_tensor_size(compact, 2), 4);
    assert_int_equal(attnzoo_tensor_stride(compact, 0), 12);
    assert_int_equal(attnzoo_tensor_stride(compact, 1), 4);
    assert_int_equal(attnzoo_tensor_stride(compact, 2), 1);
    assert_int_equal(attnzoo_tensor_element_count(compact), 24);
    assert_ptr_equal(attnzoo_tensor_data(compact), memory);
    assert_int_equal(attnzoo_tensor_size(compact, 3), -1);
    assert_int_equal(attnzoo_tensor_size(compact, -1), -1);
    assert_int_equal(attnzoo_tensor_stride(compact, 3), 0);
    assert_int_equal(attnzoo_tensor_stride(compact, -1), 0);
    attnzoo_tensor_destroy(compact);

    attnzoo_tensor *strided = make(2, (int64_t[]){5, 3}, (int64_t[]){0, -7});
    assert_int_equal(attnzoo_tensor_stride(strided, 0), 0);
    assert_int_equal(attnzoo_tensor_stride(strided, 1), -7);
    assert_int_equal(attnzoo_tensor_element_count(strided), 15);
    attnzoo_tensor_destroy(strided);
}

static void getters_take_null(void **state)
{
    (void)state;
    assert_int_equal(attnzoo_tensor_dtype(NULL), 0);
    assert_int_equal(attnzoo_tensor_rank(NULL), 0);
    assert_int_equal(attnzoo_tensor_size(NULL, 0), -1);
    assert_int_equal(attnzoo_tensor_stride(NULL, 0), 0);
    assert_int_equal(attnzoo_tensor_element_count(NULL), 0);
    assert_null(attnzoo_tensor_data(NULL));
    attnzoo_tensor_destroy(NULL);
}

static void every_rank_up_to_the_limit(void **state)
{
    (void)state;
    const int64_t shape[ATTNZOO_RANK_MAX] = {1, 2, 1, 2, 1, 2, 1, 2};
    for (int32_t rank = 1; rank <= ATTNZOO_RANK_MAX; rank++) {
        attnzoo_tensor *tensor = make(rank, shape, NULL);
        assert_int_equal(attnzoo_tensor_rank(tensor), rank);
        attnzoo_tensor_destroy(tensor);
    }
}

static void shapes_are_copied(void **state)
{
    (void)state;
    int64_t shape[] = {2, 3};
    int64_t strides[] = {4, 1};
    attnzoo_tensor *tensor = make(2, shape, strides);
    shape[0] = 99;
    strides[0] = 99;
    assert_int_equal(attnzoo_tensor_size(tensor, 0), 2);
    assert_int_equal(attnzoo_tensor_stride(tensor, 0), 4);
    attnzoo_tensor_destroy(tensor);
}

static void views_without_elements_need_no_memory(void **state)
{
    (void)state;
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create(&tensor, NULL, ATTNZOO_DTYPE_INT64, 3, (int64_t[]){4, 0, 5}, NULL));
    assert_int_equal(attnzoo_tensor_element_count(tensor), 0);
    assert_null(attnzoo_tensor_data(tensor));
    attnzoo_tensor_destroy(tensor);
    /* Sizes beside a zero may be anything. */
    tensor = NULL;
    assert_ok(attnzoo_tensor_create(&tensor, NULL, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){0, 7}, NULL));
    attnzoo_tensor_destroy(tensor);
}

struct bad_view {
    void *data;
    int32_t dtype, rank;
    int64_t shape[9];
    int64_t strides[9];
    int has_strides;
};

enum { BIG = 1 << 30 };

static const int64_t HUGE_SIZE = INT64_MAX;
/* Of float32; cut to the width of an address of 32 bits, the bytes would be none. */
static const int64_t ALL_ADDRESSES = sizeof(size_t) == 4 ? INT64_C(1) << 30 : INT64_MAX;
/* A reach that 63 bits can hold, but no address lies as high. */
static const int64_t ANY_ADDRESS = sizeof(size_t) == 4 ? INT64_C(1) << 30 : INT64_C(1) << 60;

static void list_bad_views(struct bad_view views[], int *count)
{
    unsigned char *bytes = (unsigned char *)memory;
    const struct bad_view all[] = {
        {memory, 1, 0, {1}, {0}, 0},                               /* no axes */
        {memory, 1, -1, {1}, {0}, 0},                              /* fewer than none */
        {memory, 1, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {0}, 0},       /* too many */
        {memory, 1, INT32_MAX, {1}, {0}, 0},                       /* far too many */
        {memory, 1, 2, {2, -1}, {0}, 0},                           /* a negative size */
        {memory, 1, 2, {0, -1}, {0}, 0},                           /* also beside a zero */
        {memory, 1, 1, {INT64_MIN}, {0}, 0},                       /* the most negative */
        {memory, 0, 1, {1}, {0}, 0},                               /* no such type */
        {memory, 7, 1, {1}, {0}, 0},                               /* no such type */
        {memory, -1, 1, {1}, {0}, 0},                              /* no such type */
        {NULL, 1, 1, {1}, {0}, 0},                                 /* elements, but no memory */
        {bytes + 1, ATTNZOO_DTYPE_FLOAT16, 1, {1}, {0}, 0},        /* misaligned */
        {bytes + 2, ATTNZOO_DTYPE_FLOAT32, 1, {1}, {0}, 0},        /* misaligned */
        {bytes + 2, ATTNZOO_DTYPE_INT64, 1, {1}, {0}, 0},          /* misaligned */
        {memory, 1, 3, {BIG, BIG, BIG}, {0}, 0},                   /* sizes pass 63 bits */
        {memory, 1, 3, {BIG, BIG, BIG}, {0, 0, 0}, 1},             /* also where all repeat */
        {memory, 1, 1, {HUGE_SIZE}, {0}, 0},                       /* bytes pass 63 bits */
        {memory, 1, 2, {2, 2}, {HUGE_SIZE, 1}, 1},                 /* the reach passes 63 bits */
        {memory, 1, 2, {2, 2}, {INT64_MIN, 1}, 1},                 /* backwards */
        {memory, 1, 2, {2, 2}, {HUGE_SIZE / 4, HUGE_SIZE / 4}, 1}, /* the sum of both reaches does */
        {memory, 1, 2, {BIG, BIG}, {INT64_C(8) * BIG, 1}, 1},      /* size times stride does */
        {memory, 1, 1, {2}, {ALL_ADDRESSES}, 1},                   /* the reach passes all addresses */
        {memory, 1, 1, {2}, {-ANY_ADDRESS}, 1},                    /* it goes below the first address */
    };
    *count = (int)(sizeof all / sizeof *all);
    memcpy(views, all, sizeof all);
}

static attnzoo_status create_bad(attnzoo_tensor **tensor, const struct bad_view *bad, int is_readonly)
{
    const int64_t *strides = bad->has_strides != 0 ? bad->strides : NULL;
    if (is_readonly != 0)
        return attnzoo_tensor_create_readonly(tensor, bad->data, bad->dtype, bad->rank, bad->shape, strides);
    return attnzoo_tensor_create(tensor, bad->data, bad->dtype, bad->rank, bad->shape, strides);
}

static attnzoo_status assign_bad(attnzoo_tensor *tensor, const struct bad_view *bad, int is_readonly)
{
    const int64_t *strides = bad->has_strides != 0 ? bad->strides : NULL;
    if (is_readonly != 0)
        return attnzoo_tensor_assign_readonly(tensor, bad->data, bad->dtype, bad->rank, bad->shape, strides);
    return attnzoo_tensor_assign(tensor, bad->data, bad->dtype, bad->rank, bad->shape, strides);
}

static void bad_views_are_refused(void **state)
{
    (void)state;
    struct bad_view views[32];
    int count;
    list_bad_views(views, &count);
    attnzoo_tensor *marker = (attnzoo_tensor *)(void *)memory;
    attnzoo_tensor *good = make(2, (int64_t[]){3, 4}, NULL);
    for (int i = 0; i < 2 * count; i++) {
        attnzoo_tensor *tensor = marker;
        attnzoo_status status = create_bad(&tensor, &views[i / 2], i % 2);
        if (status != ATTNZOO_STATUS_INVALID_ARGUMENT)
            fail_msg("bad view %d gave '%s'", i / 2, attnzoo_status_name(status));
        assert_ptr_equal(tensor, marker);
        assert_true(strlen(attnzoo_last_error()) > 10);
        assert_status(assign_bad(good, &views[i / 2], i % 2), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_int_equal(attnzoo_tensor_rank(good), 2);
        assert_int_equal(attnzoo_tensor_size(good, 0), 3);
        assert_int_equal(attnzoo_tensor_stride(good, 0), 4);
        assert_ptr_equal(attnzoo_tensor_data(good), memory);
    }
    attnzoo_tensor_destroy(good);
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    const int64_t shape[] = {1};
    attnzoo_tensor *tensor = NULL;
    assert_status(attnzoo_tensor_create(NULL, memory, 1, 1, shape, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_create(&tensor, memory, 1, 1, NULL, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_create_readonly(NULL, memory, 1, 1, shape, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_create_readonly(&tensor, memory, 1, 1, NULL, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_null(tensor);
    assert_status(attnzoo_tensor_assign(NULL, memory, 1, 1, shape, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_assign_readonly(NULL, memory, 1, 1, shape, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_set_data(NULL, memory), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_set_readonly_data(NULL, memory), ATTNZOO_STATUS_INVALID_ARGUMENT);
}

static void messages_name_the_numbers(void **state)
{
    (void)state;
    attnzoo_tensor *tensor = NULL;
    assert_refused(attnzoo_tensor_create(&tensor, memory, 1, 11, (int64_t[]){1}, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "11");
    assert_error_contains("attnzoo_tensor_create");
    assert_refused(attnzoo_tensor_create(&tensor, memory, 1, 2, (int64_t[]){3, -77}, NULL),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "-77");
    assert_refused(attnzoo_tensor_create(&tensor, memory, 123, 1, (int64_t[]){3}, NULL),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "123");
}

static void assign_describes_anew(void **state)
{
    (void)state;
    int64_t wide[10];
    attnzoo_tensor *tensor = make(1, (int64_t[]){4}, NULL);
    assert_ok(attnzoo_tensor_assign(tensor, wide, ATTNZOO_DTYPE_INT64, 2, (int64_t[]){2, 5}, NULL));
    assert_int_equal(attnzoo_tensor_dtype(tensor), ATTNZOO_DTYPE_INT64);
    assert_int_equal(attnzoo_tensor_rank(tensor), 2);
    assert_int_equal(attnzoo_tensor_stride(tensor, 0), 5);
    assert_ptr_equal(attnzoo_tensor_data(tensor), wide);
    assert_ok(
        attnzoo_tensor_assign_readonly(tensor, memory, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){3}, (int64_t[]){-2}));
    assert_int_equal(attnzoo_tensor_stride(tensor, 0), -2);
    attnzoo_tensor_destroy(tensor);
}

static void set_data_keeps_the_shape(void **state)
{
    (void)state;
    attnzoo_tensor *tensor = make(2, (int64_t[]){3, 4}, (int64_t[]){1, 3});
    assert_ok(attnzoo_tensor_set_data(tensor, memory + 5));
    assert_ptr_equal(attnzoo_tensor_data(tensor), memory + 5);
    assert_int_equal(attnzoo_tensor_stride(tensor, 1), 3);
    assert_status(attnzoo_tensor_set_data(tensor, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_set_data(tensor, (char *)memory + 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_set_readonly_data(tensor, (char *)memory + 3), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_tensor_set_data(tensor, (void *)(UINTPTR_MAX - 15)), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_ptr_equal(attnzoo_tensor_data(tensor), memory + 5);
    assert_ok(attnzoo_tensor_set_readonly_data(tensor, memory));
    assert_ptr_equal(attnzoo_tensor_data(tensor), memory);
    attnzoo_tensor_destroy(tensor);
}

/* A context of one element through each way that makes a view read-only, and back. */
static void read_only_views_are_no_outputs(void **state)
{
    (void)state;
    static float input[] = {1.0f};
    static float output[] = {7.0f};
    const int64_t shape[] = {1, 1};
    attnzoo_tensor *in = NULL;
    attnzoo_tensor *out = NULL;
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_tensor_create_readonly(&in, input, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL));
    assert_ok(attnzoo_tensor_create_readonly(&out, output, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL));
    assert_refused(attnzoo_module_forward(module, NULL, in, in, in, NULL, NULL, out, NULL),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "context");
    assert_ok(attnzoo_tensor_assign_readonly(out, output, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL));
    assert_status(attnzoo_module_forward(module, NULL, in, in, in, NULL, NULL, out, NULL),
                  ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_true(output[0] == 7.0f);
    assert_ok(attnzoo_tensor_set_data(out, output));
    assert_ok(attnzoo_module_forward(module, NULL, in, in, in, NULL, NULL, out, NULL));
    assert_true(output[0] == 1.0f);
    output[0] = 7.0f;
    assert_ok(attnzoo_tensor_set_readonly_data(out, output));
    assert_status(attnzoo_module_forward(module, NULL, in, in, in, NULL, NULL, out, NULL),
                  ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_ok(attnzoo_tensor_assign(out, output, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL));
    assert_ok(attnzoo_module_forward(module, NULL, in, in, in, NULL, NULL, out, NULL));
    assert_true(output[0] == 1.0f);
    attnzoo_tensor_destroy(in);
    attnzoo_tensor_destroy(out);
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_types_have_sizes_and_names),
        cmocka_unit_test(getters_tell_what_was_given),
        cmocka_unit_test(getters_take_null),
        cmocka_unit_test(every_rank_up_to_the_limit),
        cmocka_unit_test(shapes_are_copied),
        cmocka_unit_test(views_without_elements_need_no_memory),
        cmocka_unit_test(bad_views_are_refused),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(messages_name_the_numbers),
        cmocka_unit_test(assign_describes_anew),
        cmocka_unit_test(set_data_keeps_the_shape),
        cmocka_unit_test(read_only_views_are_no_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
