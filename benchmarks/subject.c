/*
 * benchmarks/subject.c: makes modules, inputs and states from the sizes of a call, for every mechanism.
 */
#include "subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARAMETERS_MAX = 8, INPUT_COUNT = 4 };

/* Keys and values that one call sees. */
struct key_value {
    struct benchmark_tensor key;
    struct benchmark_tensor value;
};

struct benchmark_prepared {
    attnzoo_module *module;
    attnzoo_state *state;
    struct benchmark_tensor query;
    int is_self;
    struct key_value *copies;
    int copy_count;
    int next_copy;
    /* Only transformer_xl has one. */
    struct benchmark_tensor position;
    struct benchmark_tensor context;
};

const char *benchmark_mechanism_name(enum benchmark_mechanism mechanism)
{
    static const char *const names[BENCHMARK_MECHANISM_COUNT] = {[BENCHMARK_SCALED_DOT_PRODUCT] = "scaled_dot_product",
                                                                 [BENCHMARK_MULTI_HEAD] = "multi_head",
                                                                 [BENCHMARK_TRANSFORMER_XL] = "transformer_xl",
                                                                 [BENCHMARK_SHAW] = "shaw",
                                                                 [BENCHMARK_ADDITIVE] = "additive",
                                                                 [BENCHMARK_LOCATION_AWARE] = "location_aware"};
    return names[mechanism];
}

static int64_t key_heads_of(const struct benchmark_subject *subject)
{
    return subject->key_heads > 0 ? subject->key_heads : subject->heads;
}

static int32_t key_dtype_of(const struct benchmark_subject *subject)
{
    return subject->key_dtype != 0 ? subject->key_dtype : ATTNZOO_DTYPE_FLOAT32;
}

static int has_projected_heads(const struct benchmark_subject *subject)
{
    return subject->mechanism == BENCHMARK_MULTI_HEAD || subject->mechanism == BENCHMARK_TRANSFORMER_XL ||
           subject->mechanism == BENCHMARK_SHAW;
}

void benchmark_describe_sizes(const struct benchmark_subject *subject, char *text, size_t size)
{
    char heads[48];
    snprintf(heads, sizeof heads, subject->key_heads > 0 ? "%" PRId64 " (G = %" PRId64 ")" : "%" PRId64, subject->heads,
             subject->key_heads);
    if (subject->mechanism == BENCHMARK_ADDITIVE)
        snprintf(text, size, "N = %" PRId64 ", M = %" PRId64 ", A = %" PRId64, subject->queries, subject->keys,
                 subject->hidden_size);
    else if (subject->mechanism == BENCHMARK_LOCATION_AWARE)
        snprintf(text, size, "N = %" PRId64 ", M = %" PRId64 ", A = %" PRId64 ", F = %" PRId64 ", W = %" PRId64,
                 subject->queries, subject->keys, subject->hidden_size, subject->filters, subject->width);
    else
        snprintf(text, size, "%" PRId64 ", %s, %" PRId64 ", %" PRId64 ", %" PRId64, subject->batch, heads,
                 subject->queries, subject->keys, subject->head_size);
}

double benchmark_operations(const struct benchmark_subject *subject)
{
    return 4.0 * (double)subject->batch * (double)subject->heads * (double)subject->queries * (double)subject->keys *
           (double)subject->head_size;
}

double benchmark_hidden_units(const struct benchmark_subject *subject)
{
    return (double)subject->batch * (double)subject->queries * (double)subject->keys * (double)subject->hidden_size;
}

double benchmark_key_value_bytes(const struct benchmark_subject *subject)
{
    return 2.0 * (double)subject->batch * (double)key_heads_of(subject) * (double)subject->keys *
           (double)subject->head_size * (double)attnzoo_dtype_size(key_dtype_of(subject));
}

/* The parameters of the two mechanisms with additive scores. Returns how many. */
static int list_additive_parameters(const struct benchmark_subject *subject, struct benchmark_parameter *parameters)
{
    int64_t size = subject->hidden_size;
    int count = 0;
    parameters[count++] = (struct benchmark_parameter){"query_proj.weight", 2, {size, size, 0}};
    parameters[count++] = (struct benchmark_parameter){"key_proj.weight", 2, {size, size, 0}};
    parameters[count++] = (struct benchmark_parameter){"score_proj.weight", 2, {1, size, 0}};
    if (subject->mechanism == BENCHMARK_LOCATION_AWARE) {
        parameters[count++] =
            (struct benchmark_parameter){"location_conv.weight", 3, {subject->filters, 1, subject->width}};
        parameters[count++] = (struct benchmark_parameter){"location_proj.weight", 2, {size, subject->filters, 0}};
    }
    return count;
}

