/*
 * tests/kernels/vector_rows_test.c: every row kernel against a plain loop, at every length from 0 to a few vectors and
 * at unaligned places, with guards around the row. The accuracy of exp and tanh is in vector_accuracy_test.c.
 */
#include "vector_paths.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 70, GUARD = 3, SPACE = LONGEST + 2 * GUARD };

static const float GUARD_VALUE = 12345.0f;

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* Mostly ordinary scores, with every special value among them. */
static float random_score(void)
{
    static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, -1e9f, FLT_TRUE_MIN};
    uint32_t draw = next_random();
    if (draw % 8 == 0)
        return special[draw / 8 % (sizeof special / sizeof *special)];
    return ((float)(draw % 20000) - 10000.0f) * 0.002f;
}

struct rows {
    float row[SPACE];
    float other[SPACE];
    uint8_t flags[SPACE];
};

static void fill(struct rows *rows, int count)
{
    for (int i = 0; i < SPACE; i++) {
        bool inside = i >= GUARD && i < GUARD + count;
        rows->row[i] = inside ? random_score() : GUARD_VALUE;
        rows->other[i] = inside ? random_score() : GUARD_VALUE;
        rows->flags[i] = (uint8_t)(next_random() % 2 * (1 + next_random() % 255));
    }
}

/* Each kernel rounds at most four times; where it works on subnormals, a rounding is half a unit of 2^-149, which a
 * cap of 5 multiplies. */
static void assert_same(float got, float want, const char *kernel, const char *path)
{
    bool is_same = (isnan(got) && isnan(want)) || got == want ||
                   fabsf(got - want) <= 4.0f * FLT_EPSILON * fabsf(want) + 8.0f * FLT_TRUE_MIN;
    if (!is_same)
        fail_msg("%s on %s: got %a, want %a", kernel, path, (double)got, (double)want);
}

static void assert_guarded(const struct rows *rows, int count, const char *kernel)
{
    for (int i = 0; i < SPACE; i++)
        if ((i < GUARD || i >= GUARD + count) && rows->row[i] != GUARD_VALUE)
            fail_msg("%s wrote %d places from its row's start, of length %d", kernel, i - GUARD, count);
}

/* What a kernel does to one element, by a plain formula. index counts from the row's start. */
typedef float element_rule(float value, float other, uint8_t flag, int index);
typedef void row_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                      int64_t count);

static void check_rule(const char *kernel, row_call *call, element_rule *rule)
{
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++)
            for (int round = 0; round < 8; round++) {
                struct rows rows, before;
                fill(&rows, count);
                before = rows;
                call(paths[path].vectors, rows.row + GUARD, rows.other + GUARD, rows.flags + GUARD, count);
                for (int i = GUARD; i < GUARD + count; i++)
                    assert_same(rows.row[i], rule(before.row[i], before.other[i], before.flags[i], i - GUARD), kernel,
                                paths[path].name);
                assert_guarded(&rows, count, kernel);
            }
}

static float saturated(float value)
{
    return value < -FLT_MAX ? -FLT_MAX : value;
}

static float scale_rule(float value, float other, uint8_t flag, int index)
{
    (void)value, (void)flag, (void)index;
    return other * 0.3f;
}

static void scale_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                       int64_t count)
{
    (void)flags;
    vectors->scale(row, other, count, 0.3f);
}

static void scale_multiplies(void **state)
{
    (void)state;
    check_rule("scale", scale_call, scale_rule);
}

static float add_scaled_rule(float value, float other, uint8_t flag, int index)
{
    (void)flag, (void)index;
    return (float)((double)value + (double)other * 0.5);
}

static void add_scaled_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                            int64_t count)
{
    (void)flags;
    vectors->add_scaled(row, other, count, 0.5f);
}

static void add_scaled_adds(void **state)
{
    (void)state;
    check_rule("add_scaled", add_scaled_call, add_scaled_rule);
}

static float saturate_rule(float value, float other, uint8_t flag, int index)
{
    (void)other, (void)flag, (void)index;
    return saturated(value);
}

static void saturate_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                          int64_t count)
{
    (void)other, (void)flags;
    vectors->saturate(row, count);
}

static void saturate_raises_minus_infinity(void **state)
{
    (void)state;
    check_rule("saturate", saturate_call, saturate_rule);
}

static float bias_rule(float value, float other, uint8_t flag, int index)
{
    (void)flag, (void)index;
    return other == -INFINITY ? -INFINITY : saturated(value + other);
}

static void bias_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                      int64_t count)
{
    (void)flags;
    vectors->add_bias(row, other, count);
}

static void add_bias_hides_and_saturates(void **state)
{
    (void)state;
    check_rule("add_bias", bias_call, bias_rule);
}

enum { DISTANCE = 31 };

