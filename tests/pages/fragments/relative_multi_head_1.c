/* The position table of doc/relative_multi_head.md. */
#include "fragment.h"

int main(void)
{
    static const char *const names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight", "pos_proj.weight"};
    const int64_t key_count = 6;
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = NULL;
    REQUIRE(attnzoo_module_create(&module, "relative_multi_head") == 0);
    REQUIRE(attnzoo_module_set_option_int(module, "num_heads", 2) == 0);
    for (uint32_t i = 0; i < 4; i++)
        REQUIRE(attnzoo_module_set_parameter(module, names[i], tensor(i + 1, 16, 16, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "u_bias", tensor(5, 2, 8, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "v_bias", tensor(6, 2, 8, 0, 0)) == 0);
    REQUIRE(attnzoo_module_prepare(module) == 0);
    attnzoo_tensor *query = tensor(7, 1, 4, 16, 0), *key = tensor(8, 1, key_count, 16, 0), *value = key;
    attnzoo_tensor *table = unwritten(4 + key_count - 1, 16, 0, 0), *context = unwritten(1, 4, 16, 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(table) && is_written(context));
    return 0;
}
