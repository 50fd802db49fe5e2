/*
 * tests/core/allocation_every_function_test.c: every public function, by name: it allocates nothing, whether it succeeds
 * or fails, or each of its allocations fails in turn. tests/core/check_allocations.py holds the list against the headers.
 */
#include "support/failing_allocation.h"
#include "support/testing.h"
#include "support/watched_allocator.h"
#include "support/zoo_case.h"

#include <inttypes.h>
#include <string.h>

static int quiet_calls;
static int64_t faults;

static void assert_nothing_was_allocated(const char *function)
{
    struct allocation_counts counts = allocator_stop();
    if (counts.calls > 0)
        fail_msg("%s allocated %" PRId64 " times, last from %s", function, counts.calls, allocator_last_caller());
    quiet_calls++;
}

/* Calls a function with arguments in brackets, which must allocate nothing. */
#define QUIET(function, arguments)                                                                                     \
    (allocator_watch(), (void)(function)arguments, assert_nothing_was_allocated(#function))

/* Each allocation of a function fails in turn; `run` calls it and gives back what it makes. */
#define SWEPT(function, run, context) sweep(#function, (void (*)(void))(function), run, context)

static void sweep(const char *name, void (*function)(void), attnzoo_status (*run)(void *), void *context)
{
    const struct failing_call call = {.name = name, .run = run, .context = context};
    assert_non_null((void *)(uintptr_t)function);
    int64_t count = fail_in_turn(&call);
    if (count < 1)
        fail_msg("%s is listed as one that allocates", name);
    faults += count;
}

static void what_tells_of_the_library_allocates_nothing(void **state)
{
    (void)state;
    QUIET(attnzoo_version_number, ());
    QUIET(attnzoo_version_string, ());
    attnzoo_build_information(); /* reads what the machine is, once */
    QUIET(attnzoo_build_information, ());
    QUIET(attnzoo_status_name, (ATTNZOO_STATUS_OVERLAP));
    QUIET(attnzoo_status_name, (-1));
    QUIET(attnzoo_last_error, ());
    QUIET(attnzoo_dtype_name, (ATTNZOO_DTYPE_FLOAT16));
    QUIET(attnzoo_dtype_size, (77));
    QUIET(attnzoo_mechanism_count, ());
    for (int32_t i = -1; i <= attnzoo_mechanism_count(); i++)
        QUIET(attnzoo_mechanism_name, (i));
    for (int32_t i = 0; i < attnzoo_mechanism_count(); i++)
        for (int32_t item = -1; item <= ATTNZOO_ITEM_STATE; item++) {
            const char *name = attnzoo_mechanism_name(i);
            QUIET(attnzoo_item_count, (name, item));
            for (int32_t index = -1; index <= attnzoo_item_count(name, item); index++)
                for (int32_t field = -1; field <= ATTNZOO_FIELD_FORMULA; field++)
                    QUIET(attnzoo_item_text, (name, item, index, field));
        }
}

static void views_allocate_only_themselves(void **state)
{
    (void)state;
    float data[4] = {0};
    attnzoo_tensor *view = NULL;
    assert_ok(attnzoo_tensor_create(&view, data, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){4}, NULL));
    QUIET(attnzoo_tensor_assign, (view, data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 2}, NULL));
    QUIET(attnzoo_tensor_assign, (view, data, 99, 2, (int64_t[]){2, 2}, NULL));
    QUIET(attnzoo_tensor_assign_readonly, (view, data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 2}, NULL));
    QUIET(attnzoo_tensor_assign_readonly, (NULL, data, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){2, 2}, NULL));
    QUIET(attnzoo_tensor_set_readonly_data, (view, data));
    QUIET(attnzoo_tensor_set_readonly_data, (view, NULL));
    QUIET(attnzoo_tensor_set_data, (view, data));
    QUIET(attnzoo_tensor_set_data, (NULL, data));
    QUIET(attnzoo_tensor_data, (view));
    QUIET(attnzoo_tensor_dtype, (view));
    QUIET(attnzoo_tensor_rank, (view));
    QUIET(attnzoo_tensor_size, (view, 0));
    QUIET(attnzoo_tensor_stride, (view, 7));
    QUIET(attnzoo_tensor_element_count, (view));
    QUIET(attnzoo_fill_sinusoidal_positions, (view, 0, 1, ATTNZOO_SINUSOID_HALVES));
    QUIET(attnzoo_fill_sinusoidal_positions, (view, 0, 1, 9));
    QUIET(attnzoo_tensor_destroy, (view));
    QUIET(attnzoo_tensor_destroy, (NULL));
}