static float linear_bias_rule(float value, float other, uint8_t flag, int index)
{
    (void)other, (void)flag;
    return saturated((float)((double)value - 0.25 * fabs((double)(DISTANCE - index))));
}

static void linear_bias_call(const struct attnzoo_vectors *vectors, float *row, const float *other,
                             const uint8_t *flags, int64_t count)
{
    (void)other, (void)flags;
    vectors->add_linear_bias(row, count, 0.25f, DISTANCE);
}

static void add_linear_bias_falls_on_both_sides(void **state)
{
    (void)state;
    check_rule("add_linear_bias", linear_bias_call, linear_bias_rule);
}

static float hide_rule(float value, float other, uint8_t flag, int index)
{
    (void)other, (void)index;
    return flag == 0 ? -INFINITY : value;
}

static void hide_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                      int64_t count)
{
    (void)other;
    vectors->hide(row, flags, count, -INFINITY);
}

static float hide_and_raise_rule(float value, float other, uint8_t flag, int index)
{
    (void)other, (void)index;
    return flag == 0 ? -INFINITY : value < -FLT_MAX ? -FLT_MAX : value;
}

static void hide_and_raise_call(const struct attnzoo_vectors *vectors, float *row, const float *other,
                                const uint8_t *flags, int64_t count)
{
    (void)other;
    vectors->hide(row, flags, count, -FLT_MAX);
}

static void hide_replaces_even_nan(void **state)
{
    (void)state;
    check_rule("hide", hide_call, hide_rule);
    check_rule("hide and raise", hide_and_raise_call, hide_and_raise_rule);
}

static float cap_rule(float value, float other, uint8_t flag, int index)
{
    (void)other, (void)flag, (void)index;
    return (float)(5.0 * tanh((double)value / 5.0));
}

static void cap_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                     int64_t count)
{
    (void)other, (void)flags;
    vectors->cap_scores(row, count, 5.0f);
}

static void cap_scores_bounds(void **state)
{
    (void)state;
    check_rule("cap_scores", cap_call, cap_rule);
}

static float add_value_rule(float value, float other, uint8_t flag, int index)
{
    (void)other, (void)flag, (void)index;
    return value + 1.5f;
}

static void add_value_call(const struct attnzoo_vectors *vectors, float *row, const float *other, const uint8_t *flags,
                           int64_t count)
{
    (void)other, (void)flags;
    vectors->add_value(row, count, 1.5f);
}

static void add_value_shifts_a_row(void **state)
{
    (void)state;
    check_rule("add_value", add_value_call, add_value_rule);
}

/* Any order of adding count numbers is within (count - 1) unit roundoffs of the sum of their magnitudes. */
static void sum_counts_every_value_once(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++) {
            float row[LONGEST + 1];
            double want = 0.0, magnitude = 0.0;
            for (int i = 0; i < count; i++) {
                row[i] = (float)(next_random() % 2001) * 0.001f - 1.0f;
                want += (double)row[i];
                magnitude += fabs((double)row[i]);
            }
            row[count] = 1e30f;
            assert_true(fabs((double)paths[path].vectors->sum(row, count) - want) <= 0x1p-24 * count * magnitude);
            for (int place = 0; place < count; place++) {
                float before = row[place];
                row[place] = NAN;
                assert_true(isnan(paths[path].vectors->sum(row, count)));
                row[place] = before;
            }
        }
}

static void maximum_passes_over_nan(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++)
            for (int round = 0; round < 16; round++) {
                struct rows rows;
                fill(&rows, count);
                float want = -INFINITY;
                for (int i = GUARD; i < GUARD + count; i++)
                    if (rows.row[i] > want)
                        want = rows.row[i];
                assert_true(paths[path].vectors->maximum(rows.row + GUARD, count) == want);
            }
}

static void transposed_squares_and_what_is_left_of_them_lie_where_they_should(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    enum { SIDE = 37, STEP = 41 };
    static float source[SIDE * STEP], transposed[SIDE * STEP];
    for (int i = 0; i < SIDE * STEP; i++)
        source[i] = (float)(i + 1);
    for (int path = 0; path < path_count; path++)
        for (int row_count = 0; row_count <= SIDE; row_count++)
            for (int column_count = 0; column_count <= SIDE; column_count++) {
                memset(transposed, 0, sizeof transposed);
                paths[path].vectors->transpose(transposed, STEP, source, STEP, row_count, column_count);
                for (int column = 0; column < SIDE; column++)
                    for (int row = 0; row < STEP; row++) {
                        bool is_inside = row < row_count && column < column_count;
                        float want = is_inside ? source[row * STEP + column] : 0.0f;
                        assert_true(transposed[column * STEP + row] == want);
                    }
            }
}

