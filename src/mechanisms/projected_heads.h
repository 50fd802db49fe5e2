/*
 * mechanisms/projected_heads.h: what the mechanisms share that project query, key and value, split them into heads,
 * attend in each head, and join the heads again: parameters, shapes, self-attention in one product, the key/value
 * cache, the output projection. How a score is made is the mechanism's own. Vaswani et al. 2017 (arXiv 1706.03762),
 * section 3.2.2; grouped heads: Ainslie et al. 2023 (arXiv 2305.13245).
 */
#ifndef ATTNZOO_MECHANISMS_PROJECTED_HEADS_H
#define ATTNZOO_MECHANISMS_PROJECTED_HEADS_H

#include "kernels/attention_plan.h"
#include "kernels/projection.h"
#include "kernels/rotary.h"
#include "mechanisms/mechanism.h"
#include "mechanisms/shapes.h"

/** Options and parameters that come first in such a mechanism's tables. */
enum {
    ATTNZOO_HEADS_NUM_HEADS,
    ATTNZOO_HEADS_NUM_KV_HEADS,
    ATTNZOO_HEADS_SCALE,
    ATTNZOO_HEADS_SOFTCAP,
    ATTNZOO_HEADS_AVERAGE,
    ATTNZOO_HEADS_OPTION_COUNT
};

enum {
    ATTNZOO_HEADS_QUERY_WEIGHT,
    ATTNZOO_HEADS_QUERY_BIAS,
    ATTNZOO_HEADS_KEY_WEIGHT,
    ATTNZOO_HEADS_KEY_BIAS,
    ATTNZOO_HEADS_VALUE_WEIGHT,
    ATTNZOO_HEADS_VALUE_BIAS,
    ATTNZOO_HEADS_OUT_WEIGHT,
    ATTNZOO_HEADS_OUT_BIAS,
    ATTNZOO_HEADS_PARAMETER_COUNT
};

#define ATTNZOO_HEADS_OPTIONS                                                                                          \
    [ATTNZOO_HEADS_NUM_HEADS] =                                                                                        \
        {"num_heads", ATTNZOO_OPTION_INT, "1", "1 to 2^31", "H, the heads that query splits into", 1.0, 1.0, 0x1p31},  \
    [ATTNZOO_HEADS_NUM_KV_HEADS] = {"num_kv_heads",                                                                    \
                                    ATTNZOO_OPTION_INT,                                                                \
                                    "num_heads",                                                                       \
                                    "1 to 2^31, divides num_heads",                                                    \
                                    "G, the heads that key and value split into; query head h reads head h / (H/G)",   \
                                    1.0,                                                                               \
                                    1.0,                                                                               \
                                    0x1p31},                                                                           \
    [ATTNZOO_HEADS_SCALE] = {"scale",                                                                                  \
                             ATTNZOO_OPTION_FLOAT,                                                                     \
                             "1/sqrt(D)",                                                                              \
                             "finite",                                                                                 \
                             "multiplies the scores; D is the size of a head",                                         \
                             0.0,                                                                                      \
                             -FLT_MAX,                                                                                 \
                             FLT_MAX},                                                                                 \
    [ATTNZOO_HEADS_SOFTCAP] = {"softcap",                                                                              \
                               ATTNZOO_OPTION_FLOAT,                                                                   \
                               "0",                                                                                    \
                               "0 (off), or a positive normal number",                                                 \
                               "c > 0 bounds the scores smoothly, c tanh(score / c), before biases and masks",         \
                               0.0,                                                                                    \
                               0.0,                                                                                    \
                               FLT_MAX},                                                                               \
    [ATTNZOO_HEADS_AVERAGE] = {"average_heads",                                                                        \
                               ATTNZOO_OPTION_BOOL,                                                                    \
                               "false",                                                                                \
                               "true or false",                                                                        \
                               "gives the attention averaged over the heads, [B, N, M]",                               \
                               0.0,                                                                                    \
                               0.0,                                                                                    \
                               1.0}

