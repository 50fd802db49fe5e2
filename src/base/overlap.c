/*
 * base/overlap.c: whether views share memory. Declared in view.h.
 */
#include "base/view.h"

#include "base/checked.h"

/* The bytes from the first element to the last, wherever strides lead. */
struct reach {
    uintptr_t first;
    uintptr_t end;
};

static struct reach reach_of(const struct attnzoo_view *view)
{
    int64_t element_size = attnzoo_base_dtype_size(view->dtype);
    struct reach reach = {.first = (uintptr_t)view->data, .end = (uintptr_t)view->data + (uintptr_t)element_size};
    for (int32_t axis = 0; axis < view->rank; axis++) {
        /* A stride that leads nowhere may be any number. */
        int64_t length = view->shape[axis] == 1 ? 0 : view->strides[axis] * element_size * (view->shape[axis] - 1);
        if (length < 0)
            reach.first += (uintptr_t)length;
        else
            reach.end += (uintptr_t)length;
    }
    return reach;
}

/* Axes of more than one element, strides made positive, sorted from the smallest stride. In bytes. */
struct span {
    uintptr_t first;
    int32_t axis_count;
    int64_t sizes[ATTNZOO_RANK_MAX];
    int64_t strides[ATTNZOO_RANK_MAX];
};

static struct span measure(const struct attnzoo_view *view)
{
    int64_t element_size = attnzoo_base_dtype_size(view->dtype);
    struct span span;
    span.first = reach_of(view).first;
    span.axis_count = 0;
    for (int32_t axis = 0; axis < view->rank; axis++) {
        int64_t size = view->shape[axis];
        if (size <= 1)
            continue;
        int64_t stride = view->strides[axis] * element_size;
        if (stride < 0)
            stride = -stride;
        int32_t place = span.axis_count++;
        for (; place > 0 && span.strides[place - 1] > stride; place--) {
            span.strides[place] = span.strides[place - 1];
            span.sizes[place] = span.sizes[place - 1];
        }
        span.strides[place] = stride;
        span.sizes[place] = size;
    }
    return span;
}

bool attnzoo_base_view_overlaps_itself(const struct attnzoo_view *view)
{
    if (attnzoo_base_view_element_count(view) == 0)
        return false;
    struct span span = measure(view);
    int64_t reach = attnzoo_base_dtype_size(view->dtype);
    for (int32_t axis = 0; axis < span.axis_count; axis++) {
        if (span.strides[axis] < reach)
            return true;
        reach += span.strides[axis] * (span.sizes[axis] - 1);
    }
    return false;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The bytes that the axes below this one reach over, holes included. */
static int64_t reach_below(const struct span *span, int64_t element_size, int32_t axis)
{
    int64_t reach = element_size;
    for (int32_t below = 0; below < axis; below++)
        reach += span->strides[below] * (span->sizes[below] - 1);
    return reach;
}

static int64_t divisor_from(const struct span *span, int32_t axis, int64_t divisor)
{
    for (; axis < span->axis_count; axis++)
        divisor = greatest_common_divisor(span->strides[axis], divisor);
    return divisor;
}

/*
 * Take the axes below a level together: a view then is runs of bytes at steps that are multiples of the common divisor
 * of the strides from there on. Seen modulo that divisor each view is one interval, and intervals that stay apart there
 * never meet.
 */
static bool stay_apart(const struct span *a, int64_t run_a, const struct span *b, int64_t run_b, int64_t divisor)
{
    if (divisor == 0)
        return false;
    uintptr_t difference = b->first >= a->first ? b->first - a->first : a->first - b->first;
    int64_t gap = (int64_t)(difference % (uintptr_t)divisor);
    if (b->first < a->first)
        gap = gap == 0 ? 0 : divisor - gap;
    return gap >= run_a && run_b <= divisor - gap;
}

bool attnzoo_base_views_overlap(const struct attnzoo_view *a, const struct attnzoo_view *b)
{
    if (attnzoo_base_view_element_count(a) == 0 || attnzoo_base_view_element_count(b) == 0)
        return false;
    struct reach reach_a = reach_of(a), reach_b = reach_of(b);
    if (reach_a.end <= reach_b.first || reach_b.end <= reach_a.first)
        return false;
    struct span span_a = measure(a), span_b = measure(b);
    /* The ranges cross. This still accepts query, key, value and context interleaved in one buffer, and slices of rows
     * and columns of one. */
    for (int32_t axis_a = 0; axis_a <= span_a.axis_count; axis_a++)
        for (int32_t axis_b = 0; axis_b <= span_b.axis_count; axis_b++)
            if (stay_apart(&span_a, reach_below(&span_a, attnzoo_base_dtype_size(a->dtype), axis_a), &span_b,
                           reach_below(&span_b, attnzoo_base_dtype_size(b->dtype), axis_b),
                           divisor_from(&span_b, axis_b, divisor_from(&span_a, axis_a, 0))))
                return false;
    return true;
}

bool attnzoo_base_views_equal(const struct attnzoo_view *a, const struct attnzoo_view *b)
{
    if (a->data != b->data || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int32_t axis = 0; axis < a->rank; axis++)
        if (a->shape[axis] != b->shape[axis] || (a->shape[axis] > 1 && a->strides[axis] != b->strides[axis]))
            return false;
    return true;
}
