/*
 * base/view.h: the description of memory behind a tensor view: checked once when it is made, then plain data
 * for everything below. Knows nothing of handles.
 */
#ifndef ATTNZOO_BASE_VIEW_H
#define ATTNZOO_BASE_VIEW_H

#include "base/common.h"

#include <attnzoo/status.h>
#include <attnzoo/tensor.h>

struct attnzoo_view {
    char *data;
    int64_t shape[ATTNZOO_RANK_MAX];
    /** In elements. */
    int64_t strides[ATTNZOO_RANK_MAX];
    int32_t rank;
    int32_t dtype;
    bool readonly;
};

/** Bytes an element takes, 0 for an unknown type. */
int64_t attnzoo_base_dtype_size(int32_t dtype);
const char *attnzoo_base_dtype_name(int32_t dtype);
bool attnzoo_base_dtype_is_float(int32_t dtype);
bool attnzoo_base_dtype_is_integer(int32_t dtype);

/** Fills a view, or fails and leaves it as it was. strides NULL means compact. */
attnzoo_status attnzoo_base_view_describe(struct attnzoo_view *view, const void *data, bool readonly, int32_t dtype,
                                          int32_t rank, const int64_t *shape, const int64_t *strides);

/** Points a view at other memory, or fails and leaves it as it was. */
attnzoo_status attnzoo_base_view_point(struct attnzoo_view *view, const void *data, bool readonly);

int64_t attnzoo_base_view_element_count(const struct attnzoo_view *view);

/** How many rows a view has: its elements but for the innermost axis; 0 if these are none. */
int64_t attnzoo_base_view_row_count(const struct attnzoo_view *view);

/** The address of a row, counted over the first axis_count axes. */
char *attnzoo_base_view_row(const struct attnzoo_view *view, int32_t axis_count, int64_t row);

/** Whether two elements of the view share memory. */
bool attnzoo_base_view_overlaps_itself(const struct attnzoo_view *view);

/**
 * Whether two views share memory. Exact for slices of one buffer, along any axes, and for address ranges of their
 * own; errs towards true for strides that interleave in less regular ways.
 */
bool attnzoo_base_views_overlap(const struct attnzoo_view *a, const struct attnzoo_view *b);

/** Whether two views are the same elements in the same order. */
bool attnzoo_base_views_equal(const struct attnzoo_view *a, const struct attnzoo_view *b);

enum { ATTNZOO_SHAPE_TEXT_SIZE = 192 };

/** Writes a shape as "[2, 3]"; returns text. */
const char *attnzoo_base_shape_text(char text[ATTNZOO_SHAPE_TEXT_SIZE], int32_t rank, const int64_t *shape);

#endif
