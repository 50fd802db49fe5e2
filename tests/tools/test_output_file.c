/*
 * test_output_file.c: files that appear whole or not at all.
 */
#include "output_file.h"
#include "scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void check_content(const char *name, const char *expected)
{
    size_t size;
    unsigned char *bytes = scratch_read(name, &size);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(bytes, expected, size);
    free(bytes);
}

static void open_good(struct output_file *file, const char *name)
{
    if (output_file_open(file, name) != OUTCOME_OK)
        fail_msg("%s", problem_text());
}

static void test_old_file_stands_until_the_commit(void **state)
{
    (void)state;
    struct output_file file;
    scratch_write("target", "old", 3);
    open_good(&file, scratch_path("target"));
    fputs("new", file.stream);
    assert_int_equal(fflush(file.stream), 0);
    check_content("target", "old");
    assert_int_equal(output_file_finish(&file), OUTCOME_OK);
    check_content("target", "old");
    assert_int_equal(scratch_count(), 2);
    assert_int_equal(output_file_commit(&file), OUTCOME_OK);
    check_content("target", "new");
    output_file_discard(&file);
    check_content("target", "new");
    assert_int_equal(scratch_count(), 1);
}

static void test_discard_leaves_no_trace(void **state)
{
    (void)state;
    struct output_file file, finished;
    scratch_write("target", "old", 3);
    open_good(&file, scratch_path("target"));
    open_good(&finished, scratch_path("another"));
    fputs("new", file.stream);
    fputs("new", finished.stream);
    assert_int_equal(output_file_finish(&finished), OUTCOME_OK);
    assert_int_equal(scratch_count(), 3);
    output_file_discard(&file);
    output_file_discard(&finished);
    check_content("target", "old");
    assert_int_equal(scratch_count(), 1);
}

