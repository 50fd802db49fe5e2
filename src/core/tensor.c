/*
 * core/tensor.c: attnzoo/tensor.h. The checks are base/view.c's.
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

static attnzoo_status create(attnzoo_tensor **tensor, const void *data, bool readonly, int32_t dtype, int32_t rank,
                             const int64_t *shape, const int64_t *strides)
{
    ATTNZOO_REQUIRE_POINTER(tensor);
    struct attnzoo_view view;
    attnzoo_status status = attnzoo_base_view_describe(&view, data, readonly, dtype, rank, shape, strides);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    attnzoo_tensor *made = malloc(sizeof *made);
    if (made == NULL)
        return attnzoo_base_fail_memory(sizeof *made);
    made->kind = ATTNZOO_KIND_TENSOR;
    made->view = view;
    *tensor = made;
    return ATTNZOO_STATUS_OK;
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
    free(tensor);
}

attnzoo_status attnzoo_tensor_assign(attnzoo_tensor *tensor, void *data, int32_t dtype, int32_t rank,
                                     const int64_t *shape, const int64_t *strides)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    return attnzoo_base_view_describe(&tensor->view, data, false, dtype, rank, shape, strides);
}

attnzoo_status attnzoo_tensor_assign_readonly(attnzoo_tensor *tensor, const void *data, int32_t dtype, int32_t rank,
                                              const int64_t *shape, const int64_t *strides)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    return attnzoo_base_view_describe(&tensor->view, data, true, dtype, rank, shape, strides);
}

attnzoo_status attnzoo_tensor_set_data(attnzoo_tensor *tensor, void *data)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    return attnzoo_base_view_point(&tensor->view, data, false);
}

attnzoo_status attnzoo_tensor_set_readonly_data(attnzoo_tensor *tensor, const void *data)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    return attnzoo_base_view_point(&tensor->view, data, true);
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
