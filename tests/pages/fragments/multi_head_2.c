/* A step of doc/multi_head.md with places of its own: two prompts of different lengths, then a token each. */
#include "fragment.h"

static attnzoo_module *turned_heads(void)
{
    static const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight", "out_proj.weight"};
    attnzoo_module *made = NULL;
    REQUIRE(attnzoo_module_create(&made, "multi_head") == 0);
    REQUIRE(attnzoo_module_set_option_int(made, "num_heads", 2) == 0);
    REQUIRE(attnzoo_module_set_option_text(made, "rotary", "half_split") == 0);
    for (uint32_t i = 0; i < 4; i++)
        REQUIRE(attnzoo_module_set_parameter(made, names[i], tensor(i + 1, 16, 16, 0, 0)) == 0);
    REQUIRE(attnzoo_module_prepare(made) == 0);
    return made;
}

/* The key that the step has kept, [2, 2, 8], without the cached ones. */
static void read_last_key(attnzoo_state *state, float *last)
{
    float kept[2 * 2 * 6 * 8];
    attnzoo_tensor *view = NULL;
    const int64_t shape[] = {2, 2, 6, 8};
    REQUIRE(attnzoo_tensor_create(&view, kept, ATTNZOO_DTYPE_FLOAT32, 4, shape, NULL) == 0);
    REQUIRE(attnzoo_state_get_field(state, 0, view) == 0);
    for (int row = 0; row < 4; row++)
        memcpy(last + row * 8, kept + (row * 6 + 5) * 8, 8 * sizeof *last);
    attnzoo_tensor_destroy(view);
}

int main(void)
{
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = turned_heads();
    attnzoo_mask *mask = causal_mask();
    attnzoo_state *state = NULL;
    attnzoo_tensor *prompts = tensor(5, 2, 5, 16, 0), *prompt_context = unwritten(2, 5, 16, 0);
    attnzoo_tensor *tokens = tensor(6, 2, 1, 16, 0), *context = unwritten(2, 1, 16, 0);
    REQUIRE(attnzoo_state_create(&state, module, 2, 6) == 0);
    REQUIRE(attnzoo_module_forward(module, NULL, prompts, prompts, prompts, mask, state, prompt_context, NULL) == 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(context));
    float given[32], counted[32];
    read_last_key(state, given);
    REQUIRE(attnzoo_state_truncate(state, 5) == 0);
    REQUIRE(attnzoo_module_forward(module, NULL, tokens, tokens, tokens, mask, state, context, NULL) == 0);
    read_last_key(state, counted);
    /* The first token stands at 5 anyway; the second does not. */
    REQUIRE(distance(given, counted, 16) < 1e-6f);
    REQUIRE(distance(given + 16, counted + 16, 16) > 1e-3f);
    return 0;
}
