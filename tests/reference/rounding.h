/*
 * tests/reference/rounding.h: how far float32 arithmetic may stray from the exact result of scaled dot-product
 * attention. Every number here is derived below; none was chosen by looking at what the library returns.
 *
 * Let u = 2^-24, the unit roundoff of float32. A chain of n roundings multiplies a result by 1 + e with
 * |e| <= gamma(n) = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1).
 *
 * 1. A score. Rounding the scale (an inverse square root: two roundings), multiplying by it, D products and their sum
 * in any order: the error of s q.k is at most gamma(D + 3) S, S = |s| sum_d |q_d k_d|. Products too small for float32
 *    add D 2^-149 at most.
 *    softcap: y = c tanh(x / c). c is rounded, x / c is rounded (twice if by the reciprocal), so x / c strays by
 *    gamma(3) |x / c| beyond its share of the error of x, and tanh has a slope of at most 1. tanh itself is within 2
 * ulp (4 u), and multiplying rounds with c rounded: gamma(6) |y| more. Biases: three terms, x, dense and linear; the
 *    linear one is itself a product of two (the slope is a float, the distance an exact integer). Every partial sum is at
 *    most the sum of the magnitudes: gamma(3) (|x| + |dense| + |linear|). With one by the bucket of the distance there is
 *    one term more: gamma(4) of all four. Together: d_j, the error bound of score j.
 * 2. A weight. Attention does not change when all scores of a row move by one amount, so let weights be taken relative
 * to the exact maximum m: w_j = exp(s_j - m). The computed one is w_j exp(e) with |e| at most d_j from the score,
 *    + u min(m - s_j, 110)     from rounding the differences that are exponentiated. With a running maximum that rises
 *                              in steps the differences add up to m - s_j. Beyond 110 the weight is below 2^-149 and
 *                              counted by the underflow term,
 *    + 5 u (T + 1)             exp within 2 ulp (4 u) and one multiplication each time that the running maximum rises,
 * T times at most. It is looked at once a tile of at least 16 keys: T = M / 16 + 1. Besides, exp may underflow at each
 * step: 2^-126.
 * 3. The sum of the weights: relative error r = (sum_j error(w_j) + gamma(M) of the sum) / sum_j w_j.
 *    A sink is one more weight, of an exact score: one more to add up, and one more time that the maximum may rise.
 * 4. The attention: a quotient, or a product with the reciprocal: two more roundings, and one to spare for where the
 *    quotient is formed; relative to (w_j + error(w_j)) / (sum (1 - r)).
 * 5. The context: sum_j error(A_j) |v_jd|, and gamma(M + 3) for M products, their sum in any order and the division.
 * 6. The log-sum-exp: m + log(sum). The computed maximum is a float and subtracts exactly from what it was added to.
 * The sum's relative error r becomes -log(1 - r); log within 2 ulp and the final sum round: gamma(6) of the magnitudes.
 * Where r reaches 1/2 nothing useful can be said and the bound is infinite; tests use scores that keep far from there.
 * 7. A linear layer, x W^T + b: E products, their sum in any order and the bias, and one rounding to spare for a
 *    factor folded into W: gamma(E + 2) (sum |x W| + |b|), and E 2^-149. Where x itself is off by e: sum e |W| more,
 *    and |x| + e in place of |x|. A bias that is added to a projected query by itself (u, v) rounds once more.
 * 8. A score of inputs that were computed: with q and k off by at most e and f, the product is off by
 *    |s| sum (e |k| + |q| f + e f) beyond item 1, whose S takes |q| + e and |k| + f in place of |q| and |k|. Where the
 *    score is two products, with the key and with what stands for the distance, it has twice as many terms.
 * 9. A context of values that were computed: sum A_j error(v_jd) more, and |v| + error(v) in place of |v| in item 5.
 *    With values that stand for the distance there are 2 M products.
 * 10. Attention averaged over H heads: the average of the bounds, and gamma(H + 2) of the most that the average
 * reaches.
 *
 * 10a. A pair of columns turned, x' = x cos - y sin and y' = x sin + y cos: gamma(3) of the magnitudes, for cosine and
 * sine rounded to floats, products and sum. The angle p base^(-2i/R) is made in double, by a power, a product and, where
 * the library goes on from the angle before, up to 64 sums of angles: cosine and sine are off by |angle| 2^-50 + 2^-45 at
 * most, beside their rounding. Where x and y are off by e and f: e |cos| + f |sin| more. Cosines and sines of a table are
 * exact.
 *
 * Items 11 to 17, of scores that are sums of tanh and of alignments that feed the next step, are in rounding_tanh.h.
 *
 * The reference itself works in double, whose roundings (about (M + D) 2^-53) vanish beside these.
 */
#ifndef ATTNZOO_TESTS_ROUNDING_H
#define ATTNZOO_TESTS_ROUNDING_H

#include <stdint.h>

/* How far a product of n factors 1 + e, |e| <= 2^-24, may lie from 1. */
double rounding_gamma(double n);

/* What one score is made of: the magnitudes of its parts. */
struct score_parts {
    int64_t terms;            /* products that are added up: D, or twice as many */
    double product_magnitude; /* |s| sum |q k| */
    double product_error;     /* item 8: what comes of q and k being off */
    double product;           /* s q.k */
    double softcap;           /* 0 for none */
    double capped;            /* the product after softcap */
    double dense_bias;
    double linear_bias;
    double bucket_bias;
};

/* Items 1 and 8: the most that a float32 score may be off. */
double rounding_of_score(const struct score_parts *parts);

/* Item 2: the most that a weight exp(below), below <= 0, may be off, of keys many, with a score off by score_error. */
double rounding_of_weight(double below, double score_error, int64_t keys);

/* Items 3 to 6, of one row. */
struct row_rounding {
    int64_t keys;
    double sum;          /* of the exact weights */
    double sum_relative; /* item 3; at least 1/2 where nothing useful can be said */
};

struct row_rounding rounding_of_sum(int64_t keys, double sum, double weight_errors);
double rounding_of_attention(const struct row_rounding *row, double weight, double weight_error);

/* weighted_errors: sum of error(A_j) |v_j|; weighted_values: sum of A_j |v_j|. */
double rounding_of_context(const struct row_rounding *row, double weighted_errors, double weighted_values);
double rounding_of_log_sum_exp(const struct row_rounding *row, double maximum);

/* Item 7: of one element of a linear layer; magnitude: sum (|x| + e) |W| + |b|, input_error: sum e |W|. */
double rounding_of_linear(int64_t terms, double magnitude, double input_error);

/* Item 10a: magnitude: |x cos| + |y sin| with the errors of x and y added to them; plain: |x| + |y|, likewise;
 * input_error: e |cos| + f |sin|; angle_error: 0 where cosine and sine are exact. */
double rounding_of_turn(double magnitude, double plain, double input_error, double angle_error);

/* Item 10: average: of the attention and its bounds. */
double rounding_of_average(int64_t heads, double average, double average_bound);

#endif
