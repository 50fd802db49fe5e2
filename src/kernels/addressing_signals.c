/*
 * kernels/addressing_signals.c: what a controller says to the heads, brought into the ranges it must lie in. What the heads
 * do with it is in addressing.c.
 */
#include "kernels/addressing.h"

#include "kernels/vectors.h"

#include <math.h>

int64_t attnzoo_addressing_signal_size(const struct attnzoo_addressing *addressing, int32_t signal)
{
    switch (signal) {
    case ATTNZOO_ADDRESSING_KEY:
        return attnzoo_addressing_head_count(addressing) * addressing->column_count;
    case ATTNZOO_ADDRESSING_SHIFT:
        return attnzoo_addressing_head_count(addressing) * addressing->shift_count;
    case ATTNZOO_ADDRESSING_ERASE:
    case ATTNZOO_ADDRESSING_ADD:
        return addressing->write_count * addressing->column_count;
    default:
        return attnzoo_addressing_head_count(addressing);
    }
}

float *attnzoo_addressing_signal_at(const struct attnzoo_addressing *addressing, int32_t signal, int64_t batch,
                                    int64_t step, int64_t head, int64_t numbers)
{
    int64_t size = attnzoo_addressing_signal_size(addressing, signal);
    return addressing->signals[signal] + (batch * addressing->step_count + step) * size + head * numbers;
}

/* ln(1 + e^x), and 1 / (1 + e^-x): in double, so that each is the float nearest or next to it. */
static double softplus(double x)
{
    return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* A key of length 1, so that only the row's norm is missing from the cosine; zeros for a key of zeros. */
static void normalise_key(float *key, int64_t count)
{
    double squares = 0.0;
    for (int64_t i = 0; i < count; i++)
        squares += (double)key[i] * (double)key[i];
    double inverse = squares == 0.0 ? 0.0 : 1.0 / sqrt(squares);
    for (int64_t i = 0; i < count; i++)
        key[i] = (float)((double)key[i] * inverse);
}

static void normalise_shifts(float *shifts, int64_t count)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    float sum = vectors->softmax_weights(shifts, count, vectors->maximum(shifts, count));
    vectors->scale(shifts, shifts, count, (float)(1.0 / (double)sum));
}

/* sigmoid(x) = (1 + tanh(x / 2)) / 2 */
static void sigmoids(float *values, int64_t count)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    vectors->scale(values, values, count, 0.5f);
    vectors->hyperbolic_tangents(values, count);
    vectors->scale(values, values, count, 0.5f);
    vectors->add_value(values, count, 0.5f);
}

/* Brings one step's signals of a batch into their ranges. */
static void hear_step(const void *context, int64_t item, void *scratch)
{
    const struct attnzoo_addressing *addressing = context;
    int64_t batch = item / addressing->step_count, step = item % addressing->step_count;
    int64_t heads = attnzoo_addressing_head_count(addressing), columns = addressing->column_count,
            shifts = addressing->shift_count;
    (void)scratch;
    if (!attnzoo_addressing_is_running(addressing, batch, step))
        return;
    float *strengths = attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_STRENGTH, batch, step, 0, 1);
    float *gates = attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_GATE, batch, step, 0, 1);
    float *sharpenings = attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_SHARPENING, batch, step, 0, 1);
    for (int64_t head = 0; head < heads; head++) {
        normalise_key(attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_KEY, batch, step, head, columns),
                      columns);
        normalise_shifts(attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_SHIFT, batch, step, head, shifts),
                         shifts);
        strengths[head] = (float)softplus((double)strengths[head]);
        gates[head] = (float)sigmoid((double)gates[head]);
        sharpenings[head] = (float)(1.0 + softplus((double)sharpenings[head]));
    }
    sigmoids(attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_ERASE, batch, step, 0, 0),
             addressing->write_count * columns);
}

void attnzoo_addressing_hear(const struct attnzoo_addressing *addressing, const struct attnzoo_pool_claim *claim)
{
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){hear_step, addressing,
                                                        addressing->batch_count * addressing->step_count, NULL});
}
