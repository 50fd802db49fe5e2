/*
 * kernels/mask_resolve.c: checks a mask against a call, and what positions and lengths come to. What the mask
 * does to scores is in mask_apply.c.
 */
#include "kernels/mask.h"

#include "base/checked.h"
#include "base/error.h"

#include <inttypes.h>

/* Positions handed out are kept so far inside 63 bits that sums of two of them do not wrap. Sizes are far smaller. */
static const int64_t FARTHEST = INT64_MAX / 4;

static const struct attnzoo_mask_description hides_nothing = {.window_left = -1, .window_right = -1};

int32_t attnzoo_mask_tensors(const struct attnzoo_mask_description *description,
                             const struct attnzoo_view *views[ATTNZOO_MASK_TENSOR_COUNT])
{
    const struct attnzoo_mask_tensor *const tensors[ATTNZOO_MASK_TENSOR_COUNT] = {
        &description->offsets, &description->key_lengths, &description->query_lengths, &description->allowed,
        &description->bias,    &description->slopes,      &description->segments};
    int32_t count = 0;
    for (int32_t i = 0; i < ATTNZOO_MASK_TENSOR_COUNT; i++)
        if (tensors[i]->is_set)
            views[count++] = &tensors[i]->view;
    return count;
}

static int64_t element(const struct attnzoo_view *view, int64_t index)
{
    return attnzoo_kernel_integer_at(view->data + index * view->strides[0] * attnzoo_base_dtype_size(view->dtype),
                                     view->dtype);
}

static int64_t length_of(const struct attnzoo_mask_tensor *lengths, int64_t batch, int64_t otherwise)
{
    return lengths->is_set ? element(&lengths->view, batch) : otherwise;
}

int64_t attnzoo_mask_query_length(const struct attnzoo_mask_plan *plan, int64_t batch)
{
    return length_of(&plan->description->query_lengths, batch, plan->query_count);
}

int64_t attnzoo_mask_key_length(const struct attnzoo_mask_plan *plan, int64_t batch)
{
    return length_of(&plan->description->key_lengths, batch, plan->key_count);
}

static int64_t query_offset(const struct attnzoo_mask_plan *plan, int64_t batch)
{
    const struct attnzoo_mask_description *description = plan->description;
    if (description->has_offset)
        return description->offset;
    if (description->offsets.is_set)
        return element(&description->offsets.view, batch);
    if (description->alignment == ATTNZOO_ALIGNMENT_TOP_LEFT)
        return 0;
    if (description->alignment == ATTNZOO_ALIGNMENT_LENGTHS)
        return attnzoo_mask_key_length(plan, batch) - attnzoo_mask_query_length(plan, batch);
    return plan->key_count - plan->query_count;
}

int64_t attnzoo_mask_position(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query)
{
    int64_t offset = query_offset(plan, batch);
    return attnzoo_base_maximum(-FARTHEST, attnzoo_base_minimum(offset, FARTHEST)) + query;
}

/* offset + step + query, or an end of the range where that does not fit. Offset and step come together first: they may
 * both be huge and cancel out. */
static int64_t shifted(int64_t offset, int64_t step, int64_t query)
{
    int64_t sum;
    if (!attnzoo_base_add(offset, step, &sum))
        return offset < 0 ? INT64_MIN : INT64_MAX;
    return attnzoo_base_add(sum, query, &sum) ? sum : INT64_MAX;
}

struct attnzoo_key_span attnzoo_mask_span(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query)
{
    const struct attnzoo_mask_description *description = plan->description;
    struct attnzoo_key_span span = {0, attnzoo_mask_key_length(plan, batch)};
    if (query >= attnzoo_mask_query_length(plan, batch))
        return (struct attnzoo_key_span){span.end, span.end};
    int64_t offset = query_offset(plan, batch);
    if (description->is_causal)
        span.end = attnzoo_base_minimum(span.end, shifted(offset, 1, query));
    /* One more for the end, which is beyond the last key: of the query, since the window may be the largest number. */
    if (description->window_right >= 0)
        span.end = attnzoo_base_minimum(span.end, shifted(offset, description->window_right, query + 1));
    if (description->window_left >= 0)
        span.first = attnzoo_base_maximum(span.first, shifted(offset, -description->window_left, query));
    return span;
}

