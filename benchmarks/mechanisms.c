/*
 * benchmarks/mechanisms.c: the mechanisms beyond scaled_dot_product, each against what bounds it, in one run:
 * multi_head against its bare products, the relative flavours against multi_head of the same sizes, the additive ones
 * by the time that a hidden unit of a pair takes; all in one thread, and in two. Prints a table in Markdown.
 *
 *   benchmark_mechanisms [REPETITIONS]
 */
#include "support.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARAMETERS_MAX = 8 };

struct subject {
    const char *name;
    const char *mechanism;
    const char *options;
    struct benchmark_parameter parameters[PARAMETERS_MAX];
    int64_t queries;
    int64_t keys;
    int64_t size;
    /* Rows of the position table, 0 for none; whether calls carry a state of one utterance. */
    int64_t positions;
    int has_state;
    /* Hidden units of all pairs, where those are what counts. */
    double units;
};

#define PROJECTIONS(size)                                                                                              \
    {"query_proj.weight", 2, {size, size}}, {"key_proj.weight", 2, {size, size}},                                      \
        {"value_proj.weight", 2, {size, size}},                                                                        \
    {                                                                                                                  \
        "out_proj.weight", 2,                                                                                          \
        {                                                                                                              \
            size, size                                                                                                 \
        }                                                                                                              \
    }

static const struct subject subjects[] = {
    {"multi_head, 128 x 128, E = 512, H = 8",
     "multi_head",
     "num_heads=8",
     {PROJECTIONS(512)},
     128,
     128,
     512,
     0,
     0,
     0.0},
    {"multi_head, 2048 x 2048, E = 512, H = 8",
     "multi_head",
     "num_heads=8",
     {PROJECTIONS(512)},
     2048,
     2048,
     512,
     0,
     0,
     0.0},
    {"transformer_xl, the same",
     "relative_multi_head",
     "num_heads=8",
     {PROJECTIONS(512), {"pos_proj.weight", 2, {512, 512}}, {"u_bias", 2, {8, 64}}, {"v_bias", 2, {8, 64}}},
     2048,
     2048,
     512,
     4095,
     0,
     0.0},
    {"shaw, k = 16, the same",
     "relative_multi_head",
     "num_heads=8 flavor=shaw",
     {PROJECTIONS(512), {"relative_key", 2, {33, 64}}, {"relative_value", 2, {33, 64}}},
     2048,
     2048,
     512,
     0,
     0,
     0.0},
    {"additive, 256 x 1024, A = 256",
     "additive",
     NULL,
     {{"query_proj.weight", 2, {256, 256}}, {"key_proj.weight", 2, {256, 256}}, {"score_proj.weight", 2, {1, 256}}},
     256,
     1024,
     256,
     0,
     0,
     256.0 * 1024.0 * 256.0},
    {"location_aware, one step of M = 1000, A = 512, F = 32, W = 31",
     "location_aware",
     NULL,
     {{"query_proj.weight", 2, {512, 512}},
      {"key_proj.weight", 2, {512, 512}},
      {"score_proj.weight", 2, {1, 512}},
      {"location_conv.weight", 3, {32, 1, 31}},
      {"location_proj.weight", 2, {512, 32}}},
     1,
     1000,
     512,
     0,
     1,
     1000.0 * 512.0},
};

struct call {
    attnzoo_module *module;
    attnzoo_executor *executor;
    attnzoo_state *state;
    struct benchmark_tensor query;
    struct benchmark_tensor key;
    struct benchmark_tensor position;
    struct benchmark_tensor context;
};

static void forward(void *context)
{
    const struct call *call = context;
    const attnzoo_tensor *const inputs[] = {call->query.view, call->key.view, call->key.view, call->position.view};
    attnzoo_tensor *const outputs[] = {call->context.view};
    benchmark_check(
        attnzoo_module_forward_slots(call->module, call->executor, inputs, 4, NULL, call->state, outputs, 1));
}