static void masks_allocate_only_themselves(void **state)
{
    (void)state;
    int64_t number = 1;
    float bias = 0.0f;
    attnzoo_mask *mask = NULL;
    attnzoo_tensor *numbers = NULL, *floats = NULL;
    assert_ok(attnzoo_mask_create(&mask));
    assert_ok(attnzoo_tensor_create(&numbers, &number, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){1}, NULL));
    assert_ok(attnzoo_tensor_create(&floats, &bias, ATTNZOO_DTYPE_FLOAT32, 1, (int64_t[]){1}, NULL));
    QUIET(attnzoo_mask_set_causal, (mask, 1));
    QUIET(attnzoo_mask_set_causal, (mask, 2));
    QUIET(attnzoo_mask_set_window, (mask, 5, 5));
    QUIET(attnzoo_mask_set_window, (mask, -5, 5));
    QUIET(attnzoo_mask_set_alignment, (mask, ATTNZOO_ALIGNMENT_TOP_LEFT));
    QUIET(attnzoo_mask_set_alignment, (mask, 9));
    QUIET(attnzoo_mask_set_query_offset, (mask, 3));
    QUIET(attnzoo_mask_set_query_offset, (NULL, 3));
    /* Each with what it takes, with what it does not, and with nothing. */
    const attnzoo_tensor *const given[] = {numbers, floats, NULL};
    for (int i = 0; i < 3; i++) {
        QUIET(attnzoo_mask_set_query_offsets, (mask, given[i]));
        QUIET(attnzoo_mask_set_key_lengths, (mask, given[i]));
        QUIET(attnzoo_mask_set_query_lengths, (mask, given[i]));
        QUIET(attnzoo_mask_set_boolean, (mask, given[i]));
        QUIET(attnzoo_mask_set_bias, (mask, given[i]));
        QUIET(attnzoo_mask_set_linear_bias, (mask, given[i]));
        QUIET(attnzoo_mask_set_segments, (mask, given[i]));
    }
    QUIET(attnzoo_mask_destroy, (mask));
    attnzoo_tensor_destroy(floats);
    attnzoo_tensor_destroy(numbers);
}

static void modules_allocate_in_few_places(void **state)
{
    (void)state;
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case test;
        attnzoo_module *module = NULL;
        int32_t rank;
        int64_t shape[ATTNZOO_RANK_MAX];
        zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){1, 2, 2, 2, 3, 4}, 1);
        const attnzoo_tensor *inputs[ZOO_INPUTS];
        for (int i = 0; i < ZOO_INPUTS; i++)
            inputs[i] = test.inputs[i].view;
        assert_ok(attnzoo_module_create(&module, zoo_mechanism(test.kind)));
        QUIET(attnzoo_module_mechanism, (module));
        for (int32_t i = -1; i < attnzoo_item_count(zoo_mechanism(test.kind), ATTNZOO_ITEM_OPTION); i++) {
            const char *name = attnzoo_item_text(zoo_mechanism(test.kind), ATTNZOO_ITEM_OPTION, i, ATTNZOO_FIELD_NAME);
            QUIET(attnzoo_module_set_option_float, (module, name, 1.0));
            QUIET(attnzoo_module_set_option_int, (module, name, 1));
            QUIET(attnzoo_module_set_option_bool, (module, name, 1));
            QUIET(attnzoo_module_set_option_text, (module, name, "1"));
            QUIET(attnzoo_module_set_option_text, (module, name, "0.125"));
            QUIET(attnzoo_module_set_option_text, (module, name, "none of them"));
        }
        for (int32_t output = 0; output < 4; output++)
            QUIET(attnzoo_module_output_shape, (test.module, inputs, ZOO_INPUTS, NULL, output, &rank, shape));
        QUIET(attnzoo_module_destroy, (module));
        zoo_case_destroy(&test);
    }
}

