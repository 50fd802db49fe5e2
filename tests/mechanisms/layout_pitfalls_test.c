/*
 * tests/mechanisms/layout_pitfalls_test.c: pitfalls of heads, memory layouts and sizes.
 */
#include "mechanisms/pitfalls.h"

#include "support/element.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

/* With one key the context is the value of the head that was read. */
static void p20_query_head_reads_key_head_h_over_group(void **state)
{
    (void)state;
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){2, 6, 2, 2, 1, 8, 8});
    allocate_and_fill(&test);
    check_everywhere(&test);
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 6; h++)
            for (int64_t i = 0; i < 2; i++)
                assert_true(test.context.values[((b * 6 + h) * 2 + i) * 8] == test.value.values[(b * 2 + h / 3) * 8]);
    attention_case_destroy(&test);
}

/* Heads side by side in the rows of [B, N, H Dv], read back from the bare memory. */
static void p21_heads_lie_side_by_side_where_strides_say_so(void **state)
{
    (void)state;
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){2, 3, 3, 5, 7, 8, 4});
    const int32_t tokens_before_heads[] = {0, 2, 1, 3};
    struct test_tensor *tensors[] = {&test.query, &test.key, &test.value, &test.context};
    for (int i = 0; i < 4; i++)
        memcpy(tensors[i]->order, tokens_before_heads, sizeof tokens_before_heads);
    allocate_and_fill(&test);
    check_everywhere(&test);
    const float *memory = (const float *)(const void *)test.context.memory.bytes;
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 3; h++)
            for (int64_t i = 0; i < 5; i++)
                for (int64_t d = 0; d < 4; d++)
                    assert_true(memory[((b * 5 + i) * 3 + h) * 4 + d] ==
                                (float)test.context.values[((b * 3 + h) * 5 + i) * 4 + d]);
    attention_case_destroy(&test);
}

/* q.k = 16 over D = 16: 16/4. With the whole model size of 4 heads it would be 16/8. */
static void p22_the_default_scale_is_that_of_the_head(void **state)
{
    (void)state;
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){1, 4, 4, 1, 1, 16, 3});
    allocate_and_fill(&test);
    set_all(&test.query, 1.0);
    set_all(&test.key, 1.0);
    check_everywhere(&test);
    for (int64_t h = 0; h < 4; h++)
        assert_true(fabs(test.log_sum_exp.values[h] - 4.0) < 1e-6);
    attention_case_destroy(&test);
}

static void change_layout(struct test_tensor *tensor, int way)
{
    static const int32_t orders[][4] = {{0, 1, 3, 2}, {3, 2, 1, 0}, {2, 0, 1, 3}, {1, 3, 0, 2}};
    if (way < 4)
        memcpy(tensor->order, orders[way], sizeof orders[way]);
    if (way == 4)
        tensor->padding[2] = tensor->padding[3] = 5;
    if (way == 5)
        tensor->step = 3;
    if (way >= 6 && way < 10)
        tensor->reversed[way - 6] = true;
    if (way >= 10)
        tensor->repeated[way - 10] = true;
}

static void p23_views_that_are_not_contiguous(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++)
        for (int way = 0; way < (which < 3 ? 14 : 10); way++)
            for (int64_t queries = 1; queries < 40; queries += 34) {
                struct attention_case test;
                attention_case_plan(&test, (struct attention_sizes){2, 4, 2, queries, 70, 16, 12});
                struct test_tensor *tensors[] = {&test.query, &test.key, &test.value, &test.context, &test.attention};
                change_layout(tensors[which], way);
                allocate_and_fill(&test);
                check_everywhere(&test);
                attention_case_destroy(&test);
            }
}

