/*
 * test_labels.c: labels from text files, and the characters of UTF-8.
 */
#include "labels.h"
#include "scratch.h"
#include "utf8.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static enum outcome read_keys(struct labels *labels, const char *path, int count)
{
    return labels_read(labels, path, "key-labels", count, "keys");
}

static void check(const char *text, int count, const char *const *wanted)
{
    struct labels labels;
    if (read_keys(&labels, scratch_write("labels.txt", text, strlen(text)), count) != OUTCOME_OK)
        fail_msg("%s", problem_text());
    assert_int_equal(labels.count, count);
    for (int index = 0; index < count; index++)
        assert_string_equal(labels.texts[index], wanted[index]);
    labels_free(&labels);
}

static void test_lines(void **state)
{
    (void)state;
    const char *const three[] = {"the", "", "zoo"};
    check("the\n\nzoo\n", 3, three);
    check("the\n\nzoo", 3, three);
    check("the\r\n\r\nzoo\r\n", 3, three);
    check("\xef\xbb\xbfthe\n\nzoo\n", 3, three);
    check("", 0, NULL);
    check("\n", 1, (const char *const[]){""});
}

static void test_what_cannot_be_seen(void **state)
{
    (void)state;
    check("a\tb\n  \n the\n\x1b[31m\n", 4, (const char *const[]){"a b", "\xe2\x90\xa3", " the", " [31m"});
    /* A byte order mark is one only at the beginning. */
    check("a\n\xef\xbb\xbf"
          "b\n",
          2,
          (const char *const[]){"a", "\xef\xbb\xbf"
                                     "b"});
}

static void test_what_is_no_utf8(void **state)
{
    (void)state;
    /* A lone byte, an overlong slash, a surrogate, past the last character, cut off. */
    static const char *const wrong[] = {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xb8", "\x80"};
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
        char text[40];
        struct labels labels;
        snprintf(text, sizeof text, "a\n%s\nb\n", wrong[index]);
        assert_false(utf8_is_valid(wrong[index]));
        assert_int_equal(read_keys(&labels, scratch_write("wrong.txt", text, strlen(text)), 3), OUTCOME_ERROR);
        assert_non_null(strstr(problem_text(), "wrong.txt: line 2 is not text in UTF-8"));
        labels_free(&labels);
    }
}

static void test_characters(void **state)
{
    (void)state;
    const char *text = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\xff!";
    static const uint32_t wanted[] = {'a', 0xe9, 0x4e2d, 0x1f600, UINT32_MAX, '!', 0, 0};
    for (size_t index = 0; index < sizeof wanted / sizeof *wanted; index++)
        assert_int_equal(utf8_next(&text), wanted[index]);
}

static void check_refused(const char *path, int count, const char *wanted)
{
    struct labels labels;
    assert_int_equal(read_keys(&labels, path, count), OUTCOME_ERROR);
    if (strstr(problem_text(), wanted) == NULL)
        fail_msg("'%s' says nothing of '%s'", problem_text(), wanted);
    labels_free(&labels);
}

static void test_how_many_are_needed(void **state)
{
    (void)state;
    const char *path = scratch_write("two.txt", "a\nb\n", 4);
    check("a\nb\n", 2, (const char *const[]){"a", "b"});
    check_refused(path, 3, "two.txt: the file has 2 lines, but there are 3 keys");
    check_refused(path, 1, "two.txt: the file has more than 1 line, but there are 1 keys");
    check_refused(path, 0, "two.txt: the file has more than 0 lines, but there are 0 keys");
    path = scratch_write("empty.txt", "a\nb\n\n", 5);
    check_refused(path, 2, "empty.txt: the file has 3 lines, the last of them empty, but there are 2 keys");
    check_refused(path, 1, "empty.txt: the file has more than 1 line, but there are 1 keys");
    path = scratch_write("more.txt", "a\n\nb\n", 5);
    check_refused(path, 1, "more.txt: the file has more than 1 line, but there are 1 keys");
    assert_memory_equal(problem_text(), "--key-labels ", 13);
}

/* A file that never ends, of lines first and then of one line. */
static void test_files_without_end(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(scratch_path("endless"), 0600), 0);
    static const char *const texts[] = {"a\n", "a"};
    static const char *const wanted[] = {"the file has more than 3 lines", "line 1 is too long for a label"};
    for (size_t kind = 0; kind < 2; kind++) {
        pid_t child = fork();
        if (child == 0) {
            signal(SIGPIPE, SIG_DFL);
            /* So much is an end after all, for a reader that would take everything. */
            FILE *stream = fopen(scratch_path("endless"), "wb");
            for (int count = 0; count < 1 << 24; count++)
                fputs(texts[kind], stream);
            fclose(stream);
            _exit(77);
        }
        check_refused(scratch_path("endless"), 3, wanted[kind]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    }
}

static void test_the_longest_line(void **state)
{
    (void)state;
    enum { LONGEST = 1 << 16 };
    static char text[LONGEST + 1];
    memset(text, 'a', sizeof text);
    struct labels labels;
    assert_int_equal(read_keys(&labels, scratch_write("long.txt", text, LONGEST), 1), OUTCOME_OK);
    assert_int_equal(strlen(labels.texts[0]), LONGEST);
    labels_free(&labels);
    check_refused(scratch_write("long.txt", text, LONGEST + 1), 1, "line 1 is too long for a label");
    text[LONGEST - 1] = '\n';
    assert_int_equal(read_keys(&labels, scratch_write("long.txt", text, LONGEST + 1), 2), OUTCOME_OK);
    assert_int_equal(strlen(labels.texts[0]), LONGEST - 1);
    labels_free(&labels);
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    check_refused(scratch_path("missing.txt"), 1, "missing.txt: No such file");
    check_refused(scratch_path("."), 1, "Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_what_cannot_be_seen),
        cmocka_unit_test(test_what_is_no_utf8),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_how_many_are_needed),
        cmocka_unit_test(test_files_without_end),
        cmocka_unit_test(test_the_longest_line),
        cmocka_unit_test(test_files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
