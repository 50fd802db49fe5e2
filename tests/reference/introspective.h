/*
 * tests/reference/introspective.h: one step of the heads of a Neural Turing Machine (Graves, Wayne and Danihelka 2014,
 * equations 2 to 9) in plain loops of double precision, and a bound for what a float32 computation of that step may
 * differ by, given the same memory and weightings before it. It shares no code with the library.
 *
 * A bound over many steps would say nothing: sharpening multiplies relative errors by gamma at every step. So a test
 * takes the library's own memory and weightings before each step, checks the step, and goes on from the library's again.
 *
 * Every bound is derived here, none was chosen by looking at results. u = 2^-24 and gamma(n) are those of rounding.h,
 * whose items are counted on; d(x) is the bound of x.
 *
 *  a. Layers: item 7. beta, g and gamma are the floats nearest to softplus and sigmoid of them, whose slopes are at most
 *     1 and 1/4: d(x) or d(x)/4, and u of the result. The gate 1 - g rounds once more.
 *  b. Shifts: a softmax, items 2 to 4.
 *  c. e = (1 + tanh(x/2)) / 2, tanh within 2 ulp (4 u): d(x)/4 + 2 u, and u for the sum.
 *  d. Where the key k is off by a vector no longer than D < |k|, its direction turns by at most asin(D / |k|), and no
 *     cosine moves by more. For D >= |k| nothing is known: 2. A key of zeros without error has K = 0 exactly.
 *  e. K: a key of length 1 rounded once, C products and their sum in any order, times 1 / |m|, of which the sum of squares
 *     has gamma(C), half of it behind the root, and one rounding; the product one more: gamma(3/2 C + 4) of
 *     T = sum |k m| / (|k| |m|) <= 1. Products that underflow: C 2^-149 of rows that are at least 2^-40 long (others, the
 *     library meets in double).
 *  f. beta K: products of two numbers with errors, and one rounding. Then the softmax, items 2 to 4.
 *  g. wg: the two products with their errors, two roundings each, and the sum's.
 *  h. w~: 2 S + 1 products and their sum: gamma(2 S + 2).
 *  i. Sharpening. Weights do not change when all w~ are multiplied by one number, so let q = w~ / max w~, exactly. The
 *     computed power is q^gamma exp(e) times such a number, |e| at most
 *         (gamma + d(gamma)) |ln of w~ with its error to w~|  +  d(gamma) |ln q|
 *         + u (gamma + d(gamma))                        the quotient by the maximum, rounded
 *         + (8 |gamma ln q| + 4) u                       the power, as kernels/vectors.h says
 *     With L <= power <= U for each row, a weight lies between L / (L + the others' U) and U / (U + the others' L). Where
 *     an error reaches w~ itself, L is 0. Then gamma(M + 3) for the sum and the division, and 2^-125 for powers that
 *     underflow.
 *  j. 1 - w e: a product and a difference, two roundings; times the row, one; plus w a, two.
 *  k. r: M products with errors on both sides, and their sum: gamma(M + 2).
 */
#ifndef ATTNZOO_TESTS_REFERENCE_INTROSPECTIVE_H
#define ATTNZOO_TESTS_REFERENCE_INTROSPECTIVE_H

#include "reference/additive.h"

/* In the order of the layers. */
enum {
    REFERENCE_KEY,
    REFERENCE_STRENGTH,
    REFERENCE_GATE,
    REFERENCE_SHIFT,
    REFERENCE_SHARPENING,
    REFERENCE_ERASE,
    REFERENCE_ADD,
    REFERENCE_SIGNALS
};

struct reference_introspective {
    int64_t reads, writes, rows, columns, shifts; /* heads of each kind, M, C, 2 S + 1 */
    bool reads_before_write;
    struct reference_layer layers[REFERENCE_SIGNALS];
};

/* What a step gives. */
struct reference_step {
    struct reference_bounded weights; /* [reads + writes, M] */
    struct reference_bounded memory;  /* [M, C] */
    struct reference_bounded read;    /* [reads, C] */
};

/* query [Eq]; length: rows that exist; memory [M, C] and weights [reads + writes, M] are those before the step. */
struct reference_step reference_introspective_step(const struct reference_introspective *problem, const double *query,
                                                   int64_t length, const double *memory, const double *weights);
void reference_step_destroy(struct reference_step *step);

#endif
