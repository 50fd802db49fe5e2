/*
 * core/dlpack.c: attnzoo/dlpack.h. What a DLPack tensor says is translated here; whether it makes a view is for base/view.c
 * to check, and when it is given back for tensor.c.
 */
#include "core/dlpack_structures.h"
#include "core/handles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each element type is in DLPack. */
static const struct {
    int32_t dtype;
    uint8_t code, bits;
} element_types[] = {
    {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DLPACK_FLOAT, 32},   {ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DLPACK_FLOAT, 16},
    {ATTNZOO_DTYPE_BFLOAT16, ATTNZOO_DLPACK_BFLOAT, 16}, {ATTNZOO_DTYPE_BOOL, ATTNZOO_DLPACK_BOOL, 8},
    {ATTNZOO_DTYPE_INT32, ATTNZOO_DLPACK_INT, 32},       {ATTNZOO_DTYPE_INT64, ATTNZOO_DLPACK_INT, 64},
};
enum { ELEMENT_TYPE_COUNT = sizeof element_types / sizeof element_types[0] };

static attnzoo_status read_dtype(int32_t *dtype, struct attnzoo_dlpack_dtype type)
{
    for (int32_t i = 0; i < ELEMENT_TYPE_COUNT; i++) {
        if (type.code == element_types[i].code && type.bits == element_types[i].bits && type.lanes == 1) {
            *dtype = element_types[i].dtype;
            return ATTNZOO_STATUS_OK;
        }
    }
    static const char *const kinds[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    char kind[32];
    if (type.code < sizeof kinds / sizeof kinds[0])
        snprintf(kind, sizeof kind, "%s", kinds[type.code]);
    else
        snprintf(kind, sizeof kind, "type code %d", (int)type.code);
    return attnzoo_base_fail(ATTNZOO_STATUS_DTYPE_MISMATCH,
                             "managed is of %s, %d bits, %d lanes; a view takes float32, float16, bfloat16, bool "
                             "(type code 6, 8 bits), int32 and int64 of one lane",
                             kind, (int)type.bits, (int)type.lanes);
}

static attnzoo_status require_cpu(const struct attnzoo_dlpack_tensor *source)
{
    static const char *const devices[] = {
        NULL,  "CPU",  "CUDA",      "CUDA host", "OpenCL",       NULL,     NULL,     "Vulkan",  "Metal",
        "VPI", "ROCm", "ROCm host", "extension", "CUDA managed", "oneAPI", "WebGPU", "Hexagon", "Microsoft MAIA"};
    const int32_t device_count = sizeof devices / sizeof devices[0];
    int32_t type = source->device_type;
    if (type == ATTNZOO_DLPACK_CPU)
        return ATTNZOO_STATUS_OK;
    const char *name = type > 0 && type < device_count && devices[type] != NULL ? devices[type] : "unknown";
    return attnzoo_base_fail(
        ATTNZOO_STATUS_UNSUPPORTED,
        "managed lies in memory of device type %d (%s), number %d; only CPU memory, type 1, can be "
        "viewed: copy it there first",
        (int)type, name, (int)source->device_id);
}

/* Fills a view with what a DLPack tensor says, or fails and leaves it as it was. */
static attnzoo_status read_tensor(struct attnzoo_view *view, const struct attnzoo_dlpack_tensor *source, bool readonly)
{
    int32_t dtype = 0;
    attnzoo_status status = require_cpu(source);
    if (status == ATTNZOO_STATUS_OK)
        status = read_dtype(&dtype, source->dtype);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const char *data = source->data;
    if (data != NULL) {
        ATTNZOO_REQUIRE(source->byte_offset <= UINTPTR_MAX - (uintptr_t)data, ATTNZOO_STATUS_INVALID_ARGUMENT,
                        "byte_offset is %" PRIu64 ", which passes the end of the address space", source->byte_offset);
        data += source->byte_offset;
    }
    return attnzoo_base_view_describe(view, data, readonly, dtype, source->ndim, source->shape, source->strides);
}

static void give_back(void *managed)
{
    struct DLManagedTensor *owned = managed;
    if (owned->deleter != NULL)
        owned->deleter(owned);
}

static void give_back_versioned(void *managed)
{
    struct DLManagedTensorVersioned *owned = managed;
    if (owned->deleter != NULL)
        owned->deleter(owned);
}

attnzoo_status attnzoo_tensor_create_from_dlpack(attnzoo_tensor **tensor, struct DLManagedTensor *managed)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(tensor);
    ATTNZOO_REQUIRE_POINTER(managed);
    struct attnzoo_view view;
    attnzoo_status status = read_tensor(&view, &managed->dl_tensor, false);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_core_tensor_create(tensor, &view, managed, give_back);
}

