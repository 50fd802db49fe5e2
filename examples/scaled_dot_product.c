/*
 * Scaled dot-product attention with a causal mask: three queries over three keys, each query seeing the keys up to its
 * own. Built against the installed library:
 *
 *   cc scaled_dot_product.c $(pkg-config --cflags --libs attnzoo) -o scaled_dot_product
 */
#include <attnzoo/attnzoo.h>

#include <stdio.h>

int main(void)
{
    /* Rows of [3, 2]. Leading axes of size 1, batch and heads, are left out. */
    const float query_data[] = {1, 0, 0, 1, 1, 1};
    const float key_data[] = {1, 0, 0, 1, 1, 1};
    const float value_data[] = {10, 0, 0, 10, 5, 5};
    float context_data[6] = {0};
    const int64_t shape[] = {3, 2};

    attnzoo_module *module = NULL;
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *query = NULL, *key = NULL, *value = NULL, *context = NULL;

    /* A module is a mechanism with its options; once prepared it may serve any number of calls and threads. Tensors
     * are views: the numbers stay where they are. NULL for the strides means one row after the other. */
    int failed = attnzoo_module_create(&module, "scaled_dot_product") || attnzoo_module_prepare(module) ||
                 attnzoo_mask_create(&mask) || attnzoo_mask_set_causal(mask, 1) ||
                 attnzoo_tensor_create_readonly(&query, query_data, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL) ||
                 attnzoo_tensor_create_readonly(&key, key_data, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL) ||
                 attnzoo_tensor_create_readonly(&value, value_data, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL) ||
                 attnzoo_tensor_create(&context, context_data, ATTNZOO_DTYPE_FLOAT32, 2, shape, NULL);

    /* No executor: the call runs in this thread. No state: this mechanism carries none. No attention is asked for. */
    failed = failed || attnzoo_module_forward(module, NULL, query, key, value, mask, NULL, context, NULL);
    if (failed)
        fprintf(stderr, "%s\n", attnzoo_last_error());
    else
        for (int i = 0; i < 3; i++)
            printf("query %d sees keys 0 to %d: context %6.3f %6.3f\n", i, i, (double)context_data[2 * i],
                   (double)context_data[2 * i + 1]);

    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(value);
    attnzoo_tensor_destroy(key);
    attnzoo_tensor_destroy(query);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    return failed;
}
