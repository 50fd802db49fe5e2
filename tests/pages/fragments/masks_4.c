/* The prefix of doc/masks.md in two calls must be what one call with a dense mask is. */
#include "fragment.h"

enum { LENGTH = 6, PREFIX = 3, D = 8 };

/* A view of rows `first` to `end` - 1 of a tensor [1, 1, LENGTH, D]. */
static attnzoo_tensor *rows(const attnzoo_tensor *whole, int64_t first, int64_t end)
{
    const int64_t shape[] = {1, 1, end - first, D};
    attnzoo_tensor *part = NULL;
    REQUIRE(attnzoo_tensor_create(&part, (float *)(uintptr_t)numbers_of(whole) + first * D, ATTNZOO_DTYPE_FLOAT32, 4,
                                  shape, NULL) == 0);
    return part;
}

int main(void)
{
    attnzoo_executor *executor = executor_of_two();
    attnzoo_mask *causal = causal_mask(), *dense = empty_mask();
    attnzoo_module *module = NULL;
    REQUIRE(attnzoo_module_create(&module, "scaled_dot_product") == 0 && attnzoo_module_prepare(module) == 0);
    attnzoo_tensor *query = tensor(1, 1, 1, LENGTH, D), *key = tensor(2, 1, 1, LENGTH, D);
    attnzoo_tensor *value = tensor(3, 1, 1, LENGTH, D), *context = unwritten(1, 1, LENGTH, D);
    attnzoo_tensor *whole = unwritten(1, 1, LENGTH, D), *allowed = NULL;
    attnzoo_tensor *query_prefix = rows(query, 0, PREFIX), *query_rest = rows(query, PREFIX, LENGTH);
    attnzoo_tensor *key_prefix = rows(key, 0, PREFIX), *value_prefix = rows(value, 0, PREFIX);
    attnzoo_tensor *context_prefix = rows(context, 0, PREFIX), *context_rest = rows(context, PREFIX, LENGTH);
#include FRAGMENT
    REQUIRE(!failed);
    unsigned char table[LENGTH][LENGTH];
    const int64_t shape[] = {LENGTH, LENGTH};
    for (int i = 0; i < LENGTH; i++)
        for (int j = 0; j < LENGTH; j++)
            table[i][j] = j <= i || j < PREFIX;
    REQUIRE(attnzoo_tensor_create_readonly(&allowed, table, ATTNZOO_DTYPE_BOOL, 2, shape, NULL) == 0);
    REQUIRE(attnzoo_mask_set_boolean(dense, allowed) == 0);
    REQUIRE(attnzoo_module_forward(module, executor, query, key, value, dense, NULL, whole, NULL) == 0);
    /* Averages of numbers below 1 by weights that are good to a few units in the last place. */
    REQUIRE(distance(numbers_of(whole), numbers_of(context), LENGTH * D) < 1e-6f);
    return 0;
}
