/*
 * tests/reference/location.h: attention by position alone (Graves 2013; Luong et al. 2015, section 3) in plain loops of
 * double precision, and a bound for what a float32 computation may differ by. It shares no code with the library. Items
 * count on from rounding_tanh.h; u and gamma are those of rounding.h.
 *
 * 18. The centre kappa_t = kappa_t-1 + exp(x), x a linear layer's output off by e (item 7): the step is off by
 *     exp(x) (exp(e) - 1), exp within 2 ulp by 4 u exp(x + e), and the sum, of floats, rounds by u kappa_t. Errors of
 *     all steps add up. Below the floats exp rounds by 2^-149.
 * 19. An exponent t = a - exp(b) d^2, d = kappa - u: with a, b and kappa off by e_a, e_b and e_k it moves by at most
 *     e_a + beta (exp(e_b) - 1) d^2 + beta exp(e_b) (2 |d| e_k + e_k^2). Formed in double it rounds by 8 2^-53 of its
 *     parts, in float by 4 u of them; the bound allows float.
 * 20. The score ln sum_k exp(t_k): between those of all t_k a bound lower and all a bound higher. Each term is
 *     exp(t_k - m) with m the largest t: rounding the difference costs u (m - t_k) exp(t_k - m) <= u / e of the largest
 *     term, exp 4 u, the sum gamma(K): together gamma(2 K + 8) of the sum, which adds as much to the logarithm; the
 *     score itself rounds by u |score|, twice if the logarithm is added in float.
 * 21. A weight that is not normalised: exp(score + biases), off by exp of the score's bound (biases by item 13), exp
 *     within 2 ulp: 4 u, and 2 2^-149 below the floats. Its context: item 5 without a division.
 * 22. local_p: x = v . tanh(W h + b) + b_v by items 11 to 13; p = S sigmoid(x) between those of x - e and x + e, and
 *     2^-50 S for a quotient formed in double (4 u S if it were in float, which the bound allows). A key that p's bound
 *     puts on both sides of the window's edge makes the row uncertain: its bounds are infinite. The alignment within the
 *     window is a softmax (items 1 to 4); the factor exp(-y), y = 2 d^2 / D^2 <= 2, is off by exp(e_y) - 1 with
 *     e_y = 2 (2 |d| e_p + e_p^2) / D^2 + gamma(4) y, and 4 u; their product rounds.
 */
#ifndef ATTNZOO_TESTS_REFERENCE_LOCATION_H
#define ATTNZOO_TESTS_REFERENCE_LOCATION_H

#include "reference/additive.h"

enum reference_location_flavor { REFERENCE_GAUSSIAN_MIXTURE, REFERENCE_POSITION, REFERENCE_LOCAL_P };

struct reference_location {
    struct reference_problem mask; /* sizes B, N, M and Dv, one head, and the mask */
    enum reference_location_flavor flavor;
    bool is_normalized;
    double window;                      /* D */
    double first_position;              /* of the first key */
    int64_t components;                 /* K */
    const double *query;                /* [B, N, Eq] */
    const double *value;                /* [B, M, Ev] */
    struct reference_layer window_proj; /* to 3 K: logarithms of heights and sharpnesses, then of the centres' moves */
    struct reference_layer query_proj;  /* to A */
    struct reference_layer value_proj;  /* to Dv */
    const double *location_weight;      /* [S, Eq] or NULL */
    const double *score_weight;         /* [A] */
    double score_bias;
};

/* kappa [B, K]: where the centres are, which move on with the queries; for gaussian_mixture alone. */
struct reference_result reference_location_compute(const struct reference_location *problem,
                                                   struct reference_bounded *kappa);

#endif
