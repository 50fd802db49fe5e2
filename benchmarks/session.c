/*
 * benchmarks/session.c: groups of calls, and the comparisons that suites have in common.
 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>

int benchmark_add_call(struct benchmark_group *group, void (*run)(void *context), void *context)
{
    if (group->count == BENCHMARK_CALLS_MAX) {
        fprintf(stderr, "a group has no room for more than %d calls\n", (int)BENCHMARK_CALLS_MAX);
        exit(1);
    }
    group->calls[group->count] = (struct benchmark_call){.run = run, .context = context};
    return group->count++;
}

int benchmark_add_forward(struct benchmark_group *group, const struct benchmark_session *session, int way,
                          struct benchmark_prepared *prepared, const attnzoo_mask *mask)
{
    int call = benchmark_add_call(group, benchmark_run_forward, &group->forwards[group->count]);
    group->forwards[call] = (struct benchmark_forward){prepared, session->executors[way], mask};
    return call;
}

void benchmark_time_group(struct benchmark_group *group, const struct benchmark_session *session)
{
    benchmark_take_turns(group->calls, group->count, session->repetitions);
}

struct benchmark_row benchmark_make_row(const struct benchmark_session *session, int way,
                                        const struct benchmark_subject *subject, const char *variant,
                                        const struct benchmark_group *group, int call)
{
    return (struct benchmark_row){
        .subject = subject, .variant = variant, .threads = session->threads[way], .timing = group->calls[call].timing};
}

double benchmark_median(const struct benchmark_group *group, int call)
{
    return group->calls[call].timing.median;
}

void benchmark_compare_times(struct benchmark_row *row, double other_seconds, const char *other_name)
{
    row->limit = (struct benchmark_quantity){other_seconds, "ms"};
    row->limit_name = other_name;
    row->figure = (struct benchmark_quantity){row->timing.median / other_seconds, ""};
    row->figure_name = "of that time";
}

void benchmark_report_speedup(struct benchmark_session *session, const struct benchmark_row *one,
                              const struct benchmark_row *many, double at_least)
{
    struct benchmark_row row = *many;
    row.limit = (struct benchmark_quantity){one->timing.median, "ms"};
    row.limit_name = "one thread";
    row.figure = (struct benchmark_quantity){one->timing.median / many->timing.median, "×"};
    row.figure_name = "as fast as one thread";
    /* The goal is set for two. */
    row.at_least = many->threads == 2 ? at_least : 0.0;
    row.at_most = 0.0;
    benchmark_report_add(session->report, &row);
}

double benchmark_products_rate(struct benchmark_session *session, int way, const struct benchmark_products *products,
                               const struct benchmark_group *group, int call)
{
    double rate = benchmark_products_operations(products) / benchmark_median(group, call);
    if (session->threads[way] == 1)
        return rate;
    if (session->own_threads_rate < 0.0)
        session->own_threads_rate = benchmark_own_threads_rate(session->threads[way], session->repetitions);
    return rate > session->own_threads_rate ? rate : session->own_threads_rate;
}
