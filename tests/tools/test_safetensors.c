/*
 * test_safetensors.c: reading .safetensors files, well made ones and hostile ones.
 */
#include "byte_order.h"
#include "operand.h"
#include "safetensors.h"
#include "scratch.h"
#include "safetensors_write.h"
#include "weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Puts a file together: the length of the header as `claimed` (-1: as it is), header, data. */
static const char *make_file(long long claimed, const char *header, const void *data, size_t size)
{
    unsigned char bytes[8192];
    size_t length = strlen(header);
    unsigned long long said = claimed < 0 ? length : (unsigned long long)claimed;
    for (int byte = 0; byte < 8; byte++)
        bytes[byte] = (unsigned char)(said >> 8 * byte);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, data, size);
    return scratch_write("file.safetensors", bytes, 8 + length + size);
}

static const char bytes_1_to_16[] = "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20";

/* `expected` as it lies in the file, which has the lowest byte first. */
static void check_read(const char *path, const char *name, int32_t dtype, int rank, const void *expected, size_t size)
{
    struct array array;
    if (safetensors_read_named(&array, path, name, WANTED_FLOAT) != OUTCOME_OK)
        fail_msg("%s", problem_text());
    assert_int_equal(array.dtype, dtype);
    assert_int_equal(array.rank, rank);
    assert_int_equal(array_element_count(&array) * attnzoo_dtype_size(dtype), size);
    const unsigned char *got = array.data, *in_file = expected;
    size_t width = (size_t)attnzoo_dtype_size(dtype);
    for (size_t place = 0; place < size; place++) {
        size_t in_element = place % width;
        size_t from = host_is_big_endian() ? place - in_element + (width - 1 - in_element) : place;
        assert_int_equal(got[place], in_file[from]);
    }
    array_free(&array);
}

static void check_refused(const char *path, const char *part)
{
    struct safetensors file;
    assert_int_equal(safetensors_open(&file, path), OUTCOME_ERROR);
    assert_null(file.entries);
    if (strstr(problem_text(), part) == NULL || strstr(problem_text(), path) == NULL)
        fail_msg("'%s' says nothing of '%s'", problem_text(), part);
}

static void test_every_dtype(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t dtype;
    } cases[] = {{"F32", ATTNZOO_DTYPE_FLOAT32}, {"F16", ATTNZOO_DTYPE_FLOAT16}, {"BF16", ATTNZOO_DTYPE_BFLOAT16},
                 {"BOOL", ATTNZOO_DTYPE_BOOL},   {"I32", ATTNZOO_DTYPE_INT32},   {"I64", ATTNZOO_DTYPE_INT64}};
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        size_t size = 2 * (size_t)attnzoo_dtype_size(cases[index].dtype);
        char header[200];
        snprintf(header, sizeof header, "{\"t\":{\"dtype\":\"%s\",\"shape\":[1,2],\"data_offsets\":[0,%zu]}}",
                 cases[index].name, size);
        check_read(make_file(-1, header, bytes_1_to_16, size), "t", cases[index].dtype, 2, bytes_1_to_16, size);
    }
}

static void test_order_of_names_is_not_that_of_data(void **state)
{
    (void)state;
    const char *path = make_file(-1,
                                 "{\"late\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[3,7]},"
                                 "\"early\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                                 bytes_1_to_16, 7);
    check_read(path, "early", ATTNZOO_DTYPE_BOOL, 1, bytes_1_to_16, 3);
    /* At no multiple of its element size. */
    check_read(path, "late", ATTNZOO_DTYPE_INT32, 1, bytes_1_to_16 + 3, 4);
}

static void test_metadata_padding_and_odd_names(void **state)
{
    (void)state;
    const char *path = make_file(-1,
                                 "{\"__metadata__\":{\"format\":\"pt\"},"
                                 "\"a\\\"b\\u00e9/:\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
                                 "\"\xe2\x9c\x93\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[1,2]}}   \n",
                                 bytes_1_to_16, 2);
    check_read(path, "a\"b\xc3\xa9/:", ATTNZOO_DTYPE_BOOL, 1, bytes_1_to_16, 1);
    check_read(path, "\xe2\x9c\x93", ATTNZOO_DTYPE_BOOL, 1, bytes_1_to_16 + 1, 1);
    struct array array = {.data = &array};
    assert_int_equal(safetensors_read_named(&array, path, "__metadata__", WANTED_FLOAT), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "no tensor '__metadata__'"));
    assert_null(array.data);
    array.data = &array;
    assert_int_equal(safetensors_read_named(&array, "no/such.safetensors", "a", WANTED_FLOAT), OUTCOME_ERROR);
    assert_null(array.data);
}

