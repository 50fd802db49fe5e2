/*
 * test_npy.c: reading and writing .npy files, well made ones of every kind and hostile ones.
 */
#include "npy.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Puts a file together: magic, version, length of the header as `claimed` (-1: as it is), header, data. */
static const char *make_file(int version, int64_t claimed, const char *header, const void *data, size_t size)
{
    unsigned char bytes[4096] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    size_t length = strlen(header), place = 8;
    unsigned long said = claimed < 0 ? (unsigned long)length : (unsigned long)claimed;
    for (int byte = 0; byte < (version == 1 ? 2 : 4); byte++)
        bytes[place++] = (unsigned char)(said >> 8 * byte);
    memcpy(bytes + place, header, length);
    memcpy(bytes + place + length, data, size);
    return scratch_write("array.npy", bytes, place + length + size);
}

static void read_good(struct array *array, const char *path)
{
    enum outcome outcome = npy_read(array, path, WANTED_FLOAT);
    if (outcome != OUTCOME_OK)
        fail_msg("%s", problem_text());
}

static void read_floats(const char *path, int rank, const int64_t *shape, const float *expected)
{
    struct array array;
    read_good(&array, path);
    assert_int_equal(array.dtype, ATTNZOO_DTYPE_FLOAT32);
    assert_int_equal(array.rank, rank);
    for (int axis = 0; axis < rank; axis++)
        assert_int_equal(array.shape[axis], shape[axis]);
    assert_memory_equal(array.data, expected, (size_t)array_element_count(&array) * sizeof(float));
    array_free(&array);
}

static const char header_2_3[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
static const unsigned char little_endian_0_to_5[] = {0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40,
                                                     0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40};
static const float floats_0_to_5[] = {0, 1, 2, 3, 4, 5};

static void test_all_format_versions(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++)
        read_floats(make_file(version, -1, header_2_3, little_endian_0_to_5, 24), 2, (int64_t[]){2, 3}, floats_0_to_5);
}

static void test_big_endian(void **state)
{
    (void)state;
    const unsigned char floats[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    read_floats(make_file(1, -1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", floats, 8), 1,
                (int64_t[]){2}, (float[]){1, 2});
    const unsigned char integers[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct array array;
    read_good(&array, make_file(1, -1, "{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }", integers, 8));
    assert_true(array_integer(&array, 0) == 0x0102030405060708);
    array_free(&array);
}

static void test_fortran_order(void **state)
{
    (void)state;
    /* In memory 0 1 2 3 4 5, the first axis fastest. */
    const char *header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
    read_floats(make_file(1, -1, header, little_endian_0_to_5, 24), 2, (int64_t[]){2, 3},
                (float[]){0, 2, 4, 1, 3, 5});
    header = "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3, 2), }";
    read_floats(make_file(1, -1, header, little_endian_0_to_5, 24), 3, (int64_t[]){1, 3, 2},
                (float[]){0, 3, 1, 4, 2, 5});
    header = "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 3), }";
    read_floats(make_file(1, -1, header, "", 0), 2, (int64_t[]){0, 3}, NULL);
}

static void test_every_dtype(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        int32_t dtype;
    } cases[] = {{"<f4", ATTNZOO_DTYPE_FLOAT32}, {"<f2", ATTNZOO_DTYPE_FLOAT16}, {"|b1", ATTNZOO_DTYPE_BOOL},
                 {"<i4", ATTNZOO_DTYPE_INT32},   {"<i8", ATTNZOO_DTYPE_INT64},   {"=f4", ATTNZOO_DTYPE_FLOAT32}};
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        char header[100];
        struct array array;
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }", cases[index].descr);
        read_good(&array, make_file(1, -1, header, "\1\2\3\4\5\6\7\10", 8));
        assert_int_equal(array.dtype, cases[index].dtype);
        array_free(&array);
    }
}

static void test_zero_dimensional(void **state)
{
    (void)state;
    read_floats(make_file(1, -1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "\0\0\x80\x3f", 4), 0,
                NULL, (float[]){1});
}

static void test_empty(void **state)
{
    (void)state;
    read_floats(make_file(1, -1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0, 2), }", "", 0), 3,
                (int64_t[]){4, 0, 2}, NULL);
}

static void test_trailing_bytes_are_left_alone(void **state)
{
    (void)state;
    read_floats(make_file(1, -1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "\0\0\x80\x3fmore", 8),
                1, (int64_t[]){1}, (float[]){1});
}

static void test_other_spellings_of_the_header(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }   \n",
        "  { 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , } ",
    };
    for (size_t index = 0; index < sizeof headers / sizeof *headers; index++)
        read_floats(make_file(1, -1, headers[index], little_endian_0_to_5, 24), 2, (int64_t[]){2, 3}, floats_0_to_5);
}

/* Checks that reading fails, leaves nothing to free, and says `part` and the path. */
static void check_refused(const char *path, const char *part)
{
    struct array array;
    assert_int_equal(npy_read(&array, path, WANTED_FLOAT), OUTCOME_ERROR);
    assert_null(array.data);
    if (strstr(problem_text(), part) == NULL || strstr(problem_text(), path) == NULL)
        fail_msg("'%s' says nothing of '%s'", problem_text(), part);
}

