/*
 * tests/core/glimpse_text_test.c: letters, one-hot rows and embeddings, against their definitions. Nothing is rounded
 * but to the output's type, so everything is compared exactly.
 */
#include "support/element.h"
#include "support/test_tensor.h"
#include "support/testing.h"

#include <stdlib.h>
#include <string.h>

/* A zero, and letters of one to four bytes: the first and last of each length, those around the surrogates. */
static const uint32_t letters[] = {0,      'a',    '\n',   0x7f,   0x80,   0xe9,    0x7ff,   0x800,
                                   0x20ac, 0xd7ff, 0xe000, 0xfeff, 0xffff, 0x10000, 0x1f600, 0x10ffff};
enum { LETTERS = sizeof letters / sizeof *letters };

/* Writes a letter by the table of RFC 3629, section 3; returns its length. */
static int64_t put_letter(char *to, uint32_t letter)
{
    unsigned char bytes[4];
    int64_t length = letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int64_t i = length - 1; i > 0; i--, letter /= 64)
        bytes[i] = (unsigned char)(0x80 + letter % 64);
    bytes[0] = (unsigned char)(first[length] + letter);
    memcpy(to, bytes, (size_t)length);
    return length;
}

static void letters_are_code_points(void **state)
{
    (void)state;
    struct random_source source = {5};
    for (int round = 0; round < 300; round++) {
        char text[256];
        int64_t count = random_between(&source, 0, 40), size = 0, got = -7;
        for (int64_t i = 0; i < count; i++)
            size += put_letter(text + size, letters[random_between(&source, 0, LETTERS - 1)]);
        /* So that a byte too many that is read is noticed. */
        struct guarded_memory memory = guarded_memory_create((size_t)size + 1);
        char *placed = (char *)memory.bytes + 1;
        memcpy(placed, text, (size_t)size);
        assert_ok(attnzoo_glimpse_letter_count(placed, size, &got));
        assert_int_equal(got, count);
        guarded_memory_destroy(&memory);
    }
    int64_t none = -1;
    assert_ok(attnzoo_glimpse_letter_count(NULL, 0, &none));
    assert_int_equal(none, 0);
}

/* Every way in which bytes are no letter, behind three that are: the offset is told, and nothing is written. */
static void what_is_not_utf8_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        int64_t size;
    } wrong[] = {{"\x80", 1},
                 {"\xbf", 1},
                 {"\xc0\x80", 2},
                 {"\xc1\xbf", 2},
                 {"\xe0\x9f\xbf", 3},
                 {"\xf0\x8f\xbf\xbf", 4},
                 {"\xed\xa0\x80", 3},
                 {"\xed\xbf\xbf", 3},
                 {"\xf4\x90\x80\x80", 4},
                 {"\xf8\x88\x80\x80\x80", 5},
                 {"\xfe", 1},
                 {"\xff", 1},
                 {"\xc3", 1},
                 {"\xe2\x82", 2},
                 {"\xf0\x9f\x98", 3},
                 {"\xc3z", 2},
                 {"\xe2\x82z", 3},
                 {"\xf0\x9f\x98z", 4}};
    int64_t numbers[8], count = 77;
    attnzoo_tensor *indices = NULL;
    memset(numbers, 0x55, sizeof numbers);
    assert_ok(attnzoo_tensor_create(&indices, numbers, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){8}, NULL));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct guarded_memory memory = guarded_memory_create((size_t)wrong[i].size + 3);
        char *text = (char *)memory.bytes;
        memcpy(text, "abc", 3);
        memcpy(text + 3, wrong[i].bytes, (size_t)wrong[i].size);
        assert_refused(attnzoo_glimpse_letter_count(text, 3 + wrong[i].size, &count), ATTNZOO_STATUS_INVALID_ARGUMENT,
                       "text is not UTF-8 at byte 3:");
        assert_refused(attnzoo_glimpse_letters(text, 3 + wrong[i].size, "abc", 3, -1, indices, NULL),
                       ATTNZOO_STATUS_INVALID_ARGUMENT, "text is not UTF-8 at byte 3:");
        assert_refused(attnzoo_glimpse_letters("abc", 3, text, 3 + wrong[i].size, -1, indices, NULL),
                       ATTNZOO_STATUS_INVALID_ARGUMENT, "alphabet is not UTF-8 at byte 3:");
        guarded_memory_destroy(&memory);
    }
    assert_int_equal(count, 77);
    for (int i = 0; i < 8; i++)
        assert_int_equal(numbers[i], 0x5555555555555555);
    attnzoo_tensor_destroy(indices);
}

