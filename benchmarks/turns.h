/*
 * benchmarks/turns.h: timing of calls that are to be compared. They take turns, so that a machine that grows slower
 * or busier for a while does so for all of them.
 */
#ifndef ATTNZOO_BENCHMARKS_TURNS_H
#define ATTNZOO_BENCHMARKS_TURNS_H

enum { BENCHMARK_REPETITIONS_MAX = 1000, BENCHMARK_REPETITIONS_LEAST = 5, BENCHMARK_CALLS_MAX = 24 };

/** Seconds that one call takes. */
struct benchmark_timing {
    double median;
    /** The range of the middle half of the times, over the median. */
    double spread;
    double least;
    int repetitions;
    /** How many calls each time is the mean of. */
    int calls_in_one;
};

struct benchmark_call {
    void (*run)(void *context);
    void *context;
    struct benchmark_timing timing;
};

/**
 * Times count calls, at most BENCHMARK_CALLS_MAX, one after the other and over again, and sets their timings. Each is
 * called once for nothing beforehand; one that takes less than a few milliseconds is called over again inside each of
 * its times. Where a round takes long, there are no more than BENCHMARK_REPETITIONS_LEAST.
 */
void benchmark_take_turns(struct benchmark_call *calls, int count, int repetitions);

/** Seconds on a clock that never jumps. */
double benchmark_seconds(void);

#endif