#define ATTNZOO_HEADS_PARAMETERS                                                                                       \
    [ATTNZOO_HEADS_QUERY_WEIGHT] = {"query_proj.weight", "[H*D, Eq]", "makes the heads' queries", 2, true},            \
    [ATTNZOO_HEADS_QUERY_BIAS] = {"query_proj.bias", "[H*D]", "added to them", 1, false},                              \
    [ATTNZOO_HEADS_KEY_WEIGHT] = {"key_proj.weight", "[G*D, Ek]", "makes the heads' keys", 2, true},                   \
    [ATTNZOO_HEADS_KEY_BIAS] = {"key_proj.bias", "[G*D]", "added to them", 1, false},                                  \
    [ATTNZOO_HEADS_VALUE_WEIGHT] = {"value_proj.weight", "[G*Dv, Ev]", "makes the heads' values", 2, true},            \
    [ATTNZOO_HEADS_VALUE_BIAS] = {"value_proj.bias", "[G*Dv]", "added to them", 1, false},                             \
    [ATTNZOO_HEADS_OUT_WEIGHT] = {"out_proj.weight", "[Eo, H*Dv]", "joins the heads' contexts", 2, false},             \
    [ATTNZOO_HEADS_OUT_BIAS] = {"out_proj.bias", "[Eo]", "added to the result, also where nothing was seen", 1, false}

#define ATTNZOO_HEADS_INPUTS                                                                                           \
    [ATTNZOO_INPUT_QUERY] = {"query", "[B, N, Eq]", "what is looked for", true, false},                                \
    [ATTNZOO_INPUT_KEY] = {"key", "[B, M, Ek]", "what each glimpse offers to be found by", true, false},               \
    [ATTNZOO_INPUT_VALUE] = {"value", "[B, M, Ev]", "what each glimpse gives when it is found", true, false}

#define ATTNZOO_HEADS_OUTPUTS                                                                                          \
    [ATTNZOO_OUTPUT_CONTEXT] = {"context", "[B, N, Eo]", "the heads' contexts joined; Eo = H*Dv without out_proj",     \
                                true, false},                                                                          \
    [ATTNZOO_OUTPUT_ATTENTION] = {"attention", "[B, H, N, M]",                                                         \
                                  "the weight of each key for each query; [B, N, M] with average_heads", false, false}

#define ATTNZOO_HEADS_STATE_FIELDS                                                                                     \
    {"key", "[B, G, T, D]", "the projected keys of the calls so far", true, false},                                    \
    {                                                                                                                  \
        "value", "[B, G, T, Dv]", "the projected values of the calls so far", true, false                              \
    }

/** What prepare makes. First in a mechanism's own prepared data, if it has more. */
struct attnzoo_heads {
    int64_t head_count;
    int64_t key_head_count;
    int64_t head_size;
    int64_t value_size;
    struct attnzoo_layer query;
    struct attnzoo_layer key;
    struct attnzoo_layer value;
    struct attnzoo_layer out;
    /** The three layers one below the other [H*D + G*D + G*Dv, E] where their inputs have one size, else NULL. */
    float *stacked_weight;
    float *stacked_bias;
};

attnzoo_status attnzoo_heads_prepare(const struct attnzoo_instance *instance, struct attnzoo_heads *heads);
void attnzoo_heads_release(struct attnzoo_heads *heads);

attnzoo_status attnzoo_heads_output_shape(const struct attnzoo_instance *instance,
                                          const struct attnzoo_view *const *inputs,
                                          const struct attnzoo_state_content *state, int32_t output, int32_t *rank,
                                          int64_t *shape);

void attnzoo_heads_state_layout(const struct attnzoo_instance *instance, struct attnzoo_state_content *content);

/** A call between its checks and its run. */
struct attnzoo_heads_call {
    const struct attnzoo_heads *heads;
    const struct attnzoo_call *call;
    /** Shapes, mask, scale and wanted outputs; the source is the mechanism's to set. */
    struct attnzoo_attention problem;
    struct attnzoo_grid query;
    struct attnzoo_grid key;
    struct attnzoo_grid value;
    struct attnzoo_grid context;
    /** Keys cached before this call. */
    int64_t past_count;
    /** One more layer to be run, whose output is compact float32; NULL for none. Its place is found in the run. */
    struct attnzoo_projection *extra;
    /** Turns queries and keys as they are projected, by where they stand; NULL for not. Keys are cached turned. */
    const struct attnzoo_rotation *rotation;
    struct attnzoo_positions query_positions;
    struct attnzoo_positions key_positions;
};

/** Checks a call and fills what of the problem follows from it. */
attnzoo_status attnzoo_heads_open(struct attnzoo_heads_call *opened, const struct attnzoo_instance *instance,
                                  const struct attnzoo_call *call);

attnzoo_status attnzoo_heads_run(struct attnzoo_heads_call *opened);

#endif