static void states_allocate_only_when_they_are_made(void **state)
{
    (void)state;
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case test;
        attnzoo_state *one = NULL, *other = NULL;
        if (!zoo_has_state((enum zoo_kind)kind))
            continue;
        zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){1, 2, 2, 2, 3, 4}, 1);
        assert_ok(attnzoo_state_create(&one, test.module, 1, 5));
        assert_ok(attnzoo_state_create(&other, test.module, 1, 3));
        assert_ok(zoo_case_forward(&test, test.module, NULL, NULL, one));
        QUIET(attnzoo_state_length, (one));
        QUIET(attnzoo_state_capacity, (one));
        QUIET(attnzoo_state_batch, (one));
        int32_t count = zoo_field_count((enum zoo_kind)kind);
        struct zoo_array fields[2] = {{0}};
        for (int32_t field = 0; field < count; field++) {
            int32_t rank = 0;
            int64_t shape[ATTNZOO_RANK_MAX];
            QUIET(attnzoo_state_field_shape, (one, field + 7, &rank, shape));
            QUIET(attnzoo_state_field_shape, (one, field, &rank, shape));
            zoo_array_create(&fields[field], rank, shape);
            QUIET(attnzoo_state_get_field, (one, field, fields[field].view));
            QUIET(attnzoo_state_get_field, (one, field, NULL));
        }
        const attnzoo_tensor *const views[] = {fields[0].view, fields[1].view, NULL};
        QUIET(attnzoo_state_set_fields, (other, views, count));
        QUIET(attnzoo_state_set_fields, (other, views + 2, 1));
        QUIET(attnzoo_state_copy, (one, other));
        QUIET(attnzoo_state_copy, (one, NULL));
        QUIET(attnzoo_state_truncate, (one, 1));
        QUIET(attnzoo_state_truncate, (one, -1));
        QUIET(attnzoo_state_reset, (one));
        QUIET(attnzoo_state_destroy, (one));
        QUIET(attnzoo_state_destroy, (other));
        for (int32_t field = 0; field < count; field++)
            zoo_array_destroy(&fields[field]);
        zoo_case_destroy(&test);
    }
}

static void merging_and_asking_executors_allocates_nothing(void **state)
{
    (void)state;
    struct zoo_array context, sums;
    attnzoo_executor *executor = NULL;
    zoo_array_create(&context, 3, (int64_t[]){2, 3, 300});
    zoo_array_create(&sums, 2, (int64_t[]){2, 3});
    QUIET(attnzoo_merge_contexts, (context.view, sums.view, context.view, sums.view, context.view, sums.view));
    QUIET(attnzoo_merge_contexts, (context.view, sums.view, context.view, sums.view, sums.view, NULL));
    assert_ok(attnzoo_executor_create(&executor, 2));
    QUIET(attnzoo_executor_thread_count, (executor));
    QUIET(attnzoo_executor_destroy, (executor));
    QUIET(attnzoo_executor_destroy, (NULL));
    zoo_array_destroy(&sums);
    zoo_array_destroy(&context);
}

static void copying_glimpses_allocates_nothing(void **state)
{
    (void)state;
    struct zoo_array image, tiles;
    int64_t count = 0, index = 1;
    attnzoo_tensor *indices = NULL;
    zoo_array_create(&image, 2, (int64_t[]){4, 4});
    zoo_array_create(&tiles, 2, (int64_t[]){4, 4});
    assert_ok(attnzoo_tensor_create(&indices, &index, ATTNZOO_DTYPE_INT64, 2, (int64_t[]){4, 1}, (int64_t[]){0, 0}));
    QUIET(attnzoo_glimpse_letter_count, ("abc", 3, &count));
    QUIET(attnzoo_glimpse_letter_count, ("\xff", 1, &count));
    QUIET(attnzoo_glimpse_tile_count, (8, 3, 2, ATTNZOO_GLIMPSE_EDGE_PAD, &count));
    QUIET(attnzoo_glimpse_tile_count, (8, 0, 2, ATTNZOO_GLIMPSE_EDGE_PAD, &count));
    QUIET(attnzoo_glimpse_tiles, (image.view, 2, (int64_t[]){2, 2}, NULL, 0, 0.0, tiles.view));
    QUIET(attnzoo_glimpse_tiles, (image.view, 2, (int64_t[]){2, 2}, NULL, 9, 0.0, tiles.view));
    QUIET(attnzoo_glimpse_untile, (tiles.view, 2, (int64_t[]){2, 2}, NULL, 0, image.view));
    QUIET(attnzoo_glimpse_untile, (tiles.view, 2, (int64_t[]){2, 2}, NULL, 0, NULL));
    QUIET(attnzoo_glimpse_embedding, (indices, image.view, tiles.view));
    assert_ok(attnzoo_tensor_assign(indices, &index, ATTNZOO_DTYPE_INT64, 1, (int64_t[]){4}, (int64_t[]){0}));
    QUIET(attnzoo_glimpse_embedding, (indices, image.view, tiles.view));
    attnzoo_tensor_destroy(indices);
    zoo_array_destroy(&tiles);
    zoo_array_destroy(&image);
}

