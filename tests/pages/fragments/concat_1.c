/* The call of doc/concat.md. */
#include "fragment.h"

int main(void)
{
    attnzoo_executor *executor = executor_of_two();
    attnzoo_tensor *concat_weight = tensor(1, 8, 11, 0, 0), *score_weight = tensor(3, 1, 8, 0, 0);
    attnzoo_tensor *query = tensor(4, 2, 3, 6, 0), *key = tensor(5, 2, 7, 5, 0), *value = tensor(6, 2, 7, 4, 0);
    attnzoo_tensor *context = unwritten(2, 3, 4, 0), *attention = unwritten(2, 3, 7, 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(context) && is_written(attention));
    return 0;
}
