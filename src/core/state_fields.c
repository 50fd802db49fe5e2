/*
 * core/state_fields.c: the fields of states, read and written by number. States themselves are in state.c.
 */
#include "core/handles.h"

#include "base/checked.h"
#include "kernels/grid.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_AXIS = 2 };

static const struct attnzoo_slot_spec *field_spec(const attnzoo_state *state, int32_t field)
{
    return &state->module->instance.mechanism->state_fields[field];
}

static int32_t public_count(const attnzoo_state *state)
{
    return state->module->instance.mechanism->state_field_count;
}

/* The shape of a field with so many keys: [B, heads, keys, columns], or [B, heads, keys]; without keys, if it has none. */
static int32_t shape_of(const attnzoo_state *state, int32_t number, int64_t length, int64_t *shape)
{
    const struct attnzoo_state_field *field = &state->content.fields[number];
    const int64_t sizes[] = {state->content.batch, field->heads, length, field->columns};
    memcpy(shape, sizes, sizeof sizes);
    if (!field->has_no_keys)
        return field->is_scalar ? 3 : 4;
    shape[KEY_AXIS] = field->columns;
    return field->is_scalar ? 2 : 3;
}

/* A view of what a field holds. */
static struct attnzoo_view stored_view(const struct attnzoo_state_content *content, int32_t number, int32_t rank,
                                       const int64_t *shape)
{
    const struct attnzoo_state_field *field = &content->fields[number];
    struct attnzoo_view view = {.data = (char *)field->data, .rank = rank, .dtype = ATTNZOO_DTYPE_FLOAT32};
    memcpy(view.shape, shape, (size_t)rank * sizeof *shape);
    /* In this order: room for any number of keys takes no memory where these have no columns. */
    int64_t per_head = attnzoo_core_field_capacity(content, field) * field->columns;
    const int64_t strides[] = {field->heads * per_head, per_head, field->columns, 1};
    memcpy(view.strides, strides, sizeof strides);
    if (field->has_no_keys)
        view.strides[KEY_AXIS] = 1;
    return view;
}

