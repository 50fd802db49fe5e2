/*
 * Decoding with a cache: causal multi-head self-attention over a prompt in one call and then one token a call, the keys
 * and values of earlier tokens kept in a state. It gives what one call over all tokens gives, but each step costs
 * only that step. Weights and tokens are made up.
 */
#include "example_data.h"

#include <stdio.h>

enum { HEADS = 4, KEY_HEADS = 2, HEAD_SIZE = 8, SIZE = HEADS * HEAD_SIZE, PROMPT = 5, TOKENS = 9 };

/* Numbers between -0.5 and 0.5 that look random and are the same everywhere. */
static void fill(struct example_array *array, uint32_t seed)
{
    for (int64_t i = 0; i < attnzoo_tensor_element_count(array->view); i++) {
        seed = seed * 1664525u + 1013904223u;
        array->data[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    }
}

static int set_weight(attnzoo_module *module, const char *name, int64_t rows, uint32_t seed)
{
    struct example_array weight = {0};
    int failed = example_make(&weight, 2, (const int64_t[]){rows, SIZE});
    if (!failed) {
        fill(&weight, seed);
        /* Copied into the module: the weight's own memory may go. */
        failed = attnzoo_module_set_parameter(module, name, weight.view);
    }
    example_free(&weight);
    return failed;
}

/* Feeds tokens first to first + count - 1 to the module; `state` brings the earlier ones, and takes these. */
static int step(const attnzoo_module *module, attnzoo_executor *executor, const struct example_array *tokens,
                const attnzoo_mask *mask, attnzoo_state *state, int first, int count, struct example_array *context)
{
    const int64_t shape[] = {1, count, SIZE};
    attnzoo_tensor *in = NULL, *out = NULL;
    int failed =
        attnzoo_tensor_create_readonly(&in, tokens->data + first * SIZE, ATTNZOO_DTYPE_FLOAT32, 3, shape, NULL) ||
        attnzoo_tensor_create(&out, context->data + first * SIZE, ATTNZOO_DTYPE_FLOAT32, 3, shape, NULL) ||
        attnzoo_module_forward(module, executor, in, in, in, mask, state, out, NULL);
    attnzoo_tensor_destroy(in);
    attnzoo_tensor_destroy(out);
    return failed;
}

int main(void)
{
    const int64_t shape[] = {1, TOKENS, SIZE};
    attnzoo_module *module = NULL;
    attnzoo_executor *executor = NULL;
    attnzoo_mask *mask = NULL;
    attnzoo_state *state = NULL;
    struct example_array tokens = {0}, whole = {0}, stepped = {0};

    /* Four heads of queries share two of keys and values, so that the cache is half as large. */
    int failed = attnzoo_module_create(&module, "multi_head") ||
                 attnzoo_module_set_option_int(module, "num_heads", HEADS) ||
                 attnzoo_module_set_option_int(module, "num_kv_heads", KEY_HEADS) ||
                 set_weight(module, "query_proj.weight", SIZE, 1) ||
                 set_weight(module, "key_proj.weight", KEY_HEADS * HEAD_SIZE, 2) ||
                 set_weight(module, "value_proj.weight", KEY_HEADS * HEAD_SIZE, 3) ||
                 set_weight(module, "out_proj.weight", SIZE, 4) || attnzoo_module_prepare(module);
    failed = failed || attnzoo_executor_create(&executor, 1) || attnzoo_mask_create(&mask) ||
             attnzoo_mask_set_causal(mask, 1) || example_make(&tokens, 3, shape) || example_make(&whole, 3, shape) ||
             example_make(&stepped, 3, shape);
    if (!failed)
        fill(&tokens, 5);

    /* All at once: each token sees itself and those before it. */
    failed = failed || step(module, executor, &tokens, mask, NULL, 0, TOKENS, &whole);

    /* The same with a cache for one sequence of up to TOKENS keys. The last query always lines up with the last key, so
     * that causal means the same whether there are five new tokens or one. */
    failed = failed || attnzoo_state_create(&state, module, 1, TOKENS) ||
             step(module, executor, &tokens, mask, state, 0, PROMPT, &stepped);
    for (int token = PROMPT; token < TOKENS && !failed; token++)
        failed = step(module, executor, &tokens, mask, state, token, 1, &stepped);

    if (failed) {
        fprintf(stderr, "%s\n", attnzoo_last_error());
    } else {
        printf("first two numbers of the context   all at once      with a cache\n");
        for (int token = 0; token < TOKENS; token++) {
            const float *left = whole.data + token * SIZE, *right = stepped.data + token * SIZE;
            printf("token %d, %-24s %8.5f %8.5f %8.5f %8.5f\n", token, token < PROMPT ? "prompt" : "one call for it",
                   (double)left[0], (double)left[1], (double)right[0], (double)right[1]);
        }
        printf("the cache holds %d keys; largest difference: %.1e\n", (int)attnzoo_state_length(state),
               (double)example_largest_difference(&whole, &stepped));
    }

    example_free(&stepped);
    example_free(&whole);
    example_free(&tokens);
    attnzoo_state_destroy(state);
    attnzoo_mask_destroy(mask);
    attnzoo_executor_destroy(executor);
    attnzoo_module_destroy(module);
    return failed;
}
