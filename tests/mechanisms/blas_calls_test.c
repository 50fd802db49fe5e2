/*
 * tests/mechanisms/blas_calls_test.c: what the library asks of the BLAS, seen from between the two: sizes and steps that
 * every BLAS takes (the reference BLAS ends the process over others), and products in one thread each while the
 * application has set more. This program defines cblas_sgemm and cblas_sgemv itself, which hand on to those of the BLAS.
 */
#include "support/multi_head_case.h"
#include "support/tanh_case.h"
#include "support/testing.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void cblas_sgemm(int order, int transpose_a, int transpose_b, int rows, int columns, int inner, float scale,
                          const float *a, int a_step, const float *b, int b_step, float keep, float *c, int c_step);
EXPORTED void cblas_sgemv(int order, int transpose, int rows, int columns, float scale, const float *a, int a_step,
                          const float *x, int x_step, float keep, float *y, int y_step);

static void (*real_sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                          int);
static void (*real_sgemv)(int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
/* How many threads the BLAS would use for a product of the calling thread, where it tells. */
static int (*threads_of_blas)(void);
static void (*set_threads_of_blas)(int);

static atomic_int products, bad_products, parallel_products;
static _Atomic(const char *) complaint;

static void look_at(bool is_fine, const char *what)
{
    atomic_fetch_add(&products, 1);
    if (!is_fine) {
        atomic_fetch_add(&bad_products, 1);
        atomic_store(&complaint, what);
    }
    if (threads_of_blas != NULL && threads_of_blas() > 1)
        atomic_fetch_add(&parallel_products, 1);
}

void cblas_sgemm(int order, int transpose_a, int transpose_b, int rows, int columns, int inner, float scale,
                 const float *a, int a_step, const float *b, int b_step, float keep, float *c, int c_step)
{
    int a_width = transpose_a == PLAIN ? inner : rows, b_width = transpose_b == PLAIN ? columns : inner;
    bool is_fine = order == ROW_MAJOR && (transpose_a == PLAIN || transpose_a == TRANSPOSED) &&
                   (transpose_b == PLAIN || transpose_b == TRANSPOSED) && rows > 0 && columns > 0 && inner > 0 &&
                   a_step >= a_width && b_step >= b_width && c_step >= columns && a != NULL && b != NULL && c != NULL;
    look_at(is_fine, "cblas_sgemm");
    if (is_fine)
        real_sgemm(order, transpose_a, transpose_b, rows, columns, inner, scale, a, a_step, b, b_step, keep, c, c_step);
}

void cblas_sgemv(int order, int transpose, int rows, int columns, float scale, const float *a, int a_step,
                 const float *x, int x_step, float keep, float *y, int y_step)
{
    bool is_fine = order == ROW_MAJOR && (transpose == PLAIN || transpose == TRANSPOSED) && rows > 0 && columns > 0 &&
                   a_step >= columns && x_step != 0 && y_step != 0 && a != NULL && x != NULL && y != NULL;
    look_at(is_fine, "cblas_sgemv");
    if (is_fine)
        real_sgemv(order, transpose, rows, columns, scale, a, a_step, x, x_step, keep, y, y_step);
}

static void find(void *where, const char *name, void *function)
{
    void *symbol = dlsym(where, name);
    memcpy(function, &symbol, sizeof symbol);
}

/* OpenMP's number is the calling thread's, those of the others are the process'. */
static int set_up(void **state)
{
    (void)state;
    find(RTLD_NEXT, "cblas_sgemm", &real_sgemm);
    find(RTLD_NEXT, "cblas_sgemv", &real_sgemv);
    const char *const names[][2] = {{"omp_get_max_threads", "omp_set_num_threads"},
                                    {"openblas_get_num_threads", "openblas_set_num_threads"}};
    for (int i = 0; i < 2 && threads_of_blas == NULL; i++) {
        find(RTLD_DEFAULT, names[i][0], &threads_of_blas);
        find(RTLD_DEFAULT, names[i][1], &set_threads_of_blas);
    }
    return real_sgemm != NULL && real_sgemv != NULL ? 0 : -1;
}

static void call_scaled_dot_product(attnzoo_executor *executor, struct attention_sizes sizes, bool is_causal)
{
    struct attention_case test;
    struct random_source source = {1};
    attention_case_plan(&test, sizes);
    test.causal = is_causal;
    attention_case_allocate(&test);
    attention_case_fill(&test, &source, 1.0);
    attention_case_check(&test, executor);
    attention_case_destroy(&test);
}

static void call_multi_head(attnzoo_executor *executor, struct multi_head_sizes sizes)
{
    struct multi_head_case test;
    struct random_source source = {2};
    multi_head_case_plan(&test, sizes);
    multi_head_case_allocate(&test);
    multi_head_case_fill(&test, &source, 1.0);
    multi_head_case_check(&test, executor);
    multi_head_case_destroy(&test);
}

static void call_tanh(attnzoo_executor *executor, const char *mechanism, struct tanh_sizes sizes)
{
    struct tanh_case test;
    tanh_case_plan(&test, mechanism, sizes, REFERENCE_PREVIOUS);
    tanh_case_allocate_and_fill(&test);
    tanh_case_check(&test, executor);
    tanh_case_destroy(&test);
}

static struct multi_head_sizes multi_head_sizes_of(int flavor)
{
    return (struct multi_head_sizes){(enum reference_flavor)flavor, 2, 4, 2, 5, 7, 0, 8, 6, 12, 11, 10, 9, 13, 2};
}

static struct tanh_sizes tanh_sizes_of(int which)
{
    return (struct tanh_sizes){.batch = 2,
                               .heads = which == 1 ? 4 : 1,
                               .key_heads = which == 1 ? 2 : 1,
                               .queries = 5,
                               .keys = 40,
                               .query_size = 6,
                               .key_size = 7,
                               .value_size = 8,
                               .attention_size = 9,
                               .value_columns = 10,
                               .filters = 3,
                               .width = 5};
}

static const char *const TANH_NAMES[] = {"additive", "location_aware"};

/* `zeros` has a bit for each axis that is 0. */
static void call_everything_with_zeros(int zeros)
{
    struct attention_sizes plain = {2, 4, 2, 5, 7, 8, 6};
    int64_t *plain_axes[] = {&plain.batch, &plain.queries, &plain.keys, &plain.head_size, &plain.value_size};
    for (int i = 0; i < 5; i++)
        *plain_axes[i] = (zeros >> i & 1) != 0 ? 0 : *plain_axes[i];
    call_scaled_dot_product(NULL, plain, false);
    for (int flavor = 0; flavor < 3; flavor++) {
        struct multi_head_sizes sizes = multi_head_sizes_of(flavor);
        int64_t *axes[] = {&sizes.batch,     &sizes.queries,     &sizes.keys,
                           &sizes.head_size, &sizes.value_size,  &sizes.query_width,
                           &sizes.key_width, &sizes.value_width, &sizes.position_width};
        for (int i = 0; i < 9; i++)
            *axes[i] = (zeros >> i & 1) != 0 ? 0 : *axes[i];
        call_multi_head(NULL, sizes);
    }
    for (int which = 0; which < 2; which++) {
        struct tanh_sizes sizes = tanh_sizes_of(which);
        int64_t *axes[] = {&sizes.batch,          &sizes.queries,       &sizes.keys,
                           &sizes.query_size,     &sizes.key_size,      &sizes.value_size,
                           &sizes.attention_size, &sizes.value_columns, &sizes.filters};
        for (int i = 0; i < 9; i++)
            *axes[i] = (zeros >> i & 1) != 0 ? 0 : *axes[i];
        call_tanh(NULL, TANH_NAMES[which], sizes);
    }
}

static void p27_the_blas_is_given_what_every_blas_takes(void **state)
{
    (void)state;
    atomic_store(&products, 0);
    atomic_store(&bad_products, 0);
    call_everything_with_zeros(0);
    for (int first = 0; first < 9; first++)
        for (int second = first; second < 9; second++)
            call_everything_with_zeros(1 << first | 1 << second);
    if (atomic_load(&bad_products) > 0)
        fail_msg("%d of %d products, one of them by %s", atomic_load(&bad_products), atomic_load(&products),
                 atomic_load(&complaint));
    print_message("%d products\n", atomic_load(&products));
    assert_true(atomic_load(&products) > 100);
}

static void p46_products_are_made_in_one_thread_each(void **state)
{
    (void)state;
    if (threads_of_blas == NULL || set_threads_of_blas == NULL) {
        print_message("skipped: this BLAS does not tell how many threads it uses\n");
        skip();
    }
    int before = threads_of_blas();
    set_threads_of_blas(4);
    if (threads_of_blas() < 2) {
        print_message("skipped: this BLAS has no threads\n");
        skip();
    }
    int setting = threads_of_blas();
    for (int32_t threads = 0; threads <= 3; threads++) {
        attnzoo_executor *executor = NULL;
        if (threads > 0)
            assert_ok(attnzoo_executor_create(&executor, threads));
        atomic_store(&products, 0);
        atomic_store(&parallel_products, 0);
        call_scaled_dot_product(executor, (struct attention_sizes){1, 4, 4, 130, 200, 32, 32}, true);
        call_scaled_dot_product(executor, (struct attention_sizes){1, 4, 4, 1, 5000, 32, 32}, false);
        for (int flavor = 0; flavor < 3; flavor++)
            call_multi_head(executor, multi_head_sizes_of(flavor));
        for (int which = 0; which < 2; which++)
            call_tanh(executor, TANH_NAMES[which], tanh_sizes_of(which));
        attnzoo_executor_destroy(executor);
        assert_true(atomic_load(&products) > 10);
        if (atomic_load(&parallel_products) > 0)
            fail_msg("%d threads: %d of %d products were given to %d threads of the BLAS", (int)threads,
                     atomic_load(&parallel_products), atomic_load(&products), setting);
        assert_int_equal(threads_of_blas(), setting);
    }
    set_threads_of_blas(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p27_the_blas_is_given_what_every_blas_takes),
        cmocka_unit_test(p46_products_are_made_in_one_thread_each),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
