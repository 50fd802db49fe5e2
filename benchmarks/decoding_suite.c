/*
 * benchmarks/decoding_suite.c: one query against a long cache of keys and values. All it can do is read them, so its
 * limit is the rate at which memory is read, measured by a sum over a buffer that no cache holds. Calls go around as
 * many caches of keys and values as make up the size of the largest, so that none comes from the CPU's caches, as it is
 * in a model of many layers.
 */
#include "session.h"

/* The calls: what differs is how many heads there are and the type of keys and values. */
enum { FLOAT32, FLOAT16, BFLOAT16, GROUPED, GROUPED_FLOAT16, FEW_HEADS, CALL_COUNT };

#define CACHE(h, g, dtype, n)                                                                                          \
    {                                                                                                                  \
        .mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = 1, .heads = (h), .key_heads = (g), .queries = 1,           \
        .keys = 4096, .head_size = 128, .key_dtype = (dtype), .copies = (n)                                            \
    }

static const struct benchmark_subject subjects[CALL_COUNT] = {
    [FLOAT32] = CACHE(32, 0, ATTNZOO_DTYPE_FLOAT32, 1),         [FLOAT16] = CACHE(32, 0, ATTNZOO_DTYPE_FLOAT16, 2),
    [BFLOAT16] = CACHE(32, 0, ATTNZOO_DTYPE_BFLOAT16, 2),       [GROUPED] = CACHE(32, 8, ATTNZOO_DTYPE_FLOAT32, 4),
    [GROUPED_FLOAT16] = CACHE(32, 8, ATTNZOO_DTYPE_FLOAT16, 8), [FEW_HEADS] = CACHE(8, 0, ATTNZOO_DTYPE_FLOAT32, 4)};

static const char *const names[CALL_COUNT] = {"float32 cache",          "float16 cache",
                                              "bfloat16 cache",         "float32 cache, grouped",
                                              "float16 cache, grouped", "float32 cache, as many heads as groups"};

/* The goals that the issue sets. That time follows G it puts in words: a quarter more is this program's reading. */
static const double bandwidth_at_least = 0.9;
static const double half_at_least = 1.7;
static const double grouped_at_most = 1.25;

static void report_bandwidth(struct benchmark_session *session, struct benchmark_row row, int call, double reading_rate)
{
    row.rate = (struct benchmark_quantity){benchmark_key_value_bytes(row.subject) / row.timing.median, "GB/s"};
    row.limit = (struct benchmark_quantity){reading_rate, "GB/s"};
    row.limit_name = "read";
    row.figure = (struct benchmark_quantity){row.rate.value / reading_rate, ""};
    row.figure_name = "of that rate";
    row.at_least = call == FLOAT32 ? bandwidth_at_least : 0.0;
    benchmark_report_add(session->report, &row);
}

/* How many times as fast as a cache of float32. */
static void report_half(struct benchmark_session *session, struct benchmark_row row, double single_seconds,
                        double at_least)
{
    row.limit = (struct benchmark_quantity){single_seconds, "ms"};
    row.limit_name = "float32";
    row.figure = (struct benchmark_quantity){single_seconds / row.timing.median, "×"};
    row.figure_name = "as fast";
    row.at_least = at_least;
    benchmark_report_add(session->report, &row);
}

static void report_way(struct benchmark_session *session, int way, const struct benchmark_group *group, int first,
                       double reading_rate, struct benchmark_row *rows)
{
    for (int call = 0; call < CALL_COUNT; call++) {
        rows[call] = benchmark_make_row(session, way, &subjects[call], names[call], group, first + call);
        report_bandwidth(session, rows[call], call, reading_rate);
    }
    double single_seconds = rows[FLOAT32].timing.median, grouped_seconds = rows[GROUPED].timing.median;
    report_half(session, rows[FLOAT16], single_seconds, half_at_least);
    report_half(session, rows[BFLOAT16], single_seconds, 0.0);
    report_half(session, rows[GROUPED_FLOAT16], grouped_seconds, 0.0);
    struct benchmark_row row = rows[GROUPED];
    benchmark_compare_times(&row, rows[FEW_HEADS].timing.median, "H = 8");
    row.at_most = grouped_at_most;
    benchmark_report_add(session->report, &row);
}

static void run(struct benchmark_session *session)
{
    struct benchmark_prepared *prepared[CALL_COUNT];
    struct benchmark_reading *readings[BENCHMARK_WAYS_MAX];
    struct benchmark_row rows[BENCHMARK_WAYS_MAX][CALL_COUNT];
    for (int call = 0; call < CALL_COUNT; call++)
        prepared[call] = benchmark_prepare(&subjects[call]);
    struct benchmark_group group = {.count = 0};
    int first[BENCHMARK_WAYS_MAX];
    for (int way = 0; way < session->way_count; way++) {
        readings[way] = benchmark_make_reading(session->threads[way]);
        first[way] = benchmark_add_call(&group, benchmark_run_reading, readings[way]) + 1;
        for (int call = 0; call < CALL_COUNT; call++)
            benchmark_add_forward(&group, session, way, prepared[call], NULL);
    }
    benchmark_time_group(&group, session);
    for (int way = 0; way < session->way_count; way++) {
        double reading_rate = benchmark_reading_bytes() / benchmark_median(&group, first[way] - 1);
        report_way(session, way, &group, first[way], reading_rate, rows[way]);
        if (way > 0)
            benchmark_report_speedup(session, &rows[0][FLOAT32], &rows[way][FLOAT32], 0.0);
        benchmark_free_reading(readings[way]);
    }
    for (int call = 0; call < CALL_COUNT; call++)
        benchmark_release(prepared[call]);
}

const struct benchmark_suite benchmark_decoding_suite = {
    "decoding",
    "One query of scaled_dot_product over 4096 keys, against a plain sum over 256 MiB in the same threads. Sizes are "
    "B, H, N, M, D; the rate is the bytes of keys and values over the time.",
    run};
