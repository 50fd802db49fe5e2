/*
 * benchmarks/subject.h: one call of any mechanism, from its sizes to its outputs.
 */
#ifndef ATTNZOO_BENCHMARKS_SUBJECT_H
#define ATTNZOO_BENCHMARKS_SUBJECT_H

#include "support.h"

/** What is measured, as the tables call it: the flavours of relative_multi_head stand for themselves. */
enum benchmark_mechanism {
    BENCHMARK_SCALED_DOT_PRODUCT,
    BENCHMARK_MULTI_HEAD,
    BENCHMARK_TRANSFORMER_XL,
    BENCHMARK_SHAW,
    BENCHMARK_ADDITIVE,
    BENCHMARK_LOCATION_AWARE,
    BENCHMARK_MECHANISM_COUNT
};

/** The sizes of a call. Those that the mechanism has not are 0. */
struct benchmark_subject {
    enum benchmark_mechanism mechanism;
    int64_t batch;
    int64_t heads;
    int64_t queries;
    int64_t keys;
    /** D. The mechanisms with projected heads have E = H D features in and out. */
    int64_t head_size;
    /** G; 0 for as many as heads. scaled_dot_product alone. */
    int64_t key_heads;
    /** The type of keys and values; 0 for float32. scaled_dot_product alone. */
    int32_t key_dtype;
    /** A, which is E too. */
    int64_t hidden_size;
    /** shaw's k. */
    int64_t clip;
    /** F and W. */
    int64_t filters;
    int64_t width;
    /** Self-attention: the query is the key and the value too. */
    int is_self;
    /** Calls go around so many keys and values of their own, so that caches do not hold them; 0 for one. */
    int copies;
};

/** Module, inputs, state and output of a subject's calls. */
struct benchmark_prepared;

struct benchmark_prepared *benchmark_prepare(const struct benchmark_subject *subject);
void benchmark_release(struct benchmark_prepared *prepared);

/** One way to call a prepared subject. */
struct benchmark_forward {
    struct benchmark_prepared *prepared;
    attnzoo_executor *executor;
    /** NULL hides nothing. */
    const attnzoo_mask *mask;
};

/** Makes the call; context: a struct benchmark_forward. */
void benchmark_run_forward(void *context);

/** The mechanism's name in the tables. */
const char *benchmark_mechanism_name(enum benchmark_mechanism mechanism);

/** The sizes in words for the tables, such as "1, 8, 512, 512, 64" for B, H, N, M, D. */
void benchmark_describe_sizes(const struct benchmark_subject *subject, char *text, size_t size);

/** 4 B H N M D: the floating-point operations of the two products of attention. */
double benchmark_operations(const struct benchmark_subject *subject);

/** B N M A: how many hidden units an additive score takes in all. */
double benchmark_hidden_units(const struct benchmark_subject *subject);

/** The bytes of keys and values. */
double benchmark_key_value_bytes(const struct benchmark_subject *subject);

#endif
