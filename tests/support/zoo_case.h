/*
 * tests/support/zoo_case.h: one small call of any mechanism, for tests that say the same of all of them: what happens
 * without memory, between threads, with other views of the same numbers. What the numbers should be is for the cases with
 * a reference (attention_case.h, multi_head_case.h, tanh_case.h); here results are compared with each other, bit by bit.
 */
#ifndef ATTNZOO_TESTS_ZOO_CASE_H
#define ATTNZOO_TESTS_ZOO_CASE_H

#include <attnzoo/attnzoo.h>

#include <stdbool.h>
#include <stdint.h>

/* The mechanisms, relative_multi_head and location once for each flavor, multi_head also with rotary positions and relative
 * buckets. */
enum zoo_kind {
    ZOO_SCALED_DOT_PRODUCT,
    ZOO_MULTI_HEAD,
    ZOO_TRANSFORMER_XL,
    ZOO_SHAW,
    ZOO_ADDITIVE,
    ZOO_LOCATION_AWARE,
    ZOO_GENERAL,
    ZOO_CONCAT,
    ZOO_GAUSSIAN_MIXTURE, /* normalized */
    ZOO_POSITION,         /* with as many positions as there are keys */
    ZOO_LOCAL_P,
    ZOO_CUSTOMIZING,
    ZOO_MULTI_HEAD_POSITIONS,
    ZOO_INTROSPECTIVE,
    ZOO_HARD, /* by dot products of projected heads, drawn */
    ZOO_KINDS
};

enum { ZOO_INPUTS = 4, ZOO_OUTPUTS = 6, ZOO_PARAMETERS = 16, ZOO_RANK = 4 };

/* Compact, of 32-bit elements, float32 but for numbers of keys, with a view. rank 0: there is none. */
struct zoo_array {
    int32_t dtype;
    int32_t rank;
    int64_t shape[ZOO_RANK];
    int64_t count;
    float *data;
    attnzoo_tensor *view;
};

struct zoo_sizes {
    int64_t batch, heads, key_heads, queries, keys;
    int64_t size; /* D, Dv and A of a head, and the inputs' features where they are projected */
};

struct zoo_case {
    enum zoo_kind kind;
    struct zoo_sizes sizes;
    struct zoo_array inputs[ZOO_INPUTS], outputs[ZOO_OUTPUTS];
    struct zoo_array parameters[ZOO_PARAMETERS];
    const char *parameter_names[ZOO_PARAMETERS];
    int32_t parameter_count;
    attnzoo_module *module; /* prepared */
};

extern const char *const ZOO_NAMES[ZOO_KINDS];

/* Whether each query has the value of one key, rather than a sum of all. */
bool zoo_is_hard(enum zoo_kind kind);

/* Whether calls may carry a state, and how many fields it has. */
bool zoo_has_state(enum zoo_kind kind);
int32_t zoo_field_count(enum zoo_kind kind);

/* Whether each query starts from what the one before it left; whether what keys hold plays a part; whether the weights of
 * a query add up to 1. */
bool zoo_is_recurrent(enum zoo_kind kind);
bool zoo_reads_key(enum zoo_kind kind);
bool zoo_adds_up(enum zoo_kind kind);

/* Whether masks may say more than lengths. A case of another kind is run without the mask. */
bool zoo_takes_masks(enum zoo_kind kind);

/* The mechanism's name, as the library knows it. */
const char *zoo_mechanism(enum zoo_kind kind);

/* Everything drawn from the seed; heads are 1 for additive, general, concat and location whatever the sizes say, and in
 * customizing keys have as many heads as queries. */
void zoo_case_create(struct zoo_case *test, enum zoo_kind kind, struct zoo_sizes sizes, uint64_t seed);
/* The same but for the attention, which has a number for each pair, and a table of positions for causal masks alone. */
void zoo_case_create_without(struct zoo_case *test, enum zoo_kind kind, struct zoo_sizes sizes, uint64_t seed);
void zoo_case_destroy(struct zoo_case *test);

/* Takes inputs, parameters and module from another case, for threads that share them; outputs are its own. To be
 * destroyed by zoo_case_destroy_outputs(). */
void zoo_case_share(struct zoo_case *test, const struct zoo_case *other);
void zoo_case_destroy_outputs(struct zoo_case *test);

/* Gives a new module the options of the case. */
attnzoo_status zoo_case_set_options(const struct zoo_case *test, attnzoo_module *module);

/* A new module with options and parameters, up to preparing it. On error nothing is left and *module is NULL. */
attnzoo_status zoo_case_make_module(const struct zoo_case *test, attnzoo_module **module);

/* The options alone. */
attnzoo_status zoo_case_set_options(const struct zoo_case *test, attnzoo_module *module);

attnzoo_status zoo_case_forward(const struct zoo_case *test, const attnzoo_module *module, attnzoo_executor *executor,
                                const attnzoo_mask *mask, attnzoo_state *state);

/* Fills the outputs with a number that no call gives. */
void zoo_case_poison(struct zoo_case *test);
bool zoo_case_is_poisoned(const struct zoo_case *test);

/* Whether all outputs are the same to the bit. */
bool zoo_case_same(const struct zoo_case *left, const struct zoo_case *right);

/* Single arrays, for tests that put others in their places. */
void zoo_array_create(struct zoo_array *array, int32_t rank, const int64_t *shape);
void zoo_array_destroy(struct zoo_array *array);

#endif
