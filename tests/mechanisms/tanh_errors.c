/*
 * tests/mechanisms/tanh_errors.c: good calls for the tests of errors.
 */
#include "mechanisms/tanh_errors.h"

struct tanh_sizes tanh_errors_sizes(bool is_location_aware)
{
    return (struct tanh_sizes){.batch = 2,
                               .heads = is_location_aware ? 2 : 1,
                               .key_heads = 1,
                               .queries = 3,
                               .keys = 19,
                               .query_size = 5,
                               .key_size = 4,
                               .value_size = 8,
                               .attention_size = 6,
                               .value_columns = 10,
                               .filters = 7,
                               .width = 3};
}

const char *const tanh_errors_names[] = {"additive", "location_aware"};

void tanh_errors_create(struct tanh_case *test, int which, uint32_t absent)
{
    struct random_source source = {1};
    struct tanh_sizes sizes = tanh_errors_sizes(which == 1);
    sizes.absent = absent;
    tanh_case_plan(test, tanh_errors_names[which], sizes, REFERENCE_PREVIOUS);
    tanh_case_allocate(test);
    tanh_case_fill(test, &source, 1.0);
    tanh_case_store(test);
}
