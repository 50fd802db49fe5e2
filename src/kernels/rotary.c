/*
 * kernels/rotary.c: turning rows by their positions, some rows of one batch at a time. Angles are made in double: a
 * float's would be off by radians where positions are millions.
 *
 * A thread's scratch:  | cosines, sines [R/2 each] in double | the same as float |
 */
#include "kernels/rotary.h"

#include "base/checked.h"
#include "base/error.h"

#include <inttypes.h>
#include <math.h>

enum {
    ROWS_PER_ITEM = 64,
    /* Turned numbers worth a thread of their own. */
    WORK_PER_THREAD = 1 << 18
};

void attnzoo_rotary_fill_steps(double base, int64_t size, double *steps, double *cosines, double *sines)
{
    for (int64_t i = 0; i < size / 2; i++) {
        steps[i] = pow(base, -2.0 * (double)i / (double)size);
        cosines[i] = cos(steps[i]);
        sines[i] = sin(steps[i]);
    }
}

int64_t attnzoo_rotary_scratch_bytes(const struct attnzoo_rotation *rotation)
{
    return rotation->cosines != NULL ? 0 : rotation->size * (int64_t)(sizeof(double) + sizeof(float));
}

int64_t attnzoo_rotary_threads_wanted(const struct attnzoo_rotation *rotation, const struct attnzoo_grid *rows)
{
    double turned = (double)rows->size[ATTNZOO_BATCH] * (double)rows->size[ATTNZOO_HEAD] *
                    (double)rows->size[ATTNZOO_ROW] * (double)rotation->size;
    double threads = 1.0 + turned / WORK_PER_THREAD;
    return threads < ATTNZOO_POOL_THREADS_MAX ? (int64_t)threads : ATTNZOO_POOL_THREADS_MAX;
}

static int64_t position_of(const struct attnzoo_positions *positions, int64_t batch, int64_t row)
{
    const struct attnzoo_grid *given = &positions->given;
    if (given->data != NULL)
        return attnzoo_kernel_integer_at(attnzoo_grid_at(given, batch, 0, row, 0), given->dtype);
    return positions->mask != NULL ? attnzoo_mask_position(positions->mask, batch, row) : positions->first + row;
}

/* The wanted rows of a batch among [first, end). */
static struct attnzoo_key_span wanted(const struct attnzoo_rotary_rows *rows, int64_t batch, int64_t first, int64_t end)
{
    return (struct attnzoo_key_span){attnzoo_base_maximum(rows->spans[batch].first, first),
                                     attnzoo_base_minimum(rows->spans[batch].end, end)};
}

static bool is_in_tables(const struct attnzoo_rotation *rotation, int64_t position)
{
    return position >= 0 && position < rotation->table_rows;
}

/* With more queries than keys the first stand before all keys and, under a causal mask, see none of them. */
static bool sees_nothing(const struct attnzoo_rotary_rows *rows, int64_t batch, int64_t row)
{
    if (rows->mask == NULL)
        return false;
    struct attnzoo_key_span span = attnzoo_mask_span(rows->mask, batch, row);
    return span.first >= span.end;
}

attnzoo_status attnzoo_rotary_check(const struct attnzoo_rotation *rotation, const struct attnzoo_rotary_rows *rows)
{
    if (rotation->cosines == NULL || rotation->size == 0)
        return ATTNZOO_STATUS_OK;
    for (int64_t batch = 0; batch < rows->rows.size[ATTNZOO_BATCH]; batch++) {
        struct attnzoo_key_span span = wanted(rows, batch, 0, rows->rows.size[ATTNZOO_ROW]);
        for (int64_t row = span.first; row < span.end; row++) {
            int64_t position = position_of(&rows->positions, batch, row);
            if (!is_in_tables(rotation, position) && !sees_nothing(rows, batch, row))
                return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                         "%s %" PRId64 " of batch %" PRId64 " stands at position %" PRId64
                                         ", but rotary_cos and rotary_sin have %" PRId64 " rows",
                                         rows->name, row, batch, position, rotation->table_rows);
        }
    }
    return ATTNZOO_STATUS_OK;
}

/* Cosines and sines of the angles at a position. */
struct angles {
    int64_t position;
    bool are_known;
    double *wide_cosines;
    double *wide_sines;
    float *cosines;
    float *sines;
};

static void turn_to(const struct attnzoo_rotation *rotation, int64_t position, struct angles *angles)
{
    for (int64_t i = 0; i < rotation->size / 2; i++) {
        double angle = (double)position * rotation->steps[i];
        angles->wide_cosines[i] = cos(angle);
        angles->wide_sines[i] = sin(angle);
    }
}

