/*
 * tests/support/tanh_part.c: rows of tensors and the masks that belong to them.
 */
#include "support/tanh_part.h"

#include "support/testing.h"

/* The view's indices from first on, count of them, along the axis that is so far from the last; the whole view where
 * that axis repeats or is not there. NULL for NULL. */
static attnzoo_tensor *rows_of(const attnzoo_tensor *view, int32_t axis_from_last, int64_t first, int64_t count,
                               bool may_be_one)
{
    if (view == NULL)
        return NULL;
    int32_t rank = attnzoo_tensor_rank(view);
    int32_t axis = rank - 1 - axis_from_last;
    int64_t shape[ATTNZOO_RANK_MAX], strides[ATTNZOO_RANK_MAX];
    for (int32_t i = 0; i < rank; i++) {
        shape[i] = attnzoo_tensor_size(view, i);
        strides[i] = attnzoo_tensor_stride(view, i);
    }
    int64_t offset = 0;
    if (axis >= 0 && !(may_be_one && shape[axis] == 1)) {
        shape[axis] = count;
        offset = attnzoo_tensor_element_count(view) > 0 ? first * strides[axis] : 0;
    }
    const unsigned char *data = attnzoo_tensor_data(view);
    int32_t dtype = attnzoo_tensor_dtype(view);
    attnzoo_tensor *rows = NULL;
    assert_ok(attnzoo_tensor_create(&rows, (void *)(uintptr_t)(data + offset * attnzoo_dtype_size(dtype)), dtype, rank,
                                    shape, strides));
    return rows;
}

/* Positions and lengths, which count from the whole call's first query. */
static void set_positions(struct tanh_part *part, struct tanh_case *test, int64_t first, int64_t count)
{
    struct reference_location_aware problem = tanh_case_problem(test);
    int64_t batch = test->sizes.batch;
    assert_true(batch <= 64);
    for (int64_t b = 0; b < batch; b++) {
        part->offset_of_batch[b] = reference_position(&problem.model.mask, b, first);
        int64_t length = test->call.query_lengths.rank > 0 ? (int64_t)test->call.query_lengths.values[b] : 0;
        length = length > first ? length - first : 0;
        part->length_of_batch[b] = length < count ? length : count;
    }
    assert_ok(attnzoo_tensor_create(&part->offsets, part->offset_of_batch, ATTNZOO_DTYPE_INT64, 1, &batch, NULL));
    assert_ok(attnzoo_mask_set_query_offsets(part->mask, part->offsets));
    if (test->call.query_lengths.rank == 0)
        return;
    assert_ok(attnzoo_tensor_create(&part->query_lengths, part->length_of_batch, ATTNZOO_DTYPE_INT64, 1, &batch, NULL));
    assert_ok(attnzoo_mask_set_query_lengths(part->mask, part->query_lengths));
}

void tanh_part_create(struct tanh_part *part, struct tanh_case *test, int64_t first, int64_t count)
{
    struct attention_case *call = &test->call;
    *part = (struct tanh_part){.query = rows_of(call->query.view, 1, first, count, false),
                               .context = rows_of(call->context.view, 1, first, count, false),
                               .attention = rows_of(call->attention.view, 1, first, count, false),
                               .mask = attention_case_mask(call)};
    if (part->mask == NULL)
        return;
    part->boolean = rows_of(call->boolean.view, 1, first, count, call->boolean.shape[2] == 1);
    part->bias = rows_of(call->bias.view, 1, first, count, call->bias.shape[2] == 1);
    assert_ok(attnzoo_mask_set_boolean(part->mask, part->boolean));
    assert_ok(attnzoo_mask_set_bias(part->mask, part->bias));
    set_positions(part, test, first, count);
}

attnzoo_status tanh_part_forward(const struct tanh_part *part, const struct tanh_case *test,
                                 const attnzoo_module *module, attnzoo_executor *executor, attnzoo_state *state)
{
    return attnzoo_module_forward(module, executor, part->query, test->call.key.view, test->call.value.view, part->mask,
                                  state, part->context, part->attention);
}

void tanh_part_destroy(struct tanh_part *part)
{
    attnzoo_mask_destroy(part->mask);
    attnzoo_tensor *tensors[] = {part->query, part->context, part->attention,    part->boolean,
                                 part->bias,  part->offsets, part->query_lengths};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        attnzoo_tensor_destroy(tensors[i]);
    *part = (struct tanh_part){0};
}

attnzoo_status tanh_case_forward_part(struct tanh_case *test, int64_t first, int64_t count,
                                      const attnzoo_module *module, attnzoo_executor *executor, attnzoo_state *state)
{
    struct tanh_part part;
    tanh_part_create(&part, test, first, count);
    attnzoo_status status = tanh_part_forward(&part, test, module, executor, state);
    tanh_part_destroy(&part);
    return status;
}

attnzoo_state *tanh_case_state(const struct tanh_case *test, const attnzoo_module *module)
{
    attnzoo_state *state = NULL;
    assert_ok(attnzoo_state_create(&state, module, test->sizes.batch, test->sizes.keys + test->sizes.keys % 4));
    return state;
}