/* A text over some of the letters, and what each of its letters is in an alphabet of others. */
struct spelling {
    char text[512];
    int64_t size;
    char alphabet[256];
    int64_t alphabet_size;
    int64_t alphabet_letters;
    int64_t count;
    int64_t wanted[64];
};

static struct spelling draw_spelling(struct random_source *source, int64_t other)
{
    struct spelling made = {.count = random_between(source, 0, 50)};
    int64_t place[LETTERS];
    for (int i = 0; i < LETTERS; i++)
        place[i] = other;
    made.alphabet_letters = random_between(source, 0, LETTERS);
    for (int64_t index = 0; index < made.alphabet_letters; index++) {
        int64_t letter = random_between(source, 0, LETTERS - 1);
        while (place[letter] != other)
            letter = (letter + 1) % LETTERS;
        place[letter] = 1000 + index;
        made.alphabet_size += put_letter(made.alphabet + made.alphabet_size, letters[letter]);
    }
    for (int64_t n = 0; n < made.count; n++) {
        int64_t letter = random_between(source, 0, LETTERS - 1);
        made.size += put_letter(made.text + made.size, letters[letter]);
        made.wanted[n] = place[letter] >= 1000 ? place[letter] - 1000 : place[letter];
    }
    return made;
}

static void check_one_hot(struct test_tensor *one_hot, const struct spelling *spelling, int64_t columns)
{
    test_tensor_load(one_hot);
    for (int64_t n = 0; n < spelling->count; n++)
        for (int64_t e = 0; e < columns; e++)
            assert_true(one_hot->values[n * columns + e] == (e == spelling->wanted[n] ? 1.0 : 0.0));
    assert_true(test_tensor_gaps_are_untouched(one_hot));
}

static void letters_become_indices_and_rows(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    struct random_source source = {17};
    for (int round = 0; round < 600; round++) {
        int64_t other = random_between(&source, -1, 3);
        struct spelling spelling = draw_spelling(&source, other);
        int64_t least = spelling.alphabet_letters > other + 1 ? spelling.alphabet_letters : other + 1;
        int64_t columns = least + random_between(&source, 0, 1) * random_between(&source, 0, 200);
        int64_t shape[2] = {spelling.count, columns};
        int32_t narrow[64] = {0};
        int64_t wide[128], stride = random_between(&source, 1, 2);
        struct test_tensor one_hot = test_tensor_plan(types[round % 3], 2, shape);
        test_tensor_plan_any_layout(&one_hot, &source, 2, false);
        test_tensor_allocate(&one_hot);
        attnzoo_tensor *indices = NULL;
        bool is_wide = random_chance(&source, 0.5);
        assert_ok(attnzoo_tensor_create(&indices, is_wide ? (void *)(wide + 127) : (void *)narrow,
                                        is_wide ? ATTNZOO_DTYPE_INT64 : ATTNZOO_DTYPE_INT32, 1, shape,
                                        is_wide ? (int64_t[]){-stride} : NULL));
        assert_ok(attnzoo_glimpse_letters(spelling.text, spelling.size, spelling.alphabet, spelling.alphabet_size,
                                          other, random_chance(&source, 0.2) && round > 300 ? NULL : indices,
                                          one_hot.view));
        assert_ok(attnzoo_glimpse_letters(spelling.text, spelling.size, spelling.alphabet, spelling.alphabet_size,
                                          other, indices, NULL));
        for (int64_t n = 0; n < spelling.count; n++)
            assert_int_equal(is_wide ? wide[127 - n * stride] : narrow[n], spelling.wanted[n]);
        check_one_hot(&one_hot, &spelling, columns);
        attnzoo_tensor_destroy(indices);
        test_tensor_destroy(&one_hot);
    }
}

