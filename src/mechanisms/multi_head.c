/*
 * mechanisms/multi_head.c: multi-head attention: head_h = attention(Wq_h query, Wk_h key, Wv_h value) with the scaled
 * dot product, context = Wo concat(head_1, ..., head_H) (Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2). The
 * work is projected_heads.c's and the tiled core's.
 */
#include "mechanisms/mechanism.h"

#include "mechanisms/projected_heads.h"

#include <float.h>

static const struct attnzoo_option_spec options[] = {ATTNZOO_HEADS_OPTIONS};
static const struct attnzoo_parameter_spec parameters[] = {ATTNZOO_HEADS_PARAMETERS};
static const struct attnzoo_slot_spec inputs[] = {ATTNZOO_HEADS_INPUTS};
static const struct attnzoo_slot_spec outputs[] = {ATTNZOO_HEADS_OUTPUTS};
static const struct attnzoo_slot_spec state_fields[] = {ATTNZOO_HEADS_STATE_FIELDS};

static attnzoo_status prepare(struct attnzoo_instance *instance)
{
    return attnzoo_heads_prepare(instance, instance->prepared);
}

static void release(struct attnzoo_instance *instance)
{
    attnzoo_heads_release(instance->prepared);
}

static attnzoo_status forward(const struct attnzoo_instance *instance, const struct attnzoo_call *call)
{
    struct attnzoo_heads_call opened;
    attnzoo_status status = attnzoo_heads_open(&opened, instance, call);
    return status == ATTNZOO_STATUS_OK ? attnzoo_heads_run(&opened) : status;
}

const struct attnzoo_mechanism attnzoo_mechanism_multi_head = {
    .name = "multi_head",
    .summary = "scaled dot-product attention in several projected heads, self or cross, with a key/value cache",
    .formula = "head_h = attention(Wq_h query, Wk_h key, Wv_h value), score = s q.k; context = Wo concat(head_h)",
    .source = "Vaswani et al. 2017, Attention Is All You Need, arXiv 1706.03762, section 3.2.2",
    .options = options,
    .parameters = parameters,
    .inputs = inputs,
    .outputs = outputs,
    .option_count = sizeof options / sizeof *options,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .input_count = sizeof inputs / sizeof *inputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .state_fields = state_fields,
    .state_field_count = sizeof state_fields / sizeof *state_fields,
    .state_is_cache = true,
    .prepared_bytes = sizeof(struct attnzoo_heads),
    .prepare = prepare,
    .release = release,
    .output_shape = attnzoo_heads_output_shape,
    .state_layout = attnzoo_heads_state_layout,
    .forward = forward,
};
