/*
 * tests/reference/rounding.c: the bounds whose derivation stands in rounding.h.
 */
#include "reference/rounding.h"

#include <math.h>

static const double UNIT_ROUNDOFF = 0x1p-24;
static const double UNDERFLOW = 0x1p-126;
static const double SMALLEST = 0x1p-149;

double rounding_gamma(double n)
{
    return n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF);
}

double rounding_of_score(const struct score_parts *parts)
{
    double terms = (double)parts->terms;
    double error = parts->product_error + rounding_gamma(terms + 3.0) * parts->product_magnitude + terms * SMALLEST;
    if (parts->softcap > 0.0)
        error += rounding_gamma(3.0) * (fabs(parts->product) + error) + rounding_gamma(6.0) * fabs(parts->capped);
    double magnitudes =
        fabs(parts->capped) + error + fabs(parts->dense_bias) + fabs(parts->linear_bias) + fabs(parts->bucket_bias);
    return error + rounding_gamma(parts->bucket_bias != 0.0 ? 4.0 : 3.0) * magnitudes;
}

double rounding_of_weight(double below, double score_error, int64_t keys)
{
    double steps = (double)(keys / 16 + 1);
    double exponent = score_error + UNIT_ROUNDOFF * fmin(-below, 110.0) + 5.0 * UNIT_ROUNDOFF * (steps + 1.0);
    /* A score that is off by a lot though far below the others: the sum of both says that its weight stays nothing. */
    double relative_part = exponent < 1.0 ? exp(below) * expm1(exponent) : exp(below + exponent) - exp(below);
    return relative_part + steps * UNDERFLOW;
}

struct row_rounding rounding_of_sum(int64_t keys, double sum, double weight_errors)
{
    double error = weight_errors + rounding_gamma((double)keys) * (sum + weight_errors);
    return (struct row_rounding){.keys = keys, .sum = sum, .sum_relative = error / sum};
}

double rounding_of_attention(const struct row_rounding *row, double weight, double weight_error)
{
    if (!(row->sum_relative < 0.5))
        return INFINITY;
    double largest = (weight + weight_error) / (row->sum * (1.0 - row->sum_relative));
    double smallest = fmax(weight - weight_error, 0.0) / (row->sum * (1.0 + row->sum_relative));
    double exact = weight / row->sum;
    return fmax(largest - exact, exact - smallest) + rounding_gamma(3.0) * largest + SMALLEST;
}

double rounding_of_context(const struct row_rounding *row, double weighted_errors, double weighted_values)
{
    double keys = (double)row->keys;
    return weighted_errors + rounding_gamma(keys + 3.0) * (weighted_values + weighted_errors) + keys * SMALLEST;
}

double rounding_of_log_sum_exp(const struct row_rounding *row, double maximum)
{
    if (!(row->sum_relative < 0.5))
        return INFINITY;
    double sum_part = -log1p(-row->sum_relative);
    return sum_part + rounding_gamma(6.0) * (fabs(maximum) + fabs(log(row->sum)) + sum_part);
}

double rounding_of_linear(int64_t terms, double magnitude, double input_error)
{
    return input_error + rounding_gamma((double)terms + 2.0) * magnitude + (double)terms * SMALLEST;
}

double rounding_of_turn(double magnitude, double plain, double input_error, double angle_error)
{
    return input_error + angle_error * plain + rounding_gamma(3.0) * (magnitude + angle_error * plain) + 2.0 * SMALLEST;
}

double rounding_of_average(int64_t heads, double average, double average_bound)
{
    return average_bound + rounding_gamma((double)heads + 2.0) * (average + average_bound) + SMALLEST;
}
