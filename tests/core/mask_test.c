/*
 * tests/core/mask_test.c: the setters of masks: what each refuses, what replaces what, and who owns what. What masks
 * mean is tested in mechanisms/.
 */
#include "support/attention_case.h"
#include "support/testing.h"

#include <string.h>

static float floats[64];
static int64_t integers[64];

static attnzoo_tensor *view(void *data, int32_t dtype, int32_t rank)
{
    const int64_t shape[] = {1, 1, 1, 1, 1};
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create(&tensor, data, dtype, rank, shape, NULL));
    return tensor;
}

static attnzoo_mask *make(void)
{
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    return mask;
}

typedef attnzoo_status (*tensor_setter)(attnzoo_mask *, const attnzoo_tensor *);

enum { TAKES_INTEGERS = 1, TAKES_BOOLS = 2, TAKES_FLOATS = 4 };

static const struct {
    const char *name;
    tensor_setter set;
    int takes;
    int32_t least_rank, most_rank;
} SETTERS[] = {
    {"query_offsets", attnzoo_mask_set_query_offsets, TAKES_INTEGERS, 1, 1},
    {"key_lengths", attnzoo_mask_set_key_lengths, TAKES_INTEGERS, 1, 1},
    {"query_lengths", attnzoo_mask_set_query_lengths, TAKES_INTEGERS, 1, 1},
    {"boolean", attnzoo_mask_set_boolean, TAKES_INTEGERS | TAKES_BOOLS, 1, 4},
    {"bias", attnzoo_mask_set_bias, TAKES_FLOATS, 1, 4},
    {"linear_bias", attnzoo_mask_set_linear_bias, TAKES_FLOATS, 1, 1},
    {"segments", attnzoo_mask_set_segments, TAKES_INTEGERS, 1, 2},
};

enum { SETTER_COUNT = sizeof SETTERS / sizeof *SETTERS };

static int kind_of(int32_t dtype)
{
    if (dtype == ATTNZOO_DTYPE_BOOL)
        return TAKES_BOOLS;
    return dtype == ATTNZOO_DTYPE_INT32 || dtype == ATTNZOO_DTYPE_INT64 ? TAKES_INTEGERS : TAKES_FLOATS;
}

static void tensor_setters_check_type_and_rank(void **state)
{
    (void)state;
    attnzoo_mask *mask = make();
    for (int i = 0; i < SETTER_COUNT; i++)
        for (int32_t dtype = ATTNZOO_DTYPE_FLOAT32; dtype <= ATTNZOO_DTYPE_INT64; dtype++)
            for (int32_t rank = 1; rank <= 5; rank++) {
                attnzoo_tensor *tensor = view(integers, dtype, rank);
                attnzoo_status status = SETTERS[i].set(mask, tensor);
                int fits_type = (SETTERS[i].takes & kind_of(dtype)) != 0;
                int fits_rank = rank >= SETTERS[i].least_rank && rank <= SETTERS[i].most_rank;
                int is_right = fits_type && fits_rank ? status == ATTNZOO_STATUS_OK
                               : fits_rank            ? status == ATTNZOO_STATUS_DTYPE_MISMATCH
                               : fits_type
                                   ? status == ATTNZOO_STATUS_SHAPE_MISMATCH
                                   : status == ATTNZOO_STATUS_DTYPE_MISMATCH || status == ATTNZOO_STATUS_SHAPE_MISMATCH;
                if (!is_right)
                    fail_msg("%s, %s, rank %d: %s", SETTERS[i].name, attnzoo_dtype_name(dtype), (int)rank,
                             attnzoo_status_name(status));
                attnzoo_tensor_destroy(tensor);
            }
    attnzoo_mask_destroy(mask);
}

