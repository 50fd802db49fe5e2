/*
 * benchmarks/attention_suite.c: scaled_dot_product against the rate of a plain cblas_sgemm; causal calls and windows
 * against the full call. The rate is 4 B H N M D floating-point operations over the time, causal calls counted in full.
 */
#include "session.h"

struct shape_goals {
    struct benchmark_subject subject;
    /* Of the rate of plain products, in one thread; 0 where the issue sets none. */
    double full_at_least;
    /* Of the full time. */
    double causal_at_most;
    /* For two threads. */
    double speedup_at_least;
    int has_windows;
};

#define SHAPE(b, h, n, m, d)                                                                                           \
    {                                                                                                                  \
        .mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = (b), .heads = (h), .queries = (n), .keys = (m),            \
        .head_size = (d)                                                                                               \
    }

static const struct shape_goals shapes[] = {
    {SHAPE(1, 8, 512, 512, 64), 0.0, 0.0, 0.0, 0},     {SHAPE(1, 12, 1024, 1024, 64), 0.80, 0.0, 1.8, 0},
    {SHAPE(1, 8, 2048, 2048, 64), 0.80, 0.58, 1.8, 0}, {SHAPE(1, 8, 2048, 2048, 128), 0.90, 0.58, 1.8, 0},
    {SHAPE(1, 4, 8192, 8192, 64), 0.80, 0.58, 1.8, 1}, {SHAPE(8, 12, 128, 128, 64), 0.0, 0.0, 0.0, 0},
};

/* What a query may see. */
enum { FULL, CAUSAL, CAUSAL_WINDOW, BOTH_WAYS_WINDOW, VARIANT_COUNT };

static const char *const variant_names[VARIANT_COUNT] = {"full", "causal", "causal, window of 256",
                                                         "window of 256, both ways"};

static attnzoo_mask *make_variant_mask(int variant)
{
    attnzoo_mask *mask = benchmark_make_mask(variant == CAUSAL || variant == CAUSAL_WINDOW);
    if (variant == CAUSAL_WINDOW)
        benchmark_check(attnzoo_mask_set_window(mask, 255, 0));
    if (variant == BOTH_WAYS_WINDOW)
        benchmark_check(attnzoo_mask_set_window(mask, 128, 127));
    return mask;
}

/* The calls of one shape, in the group's numbers. */
struct shape_calls {
    int products;
    int variants[VARIANT_COUNT];
};

static void report_full(struct benchmark_session *session, const struct shape_goals *shape, int way,
                        const struct benchmark_row *full, double products_rate)
{
    struct benchmark_row row = *full;
    row.limit = (struct benchmark_quantity){products_rate, "GFLOP/s"};
    row.limit_name = "cblas_sgemm";
    row.figure = (struct benchmark_quantity){row.rate.value / products_rate, ""};
    row.figure_name = "of that rate";
    row.at_least = session->threads[way] == 1 ? shape->full_at_least : 0.0;
    benchmark_report_add(session->report, &row);
}

static void report_variant(struct benchmark_session *session, const struct shape_goals *shape, int way, int variant,
                           const struct benchmark_row *call, double full_seconds)
{
    struct benchmark_row row = *call;
    benchmark_compare_times(&row, full_seconds, "full");
    if (session->threads[way] == 1)
        row.at_most = variant == CAUSAL ? shape->causal_at_most : 0.10;
    benchmark_report_add(session->report, &row);
}

static void report_shape(struct benchmark_session *session, const struct shape_goals *shape,
                         const struct benchmark_group *group, const struct shape_calls *ways,
                         struct benchmark_products *const *products)
{
    int variant_count = shape->has_windows ? VARIANT_COUNT : CAUSAL + 1;
    struct benchmark_row rows[BENCHMARK_WAYS_MAX][VARIANT_COUNT];
    for (int way = 0; way < session->way_count; way++) {
        double full_seconds = benchmark_median(group, ways[way].variants[FULL]);
        for (int variant = 0; variant < variant_count; variant++) {
            struct benchmark_row *row = &rows[way][variant];
            *row = benchmark_make_row(session, way, &shape->subject, variant_names[variant], group,
                                      ways[way].variants[variant]);
            /* What a window hides is nearly all: a rate that counts it would say nothing. */
            if (variant == FULL || variant == CAUSAL)
                row->rate =
                    (struct benchmark_quantity){benchmark_operations(&shape->subject) / row->timing.median, "GFLOP/s"};
            if (variant == FULL)
                report_full(session, shape, way, row,
                            benchmark_products_rate(session, way, products[way], group, ways[way].products));
            else
                report_variant(session, shape, way, variant, row, full_seconds);
            if (way > 0)
                benchmark_report_speedup(session, &rows[0][variant], row, shape->speedup_at_least);
        }
    }
}

static void measure_shape(struct benchmark_session *session, const struct shape_goals *shape,
                          struct benchmark_products *const *products, attnzoo_mask *const *masks)
{
    int variant_count = shape->has_windows ? VARIANT_COUNT : CAUSAL + 1;
    struct benchmark_prepared *prepared = benchmark_prepare(&shape->subject);
    struct benchmark_group group = {.count = 0};
    struct shape_calls ways[BENCHMARK_WAYS_MAX];
    for (int way = 0; way < session->way_count; way++) {
        ways[way].products = benchmark_add_call(&group, benchmark_run_products, products[way]);
        for (int variant = 0; variant < variant_count; variant++)
            ways[way].variants[variant] = benchmark_add_forward(&group, session, way, prepared, masks[variant]);
    }
    benchmark_time_group(&group, session);
    report_shape(session, shape, &group, ways, products);
    benchmark_release(prepared);
}

static void run(struct benchmark_session *session)
{
    struct benchmark_products *products[BENCHMARK_WAYS_MAX];
    attnzoo_mask *masks[VARIANT_COUNT];
    for (int way = 0; way < session->way_count; way++)
        products[way] = benchmark_make_products(session->threads[way]);
    for (int variant = 0; variant < VARIANT_COUNT; variant++)
        masks[variant] = variant == FULL ? NULL : make_variant_mask(variant);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        measure_shape(session, &shapes[i], products, masks);
    for (int way = 0; way < session->way_count; way++)
        benchmark_free_products(products[way]);
    for (int variant = 0; variant < VARIANT_COUNT; variant++)
        attnzoo_mask_destroy(masks[variant]);
}

const struct benchmark_suite benchmark_attention_suite = {
    "attention",
    "scaled_dot_product against `cblas_sgemm` of 1024 × 1024 matrices in the same threads, and causal calls and "
    "windows "
    "against the full call. Sizes are B, H, N, M, D; the rate is 4·B·H·N·M·D over the time, causal calls counted in "
    "full.",
    run};
