/*
 * benchmarks/masks_suite.c: what masks cost, and what segments save, against the same call that hides nothing.
 */
#include "session.h"

#include <math.h>
#include <stdlib.h>

static const struct benchmark_subject dense = {
    .mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = 1, .heads = 12, .queries = 1024, .keys = 1024, .head_size = 64};
static const struct benchmark_subject packed = {
    .mechanism = BENCHMARK_SCALED_DOT_PRODUCT, .batch = 1, .heads = 8, .queries = 4096, .keys = 4096, .head_size = 64};

enum { SEGMENTS = 8 };

/* A mask and the tensor that it reads in place. */
struct tensor_mask {
    const char *name;
    attnzoo_mask *mask;
    struct benchmark_tensor tensor;
};

/* One key in eight is hidden, here and there: no tile is all seen or all hidden. */
static struct tensor_mask make_boolean_mask(void)
{
    struct tensor_mask made = {.name = "boolean mask [N, M]", .mask = benchmark_make_mask(0)};
    const int64_t shape[] = {dense.queries, dense.keys};
    size_t count = (size_t)(dense.queries * dense.keys);
    float *random = benchmark_make_floats(count);
    unsigned char *seen = benchmark_allocate(count);
    for (size_t i = 0; i < count; i++)
        seen[i] = random[i] < 0.75f;
    free(random);
    made.tensor.data = seen;
    benchmark_check(attnzoo_tensor_create(&made.tensor.view, seen, ATTNZOO_DTYPE_BOOL, 2, shape, NULL));
    benchmark_check(attnzoo_mask_set_boolean(made.mask, made.tensor.view));
    return made;
}

static struct tensor_mask make_bias_mask(const char *name, int64_t heads)
{
    struct tensor_mask made = {.name = name, .mask = benchmark_make_mask(0)};
    made.tensor = benchmark_make_tensor(3, (const int64_t[]){heads, dense.queries, dense.keys});
    benchmark_check(attnzoo_mask_set_bias(made.mask, made.tensor.view));
    return made;
}

static struct tensor_mask make_segment_mask(void)
{
    struct tensor_mask made = {.name = "8 segments", .mask = benchmark_make_mask(0)};
    int32_t *ids = benchmark_allocate((size_t)packed.keys * sizeof *ids);
    for (int64_t key = 0; key < packed.keys; key++)
        ids[key] = (int32_t)(key * SEGMENTS / packed.keys);
    made.tensor.data = ids;
    benchmark_check(
        attnzoo_tensor_create(&made.tensor.view, ids, ATTNZOO_DTYPE_INT32, 1, (const int64_t[]){packed.keys}, NULL));
    benchmark_check(attnzoo_mask_set_segments(made.mask, made.tensor.view));
    return made;
}

static void free_mask(struct tensor_mask *mask)
{
    attnzoo_mask_destroy(mask->mask);
    benchmark_free_tensor(&mask->tensor);
}

/* Times the call without and with each mask in one thread. at_most: one goal a mask, 0 for none. */
static void measure(struct benchmark_session *session, const struct benchmark_subject *subject,
                    struct tensor_mask *masks, const double *at_most, int count)
{
    enum { ONE_THREAD = 0 };
    struct benchmark_prepared *prepared = benchmark_prepare(subject);
    struct benchmark_group group = {.count = 0};
    int plain = benchmark_add_forward(&group, session, ONE_THREAD, prepared, NULL);
    for (int i = 0; i < count; i++)
        benchmark_add_forward(&group, session, ONE_THREAD, prepared, masks[i].mask);
    benchmark_time_group(&group, session);
    struct benchmark_row row = benchmark_make_row(session, ONE_THREAD, subject, "no mask", &group, plain);
    benchmark_report_add(session->report, &row);
    for (int i = 0; i < count; i++) {
        row = benchmark_make_row(session, ONE_THREAD, subject, masks[i].name, &group, plain + 1 + i);
        benchmark_compare_times(&row, benchmark_median(&group, plain), "no mask");
        row.at_most = at_most[i];
        benchmark_report_add(session->report, &row);
        free_mask(&masks[i]);
    }
    benchmark_release(prepared);
}

static void run(struct benchmark_session *session)
{
    struct tensor_mask masks[] = {make_boolean_mask(), make_bias_mask("bias [N, M]", 1),
                                  make_bias_mask("bias [H, N, M]", dense.heads)};
    measure(session, &dense, masks, (const double[]){1.15, 1.15, 0.0}, 3);
    struct tensor_mask segments = make_segment_mask();
    measure(session, &packed, &segments, (const double[]){0.25}, 1);
}

const struct benchmark_suite benchmark_masks_suite = {
    "masks", "scaled_dot_product with masks against the same call without, in one thread. Sizes are B, H, N, M, D.",
    run};
