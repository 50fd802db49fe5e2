/*
 * tests/mechanisms/multi_head_random_calls.c: many random calls, each against the reference and on several executors.
 */
#include "mechanisms/multi_head_random_case.h"

#include "support/executors.h"
#include "support/testing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_COUNT = 4 };

/* What a call wrote, byte for byte. */
struct outputs {
    unsigned char *bytes[OUTPUT_COUNT];
};

static void outputs_of(struct multi_head_case *test, struct test_tensor *outputs[OUTPUT_COUNT])
{
    outputs[0] = &test->base.context;
    outputs[1] = &test->base.attention;
    outputs[2] = &test->kept_key;
    outputs[3] = &test->kept_value;
}

static struct outputs copy_outputs(struct multi_head_case *test)
{
    struct test_tensor *tensors[OUTPUT_COUNT];
    struct outputs copy;
    outputs_of(test, tensors);
    for (int i = 0; i < OUTPUT_COUNT; i++) {
        copy.bytes[i] = calloc(tensors[i]->memory.pages_size + 1, 1);
        assert_non_null(copy.bytes[i]);
        if (tensors[i]->memory.pages_size > 0)
            memcpy(copy.bytes[i], tensors[i]->memory.pages, tensors[i]->memory.pages_size);
    }
    return copy;
}

/* Compares, and frees the copy. */
static bool same_outputs(struct multi_head_case *test, struct outputs *copy)
{
    struct test_tensor *tensors[OUTPUT_COUNT];
    bool is_same = true;
    outputs_of(test, tensors);
    for (int i = 0; i < OUTPUT_COUNT; i++) {
        size_t size = tensors[i]->memory.pages_size;
        is_same = is_same && (size == 0 || memcmp(copy->bytes[i], tensors[i]->memory.pages, size) == 0);
        free(copy->bytes[i]);
    }
    return is_same;
}

static bool run_everywhere(const struct executors *executors, struct multi_head_case *test)
{
    for (int i = 0; i < EXECUTOR_COUNT; i++) {
        struct outputs first = {{0}};
        if (i > 0)
            first = copy_outputs(test);
        attnzoo_status status = multi_head_case_run(test, executors->by_thread_count[i]);
        if (status != ATTNZOO_STATUS_OK) {
            print_error("forward: %s: %s\n", attnzoo_status_name(status), attnzoo_last_error());
            return false;
        }
        if (i > 0 && !same_outputs(test, &first)) {
            print_error("other bits with executor %d\n", i);
            return false;
        }
    }
    return multi_head_case_compare(test);
}

static void run_case(const struct executors *executors, enum reference_flavor flavor, uint64_t seed)
{
    struct random_source source = {seed * UINT64_C(0x9e3779b97f4a7c15)};
    struct multi_head_case test;
    multi_head_random_case_create(&test, &source, flavor);
    if (!run_everywhere(executors, &test)) {
        print_error("ATTNZOO_TEST_SEED=%" PRIu64 " ATTNZOO_TEST_CASES=1 repeats it\n", seed);
        multi_head_case_print(&test);
        fail();
    }
    multi_head_case_destroy(&test);
}

void multi_head_random_calls(enum reference_flavor flavor, uint64_t cases)
{
    uint64_t seed = number_from_environment("ATTNZOO_TEST_SEED", 20170612);
    void *executors = NULL;
    executors_create(&executors);
    cases = number_from_environment("ATTNZOO_TEST_CASES", cases);
    for (uint64_t i = 0; i < cases; i++)
        run_case(executors, flavor, seed + i);
    executors_destroy(&executors);
}
