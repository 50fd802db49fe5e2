/*
 * kernels/addressing.c: the heads' steps; what the controller says in them is brought into its ranges in
 * addressing_signals.c. With M the memory before a step, i one of its L rows, indices modulo L:
 *
 *   K[u, v]  = u . v / (|u| |v|)                                        (6)
 *   wc(i)    = exp(beta K[k, M(i)]) / sum_j exp(beta K[k, M(j)])        (5)
 *   wg(i)    = g wc(i) + (1 - g) w_t-1(i)                               (7)
 *   w~(i)    = sum_j wg(j) s(i - j)                                     (8)
 *   w(i)     = w~(i)^gamma / sum_j w~(j)^gamma                          (9)
 *   M(i)    <- M(i) prod_h (1 - w_h(i) e_h) + sum_h w_h(i) a_h          (3, 4)
 *   r        = sum_i w(i) M(i)                                          (2)
 *
 * K is 0 where either vector is zero. A weighting of zeros stays one: there is nothing to divide.
 *
 * The memory's rows are met in blocks, whose borders do not depend on threads or batches: so neither do the results. A
 * thread's scratch is one block's scores or weights, [heads + a spare row, rows of a block].
 */
#include "kernels/addressing.h"

#include "base/checked.h"
#include "base/error.h"
#include "blas/blas.h"
#include "kernels/vectors.h"

#include <math.h>
#include <string.h>

enum {
    ROWS_PER_BLOCK = 256,
    /* Weights that are added up in float, before their sums are in double. */
    WEIGHTS_PER_SUM = 1024,
    /* BLIS up to 1.0 reads one row past the end of a left operand. */
    SPARE_ROWS = 1,
    /* Multiply-adds worth a thread of its own, for all steps of a batch and where threads meet at every step. */
    WORK_PER_THREAD = 1 << 20,
    STEP_WORK_PER_THREAD = 1 << 18,
    /* About what exponentials and the rest cost for one weight. */
    WORK_PER_WEIGHT = 32
};

/* Sums of squares whose roots and products are ordinary floats. Other rows are met in double. */
static const float SMALLEST_SQUARES = 0x1p-80f;
static const float LARGEST_SQUARES = 0x1p80f;
/* In place of a norm. */
static const float MET_IN_DOUBLE = -1.0f;

static float *weights_at(const struct attnzoo_addressing *addressing, int64_t batch, int64_t head)
{
    return addressing->weights + (batch * attnzoo_addressing_head_count(addressing) + head) * addressing->weights_step;
}

static float *row_at(const struct attnzoo_addressing *addressing, int64_t batch, int64_t row)
{
    return addressing->memory + batch * addressing->memory_step + row * addressing->column_count;
}

static float *partial_at(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t block)
{
    int64_t size = plan->addressing->read_count * plan->addressing->column_count;
    return plan->partials + (batch * plan->block_count + block) * size;
}

static int64_t rows_in_block(const struct attnzoo_addressing *addressing, int64_t batch, int64_t block)
{
    int64_t left = attnzoo_mask_key_length(addressing->mask, batch) - block * ROWS_PER_BLOCK;
    return attnzoo_base_maximum(attnzoo_base_minimum(left, ROWS_PER_BLOCK), 0);
}

/* How many threads so much work is for. */
static int64_t threads_for(double work, double each, int64_t items)
{
    double threads = work / each;
    int64_t wanted = threads < ATTNZOO_POOL_THREADS_MAX ? 1 + (int64_t)threads : ATTNZOO_POOL_THREADS_MAX;
    return attnzoo_base_minimum(wanted, items);
}

static bool place_zones(struct attnzoo_addressing_plan *plan, int64_t *end, struct attnzoo_pool_needs *needs)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    int64_t rows, parts, spare = attnzoo_addressing_head_count(addressing) + SPARE_ROWS, scratch;
    int64_t blocks = attnzoo_base_maximum(plan->block_count, 1);
    if (!attnzoo_base_multiply(addressing->batch_count, attnzoo_addressing_head_count(addressing), &rows) ||
        !attnzoo_base_multiply(addressing->batch_count, blocks, &parts) ||
        !attnzoo_base_multiply(parts, addressing->read_count, &parts) ||
        !attnzoo_base_multiply(spare, ROWS_PER_BLOCK * (int64_t)sizeof(float), &scratch))
        return false;
    attnzoo_pool_add_needs(needs, scratch, 1);
    return attnzoo_pool_place(end, &plan->content_offset, rows, addressing->row_count, sizeof(float)) &&
           attnzoo_pool_place(end, &plan->norms_offset, addressing->batch_count, addressing->row_count,
                              sizeof(float)) &&
           attnzoo_pool_place(end, &plan->partials_offset, parts, addressing->column_count, sizeof(float));
}

