/*
 * tests/support/test_tensor.c: laying out, storing, loading and checking the tensors of the tests.
 */
#include "support/test_tensor.h"

#include "support/element.h"
#include "support/testing.h"

#include <stdlib.h>
#include <string.h>

struct test_tensor test_tensor_plan(int32_t dtype, int32_t rank, const int64_t *shape)
{
    struct test_tensor tensor = {.dtype = dtype, .rank = rank, .step = 1};
    for (int32_t axis = 0; axis < rank; axis++) {
        tensor.shape[axis] = shape[axis];
        tensor.order[axis] = axis;
    }
    return tensor;
}

void test_tensor_plan_any_layout(struct test_tensor *tensor, struct random_source *source, int32_t least_rank,
                                 bool may_repeat)
{
    while (tensor->rank - tensor->left_out > least_rank && tensor->shape[tensor->left_out] == 1 &&
           random_chance(source, 0.3))
        tensor->left_out++;
    if (random_chance(source, 0.3))
        return;
    for (int32_t place = tensor->rank - 1; place > 0 && random_chance(source, 0.5); place--) {
        int32_t other = (int32_t)random_between(source, 0, place);
        int32_t axis = tensor->order[place];
        tensor->order[place] = tensor->order[other];
        tensor->order[other] = axis;
    }
    tensor->step = random_chance(source, 0.3) ? random_between(source, 2, 3) : 1;
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        tensor->padding[axis] = random_chance(source, 0.3) ? random_between(source, 1, 9) : 0;
        tensor->reversed[axis] = random_chance(source, 0.2);
        tensor->repeated[axis] = may_repeat && random_chance(source, 0.1);
    }
}

/* Strides, the first element's place, and how many elements the memory spans. */
static int64_t lay_out(struct test_tensor *tensor)
{
    int64_t stride = tensor->step;
    int64_t extent = 1;
    tensor->first = 0;
    for (int32_t place = tensor->rank - 1; place >= 0; place--) {
        int32_t axis = tensor->order[place];
        int64_t size = tensor->shape[axis];
        if (tensor->repeated[axis]) {
            tensor->strides[axis] = 0;
            continue;
        }
        int64_t reach = size > 0 ? (size - 1) * stride : 0;
        tensor->strides[axis] = tensor->reversed[axis] ? -stride : stride;
        tensor->first += tensor->reversed[axis] ? reach : 0;
        extent += reach;
        stride = stride * (size > 0 ? size : 1) + tensor->padding[axis];
    }
    return extent;
}

void test_tensor_allocate(struct test_tensor *tensor)
{
    if (tensor->rank == 0)
        return;
    int64_t extent = lay_out(tensor);
    tensor->count = 1;
    for (int32_t axis = 0; axis < tensor->rank; axis++)
        tensor->count *= tensor->shape[axis];
    if (tensor->count == 0) {
        extent = 0;
        tensor->first = 0;
    }
    tensor->values = calloc((size_t)tensor->count + 1, sizeof *tensor->values);
    assert_non_null(tensor->values);
    int64_t element_size = attnzoo_dtype_size(tensor->dtype);
    tensor->memory = guarded_memory_create((size_t)(extent * element_size));
    int32_t left_out = tensor->left_out;
    assert_ok(attnzoo_tensor_create(&tensor->view, tensor->memory.bytes + tensor->first * element_size, tensor->dtype,
                                    tensor->rank - left_out, tensor->shape + left_out, tensor->strides + left_out));
}

/* Steps index to the next in row-major order; returns the place in memory of the one stepped to, in elements. */
static int64_t next_place(const struct test_tensor *tensor, int64_t index[TEST_TENSOR_RANK_MAX], int64_t place)
{
    for (int32_t axis = tensor->rank - 1; axis >= 0; axis--) {
        place += tensor->strides[axis];
        if (++index[axis] < tensor->shape[axis])
            break;
        place -= tensor->strides[axis] * tensor->shape[axis];
        index[axis] = 0;
    }
    return place;
}

void test_tensor_fill(struct test_tensor *tensor, struct random_source *source, double lowest, double highest)
{
    for (int64_t i = 0; i < tensor->count; i++)
        tensor->values[i] = element_rounded(tensor->dtype, random_real(source, lowest, highest));
    test_tensor_make_repeats_equal(tensor);
}

void test_tensor_set(struct test_tensor *tensor, const double *values)
{
    for (int64_t i = 0; i < tensor->count; i++)
        tensor->values[i] = element_rounded(tensor->dtype, values[i]);
}

void test_tensor_store(struct test_tensor *tensor)
{
    int64_t element_size = tensor->rank > 0 ? attnzoo_dtype_size(tensor->dtype) : 0;
    int64_t index[TEST_TENSOR_RANK_MAX] = {0};
    int64_t place = tensor->first;
    for (int64_t i = 0; i < tensor->count; i++) {
        element_write(tensor->memory.bytes + place * element_size, tensor->dtype, tensor->values[i]);
        place = next_place(tensor, index, place);
    }
}

void test_tensor_load(struct test_tensor *tensor)
{
    int64_t element_size = tensor->rank > 0 ? attnzoo_dtype_size(tensor->dtype) : 0;
    int64_t index[TEST_TENSOR_RANK_MAX] = {0};
    int64_t place = tensor->first;
    for (int64_t i = 0; i < tensor->count; i++) {
        tensor->values[i] = element_read(tensor->memory.bytes + place * element_size, tensor->dtype);
        place = next_place(tensor, index, place);
    }
}

bool test_tensor_repeats(const struct test_tensor *tensor)
{
    for (int32_t axis = 0; axis < tensor->rank; axis++)
        if (tensor->repeated[axis])
            return true;
    return false;
}

void test_tensor_make_repeats_equal(struct test_tensor *tensor)
{
    if (!test_tensor_repeats(tensor))
        return;
    test_tensor_store(tensor);
    test_tensor_load(tensor);
}

void test_tensor_poison(struct test_tensor *tensor)
{
    if (tensor->rank > 0)
        memset(tensor->memory.pages, GUARDED_MEMORY_FILL, tensor->memory.pages_size);
}

static bool all_are_fill(const unsigned char *bytes, const unsigned char *is_covered, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != GUARDED_MEMORY_FILL && (is_covered == NULL || is_covered[i] == 0))
            return false;
    return true;
}

bool test_tensor_gaps_are_untouched(const struct test_tensor *tensor)
{
    if (tensor->rank == 0)
        return true;
    size_t element_size = (size_t)attnzoo_dtype_size(tensor->dtype);
    size_t before = (size_t)(tensor->memory.bytes - tensor->memory.pages);
    unsigned char *is_covered = calloc(tensor->memory.pages_size + 1, 1);
    assert_non_null(is_covered);
    int64_t index[TEST_TENSOR_RANK_MAX] = {0};
    int64_t place = tensor->first;
    for (int64_t i = 0; i < tensor->count; i++) {
        memset(is_covered + before + (size_t)place * element_size, 1, element_size);
        place = next_place(tensor, index, place);
    }
    bool is_untouched = all_are_fill(tensor->memory.pages, is_covered, tensor->memory.pages_size);
    free(is_covered);
    return is_untouched;
}

bool test_tensor_is_untouched(const struct test_tensor *tensor)
{
    return all_are_fill(tensor->memory.pages, NULL, tensor->memory.pages_size);
}

void test_tensor_destroy(struct test_tensor *tensor)
{
    attnzoo_tensor_destroy(tensor->view);
    guarded_memory_destroy(&tensor->memory);
    free(tensor->values);
    *tensor = (struct test_tensor){0};
}
