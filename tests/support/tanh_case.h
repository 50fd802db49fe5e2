/*
 * tests/support/tanh_case.h: one call of additive or location_aware, the mechanisms whose scores come from tanh, or of
 * their relatives (tanh_relatives.h), described once and put to the library and to the reference. The mask, the inputs and the outputs are those of an
 * attention_case, planned in these mechanisms' shapes.
 *
 *   tanh_case_plan -> change fields and plans -> tanh_case_allocate -> tanh_case_fill, or values by hand
 *   -> tanh_case_run -> tanh_case_compare -> tanh_case_destroy
 */
#ifndef ATTNZOO_TESTS_TANH_CASE_H
#define ATTNZOO_TESTS_TANH_CASE_H

#include "reference/location_aware.h"
#include "support/attention_case.h"

enum tanh_parameter {
    TANH_QUERY_WEIGHT,
    TANH_QUERY_BIAS,
    TANH_KEY_WEIGHT,
    TANH_KEY_BIAS,
    TANH_VALUE_WEIGHT,
    TANH_VALUE_BIAS,
    TANH_BIAS,
    TANH_SCORE_WEIGHT,
    TANH_SCORE_BIAS,
    /* location_aware alone: */
    TANH_CONV_WEIGHT,
    TANH_CONV_BIAS,
    TANH_LOCATION_WEIGHT,
    TANH_LOCATION_BIAS,
    TANH_PARAMETER_COUNT,
    /* location alone, whose other parameters are among those above, in shapes of its own: */
    TANH_WINDOW_WEIGHT = TANH_PARAMETER_COUNT,
    TANH_WINDOW_BIAS,
    TANH_ALL_PARAMETERS
};

/* The name that the library gives a parameter, an enum tanh_parameter. */
const char *tanh_parameter_name(int parameter);

/* Bits of what is to be absent. */
#define TANH_WITHOUT(parameter) (1u << (parameter))

struct tanh_sizes {
    int64_t batch, heads, key_heads, queries, keys;
    int64_t query_size, key_size, value_size; /* Eq, Ek, Ev; follow from A and Dv where there is no projection */
    int64_t attention_size;                   /* A, of one head */
    int64_t value_columns;                    /* Dv, of one key/value head */
    int64_t filters, width;                   /* F (A where there is no location_proj) and W; additive: unused */
    uint32_t absent;                          /* TANH_WITHOUT() of parameters; a weight takes its bias along */
};

struct tanh_case {
    const char *mechanism;
    bool is_location_aware;
    struct tanh_sizes sizes;
    struct attention_case call;
    struct test_tensor parameters[TANH_ALL_PARAMETERS];

    /* Options of location_aware. */
    bool smoothing, has_tanh;
    double sharpening;
    int64_t window;
    enum reference_feedback feedback; /* before tanh_case_plan(): it decides the number of channels */
    enum reference_initial initial;

    double offsets[64]; /* what tanh_case_problem() points at */
};

/* Compact float32, all outputs, a mask that hides nothing, default options but for the feedback. */
void tanh_case_plan(struct tanh_case *test, const char *mechanism, struct tanh_sizes sizes,
                    enum reference_feedback feedback);

void tanh_case_allocate(struct tanh_case *test);

/* Draws inputs, masks and parameters. One step of location_aware multiplies errors by at most growth: rounding_tanh.h,
 * item 16. */
void tanh_case_fill(struct tanh_case *test, struct random_source *source, double growth);

/* Both, with the same numbers each time. */
void tanh_case_allocate_and_fill(struct tanh_case *test);

/* Scales location_conv.weight so far down. */
void tanh_case_limit_growth(struct tanh_case *test, double growth);

/* Inputs and parameters to memory, outputs poisoned. */
void tanh_case_store(struct tanh_case *test);

/* A new module with all options and parameters, not prepared; and one that is. The caller destroys it. */
attnzoo_module *tanh_case_unprepared_module(const struct tanh_case *test);
attnzoo_module *tanh_case_module(const struct tanh_case *test);

attnzoo_status tanh_case_forward(struct tanh_case *test, const attnzoo_module *module, attnzoo_executor *executor,
                                 const attnzoo_mask *mask, attnzoo_state *state);
void tanh_case_load(struct tanh_case *test);

/* Stores, makes a module and a mask, calls the library and loads. */
attnzoo_status tanh_case_run(struct tanh_case *test, attnzoo_executor *executor);

/* What the reference is asked. Points into the case. */
struct reference_location_aware tanh_case_problem(struct tanh_case *test);

/* From the alignment on, which moves with it; NULL for a call without a state. */
struct reference_result tanh_case_expect(struct tanh_case *test, struct reference_alignment *alignment);

/* Is each number within its bound? An infinite bound lets anything pass. Prints what is not. */
bool tanh_case_values_agree(const struct test_tensor *got, const double *expected, const double *bound,
                            const char *name);
bool tanh_case_compare_with(const struct tanh_case *test, const struct reference_result *expected);
bool tanh_case_compare(struct tanh_case *test);

/* Run, which must succeed, and compare, which must find nothing. */
void tanh_case_check(struct tanh_case *test, attnzoo_executor *executor);

void tanh_case_print(const struct tanh_case *test);
void tanh_case_destroy(struct tanh_case *test);

#endif