static attnzoo_status make_tile_view(void *context)
{
    attnzoo_tensor *view = NULL;
    attnzoo_status status = attnzoo_glimpse_tile_view(&view, context, 2, (int64_t[]){2, 2}, NULL);
    assert_true((status == ATTNZOO_STATUS_OK) == (view != NULL));
    attnzoo_tensor_destroy(view);
    return status;
}

static attnzoo_status make_flat_view(void *context)
{
    attnzoo_tensor *view = NULL;
    attnzoo_status status = attnzoo_glimpse_flat_view(&view, context, 0, 1);
    assert_true((status == ATTNZOO_STATUS_OK) == (view != NULL));
    attnzoo_tensor_destroy(view);
    return status;
}

static attnzoo_status spell(void *context)
{
    return attnzoo_glimpse_letters("abba", 4, "abcd", 4, ATTNZOO_GLIMPSE_REFUSE_LETTER, NULL, context);
}

static attnzoo_status make_view(void *context)
{
    attnzoo_tensor *view = NULL;
    attnzoo_status status =
        attnzoo_tensor_create(&view, context, ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){1, 1}, (int64_t[]){5, 7});
    assert_true((status == ATTNZOO_STATUS_OK) == (view != NULL));
    attnzoo_tensor_destroy(view);
    return status;
}

static attnzoo_status make_readonly_view(void *context)
{
    attnzoo_tensor *view = NULL;
    attnzoo_status status =
        attnzoo_tensor_create_readonly(&view, context, ATTNZOO_DTYPE_BOOL, 2, (int64_t[]){1, 1}, (int64_t[]){5, 7});
    assert_true((status == ATTNZOO_STATUS_OK) == (view != NULL));
    attnzoo_tensor_destroy(view);
    return status;
}

static attnzoo_status make_mask(void *context)
{
    (void)context;
    attnzoo_mask *mask = NULL;
    attnzoo_status status = attnzoo_mask_create(&mask);
    assert_true((status == ATTNZOO_STATUS_OK) == (mask != NULL));
    attnzoo_mask_destroy(mask);
    return status;
}

static attnzoo_status make_executor(void *context)
{
    attnzoo_executor *executor = NULL;
    attnzoo_status status = attnzoo_executor_create(&executor, *(const int32_t *)context);
    assert_true((status == ATTNZOO_STATUS_OK) == (executor != NULL));
    attnzoo_executor_destroy(executor);
    return status;
}

static attnzoo_status make_module(void *context)
{
    const struct zoo_case *test = context;
    attnzoo_module *module = NULL;
    attnzoo_status status = attnzoo_module_create(&module, zoo_mechanism(test->kind));
    assert_true((status == ATTNZOO_STATUS_OK) == (module != NULL));
    attnzoo_module_destroy(module);
    return status;
}

/* The module is as it was: preparing it again makes one that gives what any other gives. */
static attnzoo_status prepare(void *context)
{
    const struct zoo_case *test = context;
    attnzoo_module *module = NULL;
    attnzoo_status status = zoo_case_make_module(test, &module);
    attnzoo_module_destroy(module);
    return status;
}

static attnzoo_status make_state(void *context)
{
    const struct zoo_case *test = context;
    attnzoo_state *state = NULL;
    attnzoo_status status = attnzoo_state_create(&state, test->module, 2, 9);
    assert_true((status == ATTNZOO_STATUS_OK) == (state != NULL));
    attnzoo_state_destroy(state);
    return status;
}

static attnzoo_status run_slots(void *context)
{
    const struct zoo_case *test = context;
    return zoo_case_forward(test, test->module, NULL, NULL, NULL);
}

static attnzoo_status run(void *context)
{
    const struct zoo_case *test = context;
    const struct zoo_array *inputs = test->inputs, *outputs = test->outputs;
    if (test->kind == ZOO_TRANSFORMER_XL)
        return run_slots(context);
    return attnzoo_module_forward(test->module, NULL, inputs[0].view, inputs[1].view, inputs[2].view, NULL, NULL,
                                  outputs[0].view, outputs[1].view);
}

