/*
 * core/state.c: attnzoo/state.h up to copying: making, emptying and cutting states. Their fields are read and written
 * in state_fields.c; what a mechanism keeps in them is its own affair.
 */
#include "core/handles.h"

#include "base/checked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void free_content(struct attnzoo_state_content *content)
{
    for (int32_t field = 0; field < content->field_count; field++)
        free(content->fields[field].data);
    free(content->known);
}

static attnzoo_status allocate_field(const struct attnzoo_state_content *content, struct attnzoo_state_field *field)
{
    int64_t bytes;
    /* The batch comes last: where it is 0, the strides of its entries must fit all the same. */
    bool fits = attnzoo_base_multiply(attnzoo_core_field_capacity(content, field), (int64_t)sizeof(float), &bytes) &&
                attnzoo_base_multiply(bytes, field->columns, &bytes) &&
                attnzoo_base_multiply(bytes, field->heads, &bytes) &&
                attnzoo_base_multiply(bytes, content->batch, &bytes) && (uint64_t)bytes <= SIZE_MAX / 2;
    ATTNZOO_REQUIRE(fits, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "a batch of %" PRId64 " and a capacity of %" PRId64 " pass what can be addressed", content->batch,
                    content->capacity);
    field->data = calloc(1, (size_t)attnzoo_base_maximum(bytes, 1));
    return field->data == NULL ? attnzoo_base_fail_memory((uint64_t)bytes) : ATTNZOO_STATUS_OK;
}

static attnzoo_status allocate_content(struct attnzoo_state_content *content)
{
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (int32_t field = 0; field < content->field_count && status == ATTNZOO_STATUS_OK; field++)
        status = allocate_field(content, &content->fields[field]);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE((uint64_t)content->batch < SIZE_MAX / 2 / sizeof *content->known, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "a batch of %" PRId64 " passes what can be addressed", content->batch);
    content->known = calloc((size_t)content->batch + 1, sizeof *content->known);
    return content->known == NULL ? attnzoo_base_fail_memory((uint64_t)content->batch * sizeof *content->known)
                                  : ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_state_create(attnzoo_state **state, const attnzoo_module *module, int64_t batch,
                                    int64_t capacity)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(state);
    ATTNZOO_REQUIRE_HANDLE(module, ATTNZOO_KIND_MODULE);
    ATTNZOO_REQUIRE(batch >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "batch is %" PRId64 ", must not be negative", batch);
    ATTNZOO_REQUIRE(capacity >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "capacity is %" PRId64 ", must not be negative",
                    capacity);
    ATTNZOO_REQUIRE(module->is_prepared, ATTNZOO_STATUS_BAD_STATE, "the module is not prepared yet");
    const struct attnzoo_mechanism *mechanism = module->instance.mechanism;
    ATTNZOO_REQUIRE(mechanism->state_field_count > 0, ATTNZOO_STATUS_UNSUPPORTED, "%s carries no state",
                    mechanism->name);
    attnzoo_state *made = calloc(1, sizeof *made);
    if (made == NULL)
        return attnzoo_base_fail_memory(sizeof *made);
    *made = (struct attnzoo_state){
        .kind = ATTNZOO_KIND_STATE, .module = module, .content = {.batch = batch, .capacity = capacity}};
    mechanism->state_layout(&module->instance, &made->content);
    attnzoo_status status = allocate_content(&made->content);
    if (status != ATTNZOO_STATUS_OK) {
        free_content(&made->content);
        free(made);
        return status;
    }
    *state = made;
    return ATTNZOO_STATUS_OK;
}

void attnzoo_state_destroy(attnzoo_state *state)
{
    if (state == NULL || state->kind != ATTNZOO_KIND_STATE)
        return;
    state->kind = 0;
    free_content(&state->content);
    free(state);
}

/* What belongs to no key is there also while there are no keys. */
static void clear_fields_without_keys(struct attnzoo_state_content *content)
{
    for (int32_t number = 0; number < content->field_count; number++) {
        const struct attnzoo_state_field *field = &content->fields[number];
        size_t count = (size_t)(content->batch * field->heads * field->columns);
        if (field->has_no_keys && count > 0)
            memset(field->data, 0, count * sizeof *field->data);
    }
}