/* Each refusal leaves the outputs as they were. */
static void wrong_letters_are_refused(void **state)
{
    (void)state;
    char text[] = "ab\xc3\xa9";
    float rows[3 * 3];
    int32_t numbers[3];
    memset(rows, 0x55, sizeof rows);
    memset(numbers, 0x55, sizeof numbers);
    attnzoo_tensor *one_hot = NULL, *indices = NULL, *other = NULL;
    assert_ok(attnzoo_tensor_create(&one_hot, rows, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){3, 3}, NULL));
    assert_ok(attnzoo_tensor_create(&indices, numbers, ATTNZOO_DTYPE_INT32, 1, (int64_t[]){3}, NULL));
    assert_ok(attnzoo_tensor_create(&other, rows, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){3, 3}, (int64_t[]){0, 1}));
    const int32_t invalid = ATTNZOO_STATUS_INVALID_ARGUMENT, shape = ATTNZOO_STATUS_SHAPE_MISMATCH;
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, -2, indices, one_hot), invalid,
                   "text has the letter U+00E9 at byte 2, which is not in the alphabet");
    assert_refused(attnzoo_glimpse_letters(text, 4, "abca", 4, -1, indices, one_hot), invalid,
                   "alphabet has the letter U+0061 twice, as letter 0 and as letter 3, at byte 3");
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, -3, indices, one_hot), invalid, "other is -3");
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, INT64_C(1) << 31, indices, NULL), invalid,
                   "passes the int32");
    assert_refused(attnzoo_glimpse_letters(text, -1, "ab", 2, -1, indices, one_hot), invalid, "size of text is -1");
    assert_refused(attnzoo_glimpse_letters(NULL, 4, "ab", 2, -1, indices, one_hot), invalid, "text is NULL");
    assert_refused(attnzoo_glimpse_letters(text, 4, NULL, 2, -1, indices, one_hot), invalid, "alphabet is NULL");
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, 3, indices, one_hot), shape, "too few columns for other");
    assert_refused(attnzoo_glimpse_letters(text, 4, "abcd", 4, -1, indices, one_hot), shape, "[3, 4 or more]");
    assert_refused(attnzoo_glimpse_letters(text, 2, "ab", 2, -1, indices, NULL), shape, "must have [2]");
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, -1, one_hot, NULL), ATTNZOO_STATUS_DTYPE_MISMATCH,
                   "indices is float32");
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, -1, NULL, indices), shape, "one_hot has shape [3]");
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, -1, NULL, other), ATTNZOO_STATUS_OVERLAP, "several");
    assert_refused(attnzoo_glimpse_letters((char *)rows, 0, "ab", 2, -1, NULL, one_hot), shape, "[0, 2 or more]");
    assert_refused(attnzoo_glimpse_letters(text, 4, (char *)rows, 3, -1, indices, one_hot), invalid, "twice");
    assert_ok(attnzoo_tensor_set_readonly_data(indices, numbers));
    assert_refused(attnzoo_glimpse_letters(text, 4, "ab", 2, -1, indices, NULL), invalid, "read-only");
    assert_refused(attnzoo_glimpse_letter_count(text, 4, NULL), invalid, "count is NULL");
    for (int i = 0; i < 9; i++)
        assert_memory_equal(&rows[i], "UUUU", 4);
    assert_memory_equal(numbers, "UUUUUUUUUUUU", 12);
    attnzoo_tensor_destroy(one_hot);
    attnzoo_tensor_destroy(indices);
    attnzoo_tensor_destroy(other);
}