attnzoo_status attnzoo_addressing_make_plan(struct attnzoo_addressing_plan *plan,
                                            const struct attnzoo_addressing *addressing, int64_t *end,
                                            struct attnzoo_pool_needs *needs)
{
    *plan = (struct attnzoo_addressing_plan){
        .addressing = addressing, .block_count = attnzoo_base_divide_up(addressing->row_count, ROWS_PER_BLOCK)};
    if (!place_zones(plan, end, needs))
        return attnzoo_base_fail_memory(UINT64_MAX);
    /* Of one number of the memory: a product with each key and by each weight, erasing and adding. */
    double each = 2.0 * (double)attnzoo_addressing_head_count(addressing) + 2.0 * (double)addressing->write_count;
    double row =
        each * (double)addressing->column_count + WORK_PER_WEIGHT * (double)attnzoo_addressing_head_count(addressing);
    double step_count = (double)addressing->step_count;
    plan->step_work = row * (double)addressing->row_count * (double)addressing->batch_count;
    /* Both products passed 63 bits in no factor of the zones. */
    int64_t items = addressing->batch_count * attnzoo_base_maximum(plan->block_count, 1);
    int64_t by_batch = threads_for(plan->step_work * step_count, WORK_PER_THREAD, addressing->batch_count);
    int64_t by_block = threads_for(plan->step_work, STEP_WORK_PER_THREAD, items);
    attnzoo_pool_add_needs(needs, 0, attnzoo_base_maximum(by_batch, by_block));
    return ATTNZOO_STATUS_OK;
}

void attnzoo_addressing_point(struct attnzoo_addressing_plan *plan, char *memory)
{
    plan->content = (void *)(memory + plan->content_offset);
    plan->norms = (void *)(memory + plan->norms_offset);
    plan->partials = (void *)(memory + plan->partials_offset);
}

static void start_weights(float *weights, int64_t rows, int64_t length, enum attnzoo_addressing_initial initial)
{
    memset(weights, 0, (size_t)rows * sizeof *weights);
    if (initial == ATTNZOO_ADDRESSING_FIRST_ROW && length > 0)
        weights[0] = 1.0f;
    if (initial == ATTNZOO_ADDRESSING_UNIFORM && length > 0)
        attnzoo_kernel_vectors()->add_value(weights, length, (float)(1.0 / (double)length));
}

/* What attnzoo_addressing_start() is called with, for its items. */
struct start {
    const struct attnzoo_addressing_plan *plan;
    const struct attnzoo_grid *value;
};

static void start_block(const void *context, int64_t item, void *scratch)
{
    const struct start *start = context;
    const struct attnzoo_addressing *addressing = start->plan->addressing;
    int64_t batch = item / start->plan->block_count, block = item % start->plan->block_count;
    int64_t first = block * ROWS_PER_BLOCK, rows = rows_in_block(addressing, batch, block);
    int64_t in_memory = attnzoo_base_minimum(ROWS_PER_BLOCK, addressing->row_count - first);
    float *memory = row_at(addressing, batch, first);
    (void)scratch;
    attnzoo_grid_copy_rows(memory, start->value, batch, 0, first, rows);
    memset(memory + rows * addressing->column_count, 0,
           (size_t)((in_memory - rows) * addressing->column_count) * sizeof *memory);
}

void attnzoo_addressing_start(const struct attnzoo_addressing_plan *plan, const struct attnzoo_pool_claim *claim,
                              const struct attnzoo_grid *value, enum attnzoo_addressing_initial initial)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    struct start start = {plan, value};
    attnzoo_pool_do(
        claim, &(struct attnzoo_pool_phase){start_block, &start, addressing->batch_count * plan->block_count, NULL});
    for (int64_t batch = 0; batch < addressing->batch_count; batch++)
        for (int64_t head = 0; head < attnzoo_addressing_head_count(addressing); head++)
            start_weights(weights_at(addressing, batch, head), addressing->row_count,
                          attnzoo_mask_key_length(addressing->mask, batch), initial);
}

static double squares_in_double(const float *row, int64_t count)
{
    double squares = 0.0;
    for (int64_t i = 0; i < count; i++)
        squares += (double)row[i] * (double)row[i];
    return squares;
}

