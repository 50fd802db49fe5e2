/*
 * kernels/attention_block.h: one block at work, as the files of the tiled core share it: its rows, what each may see,
 * and the scores of a strip. Cutting a problem into blocks is attention_plan.h's.
 */
#ifndef ATTNZOO_KERNELS_ATTENTION_BLOCK_H
#define ATTNZOO_KERNELS_ATTENTION_BLOCK_H

#include "kernels/attention_plan.h"

struct attnzoo_attention_worker {
    const struct attnzoo_attention_plan *plan;
    const struct attnzoo_attention *problem;
    struct attnzoo_attention_scratch scratch;
    struct attnzoo_tile block;
    int64_t block_number;
    /** The keys that every row of the block may see. */
    struct attnzoo_key_span common_span;
    /** Segments hide nothing within the spans. */
    bool segments_are_spans;
};

/** Opens a block in a thread's scratch memory. */
void attnzoo_attention_open_block(struct attnzoo_attention_worker *worker, const struct attnzoo_attention_plan *plan,
                                  int64_t number, void *scratch);

static inline int64_t attnzoo_attention_row_count(const struct attnzoo_attention_worker *worker)
{
    return worker->block.head_count * worker->block.query_count;
}

static inline int64_t attnzoo_attention_row_head(const struct attnzoo_attention_worker *worker, int64_t row)
{
    return worker->block.first_head + row / worker->block.query_count;
}

static inline int64_t attnzoo_attention_row_query(const struct attnzoo_attention_worker *worker, int64_t row)
{
    return worker->block.first_query + row % worker->block.query_count;
}

static inline float *attnzoo_attention_row_context(const struct attnzoo_attention_worker *worker, int64_t row)
{
    return worker->scratch.rows.context + row * worker->plan->context_columns;
}

static inline float *attnzoo_attention_row_scores(const struct attnzoo_strip *strip, int64_t row_in_strip)
{
    return strip->scores + row_in_strip * strip->step;
}

static inline bool attnzoo_attention_is_empty(struct attnzoo_key_span span)
{
    return span.first >= span.end;
}

/** The part of a row's span that lies in [first, end). */
struct attnzoo_key_span attnzoo_attention_row_span(const struct attnzoo_attention_worker *worker, int64_t row,
                                                   int64_t first, int64_t end);

/** The keys in [first, end) that any of some rows can see, from the first to the last. */
struct attnzoo_key_span attnzoo_attention_rows_span(const struct attnzoo_attention_worker *worker, int64_t first_row,
                                                    int64_t rows, int64_t first, int64_t end);

/** Whether every row of the block may see all of the keys in [first, end), as far as spans tell. */
static inline bool attnzoo_attention_all_see(const struct attnzoo_attention_worker *worker, int64_t first, int64_t end)
{
    return worker->common_span.first <= first && end <= worker->common_span.end;
}

/*
 * The walk over a block's keys. It depends on the block and its mask alone: who goes it again meets the same products
 * and so, to the bit, the same scores.
 */

/** The first tile that ends behind a key; false if there is none. */
bool attnzoo_attention_next_tile(const struct attnzoo_attention_worker *worker, int64_t key, struct attnzoo_tile *tile);

/** The strip of its tile that follows a strip, the first one after one of no rows; false if there is none. */
bool attnzoo_attention_next_strip(const struct attnzoo_attention_worker *worker, struct attnzoo_strip *strip);

/** Scores as the source makes them, times 0 if that is the scale, capped. */
void attnzoo_attention_score(const struct attnzoo_attention_worker *worker, const struct attnzoo_strip *strip);

/**
 * Masks one row of a strip, and smooths it where that is asked. Returns which of its scores count, from the strip's
 * first key. is_clear: no dense constraint hides any of the strip.
 */
struct attnzoo_key_span attnzoo_attention_mask_row(const struct attnzoo_attention_worker *worker,
                                                   const struct attnzoo_strip *strip, int64_t row_in_strip,
                                                   bool is_clear);

/** Damps weights of a row from a key on, if the source does that. */
static inline void attnzoo_attention_damp(const struct attnzoo_attention_worker *worker, int64_t row, int64_t first_key,
                                          int64_t count, float *weights)
{
    if (worker->problem->source->damp != NULL)
        worker->problem->source->damp(worker->problem, worker->block.batch, attnzoo_attention_row_query(worker, row),
                                      first_key, count, weights);
}

/** Zeros before and after a span of a row of so many scores. */
void attnzoo_attention_clear_outside(float *scores, struct attnzoo_key_span span, int64_t count);

/** Clears the score tile, which must not hold NaN when a product is written into it. */
void attnzoo_attention_clear_scores(const struct attnzoo_attention_worker *worker);

/** Where a row's attention goes from a key on. */
char *attnzoo_attention_output_at(const struct attnzoo_attention_worker *worker, int64_t row, int64_t key);

/** Writes what is wanted of a block whose keys are all added: attention_output.c. */
void attnzoo_attention_write_outputs(const struct attnzoo_attention_worker *worker, void *shared);

/** Writes the average over the heads for the queries of one cut, from the kept maxima and sums of their blocks. */
void attnzoo_attention_write_average(const struct attnzoo_attention_plan *plan, int64_t item, void *scratch,
                                     void *shared);

#endif