bool attnzoo_mask_has_spans(const struct attnzoo_mask_plan *plan)
{
    const struct attnzoo_mask_description *description = plan->description;
    return description->is_causal || description->window_left >= 0 || description->window_right >= 0 ||
           description->key_lengths.is_set || description->query_lengths.is_set || plan->head_spans != NULL ||
           plan->query_spans != NULL;
}

static struct attnzoo_key_span shared_span(struct attnzoo_key_span left, struct attnzoo_key_span right)
{
    return (struct attnzoo_key_span){attnzoo_base_maximum(left.first, right.first),
                                     attnzoo_base_minimum(left.end, right.end)};
}

struct attnzoo_key_span attnzoo_mask_head_span(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head,
                                               int64_t query)
{
    struct attnzoo_key_span span = attnzoo_mask_span(plan, batch, query);
    if (plan->head_spans != NULL)
        span = shared_span(span, plan->head_spans[batch * plan->head_count + head]);
    if (plan->query_spans != NULL)
        span = shared_span(span, plan->query_spans[batch * plan->query_count + query]);
    return span;
}

struct attnzoo_key_span attnzoo_mask_batch_span(const struct attnzoo_mask_plan *plan, int64_t batch)
{
    int64_t query_count = attnzoo_mask_query_length(plan, batch);
    if (query_count <= 0)
        return (struct attnzoo_key_span){0, 0};
    struct attnzoo_key_span first = attnzoo_mask_span(plan, batch, 0);
    struct attnzoo_key_span last = attnzoo_mask_span(plan, batch, query_count - 1);
    return (struct attnzoo_key_span){first.first, attnzoo_base_maximum(last.end, first.first)};
}

static bool differs_by_batch(const struct attnzoo_mask_tensor *tensor)
{
    return tensor->is_set && tensor->view.strides[0] != 0;
}

static attnzoo_status check_per_batch(const struct attnzoo_mask_tensor *tensor, const char *name, int64_t batch_count)
{
    if (tensor->is_set && tensor->view.shape[0] != batch_count)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "the mask's %s have %" PRId64 " elements, but the batch is %" PRId64, name,
                                 tensor->view.shape[0], batch_count);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_lengths(const struct attnzoo_mask_tensor *tensor, const char *name, int64_t batch_count,
                                    int64_t largest)
{
    attnzoo_status status = check_per_batch(tensor, name, batch_count);
    if (status != ATTNZOO_STATUS_OK || !tensor->is_set)
        return status;
    int64_t distinct = differs_by_batch(tensor) ? batch_count : attnzoo_base_minimum(batch_count, 1);
    for (int64_t batch = 0; batch < distinct; batch++) {
        int64_t length = element(&tensor->view, batch);
        if (length < 0 || length > largest)
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                     "the mask's %s of batch %" PRId64 " is %" PRId64 ", must be 0 to %" PRId64, name,
                                     batch, length, largest);
    }
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status broadcast(struct attnzoo_grid *grid, const struct attnzoo_mask_tensor *tensor, const char *name,
                                const int64_t size[ATTNZOO_GRID_RANK])
{
    if (!tensor->is_set)
        return ATTNZOO_STATUS_OK;
    *grid = attnzoo_grid_of(&tensor->view);
    for (int32_t axis = 0; axis < ATTNZOO_GRID_RANK; axis++) {
        if (grid->size[axis] == size[axis] && grid->size[axis] != 1)
            continue;
        if (grid->size[axis] != 1) {
            char has[ATTNZOO_SHAPE_TEXT_SIZE], should[ATTNZOO_SHAPE_TEXT_SIZE];
            bool is_padding = tensor->view.rank == 2 && tensor->view.shape[0] == size[0] &&
                              tensor->view.shape[1] == size[ATTNZOO_GRID_RANK - 1];
            return attnzoo_base_fail(
                ATTNZOO_STATUS_SHAPE_MISMATCH, "the mask's %s of shape %s does not broadcast to [B, H, N, M] = %s%s",
                name, attnzoo_base_shape_text(has, tensor->view.rank, tensor->view.shape),
                attnzoo_base_shape_text(should, ATTNZOO_GRID_RANK, size),
                is_padding ? "; one [B, M] for padding of keys must be given as [B, 1, 1, M]" : "");
        }
        grid->size[axis] = size[axis];
        grid->stride[axis] = 0;
    }
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_slopes(const struct attnzoo_mask_plan *plan)
{
    const struct attnzoo_mask_tensor *slopes = &plan->description->slopes;
    if (slopes->is_set && slopes->view.shape[0] != plan->head_count)
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "the mask's linear bias has %" PRId64 " slopes, but there are %" PRId64 " heads",
                                 slopes->view.shape[0], plan->head_count);
    return ATTNZOO_STATUS_OK;
}