static void outputs_lie_apart_from_texts_and_each_other(void **state)
{
    (void)state;
    /* Aligned for every type; the text is in its middle. */
    int64_t memory[8];
    char *bytes = (char *)memory;
    memset(memory, 'a', sizeof memory);
    attnzoo_tensor *indices = NULL, *one_hot = NULL;
    assert_ok(attnzoo_tensor_create(&indices, memory, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){4}, NULL));
    assert_ok(attnzoo_tensor_create(&one_hot, memory + 2, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 1}, NULL));
    assert_refused(attnzoo_glimpse_letters(bytes + 31, 4, "a", 1, -1, indices, NULL), ATTNZOO_STATUS_OVERLAP,
                   "indices overlaps text");
    assert_refused(attnzoo_glimpse_letters("aaaa", 4, bytes + 31, 1, -1, NULL, one_hot), ATTNZOO_STATUS_OVERLAP,
                   "one_hot overlaps alphabet");
    assert_refused(attnzoo_glimpse_letters("aaaa", 4, "a", 1, -1, indices, one_hot), ATTNZOO_STATUS_OVERLAP,
                   "indices overlaps one_hot");
    for (size_t i = 0; i < sizeof memory; i++)
        assert_int_equal(bytes[i], 'a');
    assert_ok(attnzoo_glimpse_letters(bytes + 32, 4, "a", 1, -1, indices, NULL));
    assert_int_equal(memory[3], 0);
    attnzoo_tensor_destroy(indices);
    attnzoo_tensor_destroy(one_hot);
}

static void embeddings_are_rows_of_the_table(void **state)
{
    (void)state;
    const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    struct random_source source = {23};
    for (int round = 0; round < 600; round++) {
        int32_t rank = (int32_t)random_between(&source, 1, 2);
        int64_t rows = random_between(&source, 1, 9), size = random_between(&source, 0, 1) * 150 + round % 7;
        const int64_t sizes[3] = {random_between(&source, 0, 3), random_between(&source, 0, 12), size};
        const int64_t *shape = sizes + 2 - rank;
        struct test_tensor table = test_tensor_plan(types[round % 3], 2, (int64_t[]){rows, size});
        struct test_tensor glimpses = test_tensor_plan(types[round / 3 % 3], rank + 1, shape);
        test_tensor_plan_any_layout(&table, &source, 2, true);
        test_tensor_plan_any_layout(&glimpses, &source, rank + 1, false);
        test_tensor_allocate(&table);
        test_tensor_allocate(&glimpses);
        test_tensor_fill(&table, &source, -3.0, 3.0);
        test_tensor_store(&table);
        int32_t numbers[3 * 12];
        int64_t count = rank == 1 ? shape[0] : shape[0] * shape[1];
        for (int64_t i = 0; i < count; i++)
            numbers[i] = (int32_t)random_between(&source, -1, rows - 1);
        attnzoo_tensor *indices = NULL;
        assert_ok(attnzoo_tensor_create_readonly(&indices, numbers, ATTNZOO_DTYPE_INT32, rank, shape, NULL));
        assert_ok(attnzoo_glimpse_embedding(indices, table.view, glimpses.view));
        test_tensor_load(&glimpses);
        for (int64_t i = 0; i < glimpses.count; i++) {
            int32_t index = numbers[i / size];
            double want = index < 0 ? 0.0 : table.values[index * size + i % size];
            assert_true(glimpses.values[i] == element_rounded(glimpses.dtype, want));
        }
        assert_true(test_tensor_gaps_are_untouched(&glimpses));
        attnzoo_tensor_destroy(indices);
        test_tensor_destroy(&table);
        test_tensor_destroy(&glimpses);
    }
}

