/*
 * benchmarks/mechanisms_suite.c: the mechanisms beyond scaled_dot_product, each against what bounds it: multi_head
 * against its bare products, the relative flavours against plain attention and multi_head of the same sizes, the
 * additive ones by the time that a hidden unit takes; and all of them in two threads against one.
 */
#include "session.h"

#include <cblas.h>
#include <stdlib.h>

enum { BATCH = 1, WIDTH = 31, FILTERS = 32, CLIP = 16 };

/* The goal for two threads, from 1024 queries on. */
static const double speedup_at_least = 1.8;

static double speedup_goal(const struct benchmark_subject *subject)
{
    return subject->queries >= 1024 ? speedup_at_least : 0.0;
}

/* The products of multi_head on (1, 128, 512) with 8 heads, and nothing else. */
enum { ROWS = 128, FEATURES = 512, HEADS = 8, HEAD_SIZE = FEATURES / HEADS, JOINED = 3 * FEATURES };

struct bare_products {
    float *input;
    float *weight;
    float *projected;
    float *scores;
    float *context;
};

static void multiply(void *context)
{
    const struct bare_products *p = context;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, JOINED, FEATURES, 1.0f, p->input, FEATURES, p->weight,
                FEATURES, 0.0f, p->projected, JOINED);
    for (int head = 0; head < HEADS; head++) {
        const float *query = p->projected + HEAD_SIZE * head, *key = query + FEATURES, *value = key + FEATURES;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, ROWS, HEAD_SIZE, 0.125f, query, JOINED, key, JOINED,
                    0.0f, p->scores, ROWS);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, HEAD_SIZE, ROWS, 1.0f, p->scores, ROWS, value,
                    JOINED, 0.0f, p->context + HEAD_SIZE * head, FEATURES);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, FEATURES, FEATURES, 1.0f, p->context, FEATURES,
                p->weight, FEATURES, 0.0f, p->projected, JOINED);
}

static struct bare_products make_products(void)
{
    return (struct bare_products){
        benchmark_make_floats((size_t)ROWS * FEATURES), benchmark_make_floats((size_t)JOINED * FEATURES),
        benchmark_make_floats((size_t)ROWS * JOINED), benchmark_make_floats((size_t)ROWS * ROWS),
        benchmark_make_floats((size_t)ROWS * FEATURES)};
}

static void free_products(struct bare_products *products)
{
    free(products->input);
    free(products->weight);
    free(products->projected);
    free(products->scores);
    free(products->context);
}

static void measure_short_multi_head(struct benchmark_session *session)
{
    static const struct benchmark_subject subject = {.mechanism = BENCHMARK_MULTI_HEAD,
                                                     .batch = BATCH,
                                                     .heads = HEADS,
                                                     .queries = ROWS,
                                                     .keys = ROWS,
                                                     .head_size = HEAD_SIZE,
                                                     .is_self = 1};
    struct bare_products products = make_products();
    struct benchmark_prepared *prepared = benchmark_prepare(&subject);
    struct benchmark_group group = {.count = 0};
    struct benchmark_row rows[BENCHMARK_WAYS_MAX];
    benchmark_limit_blas();
    int bare = benchmark_add_call(&group, multiply, &products);
    for (int way = 0; way < session->way_count; way++)
        benchmark_add_forward(&group, session, way, prepared, NULL);
    benchmark_time_group(&group, session);
    for (int way = 0; way < session->way_count; way++) {
        rows[way] = benchmark_make_row(session, way, &subject, "E = 512, self-attention", &group, bare + 1 + way);
        if (way > 0) {
            benchmark_report_speedup(session, &rows[0], &rows[way], 0.0);
            continue;
        }
        struct benchmark_row row = rows[way];
        benchmark_compare_times(&row, benchmark_median(&group, bare), "its bare cblas_sgemm");
        row.figure.value = 1.0 / row.figure.value;
        row.figure_name = "of their rate";
        row.at_least = 0.85;
        benchmark_report_add(session->report, &row);
    }
    benchmark_release(prepared);
    free_products(&products);
}

/* Mechanisms of the same sizes, and how long they may take as multiples of scaled_dot_product and of multi_head. */
struct relative_sizes {
    const char *name;
    int64_t heads;
    int64_t queries;
    int64_t keys;
    int is_self;
    double transformer_xl_at_most;
    double shaw_at_most;
};

/*
 * The goals stand where projections are small beside attention. With E = 512 the products of transformer_xl alone,
 * projections included, are more than twice those of plain attention.
 */
static const struct relative_sizes relatives[] = {{"E = 64", 1, 2048, 2048, 1, 1.9, 1.5},
                                                  {"E = 512", 8, 2048, 2048, 1, 0.0, 0.0},
                                                  {"E = 512, memory of 1024", 8, 1024, 2048, 0, 0.0, 0.0}};

enum { PLAIN, PROJECTED, TRANSFORMER_XL, SHAW, RELATIVE_COUNT };

static const enum benchmark_mechanism relative_mechanisms[RELATIVE_COUNT] = {
    BENCHMARK_SCALED_DOT_PRODUCT, BENCHMARK_MULTI_HEAD, BENCHMARK_TRANSFORMER_XL, BENCHMARK_SHAW};