/* Every tensor ends at a page that cannot be touched, so where it starts depends on its length alone. */
static void p24_data_aligned_to_its_elements_only(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    for (int type = 0; type < 3; type++)
        for (int64_t extra = 1; extra < 20; extra++) {
            struct attention_case test;
            attention_case_plan(&test, (struct attention_sizes){1, 1, 1, 1 + extra % 3 * 8, 33, 16, 16});
            struct test_tensor *tensors[] = {&test.query, &test.key, &test.value, &test.context, &test.attention};
            for (int i = 0; i < 5; i++) {
                tensors[i]->dtype = types[(type + i / 3) % 3];
                /* The end lies at the end of a page, so a longer run moves the start. */
                tensors[i]->padding[3] = extra;
            }
            attention_case_plan_bias(&test, 1, 1, 1, 33);
            allocate_and_fill(&test);
            check_everywhere(&test);
            attention_case_destroy(&test);
        }
}

static void p25_sizes_that_no_vector_or_block_divides(void **state)
{
    (void)state;
    const int64_t sizes[] = {1, 2, 3, 7, 15, 17, 33, 80, 96, 127, 257};
    const int64_t lengths[] = {1, 2, 63, 65, 129, 200};
    for (int d = 0; d < 11; d++)
        for (int length = 0; length < 6; length++)
            for (int is_one_query = 0; is_one_query < 2; is_one_query++) {
                struct attention_case test;
                attention_case_plan(&test,
                                    (struct attention_sizes){1, 2, 1, is_one_query != 0 ? 1 : lengths[5 - length],
                                                             lengths[length], sizes[d], sizes[(d * 7 + length) % 11]});
                allocate_and_fill(&test);
                check(&test);
                attention_case_destroy(&test);
            }
}

/*
 * Keys long enough to be shared out in parts, whose results are merged: each part has its own room for the sums of all
 * rows. Random calls rarely have both many rows and many keys. 2100 and 4100 keys leave the last part shorter.
 */
static void many_rows_over_keys_in_parts(void **state)
{
    (void)state;
    for (int64_t rows = 8; rows <= 72; rows += 16)
        for (int64_t keys = 2100; keys <= 4100; keys += 2000) {
            struct attention_case test;
            attention_case_plan(&test, (struct attention_sizes){1, 2, 1, rows, keys, 8, 5});
            allocate_and_fill(&test);
            check_everywhere(&test);
            attention_case_destroy(&test);
        }
}

/* More keys than 32 bits count, of which a window shows four. */
static void p26_more_than_2_to_the_31_keys(void **state)
{
    (void)state;
    const int64_t keys = (INT64_C(1) << 31) + 7;
    struct random_source source = {7};
    struct test_tensor query = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 8});
    struct test_tensor key = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){1, 8});
    struct test_tensor context = query;
    test_tensor_allocate(&query);
    test_tensor_allocate(&key);
    test_tensor_allocate(&context);
    test_tensor_fill(&query, &source, -1.0, 1.0);
    test_tensor_fill(&key, &source, -1.0, 1.0);
    test_tensor_store(&query);
    test_tensor_store(&key);
    assert_ok(attnzoo_tensor_assign(key.view, key.memory.bytes, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){keys, 8},
                                    (int64_t[]){0, 1}));
    attnzoo_mask *mask = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_mask_set_window(mask, 3, 0));
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    assert_ok(attnzoo_module_prepare(module));
    assert_ok(attnzoo_module_forward(module, NULL, query.view, key.view, key.view, mask, NULL, context.view, NULL));
    test_tensor_load(&context);
    for (int64_t d = 0; d < 8; d++)
        assert_true(fabs(context.values[d] - key.values[d]) <= 1e-6);
    attnzoo_module_destroy(module);
    attnzoo_mask_destroy(mask);
    test_tensor_destroy(&query);
    test_tensor_destroy(&key);
    test_tensor_destroy(&context);
}

