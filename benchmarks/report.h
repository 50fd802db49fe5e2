/*
 * benchmarks/report.h: results, each a row of a table in Markdown on standard output and an object in a JSON file.
 */
#ifndef ATTNZOO_BENCHMARKS_REPORT_H
#define ATTNZOO_BENCHMARKS_REPORT_H

#include "subject.h"
#include "turns.h"

/** A number with its unit: "ms" (the value being seconds), "GFLOP/s", "GB/s", "ns", or "" for a plain ratio. */
struct benchmark_quantity {
    double value;
    const char *unit;
};

/** One result. What is 0 or NULL is left out. */
struct benchmark_row {
    const struct benchmark_subject *subject;
    /** What sets this call apart from others of the same sizes, such as "causal". */
    const char *variant;
    int threads;
    struct benchmark_timing timing;
    /** How much of its work the call does in a second, or the time that a unit of it takes. */
    struct benchmark_quantity rate;
    /** What it is compared with, in the same run, and its name. */
    struct benchmark_quantity limit;
    const char *limit_name;
    /** What the comparison comes to, and in words what it is a share or multiple of. */
    struct benchmark_quantity figure;
    const char *figure_name;
    /** What the figure should be. */
    double at_least;
    double at_most;
};

struct benchmark_report;

/** Prints what the numbers are measured on. */
struct benchmark_report *benchmark_report_create(int repetitions, int threads);
void benchmark_report_destroy(struct benchmark_report *report);

/** Begins the table of a suite. */
void benchmark_report_start_suite(struct benchmark_report *report, const char *name, const char *summary);

void benchmark_report_add(struct benchmark_report *report, const struct benchmark_row *row);

/* Ends the program with 1 unless a file can be written there; what it holds is kept. */
void benchmark_report_try_path(const char *path);

/** Writes all results; ends the program where it cannot. */
void benchmark_report_write(const struct benchmark_report *report, const char *path);

#endif