/* The parameters of the mechanisms with projected heads. Returns how many. */
static int list_head_parameters(const struct benchmark_subject *subject, struct benchmark_parameter *parameters)
{
    static const char *const projections[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight",
                                              "out_proj.weight"};
    int64_t heads = subject->heads, head_size = subject->head_size, size = heads * head_size;
    int64_t distances = 2 * subject->clip + 1;
    int count = 0;
    for (; count < 4; count++)
        parameters[count] = (struct benchmark_parameter){projections[count], 2, {size, size, 0}};
    if (subject->mechanism == BENCHMARK_TRANSFORMER_XL) {
        parameters[count++] = (struct benchmark_parameter){"pos_proj.weight", 2, {size, size, 0}};
        parameters[count++] = (struct benchmark_parameter){"u_bias", 2, {heads, head_size, 0}};
        parameters[count++] = (struct benchmark_parameter){"v_bias", 2, {heads, head_size, 0}};
    } else if (subject->mechanism == BENCHMARK_SHAW) {
        parameters[count++] = (struct benchmark_parameter){"relative_key", 2, {distances, head_size, 0}};
        parameters[count++] = (struct benchmark_parameter){"relative_value", 2, {distances, head_size, 0}};
    }
    return count;
}

static attnzoo_module *make_module(const struct benchmark_subject *subject)
{
    struct benchmark_parameter parameters[PARAMETERS_MAX];
    char options[64];
    if (subject->mechanism == BENCHMARK_SCALED_DOT_PRODUCT)
        return benchmark_make_module();
    if (!has_projected_heads(subject))
        return benchmark_make_module_of(benchmark_mechanism_name(subject->mechanism), NULL, parameters,
                                        list_additive_parameters(subject, parameters));
    snprintf(options, sizeof options, "num_heads=%" PRId64 "%s", subject->heads,
             subject->mechanism == BENCHMARK_SHAW ? " flavor=shaw" : "");
    return benchmark_make_module_of(subject->mechanism == BENCHMARK_MULTI_HEAD ? "multi_head" : "relative_multi_head",
                                    options, parameters, list_head_parameters(subject, parameters));
}

static struct benchmark_tensor make_rows(const struct benchmark_subject *subject, int64_t rows, int64_t heads,
                                         int32_t dtype)
{
    if (subject->mechanism == BENCHMARK_SCALED_DOT_PRODUCT)
        return benchmark_make_tensor_of(dtype, 4, (const int64_t[]){subject->batch, heads, rows, subject->head_size});
    int64_t size = has_projected_heads(subject) ? heads * subject->head_size : subject->hidden_size;
    return benchmark_make_tensor_of(dtype, 3, (const int64_t[]){subject->batch, rows, size});
}

static struct key_value make_key_value(const struct benchmark_subject *subject)
{
    return (struct key_value){make_rows(subject, subject->keys, key_heads_of(subject), key_dtype_of(subject)),
                              make_rows(subject, subject->keys, key_heads_of(subject), key_dtype_of(subject))};
}

struct benchmark_prepared *benchmark_prepare(const struct benchmark_subject *subject)
{
    struct benchmark_prepared *prepared = benchmark_allocate(sizeof *prepared);
    *prepared = (struct benchmark_prepared){.module = make_module(subject),
                                            .is_self = subject->is_self,
                                            .copy_count = subject->copies > 1 ? subject->copies : 1};
    prepared->query = make_rows(subject, subject->queries, subject->heads, ATTNZOO_DTYPE_FLOAT32);
    prepared->context = make_rows(subject, subject->queries, subject->heads, ATTNZOO_DTYPE_FLOAT32);
    prepared->copies = benchmark_allocate((size_t)prepared->copy_count * sizeof *prepared->copies);
    for (int i = 0; i < prepared->copy_count; i++)
        prepared->copies[i] = make_key_value(subject);
    if (subject->mechanism == BENCHMARK_TRANSFORMER_XL)
        prepared->position = benchmark_make_tensor(
            2, (const int64_t[]){subject->queries + subject->keys - 1, subject->heads * subject->head_size});
    if (subject->mechanism == BENCHMARK_LOCATION_AWARE)
        benchmark_check(attnzoo_state_create(&prepared->state, prepared->module, subject->batch, subject->keys));
    return prepared;
}

void benchmark_release(struct benchmark_prepared *prepared)
{
    attnzoo_state_destroy(prepared->state);
    attnzoo_module_destroy(prepared->module);
    benchmark_free_tensor(&prepared->query);
    for (int i = 0; i < prepared->copy_count; i++) {
        benchmark_free_tensor(&prepared->copies[i].key);
        benchmark_free_tensor(&prepared->copies[i].value);
    }
    free(prepared->copies);
    benchmark_free_tensor(&prepared->position);
    benchmark_free_tensor(&prepared->context);
    free(prepared);
}

void benchmark_run_forward(void *context)
{
    const struct benchmark_forward *forward = context;
    struct benchmark_prepared *prepared = forward->prepared;
    const struct key_value *copy = &prepared->copies[prepared->next_copy];
    const attnzoo_tensor *query = prepared->query.view;
    const attnzoo_tensor *const inputs[INPUT_COUNT] = {query, prepared->is_self ? query : copy->key.view,
                                                       prepared->is_self ? query : copy->value.view,
                                                       prepared->position.view};
    attnzoo_tensor *const outputs[] = {prepared->context.view};
    prepared->next_copy = (prepared->next_copy + 1) % prepared->copy_count;
    benchmark_check(attnzoo_module_forward_slots(prepared->module, forward->executor, inputs, INPUT_COUNT,
                                                 forward->mask, prepared->state, outputs, 1));
}
