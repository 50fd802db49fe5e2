/*
 * fragment.h: what the programs around the fragments on the pages share. Each is a C file of this folder that makes the
 * tensors which the page takes for granted, includes the page's text in its place (FRAGMENT, which the tests set) and
 * looks at what came out. Nothing here is freed: the programs end at once.
 */
#ifndef FRAGMENT_H
#define FRAGMENT_H

#include <attnzoo/attnzoo.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stays behind is no fault here, so AddressSanitizer is asked not to look for it. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "detect_leaks=0";
}

/* Numbers between -0.5 and 0.5 that look random and are the same everywhere. */
static inline void fill(float *numbers, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        numbers[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    }
}

/* Ends the program if a call failed, or what should hold does not. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition, attnzoo_last_error());         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A tensor of up to four axes (0 ends the list) with numbers in it. */
static inline attnzoo_tensor *tensor(uint32_t seed, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t shape[] = {a, b, c, d};
    int32_t rank = 0;
    int64_t count = 1;
    for (; rank < 4 && shape[rank] > 0; rank++)
        count *= shape[rank];
    float *numbers = malloc((size_t)count * sizeof *numbers);
    attnzoo_tensor *made = NULL;
    REQUIRE(numbers != NULL);
    fill(numbers, count, seed);
    REQUIRE(attnzoo_tensor_create(&made, numbers, ATTNZOO_DTYPE_FLOAT32, rank, shape, NULL) == 0);
    return made;
}

static inline const float *numbers_of(const attnzoo_tensor *view)
{
    return attnzoo_tensor_data(view);
}

/* A tensor whose numbers are all NaN, so that what was not written shows. */
static inline attnzoo_tensor *unwritten(int64_t a, int64_t b, int64_t c, int64_t d)
{
    attnzoo_tensor *made = tensor(0, a, b, c, d);
    float *numbers = (float *)(uintptr_t)attnzoo_tensor_data(made);
    for (int64_t i = 0; i < attnzoo_tensor_element_count(made); i++)
        numbers[i] = NAN;
    return made;
}

static inline int is_written(const attnzoo_tensor *view)
{
    for (int64_t i = 0; i < attnzoo_tensor_element_count(view); i++)
        if (!isfinite(numbers_of(view)[i]))
            return 0;
    return 1;
}

/* The farthest that two runs of numbers are apart; NaN anywhere makes it infinite. */
static inline float distance(const float *left, const float *right, int64_t count)
{
    float farthest = 0;
    for (int64_t i = 0; i < count; i++) {
        float apart = fabsf(left[i] - right[i]);
        farthest = apart <= farthest ? farthest : apart;
        if (isnan(apart))
            return INFINITY;
    }
    return farthest;
}

static inline attnzoo_executor *executor_of_two(void)
{
    attnzoo_executor *made = NULL;
    REQUIRE(attnzoo_executor_create(&made, 2) == 0);
    return made;
}

static inline attnzoo_mask *causal_mask(void)
{
    attnzoo_mask *made = NULL;
    REQUIRE(attnzoo_mask_create(&made) == 0 && attnzoo_mask_set_causal(made, 1) == 0);
    return made;
}

/* multi_head with two heads over features of `size`, with weights of its own. */
static inline attnzoo_module *multi_head_of(int64_t size)
{
    static const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight", "out_proj.weight"};
    attnzoo_module *made = NULL;
    REQUIRE(attnzoo_module_create(&made, "multi_head") == 0);
    REQUIRE(attnzoo_module_set_option_int(made, "num_heads", 2) == 0);
    for (uint32_t i = 0; i < 4; i++)
        REQUIRE(attnzoo_module_set_parameter(made, names[i], tensor(i + 1, size, size, 0, 0)) == 0);
    REQUIRE(attnzoo_module_prepare(made) == 0);
    return made;
}

/*
 * Whether a mask lets each query (rows of the pattern, with | between them; batches follow each other) see just the
 * keys marked 1. Where all scores are 0 the attention shows the mask.
 */
static inline int shows(const attnzoo_mask *mask, int64_t batch, int64_t queries, int64_t keys, const char *pattern)
{
    attnzoo_module *made = NULL;
    attnzoo_tensor *query = tensor(1, batch, 1, queries, 4), *key = tensor(2, batch, 1, keys, 4);
    attnzoo_tensor *context = unwritten(batch, 1, queries, 4), *attention = unwritten(batch, 1, queries, keys);
    memset((void *)(uintptr_t)numbers_of(query), 0, (size_t)(batch * queries) * 4 * sizeof(float));
    REQUIRE(attnzoo_module_create(&made, "scaled_dot_product") == 0 && attnzoo_module_prepare(made) == 0);
    REQUIRE(attnzoo_module_forward(made, NULL, query, key, key, mask, NULL, context, attention) == 0);
    const float *weight = numbers_of(attention);
    int64_t count = 0;
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '|')
            continue;
        if ((*pattern == '1') != (weight[count++] > 0))
            return 0;
    }
    return count == batch * queries * keys;
}

static inline attnzoo_mask *empty_mask(void)
{
    attnzoo_mask *made = NULL;
    REQUIRE(attnzoo_mask_create(&made) == 0);
    return made;
}

#endif