/* Batches 2^31 + 5 elements apart in memory that is mostly never touched. */
static void p26_strides_past_2_to_the_31_elements(void **state)
{
    (void)state;
    const int64_t stride = (INT64_C(1) << 31) + 5;
    int64_t size = (stride * 2 + 8) * (int64_t)sizeof(float);
    float *far = MAP_FAILED;
    if ((uint64_t)size <= SIZE_MAX)
        far = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED) {
        print_message("skipped: no %" PRId64 " bytes of address space\n", size);
        skip();
    }
    for (int which = 0; which < 4; which++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){3, 1, 1, 1, 2, 4, 4});
        allocate_and_fill(&test);
        attention_case_store(&test);
        struct test_tensor *tensors[] = {&test.query, &test.key, &test.value, &test.context};
        struct test_tensor *moved = tensors[which];
        int64_t rows = moved->shape[2];
        for (int64_t i = 0; i < moved->count; i++)
            far[i / (rows * 4) * stride + i % (rows * 4)] = (float)moved->values[i];
        assert_ok(attnzoo_tensor_assign(moved->view, far, ATTNZOO_DTYPE_FLOAT32, 4, moved->shape,
                                        (int64_t[]){stride, 4, 4, 1}));
        attnzoo_module *module = attention_case_module(&test);
        assert_ok(attention_case_forward(&test, module, NULL, NULL));
        attention_case_load(&test);
        for (int64_t i = 0; i < moved->count && which == 3; i++)
            moved->values[i] = far[i / 4 * stride + i % 4];
        assert_true(attention_case_compare(&test));
        attnzoo_module_destroy(module);
        attention_case_destroy(&test);
    }
    munmap(far, (size_t)size);
}

static void p27_zero_sized_axes(void **state)
{
    (void)state;
    for (int zeros = 1; zeros < 32; zeros++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){(zeros & 1) != 0 ? 0 : 2, 4, 2, (zeros & 2) != 0 ? 0 : 3,
                                                            (zeros & 4) != 0 ? 0 : 5, (zeros & 8) != 0 ? 0 : 8,
                                                            (zeros & 16) != 0 ? 0 : 6});
        test.causal = zeros % 3 == 0;
        allocate_and_fill(&test);
        check_everywhere(&test);
        attention_case_destroy(&test);
    }
}

/* D = 0: all scores are 0, whatever the scale, so the values are averaged. */
static void p27_no_head_size_gives_the_mean_of_the_values(void **state)
{
    (void)state;
    struct attention_case test;
    attention_case_plan(&test, (struct attention_sizes){1, 1, 1, 2, 4, 0, 1});
    allocate_and_fill(&test);
    test_tensor_set(&test.value, (const double[]){1.0, 2.0, 3.0, 6.0});
    check_everywhere(&test);
    assert_true(fabs(test.context.values[1] - 3.0) < 1e-6);
    attention_case_destroy(&test);
}

/* attention_case_run() fills every output with NaN first. */
static void p28_outputs_full_of_nan_come_out_clean(void **state)
{
    (void)state;
    const int64_t queries[] = {1, 3, 64, 200};
    const int64_t keys[] = {0, 1, 64, 600};
    for (int i = 0; i < 32; i++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){1, 2, 1, queries[i % 4], keys[i / 4 % 4], 16, 16});
        test.causal = i >= 16;
        test.context.padding[3] = i % 3;
        allocate_and_fill(&test);
        check_everywhere(&test);
        for (int64_t k = 0; k < test.context.count; k++)
            assert_true(isfinite(test.context.values[k]));
        attention_case_destroy(&test);
    }
}

/* 300 * 300 * 4 is 360000, which half does not reach. */
static void p29_products_of_halves_are_float32(void **state)
{
    (void)state;
    for (int64_t queries = 1; queries <= 70; queries += 69) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){1, 1, 1, queries, 100, 4, 8});
        test.query.dtype = test.key.dtype = test.value.dtype = test.context.dtype = ATTNZOO_DTYPE_FLOAT16;
        test.scale = 1.0;
        allocate_and_fill(&test);
        set_all(&test.query, 300.0);
        set_all(&test.key, 300.0);
        check_everywhere(&test);
        for (int64_t i = 0; i < queries; i++)
            assert_true(fabs(test.log_sum_exp.values[i] - 360000.0 - log(100.0)) < 0.1);
        attention_case_destroy(&test);
    }
}

