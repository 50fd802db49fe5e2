/*
 * core/handles.h: what is behind the public handles, and the checks of handles that every public function makes.
 */
#ifndef ATTNZOO_CORE_HANDLES_H
#define ATTNZOO_CORE_HANDLES_H

#include "base/common.h"
#include "base/error.h"
#include "base/view.h"
#include "kernels/mask.h"
#include "mechanisms/mechanism.h"
#include "parallel/pool.h"

#include <attnzoo/attnzoo.h>

/* Each handle begins with its kind's number, cleared when it is destroyed, so that a wrong or dead handle is
 * noticed where memory still tells. */
enum {
    ATTNZOO_KIND_TENSOR = 0x61747a54,
    ATTNZOO_KIND_MASK = 0x61747a4d,
    ATTNZOO_KIND_MODULE = 0x61747a46,
    ATTNZOO_KIND_EXECUTOR = 0x61747a45,
    ATTNZOO_KIND_STATE = 0x61747a53
};

struct attnzoo_tensor {
    uint32_t kind;
    struct attnzoo_view view;
    /** What holds the memory, given back when the view shows it no longer; NULL where that is the caller's affair. */
    void *owned;
    void (*give_back)(void *owned);
};

struct attnzoo_mask {
    uint32_t kind;
    struct attnzoo_mask_description description;
};

struct attnzoo_module {
    uint32_t kind;
    bool is_prepared;
    struct attnzoo_instance instance;
};

struct attnzoo_state {
    uint32_t kind;
    const struct attnzoo_module *module;
    struct attnzoo_state_content content;
};

struct attnzoo_executor {
    uint32_t kind;
    struct attnzoo_pool *pool;
};

/** Returns from the calling function with an error unless the rule holds. */
#define ATTNZOO_REQUIRE(rule, status, ...)                                                                             \
    do {                                                                                                               \
        if (!(rule))                                                                                                   \
            return attnzoo_base_fail((status), __VA_ARGS__);                                                           \
    } while (0)

/** The same for a handle, which must be there and of its kind. */
#define ATTNZOO_REQUIRE_HANDLE(handle, kind_number)                                                                    \
    do {                                                                                                               \
        ATTNZOO_REQUIRE((handle) != NULL, ATTNZOO_STATUS_INVALID_ARGUMENT, #handle " is NULL");                        \
        ATTNZOO_REQUIRE((handle)->kind == (uint32_t)(kind_number), ATTNZOO_STATUS_INVALID_ARGUMENT,                    \
                        #handle " is not a live handle of its kind");                                                  \
    } while (0)

/** The same for a pointer. */
#define ATTNZOO_REQUIRE_POINTER(pointer)                                                                               \
    ATTNZOO_REQUIRE((pointer) != NULL, ATTNZOO_STATUS_INVALID_ARGUMENT, #pointer " is NULL")

/** Copies every element of a float view, in order, into compact float32 memory. */
void attnzoo_core_read_elements(float *destination, const struct attnzoo_view *view);

/** How many keys a field of a state has room for. */
static inline int64_t attnzoo_core_field_capacity(const struct attnzoo_state_content *content,
                                                  const struct attnzoo_state_field *field)
{
    return field->has_no_keys ? 1 : content->capacity;
}

/** Checks that a view may be written: not read-only, of floats, no two elements in one place. */
attnzoo_status attnzoo_core_check_writable(const struct attnzoo_view *view, const char *name);

/** Makes a handle of a view that was checked. On success it owns owned, which may be NULL. */
attnzoo_status attnzoo_core_tensor_create(attnzoo_tensor **tensor, const struct attnzoo_view *view, void *owned,
                                          void (*give_back)(void *owned));

/** Makes a module of a mechanism, which need not be in the registry. */
attnzoo_status attnzoo_core_module_create(attnzoo_module **module, const struct attnzoo_mechanism *mechanism);

#endif
