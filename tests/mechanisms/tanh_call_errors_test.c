/*
 * tests/mechanisms/tanh_call_errors_test.c: every way in which additive and location_aware are called wrongly: the
 * status, and what the message names. A call that is refused writes no byte of its outputs and moves no state.
 */
#include "mechanisms/tanh_errors.h"
#include "support/tanh_part.h"
#include "support/testing.h"

#include <math.h>
#include <string.h>

/* The call with one tensor of another shape, whose memory is ample. */
static void assert_shape_refused(struct tanh_case *test, const attnzoo_module *module, struct test_tensor *tensor,
                                 int32_t rank, const int64_t *shape, const char *told)
{
    static float memory[4000];
    attnzoo_tensor *kept = tensor->view;
    tensor->view = NULL;
    assert_ok(attnzoo_tensor_create(&tensor->view, memory, ATTNZOO_DTYPE_FLOAT32, rank, shape, NULL));
    assert_refused(tanh_case_forward(test, module, NULL, NULL, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH, told);
    attnzoo_tensor_destroy(tensor->view);
    tensor->view = kept;
    assert_true(test_tensor_is_untouched(&test->call.context));
    assert_true(test_tensor_is_untouched(&test->call.attention));
    for (int i = 0; i < 4000; i++)
        assert_true(memory[i] == 0.0f);
}

static void wrong_shapes_of_a_call_write_nothing(void **state)
{
    (void)state;
    /* Features are held to what the projections take, or, without them, to what the heads need. */
    const uint32_t unprojected = TANH_WITHOUT(TANH_QUERY_WEIGHT) | TANH_WITHOUT(TANH_KEY_WEIGHT);
    for (int way = 0; way < 4; way++) {
        struct tanh_case test;
        tanh_errors_create(&test, way % 2, way < 2 ? 0 : unprojected);
        attnzoo_module *module = tanh_case_module(&test);
        struct attention_case *call = &test.call;
        struct {
            struct test_tensor *tensor;
            const char *name;
        } tensors[] = {{&call->query, "query"},
                       {&call->key, "key"},
                       {&call->value, "value"},
                       {&call->context, "context"},
                       {&call->attention, "attention"}};
        for (int i = 0; i < 5; i++) {
            struct test_tensor *tensor = tensors[i].tensor;
            for (int axis = 0; axis < tensor->rank; axis++) {
                int64_t shape[4];
                memcpy(shape, tensor->shape, sizeof shape);
                shape[axis] += 1;
                /* Of inputs that contradict each other either may be told. */
                bool is_told = i > 2 || axis == 2;
                assert_shape_refused(&test, module, tensor, tensor->rank, shape, is_told ? tensors[i].name : "");
            }
            const int64_t ones[] = {1, 1, 1, 1, 1};
            assert_shape_refused(&test, module, tensor, 1, ones, tensors[i].name);
            assert_shape_refused(&test, module, tensor, 5, ones, tensors[i].name);
        }
        attnzoo_module_destroy(module);
        tanh_case_destroy(&test);
    }
}

/* A batch of 1 is not repeated, on either side, though the outputs fit the queries. */
static void batches_must_agree(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++)
        for (int way = 0; way < 2; way++) {
            struct tanh_case test;
            struct tanh_sizes sizes = tanh_errors_sizes(which == 1);
            sizes.batch = way == 0 ? 1 : 2;
            tanh_case_plan(&test, tanh_errors_names[which], sizes, REFERENCE_PREVIOUS);
            test.call.key.shape[0] = test.call.value.shape[0] = way == 0 ? 2 : 1;
            tanh_case_allocate(&test);
            tanh_case_store(&test);
            attnzoo_module *module = tanh_case_module(&test);
            assert_refused(tanh_case_forward(&test, module, NULL, NULL, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH, "batch");
            assert_true(test_tensor_is_untouched(&test.call.context));
            attnzoo_module_destroy(module);
            tanh_case_destroy(&test);
        }
}

static void places_that_the_mechanisms_do_not_have(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct tanh_case test;
        tanh_errors_create(&test, which, 0);
        attnzoo_module *module = tanh_case_module(&test);
        struct attention_case *call = &test.call;
        static float memory[64];
        attnzoo_tensor *other = NULL;
        assert_ok(attnzoo_tensor_create(&other, memory, ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){3, 5}, NULL));
        const attnzoo_tensor *inputs[] = {call->query.view, call->key.view, call->value.view, other};
        attnzoo_tensor *outputs[] = {call->context.view, NULL, other};
        assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 4, NULL, NULL, outputs, 1),
                      ATTNZOO_STATUS_UNSUPPORTED);
        assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 3),
                      ATTNZOO_STATUS_UNSUPPORTED);
        for (int i = 0; i < 3; i++) {
            const attnzoo_tensor *kept = inputs[i];
            inputs[i] = NULL;
            assert_status(attnzoo_module_forward_slots(module, NULL, inputs, 3, NULL, NULL, outputs, 1),
                          ATTNZOO_STATUS_INVALID_ARGUMENT);
            inputs[i] = kept;
        }
        assert_true(test_tensor_is_untouched(&call->context));
        attnzoo_tensor_destroy(other);
        attnzoo_module_destroy(module);
        tanh_case_destroy(&test);
    }
}

