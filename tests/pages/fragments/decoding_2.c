/* The cache of one's own of doc/decoding.md. Its steps must come to what one causal call comes to. */
#include "fragment.h"

enum { H = 4, G = 2, D = 8, LENGTH = 6, CAPACITY = 10 };

static attnzoo_tensor *all_query, *all_key, *all_value, *stepped;

static void make_token(int64_t t, float *query, float *key, float *value)
{
    for (int64_t h = 0; h < H; h++)
        memcpy(query + h * D, numbers_of(all_query) + (h * LENGTH + t) * D, D * sizeof *query);
    for (int64_t g = 0; g < G; g++) {
        memcpy(key + g * D, numbers_of(all_key) + (g * LENGTH + t) * D, D * sizeof *key);
        memcpy(value + g * D, numbers_of(all_value) + (g * LENGTH + t) * D, D * sizeof *value);
    }
}

static void take_context(int64_t t, const attnzoo_tensor *context)
{
    float *into = (float *)(uintptr_t)numbers_of(stepped);
    for (int64_t h = 0; h < H; h++)
        memcpy(into + (h * LENGTH + t) * D, numbers_of(context) + h * D, D * sizeof *into);
}

int main(void)
{
    const int64_t length = LENGTH, capacity = CAPACITY;
    attnzoo_executor *executor = executor_of_two();
    attnzoo_module *module = NULL;
    REQUIRE(attnzoo_module_create(&module, "scaled_dot_product") == 0 && attnzoo_module_prepare(module) == 0);
    all_query = tensor(1, 1, H, LENGTH, D), all_key = tensor(2, 1, G, LENGTH, D);
    all_value = tensor(3, 1, G, LENGTH, D), stepped = unwritten(1, H, LENGTH, D);
    attnzoo_tensor *query = unwritten(1, H, 1, D), *context = unwritten(1, H, 1, D);
    attnzoo_tensor *whole = unwritten(1, H, LENGTH, D);
    attnzoo_tensor *key_cache = unwritten(1, G, CAPACITY, D), *value_cache = unwritten(1, G, CAPACITY, D);
    float *query_data = (float *)(uintptr_t)numbers_of(query), *keys = (float *)(uintptr_t)numbers_of(key_cache);
    float *values = (float *)(uintptr_t)numbers_of(value_cache), new_key[G * D], new_value[G * D];
#include FRAGMENT
    REQUIRE(!failed && filled == LENGTH);
    REQUIRE(attnzoo_module_forward(module, executor, all_query, all_key, all_value, causal_mask(), NULL, whole, NULL) ==
            0);
    /* Averages of numbers below 1 by weights that are good to a few units in the last place. */
    REQUIRE(distance(numbers_of(whole), numbers_of(stepped), H * LENGTH * D) < 1e-6f);
    return 0;
}
