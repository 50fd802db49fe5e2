/*
 * benchmarks/length_suite.c: the time of every mechanism against the length N = M, in one thread: what plot.py draws.
 */
#include "session.h"

enum { SHORTEST = 128, ONE_THREAD = 0 };

static const struct {
    struct benchmark_subject subject;
    int is_causal;
    /* Beyond it a call would take many seconds. */
    int64_t longest;
} lines[] = {
    {{.mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = 1, .heads = 8, .head_size = 64}, 0, 8192},
    {{.mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = 1, .heads = 8, .head_size = 64}, 1, 8192},
    {{.mechanism = BENCHMARK_MULTI_HEAD, .batch = 1, .heads = 8, .head_size = 64, .is_self = 1}, 0, 8192},
    {{.mechanism = BENCHMARK_TRANSFORMER_XL, .batch = 1, .heads = 8, .head_size = 64, .is_self = 1}, 0, 8192},
    {{.mechanism = BENCHMARK_SHAW, .batch = 1, .heads = 8, .head_size = 64, .clip = 16, .is_self = 1}, 0, 8192},
    {{.mechanism = BENCHMARK_ADDITIVE, .batch = 1, .heads = 1, .hidden_size = 256}, 0, 4096},
    {{.mechanism = BENCHMARK_LOCATION_AWARE, .batch = 1, .heads = 1, .hidden_size = 256, .filters = 32, .width = 31},
     0,
     2048},
};

enum { LINE_COUNT = sizeof lines / sizeof *lines };

/* All mechanisms that go so far, at one length. */
static void measure_length(struct benchmark_session *session, int64_t length, attnzoo_mask *causal)
{
    struct benchmark_subject subjects[LINE_COUNT];
    struct benchmark_prepared *prepared[LINE_COUNT];
    int calls[LINE_COUNT];
    struct benchmark_group group = {.count = 0};
    for (int i = 0; i < LINE_COUNT; i++) {
        if (length > lines[i].longest)
            continue;
        subjects[i] = lines[i].subject;
        subjects[i].queries = subjects[i].keys = length;
        prepared[i] = benchmark_prepare(&subjects[i]);
        calls[i] = benchmark_add_forward(&group, session, ONE_THREAD, prepared[i], lines[i].is_causal ? causal : NULL);
    }
    benchmark_time_group(&group, session);
    for (int i = 0; i < LINE_COUNT; i++) {
        if (length > lines[i].longest)
            continue;
        struct benchmark_row row = benchmark_make_row(session, ONE_THREAD, &subjects[i],
                                                      lines[i].is_causal ? "causal" : NULL, &group, calls[i]);
        benchmark_report_add(session->report, &row);
        benchmark_release(prepared[i]);
    }
}

static void run(struct benchmark_session *session)
{
    attnzoo_mask *causal = benchmark_make_mask(1);
    for (int64_t length = SHORTEST; length <= lines[0].longest; length *= 2)
        measure_length(session, length, causal);
    attnzoo_mask_destroy(causal);
}

const struct benchmark_suite benchmark_length_suite = {
    "length",
    "Every mechanism at N = M = 128 to 8192, in one thread. Sizes are B, H, N, M, D where they are not named.", run};
