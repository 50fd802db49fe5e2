/*
 * core/dlpack_structures.h: the structures of DLPack's stable binary interface, declared here so that building the
 * library takes no header of DLPack's. Names and order are DLPack's (dlpack.h of version 1.0); what the library does
 * with them is in dlpack.c.
 */
#ifndef ATTNZOO_CORE_DLPACK_STRUCTURES_H
#define ATTNZOO_CORE_DLPACK_STRUCTURES_H

#include <stdint.h>

/* Enumerations of DLPack's are 32 bits wide in the structures. */
enum { ATTNZOO_DLPACK_CPU = 1 };

enum {
    ATTNZOO_DLPACK_INT = 0,
    ATTNZOO_DLPACK_UNSIGNED = 1,
    ATTNZOO_DLPACK_FLOAT = 2,
    ATTNZOO_DLPACK_OPAQUE = 3,
    ATTNZOO_DLPACK_BFLOAT = 4,
    ATTNZOO_DLPACK_COMPLEX = 5,
    ATTNZOO_DLPACK_BOOL = 6
};

/* A bit of the flags. */
enum { ATTNZOO_DLPACK_READ_ONLY = 1 };

enum { ATTNZOO_DLPACK_MAJOR_VERSION = 1 };

struct attnzoo_dlpack_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct attnzoo_dlpack_tensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    struct attnzoo_dlpack_dtype dtype;
    int64_t *shape;
    /** In elements; NULL for compact row-major. */
    int64_t *strides;
    uint64_t byte_offset;
};

struct DLManagedTensor {
    struct attnzoo_dlpack_tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    uint32_t major_version;
    uint32_t minor_version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct attnzoo_dlpack_tensor dl_tensor;
};

#endif
