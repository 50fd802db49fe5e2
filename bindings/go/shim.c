/*
 * shim.c: see shim.h. Nothing here outlives its call. Freeing does not touch the library's last error, so that Go finds
 * the message of the call that failed.
 */
#include "shim.h"

#include <stdlib.h>

struct made {
    attnzoo_tensor *at[ATTNZOO_GO_PLACES];
};

static attnzoo_status make_views(struct made *made, const struct attnzoo_go_views *views)
{
    *made = (struct made){{NULL}};
    for (int32_t i = 0; i < views->count; i++) {
        const struct attnzoo_go_view *view = &views->described[i];
        attnzoo_tensor **tensor = &made->at[view->place];
        attnzoo_status status =
            view->is_output
                ? attnzoo_tensor_create(tensor, views->data[i], view->dtype, view->rank, view->shape, view->strides)
                : attnzoo_tensor_create_readonly(tensor, views->data[i], view->dtype, view->rank, view->shape,
                                                 view->strides);
        if (status != ATTNZOO_STATUS_OK)
            return status;
    }
    return ATTNZOO_STATUS_OK;
}

static void free_views(struct made *made)
{
    for (int32_t place = 0; place < ATTNZOO_GO_PLACES; place++)
        attnzoo_tensor_destroy(made->at[place]);
}

static attnzoo_status set_positions(attnzoo_mask *mask, const struct attnzoo_go_mask *wanted, const struct made *made)
{
    if (made->at[ATTNZOO_GO_QUERY_OFFSETS] != NULL)
        return attnzoo_mask_set_query_offsets(mask, made->at[ATTNZOO_GO_QUERY_OFFSETS]);
    if (wanted->has_offset)
        return attnzoo_mask_set_query_offset(mask, wanted->offset);
    return attnzoo_mask_set_alignment(mask, wanted->alignment);
}

static attnzoo_status make_mask(attnzoo_mask **mask, const struct attnzoo_go_mask *wanted, const struct made *made)
{
    attnzoo_status status = attnzoo_mask_create(mask);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_causal(*mask, wanted->is_causal);
    if (status == ATTNZOO_STATUS_OK && wanted->has_window)
        status = attnzoo_mask_set_window(*mask, wanted->left, wanted->right);
    if (status == ATTNZOO_STATUS_OK)
        status = set_positions(*mask, wanted, made);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_key_lengths(*mask, made->at[ATTNZOO_GO_KEY_LENGTHS]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_query_lengths(*mask, made->at[ATTNZOO_GO_QUERY_LENGTHS]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_boolean(*mask, made->at[ATTNZOO_GO_BOOLEAN]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_bias(*mask, made->at[ATTNZOO_GO_BIAS]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_linear_bias(*mask, made->at[ATTNZOO_GO_LINEAR_BIAS]);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_mask_set_segments(*mask, made->at[ATTNZOO_GO_SEGMENTS]);
    return status;
}

attnzoo_status attnzoo_go_forward(const attnzoo_module *module, attnzoo_executor *executor, attnzoo_state *state,
                                  const struct attnzoo_go_mask *mask, struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_mask *made_mask = NULL;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK && mask != NULL)
        status = make_mask(&made_mask, mask, &made);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_forward_slots(
            module, executor, (const attnzoo_tensor *const *)&made.at[ATTNZOO_GO_FIRST_INPUT], ATTNZOO_GO_SLOTS,
            made_mask, state, &made.at[ATTNZOO_GO_FIRST_OUTPUT], ATTNZOO_GO_SLOTS);
    attnzoo_mask_destroy(made_mask);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_output_shape(const attnzoo_module *module, const attnzoo_state *state, int32_t output,
                                       int32_t *rank, int64_t *shape, struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_output_shape(module, (const attnzoo_tensor *const *)&made.at[ATTNZOO_GO_FIRST_INPUT],
                                             ATTNZOO_GO_SLOTS, state, output, rank, shape);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_set_parameter(attnzoo_module *module, const char *name, struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_module_set_parameter(module, name, made.at[0]);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_get_field(const attnzoo_state *state, int32_t field, struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_state_get_field(state, field, made.at[field]);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_set_fields(attnzoo_state *state, struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_state_set_fields(state, (const attnzoo_tensor *const *)made.at, ATTNZOO_GO_PLACES);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_merge_contexts(struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_merge_contexts(made.at[0], made.at[1], made.at[2], made.at[3], made.at[4], made.at[5]);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_fill_positions(int64_t first, int64_t step, int32_t arrangement,
                                         struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_fill_sinusoidal_positions(made.at[0], first, step, arrangement);
    free_views(&made);
    return status;
}

static struct attnzoo_go_layout layout_of(const attnzoo_tensor *view)
{
    struct attnzoo_go_layout layout = {.rank = attnzoo_tensor_rank(view)};
    for (int32_t axis = 0; axis < layout.rank; axis++) {
        layout.shape[axis] = attnzoo_tensor_size(view, axis);
        layout.strides[axis] = attnzoo_tensor_stride(view, axis);
    }
    return layout;
}

attnzoo_status attnzoo_go_glimpse_letters(const char *text, int64_t size, const char *alphabet, int64_t alphabet_size,
                                          int64_t other, struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_glimpse_letters(text, size, alphabet, alphabet_size, other, made.at[0], made.at[1]);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_glimpse_embedding(struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_glimpse_embedding(made.at[0], made.at[1], made.at[2]);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_glimpse_tile_view(const struct attnzoo_go_tiling *tiling, struct attnzoo_go_layout *layout,
                                            struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_tensor *view = NULL;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_glimpse_tile_view(&view, made.at[0], tiling->axis_count, tiling->tile, tiling->step);
    if (status == ATTNZOO_STATUS_OK)
        *layout = layout_of(view);
    attnzoo_tensor_destroy(view);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_glimpse_flat_view(int32_t batch_axes, int32_t glimpse_axes, struct attnzoo_go_layout *layout,
                                            struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_tensor *view = NULL;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_glimpse_flat_view(&view, made.at[0], batch_axes, glimpse_axes);
    if (status == ATTNZOO_STATUS_OK)
        *layout = layout_of(view);
    attnzoo_tensor_destroy(view);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_glimpse_tiles(const struct attnzoo_go_tiling *tiling, double padding,
                                        struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_glimpse_tiles(made.at[0], tiling->axis_count, tiling->tile, tiling->step, tiling->edge,
                                       padding, made.at[1]);
    free_views(&made);
    return status;
}

attnzoo_status attnzoo_go_glimpse_untile(const struct attnzoo_go_tiling *tiling, struct attnzoo_go_views views)
{
    struct made made;
    attnzoo_status status = make_views(&made, &views);
    if (status == ATTNZOO_STATUS_OK)
        status = attnzoo_glimpse_untile(made.at[0], tiling->axis_count, tiling->tile, tiling->step, tiling->edge,
                                        made.at[1]);
    free_views(&made);
    return status;
}

int32_t attnzoo_go_has_memory(size_t bytes)
{
    /* Volatile, because compilers leave out memory that nobody uses and take it for had. */
    void *volatile memory = malloc(bytes);
    int32_t has_memory = memory != NULL;
    free(memory);
    return has_memory;
}
