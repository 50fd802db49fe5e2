/*
 * main.c: finds the command that was meant, and prints the one line that says what went wrong.
 */
#include "describe.h"
#include "run.h"
#include "usage.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static enum outcome print_version(void)
{
    printf("attnzoo %d.%d.%d\n%s\n", ATTNZOO_VERSION_MAJOR, ATTNZOO_VERSION_MINOR, ATTNZOO_VERSION_PATCH,
           attnzoo_build_information());
    return OUTCOME_OK;
}

static enum outcome print_help(void)
{
    print_usage();
    return OUTCOME_OK;
}

static enum outcome list(void)
{
    print_mechanisms();
    return OUTCOME_OK;
}

static enum outcome run(int count, char *const *words)
{
    struct run_arguments arguments;
    enum outcome outcome = run_arguments_parse(&arguments, count, words);
    if (outcome == OUTCOME_OK)
        outcome = arguments.wants_help ? print_help() : run_mechanism(&arguments);
    run_arguments_free(&arguments);
    return outcome;
}

static enum outcome describe(int count, char *const *words)
{
    if (count == 0)
        return fail_usage("describe: say which mechanism; 'attnzoo list' lists them");
    if (count > 1)
        return fail_usage("describe: %s: not expected", words[1]);
    bool wants_help = strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0;
    return wants_help ? print_help() : describe_mechanism(words[0]);
}

static enum outcome dispatch(int count, char *const *words)
{
    static const struct {
        const char *name;
        enum outcome (*action)(void);
    } simple[] = {
        {"list", list}, {"--version", print_version}, {"--help", print_help}, {"-h", print_help}, {"help", print_help}};
    if (count == 0)
        return fail_usage("say what to do: list, describe or run; 'attnzoo --help' tells more");
    if (strcmp(words[0], "run") == 0)
        return run(count - 1, words + 1);
    if (strcmp(words[0], "describe") == 0)
        return describe(count - 1, words + 1);
    for (size_t index = 0; index < sizeof simple / sizeof *simple; index++) {
        if (strcmp(words[0], simple[index].name) == 0)
            return count == 1 ? simple[index].action() : fail_usage("%s: %s: not expected", words[0], words[1]);
    }
    return fail_usage("%s: no such command; there are list, describe, run, --version and --help", words[0]);
}

int main(int argument_count, char **arguments)
{
    /* Longer than anything printed, so that all is written at the end, where errno tells why it failed. */
    static char output[1 << 16];
    setvbuf(stdout, output, _IOFBF, sizeof output);
    enum outcome outcome =
        argument_count > 0 ? dispatch(argument_count - 1, arguments + 1) : fail_usage("no arguments at all");
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (outcome == OUTCOME_OK)
            outcome = fail("standard output: %s", strerror(errno != 0 ? errno : EIO));
    }
    if (outcome != OUTCOME_OK)
        fprintf(stderr, "attnzoo: %s\n", problem_text());
    return (int)outcome;
}