static struct benchmark_timing time_subject(const struct subject *subject, int32_t threads, int repetitions)
{
    const int64_t queries[] = {1, subject->queries, subject->size}, keys[] = {1, subject->keys, subject->size};
    const int64_t positions[] = {subject->positions, subject->size};
    int parameter_count = 0;
    while (parameter_count < PARAMETERS_MAX && subject->parameters[parameter_count].name != NULL)
        parameter_count++;
    struct call call = {
        .module = benchmark_make_module_of(subject->mechanism, subject->options, subject->parameters, parameter_count),
        .query = benchmark_make_tensor(3, queries),
        .key = benchmark_make_tensor(3, keys),
        .context = benchmark_make_tensor(3, queries)};
    if (subject->positions > 0)
        call.position = benchmark_make_tensor(2, positions);
    if (subject->has_state)
        benchmark_check(attnzoo_state_create(&call.state, call.module, 1, subject->keys));
    benchmark_check(attnzoo_executor_create(&call.executor, threads));
    struct benchmark_timing timing = benchmark_time(forward, &call, repetitions);
    attnzoo_executor_destroy(call.executor);
    attnzoo_state_destroy(call.state);
    attnzoo_module_destroy(call.module);
    benchmark_free_tensor(&call.query);
    benchmark_free_tensor(&call.key);
    benchmark_free_tensor(&call.position);
    benchmark_free_tensor(&call.context);
    return timing;
}

/* The products of the first subject, and nothing else. */
struct products {
    float *input;
    float *weight;
    float *projected;
    float *scores;
};

static void multiply(void *context)
{
    const struct products *p = context;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 128, 1536, 512, 1.0f, p->input, 512, p->weight, 512, 0.0f,
                p->projected, 1536);
    for (int head = 0; head < 8; head++) {
        const float *query = p->projected + 64 * head, *key = query + 512, *value = key + 512;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 128, 128, 64, 0.125f, query, 1536, key, 1536, 0.0f,
                    p->scores, 128);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 128, 64, 128, 1.0f, p->scores, 128, value, 1536, 0.0f,
                    p->input + 64 * head, 512);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 128, 512, 512, 1.0f, p->input, 512, p->weight, 512, 0.0f,
                p->projected, 1536);
    /* The next call must not find numbers that grow. */
    p->input[0] = 0.0f;
}

static double time_products(int repetitions)
{
    struct products products = {benchmark_make_floats((size_t)129 * 512), benchmark_make_floats((size_t)1536 * 512),
                                benchmark_make_floats((size_t)129 * 1536), benchmark_make_floats((size_t)129 * 128)};
    for (size_t i = 0; i < (size_t)1536 * 512; i++)
        products.weight[i] /= 64.0f;
    benchmark_limit_blas();
    double median = benchmark_time(multiply, &products, repetitions).median;
    free(products.input);
    free(products.weight);
    free(products.projected);
    free(products.scores);
    return median;
}

int main(int argument_count, char **arguments)
{
    enum { COUNT = sizeof subjects / sizeof *subjects, PLAIN = 1 };
    int repetitions = benchmark_repetitions(argument_count, arguments, 9);
    double medians[COUNT], products = time_products(repetitions);
    printf("%s; %d repetitions\n\n", attnzoo_build_information(), repetitions);
    printf("| call | ms, one thread | spread | against | one thread / two |\n|---|---|---|---|---|\n");
    for (int i = 0; i < COUNT; i++) {
        const struct subject *subject = &subjects[i];
        struct benchmark_timing one = time_subject(subject, 1, repetitions),
                                two = time_subject(subject, 2, repetitions);
        char against[80] = "";
        medians[i] = one.median;
        if (subject->units > 0.0)
            snprintf(against, sizeof against, "%.2f ns a hidden unit", one.median / subject->units * 1e9);
        else if (i == 0)
            snprintf(against, sizeof against, "%.2f of the rate of its bare products", products / one.median);
        else if (i > PLAIN)
            snprintf(against, sizeof against, "%.2f times multi_head", one.median / medians[PLAIN]);
        printf("| %s | %.3f | %.0f%% | %s | %.2f |\n", subject->name, one.median * 1e3, one.spread * 100.0, against,
               one.median / two.median);
        fflush(stdout);
    }
    return 0;
}
