/*
 * core/tensor.c: attnzoo/tensor.h. The checks are base/view.c's; what comes from and goes to DLPack is in dlpack.c.
 */
#include "core/handles.h"

#include <stdlib.h>

int64_t attnzoo_dtype_size(int32_t dtype)
{
    return attnzoo_base_dtype_size(dtype);
}

const char *attnzoo_dtype_name(int32_t dtype)
{
    return attnzoo_base_dtype_name(dtype);
}

attnzoo_status attnzoo_core_tensor_create(attnzoo_tensor **tensor, const struct attnzoo_view *view, void *owned,
                                          void (*give_back)(void *owned))
{
    attnzoo_tensor *made = malloc(sizeof *made);
    if (made == NULL)
        return attnzoo_base_fail_memory(sizeof *made);
    made->kind = ATTNZOO_KIND_TENSOR;
    made->view = *view;
    made->owned = owned;
    made->give_back = give_back;
    *tensor = made;
    return ATTNZOO_STATUS_OK;
}

/* The view no longer shows what it owned, if it owned anything. */
static void give_back_owned(attnzoo_tensor *tensor)
{
    void *owned = tensor->owned;
    tensor->owned = NULL;
    if (owned != NULL)
        tensor->give_back(owned);
}

static attnzoo_status assign(attnzoo_tensor *tensor, const void *data, bool readonly, int32_t dtype, int32_t rank,
                             const int64_t *shape, const int64_t *strides)
{
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    attnzoo_status status = attnzoo_base_view_describe(&tensor->view, data, readonly, dtype, rank, shape, strides);
    if (status == ATTNZOO_STATUS_OK)
        give_back_owned(tensor);
    return status;
}

static attnzoo_status point(attnzoo_tensor *tensor, const void *data, bool readonly)
{
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    attnzoo_status status = attnzoo_base_view_point(&tensor->view, data, readonly);
    if (status == ATTNZOO_STATUS_OK)
        give_back_owned(tensor);
    return status;
}

static attnzoo_status create(attnzoo_tensor **tensor, const void *data, bool readonly, int32_t dtype, int32_t rank,
                             const int64_t *shape, const int64_t *strides)
{
    ATTNZOO_REQUIRE_POINTER(tensor);
    struct attnzoo_view view;
    attnzoo_status status = attnzoo_base_view_describe(&view, data, readonly, dtype, rank, shape, strides);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_core_tensor_create(tensor, &view, NULL, NULL);
}

attnzoo_status attnzoo_tensor_create(attnzoo_tensor **tensor, void *data, int32_t dtype, int32_t rank,
                                     const int64_t *shape, const int64_t *strides)
{
    attnzoo_base_enter(__func__);
    return create(tensor, data, false, dtype, rank, shape, strides);
}

attnzoo_status attnzoo_tensor_create_readonly(attnzoo_tensor **tensor, const void *data, int32_t dtype, int32_t rank,
                                              const int64_t *shape, const int64_t *strides)
{
    attnzoo_base_enter(__func__);
    return create(tensor, data, true, dtype, rank, shape, strides);
}

void attnzoo_tensor_destroy(attnzoo_tensor *tensor)
{
    if (tensor == NULL || tensor->kind != ATTNZOO_KIND_TENSOR)
        return;
    tensor->kind = 0;
    give_back_owned(tensor);
    free(tensor);
}

attnzoo_status attnzoo_tensor_assign(attnzoo_tensor *tensor, void *data, int32_t dtype, int32_t rank,
                                     const int64_t *shape, const int64_t *strides)
{
    attnzoo_base_enter(__func__);
    return assign(tensor, data, false, dtype, rank, shape, strides);
}

attnzoo_status attnzoo_tensor_assign_readonly(attnzoo_tensor *tensor, const void *data, int32_t dtype, int32_t rank,
                                              const int64_t *shape, const int64_t *strides)
{
    attnzoo_base_enter(__func__);
    return assign(tensor, data, true, dtype, rank, shape, strides);
}

attnzoo_status attnzoo_tensor_set_data(attnzoo_tensor *tensor, void *data)
{
    attnzoo_base_enter(__func__);
    return point(tensor, data, false);
}

attnzoo_status attnzoo_tensor_set_readonly_data(attnzoo_tensor *tensor, const void *data)
{
    attnzoo_base_enter(__func__);
    return point(tensor, data, true);
}

int32_t attnzoo_tensor_dtype(const attnzoo_tensor *tensor)
{
    return tensor == NULL ? 0 : tensor->view.dtype;
}

int32_t attnzoo_tensor_rank(const attnzoo_tensor *tensor)
{
    return tensor == NULL ? 0 : tensor->view.rank;
}

static bool has_axis(const attnzoo_tensor *tensor, int32_t axis)
{
    return tensor != NULL && axis >= 0 && axis < tensor->view.rank;
}

int64_t attnzoo_tensor_size(const attnzoo_tensor *tensor, int32_t axis)
{
    return has_axis(tensor, axis) ? tensor->view.shape[axis] : -1;
}

int64_t attnzoo_tensor_stride(const attnzoo_tensor *tensor, int32_t axis)
{
    return has_axis(tensor, axis) ? tensor->view.strides[axis] : 0;
}

int64_t attnzoo_tensor_element_count(const attnzoo_tensor *tensor)
{
    return tensor == NULL ? 0 : attnzoo_base_view_element_count(&tensor->view);
}

const void *attnzoo_tensor_data(const attnzoo_tensor *tensor)
{
    return tensor == NULL ? NULL : tensor->view.data;
}
