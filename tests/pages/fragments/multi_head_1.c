/* The cache of doc/multi_head.md: a prompt, then tokens. */
#include "fragment.h"

int main(void)
{
    const int64_t steps = 3;
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = multi_head_of(16);
    attnzoo_mask *causal = causal_mask();
    attnzoo_tensor *prompt = tensor(5, 1, 4, 16, 0), *prompt_context = unwritten(1, 4, 16, 0);
    attnzoo_tensor *token = tensor(6, 1, 1, 16, 0), *token_context = unwritten(1, 1, 16, 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(prompt_context) && is_written(token_context));
    return 0;
}
