/*
 * kernels/addressing.h: heads that read and write a memory by content and location, step after step: equations 2 to 9 of
 * Graves, Wayne and Danihelka 2014, arXiv 1410.5401. What the controller says at each step has been computed before; the
 * linear layers that compute it are the mechanism's.
 */
#ifndef ATTNZOO_KERNELS_ADDRESSING_H
#define ATTNZOO_KERNELS_ADDRESSING_H

#include "kernels/grid.h"
#include "kernels/mask.h"
#include "parallel/pool.h"

/** What the controller tells the heads; each as a linear layer gave it, before it is brought into its range. */
enum attnzoo_addressing_signal {
    /** k [heads, C] */
    ATTNZOO_ADDRESSING_KEY,
    /** beta = softplus, [heads] */
    ATTNZOO_ADDRESSING_STRENGTH,
    /** g = sigmoid, [heads] */
    ATTNZOO_ADDRESSING_GATE,
    /** s = softmax over [heads, 2 S + 1]; number o moves a weighting by o - S rows. */
    ATTNZOO_ADDRESSING_SHIFT,
    /** gamma = 1 + softplus, [heads] */
    ATTNZOO_ADDRESSING_SHARPENING,
    /** e = sigmoid, [write heads, C] */
    ATTNZOO_ADDRESSING_ERASE,
    /** a [write heads, C] */
    ATTNZOO_ADDRESSING_ADD,
    ATTNZOO_ADDRESSING_SIGNALS
};

/** The weighting before the first step. */
enum attnzoo_addressing_initial { ATTNZOO_ADDRESSING_ZEROS, ATTNZOO_ADDRESSING_UNIFORM, ATTNZOO_ADDRESSING_FIRST_ROW };

struct attnzoo_addressing {
    int64_t batch_count;
    int64_t step_count;
    /** M and C of the memory. */
    int64_t row_count;
    int64_t column_count;
    /** Heads are ordered reads first, then writes. */
    int64_t read_count;
    int64_t write_count;
    /** 2 S + 1 */
    int64_t shift_count;
    bool reads_before_write;
    /** Rows beyond a key length do not exist; steps beyond a query length do nothing. No other constraint counts. */
    const struct attnzoo_mask_plan *mask;
    /**
     * [B, N, what the enumeration says], compact; brought into their ranges in place. Behind the keys is room for one
     * row more, which BLIS up to 1.0 reads.
     */
    float *signals[ATTNZOO_ADDRESSING_SIGNALS];
    /** [B, M, C]: rows compact, batches memory_step floats apart. */
    float *memory;
    int64_t memory_step;
    /** [B, heads, M]: the weighting of the step before, heads weights_step floats apart. */
    float *weights;
    int64_t weights_step;
    /** [B, 1, N, reads * C], and [B, heads, N, M], whose data are NULL where it is not wanted. */
    struct attnzoo_grid context;
    struct attnzoo_grid attention;
};

struct attnzoo_addressing_plan {
    const struct attnzoo_addressing *addressing;
    int64_t block_count;
    /** Multiply-adds of one step. */
    double step_work;
    int64_t content_offset;
    int64_t norms_offset;
    int64_t partials_offset;
    /** Set by attnzoo_addressing_point(). */
    float *content;
    float *norms;
    float *partials;
};

static inline int64_t attnzoo_addressing_head_count(const struct attnzoo_addressing *addressing)
{
    return addressing->read_count + addressing->write_count;
}

/** Whether a batch takes a step: it is not beyond its query length. */
static inline bool attnzoo_addressing_is_running(const struct attnzoo_addressing *addressing, int64_t batch,
                                                 int64_t step)
{
    return step < attnzoo_mask_query_length(addressing->mask, batch);
}

/* addressing_signals.c */

/** Numbers that a signal has for one step. */
int64_t attnzoo_addressing_signal_size(const struct attnzoo_addressing *addressing, int32_t signal);

/** A signal of one batch's step; of one head, where heads have so many numbers each. */
float *attnzoo_addressing_signal_at(const struct attnzoo_addressing *addressing, int32_t signal, int64_t batch,
                                    int64_t step, int64_t head, int64_t numbers);

/** Brings the signals of all steps that are taken into their ranges; keys become directions, 1 long. */
void attnzoo_addressing_hear(const struct attnzoo_addressing *addressing, const struct attnzoo_pool_claim *claim);

/* addressing.c */

/** Finds places for what is computed on the way, behind *end, and tells what a pool must give. */
attnzoo_status attnzoo_addressing_make_plan(struct attnzoo_addressing_plan *plan,
                                            const struct attnzoo_addressing *addressing, int64_t *end,
                                            struct attnzoo_pool_needs *needs);

/** Points the plan into a call's memory. */
void attnzoo_addressing_point(struct attnzoo_addressing_plan *plan, char *memory);

/** Fills memory and weights for the first step of all: rows of value [B, 1, M, C] before their batch's length. */
void attnzoo_addressing_start(const struct attnzoo_addressing_plan *plan, const struct attnzoo_pool_claim *claim,
                              const struct attnzoo_grid *value, enum attnzoo_addressing_initial initial);

/** Takes all steps. Memory and weights are then those of the last one. */
void attnzoo_addressing_solve(const struct attnzoo_addressing_plan *plan, const struct attnzoo_pool_claim *claim);

#endif
