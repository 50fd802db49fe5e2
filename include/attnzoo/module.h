/*
 * attnzoo/module.h: modules. A module is one attention mechanism with its options and parameters.
 *
 *   attnzoo_module_create          by the mechanism's name (attnzoo_mechanism_name() lists them)
 *   attnzoo_module_set_option_*    in any order; options not set have their defaults
 *   attnzoo_module_set_parameter   copies weights in, where the mechanism has some
 *   attnzoo_module_prepare         checks that all fits together; from here on the module never changes
 *   attnzoo_module_forward         any number of times, from any number of threads at once
 *
 * Which options, parameters, inputs and outputs a mechanism has is told by attnzoo/introspection.h.
 */
#ifndef ATTNZOO_MODULE_H
#define ATTNZOO_MODULE_H

#include "api.h"
#include "executor.h"
#include "mask.h"
#include "status.h"
#include "tensor.h"

ATTNZOO_BEGIN_DECLARATIONS

/** A mechanism, its options and its parameters. */
typedef struct attnzoo_module attnzoo_module;

/** What a mechanism carries from one call to the next; see attnzoo/state.h. */
typedef struct attnzoo_state attnzoo_state;

/** Places of the inputs in attnzoo_module_forward_slots(). Later versions add places at the end. */
enum {
    /** What is looked for. */
    ATTNZOO_INPUT_QUERY = 0,
    /** What it is found by. */
    ATTNZOO_INPUT_KEY = 1,
    /** What is found. */
    ATTNZOO_INPUT_VALUE = 2,
    /** relative_multi_head, flavor=transformer_xl: the table of positions, [P, E] or [B, P, E]. */
    ATTNZOO_INPUT_POSITION = 3,
    /** multi_head with rotary positions: where each query of the call stands, integers [B, N]. */
    ATTNZOO_INPUT_QUERY_POSITIONS = 4,
    /** The same for its keys, integers [B, M]. */
    ATTNZOO_INPUT_KEY_POSITIONS = 5,
    /** hard, select=sample: one integer, [1], which tells what is drawn, in place of the option; argmax ignores it. */
    ATTNZOO_INPUT_SEED = 6
};

/** Places of the outputs in attnzoo_module_forward_slots(). Later versions add places at the end. */
enum {
    /** The values, summed by the attention. */
    ATTNZOO_OUTPUT_CONTEXT = 0,
    /** The weight of each key for each query. */
    ATTNZOO_OUTPUT_ATTENTION = 1,
    /** The natural logarithm of the sum of exp(score) over the keys that a query sees. */
    ATTNZOO_OUTPUT_LOG_SUM_EXP = 2,
    /** hard: the number of the key that was chosen, integers [B, H, N], [B, N] with one head; -1 for none. */
    ATTNZOO_OUTPUT_INDEX = 3,
    /** hard: the natural logarithm of the probability that the key had which was chosen; float32, shaped likewise; 0
     * for a query that sees no key. */
    ATTNZOO_OUTPUT_LOG_PROBABILITY = 4,
    /** hard: the entropy of the probabilities that the key was chosen by, in nats; float32, shaped likewise; 0 for a
     * query that sees no key. */
    ATTNZOO_OUTPUT_ENTROPY = 5
};

/**
 * Makes a module with the default options and no parameters.
 *
 * @param module     receives the new module on success, which the caller owns; untouched otherwise.
 * @param mechanism  a mechanism's name, such as "scaled_dot_product".
 * @return OK; INVALID_ARGUMENT: NULL; UNKNOWN_NAME: no such mechanism (the message lists them);
 *         OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_module_create(attnzoo_module **module, const char *mechanism);

/** Frees a module. NULL is fine. No call may be running on it. Since 1.0. */
ATTNZOO_API void attnzoo_module_destroy(attnzoo_module *module);

/** The name of the module's mechanism, a static string; NULL if module is NULL. Threads: any. Since 1.0. */
ATTNZOO_API const char *attnzoo_module_mechanism(const attnzoo_module *module);

/**
 * Sets an option from text, whatever its type: "8", "0.125", "true", "shaw". Numbers are read the same in
 * every locale, with a full stop for the decimal sign.
 *
 * @param name   an option of the mechanism. Copied, as the value is.
 * @param value  the text; the whole of it must be a value.
 * @return OK; INVALID_ARGUMENT: NULL, not a value of the option's type, out of its bounds; UNKNOWN_NAME:
 *         the mechanism has no such option (the message lists those it has); BAD_STATE: the module is
 *         prepared already.
 * Threads: not beside any other use of this module. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_module_set_option_text(attnzoo_module *module, const char *name, const char *value);

/** Sets an option whose type is float. Errors as attnzoo_module_set_option_text(). Since 1.0. */
ATTNZOO_API attnzoo_status attnzoo_module_set_option_float(attnzoo_module *module, const char *name, double value);

