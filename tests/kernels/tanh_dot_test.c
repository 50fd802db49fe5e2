/*
 * tests/kernels/tanh_dot_test.c: the scores of additive attention and log sigmoid: on every CPU path, at every length
 * from 0 to a few vectors and at unaligned places that end where memory does.
 */
#include "vector_paths.h"

#include "kernels/softmax.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONGEST = 140 };

static const double UNIT_ROUNDOFF = 0x1p-24;

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static float random_between(float lowest, float highest)
{
    return lowest + (highest - lowest) * (float)next_random() * 0x1p-24f;
}

/* Four rows, each of which ends right before a page that cannot be touched. */
struct rows {
    unsigned char *map;
    size_t page;
    float *end[4];
};

static struct rows create_rows(void)
{
    struct rows rows = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    rows.map = mmap(NULL, 8 * rows.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(rows.map != MAP_FAILED);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(mprotect(rows.map + (2 * i + 1) * rows.page, rows.page, PROT_NONE), 0);
        rows.end[i] = (float *)(void *)(rows.map + (2 * i + 1) * rows.page);
    }
    return rows;
}

static void destroy_rows(struct rows *rows)
{
    munmap(rows->map, 8 * rows->page);
}

/* sum w tanh(l + r + e), e 0 without extra: the sums round, tanh is within 2 units (4 u), and the products and sums round in any order. */
static void check_tanh_dot(const struct vector_path *path, const float *weights, const float *left, const float *right,
                           const float *extra, int count)
{
    double want = 0.0, magnitude = 0.0, bound = 0.0;
    for (int i = 0; i < count; i++) {
        double pair = (double)left[i] + (double)right[i], x = pair + (extra == NULL ? 0.0 : (double)extra[i]);
        double y = tanh(x);
        double off = fmin(UNIT_ROUNDOFF * (1.0001 * fabs(x) + (extra == NULL ? 0.0 : fabs(pair))), 2.0) +
                     4.0 * UNIT_ROUNDOFF * fabs(y) + (double)FLT_TRUE_MIN;
        want += (double)weights[i] * y;
        magnitude += fabs((double)weights[i]) * (fabs(y) + off);
        bound += fabs((double)weights[i]) * off;
    }
    bound += (count + 1) * UNIT_ROUNDOFF * 1.0001 * magnitude + (double)count * (double)FLT_TRUE_MIN;
    float got = path->vectors->tanh_dot(weights, left, right, extra, count);
    if (isnan(want) ? !isnan(got) : !(fabs((double)got - want) <= bound))
        fail_msg("tanh_dot of %d on %s: got %.9g, want %.9g within %.3g", count, path->name, (double)got, want, bound);
}

static void fill_tanh_dot(float *weights, float *left, float *right, int count, int round)
{
    const float reach = round % 3 == 0 ? 0.01f : round % 3 == 1 ? 2.0f : 30.0f;
    for (int i = 0; i < count; i++) {
        weights[i] = random_between(-2.0f, 2.0f);
        left[i] = random_between(-reach, reach);
        right[i] = random_between(-reach, reach);
    }
}

static void tanh_dot_sums_weighted_tangents(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    struct rows rows = create_rows();
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++)
            for (int round = 0; round < 12; round++) {
                float *weights = rows.end[0] - count, *left = rows.end[1] - count, *right = rows.end[2] - count;
                fill_tanh_dot(weights, left, right, count, round);
                check_tanh_dot(&paths[path], weights, left, right, NULL, count);
                float *extra = rows.end[3] - count;
                for (int i = 0; i < count; i++)
                    extra[i] = random_between(-2.0f, 2.0f);
                check_tanh_dot(&paths[path], weights, left, right, extra, count);
            }
    destroy_rows(&rows);
}

static void tanh_dot_of_nothing_is_zero(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        assert_true(paths[path].vectors->tanh_dot(NULL, NULL, NULL, NULL, 0) == 0.0f);
}