/* How many batches may have positions of their own: a batch without end can be made of strides of 0. */
static int64_t distinct_batches(const struct attnzoo_mask_plan *plan)
{
    const struct attnzoo_mask_description *description = plan->description;
    bool differ = differs_by_batch(&description->offsets) || differs_by_batch(&description->key_lengths) ||
                  differs_by_batch(&description->query_lengths);
    return differ ? plan->batch_count : attnzoo_base_minimum(plan->batch_count, 1);
}

static attnzoo_status check_segments(const struct attnzoo_mask_plan *plan)
{
    if (!plan->description->segments.is_set)
        return ATTNZOO_STATUS_OK;
    const struct attnzoo_view *ids = &plan->description->segments.view;
    int64_t batch_count = ids->rank == 2 ? ids->shape[0] : 1;
    if (batch_count != plan->batch_count || ids->shape[ids->rank - 1] != plan->key_count) {
        char has[ATTNZOO_SHAPE_TEXT_SIZE];
        return attnzoo_base_fail(ATTNZOO_STATUS_SHAPE_MISMATCH,
                                 "the mask's segments have shape %s, must be [B, M] = [%" PRId64 ", %" PRId64 "]",
                                 attnzoo_base_shape_text(has, ids->rank, ids->shape), plan->batch_count,
                                 plan->key_count);
    }
    for (int64_t batch = 0; batch < distinct_batches(plan); batch++) {
        int64_t query_count = attnzoo_mask_query_length(plan, batch);
        int64_t first = attnzoo_mask_position(plan, batch, 0), last = first + query_count - 1;
        if (query_count > 0 && (first < 0 || last >= plan->key_count))
            return attnzoo_base_fail(ATTNZOO_STATUS_INVALID_ARGUMENT,
                                     "the mask has segments, and queries of batch %" PRId64 " stand at positions "
                                     "%" PRId64 " to %" PRId64 ", outside 0 to %" PRId64,
                                     batch, first, last, plan->key_count - 1);
    }
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_mask_resolve(struct attnzoo_mask_plan *plan, const struct attnzoo_mask_description *description,
                                    int64_t batch_count, int64_t head_count, int64_t query_count, int64_t key_count)
{
    if (description == NULL)
        description = &hides_nothing;
    *plan = (struct attnzoo_mask_plan){.description = description,
                                       .batch_count = batch_count,
                                       .head_count = head_count,
                                       .query_count = query_count,
                                       .key_count = key_count,
                                       .is_dense = description->allowed.is_set || description->bias.is_set ||
                                                   description->slopes.is_set || description->segments.is_set};
    const int64_t size[ATTNZOO_GRID_RANK] = {batch_count, head_count, query_count, key_count};
    attnzoo_status status = check_per_batch(&description->offsets, "query offsets", batch_count);
    if (status == ATTNZOO_STATUS_OK)
        status = check_lengths(&description->key_lengths, "key lengths", batch_count, key_count);
    if (status == ATTNZOO_STATUS_OK)
        status = check_lengths(&description->query_lengths, "query lengths", batch_count, query_count);
    if (status == ATTNZOO_STATUS_OK)
        status = broadcast(&plan->allowed, &description->allowed, "boolean mask", size);
    if (status == ATTNZOO_STATUS_OK)
        status = broadcast(&plan->bias, &description->bias, "bias", size);
    if (status == ATTNZOO_STATUS_OK)
        status = check_slopes(plan);
    if (status == ATTNZOO_STATUS_OK)
        status = check_segments(plan);
    return status;
}
