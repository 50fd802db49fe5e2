/*
 * base/overlap.c: whether views share memory. Declared in view.h.
 */
#include "base/view.h"

#include "base/checked.h"

/* Axes of more than one element, strides made positive, sorted from the smallest stride. In bytes. */
struct span {
    uintptr_t first;
    uintptr_t end;
    int32_t axis_count;
    int64_t sizes[ATTNZOO_RANK_MAX];
    int64_t strides[ATTNZOO_RANK_MAX];
};

static struct span measure(const struct attnzoo_view *view)
{
    int64_t element_size = attnzoo_base_dtype_size(view->dtype);
    struct span span = {.first = (uintptr_t)view->data, .axis_count = 0};
    uintptr_t length = (uintptr_t)element_size;
    for (int32_t axis = 0; axis < view->rank; axis++) {
        int64_t size = view->shape[axis], stride = view->strides[axis] * element_size;
        if (size <= 1)
            continue;
        if (stride < 0) {
            stride = -stride;
            span.first -= (uintptr_t)(stride * (size - 1));
        }
        length += (uintptr_t)(stride * (size - 1));
        int32_t place = span.axis_count++;
        for (; place > 0 && span.strides[place - 1] > stride; place--) {
            span.strides[place] = span.strides[place - 1];
            span.sizes[place] = span.sizes[place - 1];
        }
        span.strides[place] = stride;
        span.sizes[place] = size;
    }
    span.end = span.first + length;
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

/* The bytes at the start of the span that hold one solid run of elements; *axis is the first axis beyond it. */
static int64_t solid_run(const struct span *span, int64_t element_size, int32_t *axis)
{
    int64_t run = element_size;
    for (*axis = 0; *axis < span->axis_count && span->strides[*axis] <= run; ++*axis)
        run += span->strides[*axis] * (span->sizes[*axis] - 1);
    return run;
}

bool attnzoo_base_views_overlap(const struct attnzoo_view *a, const struct attnzoo_view *b)
{
    if (attnzoo_base_view_element_count(a) == 0 || attnzoo_base_view_element_count(b) == 0)
        return false;
    struct span span_a = measure(a), span_b = measure(b);
    if (span_a.end <= span_b.first || span_b.end <= span_a.first)
        return false;
    /* The ranges cross. Each view is runs of solid bytes at steps that are multiples of a common divisor: seen
     * modulo that divisor each is one interval, and intervals that stay apart there never meet. This accepts
     * query, key, value and context interleaved in one buffer. */
    int32_t axis_a, axis_b;
    int64_t run_a = solid_run(&span_a, attnzoo_base_dtype_size(a->dtype), &axis_a);
    int64_t run_b = solid_run(&span_b, attnzoo_base_dtype_size(b->dtype), &axis_b);
    int64_t divisor = 0;
    for (int32_t axis = axis_a; axis < span_a.axis_count; axis++)
        divisor = greatest_common_divisor(span_a.strides[axis], divisor);
    for (int32_t axis = axis_b; axis < span_b.axis_count; axis++)
        divisor = greatest_common_divisor(span_b.strides[axis], divisor);
    if (divisor == 0)
        return true;
    uintptr_t difference = span_b.first >= span_a.first ? span_b.first - span_a.first : span_a.first - span_b.first;
    int64_t gap = (int64_t)(difference % (uintptr_t)divisor);
    if (span_b.first < span_a.first)
        gap = gap == 0 ? 0 : divisor - gap;
    return !(gap >= run_a && gap + run_b <= divisor);
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