static void wrong_embeddings_are_refused(void **state)
{
    (void)state;
    int64_t numbers[6] = {0, 1, 4, 1, 0, 0};
    float rows[4 * 2] = {1, 2, 3, 4, 5, 6, 7, 8}, out[6 * 2];
    memset(out, 0x55, sizeof out);
    attnzoo_tensor *indices = NULL, *table = NULL, *glimpses = NULL, *other = NULL;
    assert_ok(attnzoo_tensor_create(&indices, numbers, ATTNZOO_DTYPE_INT64, 2, (int64_t[]){3, 2}, NULL));
    assert_ok(attnzoo_tensor_create(&table, rows, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 2}, NULL));
    assert_ok(attnzoo_tensor_create(&glimpses, out, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){3, 2, 2}, NULL));
    assert_ok(attnzoo_tensor_create(&other, rows, ATTNZOO_DTYPE_FLOAT32, 3, (int64_t[]){3, 2, 1}, NULL));
    assert_refused(attnzoo_glimpse_embedding(indices, table, glimpses), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "indices has 4 for glimpse 0 of batch 1, must be 0 to 3, or -1");
    numbers[2] = -2;
    assert_refused(attnzoo_glimpse_embedding(indices, table, glimpses), ATTNZOO_STATUS_INVALID_ARGUMENT, "has -2");
    numbers[2] = 0;
    assert_refused(attnzoo_glimpse_embedding(table, table, glimpses), ATTNZOO_STATUS_DTYPE_MISMATCH, "indices is");
    assert_refused(attnzoo_glimpse_embedding(indices, indices, glimpses), ATTNZOO_STATUS_DTYPE_MISMATCH, "table is");
    assert_refused(attnzoo_glimpse_embedding(indices, glimpses, glimpses), ATTNZOO_STATUS_SHAPE_MISMATCH, "table has");
    assert_refused(attnzoo_glimpse_embedding(indices, table, other), ATTNZOO_STATUS_SHAPE_MISMATCH,
                   "glimpses has shape [3, 2, 1], must have [3, 2, 2]");
    assert_refused(attnzoo_glimpse_embedding(NULL, table, glimpses), ATTNZOO_STATUS_INVALID_ARGUMENT, "NULL");
    assert_refused(attnzoo_glimpse_embedding(indices, NULL, glimpses), ATTNZOO_STATUS_INVALID_ARGUMENT, "NULL");
    assert_refused(attnzoo_glimpse_embedding(indices, table, NULL), ATTNZOO_STATUS_INVALID_ARGUMENT, "NULL");
    /* Without elements nothing is walked over. */
    const int64_t many = INT64_C(1) << 50;
    assert_ok(attnzoo_tensor_assign(indices, numbers, ATTNZOO_DTYPE_INT64, 1, &many, (int64_t[]){0}));
    assert_ok(attnzoo_tensor_assign(table, NULL, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){4, 0}, NULL));
    assert_ok(attnzoo_tensor_assign(other, NULL, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){many, 0}, NULL));
    assert_ok(attnzoo_glimpse_embedding(indices, table, other));
    assert_ok(attnzoo_tensor_assign(indices, numbers, ATTNZOO_DTYPE_INT64, 2, (int64_t[]){3, 2}, NULL));
    assert_ok(attnzoo_tensor_assign(table, out + 8, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 2}, NULL));
    assert_refused(attnzoo_glimpse_embedding(indices, table, glimpses), ATTNZOO_STATUS_OVERLAP, "overlaps table");
    for (int i = 0; i < 12; i++)
        assert_memory_equal(&out[i], "UUUU", 4);
    attnzoo_tensor_destroy(indices);
    attnzoo_tensor_destroy(table);
    attnzoo_tensor_destroy(glimpses);
    attnzoo_tensor_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_code_points),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(letters_become_indices_and_rows),
        cmocka_unit_test(wrong_letters_are_refused),
        cmocka_unit_test(outputs_lie_apart_from_texts_and_each_other),
        cmocka_unit_test(embeddings_are_rows_of_the_table),
        cmocka_unit_test(wrong_embeddings_are_refused),
    };
    return cmocka_run_group_tests_name("core/glimpse_text", tests, NULL, NULL);
}
