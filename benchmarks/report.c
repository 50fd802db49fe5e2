/*
 * benchmarks/report.c: rows as Markdown, at once, and everything as JSON at the end. Each result in the JSON file also
 * holds the texts of its row ("cells"), from which the table in README.md is made.
 */
#include "report.h"

#include "machine.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_COUNT = 10, CELL_SIZE = 96 };

static const char *const columns[CELL_COUNT] = {"mechanism", "sizes", "call",  "threads", "median",
                                                "spread",    "rate",  "limit", "figure",  "goal"};

struct benchmark_report {
    json_t *root;
    json_t *suites;
    json_t *results;
    const char *suite;
};

/* Jansson's functions that take a value over answer 0 or -1, and treat NULL as an error. */
static void put(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0) {
        fprintf(stderr, "no memory for results, or a text that is not UTF-8: %s\n", name);
        exit(1);
    }
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) {
        fprintf(stderr, "no memory for results\n");
        exit(1);
    }
}

static json_t *list_columns(void)
{
    json_t *list = json_array();
    for (int i = 0; i < CELL_COUNT; i++)
        append(list, json_string(columns[i]));
    return list;
}

struct benchmark_report *benchmark_report_create(int repetitions, int threads)
{
    struct benchmark_report *report = benchmark_allocate(sizeof *report);
    *report = (struct benchmark_report){.root = json_object()};
    json_t *machine = benchmark_describe_machine();
    benchmark_print_machine(machine);
    put(report->root, "machine", machine);
    put(report->root, "repetitions", json_integer(repetitions));
    put(report->root, "threads", json_integer(threads));
    put(report->root, "columns", list_columns());
    put(report->root, "suites", report->suites = json_array());
    put(report->root, "results", report->results = json_array());
    return report;
}

void benchmark_report_destroy(struct benchmark_report *report)
{
    json_decref(report->root);
    free(report);
}

void benchmark_report_start_suite(struct benchmark_report *report, const char *name, const char *summary)
{
    json_t *suite = json_object();
    put(suite, "name", json_string(name));
    put(suite, "summary", json_string(summary));
    append(report->suites, suite);
    report->suite = name;
    printf("\n## %s\n\n%s\n\n|", name, summary);
    for (int i = 0; i < CELL_COUNT; i++)
        printf(" %s |", columns[i]);
    printf("\n|");
    for (int i = 0; i < CELL_COUNT; i++)
        printf("---|");
    printf("\n");
    fflush(stdout);
}

static void write_quantity(const struct benchmark_quantity *quantity, char *text, size_t size)
{
    double value = quantity->value;
    const char *unit = quantity->unit;
    if (unit == NULL)
        text[0] = '\0';
    else if (strcmp(unit, "ms") == 0 && value < 1e-4)
        snprintf(text, size, "%.3g µs", value * 1e6);
    else if (strcmp(unit, "ms") == 0)
        snprintf(text, size, value < 0.1 ? "%.3g ms" : "%.0f ms", value * 1e3);
    else if (strcmp(unit, "GFLOP/s") == 0 || strcmp(unit, "GB/s") == 0)
        snprintf(text, size, "%.1f %s", value * 1e-9, unit);
    else if (strcmp(unit, "ns") == 0)
        snprintf(text, size, value < 10.0 ? "%.2f ns" : "%.0f ns", value);
    else
        snprintf(text, size, value < 10.0 ? "%.3f%s" : "%.1f%s", value, unit);
}

/* A quantity, a space and words. */
static void write_named(const struct benchmark_quantity *quantity, const char *name, char *text, size_t size)
{
    write_quantity(quantity, text, size);
    size_t length = strlen(text);
    if (name != NULL && length > 0)
        snprintf(text + length, size - length, " %s", name);
}

static int has_goal(const struct benchmark_row *row)
{
    return row->at_least > 0.0 || row->at_most > 0.0;
}

static int is_met(const struct benchmark_row *row)
{
    return row->at_least > 0.0 ? row->figure.value >= row->at_least : row->figure.value <= row->at_most;
}

static void write_goal(const struct benchmark_row *row, char *text, size_t size)
{
    char bound[48];
    text[0] = '\0';
    if (!has_goal(row))
        return;
    write_quantity(&(struct benchmark_quantity){row->at_least > 0.0 ? row->at_least : row->at_most, row->figure.unit},
                   bound, sizeof bound);
    snprintf(text, size, "%s %s: %s", row->at_least > 0.0 ? "≥" : "≤", bound, is_met(row) ? "met" : "**missed**");
}

