/* The call of doc/hard.md: the context is the value that the index names. */
#include "fragment.h"

int main(void)
{
    attnzoo_executor *executor = executor_of_two();
    attnzoo_tensor *query = tensor(4, 2, 3, 6, 0), *key = tensor(5, 2, 7, 6, 0), *value = tensor(6, 2, 7, 4, 0);
    attnzoo_tensor *context = unwritten(2, 3, 4, 0), *log_probability = unwritten(2, 3, 0, 0);
    attnzoo_tensor *entropy = unwritten(2, 3, 0, 0), *index = NULL;
    int64_t chosen[6];
    REQUIRE(attnzoo_tensor_create(&index, chosen, ATTNZOO_DTYPE_INT64, 2, (int64_t[]){2, 3}, NULL) == 0);
#include FRAGMENT
    REQUIRE(!failed && is_written(context) && is_written(log_probability) && is_written(entropy));
    for (int64_t row = 0; row < 6; row++) {
        REQUIRE(chosen[row] >= 0 && chosen[row] < 7);
        REQUIRE(memcmp(numbers_of(context) + row * 4, numbers_of(value) + (row / 3 * 7 + chosen[row]) * 4,
                       4 * sizeof(float)) == 0);
    }
    return 0;
}
