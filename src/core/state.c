/*
 * core/state.c: attnzoo/state.h. No mechanism carries a state yet, so none can be made.
 */
#include "core/handles.h"

#include <inttypes.h>

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
    return attnzoo_base_fail(ATTNZOO_STATUS_UNSUPPORTED, "%s carries no state", module->instance.mechanism->name);
}

void attnzoo_state_destroy(attnzoo_state *state)
{
    (void)state;
}
