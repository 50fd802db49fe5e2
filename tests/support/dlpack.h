/*
 * tests/support/dlpack.h: DLPack by its own header, whose older versions lack the versioned structure and the code of
 * bool; these are then declared here as DLPack 1.0 has them. Shares nothing with the library's own declarations.
 */
#ifndef ATTNZOO_TESTS_DLPACK_H
#define ATTNZOO_TESTS_DLPACK_H

#include <dlpack/dlpack.h>

enum { DLPACK_BOOL_CODE = 6, DLPACK_READ_ONLY_FLAG = 1 };

#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION < 1
typedef struct {
    uint32_t major;
    uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

#endif