static attnzoo_status lend(void *context)
{
    struct DLManagedTensor *managed = NULL;
    attnzoo_tensor *view = NULL;
    attnzoo_status status = attnzoo_tensor_to_dlpack(&managed, context, NULL, NULL);
    assert_true((status == ATTNZOO_STATUS_OK) == (managed != NULL));
    if (managed == NULL)
        return status;
    status = attnzoo_tensor_create_from_dlpack(&view, managed);
    assert_true((status == ATTNZOO_STATUS_OK) == (view != NULL));
    /* Still the caller's, who tries again. */
    if (view == NULL)
        assert_int_equal(attnzoo_tensor_create_from_dlpack(&view, managed), ATTNZOO_STATUS_OK);
    attnzoo_tensor_destroy(view);
    return status;
}

static attnzoo_status lend_versioned(void *context)
{
    struct DLManagedTensorVersioned *managed = NULL;
    attnzoo_tensor *view = NULL;
    attnzoo_status status = attnzoo_tensor_to_dlpack_versioned(&managed, context, NULL, NULL);
    assert_true((status == ATTNZOO_STATUS_OK) == (managed != NULL));
    if (managed == NULL)
        return status;
    status = attnzoo_tensor_create_from_dlpack_versioned(&view, managed);
    assert_true((status == ATTNZOO_STATUS_OK) == (view != NULL));
    if (view == NULL)
        assert_int_equal(attnzoo_tensor_create_from_dlpack_versioned(&view, managed), ATTNZOO_STATUS_OK);
    attnzoo_tensor_destroy(view);
    return status;
}

static void functions_that_allocate_say_so_when_they_cannot(void **state)
{
    (void)state;
    char byte = 0;
    int32_t threads = 3;
    faults = 0;
    SWEPT(attnzoo_tensor_create, make_view, &byte);
    SWEPT(attnzoo_tensor_create_readonly, make_readonly_view, &byte);
    SWEPT(attnzoo_mask_create, make_mask, NULL);
    SWEPT(attnzoo_executor_create, make_executor, &threads);
    struct zoo_array image;
    zoo_array_create(&image, 2, (int64_t[]){4, 4});
    SWEPT(attnzoo_glimpse_tile_view, make_tile_view, image.view);
    SWEPT(attnzoo_glimpse_flat_view, make_flat_view, image.view);
    SWEPT(attnzoo_glimpse_letters, spell, image.view);
    zoo_array_destroy(&image);
    for (int kind = 0; kind < ZOO_KINDS; kind++) {
        struct zoo_case test;
        zoo_case_create(&test, (enum zoo_kind)kind, (struct zoo_sizes){2, 2, 1, 3, 4, 5}, 1);
        SWEPT(attnzoo_module_create, make_module, &test);
        SWEPT(attnzoo_module_set_parameter, prepare, &test);
        SWEPT(attnzoo_module_prepare, prepare, &test);
        SWEPT(attnzoo_module_forward_slots, run_slots, &test);
        SWEPT(attnzoo_module_forward, run, &test);
        if (zoo_has_state(test.kind))
            SWEPT(attnzoo_state_create, make_state, &test);
        SWEPT(attnzoo_tensor_to_dlpack, lend, test.inputs[0].view);
        SWEPT(attnzoo_tensor_create_from_dlpack, lend, test.inputs[0].view);
        SWEPT(attnzoo_tensor_to_dlpack_versioned, lend_versioned, test.inputs[0].view);
        SWEPT(attnzoo_tensor_create_from_dlpack_versioned, lend_versioned, test.inputs[0].view);
        zoo_case_destroy(&test);
    }
    print_message("%d calls that allocate nothing; %" PRId64 " allocations failed in turn\n", quiet_calls, faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_tells_of_the_library_allocates_nothing),
        cmocka_unit_test(views_allocate_only_themselves),
        cmocka_unit_test(masks_allocate_only_themselves),
        cmocka_unit_test(modules_allocate_in_few_places),
        cmocka_unit_test(states_allocate_only_when_they_are_made),
        cmocka_unit_test(merging_and_asking_executors_allocates_nothing),
        cmocka_unit_test(copying_glimpses_allocates_nothing),
        cmocka_unit_test(functions_that_allocate_say_so_when_they_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
