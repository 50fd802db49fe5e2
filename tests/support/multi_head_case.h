/*
 * tests/support/multi_head_case.h: one call of multi_head or relative_multi_head, described once and put to the library
 * and to the reference.
 *
 *   multi_head_case_plan -> change fields and plans -> multi_head_case_allocate -> multi_head_case_fill, or values by
 * hand
 *   -> multi_head_case_run -> multi_head_case_compare -> multi_head_case_destroy
 */
#ifndef ATTNZOO_TESTS_MULTI_HEAD_CASE_H
#define ATTNZOO_TESTS_MULTI_HEAD_CASE_H

#include "reference/multi_head.h"
#include "support/attention_case.h"

#include <attnzoo/attnzoo.h>

/* Numbers of the parameters, by the layer that they belong to where they belong to one. */
enum {
    QUERY_WEIGHT,
    QUERY_BIAS,
    KEY_WEIGHT,
    KEY_BIAS,
    VALUE_WEIGHT,
    VALUE_BIAS,
    OUT_WEIGHT,
    OUT_BIAS,
    POSITION_WEIGHT,
    POSITION_BIAS,
    U_BIAS,
    V_BIAS,
    RELATIVE_KEY,
    RELATIVE_VALUE,
    ROTARY_COS,
    ROTARY_SIN,
    RELATIVE_BUCKETS,
    SINK,
    MULTI_HEAD_PARAMETERS
};

enum { MULTI_HEAD_BATCH_MAX = 16 };

extern const char *const MULTI_HEAD_PARAMETER_NAMES[MULTI_HEAD_PARAMETERS];

struct multi_head_sizes {
    enum reference_flavor flavor;
    int64_t batch, heads, key_heads, queries, keys; /* keys of the call, past ones not counted */
    int64_t past;
    int64_t head_size, value_size;
    int64_t query_width, key_width, value_width;
    int64_t out_width;      /* 0: no out_proj */
    int64_t position_width; /* transformer_xl */
    int64_t farthest;       /* shaw: k */
};

/* Options and inputs of positions; the tables are among the parameters. */
struct multi_head_positions {
    const char *rotary; /* NULL: not set */
    int64_t rotary_size;
    double rotary_base;                                /* 0: not set */
    struct test_tensor query_positions, key_positions; /* [1 or B, N], [1 or B, M]; rank 0: none */
    int64_t max_distance;                              /* 0: not set */
    bool is_unidirectional;
};

struct multi_head_case {
    struct multi_head_sizes sizes;
    /* Masks, scale and softcap; its keys count the past ones. Its query, key and value are those of the call, [B, N,
     * Eq] and so on; key.rank is 0 where the key is the query's view, value.rank 0 where the value is the key's. */
    struct attention_case base;
    bool averages_heads;
    struct test_tensor parameters[MULTI_HEAD_PARAMETERS]; /* rank 0: not set */
    struct test_tensor position;                          /* [1 or B, P, E] */
    struct multi_head_positions positions;

    /* The cache. */
    bool has_state;
    int64_t capacity;
    struct test_tensor past_key, past_value; /* [B, G, T, D], what it holds before the call */
    struct test_tensor kept_key, kept_value; /* [B, G, T + M, D], what it holds after the call, as it is read back */

    /* One offset a batch, as the reference takes them where the mask has one for all. */
    double offsets[MULTI_HEAD_BATCH_MAX];
};

/* Compact float32 inputs, all parameters of the flavor but biases of layers, context and attention, no mask set. */
void multi_head_case_plan(struct multi_head_case *test, struct multi_head_sizes sizes);

/* Plans a layer's bias: QUERY_BIAS and so on. */
void multi_head_case_plan_bias(struct multi_head_case *test, int parameter);

/* Plans the table of positions with so many rows, for each batch its own or one for all. */
void multi_head_case_plan_position(struct multi_head_case *test, bool is_by_batch, int64_t rows);

/* One view for query, key and value, or one for key and value. The widths and lengths must agree. */
void multi_head_case_share_all(struct multi_head_case *test);
void multi_head_case_share_value(struct multi_head_case *test);

/* The attention becomes [B, N, T + M]. */
void multi_head_case_average(struct multi_head_case *test);

/* Gives the call a cache that holds sizes.past keys. */
void multi_head_case_plan_state(struct multi_head_case *test, int64_t capacity);

void multi_head_case_allocate(struct multi_head_case *test);

/* Draws inputs and masks as attention_case_fill(); weights so that a projection keeps the inputs' size. */
void multi_head_case_fill(struct multi_head_case *test, struct random_source *source, double magnitude);

/* Query, key and value as the call sees them. */
struct test_tensor *multi_head_case_key(struct multi_head_case *test);
struct test_tensor *multi_head_case_value(struct multi_head_case *test);

/* Stores inputs, poisons outputs, calls the library with a state of its own, and loads what it gave. */
attnzoo_status multi_head_case_run(struct multi_head_case *test, attnzoo_executor *executor);

/* The parts of a run. The caller destroys module, mask and state; the module is not prepared yet. */
void multi_head_case_store(struct multi_head_case *test);
attnzoo_module *multi_head_case_unprepared(const struct multi_head_case *test);
attnzoo_module *multi_head_case_module(const struct multi_head_case *test);
attnzoo_state *multi_head_case_state(const struct multi_head_case *test, const attnzoo_module *module);
attnzoo_status multi_head_case_forward(struct multi_head_case *test, const attnzoo_module *module,
                                       attnzoo_executor *executor, const attnzoo_mask *mask, attnzoo_state *state);

/* context, attention and what the cache kept -> values */
void multi_head_case_load(struct multi_head_case *test);

struct reference_multi_head multi_head_case_problem(struct multi_head_case *test);

/* Are all outputs within the reference's bounds, the bytes around them untouched, past keys the same to the bit? */
bool multi_head_case_compare(struct multi_head_case *test);

/* Run, which must succeed, and compare, which must find nothing. */
void multi_head_case_check(struct multi_head_case *test, attnzoo_executor *executor);

void multi_head_case_print(const struct multi_head_case *test);

void multi_head_case_destroy(struct multi_head_case *test);

#endif