/* Context and attention over each input and each tensor of the mask, and over each other. */
static void overlaps_are_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct tanh_case test;
        struct random_source source = {1};
        tanh_case_plan(&test, tanh_errors_names[which], tanh_errors_sizes(which == 1), REFERENCE_PREVIOUS);
        attention_case_plan_bias(&test.call, 2, 1, 3, 19);
        tanh_case_allocate(&test);
        tanh_case_fill(&test, &source, 1.0);
        tanh_case_store(&test);
        attnzoo_module *module = tanh_case_module(&test);
        attnzoo_mask *mask = attention_case_mask(&test.call);
        attnzoo_state *carried = which == 1 ? tanh_case_state(&test, module) : NULL;
        struct attention_case *call = &test.call;
        struct test_tensor *outputs[] = {&call->context, &call->attention};
        struct test_tensor *others[] = {&call->query, &call->key, &call->value, &call->bias, &call->context};
        const char *names[] = {"query", "key", "value", "mask", "context"};
        for (int output = 0; output < 2; output++)
            for (int other = 0; other < 4 + output; other++) {
                /* One element is enough: the other's last. */
                unsigned char *last = others[other]->memory.bytes + others[other]->memory.size - sizeof(float);
                assert_ok(attnzoo_tensor_set_data(outputs[output]->view, last));
                assert_refused(tanh_case_forward(&test, module, NULL, mask, carried), ATTNZOO_STATUS_OVERLAP,
                               names[other]);
                assert_ok(attnzoo_tensor_set_data(outputs[output]->view, outputs[output]->memory.bytes));
                assert_true(carried == NULL || attnzoo_state_length(carried) == 0);
                assert_true(test_tensor_is_untouched(&call->context));
                assert_true(test_tensor_is_untouched(&call->attention));
            }
        assert_ok(tanh_case_forward(&test, module, NULL, mask, carried));
        attnzoo_state_destroy(carried);
        attnzoo_mask_destroy(mask);
        attnzoo_module_destroy(module);
        tanh_case_destroy(&test);
    }
}

static void output_shapes_are_told_beforehand(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++)
        for (int rank = 2; rank <= 3; rank++) {
            struct tanh_case test;
            struct tanh_sizes sizes = tanh_errors_sizes(which == 1);
            sizes.batch = rank == 2 ? 1 : 2;
            tanh_case_plan(&test, tanh_errors_names[which], sizes, REFERENCE_PREVIOUS);
            test.call.query.left_out = test.call.key.left_out = test.call.value.left_out = 3 - rank;
            tanh_case_allocate(&test);
            attnzoo_module *module = tanh_case_module(&test);
            const attnzoo_tensor *inputs[] = {test.call.query.view, test.call.key.view, test.call.value.view};
            struct test_tensor *outputs[] = {&test.call.context, &test.call.attention};
            for (int32_t output = 0; output < 2; output++) {
                int32_t told = 0;
                int64_t shape[ATTNZOO_RANK_MAX];
                assert_ok(attnzoo_module_output_shape(module, inputs, 3, NULL, output, &told, shape));
                int32_t left_out = 3 - rank;
                assert_int_equal(told, outputs[output]->rank - left_out);
                for (int32_t axis = 0; axis < told; axis++)
                    assert_int_equal(shape[axis], outputs[output]->shape[axis + left_out]);
            }
            int32_t told = 0;
            int64_t shape[ATTNZOO_RANK_MAX];
            assert_status(
                attnzoo_module_output_shape(module, inputs, 3, NULL, ATTNZOO_OUTPUT_LOG_SUM_EXP, &told, shape),
                ATTNZOO_STATUS_UNSUPPORTED);
            attnzoo_module_destroy(module);
            tanh_case_destroy(&test);
        }
}

/* Values that are used as they are must be shared out among the key/value heads too. */
static void values_without_a_projection_must_divide(void **state)
{
    (void)state;
    struct tanh_case test;
    struct tanh_sizes sizes = tanh_errors_sizes(true);
    sizes.heads = sizes.key_heads = 2;
    sizes.absent = TANH_WITHOUT(TANH_VALUE_WEIGHT);
    tanh_case_plan(&test, tanh_errors_names[1], sizes, REFERENCE_PREVIOUS);
    test.call.value.shape[2] = 19;
    test.call.context.shape[2] = 19;
    tanh_case_allocate(&test);
    tanh_case_store(&test);
    attnzoo_module *module = tanh_case_module(&test);
    assert_refused(tanh_case_forward(&test, module, NULL, NULL, NULL), ATTNZOO_STATUS_SHAPE_MISMATCH, "value");
    assert_error_contains("19");
    assert_true(test_tensor_is_untouched(&test.call.context));
    attnzoo_module_destroy(module);
    tanh_case_destroy(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_without_a_projection_must_divide),
        cmocka_unit_test(wrong_shapes_of_a_call_write_nothing),
        cmocka_unit_test(batches_must_agree),
        cmocka_unit_test(places_that_the_mechanisms_do_not_have),
        cmocka_unit_test(overlaps_are_refused),
        cmocka_unit_test(output_shapes_are_told_beforehand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