static void test_empty_tensors_and_single_numbers(void **state)
{
    (void)state;
    const char *path = make_file(-1,
                                 "{\"number\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},"
                                 "\"none\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[0,0]},"
                                 "\"last\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[4,4]}}",
                                 bytes_1_to_16, 4);
    check_read(path, "number", ATTNZOO_DTYPE_INT32, 0, bytes_1_to_16, 4);
    check_read(path, "none", ATTNZOO_DTYPE_FLOAT32, 2, "", 0);
    struct operand operand;
    char reference[1200];
    snprintf(reference, sizeof reference, "%s:number", path);
    assert_int_equal(operand_read(&operand, "query", reference), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "without axes"));
    operand_free(&operand);
}

static void test_types_that_are_not_supported_stop_only_their_reader(void **state)
{
    (void)state;
    const char *path = make_file(-1,
                                 "{\"double\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
                                 "\"tiny\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[8,9]},"
                                 "\"fine\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[9,10]}}",
                                 bytes_1_to_16, 10);
    check_read(path, "fine", ATTNZOO_DTYPE_BOOL, 1, bytes_1_to_16 + 9, 1);
    struct array array;
    assert_int_equal(safetensors_read_named(&array, path, "double", WANTED_FLOAT), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "'double' is F64, which is not supported; F32"));
    assert_int_equal(safetensors_read_named(&array, path, "tiny", WANTED_FLOAT), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "'tiny' is F8_E4M3"));
}

static void test_refused_headers(void **state)
{
    (void)state;
#define TENSOR(shape, offsets) "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
    static const struct {
        const char *header;
        const char *part;
    } cases[] = {
        {"{\"a\":" TENSOR("[1]", "[0,4]") ",\"b\":" TENSOR("[1]", "[4,8]") "}", "take 8 bytes, the file has 16"},
        {"{\"a\":" TENSOR("[2]", "[0,8]") ",\"b\":" TENSOR("[3]", "[4,16]") "}", "overlap"},
        {"{\"a\":" TENSOR("[1]", "[0,4]") ",\"b\":" TENSOR("[2]", "[8,16]") "}", "a gap"},
        {"{\"a\":" TENSOR("[3]", "[4,16]") "}", "a gap"},
        {"{\"a\":" TENSOR("[4]", "[16,0]") "}", "ends before it begins"},
        {"{\"a\":" TENSOR("[5]", "[0,20]") "}", "take 20 bytes, the file has 16"},
        {"{\"a\":" TENSOR("[3]", "[0,16]") "}", "does not fit its type and shape"},
        {"{\"a\":" TENSOR("[4611686018427387904,4]", "[0,16]") "}", "does not fit its type and shape"},
        {"{\"a\":" TENSOR("[-4]", "[0,16]") "}", "none negative"},
        {"{\"a\":" TENSOR("[4.0]", "[0,16]") "}", "whole numbers"},
        {"{\"a\":" TENSOR("[99999999999999999999]", "[0,16]") "}", "too big"},
        {"{\"a\":" TENSOR("[1,1,1,1,1,1,1,1,4]", "[0,16]") "}", "more than 8 axes"},
        {"{\"a\":" TENSOR("4", "[0,16]") "}", "no shape"},
        {"{\"a\":" TENSOR("[4]", "[0]") "}", "data_offsets"},
        {"{\"a\":" TENSOR("[4]", "[0,16,32]") "}", "data_offsets"},
        {"{\"a\":" TENSOR("[4]", "[-16,0]") "}", "data_offsets"},
        {"{\"a\":{\"shape\":[4],\"data_offsets\":[0,16]}}", "no dtype"},
        {"{\"a\":{\"dtype\":4,\"shape\":[4],\"data_offsets\":[0,16]}}", "no dtype"},
        {"{\"a\":{\"dtype\":\"a very long name of a type\",\"shape\":[4],\"data_offsets\":[0,16]}}", "no dtype"},
        {"{\"a\":7}", "no dtype"},
        {"{\"a\":" TENSOR("[4]", "[0,16]") ",\"a\":" TENSOR("[4]", "[0,16]") "}", "duplicate"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "duplicate"},
        {"{\"\xff\":" TENSOR("[4]", "[0,16]") "}", "decode byte 0xff"},
        {"{\"a\\u0000\":" TENSOR("[4]", "[0,16]") "}", "malformed"},
        {"[]", "not an object"},
        {"{} x", "malformed"},
        {"{", "malformed"},
        {"", "malformed"},
        {"{}", "take 0 bytes, the file has 16"},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
        check_refused(make_file(-1, cases[index].header, bytes_1_to_16, 16), cases[index].part);
}

static void test_header_length_beyond_the_file(void **state)
{
    (void)state;
    const char *header = "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    check_refused(make_file((long long)strlen(header) + 2, header, "\1", 1), "too short");
    check_refused(make_file(0x7fffffffffffffff, header, "\1", 1), "too short");
    check_refused(make_file(5, header, "\1", 1), "malformed");
    unsigned char all_ones[16];
    memset(all_ones, 0xff, sizeof all_ones);
    check_refused(scratch_write("ones.safetensors", all_ones, sizeof all_ones), "too short");
    for (size_t size = 0; size < 8; size++)
        check_refused(scratch_write("short.safetensors", "\2\0\0\0\0\0\0\0", size), "too short");
}

static void test_references(void **state)
{
    (void)state;
    const char *path =
        make_file(-1, "{\"x:y\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}", bytes_1_to_16, 1);
    struct array array;
    char reference[1200];
    snprintf(reference, sizeof reference, "%s:x:y", path);
    assert_int_equal(array_read(&array, "mask", reference), OUTCOME_OK);
    assert_int_equal(*(unsigned char *)array.data, 1);
    array_free(&array);
    assert_int_equal(array_read(&array, "mask", path), OUTCOME_USAGE);
    assert_non_null(strstr(problem_text(), "FILE.safetensors:NAME"));
    snprintf(reference, sizeof reference, "%s:z", path);
    assert_int_equal(array_read(&array, "mask", reference), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "no tensor 'z'"));
}