static void softmax_weights_sum_what_they_store(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++) {
            struct rows rows, before;
            fill(&rows, count);
            /* 90 and above, where exp overflows and exp(x - max) does not; and one weight that would be subnormal. */
            for (int i = GUARD; i < GUARD + count; i++)
                rows.row[i] = i == GUARD + 1 ? 100.0f - 90.0f : 90.0f + (float)(next_random() % 1000) * 0.01f;
            before = rows;
            float sum = paths[path].vectors->softmax_weights(rows.row + GUARD, count, 100.0f);
            double want_sum = 0.0;
            for (int i = GUARD; i < GUARD + count; i++) {
                double want = exp((double)before.row[i] - 100.0);
                assert_same(rows.row[i], want < (double)FLT_MIN ? 0.0f : (float)want, "softmax_weights",
                            paths[path].name);
                want_sum += want;
            }
            assert_true(fabs((double)sum - want_sum) <= 16.0 * (double)FLT_EPSILON * want_sum);
            assert_guarded(&rows, count, "softmax_weights");
        }
}

static void softmax_weights_of_nan_and_infinity_are_nan(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int place = 0; place < 40; place++) {
            float row[40] = {0.0f};
            row[place] = NAN;
            assert_true(isnan(paths[path].vectors->softmax_weights(row, 40, 0.0f)));
            memset(row, 0, sizeof row);
            row[place] = INFINITY;
            assert_true(isnan(paths[path].vectors->softmax_weights(row, 40, INFINITY)));
        }
}

static void all_finite_notices_each_place(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++) {
            float row[LONGEST + 1];
            for (int i = 0; i < count; i++)
                row[i] = i % 2 == 0 ? FLT_MAX : -FLT_MAX;
            row[count] = NAN;
            assert_true(paths[path].vectors->all_finite(row, count));
            for (int place = 0; place < count; place++) {
                float kept = row[place];
                row[place] = bad[place % 3];
                assert_false(paths[path].vectors->all_finite(row, count));
                row[place] = kept;
            }
        }
}

/* The value of a half, from its definition. */
static float half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31)
        magnitude = fraction == 0 ? INFINITY : NAN;
    return (float)(half >> 15 ? -magnitude : magnitude);
}

static void every_half_is_widened_exactly(void **state)
{
    (void)state;
    static uint16_t halves[65536];
    static float wide[65536];
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    for (int path = 0; path < path_count; path++) {
        /* 65535: the last, partial vector is done too. */
        paths[path].vectors->widen_float16(wide, halves, 65535);
        for (int i = 0; i < 65535; i++) {
            float want = half_value((uint16_t)i);
            assert_true((isnan(want) && isnan(wide[i])) || (wide[i] == want && signbit(wide[i]) == signbit(want)));
        }
        paths[path].vectors->widen_bfloat16(wide, halves, 65535);
        for (int i = 0; i < 65535; i++) {
            uint32_t bits;
            memcpy(&bits, &wide[i], sizeof bits);
            assert_true(bits == (uint32_t)i << 16);
        }
    }
}

static void kernels_leave_the_rounding_mode_alone(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    fenv_t before, after;
    for (int path = 0; path < path_count; path++) {
        float row[33] = {-90.0f, -100.0f, 3.0f};
        fesetround(FE_UPWARD);
        paths[path].vectors->exponentials(row, 33);
        paths[path].vectors->softmax_weights(row, 33, 10.0f);
        int mode = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(mode, FE_UPWARD);
        fegetenv(&before);
        paths[path].vectors->hyperbolic_tangents(row, 33);
        fegetenv(&after);
#if defined(__x86_64__)
        /* Rounding, exception masks, flush-to-zero; the low six bits are the exceptions raised. */
        assert_int_equal(before.__mxcsr & ~0x3fu, after.__mxcsr & ~0x3fu);
#endif
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_multiplies),
        cmocka_unit_test(add_scaled_adds),
        cmocka_unit_test(saturate_raises_minus_infinity),
        cmocka_unit_test(add_bias_hides_and_saturates),
        cmocka_unit_test(add_linear_bias_falls_on_both_sides),
        cmocka_unit_test(hide_replaces_even_nan),
        cmocka_unit_test(add_value_shifts_a_row),
        cmocka_unit_test(sum_counts_every_value_once),
        cmocka_unit_test(transposed_squares_and_what_is_left_of_them_lie_where_they_should),
        cmocka_unit_test(cap_scores_bounds),
        cmocka_unit_test(maximum_passes_over_nan),
        cmocka_unit_test(softmax_weights_sum_what_they_store),
        cmocka_unit_test(softmax_weights_of_nan_and_infinity_are_nan),
        cmocka_unit_test(all_finite_notices_each_place),
        cmocka_unit_test(every_half_is_widened_exactly),
        cmocka_unit_test(kernels_leave_the_rounding_mode_alone),
    };
    return cmocka_run_group_tests_name("vector rows", tests, NULL, NULL);
}
