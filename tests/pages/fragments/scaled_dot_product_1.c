/* The call of doc/scaled_dot_product.md. */
#include "fragment.h"

int main(void)
{
    attnzoo_executor *executor = executor_of_two();
    attnzoo_tensor *query = tensor(1, 1, 4, 5, 8), *key = tensor(2, 1, 2, 7, 8), *value = tensor(3, 1, 2, 7, 6);
    attnzoo_tensor *context = unwritten(1, 4, 5, 6);
#include FRAGMENT
    REQUIRE(!failed && is_written(context));
    return 0;
}