static void write_cells(const struct benchmark_row *row, char cells[CELL_COUNT][CELL_SIZE])
{
    const struct benchmark_quantity time = {row->timing.median, "ms"};
    snprintf(cells[0], CELL_SIZE, "%s", benchmark_mechanism_name(row->subject->mechanism));
    benchmark_describe_sizes(row->subject, cells[1], CELL_SIZE);
    snprintf(cells[2], CELL_SIZE, "%s", row->variant == NULL ? "" : row->variant);
    snprintf(cells[3], CELL_SIZE, "%d", row->threads);
    write_quantity(&time, cells[4], CELL_SIZE);
    snprintf(cells[5], CELL_SIZE, "%.1f %%", row->timing.spread * 100.0);
    write_quantity(&row->rate, cells[6], CELL_SIZE);
    write_named(&row->limit, row->limit_name, cells[7], CELL_SIZE);
    write_named(&row->figure, row->figure_name, cells[8], CELL_SIZE);
    write_goal(row, cells[9], CELL_SIZE);
}

static json_t *describe_quantity(const struct benchmark_quantity *quantity, const char *name)
{
    /* Times are seconds wherever they are numbers. */
    const char *unit = strcmp(quantity->unit, "ms") == 0        ? "s"
                       : strcmp(quantity->unit, "GFLOP/s") == 0 ? "FLOP/s"
                       : strcmp(quantity->unit, "GB/s") == 0    ? "B/s"
                                                                : quantity->unit;
    json_t *object = json_object();
    put(object, "value", json_real(quantity->value));
    put(object, "unit", json_string(unit));
    if (name != NULL)
        put(object, "name", json_string(name));
    return object;
}

static json_t *describe_sizes(const struct benchmark_subject *subject)
{
    const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"B", subject->batch}, {"H", subject->heads},     {"G", subject->key_heads},   {"N", subject->queries},
                 {"M", subject->keys},  {"D", subject->head_size}, {"A", subject->hidden_size}, {"F", subject->filters},
                 {"W", subject->width}, {"k", subject->clip}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].size > 0)
            put(object, sizes[i].name, json_integer(sizes[i].size));
    return object;
}

static json_t *describe_timing(const struct benchmark_timing *timing)
{
    json_t *object = json_object();
    put(object, "median", json_real(timing->median));
    put(object, "spread", json_real(timing->spread));
    put(object, "least", json_real(timing->least));
    put(object, "repetitions", json_integer(timing->repetitions));
    put(object, "calls_in_one", json_integer(timing->calls_in_one));
    return object;
}

static json_t *describe_row(const struct benchmark_report *report, const struct benchmark_row *row,
                            char cells[CELL_COUNT][CELL_SIZE])
{
    json_t *object = json_object(), *texts = json_array();
    put(object, "suite", json_string(report->suite));
    put(object, "mechanism", json_string(benchmark_mechanism_name(row->subject->mechanism)));
    put(object, "sizes", describe_sizes(row->subject));
    put(object, "call", json_string(row->variant == NULL ? "" : row->variant));
    put(object, "threads", json_integer(row->threads));
    put(object, "seconds", describe_timing(&row->timing));
    if (row->rate.unit != NULL)
        put(object, "rate", describe_quantity(&row->rate, NULL));
    if (row->limit.unit != NULL)
        put(object, "limit", describe_quantity(&row->limit, row->limit_name));
    if (row->figure.unit != NULL)
        put(object, "figure", describe_quantity(&row->figure, row->figure_name));
    if (has_goal(row)) {
        put(object, row->at_least > 0.0 ? "at_least" : "at_most",
            json_real(row->at_least > 0.0 ? row->at_least : row->at_most));
        put(object, "is_met", json_boolean(is_met(row)));
    }
    for (int i = 0; i < CELL_COUNT; i++)
        append(texts, json_string(cells[i]));
    put(object, "cells", texts);
    return object;
}

void benchmark_report_add(struct benchmark_report *report, const struct benchmark_row *row)
{
    char cells[CELL_COUNT][CELL_SIZE];
    write_cells(row, cells);
    printf("|");
    for (int i = 0; i < CELL_COUNT; i++)
        printf(" %s |", cells[i]);
    printf("\n");
    fflush(stdout);
    append(report->results, describe_row(report, row, cells));
}

void benchmark_report_try_path(const char *path)
{
    FILE *file = fopen(path, "a");
    if (file != NULL && fclose(file) == 0)
        return;
    fprintf(stderr, "benchmark_attnzoo: %s could not be written\n", path);
    exit(1);
}

void benchmark_report_write(const struct benchmark_report *report, const char *path)
{
    if (json_dump_file(report->root, path, JSON_INDENT(1)) != 0) {
        fprintf(stderr, "%s could not be written\n", path);
        exit(1);
    }
}
