/*
 * benchmarks/benchmark.c: the program benchmark_attnzoo, which times every mechanism over tables of sizes and sets
 * beside each figure the limit of the machine, from the same run, and the goal. README.md tells what the columns mean.
 */
#define _POSIX_C_SOURCE 200809L

#include "session.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct benchmark_suite *const suites[] = {&benchmark_attention_suite,  &benchmark_masks_suite,
                                                       &benchmark_decoding_suite,   &benchmark_tiny_suite,
                                                       &benchmark_mechanisms_suite, &benchmark_length_suite};

enum { SUITE_COUNT = sizeof suites / sizeof *suites };

struct settings {
    int repetitions;
    int threads;
    int is_wanted[SUITE_COUNT];
    const char *json_path;
};

static void print_help(FILE *stream)
{
    fprintf(stream,
            "usage: benchmark_attnzoo [OPTIONS]\n\n"
            "  --suite NAME        measure this suite alone; may be given several times\n"
            "  --repetitions N     times taken of each call, %d to %d (default 9); the median counts\n"
            "  --threads N         measure in one thread and in N (default 2); 1 measures in one alone\n"
            "  --json FILE         write all results to FILE too\n"
            "  --help              print this\n\nSuites:",
            1, (int)BENCHMARK_REPETITIONS_MAX);
    for (int i = 0; i < SUITE_COUNT; i++)
        fprintf(stream, " %s", suites[i]->name);
    fprintf(stream, "\n");
}

static int read_count(const char *option, const char *text, int most)
{
    char *end = NULL;
    errno = 0;
    long count = strtol(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && count >= 1 && count <= most)
        return (int)count;
    fprintf(stderr, "--%s takes a number from 1 to %d, not %s\n", option, most, text);
    exit(2);
}

static int find_suite(const char *name)
{
    for (int i = 0; i < SUITE_COUNT; i++)
        if (strcmp(suites[i]->name, name) == 0)
            return i;
    fprintf(stderr, "there is no suite %s\n", name);
    print_help(stderr);
    exit(2);
}

static struct settings read_arguments(int argument_count, char **arguments)
{
    static const struct option options[] = {
        {"suite", required_argument, NULL, 's'},   {"repetitions", required_argument, NULL, 'r'},
        {"threads", required_argument, NULL, 't'}, {"json", required_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    struct settings settings = {.repetitions = 9, .threads = 2};
    int option, wanted_count = 0;
    while ((option = getopt_long(argument_count, arguments, "", options, NULL)) != -1) {
        if (option == 's') {
            settings.is_wanted[find_suite(optarg)] = 1;
            wanted_count++;
        } else if (option == 'r') {
            settings.repetitions = read_count("repetitions", optarg, BENCHMARK_REPETITIONS_MAX);
        } else if (option == 't') {
            settings.threads = read_count("threads", optarg, BENCHMARK_THREADS_MAX);
        } else if (option == 'j') {
            settings.json_path = optarg;
        } else {
            print_help(option == 'h' ? stdout : stderr);
            exit(option == 'h' ? 0 : 2);
        }
    }
    if (optind < argument_count) {
        fprintf(stderr, "benchmark_attnzoo: %s is no option\n", arguments[optind]);
        exit(2);
    }
    for (int i = 0; i < SUITE_COUNT && wanted_count == 0; i++)
        settings.is_wanted[i] = 1;
    return settings;
}

int main(int argument_count, char **arguments)
{
    struct settings settings = read_arguments(argument_count, arguments);
    struct benchmark_session session = {.repetitions = settings.repetitions,
                                        .way_count = settings.threads > 1 ? 2 : 1,
                                        .threads = {1, settings.threads},
                                        .own_threads_rate = -1.0};
    for (int way = 0; way < session.way_count; way++) {
        benchmark_check(attnzoo_executor_create(&session.executors[way], session.threads[way]));
        session.threads[way] = attnzoo_executor_thread_count(session.executors[way]);
    }
    /* An hour of measuring must not end with a file that cannot be written. */
    if (settings.json_path != NULL)
        benchmark_report_try_path(settings.json_path);
    session.report = benchmark_report_create(session.repetitions, session.threads[session.way_count - 1]);
    for (int i = 0; i < SUITE_COUNT; i++) {
        if (!settings.is_wanted[i])
            continue;
        benchmark_report_start_suite(session.report, suites[i]->name, suites[i]->summary);
        suites[i]->run(&session);
    }
    if (settings.json_path != NULL)
        benchmark_report_write(session.report, settings.json_path);
    benchmark_report_destroy(session.report);
    for (int way = 0; way < session.way_count; way++)
        attnzoo_executor_destroy(session.executors[way]);
    return 0;
}
