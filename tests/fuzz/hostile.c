/*
 * hostile.c: drawing what does not fit.
 */
#include "hostile.h"

#include "target.h"

#include <string.h>

enum { AXES_MAX = ATTNZOO_RANK_MAX };

int64_t hostile_number(struct random_source *source)
{
    static const int64_t ends[] = {INT64_MIN,
                                   INT64_MIN + 1,
                                   -INT64_C(0x100000000),
                                   INT32_MIN,
                                   -2,
                                   INT32_MAX,
                                   INT64_C(0x80000000),
                                   INT64_C(0x100000001),
                                   INT64_MAX / 8,
                                   INT64_MAX / 4,
                                   INT64_MAX - 1,
                                   INT64_MAX};
    const int count = (int)(sizeof ends / sizeof *ends);
    int64_t choice = random_between(source, -1, 8 + count);
    return choice <= 8 ? choice : ends[choice - 9];
}

struct description {
    int32_t dtype, rank;
    int64_t shape[AXES_MAX], strides[AXES_MAX];
};

/* The tensor's own view with something changed. */
static struct description changed(const struct test_tensor *tensor, struct random_source *source)
{
    struct description view = {.dtype = attnzoo_tensor_dtype(tensor->view), .rank = attnzoo_tensor_rank(tensor->view)};
    for (int32_t axis = 0; axis < view.rank; axis++) {
        view.shape[axis] = attnzoo_tensor_size(tensor->view, axis);
        view.strides[axis] = attnzoo_tensor_stride(tensor->view, axis);
    }
    int32_t axis = (int32_t)random_between(source, 0, view.rank - 1);
    switch (random_between(source, 0, 5)) {
    case 0:
        view.shape[axis] += random_between(source, 0, 1) * 2 - 1;
        break;
    case 1:
        view.dtype = (int32_t)random_between(source, ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_INT64);
        break;
    case 2:
        view.strides[axis] = random_between(source, -2, 4);
        break;
    case 3:
        view.rank--;
        break;
    case 4:
        view.shape[view.rank] = 1;
        view.strides[view.rank++] = random_between(source, -1, 1);
        break;
    default:
        view.shape[axis] = 0;
    }
    return view;
}

static struct description drawn(struct random_source *source)
{
    struct description view = {.dtype = (int32_t)random_between(source, ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_INT64),
                               .rank = (int32_t)random_between(source, 1, 5)};
    for (int32_t axis = 0; axis < view.rank; axis++) {
        view.shape[axis] = random_between(source, 0, 5);
        view.strides[axis] = random_between(source, -3, 12);
    }
    return view;
}

/* Where in the memory index 0 must lie, in elements, so that the view stays inside; -1 where it cannot. */
static int64_t place_within(const struct description *view, size_t size)
{
    int64_t below = 0, above = 0, element_size = attnzoo_dtype_size(view->dtype);
    for (int32_t axis = 0; axis < view->rank; axis++) {
        if (view->shape[axis] < 0)
            return -1;
        int64_t reach = (view->shape[axis] > 0 ? view->shape[axis] - 1 : 0) * view->strides[axis];
        *(reach < 0 ? &below : &above) += reach;
    }
    return (above - below + 1) * element_size <= (int64_t)size ? -below : -1;
}

attnzoo_tensor *hostile_view(const struct test_tensor *tensor, struct random_source *source)
{
    attnzoo_tensor *view = NULL;
    if (tensor->view == NULL)
        return NULL;
    struct description description = random_chance(source, 0.6) ? changed(tensor, source) : drawn(source);
    int64_t place = place_within(&description, tensor->memory.pages_size);
    if (place < 0 || description.rank == 0)
        return NULL;
    unsigned char *data = tensor->memory.pages + place * attnzoo_dtype_size(description.dtype);
    attnzoo_status status = random_chance(source, 0.1)
                                ? attnzoo_tensor_create_readonly(&view, data, description.dtype, description.rank,
                                                                 description.shape, description.strides)
                                : attnzoo_tensor_create(&view, data, description.dtype, description.rank,
                                                        description.shape, description.strides);
    require(status == ATTNZOO_STATUS_OK);
    return view;
}

struct test_tensor *hostile_tensor(struct subject *subject, struct random_source *source)
{
    struct attention_case *call = subject_call(subject);
    struct test_tensor *tensors[] = {&call->query,
                                     &call->key,
                                     &call->value,
                                     &call->context,
                                     &call->attention,
                                     &call->offsets,
                                     &call->segments,
                                     &call->key_lengths,
                                     &call->query_lengths,
                                     &call->boolean,
                                     &call->bias,
                                     &call->slopes,
                                     subject_position(subject)};
    return tensors[random_between(source, 0, sizeof tensors / sizeof *tensors - 1)];
}

