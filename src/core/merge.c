/*
 * core/merge.c: attnzoo/merge.h: the checks. The arithmetic is kernels/merge.c's.
 */
#include "core/handles.h"

#include "kernels/merge.h"

#include <string.h>

static attnzoo_status check_same_shape(const struct attnzoo_view *view, const char *name,
                                       const struct attnzoo_view *model, const char *model_name, int32_t rank)
{
    char has[ATTNZOO_SHAPE_TEXT_SIZE], should[ATTNZOO_SHAPE_TEXT_SIZE];
    bool fits = view->rank == rank && memcmp(view->shape, model->shape, (size_t)rank * sizeof *view->shape) == 0;
    ATTNZOO_REQUIRE(fits, ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has shape %s, must have %s as %s tells", name,
                    attnzoo_base_shape_text(has, view->rank, view->shape),
                    attnzoo_base_shape_text(should, rank, model->shape), model_name);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_context(const struct attnzoo_view *view, const char *name, const struct attnzoo_view *model)
{
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_float(view->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "%s is %s, must be float32, float16 or bfloat16", name, attnzoo_base_dtype_name(view->dtype));
    return check_same_shape(view, name, model, "context_a", model->rank);
}

static attnzoo_status check_log_sum_exp(const struct attnzoo_view *view, const char *name,
                                        const struct attnzoo_view *model)
{
    ATTNZOO_REQUIRE(view->dtype == ATTNZOO_DTYPE_FLOAT32, ATTNZOO_STATUS_DTYPE_MISMATCH, "%s is %s, must be float32",
                    name, attnzoo_base_dtype_name(view->dtype));
    return check_same_shape(view, name, model, "context_a", model->rank - 1);
}

/* An output may be the very view of its counterpart among the inputs, and touch nothing else. */
static attnzoo_status check_apart(const struct attnzoo_view *output, const char *name,
                                  const struct attnzoo_view *counterpart, const struct attnzoo_view *const inputs[4])
{
    static const char *const input_names[4] = {"context_a", "log_sum_exp_a", "context_b", "log_sum_exp_b"};
    ATTNZOO_REQUIRE(!output->readonly, ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is a read-only view", name);
    ATTNZOO_REQUIRE(!attnzoo_base_view_overlaps_itself(output), ATTNZOO_STATUS_OVERLAP,
                    "%s has strides that put several elements in one place", name);
    for (int32_t i = 0; i < 4; i++) {
        bool is_in_place = inputs[i] == counterpart && attnzoo_base_views_equal(output, inputs[i]);
        ATTNZOO_REQUIRE(is_in_place || !attnzoo_base_views_overlap(output, inputs[i]), ATTNZOO_STATUS_OVERLAP,
                        "%s at %p overlaps %s at %p", name, (void *)output->data, input_names[i],
                        (void *)inputs[i]->data);
    }
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_outputs(const struct attnzoo_merge *merge)
{
    const struct attnzoo_view *const inputs[4] = {merge->context_a, merge->log_sum_exp_a, merge->context_b,
                                                  merge->log_sum_exp_b};
    attnzoo_status status = check_apart(merge->context, "context", merge->context_a, inputs);
    if (status != ATTNZOO_STATUS_OK || merge->log_sum_exp == NULL)
        return status;
    ATTNZOO_REQUIRE(!attnzoo_base_views_overlap(merge->context, merge->log_sum_exp), ATTNZOO_STATUS_OVERLAP,
                    "context overlaps log_sum_exp");
    return check_apart(merge->log_sum_exp, "log_sum_exp", merge->log_sum_exp_a, inputs);
}

static attnzoo_status check_shapes(const struct attnzoo_merge *merge)
{
    const struct attnzoo_view *model = merge->context_a;
    ATTNZOO_REQUIRE(model->rank >= 2, ATTNZOO_STATUS_SHAPE_MISMATCH, "context_a has 1 axis, must have 2 or more");
    attnzoo_status status = check_context(model, "context_a", model);
    if (status == ATTNZOO_STATUS_OK)
        status = check_context(merge->context_b, "context_b", model);
    if (status == ATTNZOO_STATUS_OK)
        status = check_context(merge->context, "context", model);
    if (status == ATTNZOO_STATUS_OK)
        status = check_log_sum_exp(merge->log_sum_exp_a, "log_sum_exp_a", model);
    if (status == ATTNZOO_STATUS_OK)
        status = check_log_sum_exp(merge->log_sum_exp_b, "log_sum_exp_b", model);
    if (status == ATTNZOO_STATUS_OK && merge->log_sum_exp != NULL)
        status = check_log_sum_exp(merge->log_sum_exp, "log_sum_exp", model);
    return status;
}

attnzoo_status attnzoo_merge_contexts(const attnzoo_tensor *context_a, const attnzoo_tensor *log_sum_exp_a,
                                      const attnzoo_tensor *context_b, const attnzoo_tensor *log_sum_exp_b,
                                      attnzoo_tensor *context, attnzoo_tensor *log_sum_exp)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(context_a, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(log_sum_exp_a, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(context_b, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(log_sum_exp_b, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE_HANDLE(context, ATTNZOO_KIND_TENSOR);
    if (log_sum_exp != NULL)
        ATTNZOO_REQUIRE_HANDLE(log_sum_exp, ATTNZOO_KIND_TENSOR);
    struct attnzoo_merge merge = {.context_a = &context_a->view,
                                  .log_sum_exp_a = &log_sum_exp_a->view,
                                  .context_b = &context_b->view,
                                  .log_sum_exp_b = &log_sum_exp_b->view,
                                  .context = &context->view,
                                  .log_sum_exp = log_sum_exp == NULL ? NULL : &log_sum_exp->view};
    attnzoo_status status = check_shapes(&merge);
    if (status == ATTNZOO_STATUS_OK)
        status = check_outputs(&merge);
    if (status == ATTNZOO_STATUS_OK)
        attnzoo_kernel_merge(&merge);
    return status;
}
