/*
 * test_problem.c: the one line that says what went wrong.
 */
#include "problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Its macro fail() has the name of a function of ours, which is called as (fail)() here. */
#include <cmocka.h>

static void test_control_characters(void **state)
{
    (void)state;
    assert_int_equal((fail)("%s: no", "two\nlines\x7f"), OUTCOME_ERROR);
    assert_string_equal(problem_text(), "two?lines?: no");
    /* U+009B begins a sequence as ESC [ does, also as a byte by itself; U+00A0 and U+015B are none of these. */
    (fail)("a\xc2\x9b"
           "2J \xc2\x80 \xc2\x9f \x9b \x7f \xc2\xa0 \xc5\x9b \xff");
    assert_string_equal(problem_text(), "a?2J ? ? ? ? \xc2\xa0 \xc5\x9b \xff");
    /* U+202E shows what follows backwards, U+2028 ends a line, U+E0041 is not seen; letters of Hebrew are letters, and
     * U+200D joins those of other scripts. */
    (fail)("a\xe2\x80\xae"
           "b\xe2\x81\xa6 \xe2\x80\xa8 \xd8\x9c \xf3\xa0\x81\x81 \xd7\x90 \xe2\x80\x8d");
    assert_string_equal(problem_text(), "a?b? ? ? ? \xd7\x90 \xe2\x80\x8d");
    assert_int_equal(fail_usage("no"), OUTCOME_USAGE);
    assert_string_equal(problem_text(), "no");
}

/* Of every length around the room there is, with characters of one to four bytes: reason last, no character cut. */
static void test_long_lines_keep_both_ends(void **state)
{
    (void)state;
    static const char *const characters[] = {"x", "\xc3\xa9", "\xe2\x9c\x93", "\xf0\x9f\x98\x80"};
    for (size_t kind = 0; kind < sizeof characters / sizeof *characters; kind++) {
        size_t width = strlen(characters[kind]);
        for (size_t length = 8100; length < 8300; length++) {
            char *name = malloc(length * width + 1);
            for (size_t index = 0; index < length; index++)
                memcpy(name + index * width, characters[kind], width);
            name[length * width] = '\0';
            (fail)("begin %s: the reason", name);
            const char *text = problem_text();
            size_t size = strlen(text), whole = length * width + strlen("begin : the reason");
            assert_memory_equal(text, "begin ", 6);
            assert_string_equal(text + size - strlen(": the reason"), ": the reason");
            assert_true(size == whole || (size < 8192 && size > 8170));
            const char *gap = strstr(text, " ... ");
            assert_true((gap == NULL) == (size == whole));
            if (gap != NULL) {
                assert_int_equal((size_t)(gap - text - 6) % width, 0);
                assert_int_equal((size - strlen(": the reason") - (size_t)(gap + 5 - text)) % width, 0);
            }
            free(name);
        }
    }
}

/* The user of the command has called no function of C. */
static void test_the_library_speaks_without_the_name_of_its_function(void **state)
{
    (void)state;
    attnzoo_module *module = NULL;
    attnzoo_status status = attnzoo_module_create(&module, "nope");
    assert_non_null(strstr(attnzoo_last_error(), "attnzoo_module_create: "));
    assert_int_equal(check_library_usage(status, "nope"), OUTCOME_USAGE);
    assert_memory_equal(problem_text(), "nope: there is no mechanism", 27);
    /* Nor does it help to be told a mechanism's name twice. */
    assert_int_equal(attnzoo_module_create(&module, "multi_head"), ATTNZOO_STATUS_OK);
    assert_int_equal(attnzoo_module_set_option_text(module, "num_heads", "1"), ATTNZOO_STATUS_OK);
    status = attnzoo_module_prepare(module);
    assert_int_equal(check_library(status, "multi_head"), OUTCOME_ERROR);
    assert_memory_equal(problem_text(), "multi_head needs the parameter", 30);
    assert_int_equal(check_library(status, "multi"), OUTCOME_ERROR);
    assert_memory_equal(problem_text(), "multi: multi_head needs", 23);
    attnzoo_module_destroy(module);
    status = attnzoo_module_create(&module, "scaled_dot_product");
    assert_string_equal(library_message(), "");
    attnzoo_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_long_lines_keep_both_ends),
        cmocka_unit_test(test_the_library_speaks_without_the_name_of_its_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