/* 1 / |row|, 0 for a row of zeros, NaN where a number is NaN or infinite, or MET_IN_DOUBLE. */
static float inverse_norm(const float *row, int64_t count)
{
    float squares = attnzoo_kernel_vectors()->sum_of_squares(row, count);
    if (squares >= SMALLEST_SQUARES && squares <= LARGEST_SQUARES)
        return (float)(1.0 / sqrt((double)squares));
    double exact = squares_in_double(row, count);
    if (exact == 0.0)
        return 0.0f;
    return isfinite(exact) ? MET_IN_DOUBLE : NAN;
}

static void find_norms(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t block)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    int64_t first = block * ROWS_PER_BLOCK;
    float *norms = plan->norms + batch * addressing->row_count + first;
    for (int64_t row = 0; row < rows_in_block(addressing, batch, block); row++)
        norms[row] = inverse_norm(row_at(addressing, batch, first + row), addressing->column_count);
}

static float cosine_in_double(const float *row, const float *key, int64_t count)
{
    double product = 0.0;
    for (int64_t i = 0; i < count; i++)
        product += (double)row[i] * (double)key[i];
    return (float)(product / sqrt(squares_in_double(row, count)));
}

/* beta K for every head and the rows of a block. */
static void score_block(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t block, int64_t step,
                        float *scores)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    int64_t heads = attnzoo_addressing_head_count(addressing), columns = addressing->column_count,
            first = block * ROWS_PER_BLOCK;
    int64_t rows = rows_in_block(addressing, batch, block), blas_step = attnzoo_base_maximum(columns, 1);
    const float *keys = attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_KEY, batch, step, 0, 0);
    const float *strengths = attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_STRENGTH, batch, step, 0, 1);
    const float *norms = plan->norms + batch * addressing->row_count + first;
    if (rows == 0 || !attnzoo_addressing_is_running(addressing, batch, step))
        return;
    memset(scores, 0, (size_t)(heads * ROWS_PER_BLOCK) * sizeof *scores);
    attnzoo_blas_multiply_transposed_add(heads, rows, columns, keys, blas_step, row_at(addressing, batch, first),
                                         blas_step, scores, ROWS_PER_BLOCK);
    for (int64_t head = 0; head < heads; head++) {
        float *of_head = scores + head * ROWS_PER_BLOCK;
        attnzoo_kernel_vectors()->multiply(of_head, norms, rows);
        for (int64_t row = 0; row < rows; row++)
            if (norms[row] == MET_IN_DOUBLE)
                of_head[row] = cosine_in_double(row_at(addressing, batch, first + row), keys + head * columns, columns);
        attnzoo_kernel_vectors()->scale(plan->content + (batch * heads + head) * addressing->row_count + first, of_head,
                                        rows, strengths[head]);
    }
}

/* Equation 5 but for the division: weights relative to the largest. Returns their sum. */
static double weigh_content(float *content, int64_t count)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    float maximum = vectors->maximum(content, count);
    double sum = 0.0;
    for (int64_t first = 0; first < count; first += WEIGHTS_PER_SUM) {
        int64_t part = attnzoo_base_minimum(WEIGHTS_PER_SUM, count - first);
        sum += (double)vectors->softmax_weights(content + first, part, maximum);
    }
    return sum;
}

/* Equation 8: shifted = sum over o of shifts[o] times gated, moved by o - S rows around the circle. */
static void shift(float *shifted, const float *gated, int64_t count, const float *shifts, int64_t shift_count)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    memset(shifted, 0, (size_t)count * sizeof *shifted);
    for (int64_t number = 0; number < shift_count; number++) {
        int64_t distance = (number - shift_count / 2) % count;
        if (distance < 0)
            distance += count;
        vectors->add_scaled(shifted + distance, gated, count - distance, shifts[number]);
        vectors->add_scaled(shifted, gated + count - distance, distance, shifts[number]);
    }
}

/*
 * Equation 9. Relative to the largest, so that at least one power is 1, whatever gamma is. Rows of zeros, and rows that
 * hold nothing but NaN, have no largest: the first stay, the second make the sum NaN.
 */
static void sharpen(float *weights, int64_t count, float gamma)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    float maximum = vectors->maximum(weights, count);
    double sum = 0.0;
    if (maximum > 0.0f)
        vectors->powers(weights, count, maximum, gamma);
    for (int64_t first = 0; first < count; first += WEIGHTS_PER_SUM)
        sum += (double)vectors->sum(weights + first, attnzoo_base_minimum(WEIGHTS_PER_SUM, count - first));
    if (sum != 0.0)
        vectors->scale(weights, weights, count, (float)(1.0 / sum));
}

