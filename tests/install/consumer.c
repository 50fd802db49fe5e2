/*
 * A program of someone who has installed the library: attention by hand-checked numbers, and an error's message. It is
 * compiled as C11 and as C++17.
 */
#include <attnzoo/attnzoo.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define REQUIRE(condition)                                                                                            \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "line %d: %s does not hold (%s)\n", __LINE__, #condition, attnzoo_last_error());          \
            return 1;                                                                                                 \
        }                                                                                                             \
    } while (0)

int main(void)
{
    static const float identity[] = {1.0f, 0.0f, 0.0f, 1.0f};
    static const float value_data[] = {1.0f, 2.0f, 3.0f, 4.0f};
    static const int64_t shape[] = {2, 2};
    static const int64_t narrow_shape[] = {2, 1};
    float context_data[4] = {-1.0f, -1.0f, -1.0f, -1.0f};
    const int32_t float32 = ATTNZOO_DTYPE_FLOAT32;

    REQUIRE(attnzoo_version_number() == ATTNZOO_VERSION_NUMBER);

    attnzoo_module *module = NULL;
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *query = NULL, *value = NULL, *context = NULL, *narrow = NULL;
    REQUIRE(attnzoo_module_create(&module, "scaled_dot_product") == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_module_set_option_float(module, "scale", 1.0) == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_module_prepare(module) == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_mask_create(&mask) == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_mask_set_causal(mask, 1) == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_tensor_create_readonly(&query, identity, float32, 2, shape, NULL) == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_tensor_create_readonly(&narrow, identity, float32, 2, narrow_shape, NULL) == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_tensor_create_readonly(&value, value_data, float32, 2, shape, NULL) == ATTNZOO_STATUS_OK);
    REQUIRE(attnzoo_tensor_create(&context, context_data, float32, 2, shape, NULL) == ATTNZOO_STATUS_OK);

    REQUIRE(attnzoo_module_forward(module, NULL, query, narrow, value, mask, NULL, context, NULL) ==
            ATTNZOO_STATUS_SHAPE_MISMATCH);
    REQUIRE(strlen(attnzoo_last_error()) > 0);
    REQUIRE(context_data[0] < 0.0f);

    REQUIRE(attnzoo_module_forward(module, NULL, query, query, value, mask, NULL, context, NULL) ==
            ATTNZOO_STATUS_OK);
    /* The first query sees the first key alone; the second has scores 0 and 1. */
    const double second_key = exp(1.0) / (1.0 + exp(1.0));
    const double expected[4] = {1.0, 2.0, 1.0 + 2.0 * second_key, 2.0 + 2.0 * second_key};
    for (int i = 0; i < 4; i++)
        REQUIRE(fabs((double)context_data[i] - expected[i]) < 1e-6);

    attnzoo_tensor_destroy(context);
    attnzoo_tensor_destroy(value);
    attnzoo_tensor_destroy(narrow);
    attnzoo_tensor_destroy(query);
    attnzoo_mask_destroy(mask);
    attnzoo_module_destroy(module);
    printf("context as expected, libattnzoo %s\n", attnzoo_version_string());
    return 0;
}