static attnzoo_status check_field(const attnzoo_state *state, int32_t field)
{
    ATTNZOO_REQUIRE_HANDLE(state, ATTNZOO_KIND_STATE);
    ATTNZOO_REQUIRE(field >= 0 && field < public_count(state), ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "field is %d, must be 0 to %d", (int)field, (int)public_count(state) - 1);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_state_field_shape(const attnzoo_state *state, int32_t field, int32_t *rank, int64_t *shape)
{
    attnzoo_base_enter(__func__);
    attnzoo_status status = check_field(state, field);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE_POINTER(rank);
    ATTNZOO_REQUIRE_POINTER(shape);
    *rank = shape_of(state, field, state->content.length, shape);
    return ATTNZOO_STATUS_OK;
}

/* Copies one float view to another of the same shape. */
static void copy_rows(const struct attnzoo_view *to, const struct attnzoo_view *from)
{
    enum { PIECE = 256 };
    float values[PIECE];
    int64_t columns = to->shape[to->rank - 1], stride_to = to->strides[to->rank - 1];
    int64_t stride_from = from->strides[from->rank - 1];
    for (int64_t row = 0; row < attnzoo_base_view_row_count(to); row++)
        for (int64_t first = 0; first < columns; first += PIECE) {
            int64_t count = attnzoo_base_minimum(PIECE, columns - first);
            attnzoo_kernel_widen(values,
                                 attnzoo_base_view_row(from, from->rank - 1, row) +
                                     first * stride_from * attnzoo_base_dtype_size(from->dtype),
                                 from->dtype, stride_from, count);
            attnzoo_kernel_narrow(attnzoo_base_view_row(to, to->rank - 1, row) +
                                      first * stride_to * attnzoo_base_dtype_size(to->dtype),
                                  to->dtype, stride_to, values, count);
        }
}

attnzoo_status attnzoo_state_get_field(const attnzoo_state *state, int32_t field, attnzoo_tensor *values)
{
    attnzoo_base_enter(__func__);
    attnzoo_status status = check_field(state, field);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE_HANDLE(values, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *view = &values->view;
    const char *name = field_spec(state, field)->name;
    status = attnzoo_core_check_writable(view, name);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    int64_t shape[ATTNZOO_RANK_MAX];
    int32_t rank = shape_of(state, field, state->content.length, shape);
    char has[ATTNZOO_SHAPE_TEXT_SIZE], should[ATTNZOO_SHAPE_TEXT_SIZE];
    ATTNZOO_REQUIRE(view->rank == rank && memcmp(view->shape, shape, (size_t)rank * sizeof *shape) == 0,
                    ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has shape %s, must have %s", name,
                    attnzoo_base_shape_text(has, view->rank, view->shape),
                    attnzoo_base_shape_text(should, rank, shape));
    struct attnzoo_view stored = stored_view(&state->content, field, rank, shape);
    copy_rows(view, &stored);
    return ATTNZOO_STATUS_OK;
}

/* Checks one field that is to be loaded. The first tells the length of all. */
static attnzoo_status check_loaded(const attnzoo_state *state, int32_t field, const attnzoo_tensor *tensor,
                                   int64_t *length)
{
    ATTNZOO_REQUIRE(field < public_count(state), ATTNZOO_STATUS_UNSUPPORTED, "%s has no field in place %d",
                    state->module->instance.mechanism->name, (int)field);
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *view = &tensor->view;
    const char *name = field_spec(state, field)->name;
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_float(view->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "%s is %s, must be float32, float16 or bfloat16", name, attnzoo_base_dtype_name(view->dtype));
    int64_t shape[ATTNZOO_RANK_MAX];
    char has[ATTNZOO_SHAPE_TEXT_SIZE], should[ATTNZOO_SHAPE_TEXT_SIZE];
    int32_t rank = shape_of(state, field, state->content.length, shape);
    bool has_keys = !state->content.fields[field].has_no_keys;
    if (has_keys && *length < 0 && view->rank == rank)
        *length = view->shape[KEY_AXIS];
    if (has_keys)
        shape[KEY_AXIS] = attnzoo_base_maximum(*length, 0);
    ATTNZOO_REQUIRE(view->rank == rank && memcmp(view->shape, shape, (size_t)rank * sizeof *shape) == 0,
                    ATTNZOO_STATUS_SHAPE_MISMATCH, "%s has shape %s, must have %s%s", name,
                    attnzoo_base_shape_text(has, view->rank, view->shape), attnzoo_base_shape_text(should, rank, shape),
                    view->rank == rank || !has_keys ? "" : " with any number of keys");
    ATTNZOO_REQUIRE(*length <= state->content.capacity, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "%s holds %" PRId64 " keys, the state has room for %" PRId64, name, *length,
                    state->content.capacity);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_state_set_fields(attnzoo_state *state, const attnzoo_tensor *const *fields, int32_t field_count)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(state, ATTNZOO_KIND_STATE);
    ATTNZOO_REQUIRE(field_count >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "field_count is %d, must not be negative",
                    (int)field_count);
    ATTNZOO_REQUIRE(fields != NULL || field_count == 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "fields is NULL");
    const struct attnzoo_mechanism *mechanism = state->module->instance.mechanism;
    struct attnzoo_state_content *content = &state->content;
    bool is_given[ATTNZOO_STATE_FIELDS] = {false};
    int64_t length = -1;
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (int32_t field = 0; field < field_count && status == ATTNZOO_STATUS_OK; field++)
        if (fields[field] != NULL) {
            status = check_loaded(state, field, fields[field], &length);
            is_given[field < ATTNZOO_STATE_FIELDS ? field : 0] = true;
        }
    for (int32_t field = 0; field < public_count(state) && status == ATTNZOO_STATUS_OK; field++)
        ATTNZOO_REQUIRE(is_given[field] || !mechanism->state_fields[field].is_required, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "%s of the state is missing", mechanism->state_fields[field].name);
    if (status == ATTNZOO_STATUS_OK && mechanism->state_check != NULL)
        status = mechanism->state_check(&state->module->instance, is_given);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    bool has_keys = false;
    for (int32_t field = 0; field < public_count(state); field++) {
        int64_t shape[ATTNZOO_RANK_MAX];
        int32_t rank = shape_of(state, field, length, shape);
        struct attnzoo_view stored = stored_view(content, field, rank, shape);
        /* A field that may be left out starts as the first. */
        copy_rows(&stored, &fields[is_given[field] ? field : 0]->view);
        has_keys = has_keys || !content->fields[field].has_no_keys;
    }
    content->length = attnzoo_base_maximum(length, 0);
    /* What an empty state held makes an empty state. */
    content->is_started = length > 0 || !has_keys;
    content->has_views = false;
    return ATTNZOO_STATUS_OK;
}