/* What one setter is given; whether it takes it is its own affair. */
static attnzoo_status set_something(attnzoo_mask *mask, struct subject *subject, struct random_source *source)
{
    attnzoo_status (*const setters[])(attnzoo_mask *, const attnzoo_tensor *) = {
        attnzoo_mask_set_query_offsets, attnzoo_mask_set_key_lengths, attnzoo_mask_set_query_lengths,
        attnzoo_mask_set_boolean,       attnzoo_mask_set_bias,        attnzoo_mask_set_linear_bias,
        attnzoo_mask_set_segments};
    enum { SETTER_COUNT = sizeof setters / sizeof *setters };
    int64_t choice = random_between(source, 0, SETTER_COUNT + 3);
    if (choice < SETTER_COUNT) {
        attnzoo_tensor *view = hostile_view(hostile_tensor(subject, source), source);
        attnzoo_status status = setters[choice](mask, view);
        attnzoo_tensor_destroy(view);
        return status;
    }
    switch (choice - SETTER_COUNT) {
    case 0:
        return attnzoo_mask_set_causal(mask, (int32_t)random_between(source, -1, 2));
    case 1: {
        int64_t left = hostile_number(source);
        return attnzoo_mask_set_window(mask, left, hostile_number(source));
    }
    case 2:
        return attnzoo_mask_set_alignment(mask, (int32_t)random_between(source, -1, 3));
    default:
        return attnzoo_mask_set_query_offset(mask, hostile_number(source));
    }
}

attnzoo_mask *hostile_mask(struct subject *subject, struct random_source *source)
{
    attnzoo_mask *mask = NULL;
    require(attnzoo_mask_create(&mask) == ATTNZOO_STATUS_OK);
    for (int64_t settings = random_between(source, 1, 4); settings > 0; settings--) {
        attnzoo_status status = set_something(mask, subject, source);
        require((status == ATTNZOO_STATUS_OK) == (attnzoo_last_error()[0] == '\0'));
    }
    return mask;
}

/* Do the product of the sizes and the reach of the strides stay within 63 bits? Told without wrapping. */
static bool fits(const struct description *view)
{
    int64_t count = 1, below = 0, above = 0, size = attnzoo_dtype_size(view->dtype);
    for (int32_t axis = 0; axis < view->rank; axis++)
        if (view->shape[axis] == 0)
            return true;
    for (int32_t axis = 0; axis < view->rank; axis++) {
        int64_t reach;
        if (__builtin_mul_overflow(count, view->shape[axis], &count) ||
            __builtin_mul_overflow(view->shape[axis] - 1, view->strides[axis], &reach) ||
            __builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above))
            return false;
    }
    return !__builtin_mul_overflow(count, size, &count) && !__builtin_mul_overflow(below, size, &below) &&
           !__builtin_mul_overflow(above, size, &above);
}

void hostile_descriptions(struct random_source *source)
{
    static _Alignas(8) unsigned char element[8];
    struct description view = {.dtype = (int32_t)random_between(source, -1, 8),
                               .rank = (int32_t)random_between(source, -1, AXES_MAX + 1)};
    for (int32_t axis = 0; axis < view.rank && axis < AXES_MAX; axis++) {
        view.shape[axis] = hostile_number(source);
        view.strides[axis] = hostile_number(source);
    }
    attnzoo_tensor *tensor = NULL;
    void *data = random_chance(source, 0.9) ? element + random_between(source, 0, 1) : NULL;
    /* It has more axes than there is room for here, which is an error before any is looked at. */
    attnzoo_status status = attnzoo_tensor_create(&tensor, data, view.dtype, view.rank, view.shape, view.strides);
    require((status == ATTNZOO_STATUS_OK) == (tensor != NULL));
    if (tensor == NULL) {
        require(attnzoo_last_error()[0] != '\0');
        return;
    }
    require(view.rank >= 1 && view.rank <= AXES_MAX && attnzoo_dtype_size(view.dtype) > 0 && fits(&view));
    require(attnzoo_tensor_rank(tensor) == view.rank && attnzoo_tensor_dtype(tensor) == view.dtype);
    int64_t count = 1;
    for (int32_t axis = 0; axis < view.rank; axis++) {
        require(view.shape[axis] >= 0 && attnzoo_tensor_size(tensor, axis) == view.shape[axis]);
        require(attnzoo_tensor_stride(tensor, axis) == view.strides[axis]);
        count = view.shape[axis] == 0 || count == 0 ? 0 : count;
    }
    for (int32_t axis = 0; axis < view.rank; axis++)
        count *= count == 0 ? 0 : view.shape[axis];
    require(attnzoo_tensor_element_count(tensor) == count && (data != NULL || count == 0));
    attnzoo_tensor_destroy(tensor);
}