/* A NaN in any of the three, at each place, makes the sum NaN; infinite and huge arguments do not. */
static void tanh_dot_keeps_nan_and_takes_infinity(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    float rows[4][40] = {{0}};
    for (int path = 0; path < path_count; path++)
        for (int place = 0; place < 40; place++) {
            for (int which = 0; which < 3; which++) {
                fill_tanh_dot(rows[0], rows[1], rows[2], 40, 1);
                rows[which][place] = NAN;
                assert_true(isnan(paths[path].vectors->tanh_dot(rows[0], rows[1], rows[2], NULL, 40)));
                rows[which][place] = 0.5f;
                rows[3][place] = NAN;
                assert_true(isnan(paths[path].vectors->tanh_dot(rows[0], rows[1], rows[2], rows[3], 40)));
                rows[3][place] = 0.0f;
            }
            fill_tanh_dot(rows[0], rows[1], rows[2], 40, 1);
            rows[1][place] = INFINITY;
            rows[2][(place + 7) % 40] = -INFINITY;
            check_tanh_dot(&paths[path], rows[0], rows[1], rows[2], NULL, 40);
            rows[1][(place + 3) % 40] = FLT_MAX;
            rows[2][(place + 3) % 40] = FLT_MAX;
            check_tanh_dot(&paths[path], rows[0], rows[1], rows[2], NULL, 40);
            rows[2][place] = -INFINITY; /* infinity - infinity */
            assert_true(isnan(paths[path].vectors->tanh_dot(rows[0], rows[1], rows[2], NULL, 40)));
        }
}

/* Long rows of equal terms: sums in parts are fine, each term counts once. */
static void tanh_dot_counts_every_term_once(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    float weights[1030], left[1030], right[1030];
    for (int i = 0; i < 1030; i++) {
        weights[i] = 1.0f;
        left[i] = 30.0f;
        right[i] = 30.0f;
    }
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= 1030; count++)
            assert_true(paths[path].vectors->tanh_dot(weights, left, right, count % 2 == 0 ? NULL : left, count) ==
                        (float)count);
}

/* The gap between floats at a value, subnormals included. */
static double unit_in_last_place(double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
}

static double log_sigmoid(double x)
{
    return x < 0.0 ? x - log1p(exp(x)) : -log1p(exp(-x));
}

/* Every 1009th float, in all exponents and both signs. */
static void log_sigmoids_are_within_four_units(void **state)
{
    (void)state;
    enum { BATCH = 4096 };
    static float scores[BATCH], results[BATCH];
    double worst = 0.0;
    float worst_at = 0.0f;
    for (uint64_t first = 0; first < UINT64_C(1) << 32; first += (uint64_t)BATCH * 1009) {
        for (uint64_t i = 0; i < BATCH; i++) {
            uint32_t bits = (uint32_t)(first + i * 1009);
            memcpy(&scores[i], &bits, sizeof bits);
        }
        memcpy(results, scores, sizeof results);
        attnzoo_softmax_log_sigmoids(results, BATCH);
        for (int i = 0; i < BATCH; i++) {
            double want = log_sigmoid((double)scores[i]);
            if (isnan(scores[i])) {
                assert_true(isnan(results[i]));
                continue;
            }
            if (isinf(want) || isinf(results[i])) {
                assert_true((double)results[i] == want);
                continue;
            }
            double units = fabs((double)results[i] - want) / unit_in_last_place(want);
            if (!(units <= worst)) {
                worst = units;
                worst_at = scores[i];
            }
        }
    }
    print_message("log sigmoid: at most %.3f units in the last place, at %a\n", worst, (double)worst_at);
    assert_true(worst <= 4.0);
}

static void log_sigmoids_stay_in_their_row(void **state)
{
    (void)state;
    struct rows rows = create_rows();
    for (int count = 0; count <= LONGEST; count++) {
        float *scores = rows.end[0] - count;
        scores[-1] = 12345.0f;
        for (int i = 0; i < count; i++)
            scores[i] = i % 7 == 3 ? -INFINITY : i % 11 == 5 ? NAN : random_between(-200.0f, 200.0f);
        memcpy(rows.end[1] - count, scores, (size_t)count * sizeof *scores);
        attnzoo_softmax_log_sigmoids(scores, count);
        assert_true(scores[-1] == 12345.0f);
        for (int i = 0; i < count; i++) {
            float score = rows.end[1][i - count];
            double want = log_sigmoid((double)score);
            assert_true(isnan(score) ? isnan(scores[i])
                                     : (double)scores[i] == want ||
                                           fabs((double)scores[i] - want) <= 4.0 * unit_in_last_place(want));
        }
    }
    destroy_rows(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tanh_dot_sums_weighted_tangents),       cmocka_unit_test(tanh_dot_of_nothing_is_zero),
        cmocka_unit_test(tanh_dot_keeps_nan_and_takes_infinity), cmocka_unit_test(tanh_dot_counts_every_term_once),
        cmocka_unit_test(log_sigmoids_are_within_four_units),    cmocka_unit_test(log_sigmoids_stay_in_their_row),
    };
    return cmocka_run_group_tests_name("tanh dot", tests, NULL, NULL);
}
