/*
 * tests/reference/rounding_tanh.c: the bounds whose derivation stands in rounding_tanh.h.
 */
#include "reference/rounding_tanh.h"

#include <math.h>

static const double UNIT_ROUNDOFF = 0x1p-24;
static const double SMALLEST = 0x1p-149;

double rounding_of_tanh(double y, double error)
{
    double nearest = fmax(fabs(y) - error, 0.0);
    double moved = error * (1.0 - nearest * nearest);
    return moved + 4.0 * UNIT_ROUNDOFF * (fabs(y) + moved) + SMALLEST;
}

double rounding_of_tanh_sum(int64_t size, double magnitude)
{
    return rounding_gamma((double)size + 3.0) * magnitude + (double)size * SMALLEST;
}

double rounding_of_biases(double score, double dense, double linear)
{
    return rounding_gamma(3.0) * (fabs(score) + fabs(dense) + fabs(linear));
}

double rounding_of_log_sigmoid(double score, double result, double error)
{
    double slope = 1.0 / (1.0 + exp(score - error));
    double moved = error * slope;
    return moved + 8.0 * UNIT_ROUNDOFF * (fabs(result) + moved) + 4.0 * SMALLEST;
}

double rounding_of_location(int64_t filters, int64_t taps, double magnitude, double alignment_part)
{
    double roundings = (double)filters + (double)taps + 4.0;
    return alignment_part + rounding_gamma(roundings) * magnitude + roundings * SMALLEST;
}

double rounding_of_share(double share)
{
    return UNIT_ROUNDOFF * share;
}

double rounding_of_running_sum(double sum, double sum_error, double term, double term_error)
{
    double errors = sum_error + term_error;
    return errors + UNIT_ROUNDOFF * (fabs(sum) + fabs(term) + errors);
}
