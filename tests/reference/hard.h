/*
 * tests/reference/hard.h: hard attention (Xu et al. 2015, section 4.1) in plain loops of double precision: the
 * probabilities of a row, which key is chosen by them, and what REINFORCE is told. It shares no code with the library.
 *
 * Rounding, continued from rounding.h and rounding_tanh.h:
 *
 * 18. The choice. Scores that are off by d_j may choose any key whose score (with its noise, in sampling) is within d_j +
 *     d_k of every other key k's. The noise is made in double, and off by no more than 1e-12.
 * 19. ln p_j = s_j - (m + ln Z): d_j, and item 6 of the log-sum-exp relative to the exact maximum; one rounding to float:
 *     l_j, the error bound of ln p_j.
 * 20. The entropy -sum p_j ln p_j: with p_j off by b_j (item 4) and ln p_j by l_j: sum (b_j (|ln p_j| + l_j) + p_j l_j), and
 *     one rounding to float. Weights below 2^-126 count as nothing: 88 2^-126 for each key.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_HARD_H
#define ATTNZOO_TESTS_REFERENCE_HARD_H

#include "reference/general.h"

struct reference_hard {
    /* Scores, sharpening being the scale; softcap is the mask's. */
    struct reference_additive model;
    bool is_additive;
    bool is_sampled;
    uint64_t seed;
};

/* Fills a row: which keys are seen, their scores and, as weights, their probabilities. */
void reference_hard_row(const struct reference_hard *problem, const struct reference_projections *projections,
                        struct reference_row *row, int64_t batch, int64_t head, int64_t query);

/* -ln(-ln(1 - v)), the noise of a key. */
double reference_hard_noise(uint64_t seed, int64_t batch, int64_t head, int64_t query, int64_t key);

/* The key that is chosen of a row; -1 for none. */
int64_t reference_hard_choose(const struct reference_hard *problem, const struct reference_row *row, int64_t batch,
                              int64_t head, int64_t query);

/* Item 18: whether a float32 computation may choose this key. */
bool reference_hard_may_choose(const struct reference_hard *problem, const struct reference_row *row, int64_t batch,
                               int64_t head, int64_t query, int64_t key);

/* Items 19 and 20, of a row that sees something and no NaN. */
double reference_hard_log_probability(const struct reference_row *row, int64_t key, double *bound);
double reference_hard_entropy(const struct reference_row *row, double *bound);

#endif
