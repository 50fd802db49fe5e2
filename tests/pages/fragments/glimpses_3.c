/* Windows of a sound that attention reads where they lie, as doc/glimpses.md has them. */
#include "fragment.h"

int main(void)
{
    attnzoo_module *module = NULL;
    attnzoo_tensor *sound = tensor(1, 1000, 0, 0, 0), *context = unwritten(4, 400, 0, 0);
    REQUIRE(attnzoo_module_create(&module, "scaled_dot_product") == 0 && attnzoo_module_prepare(module) == 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(context) && attnzoo_tensor_stride(windows, 0) == 160);
    return 0;
}
