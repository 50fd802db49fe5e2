/*
 * core/forward.c: forward calls and output shapes: the checks that are the same for every mechanism, then the
 * mechanism's own function.
 */
#include "core/handles.h"

static attnzoo_status check_type(const struct attnzoo_slot_spec *spec, int32_t dtype)
{
    bool fits = spec->is_integer ? attnzoo_base_dtype_is_integer(dtype) : attnzoo_base_dtype_is_float(dtype);
    ATTNZOO_REQUIRE(fits, ATTNZOO_STATUS_DTYPE_MISMATCH, "%s is %s, must be %s", spec->name,
                    attnzoo_base_dtype_name(dtype),
                    spec->is_integer ? "int32 or int64" : "float32, float16 or bfloat16");
    return ATTNZOO_STATUS_OK;
}

/* Puts the caller's views in their places. */
static attnzoo_status gather(const struct attnzoo_slot_spec *specs, int32_t spec_count, const char *kind,
                             const attnzoo_tensor *const *tensors, int32_t tensor_count,
                             const struct attnzoo_view **views)
{
    ATTNZOO_REQUIRE(tensor_count >= 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "%s_count is %d, must not be negative", kind,
                    (int)tensor_count);
    ATTNZOO_REQUIRE(tensors != NULL || tensor_count == 0, ATTNZOO_STATUS_INVALID_ARGUMENT, "%ss is NULL", kind);
    for (int32_t place = 0; place < tensor_count; place++) {
        const attnzoo_tensor *tensor = tensors[place];
        if (tensor == NULL)
            continue;
        ATTNZOO_REQUIRE(place < spec_count && specs[place].name != NULL, ATTNZOO_STATUS_UNSUPPORTED,
                        "the mechanism has no %s in place %d", kind, (int)place);
        ATTNZOO_REQUIRE(tensor->kind == ATTNZOO_KIND_TENSOR, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "%s is not a live tensor handle", specs[place].name);
        attnzoo_status status = check_type(&specs[place], tensor->view.dtype);
        if (status != ATTNZOO_STATUS_OK)
            return status;
        views[place] = &tensor->view;
    }
    for (int32_t place = 0; place < spec_count; place++)
        ATTNZOO_REQUIRE(!specs[place].is_required || views[place] != NULL, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "%s is NULL", specs[place].name);
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status check_module(const attnzoo_module *module, const attnzoo_state *state)
{
    ATTNZOO_REQUIRE_HANDLE(module, ATTNZOO_KIND_MODULE);
    ATTNZOO_REQUIRE(module->is_prepared, ATTNZOO_STATUS_BAD_STATE, "the module is not prepared yet");
    if (state == NULL)
        return ATTNZOO_STATUS_OK;
    ATTNZOO_REQUIRE(module->instance.mechanism->state_field_count > 0, ATTNZOO_STATUS_UNSUPPORTED,
                    "%s carries no state", module->instance.mechanism->name);
    ATTNZOO_REQUIRE_HANDLE(state, ATTNZOO_KIND_STATE);
    ATTNZOO_REQUIRE(state->module == module, ATTNZOO_STATUS_BAD_STATE, "the state was made for another module");
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_module_output_shape(const attnzoo_module *module, const attnzoo_tensor *const *inputs,
                                           int32_t input_count, const attnzoo_state *state, int32_t output,
                                           int32_t *rank, int64_t *shape)
{
    attnzoo_base_enter(__func__);
    attnzoo_status status = check_module(module, state);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE_POINTER(rank);
    ATTNZOO_REQUIRE_POINTER(shape);
    const struct attnzoo_mechanism *mechanism = module->instance.mechanism;
    ATTNZOO_REQUIRE(output >= 0 && output < mechanism->output_count && mechanism->outputs[output].name != NULL,
                    ATTNZOO_STATUS_UNSUPPORTED, "%s has no output in place %d", mechanism->name, (int)output);
    const struct attnzoo_view *views[ATTNZOO_INPUT_PLACES] = {NULL};
    status = gather(mechanism->inputs, mechanism->input_count, "input", inputs, input_count, views);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return mechanism->output_shape(&module->instance, views, state == NULL ? NULL : &state->content, output, rank,
                                   shape);
}

static attnzoo_status check_apart(const struct attnzoo_view *output, const char *output_name,
                                  const struct attnzoo_view *other, const char *other_name)
{
    ATTNZOO_REQUIRE(other == NULL || !attnzoo_base_views_overlap(output, other), ATTNZOO_STATUS_OVERLAP,
                    "%s at %p overlaps %s at %p", output_name, (void *)output->data, other_name, (void *)other->data);
    return ATTNZOO_STATUS_OK;
}

/* What one output may not share memory with. */
static attnzoo_status check_output(const struct attnzoo_mechanism *mechanism, const struct attnzoo_call *call,
                                   int32_t place)
{
    const struct attnzoo_view *output = call->outputs[place];
    const char *name = mechanism->outputs[place].name;
    ATTNZOO_REQUIRE(!output->readonly, ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is a read-only view", name);
    ATTNZOO_REQUIRE(!attnzoo_base_view_overlaps_itself(output), ATTNZOO_STATUS_OVERLAP,
                    "%s has strides that put several elements in one place", name);
    attnzoo_status status = ATTNZOO_STATUS_OK;
    for (int32_t i = 0; i < mechanism->input_count && status == ATTNZOO_STATUS_OK; i++)
        status = check_apart(output, name, call->inputs[i], mechanism->inputs[i].name);
    for (int32_t i = 0; i < place && status == ATTNZOO_STATUS_OK; i++)
        status = check_apart(output, name, call->outputs[i], mechanism->outputs[i].name);
    const struct attnzoo_view *mask_views[ATTNZOO_MASK_TENSOR_COUNT];
    int32_t mask_count = call->mask == NULL ? 0 : attnzoo_mask_tensors(call->mask, mask_views);
    for (int32_t i = 0; i < mask_count && status == ATTNZOO_STATUS_OK; i++)
        status = check_apart(output, name, mask_views[i], "a tensor of the mask");
    return status;
}

static attnzoo_status forward(const attnzoo_module *module, attnzoo_executor *executor,
                              const attnzoo_tensor *const *inputs, int32_t input_count, const attnzoo_mask *mask,
                              attnzoo_state *state, attnzoo_tensor *const *outputs, int32_t output_count)
{
    attnzoo_status status = check_module(module, state);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    if (executor != NULL)
        ATTNZOO_REQUIRE_HANDLE(executor, ATTNZOO_KIND_EXECUTOR);
    if (mask != NULL)
        ATTNZOO_REQUIRE_HANDLE(mask, ATTNZOO_KIND_MASK);
    const struct attnzoo_mechanism *mechanism = module->instance.mechanism;
    struct attnzoo_call call = {.mask = mask == NULL ? NULL : &mask->description,
                                .state = state == NULL ? NULL : &state->content,
                                .pool = executor == NULL ? NULL : executor->pool};
    status = gather(mechanism->inputs, mechanism->input_count, "input", inputs, input_count, call.inputs);
    if (status == ATTNZOO_STATUS_OK)
        status = gather(mechanism->outputs, mechanism->output_count, "output", (const attnzoo_tensor *const *)outputs,
                        output_count, call.outputs);
    for (int32_t place = 0; place < mechanism->output_count && status == ATTNZOO_STATUS_OK; place++)
        if (call.outputs[place] != NULL)
            status = check_output(mechanism, &call, place);
    return status == ATTNZOO_STATUS_OK ? mechanism->forward(&module->instance, &call) : status;
}

attnzoo_status attnzoo_module_forward_slots(const attnzoo_module *module, attnzoo_executor *executor,
                                            const attnzoo_tensor *const *inputs, int32_t input_count,
                                            const attnzoo_mask *mask, attnzoo_state *state,
                                            attnzoo_tensor *const *outputs, int32_t output_count)
{
    attnzoo_base_enter(__func__);
    return forward(module, executor, inputs, input_count, mask, state, outputs, output_count);
}

attnzoo_status attnzoo_module_forward(const attnzoo_module *module, attnzoo_executor *executor,
                                      const attnzoo_tensor *query, const attnzoo_tensor *key,
                                      const attnzoo_tensor *value, const attnzoo_mask *mask, attnzoo_state *state,
                                      attnzoo_tensor *context, attnzoo_tensor *attention)
{
    attnzoo_base_enter(__func__);
    const attnzoo_tensor *const inputs[] = {
        [ATTNZOO_INPUT_QUERY] = query, [ATTNZOO_INPUT_KEY] = key, [ATTNZOO_INPUT_VALUE] = value};
    attnzoo_tensor *const outputs[] = {[ATTNZOO_OUTPUT_CONTEXT] = context, [ATTNZOO_OUTPUT_ATTENTION] = attention};
    return forward(module, executor, inputs, 3, mask, state, outputs, 2);
}