static void test_refused_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        const char *part;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "'<f8' is not supported; float32"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "'|O' is not supported"},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", "'<V2' is not supported"},
        {"{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }", "'<u4' is not supported"},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': (1,), }", "'|f4' is not supported"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", "'' is not supported"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "negative"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", "beyond 63 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551617,), }", "beyond 63 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }", "more than 8 axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [1], }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 1), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "tuple"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, }", "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "given twice"},
        {"{'descr': '<f4', 'extra': '<f4', 'fortran_order': False, 'shape': (1,), }", "unknown"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (1,), }", "colon"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,), }", "comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", "follows"},
        {"{'descr': '<f4, ", "does not end"},
        {"{'descr': ", "quoted string"},
        {"['descr']", "dictionary"},
        {"", "dictionary"},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
        check_refused(make_file(1, -1, cases[index].header, "\1\2\3\4\5\6\7\10", 8), cases[index].part);
}

static void test_header_that_lies_about_its_length(void **state)
{
    (void)state;
    check_refused(make_file(1, 60000, header_2_3, little_endian_0_to_5, 24), "too short");
    check_refused(make_file(2, 0xffffffff, header_2_3, little_endian_0_to_5, 24), "too short");
    check_refused(make_file(1, 10, header_2_3, little_endian_0_to_5, 24), "malformed");
    check_refused(make_file(1, 0, header_2_3, little_endian_0_to_5, 24), "malformed");
    /* Into the data. */
    check_refused(make_file(1, sizeof header_2_3 + 7, header_2_3, little_endian_0_to_5, 24), "follows");
}

static void test_file_too_short(void **state)
{
    (void)state;
    check_refused(make_file(1, -1, header_2_3, little_endian_0_to_5, 23), "too short");
    /* Far more than there is memory for: refused before any is asked for. Where size_t cannot count it, as such. */
    check_refused(
        make_file(1, -1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2000000000000000000,), }", "", 0),
        sizeof(size_t) > 4 ? "too short" : "too large");
    for (size_t size = 0; size < 10; size++)
        check_refused(scratch_write("short.npy", "\x93NUMPY\1\0\x40\0", size), "too short");
}

static void test_not_npy(void **state)
{
    (void)state;
    check_refused(scratch_write("other.npy", "PK\3\4 some other kind of file", 24), "not a .npy file");
    check_refused(scratch_write("other.npy", "\x93NUMPY\4\0\x40\0\0\0", 12), "version 4.0");
    check_refused(scratch_path("missing.npy"), "No such file");
    check_refused(scratch_path("."), "directory");
}

static void test_written_file_byte_by_byte(void **state)
{
    (void)state;
    float data[] = {0, 1, 2, 3, 4, 5};
    struct array array = {ATTNZOO_DTYPE_FLOAT32, 2, {2, 3}, data};
    FILE *stream = fopen(scratch_path("out.npy"), "wb");
    npy_write_float32(&array, stream);
    assert_int_equal(fclose(stream), 0);
    size_t size;
    unsigned char *bytes = scratch_read("out.npy", &size);
    assert_int_equal(size, 128 + 24);
    assert_memory_equal(bytes, "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 69);
    for (int place = 69; place < 127; place++)
        assert_int_equal(bytes[place], ' ');
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, little_endian_0_to_5, 24);
    free(bytes);
    read_floats(scratch_path("out.npy"), 2, (int64_t[]){2, 3}, floats_0_to_5);
}

static void test_written_integers_byte_by_byte(void **state)
{
    (void)state;
    int64_t data[] = {-2, 0x0102030405060708};
    struct array array = {ATTNZOO_DTYPE_INT64, 1, {2}, data};
    FILE *stream = fopen(scratch_path("out.npy"), "wb");
    npy_write_int64(&array, stream);
    assert_int_equal(fclose(stream), 0);
    size_t size;
    unsigned char *bytes = scratch_read("out.npy", &size);
    assert_int_equal(size, 128 + 16);
    assert_memory_equal(bytes, "\x93NUMPY\1\0\x76\0{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", 67);
    assert_memory_equal(bytes + 128, "\xfe\xff\xff\xff\xff\xff\xff\xff\10\7\6\5\4\3\2\1", 16);
    free(bytes);
}

static void test_written_shapes_are_read_back(void **state)
{
    (void)state;
    float data[] = {0, 1, 2, 3, 4, 5};
    const struct array arrays[] = {
        {ATTNZOO_DTYPE_FLOAT32, 1, {6}, data},
        {ATTNZOO_DTYPE_FLOAT32, 3, {5, 0, 7}, data},
        {ATTNZOO_DTYPE_FLOAT32, 8, {1, 1, 2, 1, 3, 1, 1, 1}, data},
    };
    for (size_t index = 0; index < sizeof arrays / sizeof *arrays; index++) {
        FILE *stream = fopen(scratch_path("out.npy"), "wb");
        npy_write_float32(&arrays[index], stream);
        assert_int_equal(fclose(stream), 0);
        read_floats(scratch_path("out.npy"), arrays[index].rank, arrays[index].shape, data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_format_versions),
        cmocka_unit_test(test_big_endian),
        cmocka_unit_test(test_fortran_order),
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_zero_dimensional),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_trailing_bytes_are_left_alone),
        cmocka_unit_test(test_other_spellings_of_the_header),
        cmocka_unit_test(test_refused_headers),
        cmocka_unit_test(test_header_that_lies_about_its_length),
        cmocka_unit_test(test_file_too_short),
        cmocka_unit_test(test_not_npy),
        cmocka_unit_test(test_written_file_byte_by_byte),
        cmocka_unit_test(test_written_integers_byte_by_byte),
        cmocka_unit_test(test_written_shapes_are_read_back),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
