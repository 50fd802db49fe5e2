/* The slopes of doc/masks.md, and that they fall off with the distance. */
#include "fragment.h"

int main(void)
{
    attnzoo_mask *mask = empty_mask();
#include FRAGMENT
    REQUIRE(!failed && slopes[0] == 0.5f && slopes[7] == 1.0f / 256);
    attnzoo_module *module = NULL;
    REQUIRE(attnzoo_module_create(&module, "scaled_dot_product") == 0 && attnzoo_module_prepare(module) == 0);
    attnzoo_tensor *query = tensor(1, 1, 8, 2, 4), *key = tensor(2, 1, 8, 2, 4), *context = unwritten(1, 8, 2, 4);
    attnzoo_tensor *attention = unwritten(1, 8, 2, 2);
    memset((void *)(uintptr_t)numbers_of(query), 0, 64 * sizeof(float));
    REQUIRE(attnzoo_module_forward(module, NULL, query, key, key, mask, NULL, context, attention) == 0);
    for (int64_t h = 0; h < heads; h++) {
        const float *second_query = numbers_of(attention) + h * 4 + 2;
        /* One step away: the weights are 1 : exp(slope), good to a few units in the last place. */
        REQUIRE(fabsf(second_query[1] / second_query[0] - expf(slopes[h])) < 1e-5f);
    }
    return 0;
}
