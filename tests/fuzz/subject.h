/*
 * subject.h: what a sequence of calls is about: a case of any mechanism, small and drawn as those of the random tests, with
 * the handles that it takes, and what the reference says of it.
 */
#ifndef TESTS_FUZZ_SUBJECT_H
#define TESTS_FUZZ_SUBJECT_H

#include "support/multi_head_case.h"
#include "support/tanh_case.h"

enum subject_kind {
    SUBJECT_SCALED_DOT_PRODUCT,
    SUBJECT_MULTI_HEAD,
    SUBJECT_TRANSFORMER_XL,
    SUBJECT_SHAW,
    SUBJECT_ADDITIVE,
    SUBJECT_LOCATION_AWARE,
    SUBJECT_KIND_COUNT
};

struct subject {
    enum subject_kind kind;
    union {
        struct attention_case attention;
        struct multi_head_case heads;
        struct tanh_case tanh;
    } as;
    attnzoo_module *module;
    attnzoo_mask *mask;   /* or NULL */
    attnzoo_state *state; /* or NULL */
};

void subject_create(struct subject *subject, struct random_source *source);
void subject_destroy(struct subject *subject);

/* The part that all kinds have. */
struct attention_case *subject_call(struct subject *subject);

/* Its parameters, [count]; of rank 0 where one is not set. */
struct test_tensor *subject_parameters(struct subject *subject, int *count);

/* The table of positions, of rank 0 where there is none. */
struct test_tensor *subject_position(struct subject *subject);

/* Key and value as the call takes them: of rank 0 where these are others' views. */
attnzoo_tensor *subject_key(struct subject *subject);
attnzoo_tensor *subject_value(struct subject *subject);

/* A module like that of the subject, not prepared; the caller destroys it. */
attnzoo_module *subject_unprepared(const struct subject *subject);

/* Inputs to memory again; the parameters are left alone. */
void subject_restore(struct subject *subject);

/* The state as it was before any call. */
void subject_rewind(struct subject *subject);

void subject_poison(struct subject *subject);
bool subject_outputs_are_untouched(struct subject *subject);

/* A call as it should be: it must succeed, within the reference's bounds. */
void subject_check(struct subject *subject, attnzoo_executor *executor);

#endif
