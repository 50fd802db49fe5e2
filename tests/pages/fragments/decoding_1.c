/* The state of doc/decoding.md. Prompt and steps must come to what one causal call comes to. */
#include "fragment.h"

int main(void)
{
    const int64_t model_size = 16, length = 9, prompt_length = 5;
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = multi_head_of(model_size);
    attnzoo_mask *causal = causal_mask();
    attnzoo_tensor *all = tensor(7, 1, length, model_size, 0), *whole = unwritten(1, length, model_size, 0);
    attnzoo_tensor *stepped = unwritten(1, length, model_size, 0);
    const float *tokens = numbers_of(all);
    float *contexts = (float *)(uintptr_t)numbers_of(stepped);
    const int64_t prompt_shape[] = {1, prompt_length, model_size}, token_shape[] = {1, 1, model_size};
    attnzoo_tensor *prompt = NULL, *prompt_context = NULL, *token = NULL, *token_context = NULL;
    REQUIRE(attnzoo_tensor_create_readonly(&prompt, tokens, ATTNZOO_DTYPE_FLOAT32, 3, prompt_shape, NULL) == 0);
    REQUIRE(attnzoo_tensor_create(&prompt_context, contexts, ATTNZOO_DTYPE_FLOAT32, 3, prompt_shape, NULL) == 0);
    REQUIRE(attnzoo_tensor_create_readonly(&token, tokens, ATTNZOO_DTYPE_FLOAT32, 3, token_shape, NULL) == 0);
    REQUIRE(attnzoo_tensor_create(&token_context, contexts, ATTNZOO_DTYPE_FLOAT32, 3, token_shape, NULL) == 0);
#include FRAGMENT
    REQUIRE(!failed && attnzoo_state_length(cache) == length);
    REQUIRE(attnzoo_module_forward(module, executor, all, all, all, causal, NULL, whole, NULL) == 0);
    /* Sums of 16 products of numbers below 1, four times over, round to less than this. */
    REQUIRE(distance(numbers_of(whole), contexts, length * model_size) < 1e-5f);
    return 0;
}
