/* The controller's loop of doc/introspective.md, over a module of random weights. */
#include "fragment.h"

int main(void)
{
    const int64_t row_count = 9, steps = 3;
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = NULL;
    REQUIRE(attnzoo_module_create(&module, "introspective") == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "key_proj.weight", tensor(1, 2 * 5, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "strength_proj.weight", tensor(2, 2, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "gate_proj.weight", tensor(3, 2, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "shift_proj.weight", tensor(4, 2 * 3, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "sharpening_proj.weight", tensor(5, 2, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "erase_proj.weight", tensor(6, 5, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "add_proj.weight", tensor(7, 5, 6, 0, 0)) == 0);
    REQUIRE(attnzoo_module_prepare(module) == 0);
    attnzoo_tensor *query = tensor(8, 1, 1, 6, 0), *memory = tensor(9, 1, row_count, 5, 0);
    attnzoo_tensor *read = unwritten(1, 1, 5, 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(read));
    REQUIRE(attnzoo_state_length(state) == 0);
    return 0;
}