static void test_mode_is_as_umask_says(void **state)
{
    (void)state;
    struct output_file file;
    struct stat status;
    mode_t before = umask(027);
    open_good(&file, scratch_path("target"));
    umask(before);
    assert_int_equal(output_file_finish(&file), OUTCOME_OK);
    assert_int_equal(output_file_commit(&file), OUTCOME_OK);
    assert_int_equal(stat(scratch_path("target"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    output_file_discard(&file);
}

static void test_symbolic_link_stays_one(void **state)
{
    (void)state;
    struct output_file file;
    struct stat status;
    scratch_write("real", "old", 3);
    assert_int_equal(symlink("real", scratch_path("link")), 0);
    open_good(&file, scratch_path("link"));
    fputs("new", file.stream);
    assert_int_equal(output_file_finish(&file), OUTCOME_OK);
    assert_int_equal(output_file_commit(&file), OUTCOME_OK);
    output_file_discard(&file);
    assert_int_equal(lstat(scratch_path("link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    check_content("real", "new");
}

/* Through relative, chained and absolute links to where nothing is yet. */
static void test_dangling_link_is_written_through(void **state)
{
    (void)state;
    struct output_file file, same;
    struct stat status;
    assert_int_equal(mkdir(scratch_path("folder"), 0700), 0);
    assert_int_equal(symlink("../real", scratch_path("folder/near")), 0);
    assert_int_equal(symlink("folder/near", scratch_path("chained")), 0);
    char absolute[4096];
    snprintf(absolute, sizeof absolute, "%s", scratch_path("chained"));
    assert_int_equal(symlink(absolute, scratch_path("link")), 0);
    open_good(&file, scratch_path("link"));
    open_good(&same, scratch_path("real"));
    assert_true(output_file_is_same(&file, &same));
    output_file_discard(&same);
    fputs("new", file.stream);
    assert_int_equal(output_file_finish(&file), OUTCOME_OK);
    assert_int_equal(output_file_commit(&file), OUTCOME_OK);
    output_file_discard(&file);
    static const char *const links[] = {"link", "chained", "folder/near"};
    for (size_t index = 0; index < sizeof links / sizeof *links; index++) {
        assert_int_equal(lstat(scratch_path(links[index]), &status), 0);
        assert_true(S_ISLNK(status.st_mode));
    }
    check_content("real", "new");
    assert_int_equal(unlink(scratch_path("folder/near")), 0);
}

/* What a run that was killed has left, and a link that somebody laid where the next temporary file would be. */
static void test_temporary_names_that_are_taken(void **state)
{
    (void)state;
    struct output_file file;
    char left[64], laid[64];
    snprintf(left, sizeof left, ".attnzoo-%ld-0.tmp", (long)getpid());
    snprintf(laid, sizeof laid, ".attnzoo-%ld-1.tmp", (long)getpid());
    scratch_write(left, "left", 4);
    scratch_write("victim", "old", 3);
    assert_int_equal(symlink("victim", scratch_path(laid)), 0);
    open_good(&file, scratch_path("target"));
    fputs("new", file.stream);
    assert_int_equal(output_file_finish(&file), OUTCOME_OK);
    assert_int_equal(output_file_commit(&file), OUTCOME_OK);
    output_file_discard(&file);
    check_content("target", "new");
    check_content("victim", "old");
    check_content(left, "left");
    assert_int_equal(scratch_count(), 4);
}

static void test_same_target_is_seen_through_other_spellings(void **state)
{
    (void)state;
    struct output_file one, same, other;
    open_good(&one, scratch_path("target"));
    open_good(&same, scratch_path(".//target"));
    open_good(&other, scratch_path("target2"));
    assert_true(output_file_is_same(&one, &same));
    assert_false(output_file_is_same(&one, &other));
    output_file_discard(&one);
    output_file_discard(&same);
    output_file_discard(&other);
}

/* A pipe of our own: were the code wrong and the user root, a device under /dev would be lost. */
static void test_pipes_are_written_in_place(void **state)
{
    (void)state;
    struct output_file file;
    struct stat status;
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    int reader = open(scratch_path("pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    open_good(&file, scratch_path("pipe"));
    assert_null(file.temporary);
    fputs("new", file.stream);
    assert_int_equal(output_file_finish(&file), OUTCOME_OK);
    assert_int_equal(output_file_commit(&file), OUTCOME_OK);
    output_file_discard(&file);
    char bytes[4];
    assert_int_equal(read(reader, bytes, sizeof bytes), 3);
    assert_memory_equal(bytes, "new", 3);
    close(reader);
    assert_int_equal(stat(scratch_path("pipe"), &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
}

/* As /dev/stdout does: a link that leads to the pipe, but has no path of it. */
static void test_pipes_without_a_name_are_written_in_place(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char name[64], bytes[4];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    assert_int_equal(symlink(name, scratch_path("link")), 0);
    const char *const names[] = {name, scratch_path("link")};
    for (size_t index = 0; index < 2; index++) {
        struct output_file file;
        open_good(&file, names[index]);
        assert_null(file.temporary);
        fputs("new", file.stream);
        assert_int_equal(output_file_finish(&file), OUTCOME_OK);
        assert_int_equal(output_file_commit(&file), OUTCOME_OK);
        output_file_discard(&file);
        assert_int_equal(read(ends[0], bytes, sizeof bytes), 3);
        assert_memory_equal(bytes, "new", 3);
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(scratch_count(), 1);
}

static void check_refused(const char *name, const char *part)
{
    struct output_file file;
    assert_int_equal(output_file_open(&file, name), OUTCOME_ERROR);
    if (strstr(problem_text(), part) == NULL || strstr(problem_text(), name) == NULL)
        fail_msg("'%s' says nothing of '%s'", problem_text(), part);
    output_file_discard(&file);
}

static void test_targets_that_cannot_be(void **state)
{
    (void)state;
    check_refused("", "No such file");
    check_refused(scratch_path("missing/target"), "No such file");
    check_refused(scratch_path("."), "directory");
    check_refused(scratch_path("folder/"), "directory");
    scratch_write("file", "old", 3);
    check_refused(scratch_path("file/target"), "Not a directory");
    assert_int_equal(symlink("loop", scratch_path("loop")), 0);
    check_refused(scratch_path("loop"), "symbolic links");
    assert_int_equal(symlink("missing/target", scratch_path("astray")), 0);
    check_refused(scratch_path("astray"), "No such file");
    assert_int_equal(scratch_count(), 3);
}

static void test_signals_remove_temporary_files(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) {
        scratch_write("target", "old", 3);
        pid_t child = fork();
        if (child == 0) {
            struct output_file file;
            output_file_handle_signals();
            if (output_file_open(&file, scratch_path("target")) == OUTCOME_OK && scratch_count() == 2)
                raise(signals[index]);
            _exit(77);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[index]);
        assert_int_equal(scratch_count(), 1);
        check_content("target", "old");
    }
}

static void test_ignored_signals_stay_ignored(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGHUP, SIG_IGN);
        output_file_handle_signals();
        raise(SIGHUP);
        _exit(77);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_create, scratch_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_old_file_stands_until_the_commit),
        IN_FOLDER(test_discard_leaves_no_trace),
        IN_FOLDER(test_mode_is_as_umask_says),
        IN_FOLDER(test_symbolic_link_stays_one),
        IN_FOLDER(test_dangling_link_is_written_through),
        IN_FOLDER(test_temporary_names_that_are_taken),
        IN_FOLDER(test_same_target_is_seen_through_other_spellings),
        IN_FOLDER(test_pipes_are_written_in_place),
        IN_FOLDER(test_pipes_without_a_name_are_written_in_place),
        IN_FOLDER(test_targets_that_cannot_be),
        IN_FOLDER(test_signals_remove_temporary_files),
        IN_FOLDER(test_ignored_signals_stay_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
