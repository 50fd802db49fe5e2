/* The shared part of doc/README.md: a module of eight heads. Its other weights are set by "and so on". */
#include "fragment.h"

/* The page leaves out the other two required weights; they come in before it prepares. */
static int prepare_with_the_rest(attnzoo_module *module)
{
    return attnzoo_module_set_parameter(module, "key_proj.weight", tensor(2, 32, 32, 0, 0)) ||
           attnzoo_module_set_parameter(module, "value_proj.weight", tensor(3, 32, 32, 0, 0)) ||
           attnzoo_module_prepare(module);
}
#define attnzoo_module_prepare(module) prepare_with_the_rest(module)

int main(void)
{
    attnzoo_tensor *weight = tensor(1, 32, 32, 0, 0);
#include FRAGMENT
    REQUIRE(!failed);
    attnzoo_tensor *query = tensor(4, 1, 5, 32, 0), *context = unwritten(1, 5, 32, 0);
    REQUIRE(attnzoo_module_forward(module, NULL, query, query, query, NULL, NULL, context, NULL) == 0);
    REQUIRE(is_written(context));
    return 0;
}