static void write_attention(const struct attnzoo_addressing *addressing, int64_t batch, int64_t head, int64_t step,
                            const float *weights)
{
    const struct attnzoo_grid *out = &addressing->attention;
    if (out->data != NULL)
        attnzoo_kernel_narrow(attnzoo_grid_at(out, batch, head, step, 0), out->dtype, out->stride[ATTNZOO_COLUMN],
                              weights, addressing->row_count);
}

/* Equations 5 to 9 for one head, from its scores. */
static void address(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t head, int64_t step)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    const struct attnzoo_addressing *addressing = plan->addressing;
    int64_t length = attnzoo_mask_key_length(addressing->mask, batch), shifts = addressing->shift_count;
    float *content = plan->content + (batch * attnzoo_addressing_head_count(addressing) + head) * addressing->row_count;
    float *weights = weights_at(addressing, batch, head);
    if (!attnzoo_addressing_is_running(addressing, batch, step)) {
        memset(content, 0, (size_t)addressing->row_count * sizeof *content);
        write_attention(addressing, batch, head, step, content);
        return;
    }
    if (length > 0) {
        float gate = *attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_GATE, batch, step, head, 1);
        double sum = weigh_content(content, length);
        vectors->scale(content, content, length, (float)((double)gate / sum));
        vectors->add_scaled(content, weights, length, 1.0f - gate);
        shift(weights, content, length,
              attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_SHIFT, batch, step, head, shifts), shifts);
        sharpen(weights, length,
                *attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_SHARPENING, batch, step, head, 1));
    }
    write_attention(addressing, batch, head, step, weights);
}

/* Equations 3 and 4 for one row: all heads erase, then all add. A head whose weight is 0 leaves the row alone. */
static void write_row(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t row, int64_t step)
{
    const struct attnzoo_vectors *vectors = attnzoo_kernel_vectors();
    const struct attnzoo_addressing *addressing = plan->addressing;
    int64_t columns = addressing->column_count;
    float *memory = row_at(addressing, batch, row);
    bool is_changed = false;
    for (int64_t head = 0; head < addressing->write_count; head++) {
        float weight = weights_at(addressing, batch, addressing->read_count + head)[row];
        if (weight == 0.0f)
            continue;
        vectors->erase(memory,
                       attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_ERASE, batch, step, head, columns),
                       columns, weight);
        is_changed = true;
    }
    for (int64_t head = 0; head < addressing->write_count && is_changed; head++) {
        float weight = weights_at(addressing, batch, addressing->read_count + head)[row];
        if (weight != 0.0f)
            vectors->add_scaled(
                memory, attnzoo_addressing_signal_at(addressing, ATTNZOO_ADDRESSING_ADD, batch, step, head, columns),
                columns, weight);
    }
    if (is_changed)
        plan->norms[batch * addressing->row_count + row] = inverse_norm(memory, columns);
}

static void write_block(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t block, int64_t step)
{
    int64_t first = block * ROWS_PER_BLOCK;
    for (int64_t row = 0; row < rows_in_block(plan->addressing, batch, block); row++)
        write_row(plan, batch, first + row, step);
}

/* Equation 2 for the rows of a block. packed: scratch. */
static void read_block(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t block, float *packed)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    int64_t columns = addressing->column_count, first = block * ROWS_PER_BLOCK;
    int64_t rows = rows_in_block(addressing, batch, block), blas_step = attnzoo_base_maximum(columns, 1);
    float *partial = partial_at(plan, batch, block);
    for (int64_t head = 0; head < addressing->read_count; head++)
        memcpy(packed + head * ROWS_PER_BLOCK, weights_at(addressing, batch, head) + first,
               (size_t)rows * sizeof *packed);
    memset(partial, 0, (size_t)(addressing->read_count * columns) * sizeof *partial);
    attnzoo_blas_multiply_add(addressing->read_count, columns, rows, packed, ROWS_PER_BLOCK,
                              row_at(addressing, batch, first), blas_step, partial, blas_step);
}

static void use_block(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t block, int64_t step,
                      float *scratch)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    if (!attnzoo_addressing_is_running(addressing, batch, step) || rows_in_block(addressing, batch, block) == 0)
        return;
    if (addressing->reads_before_write)
        read_block(plan, batch, block, scratch);
    write_block(plan, batch, block, step);
    if (!addressing->reads_before_write)
        read_block(plan, batch, block, scratch);
}

