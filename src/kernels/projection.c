/*
 * kernels/projection.c: linear layers. Rows are gathered from whatever strides they have, multiplied, and dealt out to
 * the parts that their outputs belong to.
 *
 * A thread's scratch:  | rows [rows, inputs] | a spare row | outputs [rows, outputs of the item] | a row of zeros |
 */
#include "kernels/projection.h"

#include "base/checked.h"
#include "base/error.h"
#include "blas/blas.h"

#include <string.h>

enum {
    ROWS_PER_ITEM = 256,
    /* Where row blocks are few, outputs are cut, too, into pieces of no fewer than these: for a matrix of weights that
     * is read for a few rows, and for one that is used often. */
    ITEMS_ENOUGH = 16,
    FEW_ROWS = 8,
    OUTPUTS_FOR_FEW_ROWS = 64,
    OUTPUTS_FOR_MANY_ROWS = 256,
    OUTPUT_STEP = 16,
    /* BLIS up to 1.0 reads one row past the end of a left operand. */
    SPARE_ROWS = 1,
    ZERO_ROWS = 1,
    WORK_PER_THREAD = 1 << 20
};

static bool count_bytes(struct attnzoo_projection_plan *plan)
{
    int64_t packed, multiplied, floats;
    return attnzoo_base_multiply(plan->rows_per_item + SPARE_ROWS, plan->inputs, &packed) &&
           attnzoo_base_multiply(plan->rows_per_item + ZERO_ROWS, plan->outputs_per_item, &multiplied) &&
           attnzoo_base_add(packed, multiplied, &floats) &&
           attnzoo_base_multiply(floats, (int64_t)sizeof(float), &plan->scratch_bytes);
}

static int64_t outputs_per_item(const struct attnzoo_projection_plan *plan)
{
    if (plan->projection->is_row_by_row)
        return OUTPUTS_FOR_FEW_ROWS;
    int64_t cuts = attnzoo_base_divide_up(ITEMS_ENOUGH, plan->row_blocks);
    int64_t smallest = plan->row_count <= FEW_ROWS ? OUTPUTS_FOR_FEW_ROWS : OUTPUTS_FOR_MANY_ROWS;
    int64_t outputs = attnzoo_base_maximum(attnzoo_base_divide_up(plan->outputs, cuts), smallest);
    return attnzoo_base_divide_up(outputs, OUTPUT_STEP) * OUTPUT_STEP;
}

attnzoo_status attnzoo_projection_make_plan(struct attnzoo_projection_plan *plan,
                                            const struct attnzoo_projection *projection)
{
    const struct attnzoo_grid *input = &projection->input;
    *plan = (struct attnzoo_projection_plan){.projection = projection, .inputs = input->size[ATTNZOO_COLUMN]};
    for (int32_t part = 0; part < projection->part_count; part++)
        plan->outputs += projection->parts[part].size[ATTNZOO_HEAD] * projection->parts[part].size[ATTNZOO_COLUMN];
    if (!attnzoo_base_multiply(input->size[ATTNZOO_BATCH], input->size[ATTNZOO_ROW], &plan->row_count))
        return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT, "batch and rows pass 63 bits together");
    if (plan->row_count == 0 || plan->outputs == 0)
        return ATTNZOO_STATUS_OK;
    plan->rows_per_item = projection->is_row_by_row ? 1 : attnzoo_base_minimum(plan->row_count, ROWS_PER_ITEM);
    plan->row_blocks = attnzoo_base_divide_up(plan->row_count, plan->rows_per_item);
    plan->outputs_per_item = attnzoo_base_minimum(outputs_per_item(plan), plan->outputs);
    plan->output_blocks = attnzoo_base_divide_up(plan->outputs, plan->outputs_per_item);
    if (!count_bytes(plan))
        return attnzoo_base_fail_memory(UINT64_MAX);
    double work = (double)plan->row_count * (double)plan->inputs * (double)plan->outputs / WORK_PER_THREAD;
    plan->threads_wanted = work < ATTNZOO_POOL_THREADS_MAX ? 1 + (int64_t)work : ATTNZOO_POOL_THREADS_MAX;
    plan->threads_wanted = attnzoo_base_minimum(plan->threads_wanted, plan->row_blocks * plan->output_blocks);
    return ATTNZOO_STATUS_OK;
}

static bool is_wanted(const struct attnzoo_projection *projection, int32_t part, int64_t batch, int64_t row)
{
    const struct attnzoo_key_span *spans = projection->spans[part];
    return spans == NULL || (row >= spans[batch].first && row < spans[batch].end);
}

static bool is_read(const struct attnzoo_projection *projection, int64_t batch, int64_t row)
{
    for (int32_t part = 0; part < projection->part_count; part++)
        if (is_wanted(projection, part, batch, row))
            return true;
    return false;
}

