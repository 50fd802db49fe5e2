/*
 * kernels/merge.c: context = exp(La - L) a + exp(Lb - L) b with L = log(exp(La) + exp(Lb)), row by row.
 */
#include "kernels/merge.h"

#include "base/checked.h"
#include "kernels/grid.h"
#include "kernels/vectors.h"

#include <math.h>
#include <string.h>

/* Columns done at a time, in memory on the stack. */
enum { PIECE = 256 };

static double read_float(const char *source)
{
    float value;
    memcpy(&value, source, sizeof value);
    return value;
}

/* A part that saw no key counts for nothing, whatever its context holds. */
static void add_part(float *sum, const struct attnzoo_view *context, const char *row, int64_t first, int64_t count,
                     double weight)
{
    float part[PIECE];
    if (weight == 0.0)
        return;
    int64_t stride = context->strides[context->rank - 1];
    attnzoo_kernel_widen(part, row + first * stride * attnzoo_base_dtype_size(context->dtype), context->dtype, stride,
                         count);
    attnzoo_kernel_vectors()->add_scaled(sum, part, count, (float)weight);
}

void attnzoo_kernel_merge(const struct attnzoo_merge *merge)
{
    int32_t axis_count = merge->context_a->rank - 1;
    int64_t columns = merge->context_a->shape[axis_count], rows = 1;
    for (int32_t axis = 0; axis < axis_count; axis++)
        rows *= merge->context_a->shape[axis];
    int64_t stride = merge->context->strides[axis_count];
    /* Rows without elements may be more than can be walked over. */
    if (columns == 0 && merge->log_sum_exp == NULL)
        return;
    for (int64_t row = 0; row < rows; row++) {
        double log_a = read_float(attnzoo_base_view_row(merge->log_sum_exp_a, axis_count, row));
        double log_b = read_float(attnzoo_base_view_row(merge->log_sum_exp_b, axis_count, row));
        double largest = log_a > log_b ? log_a : log_b;
        double log_sum =
            largest == -INFINITY ? log_a + log_b : largest + log(exp(log_a - largest) + exp(log_b - largest));
        double weight_a = log_a == -INFINITY ? 0.0 : exp(log_a - log_sum);
        double weight_b = log_b == -INFINITY ? 0.0 : exp(log_b - log_sum);
        char *out = attnzoo_base_view_row(merge->context, axis_count, row);
        for (int64_t first = 0; first < columns; first += PIECE) {
            float sum[PIECE] = {0};
            int64_t count = attnzoo_base_minimum(PIECE, columns - first);
            add_part(sum, merge->context_a, attnzoo_base_view_row(merge->context_a, axis_count, row), first, count,
                     weight_a);
            add_part(sum, merge->context_b, attnzoo_base_view_row(merge->context_b, axis_count, row), first, count,
                     weight_b);
            attnzoo_kernel_narrow(out + first * stride * attnzoo_base_dtype_size(merge->context->dtype),
                                  merge->context->dtype, stride, sum, count);
        }
        if (merge->log_sum_exp != NULL) {
            float value = (float)log_sum;
            memcpy(attnzoo_base_view_row(merge->log_sum_exp, axis_count, row), &value, sizeof value);
        }
    }
}
