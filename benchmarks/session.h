/*
 * benchmarks/session.h: what every suite is given, and groups of calls that are timed in turn.
 */
#ifndef ATTNZOO_BENCHMARKS_SESSION_H
#define ATTNZOO_BENCHMARKS_SESSION_H

#include "limits.h"
#include "report.h"
#include "subject.h"
#include "turns.h"

/** Each suite measures in one thread and in so many as the user wants: two ways, or one way if that is one. */
enum { BENCHMARK_WAYS_MAX = 2 };

struct benchmark_session {
    int repetitions;
    int way_count;
    int threads[BENCHMARK_WAYS_MAX];
    attnzoo_executor *executors[BENCHMARK_WAYS_MAX];
    /** The rate of the BLAS's own threads for a plain product; -1 where it has not been asked for yet. */
    double own_threads_rate;
    struct benchmark_report *report;
};

/** A suite: a table of calls, and what is said of them. */
struct benchmark_suite {
    const char *name;
    const char *summary;
    void (*run)(struct benchmark_session *session);
};

extern const struct benchmark_suite benchmark_attention_suite;
extern const struct benchmark_suite benchmark_masks_suite;
extern const struct benchmark_suite benchmark_decoding_suite;
extern const struct benchmark_suite benchmark_tiny_suite;
extern const struct benchmark_suite benchmark_mechanisms_suite;
extern const struct benchmark_suite benchmark_length_suite;

/** Calls that are timed in turn. Start with {0}. */
struct benchmark_group {
    struct benchmark_forward forwards[BENCHMARK_CALLS_MAX];
    struct benchmark_call calls[BENCHMARK_CALLS_MAX];
    int count;
};

/** Adds a call of a prepared subject, in the session's way of threads. Returns its number in the group. */
int benchmark_add_forward(struct benchmark_group *group, const struct benchmark_session *session, int way,
                          struct benchmark_prepared *prepared, const attnzoo_mask *mask);

/** Adds any other call. Returns its number in the group. */
int benchmark_add_call(struct benchmark_group *group, void (*run)(void *context), void *context);

void benchmark_time_group(struct benchmark_group *group, const struct benchmark_session *session);

/** A row that knows its sizes, threads and time, of a call in a group that has been timed. */
struct benchmark_row benchmark_make_row(const struct benchmark_session *session, int way,
                                        const struct benchmark_subject *subject, const char *variant,
                                        const struct benchmark_group *group, int call);

/** The median time of a call in a group. */
double benchmark_median(const struct benchmark_group *group, int call);

/** Fills in a row's comparison of its time with that of another call: the figure is their ratio. */
void benchmark_compare_times(struct benchmark_row *row, double other_seconds, const char *other_name);

/** Adds a row on how much sooner a call is done in the session's many threads than in one. */
void benchmark_report_speedup(struct benchmark_session *session, const struct benchmark_row *one,
                              const struct benchmark_row *many, double at_least);

/** The rate of plain products: those timed in a group, or the BLAS's own threads where these do better. */
double benchmark_products_rate(struct benchmark_session *session, int way, const struct benchmark_products *products,
                               const struct benchmark_group *group, int call);

#endif