/* Gathers the rows that are read of [first, first + count); returns how many. */
static int64_t gather(const struct attnzoo_projection_plan *plan, int64_t first, int64_t count, float *packed)
{
    const struct attnzoo_grid *input = &plan->projection->input;
    int64_t gathered = 0;
    for (int64_t number = first; number < first + count; number++) {
        int64_t batch = number / input->size[ATTNZOO_ROW], row = number % input->size[ATTNZOO_ROW];
        if (is_read(plan->projection, batch, row))
            attnzoo_kernel_widen(packed + gathered++ * plan->inputs, attnzoo_grid_at(input, batch, 0, row, 0),
                                 input->dtype, input->stride[ATTNZOO_COLUMN], plan->inputs);
    }
    return gathered;
}

/* Writes outputs [first_output, first_output + count) of one row to the parts that they belong to, zeros to those that
 * do not want the row. */
static void deal_out(const struct attnzoo_projection *projection, int64_t batch, int64_t row, int64_t first_output,
                     int64_t count, const float *outputs, const float *zeros)
{
    int64_t part_first = 0, end_output = first_output + count;
    for (int32_t number = 0; number < projection->part_count; number++) {
        const struct attnzoo_grid *part = &projection->parts[number];
        int64_t columns = part->size[ATTNZOO_COLUMN], part_end = part_first + part->size[ATTNZOO_HEAD] * columns;
        int64_t from = attnzoo_base_maximum(first_output, part_first), to = attnzoo_base_minimum(end_output, part_end);
        bool wants = is_wanted(projection, number, batch, row);
        const float *source = wants ? outputs : zeros;
        while (from < to && (wants || projection->clears_unwanted)) {
            int64_t head = (from - part_first) / columns, column = (from - part_first) % columns;
            int64_t run = attnzoo_base_minimum(to - from, columns - column);
            attnzoo_kernel_narrow(attnzoo_grid_at(part, batch, head, row, column), part->dtype,
                                  part->stride[ATTNZOO_COLUMN], source + (from - first_output), run);
            from += run;
        }
        part_first = part_end;
    }
}

static void apply(int64_t rows, int64_t inputs, int64_t outputs, const float *x, const float *weight,
                  int64_t weight_step, const float *bias, float *y)
{
    if (bias == NULL)
        memset(y, 0, (size_t)(rows * outputs) * sizeof *y);
    for (int64_t row = 0; bias != NULL && row < rows; row++)
        memcpy(y + row * outputs, bias, (size_t)outputs * sizeof *y);
    attnzoo_blas_multiply_transposed_add(rows, outputs, inputs, x, attnzoo_base_maximum(inputs, 1), weight, weight_step,
                                         y, attnzoo_base_maximum(outputs, 1));
}

void attnzoo_projection_apply(int64_t rows, int64_t inputs, int64_t outputs, const float *x, const float *weight,
                              const float *bias, float *y)
{
    apply(rows, inputs, outputs, x, weight, attnzoo_base_maximum(inputs, 1), bias, y);
}

static void solve_item(const void *context, int64_t item, void *scratch)
{
    const struct attnzoo_projection_plan *plan = context;
    const struct attnzoo_projection *projection = plan->projection;
    int64_t first_row = item / plan->output_blocks * plan->rows_per_item;
    int64_t first_output = item % plan->output_blocks * plan->outputs_per_item;
    int64_t rows = attnzoo_base_minimum(plan->rows_per_item, plan->row_count - first_row);
    int64_t outputs = attnzoo_base_minimum(plan->outputs_per_item, plan->outputs - first_output);
    float *packed = scratch, *multiplied = packed + (plan->rows_per_item + SPARE_ROWS) * plan->inputs;
    float *zeros = multiplied + plan->rows_per_item * plan->outputs_per_item;
    memset(zeros, 0, (size_t)outputs * sizeof *zeros);
    int64_t step = projection->weight_step > 0 ? projection->weight_step : attnzoo_base_maximum(plan->inputs, 1);
    apply(gather(plan, first_row, rows, packed), plan->inputs, outputs, packed,
          projection->weight + first_output * step, step,
          projection->bias == NULL ? NULL : projection->bias + first_output, multiplied);
    int64_t gathered = 0;
    for (int64_t number = first_row; number < first_row + rows; number++) {
        int64_t batch = number / projection->input.size[ATTNZOO_ROW];
        int64_t row = number % projection->input.size[ATTNZOO_ROW];
        deal_out(projection, batch, row, first_output, outputs, multiplied + gathered * outputs, zeros);
        gathered += is_read(projection, batch, row);
    }
}

void attnzoo_projection_solve(const struct attnzoo_projection_plan *plan, const struct attnzoo_pool_claim *claim)
{
    attnzoo_pool_do(claim,
                    &(struct attnzoo_pool_phase){solve_item, plan, plan->row_blocks * plan->output_blocks, NULL});
}