/* To the next position by the sums of angles, which are faster: what is lost in some steps is far below a float. */
static void turn_on(const struct attnzoo_rotation *rotation, struct angles *angles)
{
    const double *restrict step_cosines = rotation->step_cosines, *restrict step_sines = rotation->step_sines;
    double *restrict cosines = angles->wide_cosines, *restrict sines = angles->wide_sines;
    for (int64_t i = 0; i < rotation->size / 2; i++) {
        double cosine = cosines[i] * step_cosines[i] - sines[i] * step_sines[i];
        sines[i] = cosines[i] * step_sines[i] + sines[i] * step_cosines[i];
        cosines[i] = cosine;
    }
}

static void find_angles(const struct attnzoo_rotation *rotation, int64_t position, struct angles *angles)
{
    /* Written so that no sum passes 63 bits. */
    if (angles->are_known && position > angles->position && position - 1 == angles->position)
        turn_on(rotation, angles);
    else
        turn_to(rotation, position, angles);
    angles->position = position;
    angles->are_known = true;
    for (int64_t i = 0; i < rotation->size / 2; i++) {
        angles->cosines[i] = (float)angles->wide_cosines[i];
        angles->sines[i] = (float)angles->wide_sines[i];
    }
}

static void turn_halves(int64_t pairs, const float *restrict cosines, const float *restrict sines,
                        float *restrict first, float *restrict second)
{
    for (int64_t i = 0; i < pairs; i++) {
        float x = first[i], y = second[i];
        first[i] = x * cosines[i] - y * sines[i];
        second[i] = x * sines[i] + y * cosines[i];
    }
}

static void turn_interleaved(int64_t pairs, const float *restrict cosines, const float *restrict sines,
                             float *restrict row)
{
    for (int64_t i = 0; i < pairs; i++) {
        float x = row[2 * i], y = row[2 * i + 1];
        row[2 * i] = x * cosines[i] - y * sines[i];
        row[2 * i + 1] = x * sines[i] + y * cosines[i];
    }
}

struct job {
    const struct attnzoo_rotation *rotation;
    const struct attnzoo_rotary_rows *rows;
    int64_t row_blocks;
};

static void turn_row(const struct job *job, int64_t batch, int64_t row, const float *cosines, const float *sines)
{
    const struct attnzoo_grid *rows = &job->rows->rows;
    int64_t pairs = job->rotation->size / 2;
    for (int64_t head = 0; head < rows->size[ATTNZOO_HEAD]; head++) {
        float *x = (float *)(void *)attnzoo_grid_at(rows, batch, head, row, 0);
        if (job->rotation->is_interleaved)
            turn_interleaved(pairs, cosines, sines, x);
        else
            turn_halves(pairs, cosines, sines, x, x + pairs);
    }
}

static void turn_block(const void *context, int64_t item, void *scratch)
{
    const struct job *job = context;
    const struct attnzoo_rotation *rotation = job->rotation;
    int64_t batch = item / job->row_blocks, first = item % job->row_blocks * ROWS_PER_ITEM;
    int64_t pairs = rotation->size / 2;
    struct attnzoo_key_span span =
        wanted(job->rows, batch, first, attnzoo_base_minimum(first + ROWS_PER_ITEM, job->rows->rows.size[ATTNZOO_ROW]));
    struct angles angles = {0};
    if (rotation->cosines == NULL) {
        angles.wide_cosines = scratch;
        angles.wide_sines = angles.wide_cosines + pairs;
        angles.cosines = (void *)(angles.wide_sines + pairs);
        angles.sines = angles.cosines + pairs;
    }
    for (int64_t row = span.first; row < span.end; row++) {
        int64_t position = position_of(&job->rows->positions, batch, row);
        if (rotation->cosines == NULL) {
            find_angles(rotation, position, &angles);
            turn_row(job, batch, row, angles.cosines, angles.sines);
        } else if (is_in_tables(rotation, position)) {
            int64_t table = rotation->table_batches > 1 ? batch : 0;
            int64_t place = (table * rotation->table_rows + position) * pairs;
            turn_row(job, batch, row, rotation->cosines + place, rotation->sines + place);
        }
    }
}

void attnzoo_rotary_solve(const struct attnzoo_rotation *rotation, const struct attnzoo_rotary_rows *rows,
                          const struct attnzoo_pool_claim *claim)
{
    const int64_t *size = rows->rows.size;
    const struct job job = {rotation, rows, attnzoo_base_divide_up(size[ATTNZOO_ROW], ROWS_PER_ITEM)};
    if (rotation->size > 0)
        attnzoo_pool_do(claim,
                        &(struct attnzoo_pool_phase){turn_block, &job, size[ATTNZOO_BATCH] * job.row_blocks, NULL});
}
