/*
 * benchmarks/tiny_suite.c: what a call costs beyond its arithmetic, seen in calls that have next to none: against the
 * two bare cblas_sgemm calls that it comes to.
 */
#include "session.h"

#include <cblas.h>
#include <stdlib.h>

static const struct {
    struct benchmark_subject subject;
    double nanoseconds_at_most;
} tiny[] = {
    {{.mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = 1, .heads = 1, .queries = 8, .keys = 8, .head_size = 16},
     1000.0},
    {{.mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = 1, .heads = 1, .queries = 1, .keys = 1, .head_size = 16},
     0.0},
};

struct bare_products {
    int length;
    int size;
    float *rows;
    float *scores;
    float *context;
};

static void multiply(void *context)
{
    const struct bare_products *p = context;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, p->length, p->length, p->size, 0.25f, p->rows, p->size,
                p->rows, p->size, 0.0f, p->scores, p->length);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->length, p->size, p->length, 1.0f, p->scores, p->length,
                p->rows, p->size, 0.0f, p->context, p->size);
}

static void measure(struct benchmark_session *session, const struct benchmark_subject *subject,
                    double nanoseconds_at_most)
{
    size_t length = (size_t)subject->keys, size = (size_t)subject->head_size;
    struct bare_products products = {(int)length, (int)size, benchmark_make_floats(length * size),
                                     benchmark_make_floats(length * length), benchmark_make_floats(length * size)};
    struct benchmark_prepared *prepared = benchmark_prepare(subject);
    struct benchmark_group group = {.count = 0};
    int bare = benchmark_add_call(&group, multiply, &products);
    for (int way = 0; way < session->way_count; way++)
        benchmark_add_forward(&group, session, way, prepared, NULL);
    benchmark_time_group(&group, session);
    for (int way = 0; way < session->way_count; way++) {
        struct benchmark_row row = benchmark_make_row(session, way, subject, NULL, &group, bare + 1 + way);
        double bare_seconds = benchmark_median(&group, bare);
        benchmark_compare_times(&row, bare_seconds, "two cblas_sgemm");
        row.figure = (struct benchmark_quantity){(row.timing.median - bare_seconds) * 1e9, "ns"};
        row.figure_name = "more";
        row.at_most = nanoseconds_at_most;
        benchmark_report_add(session->report, &row);
    }
    benchmark_release(prepared);
    free(products.rows);
    free(products.scores);
    free(products.context);
}

static void run(struct benchmark_session *session)
{
    benchmark_limit_blas();
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++)
        measure(session, &tiny[i].subject, tiny[i].nanoseconds_at_most);
}

const struct benchmark_suite benchmark_tiny_suite = {
    "tiny", "scaled_dot_product on next to nothing, against its two bare `cblas_sgemm` calls. Sizes are B, H, N, M, D.",
    run};
