/*
 * core/elements.c: reading all elements of a view, and whether they may be written: for parameters, states and tables.
 */
#include "core/handles.h"

#include "kernels/grid.h"

void attnzoo_core_read_elements(float *destination, const struct attnzoo_view *view)
{
    int64_t columns = view->shape[view->rank - 1];
    for (int64_t row = 0; row < attnzoo_base_view_row_count(view); row++)
        attnzoo_kernel_widen(destination + row * columns, attnzoo_base_view_row(view, view->rank - 1, row), view->dtype,
                             view->strides[view->rank - 1], columns);
}

attnzoo_status attnzoo_core_check_writable(const struct attnzoo_view *view, const char *name)
{
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_float(view->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "%s is %s, must be float32, float16 or bfloat16", name, attnzoo_base_dtype_name(view->dtype));
    ATTNZOO_REQUIRE(!view->readonly, ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is a read-only view", name);
    ATTNZOO_REQUIRE(!attnzoo_base_view_overlaps_itself(view), ATTNZOO_STATUS_OVERLAP,
                    "%s has strides that put several elements in one place", name);
    return ATTNZOO_STATUS_OK;
}
