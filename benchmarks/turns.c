/*
 * benchmarks/turns.c: rounds of timed calls, and what a list of times comes to.
 */
#define _POSIX_C_SOURCE 200809L

#include "turns.h"

#include <stdlib.h>
#include <time.h>

/* A time shorter than this tells more of the clock and of what ran before than of the call. */
static const double time_least = 2e-3;
/* A call that takes less finds the caches as the one before it left them, and is called once for nothing first. */
static const double warm_up_below = 20e-3;
/* A round that takes more is not repeated more often than it must. */
static const double long_round = 2.0;

double benchmark_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds of one call, the mean of count. */
static double time_calls(const struct benchmark_call *call, int count)
{
    double start = benchmark_seconds();
    for (int i = 0; i < count; i++)
        call->run(call->context);
    return (benchmark_seconds() - start) / count;
}

/* How many calls fill the least time. */
static int count_calls(const struct benchmark_call *call)
{
    int count = 1;
    double seconds = time_calls(call, 1);
    while (seconds * count < time_least && count < 1 << 24) {
        count *= 2;
        seconds = time_calls(call, count);
    }
    return count;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

static void sum_up(struct benchmark_timing *timing, double *times, int repetitions)
{
    qsort(times, (size_t)repetitions, sizeof *times, compare);
    timing->least = times[0];
    timing->median = times[repetitions / 2];
    timing->spread = (times[repetitions * 3 / 4] - times[repetitions / 4]) / timing->median;
    timing->repetitions = repetitions;
}

void benchmark_take_turns(struct benchmark_call *calls, int count, int repetitions)
{
    static double times[BENCHMARK_CALLS_MAX][BENCHMARK_REPETITIONS_MAX];
    double seconds[BENCHMARK_CALLS_MAX], round = 0.0;
    for (int i = 0; i < count; i++) {
        calls[i].run(calls[i].context);
        calls[i].timing.calls_in_one = count_calls(&calls[i]);
        seconds[i] = time_calls(&calls[i], 1);
        round += seconds[i] * calls[i].timing.calls_in_one;
    }
    if (round > long_round && repetitions > BENCHMARK_REPETITIONS_LEAST)
        repetitions = BENCHMARK_REPETITIONS_LEAST;
    for (int repetition = 0; repetition < repetitions; repetition++)
        for (int i = 0; i < count; i++) {
            if (seconds[i] < warm_up_below)
                calls[i].run(calls[i].context);
            times[i][repetition] = time_calls(&calls[i], calls[i].timing.calls_in_one);
        }
    for (int i = 0; i < count; i++)
        sum_up(&calls[i].timing, times[i], repetitions);
}
