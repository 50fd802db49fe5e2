/*
 * attnzoo/tensor.h: tensor views. A view describes memory that the caller owns; it never copies or frees it. (A view made
 * from a DLPack tensor owns that tensor: attnzoo/dlpack.h.)
 */
#ifndef ATTNZOO_TENSOR_H
#define ATTNZOO_TENSOR_H

#include "api.h"
#include "status.h"

ATTNZOO_BEGIN_DECLARATIONS

/** A view of elements in memory: pointer, element type, sizes and strides. */
typedef struct attnzoo_tensor attnzoo_tensor;

/** Element types. An int32_t wherever one is passed. */
enum {
    /** IEEE 754 binary32. */
    ATTNZOO_DTYPE_FLOAT32 = 1,
    /** IEEE 754 binary16. */
    ATTNZOO_DTYPE_FLOAT16 = 2,
    /** The upper half of a float32. */
    ATTNZOO_DTYPE_BFLOAT16 = 3,
    /** One byte an element: 0 is false, anything else true. */
    ATTNZOO_DTYPE_BOOL = 4,
    /** For lengths, offsets, segments and masks, as int64 is. */
    ATTNZOO_DTYPE_INT32 = 5,
    /** For lengths, offsets, segments and masks. */
    ATTNZOO_DTYPE_INT64 = 6
};

/** What bounds a view. */
enum {
    /** The most axes a view may have. */
    ATTNZOO_RANK_MAX = 8
};

/**
 * Bytes an element of this type takes; 0 for a number that is no element type.
 *
 * @param dtype  an ATTNZOO_DTYPE_ number.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API int64_t attnzoo_dtype_size(int32_t dtype);

/**
 * The name of an element type, such as "float32"; "unknown" for a number that is none. A static string.
 *
 * @param dtype  an ATTNZOO_DTYPE_ number.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API const char *attnzoo_dtype_name(int32_t dtype);

/**
 * Makes a view of memory that may be read and written.
 *
 * @param tensor   receives the new view on success, which the caller owns; untouched otherwise.
 * @param data     the element at index 0 of every axis. Needs the alignment of its element type, no more.
 *                 May be NULL if the view has no elements. Must outlive every use of the view.
 * @param dtype    an ATTNZOO_DTYPE_ number.
 * @param rank     the number of axes, 1 to ATTNZOO_RANK_MAX.
 * @param shape    [rank] sizes, outermost first; 0 is legal. Copied.
 * @param strides  [rank] steps in elements between neighbours along each axis; zero repeats, negative runs
 *                 backwards. NULL means compact row-major. Copied.
 * @return OK; INVALID_ARGUMENT: tensor or shape is NULL, rank out of range, a size is negative, no such
 *         element type, data is NULL though there are elements, data is misaligned for its type, or the
 *         sizes or the reach of the strides in bytes pass 63 bits; OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_create(attnzoo_tensor **tensor, void *data, int32_t dtype, int32_t rank,
                                                 const int64_t *shape, const int64_t *strides);

/**
 * Makes a view of memory that is only read. As attnzoo_tensor_create(); using the view as an output is an
 * INVALID_ARGUMENT error there. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_create_readonly(attnzoo_tensor **tensor, const void *data, int32_t dtype,
                                                          int32_t rank, const int64_t *shape, const int64_t *strides);

/** Frees a view, not the memory it shows. NULL is fine. Masks that took the view keep working. Since 1.0. */
ATTNZOO_API void attnzoo_tensor_destroy(attnzoo_tensor *tensor);

/**
 * Describes an existing view anew, in all its parts, without allocating. Parameters and errors as
 * attnzoo_tensor_create(), but for OUT_OF_MEMORY; on error the view is as it was.
 * Threads: not beside any other use of this view. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_assign(attnzoo_tensor *tensor, void *data, int32_t dtype, int32_t rank,
                                                 const int64_t *shape, const int64_t *strides);

/** As attnzoo_tensor_assign(), for memory that is only read. Since 1.0. */
ATTNZOO_API attnzoo_status attnzoo_tensor_assign_readonly(attnzoo_tensor *tensor, const void *data, int32_t dtype,
                                                          int32_t rank, const int64_t *shape, const int64_t *strides);

/**
 * Points a view at other memory of the same type, shape and strides, without allocating.
 *
 * @param data  the element at index 0 of every axis, as in attnzoo_tensor_create().
 * @return OK; INVALID_ARGUMENT: tensor is NULL, data is NULL though there are elements, data is misaligned,
 *         or the memory would pass the end of the address space.
 * Threads: not beside any other use of this view. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_tensor_set_data(attnzoo_tensor *tensor, void *data);

/** As attnzoo_tensor_set_data(), for memory that is only read. Since 1.0. */
ATTNZOO_API attnzoo_status attnzoo_tensor_set_readonly_data(attnzoo_tensor *tensor, const void *data);

/** The element type, an ATTNZOO_DTYPE_ number; 0 if tensor is NULL. Threads: any. Since 1.0. */
ATTNZOO_API int32_t attnzoo_tensor_dtype(const attnzoo_tensor *tensor);

/** The number of axes; 0 if tensor is NULL. Threads: any. Since 1.0. */
ATTNZOO_API int32_t attnzoo_tensor_rank(const attnzoo_tensor *tensor);

/**
 * The size of an axis; -1 if tensor is NULL or has no such axis.
 *
 * @param axis  0 the outermost.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API int64_t attnzoo_tensor_size(const attnzoo_tensor *tensor, int32_t axis);

/**
 * The stride of an axis in elements; 0 if tensor is NULL or has no such axis.
 *
 * @param axis  0 the outermost.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API int64_t attnzoo_tensor_stride(const attnzoo_tensor *tensor, int32_t axis);

/** How many elements the view has, the product of its sizes; 0 if tensor is NULL. Threads: any. Since 1.0. */
ATTNZOO_API int64_t attnzoo_tensor_element_count(const attnzoo_tensor *tensor);

/** The memory that the view shows, at index 0 of every axis; NULL if tensor is NULL. Threads: any. Since 1.0. */
ATTNZOO_API const void *attnzoo_tensor_data(const attnzoo_tensor *tensor);

ATTNZOO_END_DECLARATIONS

#endif
