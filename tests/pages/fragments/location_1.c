/* The loop of doc/location.md, over a window of random weights. */
#include "fragment.h"

int main(void)
{
    const int64_t letter_count = 9, steps = 3;
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = NULL;
    REQUIRE(attnzoo_module_create(&module, "location") == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "window_proj.weight", tensor(1, 6, 5, 0, 0)) == 0);
    REQUIRE(attnzoo_module_set_parameter(module, "window_proj.bias", tensor(2, 6, 0, 0, 0)) == 0);
    REQUIRE(attnzoo_module_prepare(module) == 0);
    attnzoo_tensor *query = tensor(3, 1, 1, 5, 0), *letters = tensor(4, 1, letter_count, 4, 0);
    attnzoo_tensor *context = unwritten(1, 1, 4, 0), *attention = unwritten(1, 1, letter_count, 0);
    attnzoo_tensor *kappa = unwritten(1, 2, 0, 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(context) && is_written(attention) && is_written(kappa));
    REQUIRE(numbers_of(kappa)[0] > 0 && numbers_of(kappa)[1] > 0);
    return 0;
}
