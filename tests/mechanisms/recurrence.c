/*
 * tests/mechanisms/recurrence.c: small recurrences.
 */
#include "mechanisms/recurrence.h"

struct tanh_sizes recurrence_sizes(int64_t batch, int64_t queries, int64_t keys)
{
    return (struct tanh_sizes){.batch = batch,
                               .heads = 2,
                               .key_heads = 1,
                               .queries = queries,
                               .keys = keys,
                               .query_size = 5,
                               .key_size = 4,
                               .value_size = 3,
                               .attention_size = 7,
                               .value_columns = 6,
                               .filters = 3,
                               .width = 5};
}

void recurrence_plan(struct tanh_case *test, struct tanh_sizes sizes, enum reference_feedback feedback)
{
    tanh_case_plan(test, "location_aware", sizes, feedback);
}
