/*
 * core/mask.c: attnzoo/mask.h: setters with the checks that need no call. The rest is kernels/mask_*.c.
 */
#include "core/handles.h"

#include <inttypes.h>
#include <stdlib.h>

attnzoo_status attnzoo_mask_create(attnzoo_mask **mask)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(mask);
    attnzoo_mask *made = calloc(1, sizeof *made);
    if (made == NULL)
        return attnzoo_base_fail_memory(sizeof *made);
    made->kind = ATTNZOO_KIND_MASK;
    made->description.window_left = -1;
    made->description.window_right = -1;
    *mask = made;
    return ATTNZOO_STATUS_OK;
}

void attnzoo_mask_destroy(attnzoo_mask *mask)
{
    if (mask == NULL || mask->kind != ATTNZOO_KIND_MASK)
        return;
    mask->kind = 0;
    free(mask);
}

attnzoo_status attnzoo_mask_set_causal(attnzoo_mask *mask, int32_t enabled)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    ATTNZOO_REQUIRE(enabled == 0 || enabled == 1, ATTNZOO_STATUS_INVALID_ARGUMENT, "enabled is %d, must be 0 or 1",
                    (int)enabled);
    mask->description.is_causal = enabled == 1;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_mask_set_window(attnzoo_mask *mask, int64_t left, int64_t right)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    ATTNZOO_REQUIRE(left >= -1, ATTNZOO_STATUS_INVALID_ARGUMENT, "left is %" PRId64 ", must be -1 (no limit) or more",
                    left);
    ATTNZOO_REQUIRE(right >= -1, ATTNZOO_STATUS_INVALID_ARGUMENT, "right is %" PRId64 ", must be -1 (no limit) or more",
                    right);
    mask->description.window_left = left;
    mask->description.window_right = right;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_mask_set_alignment(attnzoo_mask *mask, int32_t alignment)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    ATTNZOO_REQUIRE(alignment >= ATTNZOO_ALIGNMENT_BOTTOM_RIGHT && alignment <= ATTNZOO_ALIGNMENT_LENGTHS,
                    ATTNZOO_STATUS_INVALID_ARGUMENT, "alignment is %d, must be 0 to 2", (int)alignment);
    mask->description.alignment = alignment;
    mask->description.has_offset = false;
    mask->description.offsets.is_set = false;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_mask_set_query_offset(attnzoo_mask *mask, int64_t offset)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    mask->description.has_offset = true;
    mask->description.offset = offset;
    mask->description.offsets.is_set = false;
    return ATTNZOO_STATUS_OK;
}

/* What a mask's tensor may be. */
struct tensor_rule {
    const char *name;
    bool takes_bool;
    bool takes_integers;
    bool takes_floats;
    int32_t rank_minimum;
    int32_t rank_maximum;
};

static attnzoo_status set_tensor(struct attnzoo_mask_tensor *place, const attnzoo_tensor *tensor,
                                 const struct tensor_rule *rule)
{
    if (tensor == NULL) {
        place->is_set = false;
        return ATTNZOO_STATUS_OK;
    }
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_view *view = &tensor->view;
    bool fits = (rule->takes_bool && view->dtype == ATTNZOO_DTYPE_BOOL) ||
                (rule->takes_integers && attnzoo_base_dtype_is_integer(view->dtype)) ||
                (rule->takes_floats && attnzoo_base_dtype_is_float(view->dtype));
    ATTNZOO_REQUIRE(fits, ATTNZOO_STATUS_DTYPE_MISMATCH, "%s is %s, must be %s", rule->name,
                    attnzoo_base_dtype_name(view->dtype),
                    rule->takes_floats ? "float32, float16 or bfloat16"
                    : rule->takes_bool ? "bool, int32 or int64"
                                       : "int32 or int64");
    ATTNZOO_REQUIRE(view->rank >= rule->rank_minimum && view->rank <= rule->rank_maximum, ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "%s has %d axes, must have %d to %d", rule->name, (int)view->rank, (int)rule->rank_minimum,
                    (int)rule->rank_maximum);
    place->view = *view;
    place->is_set = true;
    return ATTNZOO_STATUS_OK;
}

static const struct tensor_rule lengths_rule = {"lengths", .takes_integers = true, .rank_minimum = 1,
                                                .rank_maximum = 1};

attnzoo_status attnzoo_mask_set_query_offsets(attnzoo_mask *mask, const attnzoo_tensor *offsets)
{
    static const struct tensor_rule rule = {"offsets", .takes_integers = true, .rank_minimum = 1, .rank_maximum = 1};
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    attnzoo_status status = set_tensor(&mask->description.offsets, offsets, &rule);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    mask->description.has_offset = false;
    mask->description.alignment = ATTNZOO_ALIGNMENT_BOTTOM_RIGHT;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_mask_set_key_lengths(attnzoo_mask *mask, const attnzoo_tensor *lengths)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    return set_tensor(&mask->description.key_lengths, lengths, &lengths_rule);
}

attnzoo_status attnzoo_mask_set_query_lengths(attnzoo_mask *mask, const attnzoo_tensor *lengths)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    return set_tensor(&mask->description.query_lengths, lengths, &lengths_rule);
}

attnzoo_status attnzoo_mask_set_boolean(attnzoo_mask *mask, const attnzoo_tensor *allowed)
{
    static const struct tensor_rule rule = {"allowed", .takes_bool = true, .takes_integers = true, .rank_minimum = 1,
                                            .rank_maximum = ATTNZOO_GRID_RANK};
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    return set_tensor(&mask->description.allowed, allowed, &rule);
}

attnzoo_status attnzoo_mask_set_bias(attnzoo_mask *mask, const attnzoo_tensor *bias)
{
    static const struct tensor_rule rule = {"bias", .takes_floats = true, .rank_minimum = 1,
                                            .rank_maximum = ATTNZOO_GRID_RANK};
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    return set_tensor(&mask->description.bias, bias, &rule);
}

attnzoo_status attnzoo_mask_set_linear_bias(attnzoo_mask *mask, const attnzoo_tensor *slopes)
{
    static const struct tensor_rule rule = {"slopes", .takes_floats = true, .rank_minimum = 1, .rank_maximum = 1};
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    return set_tensor(&mask->description.slopes, slopes, &rule);
}

attnzoo_status attnzoo_mask_set_segments(attnzoo_mask *mask, const attnzoo_tensor *ids)
{
    static const struct tensor_rule rule = {"ids", .takes_integers = true, .rank_minimum = 1, .rank_maximum = 2};
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    return set_tensor(&mask->description.segments, ids, &rule);
}
