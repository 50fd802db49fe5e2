/*
 * kernels/softmax.c: the running softmax. Exponentials are in the vector kernels.
 *
 * A NaN or +infinity among the scores makes the row's sum NaN, and so everything that is divided by it; a row that has
 * seen nothing has the sum 0. The maximum never is NaN.
 *
 * Where weights are not normalised the maximum is 0 throughout: weights are exp(score) itself, too small ones 0 and too
 * large ones infinite, and a row whose weights are all 0 is one that has seen nothing.
 */
#include "kernels/softmax.h"

#include "kernels/vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

void attnzoo_softmax_start(const struct attnzoo_softmax_rows *rows, int64_t row_count, int64_t columns)
{
    memset(rows->context, 0, (size_t)(row_count * columns) * sizeof(float));
    for (int64_t row = 0; row < row_count; row++) {
        rows->maximum[row] = rows->is_unnormalised ? 0.0f : -INFINITY;
        rows->sum[row] = 0.0;
    }
}

/* Raises a row's maximum to at least this, and rescales what it has. */
static void raise_maximum(const struct attnzoo_softmax_rows *rows, int64_t row, int64_t columns, float maximum)
{
    if (maximum <= rows->maximum[row])
        return;
    if (rows->sum[row] != 0.0) {
        float factor = expf(rows->maximum[row] - maximum);
        float *context = rows->context + row * columns;
        attnzoo_kernel_vectors()->scale(context, context, columns, factor);
        rows->sum[row] *= factor;
    }
    rows->maximum[row] = maximum;
}

void attnzoo_softmax_meet(const struct attnzoo_softmax_rows *rows, int64_t row, int64_t columns, float *scores,
                          int64_t count, bool are_saturated)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    if (rows->is_unnormalised)
        return;
    float maximum = vectors->maximum(scores, count);
    if (maximum == -INFINITY) {
        /* All hidden, or seen and below the float range. */
        if (!are_saturated)
            vectors->saturate(scores, count);
        maximum = -FLT_MAX;
    }
    raise_maximum(rows, row, columns, maximum);
}

bool attnzoo_softmax_weigh(const struct attnzoo_softmax_rows *rows, int64_t row, float *scores, int64_t count)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    if (rows->is_unnormalised)
        vectors->exponentials(scores, count);
    float sum = rows->is_unnormalised ? vectors->sum(scores, count)
                                      : vectors->softmax_weights(scores, count, rows->maximum[row]);
    rows->sum[row] += sum;
    return isfinite(sum);
}

void attnzoo_softmax_log_sigmoids(float *scores, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float negative = scores[i] < 0.0f ? scores[i] : 0.0f;
        scores[i] = isnan(scores[i]) ? scores[i] : negative - log1pf(expf(-fabsf(scores[i])));
    }
}

void attnzoo_softmax_merge(const struct attnzoo_softmax_rows *rows, const struct attnzoo_softmax_rows *part,
                           int64_t row_count, int64_t columns)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    for (int64_t row = 0; row < row_count; row++) {
        if (part->sum[row] == 0.0)
            continue;
        raise_maximum(rows, row, columns, part->maximum[row]);
        float factor = expf(part->maximum[row] - rows->maximum[row]);
        vectors->add_scaled(rows->context + row * columns, part->context + row * columns, columns, factor);
        rows->sum[row] += part->sum[row] * factor;
    }
}

void attnzoo_softmax_add_sink(const struct attnzoo_softmax_rows *rows, int64_t row, int64_t columns, float score)
{
    if (rows->sum[row] == 0.0)
        return;
    if (!isnan(score))
        raise_maximum(rows, row, columns, score);
    rows->sum[row] += exp((double)score - (double)rows->maximum[row]);
}

/* What turns a row's sums into its context, and its weights into its attention. */
static float factor_of(const struct attnzoo_softmax_rows *rows, int64_t row)
{
    return rows->is_unnormalised ? 1.0f : (float)(1.0 / rows->sum[row]);
}

void attnzoo_softmax_finish_context(const struct attnzoo_softmax_rows *rows, int64_t row, const float *context,
                                    float *finished, int64_t columns)
{
    double sum = rows->sum[row];
    /* An output without elements may have no memory at all. */
    if (columns == 0)
        return;
    if (sum == 0.0)
        memset(finished, 0, (size_t)columns * sizeof *finished);
    else
        attnzoo_kernel_vectors()->scale(finished, context, columns, factor_of(rows, row));
}

void attnzoo_softmax_finish_weights(const struct attnzoo_softmax_rows *rows, int64_t row, float *scores, int64_t count,
                                    bool are_saturated)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    double sum = rows->sum[row];
    if (sum == 0.0) {
        memset(scores, 0, (size_t)count * sizeof *scores);
        return;
    }
    if (rows->is_unnormalised) {
        vectors->exponentials(scores, count);
        return;
    }
    if (!are_saturated && rows->maximum[row] == -FLT_MAX)
        vectors->saturate(scores, count);
    vectors->softmax_weights(scores, count, rows->maximum[row]);
    vectors->scale(scores, scores, count, factor_of(rows, row));
}

float attnzoo_softmax_log_sum(const struct attnzoo_softmax_rows *rows, int64_t row)
{
    double sum = rows->sum[row];
    return sum == 0.0 ? -INFINITY : (float)((double)rows->maximum[row] + log(sum));
}
