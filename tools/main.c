/*
 * main.c: finds the command that was meant, and prints the one line that says what went wrong.
 */
#include "compare.h"
#include "describe.h"
#include "glimpse.h"
#include "run.h"
#include "spelling.h"
#include "tensor_list.h"
#include "usage.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static enum outcome print_version(int count, char *const *words)
{
    if (count > 0)
        return fail_usage("--version: %s: not expected", words[0]);
    printf("attnzoo %d.%d.%d\n%s\n", ATTNZOO_VERSION_MAJOR, ATTNZOO_VERSION_MINOR, ATTNZOO_VERSION_PATCH,
           attnzoo_build_information());
    return OUTCOME_OK;
}

static enum outcome help(int count, char *const *words)
{
    if (count > 1)
        return fail_usage("help: %s: not expected", words[1]);
    const char *command = count == 1 && strcmp(words[0], "help") != 0 && !is_help(words[0]) ? words[0] : NULL;
    return print_usage(command) ? OUTCOME_OK
                                : fail_usage("help: %s: no such command; 'attnzoo help' lists them", command);
}

static enum outcome list(int count, char *const *words)
{
    if (count > 0 && is_help(words[0]))
        return help(1, (char *const[]){"list"});
    if (count > 1)
        return fail_usage("list: %s: not expected", words[1]);
    if (count > 0 && words[0][0] == '-')
        return fail_usage("list: %s: no such option", words[0]);
    if (count > 0)
        return print_tensors(words[0]);
    print_mechanisms();
    return OUTCOME_OK;
}

static enum outcome print_run_help(const char *mechanism)
{
    return mechanism == NULL ? help(1, (char *const[]){"run"}) : describe_for_run(mechanism);
}

static enum outcome run(int count, char *const *words)
{
    struct run_arguments arguments;
    enum outcome outcome = run_arguments_parse(&arguments, count, words);
    /* What is wrong with the rest of the line may only follow from a name that is wrong. */
    if (outcome == OUTCOME_USAGE && arguments.mechanism != NULL)
        check_mechanism(arguments.mechanism);
    if (outcome == OUTCOME_OK)
        outcome = arguments.wants_help ? print_run_help(arguments.mechanism) : run_mechanism(&arguments);
    run_arguments_free(&arguments);
    return outcome;
}

static enum outcome describe(int count, char *const *words)
{
    if (count == 0)
        return fail_usage("describe: say which mechanism; 'attnzoo list' lists them");
    for (int index = 0; index < count; index++) {
        if (is_help(words[index]))
            return help(1, (char *const[]){"describe"});
    }
    if (count > 1)
        return fail_usage("describe: %s: not expected", words[1]);
    return describe_mechanism(words[0]);
}

static const struct {
    const char *name;
    /* Takes the words behind the name. */
    enum outcome (*act)(int count, char *const *words);
} commands[] = {
    {"list", list}, {"describe", describe},       {"run", run},     {"compare", compare}, {"glimpse", glimpse},
    {"help", help}, {"--version", print_version}, {"--help", help}, {"-h", help},
};

static enum outcome dispatch(int count, char *const *words)
{
    if (count == 0)
        return fail_usage("say what to do: list, describe, run, compare or glimpse; 'attnzoo --help' tells more");
    struct spelling_search search = {.typed = words[0], .length = strlen(words[0])};
    for (size_t index = 0; index < sizeof commands / sizeof *commands; index++) {
        if (strcmp(words[0], commands[index].name) == 0)
            return commands[index].act(count - 1, words + 1);
        spelling_offer(&search, commands[index].name);
    }
    if (strcmp(words[0], "-V") == 0 || strcmp(words[0], "-v") == 0)
        search.word = "--version";
    if (search.word != NULL)
        return fail_usage("%s: no such command; did you mean %s? 'attnzoo --help' lists all", words[0], search.word);
    return fail_usage("%s: no such command; there are list, describe, run, compare, glimpse, help and --version",
                      words[0]);
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
        if (outcome == OUTCOME_OK || outcome == OUTCOME_DIFFERENT)
            outcome = fail("standard output: %s", strerror(errno != 0 ? errno : EIO));
    }
    /* How arrays differ is told already. */
    if (outcome == OUTCOME_DIFFERENT)
        return OUTCOME_ERROR;
    if (outcome != OUTCOME_OK)
        fprintf(stderr, "attnzoo: %s\n", problem_text());
    return (int)outcome;
}
