/*
 * tests/kernels/weighting_rows_test.c: the row kernels of memories (kernels/vectors_weighting.h) on every CPU path, at
 * every length up to a few vectors: powers over all quotients and exponents within what vectors.h promises, sums of
 * squares, products and erasing within their roundings.
 */
#include "vector_paths.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 70, BATCH = 4096 };

static const double U = 0x1p-24;

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static float random_number(void)
{
    return (float)(next_random() % 20001) * 1e-4f - 1.0f;
}

/* The quotient is taken as it is: with a maximum of 1 it is the number itself. */
static double power_error(float quotient, float exponent, float got)
{
    double exact = pow((double)quotient, (double)exponent);
    double logarithm = (double)exponent * log((double)quotient);
    double bound = (8.0 * fabs(logarithm) + 4.0) * U * exact;
    /* Subnormal results are 0; so may be the smallest normal ones. */
    if (exact < (double)FLT_MIN * (1.0 + 1e-3) && got == 0.0f)
        return 0.0;
    return fabs((double)got - exact) / fmax(bound, 0x1p-149);
}

static void powers_are_as_near_as_promised(void **state)
{
    (void)state;
    static const float exponents[] = {1.0f, 1.0001f, 1.5f, 2.0f, 3.0f, 10.0f, 77.7f, 1e4f, 1e9f, 3e38f};
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    static float values[BATCH], before[BATCH];
    for (int path = 0; path < path_count; path++)
        for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
            double worst = 0.0;
            /* All exponents below 1, in steps of 4099 floats: a prime. */
            for (uint32_t bits = 0x00800000u; bits <= 0x3f800000u;) {
                int count = 0;
                for (; count < BATCH && bits <= 0x3f800000u; count++, bits += bits > 0x3f700000u ? 61u : 4099u)
                    memcpy(&before[count], &bits, sizeof bits);
                memcpy(values, before, sizeof values);
                paths[path].vectors->powers(values, count, 1.0f, exponents[e]);
                for (int i = 0; i < count; i++)
                    worst = fmax(worst, power_error(before[i], exponents[e], values[i]));
            }
            print_message("%s, exponent %g: %.2f of the bound\n", paths[path].name, (double)exponents[e], worst);
            assert_true(worst <= 1.0);
        }
}

static void powers_of_the_largest_are_1_and_nan_stays(void **state)
{
    (void)state;
    static const float maxima[] = {1.0f, 0.3f, 1e-30f, 1e-42f, FLT_MAX};
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 1; count <= LONGEST; count++)
            for (size_t m = 0; m < sizeof maxima / sizeof *maxima; m++) {
                float row[LONGEST + 1];
                for (int i = 0; i < count; i++)
                    row[i] = i % 3 == 0 ? maxima[m] : i % 3 == 1 ? 0.0f : NAN;
                row[count] = 12345.0f;
                paths[path].vectors->powers(row, count, maxima[m], m % 2 == 0 ? 1e30f : 1.0f);
                for (int i = 0; i < count; i++)
                    assert_true(i % 3 == 0 ? row[i] == 1.0f : i % 3 == 1 ? row[i] == 0.0f : isnan(row[i]));
                assert_true(row[count] == 12345.0f);
            }
}

static void squares_count_every_value_once(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++) {
            float row[LONGEST + 1];
            double want = 0.0;
            for (int i = 0; i < count; i++) {
                row[i] = random_number();
                want += (double)row[i] * (double)row[i];
            }
            row[count] = 1e19f;
            /* One rounding a square, and count - 1 sums in any order. */
            double got = (double)paths[path].vectors->sum_of_squares(row, count);
            assert_true(fabs(got - want) <= count * U / (1.0 - count * U) * want);
        }
}

static void products_and_erasing_round_a_few_times(void **state)
{
    (void)state;
    struct vector_path paths[VECTOR_PATHS_MAX];
    int path_count = find_vector_paths(paths);
    for (int path = 0; path < path_count; path++)
        for (int count = 0; count <= LONGEST; count++) {
            float before[LONGEST + 1], other[LONGEST + 1], product[LONGEST + 1], erased[LONGEST + 1];
            for (int i = 0; i <= count; i++) {
                product[i] = erased[i] = before[i] = random_number();
                other[i] = random_number();
            }
            paths[path].vectors->multiply(product, other, count);
            paths[path].vectors->erase(erased, other, count, 0.75f);
            for (int i = 0; i < count; i++) {
                double kept = 1.0 - 0.75 * (double)other[i];
                assert_true(product[i] == before[i] * other[i]);
                /* The product and the difference, which is below 2, and the product with the row. */
                assert_true(fabs((double)erased[i] - (double)before[i] * kept) <=
                            fabs((double)before[i]) * 2.0 * 3.1 * U);
            }
            assert_true(product[count] == before[count] && erased[count] == before[count]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_are_as_near_as_promised),
        cmocka_unit_test(powers_of_the_largest_are_1_and_nan_stays),
        cmocka_unit_test(squares_count_every_value_once),
        cmocka_unit_test(products_and_erasing_round_a_few_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
