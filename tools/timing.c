/*
 * timing.c: repeats a call and sorts the times.
 */
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPETITIONS_MAX = 100 };

static const double enough_seconds = 1.0;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

enum outcome timing_measure(attnzoo_status (*before)(void *context), attnzoo_status (*call)(void *context),
                            void *context, int32_t threads, char *line, size_t capacity)
{
    double times[REPETITIONS_MAX], total = 0.0;
    int count = 0;
    while (count == 0 || (count < REPETITIONS_MAX && total < enough_seconds)) {
        enum outcome outcome = check_library(before(context), "--time");
        if (outcome != OUTCOME_OK)
            return outcome;
        double start = now();
        outcome = check_library(call(context), "--time");
        if (outcome != OUTCOME_OK)
            return outcome;
        times[count] = now() - start;
        total += times[count++];
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    snprintf(line, capacity,
             "forward: median %.3f ms, fastest %.3f ms, slowest %.3f ms (%d %s after a first one; %d %s)",
             1e3 * times[count / 2], 1e3 * times[0], 1e3 * times[count - 1], count, count == 1 ? "call" : "calls",
             (int)threads, threads == 1 ? "thread" : "threads");
    return OUTCOME_OK;
}