/* Adds up what the blocks gave. */
static void write_context(const struct attnzoo_addressing_plan *plan, int64_t batch, int64_t step)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    const struct attnzoo_grid *out = &addressing->context;
    int64_t count = addressing->read_count * addressing->column_count;
    float *sum = partial_at(plan, batch, 0);
    if (!attnzoo_addressing_is_running(addressing, batch, step) || rows_in_block(addressing, batch, 0) == 0)
        memset(sum, 0, (size_t)count * sizeof *sum);
    else
        for (int64_t block = 1; rows_in_block(addressing, batch, block) > 0; block++)
            attnzoo_kernel_vectors()->add_scaled(sum, partial_at(plan, batch, block), count, 1.0f);
    attnzoo_kernel_narrow(attnzoo_grid_at(out, batch, 0, step, 0), out->dtype, out->stride[ATTNZOO_COLUMN], sum, count);
}

/* One step, for the phases in which threads take it together. */
struct step {
    const struct attnzoo_addressing_plan *plan;
    int64_t number;
};

static void norms_item(const void *context, int64_t item, void *scratch)
{
    const struct attnzoo_addressing_plan *plan = context;
    (void)scratch;
    find_norms(plan, item / plan->block_count, item % plan->block_count);
}

static void score_item(const void *context, int64_t item, void *scratch)
{
    const struct step *step = context;
    score_block(step->plan, item / step->plan->block_count, item % step->plan->block_count, step->number, scratch);
}

static void address_item(const void *context, int64_t item, void *scratch)
{
    const struct step *step = context;
    int64_t heads = attnzoo_addressing_head_count(step->plan->addressing);
    (void)scratch;
    address(step->plan, item / heads, item % heads, step->number);
}

static void use_item(const void *context, int64_t item, void *scratch)
{
    const struct step *step = context;
    use_block(step->plan, item / step->plan->block_count, item % step->plan->block_count, step->number, scratch);
}

static void context_item(const void *context, int64_t item, void *scratch)
{
    const struct step *step = context;
    (void)scratch;
    write_context(step->plan, item, step->number);
}

static void solve_step(const struct attnzoo_addressing_plan *plan, const struct attnzoo_pool_claim *claim,
                       int64_t number)
{
    struct step step = {plan, number};
    int64_t batches = plan->addressing->batch_count, blocks = batches * plan->block_count;
    int64_t heads = batches * attnzoo_addressing_head_count(plan->addressing);
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){score_item, &step, blocks, NULL});
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){address_item, &step, heads, NULL});
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){use_item, &step, blocks, NULL});
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){context_item, &step, batches, NULL});
}

/* All steps of one batch, by one thread: batches do not wait for each other. */
static void batch_item(const void *context, int64_t batch, void *scratch)
{
    const struct attnzoo_addressing_plan *plan = context;
    const struct attnzoo_addressing *addressing = plan->addressing;
    for (int64_t step = 0; step < addressing->step_count; step++) {
        for (int64_t block = 0; block < plan->block_count; block++)
            score_block(plan, batch, block, step, scratch);
        for (int64_t head = 0; head < attnzoo_addressing_head_count(addressing); head++)
            address(plan, batch, head, step);
        for (int64_t block = 0; block < plan->block_count; block++)
            use_block(plan, batch, block, step, scratch);
        write_context(plan, batch, step);
    }
}

/* What lies beyond a length that is shorter than an earlier call's counts no more. */
static void clear_hidden_weights(const struct attnzoo_addressing *addressing)
{
    for (int64_t batch = 0; batch < addressing->batch_count; batch++) {
        int64_t length = attnzoo_mask_key_length(addressing->mask, batch);
        for (int64_t head = 0; head < attnzoo_addressing_head_count(addressing); head++)
            memset(weights_at(addressing, batch, head) + length, 0,
                   (size_t)(addressing->row_count - length) * sizeof(float));
    }
}

void attnzoo_addressing_solve(const struct attnzoo_addressing_plan *plan, const struct attnzoo_pool_claim *claim)
{
    const struct attnzoo_addressing *addressing = plan->addressing;
    int64_t batches = addressing->batch_count;
    attnzoo_addressing_hear(addressing, claim);
    attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){norms_item, plan, batches * plan->block_count, NULL});
    clear_hidden_weights(addressing);
    if (batches >= claim->threads || plan->step_work < 2.0 * STEP_WORK_PER_THREAD) {
        attnzoo_pool_do(claim, &(struct attnzoo_pool_phase){batch_item, plan, batches, NULL});
        return;
    }
    for (int64_t step = 0; step < addressing->step_count; step++)
        solve_step(plan, claim, step);
}