attnzoo_status attnzoo_tensor_create_from_dlpack_versioned(attnzoo_tensor **tensor,
                                                           struct DLManagedTensorVersioned *managed)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(tensor);
    ATTNZOO_REQUIRE_POINTER(managed);
    /* Another major version may have moved everything behind the deleter. */
    ATTNZOO_REQUIRE(managed->major_version == ATTNZOO_DLPACK_MAJOR_VERSION, ATTNZOO_STATUS_UNSUPPORTED,
                    "managed is of DLPack version %" PRIu32 ".%" PRIu32 "; this library knows version %d",
                    managed->major_version, managed->minor_version, (int)ATTNZOO_DLPACK_MAJOR_VERSION);
    struct attnzoo_view view;
    bool readonly = (managed->flags & ATTNZOO_DLPACK_READ_ONLY) != 0;
    attnzoo_status status = read_tensor(&view, &managed->dl_tensor, readonly);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    return attnzoo_core_tensor_create(tensor, &view, managed, give_back_versioned);
}

/* A DLPack tensor made here, in one piece with what it points to. */
struct lent_tensor {
    union {
        struct DLManagedTensor unversioned;
        struct DLManagedTensorVersioned versioned;
    } managed;
    int64_t shape[ATTNZOO_RANK_MAX];
    int64_t strides[ATTNZOO_RANK_MAX];
    void *owner;
    void (*release)(void *owner);
};

static void end_lent(struct lent_tensor *lent)
{
    void *owner = lent->owner;
    void (*release)(void *) = lent->release;
    free(lent);
    if (release != NULL)
        release(owner);
}

static void delete_unversioned(struct DLManagedTensor *self)
{
    end_lent(self->manager_ctx);
}

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    end_lent(self->manager_ctx);
}

/* Says of a view, in DLPack's terms, what it shows. shape and strides are the lent tensor's own. */
static void write_tensor(struct attnzoo_dlpack_tensor *target, struct lent_tensor *lent,
                         const struct attnzoo_view *view)
{
    memcpy(lent->shape, view->shape, (size_t)view->rank * sizeof *lent->shape);
    memcpy(lent->strides, view->strides, (size_t)view->rank * sizeof *lent->strides);
    target->data = view->data;
    target->device_type = ATTNZOO_DLPACK_CPU;
    target->ndim = view->rank;
    target->dtype.lanes = 1;
    for (int32_t i = 0; i < ELEMENT_TYPE_COUNT; i++) {
        if (element_types[i].dtype == view->dtype) {
            target->dtype.code = element_types[i].code;
            target->dtype.bits = element_types[i].bits;
        }
    }
    target->shape = lent->shape;
    target->strides = lent->strides;
}

static struct lent_tensor *lend(void *owner, void (*release)(void *owner))
{
    struct lent_tensor *lent = calloc(1, sizeof *lent);
    if (lent == NULL)
        return NULL;
    lent->owner = owner;
    lent->release = release;
    return lent;
}

attnzoo_status attnzoo_tensor_to_dlpack(struct DLManagedTensor **managed, const attnzoo_tensor *tensor, void *owner,
                                        void (*release)(void *owner))
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(managed);
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    ATTNZOO_REQUIRE(!tensor->view.readonly, ATTNZOO_STATUS_UNSUPPORTED,
                    "tensor is read-only, which an unversioned DLPack tensor cannot say; "
                    "attnzoo_tensor_to_dlpack_versioned() can");
    struct lent_tensor *lent = lend(owner, release);
    if (lent == NULL)
        return attnzoo_base_fail_memory(sizeof *lent);
    struct DLManagedTensor *made = &lent->managed.unversioned;
    write_tensor(&made->dl_tensor, lent, &tensor->view);
    made->manager_ctx = lent;
    made->deleter = delete_unversioned;
    *managed = made;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_tensor_to_dlpack_versioned(struct DLManagedTensorVersioned **managed,
                                                  const attnzoo_tensor *tensor, void *owner,
                                                  void (*release)(void *owner))
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(managed);
    ATTNZOO_REQUIRE_HANDLE(tensor, ATTNZOO_KIND_TENSOR);
    struct lent_tensor *lent = lend(owner, release);
    if (lent == NULL)
        return attnzoo_base_fail_memory(sizeof *lent);
    struct DLManagedTensorVersioned *made = &lent->managed.versioned;
    write_tensor(&made->dl_tensor, lent, &tensor->view);
    made->major_version = ATTNZOO_DLPACK_MAJOR_VERSION;
    made->manager_ctx = lent;
    made->deleter = delete_versioned;
    made->flags = tensor->view.readonly ? ATTNZOO_DLPACK_READ_ONLY : 0;
    *managed = made;
    return ATTNZOO_STATUS_OK;
}