static void test_weights_that_are_no_parameters(void **state)
{
    (void)state;
    attnzoo_module *module;
    struct rename_rules no_rules = {0};
    assert_int_equal(attnzoo_module_create(&module, "scaled_dot_product"), ATTNZOO_STATUS_OK);
    const char *path =
        make_file(-1, "{\"layer.w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", bytes_1_to_16, 4);
    assert_int_equal(weights_set(module, path, NULL, &no_rules), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "tensor 'layer.w' is no parameter of scaled_dot_product"));
    assert_int_equal(weights_set(module, path, "layer.", &no_rules), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "tensor 'layer.w' is no parameter"));
    assert_int_equal(weights_set(module, path, "other.", &no_rules), OUTCOME_ERROR);
    assert_non_null(strstr(problem_text(), "no tensor whose name begins with 'other.'"));
    attnzoo_module_destroy(module);
}

/* Names that JSON must escape, an empty tensor, a number without axes. */
static void test_what_is_written_can_be_read(void **state)
{
    (void)state;
    float numbers[] = {1.5f, -0.0f, 3e-40f, 4.0f, 5.0f, 6.0f}, one = 7.0f;
    struct array arrays[] = {
        {.dtype = ATTNZOO_DTYPE_FLOAT32, .rank = 2, .shape = {2, 3}, .data = numbers},
        {.dtype = ATTNZOO_DTYPE_FLOAT32, .rank = 3, .shape = {2, 0, 3}, .data = numbers},
        {.dtype = ATTNZOO_DTYPE_FLOAT32, .rank = 0, .data = &one},
    };
    static const char *const names[] = {"key", "quote \" and \xe2\x9c\x93", "last"};
    const float before[] = {1.5f, -0.0f, 3e-40f, 4.0f, 5.0f, 6.0f};
    char path[4096];
    snprintf(path, sizeof path, "%s", scratch_path("written.safetensors"));
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(safetensors_write_float32(arrays, names, 3, stream), OUTCOME_OK);
    assert_int_equal(fclose(stream), 0);

    struct safetensors file;
    struct array array;
    assert_int_equal(safetensors_open(&file, path), OUTCOME_OK);
    assert_int_equal(file.entry_count, 3);
    assert_int_equal(file.data_start % 8, 0);
    safetensors_close(&file);
    assert_int_equal(safetensors_read_named(&array, path, "key", WANTED_FLOAT), OUTCOME_OK);
    assert_true(array.rank == 2 && array.shape[0] == 2 && array.shape[1] == 3);
    assert_memory_equal(array.data, before, sizeof before);
    array_free(&array);
    assert_int_equal(safetensors_read_named(&array, path, names[1], WANTED_FLOAT), OUTCOME_OK);
    assert_true(array.rank == 3 && array.shape[0] == 2 && array.shape[1] == 0 && array.shape[2] == 3);
    array_free(&array);
    assert_int_equal(safetensors_read_named(&array, path, "last", WANTED_FLOAT), OUTCOME_OK);
    assert_true(array.rank == 0 && *(float *)array.data == 7.0f);
    array_free(&array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_order_of_names_is_not_that_of_data),
        cmocka_unit_test(test_metadata_padding_and_odd_names),
        cmocka_unit_test(test_empty_tensors_and_single_numbers),
        cmocka_unit_test(test_types_that_are_not_supported_stop_only_their_reader),
        cmocka_unit_test(test_refused_headers),
        cmocka_unit_test(test_header_length_beyond_the_file),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_weights_that_are_no_parameters),
        cmocka_unit_test(test_what_is_written_can_be_read),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
