/* The decoder loop of doc/customizing.md, over a module of random weights. */
#include "fragment.h"

int main(void)
{
    const int64_t frame_count = 9, steps = 3;
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = NULL;
    REQUIRE(attnzoo_module_create(&module, "customizing") == 0);
    REQUIRE(attnzoo_module_set_option_int(module, "num_heads", 2) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "query_proj.weight", tensor(1, 8, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "value_proj.weight", tensor(2, 8, 5, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "location_conv.weight", tensor(3, 3, 1, 3, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "location_proj.weight", tensor(4, 4, 3, 0, 0)) == 0);
    REQUIRE(attnzoo_module_prepare(module) == 0);
    attnzoo_tensor *query = tensor(5, 1, 1, 6, 0), *frames = tensor(6, 1, frame_count, 5, 0);
    attnzoo_tensor *context = unwritten(1, 1, 8, 0), *attention = unwritten(1, 2, 1, frame_count);
#include FRAGMENT
    REQUIRE(!failed && is_written(context) && is_written(attention));
    REQUIRE(attnzoo_state_length(state) == 0);
    return 0;
}