static void null_masks_are_refused(void **state)
{
    (void)state;
    attnzoo_tensor *tensor = view(integers, ATTNZOO_DTYPE_INT64, 1);
    assert_status(attnzoo_mask_create(NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_mask_set_causal(NULL, 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_mask_set_window(NULL, 1, 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_mask_set_alignment(NULL, 0), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_mask_set_query_offset(NULL, 0), ATTNZOO_STATUS_INVALID_ARGUMENT);
    for (int i = 0; i < SETTER_COUNT; i++) {
        assert_status(SETTERS[i].set(NULL, tensor), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_status(SETTERS[i].set(NULL, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT);
    }
    attnzoo_mask_destroy(NULL);
    attnzoo_tensor_destroy(tensor);
}

static void numbers_out_of_bounds_are_refused(void **state)
{
    (void)state;
    attnzoo_mask *mask = make();
    assert_refused(attnzoo_mask_set_causal(mask, 2), ATTNZOO_STATUS_INVALID_ARGUMENT, "2");
    assert_status(attnzoo_mask_set_causal(mask, -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_refused(attnzoo_mask_set_window(mask, -2, 0), ATTNZOO_STATUS_INVALID_ARGUMENT, "-2");
    assert_status(attnzoo_mask_set_window(mask, 0, -2), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_mask_set_window(mask, INT64_MIN, 0), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_refused(attnzoo_mask_set_alignment(mask, 3), ATTNZOO_STATUS_INVALID_ARGUMENT, "3");
    assert_status(attnzoo_mask_set_alignment(mask, -1), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_ok(attnzoo_mask_set_window(mask, -1, INT64_MAX));
    assert_ok(attnzoo_mask_set_query_offset(mask, INT64_MIN));
    attnzoo_mask_destroy(mask);
}

/* What the first query of two sees of five keys, as bits, with the mask as it is. */
static unsigned seen_by_first_query(const attnzoo_mask *mask)
{
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){1, 1, 1, 2, 5, 4, 4});
    struct random_source source = {1};
    attention_case_allocate(&test);
    attention_case_fill(&test, &source, 1.0);
    attention_case_store(&test);
    attnzoo_module *module = attention_case_module(&test);
    assert_ok(attention_case_forward(&test, module, NULL, mask));
    attention_case_load(&test);
    unsigned seen = 0;
    for (unsigned j = 0; j < 5; j++)
        seen |= test.attention.values[j] > 0.0 ? 1u << j : 0u;
    attnzoo_module_destroy(module);
    attention_case_destroy(&test);
    return seen;
}

static void each_setting_replaces_the_one_before(void **state)
{
    (void)state;
    attnzoo_mask *mask = make();
    assert_int_equal(seen_by_first_query(mask), 0x1f);
    assert_ok(attnzoo_mask_set_causal(mask, 1));
    assert_int_equal(seen_by_first_query(mask), 0x0f);
    assert_ok(attnzoo_mask_set_query_offset(mask, 1));
    assert_int_equal(seen_by_first_query(mask), 0x03);
    assert_ok(attnzoo_mask_set_alignment(mask, ATTNZOO_ALIGNMENT_TOP_LEFT));
    assert_int_equal(seen_by_first_query(mask), 0x01);
    integers[0] = 2;
    attnzoo_tensor *offsets = view(integers, ATTNZOO_DTYPE_INT64, 1);
    assert_ok(attnzoo_mask_set_query_offsets(mask, offsets));
    assert_int_equal(seen_by_first_query(mask), 0x07);
    assert_ok(attnzoo_mask_set_query_offset(mask, 0));
    assert_int_equal(seen_by_first_query(mask), 0x01);
    assert_ok(attnzoo_mask_set_query_offsets(mask, offsets));
    assert_ok(attnzoo_mask_set_alignment(mask, ATTNZOO_ALIGNMENT_TOP_LEFT));
    assert_int_equal(seen_by_first_query(mask), 0x01);
    assert_ok(attnzoo_mask_set_query_offsets(mask, NULL));
    assert_int_equal(seen_by_first_query(mask), 0x0f);
    assert_ok(attnzoo_mask_set_causal(mask, 0));
    assert_ok(attnzoo_mask_set_window(mask, 0, 0));
    assert_int_equal(seen_by_first_query(mask), 0x08);
    assert_ok(attnzoo_mask_set_window(mask, -1, -1));
    assert_int_equal(seen_by_first_query(mask), 0x1f);
    attnzoo_tensor_destroy(offsets);
    attnzoo_mask_destroy(mask);
}

/* The view may go at once; the memory is read anew at each call. */
static void masks_copy_views_and_read_memory_in_place(void **state)
{
    (void)state;
    attnzoo_mask *mask = make();
    attnzoo_tensor *lengths = view(integers, ATTNZOO_DTYPE_INT64, 1);
    assert_ok(attnzoo_mask_set_key_lengths(mask, lengths));
    assert_ok(attnzoo_tensor_assign(lengths, floats, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 1}, NULL));
    attnzoo_tensor_destroy(lengths);
    integers[0] = 2;
    assert_int_equal(seen_by_first_query(mask), 0x03);
    integers[0] = 4;
    assert_int_equal(seen_by_first_query(mask), 0x0f);
    assert_ok(attnzoo_mask_set_key_lengths(mask, NULL));
    integers[0] = 1;
    assert_int_equal(seen_by_first_query(mask), 0x1f);
    attnzoo_mask_destroy(mask);
}

static void a_refused_setting_changes_nothing(void **state)
{
    (void)state;
    attnzoo_mask *mask = make();
    attnzoo_tensor *lengths = view(integers, ATTNZOO_DTYPE_INT64, 1);
    attnzoo_tensor *wrong = view(floats, ATTNZOO_DTYPE_FLOAT32, 1);
    integers[0] = 3;
    assert_ok(attnzoo_mask_set_key_lengths(mask, lengths));
    assert_ok(attnzoo_mask_set_window(mask, 2, -1));
    assert_status(attnzoo_mask_set_key_lengths(mask, wrong), ATTNZOO_STATUS_DTYPE_MISMATCH);
    assert_status(attnzoo_mask_set_window(mask, 0, -3), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_status(attnzoo_mask_set_causal(mask, 7), ATTNZOO_STATUS_INVALID_ARGUMENT);
    assert_int_equal(seen_by_first_query(mask), 0x06);
    attnzoo_tensor_destroy(lengths);
    attnzoo_tensor_destroy(wrong);
    attnzoo_mask_destroy(mask);
}

/* Shapes are checked against the call: [B] where B is not 3, [H] where H is not 3, [B, M]. */
static void tensors_of_other_sizes_are_refused_by_the_call(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){2, 4, 2, 3, 5, 4, 4});
        struct test_tensor *tensors[] = {&test.offsets, &test.key_lengths, &test.query_lengths, &test.slopes};
        if (i < 4)
            *tensors[i] = test_tensor_plan(i < 3 ? ATTNZOO_DTYPE_INT32 : ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){3});
        else
            test.segments = test_tensor_plan(ATTNZOO_DTYPE_INT32, 2, i == 4 ? (int64_t[]){2, 4} : (int64_t[]){3, 5});
        struct random_source source = {1};
        attention_case_allocate(&test);
        attention_case_fill(&test, &source, 1.0);
        assert_status(attention_case_run(&test, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH);
        assert_true(test_tensor_is_untouched(&test.context));
        attention_case_destroy(&test);
    }
}

/* Only where [B, M] is what was given: [N, B] is some other mistake. */
static void a_mask_of_padding_with_two_axes_is_told_what_it_needs(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){2, 4, 2, 3, 5, 4, 4});
        const int64_t *shape = i % 2 == 0 ? (int64_t[]){2, 5} : (int64_t[]){3, 2};
        if (i < 2)
            test.boolean = test_tensor_plan(ATTNZOO_DTYPE_BOOL, 2, shape);
        else
            test.bias = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, shape);
        struct random_source source = {1};
        attention_case_allocate(&test);
        attention_case_fill(&test, &source, 1.0);
        assert_refused(attention_case_run(&test, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH, "= [2, 4, 3, 5]");
        assert_int_equal(strstr(attnzoo_last_error(), "given as [B, 1, 1, M]") != NULL, i % 2 == 0);
        attention_case_destroy(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_setters_check_type_and_rank),
        cmocka_unit_test(null_masks_are_refused),
        cmocka_unit_test(numbers_out_of_bounds_are_refused),
        cmocka_unit_test(each_setting_replaces_the_one_before),
        cmocka_unit_test(masks_copy_views_and_read_memory_in_place),
        cmocka_unit_test(a_refused_setting_changes_nothing),
        cmocka_unit_test(tensors_of_other_sizes_are_refused_by_the_call),
        cmocka_unit_test(a_mask_of_padding_with_two_axes_is_told_what_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