/** Sets an option whose type is int. Errors as attnzoo_module_set_option_text(). Since 1.0. */
ATTNZOO_API attnzoo_status attnzoo_module_set_option_int(attnzoo_module *module, const char *name, int64_t value);

/** Sets an option whose type is bool, to 0 or 1. Errors as attnzoo_module_set_option_text(). Since 1.0. */
ATTNZOO_API attnzoo_status attnzoo_module_set_option_bool(attnzoo_module *module, const char *name, int32_t value);

/**
 * Copies a parameter into the module, replacing what was set for that name before.
 *
 * @param name       a parameter of the mechanism, such as "query_proj.weight". attnzoo_item_text() tells their names,
 *                   shapes and which are required (`attnzoo describe MECHANISM` prints it).
 * @param parameter  float32, float16 or bfloat16, any strides. Its shape is checked against the others
 *                   by attnzoo_module_prepare(). Need not outlive the call.
 * @return OK; INVALID_ARGUMENT: NULL; UNKNOWN_NAME: the mechanism has no such parameter (the message lists
 *         those it has); DTYPE_MISMATCH; SHAPE_MISMATCH: the wrong number of axes; BAD_STATE: the module is
 *         prepared already; OUT_OF_MEMORY.
 * Threads: not beside any other use of this module. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_module_set_parameter(attnzoo_module *module, const char *name,
                                                        const attnzoo_tensor *parameter);

/**
 * Checks options and parameters together and makes the module ready to run. From here on it never changes.
 *
 * @return OK; INVALID_ARGUMENT: NULL, a required parameter is missing, options contradict each other;
 *         SHAPE_MISMATCH: a parameter's shape (the message names it, the shape it has and the one it should
 *         have); BAD_STATE: the module is prepared already; OUT_OF_MEMORY. On error the module may be
 *         mended and prepared again.
 * Threads: not beside any other use of this module. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_module_prepare(attnzoo_module *module);

/**
 * Tells the shape that an output would have, so that memory for it can be had.
 *
 * @param module       a prepared module.
 * @param inputs       [input_count] views by ATTNZOO_INPUT_ place, NULL where there is none. Only their
 *                     shapes are looked at.
 * @param input_count  how many places the array has.
 * @param state        the state of the call, or NULL.
 * @param output       an ATTNZOO_OUTPUT_ place.
 * @param rank         receives the number of axes.
 * @param shape        [ATTNZOO_RANK_MAX] receives that many sizes. The axes that the query leaves out
 *                     (batch, heads) are left out here too.
 * @return OK; INVALID_ARGUMENT: NULL, an input is missing; SHAPE_MISMATCH: the inputs do not fit each
 *         other; UNSUPPORTED: the mechanism has no such output; BAD_STATE: the module is not prepared.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_module_output_shape(const attnzoo_module *module,
                                                       const attnzoo_tensor *const *inputs, int32_t input_count,
                                                       const attnzoo_state *state, int32_t output, int32_t *rank,
                                                       int64_t *shape);

/**
 * Computes attention: for each query, the keys' scores, their softmax over the keys that may be seen (the
 * attention), and the values summed by it (the context).
 *
 * What a score is depends on the mechanism. Below, s is the option scale (1/sqrt(D) by default), A = softmax(score +
 * biases), and c tanh(score / c) takes the place of the score where the option softcap is c > 0. E sizes are those of
 * the inputs' features; doc/ has a page on each mechanism.
 *
 *   scaled_dot_product   query [B, H, N, D], key [B, G, M, D], value [B, G, M, Dv]; score_ij = s q_i . k_j; context =
 *                        A V, [B, H, N, Dv] (Vaswani et al. 2017, arXiv 1706.03762, equation 1).
 *   multi_head           query [B, N, Eq], key [B, M, Ek], value [B, M, Ev], which query_proj, key_proj and value_proj
 *                        project and split into heads of D and Dv; the same score in each head; contexts joined,
 *                        [B, N, H*Dv], and, where it is set, taken through out_proj (section 3.2.2 there). One view
 *                        given for all three inputs, or for key and value, is projected in one product. rotary: q_i
 *                        and k_j are turned by their positions first, columns (a, b) of a head by the angle p
 *                        base^(-2i/R) (Su et al. 2021, arXiv 2104.09864, equation 34); relative_buckets: score_ij + b_h
 *                        of the bucket that j - i is in (Raffel et al. 2020, arXiv 1910.10683, section 2.1); sink: one
 *                        more score in each softmax of head h, which has no value, so that a row of A adds up to less
 *                        than 1. Query i stands where the mask says, at M - N + i by default, key j at j, cached keys
 *                        being counted.
 *   relative_multi_head  as multi_head. flavor=transformer_xl: score_ij = s ((q_i + u) . k_j + (q_i + v) . r_ij), r_ij
 *                        from pos_proj of row M - 1 - (M - N + i - j) of the input `position` (Dai et al. 2019, arXiv
 *                        1901.02860, section 3.3). flavor=shaw: score_ij = s q_i . (k_j + aK_c), context_i = sum_j A_ij
 *                        (v_j + aV_c), c = clip(j - i - (M - N), -k, k) + k (Shaw et al. 2018, arXiv 1803.02155,
 *                        equations 3 and 4).
 *   additive             query [B, N, Eq], key [B, M, Ek], value [B, M, Ev]; score_ij = w . tanh(Wq q_i + Wk k_j + b) +
 *                        b_w; context = A V, [B, N, Ev] (Bahdanau et al. 2015, arXiv 1409.0473, appendix A.1.2).
 *   location_aware       inputs as additive, the N queries being steps in order; e_j = beta (w . tanh(Wq q_t + Wk k_j +
 *                        U f_j + b) + b_w), f = conv(alignment_t-1); alignment_t = softmax(e + biases), or smoothing,
 *                        over all keys; context_t = sum_j alignment_tj v_j, head by head, [B, N, H*Dv] (Chorowski et
 *                        al. 2015, arXiv 1506.07503, equations 5 to 9).
 *   general              inputs as additive; score_ij = s q_i^T Wa k_j, c tanh(score / c) with softcap c; context = A V,
 *                        [B, N, Ev] (Luong et al. 2015, arXiv 1508.04025, equation 8).
 *   concat               inputs as additive; score_ij = v . tanh(Wa [q_i; k_j] + b) + b_v; context = A V, [B, N, Ev]
 *                        (the same equation).
 *   hard                 inputs as additive; score_ij = s q_i . k_j, or additive's; one key j* a query and head is
 *                        chosen, the likeliest by softmax(score + biases) or one drawn with that probability; context_i
 *                        = v_j*, [B, N, H*Dv]; attention is 1 there and 0 elsewhere (Xu et al. 2015, arXiv 1502.03044,
 *                        section 4.1). Outputs ATTNZOO_OUTPUT_INDEX (int32 or int64; -1 where nothing is seen),
 *                        ATTNZOO_OUTPUT_LOG_PROBABILITY and ATTNZOO_OUTPUT_ENTROPY (float32) [B, H, N], or [B, N] with
 *                        one head; input ATTNZOO_INPUT_SEED (one integer, [1]).
 *   location             query h [B, N, Eq], value [B, M, Ev], no key; u = j + first_position. flavor=gaussian_mixture, the
 *                        N queries being steps in order: (a, b, c) = W h_t + bias, kappa_t = kappa_t-1 + exp(c),
 *                        phi(t, u) = sum_k exp(a_k - exp(b_k) (kappa_k - u)^2), context_t = sum_u phi(t, u) v_u
 *                        (Graves 2013, arXiv 1308.0850, equations 46 to 51). flavor=position: A = softmax(Wa h + biases).
 *                        flavor=local_p: p = S sigmoid(v_p . tanh(W_p h)), A = softmax(Wa h + biases) exp(-2 (u - p)^2
 *                        / D^2) for the u within D of p (Luong et al. 2015, arXiv 1508.04025, equations 8 to 10).
 *   customizing          query [B, N, Eq], N steps in order, value [B, M, Ev], no key; in each head x_j = Wv v_j + U f_j +
 *                        b, f = conv(alignment_t-1); alignment_t = softmax(s (Wq q_t + bq) . x + biases); context_t =
 *                        sum_j alignment_tj x_j, joined, [B, N, H*D] (github.com/sooftware/attentions).
 *   introspective        query [B, N, Eq], what a controller says in N steps in order; value [B, M, C], the memory
 *                        before the first one; key is not read and may be NULL. For each of H heads, wc(i) =
 *                        softmax_i(beta cos(k, M(i))), wg = g wc + (1 - g) w_t-1, w~(i) = sum_j wg(j) s(i - j) modulo
 *                        M, w(i) = w~(i)^gamma / sum_j w~(j)^gamma, with k, beta, g, s, gamma from linear layers of
 *                        the query; heads that write make M(i) (1 - w(i) e) + w(i) a of M(i); context_t = sum_i w(i)
 *                        M(i) of those that read, head by head, [B, N, Hr*C] (Graves et al. 2014, arXiv 1410.5401,
 *                        equations 2 to 9). Takes no mask but lengths. With a state that holds a memory, value is not
 *                        read and may be NULL.
 *
 * @param module     a prepared module; only read.
 * @param executor   threads and scratch memory; NULL runs the call in the calling thread, with memory
 *                   allocated for this call alone.
 * @param query      as above. float32, float16 or bfloat16, any strides, as are key and value. Leading axes of size 1
 *                   (batch, heads) may be left out: for scaled_dot_product [H, N, D] and [N, D] are fine, for the
 *                   others [N, Eq].
 * @param key        as above; NULL, or anything with as many rows as value, where the mechanism reads no key.
 * @param value      as above; NULL where the mechanism can do without.
 * @param mask       what may be seen, and biases; NULL hides nothing. With a key/value cache its M is that of all keys.
 * @param state      carried from call to call; NULL for a call by itself. See attnzoo/state.h.
 * @param context    output: as above, float32, float16 or bfloat16. Any strides that nest: sorted by size, each
 *                   passes all that the smaller ones reach (transposed, sliced, reversed and interleaved views do;
 *                   others are refused even where no element repeats). Leading axes of size 1 may be left out.
 * @param attention  output: [B, H, N, M]; [B, N, M] with the option average_heads, for location, and for additive,
 *                   location_aware and customizing with one head. As context; NULL if it is not wanted. Without it no N x M memory is used or
 *                   written, and never any for each hidden unit or position of a pair.
 * Inputs of 16 bits are widened and all arithmetic is float32; outputs of 16 bits are rounded to nearest.
 * N = 0 or B = 0 does nothing (but that a cache keeps the keys); M = 0 gives context 0. Rows of key and value that no
 * query of the call may see by position or length are not read, except those that a cache is to keep.
 * A query past its length, or one that sees nothing, has context 0, which goes through out_proj like any other.
 *
 * @return OK; INVALID_ARGUMENT: NULL, a mask's length or offset is out of bounds (the message names the
 *         batch), an output is read-only, a state has no room for the keys; SHAPE_MISMATCH; DTYPE_MISMATCH; OVERLAP: an
 *         output shares memory with an input, a mask, another output or itself; UNSUPPORTED: something the mechanism
 *         does not take; BAD_STATE: the module is not prepared, the state was made for another; OUT_OF_MEMORY; SYSTEM.
 *         On error no output was written, and the state is as it was.
 * Threads: any number at once on one module, each with its own outputs and state. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_module_forward(const attnzoo_module *module, attnzoo_executor *executor,
                                                  const attnzoo_tensor *query, const attnzoo_tensor *key,
                                                  const attnzoo_tensor *value, const attnzoo_mask *mask,
                                                  attnzoo_state *state, attnzoo_tensor *context,
                                                  attnzoo_tensor *attention);

/**
 * As attnzoo_module_forward(), with inputs and outputs by place, for those beyond query, key, value, context
 * and attention. scaled_dot_product has one more output, ATTNZOO_OUTPUT_LOG_SUM_EXP: [B, H, N], float32.
 * relative_multi_head with flavor=transformer_xl has one more input, ATTNZOO_INPUT_POSITION. multi_head with rotary has
 * two more, ATTNZOO_INPUT_QUERY_POSITIONS [B, N] and ATTNZOO_INPUT_KEY_POSITIONS [B, M] ([N] and [M] for all batches),
 * int32 or int64, for rotary alone; M counts the keys of the call. With rotary_cos and rotary_sin a position that is not
 * one of their rows is INVALID_ARGUMENT, and the message names it; that of a row which need not be read is not looked at.
 *
 * @param inputs        [input_count] views by ATTNZOO_INPUT_ place, NULL where there is none.
 * @param input_count   how many places the array has; places beyond count as NULL.
 * @param outputs       [output_count] views by ATTNZOO_OUTPUT_ place, NULL where one is not wanted.
 * @param output_count  how many places the array has; places beyond count as NULL.
 * Errors and threads as attnzoo_module_forward(); UNSUPPORTED also for a view in a place that the mechanism
 * does not have. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_module_forward_slots(const attnzoo_module *module, attnzoo_executor *executor,
                                                        const attnzoo_tensor *const *inputs, int32_t input_count,
                                                        const attnzoo_mask *mask, attnzoo_state *state,
                                                        attnzoo_tensor *const *outputs, int32_t output_count);

ATTNZOO_END_DECLARATIONS

#endif
