/*
 * tests/kernels/vector_accuracy_test.c: exp and tanh against double precision over the whole float range, on every CPU
 * path. ATTNZOO_TEST_EXHAUSTIVE=1 visits every float; otherwise every 251st, in all exponents.
 */
#include "vector_paths.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 4096 };

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The gap between floats at a value, subnormals included. */
static double unit_in_last_place(double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
}

/* In units of the last place; infinite for a wrong class of number. */
static double error_in_units(float got, double want)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0.0 : INFINITY;
    /* Halfway between the largest float and the next that there would be. */
    if (fabs(want) >= ldexp(1.0 - ldexp(1.0, -25), 128))
        return (double)got == copysign(INFINITY, want) ? 0.0 : INFINITY;
    return fabs((double)got - want) / unit_in_last_place(want);
}

struct function {
    const char *name;
    double (*exact)(double);
    void (*of_row)(const struct attnzoo_vectors *vectors, float *values, int64_t count);
};

struct worst_case {
    double error;
    float at;
};

/* BATCH floats whose bits are step apart. */
static void check_batch(const struct function *function, const struct attnzoo_vectors *vectors, uint32_t first,
                        uint64_t step, struct worst_case *worst)
{
    float arguments[BATCH], results[BATCH];
    for (uint64_t i = 0; i < BATCH; i++)
        arguments[i] = from_bits((uint32_t)(first + i * step));
    memcpy(results, arguments, sizeof results);
    function->of_row(vectors, results, BATCH);
    for (int i = 0; i < BATCH; i++) {
        double error = error_in_units(results[i], function->exact((double)arguments[i]));
        if (error > worst->error)
            *worst = (struct worst_case){error, arguments[i]};
    }
}

static void check_function(const struct function *function)
{
    /* Where one formula hands over to another, every float nearby is visited. */
    static const float seams[] = {-104.0f, -103.97f, -87.3365402f, 88.7228394f, 0.625f, -0.625f, 9.1f, -9.1f};
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    uint64_t step = getenv("ATTNZOO_TEST_EXHAUSTIVE") != NULL ? 1 : 251;
    for (int path = 0; path < path_count; path++) {
        struct worst_case worst = {0.0, 0.0f};
        for (uint64_t first = 0; first < (UINT64_C(1) << 32); first += BATCH * step)
            check_batch(function, paths[path].vectors, (uint32_t)first, step, &worst);
        for (size_t seam = 0; seam < sizeof seams / sizeof *seams; seam++) {
            uint32_t bits;
            memcpy(&bits, &seams[seam], sizeof bits);
            check_batch(function, paths[path].vectors, bits - BATCH / 2, 1, &worst);
        }
        print_message("%s, %s: at most %.3f units in the last place, at %a\n", function->name, paths[path].name,
                      worst.error, (double)worst.at);
        assert_true(worst.error <= 2.0);
    }
}

static void exponentials_of_row(const struct attnzoo_vectors *vectors, float *values, int64_t count)
{
    vectors->exponentials(values, count);
}

static void tangents_of_row(const struct attnzoo_vectors *vectors, float *values, int64_t count)
{
    vectors->hyperbolic_tangents(values, count);
}

static void exponentials_are_within_two_units(void **state)
{
    (void)state;
    check_function(&(struct function){"exp", exp, exponentials_of_row});
}

static void hyperbolic_tangents_are_within_two_units(void **state)
{
    (void)state;
    check_function(&(struct function){"tanh", tanh, tangents_of_row});
}

static void exponential_of_very_negative_is_exactly_zero(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++) {
        float values[] = {-103.98f, -104.0f, -200.0f, -FLT_MAX, -INFINITY, -0.0f, 0.0f};
        paths[path].vectors->exponentials(values, 7);
        for (int i = 0; i < 5; i++)
            assert_true(values[i] == 0.0f && !signbit(values[i]));
        assert_true(values[5] == 1.0f && values[6] == 1.0f);
    }
}

static void hyperbolic_tangent_keeps_the_sign_of_zero(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++) {
        float values[] = {0.0f, -0.0f, INFINITY, -INFINITY, FLT_TRUE_MIN};
        paths[path].vectors->hyperbolic_tangents(values, 5);
        assert_true(values[0] == 0.0f && !signbit(values[0]));
        assert_true(values[1] == 0.0f && signbit(values[1]));
        assert_true(values[2] == 1.0f && values[3] == -1.0f);
        assert_true(values[4] == FLT_TRUE_MIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials_are_within_two_units),
        cmocka_unit_test(hyperbolic_tangents_are_within_two_units),
        cmocka_unit_test(exponential_of_very_negative_is_exactly_zero),
        cmocka_unit_test(hyperbolic_tangent_keeps_the_sign_of_zero),
    };
    return cmocka_run_group_tests_name("vector accuracy", tests, NULL, NULL);
}