/* With one key the context is its value: every half and bfloat16 must come through, and float32 be rounded to nearest.
 */
static void p29_sixteen_bit_elements_keep_their_values(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    for (int pass = 0; pass < 4; pass++) {
        struct attention_case test;
        attention_case_plan(&test, (struct attention_sizes){1, 64, 64, 1, 1, 1, 1024});
        int32_t dtype = types[pass % 2];
        test.value.dtype = pass < 2 ? dtype : ATTNZOO_DTYPE_FLOAT32;
        test.context.dtype = dtype;
        allocate_and_fill(&test);
        for (int64_t i = 0; i < test.value.count; i++) {
            uint16_t bits = (uint16_t)i;
            double exact = element_read(&bits, dtype);
            /* Half of the way to the next above, a little less and a little more: ties and their neighbours. */
            double step = fabs(exact) * (dtype == ATTNZOO_DTYPE_FLOAT16 ? 0x1p-11 : 0x1p-8);
            double nudged = (float)(exact + step * (double)(i % 5 - 2) * 0.5);
            test.value.values[i] = pass < 2 || !isfinite(exact) ? exact : nudged;
        }
        assert_ok(attention_case_run(&test, NULL));
        for (int64_t i = 0; i < test.context.count; i++) {
            double expected = element_rounded(dtype, test.value.values[i]);
            double got = test.context.values[i];
            /* Subnormal bfloat16 are subnormal floats, which a BLAS may flush. */
            bool is_flushed = got == 0.0 && fabs(expected) <= 0x1p-126;
            if (!(got == expected || (isnan(got) && isnan(expected)) || is_flushed))
                fail_msg("element %d is %g, expected %g", (int)i, got, expected);
        }
        attention_case_destroy(&test);
    }
}

/* All ways to overlap are in core/overlap_test.c. */
static void p30_output_over_query_is_refused(void **state)
{
    (void)state;
    struct attention_case test;
    plan_one_head(&test, 8, 8);
    allocate_and_fill(&test);
    attention_case_store(&test);
    attnzoo_module *module = attention_case_module(&test);
    attnzoo_tensor *context = test.context.view;
    test.context.view = test.query.view;
    assert_refused(attention_case_forward(&test, module, NULL, NULL), ATTNZOO_STATUS_OVERLAP, "query");
    test.context.view = context;
    struct test_tensor before = test.query;
    for (int64_t i = 0; i < before.count; i++)
        assert_true(element_read(before.memory.bytes + i * 4, ATTNZOO_DTYPE_FLOAT32) == before.values[i]);
    attnzoo_module_destroy(module);
    attention_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p20_query_head_reads_key_head_h_over_group),
        cmocka_unit_test(p21_heads_lie_side_by_side_where_strides_say_so),
        cmocka_unit_test(p22_the_default_scale_is_that_of_the_head),
        cmocka_unit_test(p23_views_that_are_not_contiguous),
        cmocka_unit_test(p24_data_aligned_to_its_elements_only),
        cmocka_unit_test(p25_sizes_that_no_vector_or_block_divides),
        cmocka_unit_test(many_rows_over_keys_in_parts),
        cmocka_unit_test(p26_more_than_2_to_the_31_keys),
        cmocka_unit_test(p26_strides_past_2_to_the_31_elements),
        cmocka_unit_test(p27_zero_sized_axes),
        cmocka_unit_test(p27_no_head_size_gives_the_mean_of_the_values),
        cmocka_unit_test(p28_outputs_full_of_nan_come_out_clean),
        cmocka_unit_test(p29_products_of_halves_are_float32),
        cmocka_unit_test(p29_sixteen_bit_elements_keep_their_values),
        cmocka_unit_test(p30_output_over_query_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