static void forget(struct attnzoo_state_content *content)
{
    clear_fields_without_keys(content);
    content->length = 0;
    content->is_started = false;
    content->has_views = false;
}

attnzoo_status attnzoo_state_reset(attnzoo_state *state)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(state, ATTNZOO_KIND_STATE);
    forget(&state->content);
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_state_truncate(attnzoo_state *state, int64_t length)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(state, ATTNZOO_KIND_STATE);
    ATTNZOO_REQUIRE(length >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "length is %" PRId64 ", must not be negative",
                    length);
    const struct attnzoo_mechanism *mechanism = state->module->instance.mechanism;
    ATTNZOO_REQUIRE(mechanism->state_is_cache, ATTNZOO_STATUS_UNSUPPORTED,
                    "a state of %s is no cache and cannot be cut", mechanism->name);
    state->content.length = attnzoo_base_minimum(state->content.length, length);
    return ATTNZOO_STATUS_OK;
}

static bool is_same_kind(const attnzoo_state *left, const attnzoo_state *right)
{
    const struct attnzoo_state_content *a = &left->content, *b = &right->content;
    bool is_same = left->module->instance.mechanism == right->module->instance.mechanism && a->batch == b->batch &&
                   a->field_count == b->field_count;
    for (int32_t field = 0; field < a->field_count && is_same; field++)
        is_same =
            a->fields[field].heads == b->fields[field].heads && a->fields[field].columns == b->fields[field].columns;
    return is_same;
}

static void copy_field(struct attnzoo_state_content *destination, const struct attnzoo_state_content *source,
                       int32_t number)
{
    const struct attnzoo_state_field *to = &destination->fields[number], *from = &source->fields[number];
    int64_t rows = from->has_no_keys ? 1 : source->length;
    size_t bytes = (size_t)(rows * from->columns) * sizeof(float);
    int64_t step_to = attnzoo_core_field_capacity(destination, to) * to->columns;
    int64_t step_from = attnzoo_core_field_capacity(source, from) * from->columns;
    for (int64_t head = 0; head < source->batch * from->heads && bytes > 0; head++)
        memcpy(to->data + head * step_to, from->data + head * step_from, bytes);
}

attnzoo_status attnzoo_state_copy(attnzoo_state *destination, const attnzoo_state *source)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(destination, ATTNZOO_KIND_STATE);
    ATTNZOO_REQUIRE_HANDLE(source, ATTNZOO_KIND_STATE);
    struct attnzoo_state_content *to = &destination->content;
    const struct attnzoo_state_content *from = &source->content;
    ATTNZOO_REQUIRE(is_same_kind(destination, source), ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "the states differ in mechanism, batch, heads or sizes");
    ATTNZOO_REQUIRE(from->length <= to->capacity, ATTNZOO_STATUS_INVALID_ARGUMENT,
                    "source holds %" PRId64 " keys, destination has room for %" PRId64, from->length, to->capacity);
    if (destination == source)
        return ATTNZOO_STATUS_OK;
    for (int32_t field = 0; field < from->field_count; field++)
        copy_field(to, from, field);
    memcpy(to->known, from->known, (size_t)from->batch * sizeof *from->known);
    memcpy(to->views, from->views, sizeof to->views);
    /* What one module projected is not what another would. */
    to->has_views = from->has_views && destination->module == source->module;
    to->length = from->length;
    to->is_started = from->is_started;
    return ATTNZOO_STATUS_OK;
}

int64_t attnzoo_state_length(const attnzoo_state *state)
{
    return state == NULL || state->kind != ATTNZOO_KIND_STATE ? -1 : state->content.length;
}

int64_t attnzoo_state_capacity(const attnzoo_state *state)
{
    return state == NULL || state->kind != ATTNZOO_KIND_STATE ? -1 : state->content.capacity;
}

int64_t attnzoo_state_batch(const attnzoo_state *state)
{
    return state == NULL || state->kind != ATTNZOO_KIND_STATE ? -1 : state->content.batch;
}
