/*
 * attnzoo/dlpack.h: tensors from and for other libraries by DLPack (https://dmlc.github.io/dlpack), the structure by
 * which PyTorch, NumPy, JAX, TVM and others hand each other memory without copying.
 *
 * DLPack's own header is not needed: its two structures are only named here. Whoever fills or reads them includes
 * dlpack/dlpack.h, before or after this file.
 *
 * "Unversioned" is struct DLManagedTensor, as Python's capsules named "dltensor" hold it; "versioned" is struct
 * DLManagedTensorVersioned of DLPack 1.0 and later, of capsules named "dltensor_versioned".
 */
#ifndef ATTNZOO_DLPACK_H
#define ATTNZOO_DLPACK_H

#include "api.h"
#include "status.h"
#include "tensor.h"

ATTNZOO_BEGIN_DECLARATIONS

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/**
 * Makes a view of the memory of an unversioned DLPack tensor, and takes that tensor over: its deleter, if it has one,
 * runs once, when the view is destroyed, described anew or pointed at other memory. The memory is not copied, and the
 * view may be written. Strides of NULL mean compact row-major; byte_offset is heeded.
 *
 * A mask keeps no hold on the memory: a view that was given to a mask must live as long as the mask uses it.
 *
 * @param tensor   receives the new view on success, which the caller owns; untouched otherwise.
 * @param managed  1 to ATTNZOO_RANK_MAX axes of float32, float16, bfloat16, bool, int32 or int64 in CPU memory. On success it
 *                 belongs to the view. On error it is still the caller's, whose duty its deleter remains.
 * @return OK; INVALID_ARGUMENT: NULL, and whatever attnzoo_tensor_create() finds wrong with data, rank, shape and strides;
 *         DTYPE_MISMATCH: another element type, or more than one lane; UNSUPPORTED: the memory is another device's; OUT_OF_MEMORY.
 * Threads: any. The deleter runs in the thread that destroys the view. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_create_from_dlpack(attnzoo_tensor **tensor, struct DLManagedTensor *managed);

/**
 * As attnzoo_tensor_create_from_dlpack(), of a versioned DLPack tensor. Where its flags say read-only, the view is
 * read-only. UNSUPPORTED also if its major version is not 1. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_create_from_dlpack_versioned(attnzoo_tensor **tensor,
                                                                       struct DLManagedTensorVersioned *managed);

/**
 * Makes an unversioned DLPack tensor that shows the memory of a view, without copying it. It has strides of its own, and no
 * tie to the view, which may be destroyed before it.
 *
 * @param managed  receives the new DLPack tensor on success; untouched otherwise. It is ended by its deleter, called once, by
 *                 whoever it is handed to.
 * @param tensor   the view; its memory must hold until release is called. If the view owns a DLPack tensor, that is until the
 *                 view is destroyed at the latest.
 * @param owner    handed to release; NULL is fine.
 * @param release  called once by the deleter, in the thread that calls it, when the memory is no longer used; not
 *                 called on error. NULL is fine.
 * @return OK; INVALID_ARGUMENT: managed or tensor is NULL; UNSUPPORTED: the view is read-only, which the unversioned
 *         structure cannot say; OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_to_dlpack(struct DLManagedTensor **managed, const attnzoo_tensor *tensor,
                                                    void *owner, void (*release)(void *owner));

/**
 * As attnzoo_tensor_to_dlpack(), of a versioned DLPack tensor (version 1.0), whose flags say whether the view is
 * read-only. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_to_dlpack_versioned(struct DLManagedTensorVersioned **managed,
                                                              const attnzoo_tensor *tensor, void *owner,
                                                              void (*release)(void *owner));

ATTNZOO_END_DECLARATIONS

#endif
