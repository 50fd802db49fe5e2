/* Query, key and value out of one matrix, as doc/weights.md does it: each third must have come in as its own. */
#include "fragment.h"

int main(void)
{
    const int64_t model_size = 8;
    attnzoo_tensor *whole = tensor(1, 24, 8, 0, 0), *thirds[3] = {NULL};
    const float *in_proj = numbers_of(whole);
    static const char *const wanted_names[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight"};
    attnzoo_module *module = NULL, *wanted = NULL;
    REQUIRE(attnzoo_module_create(&module, "multi_head") == 0 && attnzoo_module_create(&wanted, "multi_head") == 0);
#include FRAGMENT
    REQUIRE(!failed && attnzoo_module_prepare(module) == 0);
    for (int i = 0; i < 3; i++) {
        thirds[i] = tensor(0, 8, 8, 0, 0);
        memcpy((float *)(uintptr_t)numbers_of(thirds[i]), in_proj + i * 64, 64 * sizeof *in_proj);
        REQUIRE(attnzoo_module_set_parameter(wanted, wanted_names[i], thirds[i]) == 0);
    }
    REQUIRE(attnzoo_module_prepare(wanted) == 0);
    attnzoo_tensor *query = tensor(2, 1, 5, 8, 0), *left = unwritten(1, 5, 8, 0), *right = unwritten(1, 5, 8, 0);
    REQUIRE(attnzoo_module_forward(module, NULL, query, query, query, NULL, NULL, left, NULL) == 0);
    REQUIRE(attnzoo_module_forward(wanted, NULL, query, query, query, NULL, NULL, right, NULL) == 0);
    REQUIRE(is_written(left) && memcmp(numbers_of(left), numbers_of(right), 40 * sizeof(float)) == 0);
    return 0;
}
