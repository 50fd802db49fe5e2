/*
 * tests/reference/rounding_tanh.h: rounding.h continued, for scores that are sums of tanh (additive, location_aware)
 * and for alignments that feed the next step (location_aware). Every number is derived here; none was chosen by looking
 * at what the library returns. u and gamma are those of rounding.h, whose items are counted on.
 *
 * 11. What tanh is taken of: x = q + k + g + b, the projections of query and key (item 7 of rounding.h), the location
 *     term (item 15) and the bias, each with its own error. Three sums in any order: gamma(3) (|q| + |k| + |g| + |b|)
 * more.
 * 12. y = tanh(x). By the mean value theorem an error of e in x becomes at most e times the largest slope within e of
 * x, which is at most 1 - max(|y| - e, 0)^2, as y itself moves by at most e. tanh itself is within 2 ulp: 4 u |y|, y
 * with its error.
 * 13. The score w . y + b_w: sum |w| error(y), A products and their sum with b_w in any order: gamma(A + 1) of
 *     sum |w| (|y| + error(y)) + |b_w|; rounding the sharpening, and multiplying by it (or w and b_w by it before):
 *     gamma(2) more. Together |beta| (sum |w| error(y) + gamma(A + 3) (sum |w| (|y| + error(y)) + |b_w|)).
 *     The biases of the mask follow: three terms, two sums, and the product inside of the linear one:
 *     gamma(3) (|score| + |dense| + |linear|).
 * 14. Smoothing: log sigmoid(e) has the slope sigmoid(-e), which over the error's reach is largest at its lower end,
 * and at most 1. It is itself within 4 ulp (8 u). Then the softmax of items 2 to 5.
 * 15. The location term of one key: f = C alpha + c over K = channels W taps, g = U f + d over F filters. Done one
 * after the other, f strays by gamma(K + 2) of its magnitudes and g by gamma(F + 2) more; with U C multiplied out
 * before, a tap strays by gamma(F) and their sum by gamma(K + 2). Either way gamma(F + K + 4) of sum_f |U| (sum |C|
 * (|alpha| + error(alpha)) + |c|) + |d| covers it. The errors of alpha come through as sum_f |U| sum |C| error(alpha).
 * With location_activation=tanh item 12 follows.
 * 16. THE RECURRENCE. alpha_t is off by what items 11 to 15 make of alpha_(t-1) with its error, by item 4. That is the
 *     error which step t + 1 starts from, so bounds are carried along with the numbers, step by step. One step
 * multiplies an error that is spread like alpha by at most 2 beta sum_a |w_a| sum_f |U_af| max |C_f|: a score moves by
 * no more than the product without the 2, and a softmax whose scores are off by e is off by 2 e alpha, to first order.
 *     Where that factor is below 1 bounds settle; above it they grow with its powers and become useless after as many
 *     steps as it takes from u to 1. Tests keep the factor low where steps are many.
 *     The sum of alignments adds the errors of all its terms, and u of itself a step. alpha_0 is exact, or 1 / count
 *     rounded: u / count.
 * 17. location_window asks which key was the most likely. Where bounds overlap the two can differ, rightly: what that
 *     batch gives from there on is not compared, its bounds are infinite. alpha_0 is not in doubt: its numbers are
 * equal.
 */
#ifndef ATTNZOO_TESTS_ROUNDING_TANH_H
#define ATTNZOO_TESTS_ROUNDING_TANH_H

#include "reference/rounding.h"

/* Item 12: of y = tanh(x) with x off by error. */
double rounding_of_tanh(double y, double error);

/* Item 13: of a sum of size products and a bias, sharpened; magnitude: sum |w| (|y| + error(y)) + |b_w|. */
double rounding_of_tanh_sum(int64_t size, double magnitude);

/* Item 13: of adding the mask's biases. */
double rounding_of_biases(double score, double dense, double linear);

/* Item 14: result = log sigmoid(score), with the score off by error. */
double rounding_of_log_sigmoid(double score, double result, double error);

/* Item 15: of g; taps: K. */
double rounding_of_location(int64_t filters, int64_t taps, double magnitude, double alignment_part);

/* Item 16: of 1 / count, and of sum + term, each with its error. */
double rounding_of_share(double share);
double rounding_of_running_sum(double sum, double sum_error, double term, double term_error);

#endif