static struct benchmark_subject make_relative(const struct relative_sizes *sizes, int which)
{
    return (struct benchmark_subject){.mechanism = relative_mechanisms[which],
                                      .batch = BATCH,
                                      .heads = sizes->heads,
                                      .queries = sizes->queries,
                                      .keys = sizes->keys,
                                      .head_size = HEAD_SIZE,
                                      .clip = which == SHAW ? CLIP : 0,
                                      .is_self = which != PLAIN && sizes->is_self};
}

/* rows: by way and mechanism. */
static void report_relative(struct benchmark_session *session, const struct relative_sizes *sizes,
                            struct benchmark_row rows[][RELATIVE_COUNT], int way, int which)
{
    struct benchmark_row row = rows[way][which];
    if (which == PLAIN) {
        benchmark_report_add(session->report, &row);
    } else {
        benchmark_compare_times(&row, rows[way][PLAIN].timing.median, "scaled_dot_product");
        if (session->threads[way] == 1)
            row.at_most = which == TRANSFORMER_XL ? sizes->transformer_xl_at_most
                          : which == SHAW         ? sizes->shaw_at_most
                                                  : 0.0;
        benchmark_report_add(session->report, &row);
    }
    if (which == TRANSFORMER_XL || which == SHAW) {
        row = rows[way][which];
        benchmark_compare_times(&row, rows[way][PROJECTED].timing.median, "multi_head");
        benchmark_report_add(session->report, &row);
    }
    if (way > 0)
        benchmark_report_speedup(session, &rows[0][which], &rows[way][which], speedup_goal(rows[way][which].subject));
}

static void measure_relatives(struct benchmark_session *session, const struct relative_sizes *sizes)
{
    struct benchmark_subject subjects[RELATIVE_COUNT];
    struct benchmark_prepared *prepared[RELATIVE_COUNT];
    struct benchmark_row rows[BENCHMARK_WAYS_MAX][RELATIVE_COUNT];
    struct benchmark_group group = {.count = 0};
    for (int which = 0; which < RELATIVE_COUNT; which++) {
        subjects[which] = make_relative(sizes, which);
        prepared[which] = benchmark_prepare(&subjects[which]);
    }
    for (int way = 0; way < session->way_count; way++)
        for (int which = 0; which < RELATIVE_COUNT; which++)
            benchmark_add_forward(&group, session, way, prepared[which], NULL);
    benchmark_time_group(&group, session);
    for (int way = 0; way < session->way_count; way++)
        for (int which = 0; which < RELATIVE_COUNT; which++)
            rows[way][which] = benchmark_make_row(session, way, &subjects[which], which == PLAIN ? NULL : sizes->name,
                                                  &group, way * RELATIVE_COUNT + which);
    for (int way = 0; way < session->way_count; way++)
        for (int which = 0; which < RELATIVE_COUNT; which++)
            report_relative(session, sizes, rows, way, which);
    for (int which = 0; which < RELATIVE_COUNT; which++)
        benchmark_release(prepared[which]);
}

static const struct benchmark_subject additives[] = {
    {.mechanism = BENCHMARK_ADDITIVE, .batch = BATCH, .heads = 1, .queries = 256, .keys = 1024, .hidden_size = 256},
    {.mechanism = BENCHMARK_ADDITIVE, .batch = BATCH, .heads = 1, .queries = 1024, .keys = 1024, .hidden_size = 256},
    {.mechanism = BENCHMARK_LOCATION_AWARE,
     .batch = BATCH,
     .heads = 1,
     .queries = 1,
     .keys = 1000,
     .hidden_size = 512,
     .filters = FILTERS,
     .width = WIDTH},
    {.mechanism = BENCHMARK_LOCATION_AWARE,
     .batch = BATCH,
     .heads = 1,
     .queries = 1024,
     .keys = 1000,
     .hidden_size = 512,
     .filters = FILTERS,
     .width = WIDTH},
};

/* Nanoseconds of a thread for each hidden unit of each pair. */
static const double unit_at_most = 1.2;

static void measure_additive(struct benchmark_session *session, const struct benchmark_subject *subject)
{
    struct benchmark_prepared *prepared = benchmark_prepare(subject);
    struct benchmark_group group = {.count = 0};
    struct benchmark_row rows[BENCHMARK_WAYS_MAX];
    for (int way = 0; way < session->way_count; way++)
        benchmark_add_forward(&group, session, way, prepared, NULL);
    benchmark_time_group(&group, session);
    for (int way = 0; way < session->way_count; way++) {
        struct benchmark_row row = benchmark_make_row(session, way, subject, NULL, &group, way);
        rows[way] = row;
        row.figure = (struct benchmark_quantity){
            row.timing.median * 1e9 * session->threads[way] / benchmark_hidden_units(subject), "ns"};
        row.figure_name = "a hidden unit and thread";
        row.at_most = unit_at_most;
        benchmark_report_add(session->report, &row);
        if (way > 0)
            benchmark_report_speedup(session, &rows[0], &rows[way], speedup_goal(subject));
    }
    benchmark_release(prepared);
}

static void run(struct benchmark_session *session)
{
    measure_short_multi_head(session);
    for (size_t i = 0; i < sizeof relatives / sizeof *relatives; i++)
        measure_relatives(session, &relatives[i]);
    for (size_t i = 0; i < sizeof additives / sizeof *additives; i++)
        measure_additive(session, &additives[i]);
}

const struct benchmark_suite benchmark_mechanisms_suite = {
    "mechanisms",
    "The other mechanisms against what bounds them. Sizes are B, H, N, M, D where they are not named; E features go in "
    "and out. A hidden unit is one of the A tanh of one pair of query and key.",
    run};
