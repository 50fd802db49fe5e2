/*
 * tests/core/dlpack_test.c: DLPack tensors in and out, both forms of them: what they say, what is refused, and that
 * each deleter runs once, whoever calls it (P71).
 */
#include "support/dlpack.h"
#include "support/testing.h"

#include <string.h>

static _Alignas(8) float memory[24];
static int deleted;

static void delete_unversioned(DLManagedTensor *self)
{
    assert_non_null(self->manager_ctx);
    self->manager_ctx = NULL;
    deleted++;
}

static void delete_versioned(DLManagedTensorVersioned *self)
{
    assert_non_null(self->manager_ctx);
    self->manager_ctx = NULL;
    deleted++;
}

/* What a producer hands out, in both forms. */
struct produced {
    int64_t shape[9];
    int64_t strides[9];
    DLManagedTensor unversioned;
    DLManagedTensorVersioned versioned;
};

/* Compact float32 [2, 3, 4] over memory; strides are the test's to point to. */
static void produce(struct produced *made)
{
    memset(made, 0, sizeof *made);
    const int64_t shape[] = {2, 3, 4};
    memcpy(made->shape, shape, sizeof shape);
    DLTensor *tensor = &made->unversioned.dl_tensor;
    tensor->data = memory;
    tensor->device.device_type = kDLCPU;
    tensor->ndim = 3;
    tensor->dtype.code = kDLFloat;
    tensor->dtype.bits = 32;
    tensor->dtype.lanes = 1;
    tensor->shape = made->shape;
    made->unversioned.manager_ctx = made;
    made->unversioned.deleter = delete_unversioned;
    made->versioned.version.major = 1;
    made->versioned.version.minor = 3;
    made->versioned.dl_tensor = *tensor;
    made->versioned.manager_ctx = made;
    made->versioned.deleter = delete_versioned;
    deleted = 0;
}

/* Asserts that both forms of it are refused with this, and that nothing was deleted. */
static void assert_both_refused(struct produced *made, attnzoo_status status, const char *text)
{
    attnzoo_tensor *tensor = NULL;
    made->versioned.dl_tensor = made->unversioned.dl_tensor;
    assert_refused(attnzoo_tensor_create_from_dlpack(&tensor, &made->unversioned), status, text);
    assert_refused(attnzoo_tensor_create_from_dlpack_versioned(&tensor, &made->versioned), status, text);
    assert_null(tensor);
    assert_int_equal(deleted, 0);
}

static void null_strides_are_compact(void **state)
{
    (void)state;
    struct produced made;
    for (int form = 0; form < 2; form++) {
        produce(&made);
        attnzoo_tensor *tensor = NULL;
        assert_ok(form == 0 ? attnzoo_tensor_create_from_dlpack(&tensor, &made.unversioned)
                            : attnzoo_tensor_create_from_dlpack_versioned(&tensor, &made.versioned));
        assert_int_equal(attnzoo_tensor_dtype(tensor), ATTNZOO_DTYPE_FLOAT32);
        assert_int_equal(attnzoo_tensor_rank(tensor), 3);
        const int64_t strides[] = {12, 4, 1};
        for (int32_t axis = 0; axis < 3; axis++) {
            assert_int_equal(attnzoo_tensor_size(tensor, axis), made.shape[axis]);
            assert_int_equal(attnzoo_tensor_stride(tensor, axis), strides[axis]);
        }
        assert_ptr_equal(attnzoo_tensor_data(tensor), memory);
        assert_int_equal(deleted, 0);
        attnzoo_tensor_destroy(tensor);
        assert_int_equal(deleted, 1);
    }
}

static void strides_count_elements_and_the_offset_bytes(void **state)
{
    (void)state;
    struct produced made;
    produce(&made);
    DLTensor *source = &made.unversioned.dl_tensor;
    source->ndim = 2;
    made.shape[0] = 4;
    made.shape[1] = 2;
    made.strides[0] = -1;
    made.strides[1] = 0;
    source->strides = made.strides;
    source->byte_offset = 5 * sizeof(float);
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create_from_dlpack(&tensor, &made.unversioned));
    assert_ptr_equal(attnzoo_tensor_data(tensor), memory + 5);
    assert_int_equal(attnzoo_tensor_stride(tensor, 0), -1);
    assert_int_equal(attnzoo_tensor_stride(tensor, 1), 0);
    attnzoo_tensor_destroy(tensor);
    assert_int_equal(deleted, 1);

    produce(&made);
    source->byte_offset = 2;
    assert_both_refused(&made, ATTNZOO_STATUS_INVALID_ARGUMENT, "aligned");
    source->byte_offset = UINT64_MAX - 3;
    assert_both_refused(&made, ATTNZOO_STATUS_INVALID_ARGUMENT, "byte_offset is 18446744073709551612");
}

static const struct {
    uint8_t code, bits;
    int32_t dtype;
} TYPES[] = {{kDLFloat, 32, ATTNZOO_DTYPE_FLOAT32},   {kDLFloat, 16, ATTNZOO_DTYPE_FLOAT16},
             {kDLBfloat, 16, ATTNZOO_DTYPE_BFLOAT16}, {DLPACK_BOOL_CODE, 8, ATTNZOO_DTYPE_BOOL},
             {kDLInt, 32, ATTNZOO_DTYPE_INT32},       {kDLInt, 64, ATTNZOO_DTYPE_INT64}};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void element_types_are_translated_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i < TYPE_COUNT; i++) {
        struct produced made;
        produce(&made);
        made.versioned.dl_tensor.dtype.code = TYPES[i].code;
        made.versioned.dl_tensor.dtype.bits = TYPES[i].bits;
        made.shape[0] = 1;
        attnzoo_tensor *tensor = NULL;
        assert_ok(attnzoo_tensor_create_from_dlpack_versioned(&tensor, &made.versioned));
        assert_int_equal(attnzoo_tensor_dtype(tensor), TYPES[i].dtype);
        DLManagedTensorVersioned *lent = NULL;
        assert_ok(attnzoo_tensor_to_dlpack_versioned(&lent, tensor, NULL, NULL));
        assert_int_equal(lent->dl_tensor.dtype.code, TYPES[i].code);
        assert_int_equal(lent->dl_tensor.dtype.bits, TYPES[i].bits);
        assert_int_equal(lent->dl_tensor.dtype.lanes, 1);
        lent->deleter(lent);
        attnzoo_tensor_destroy(tensor);
    }
}

static void other_element_types_are_refused(void **state)
{
    (void)state;
    const struct {
        uint8_t code, bits;
        uint16_t lanes;
        const char *text;
    } types[] = {{kDLFloat, 64, 1, "float, 64 bits, 1 lanes"},
                 {kDLFloat, 32, 2, "float, 32 bits, 2 lanes"},
                 {kDLUInt, 8, 1, "uint, 8 bits"},
                 {kDLInt, 16, 1, "int, 16 bits"},
                 {kDLComplex, 64, 1, "complex, 64 bits"},
                 {DLPACK_BOOL_CODE, 1, 1, "bool, 1 bits"},
                 {17, 8, 1, "type code 17, 8 bits"},
                 {kDLFloat, 32, 0, "0 lanes"}};
    struct produced made;
    produce(&made);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        DLDataType *type = &made.unversioned.dl_tensor.dtype;
        type->code = types[i].code;
        type->bits = types[i].bits;
        type->lanes = types[i].lanes;
        assert_both_refused(&made, ATTNZOO_STATUS_DTYPE_MISMATCH, types[i].text);
    }
}

static void memory_of_other_devices_is_refused(void **state)
{
    (void)state;
    struct produced made;
    produce(&made);
    DLDevice *device = &made.unversioned.dl_tensor.device;
    device->device_id = 3;
    device->device_type = kDLCUDA;
    assert_both_refused(&made, ATTNZOO_STATUS_UNSUPPORTED, "device type 2 (CUDA), number 3");
    device->device_type = kDLCUDAHost;
    assert_both_refused(&made, ATTNZOO_STATUS_UNSUPPORTED, "CUDA host");
    const int unknown[] = {0, 5, 99, -1};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        memcpy(&device->device_type, &unknown[i], sizeof unknown[i]);
        assert_both_refused(&made, ATTNZOO_STATUS_UNSUPPORTED, "unknown");
    }
}

static void shapes_that_are_no_views_are_refused(void **state)
{
    (void)state;
    struct produced made;
    produce(&made);
    DLTensor *source = &made.unversioned.dl_tensor;
    source->ndim = 0;
    assert_both_refused(&made, ATTNZOO_STATUS_INVALID_ARGUMENT, "rank is 0");
    source->ndim = 9;
    assert_both_refused(&made, ATTNZOO_STATUS_INVALID_ARGUMENT, "rank is 9");
    source->ndim = 3;
    made.shape[1] = -1;
    assert_both_refused(&made, ATTNZOO_STATUS_INVALID_ARGUMENT, "shape[1] is -1");
    made.shape[1] = 3;
    source->shape = NULL;
    assert_both_refused(&made, ATTNZOO_STATUS_INVALID_ARGUMENT, "shape is NULL");
    source->shape = made.shape;
    source->data = NULL;
    source->byte_offset = 4;
    assert_both_refused(&made, ATTNZOO_STATUS_INVALID_ARGUMENT, "data is NULL");

    made.shape[2] = 0;
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create_from_dlpack(&tensor, &made.unversioned));
    assert_int_equal(attnzoo_tensor_element_count(tensor), 0);
    attnzoo_tensor_destroy(tensor);
    assert_int_equal(deleted, 1);
}

static void null_and_other_versions_are_refused(void **state)
{
    (void)state;
    struct produced made;
    produce(&made);
    attnzoo_tensor *tensor = NULL;
    const attnzoo_status invalid = ATTNZOO_STATUS_INVALID_ARGUMENT;
    assert_refused(attnzoo_tensor_create_from_dlpack(NULL, &made.unversioned), invalid, "tensor is NULL");
    assert_refused(attnzoo_tensor_create_from_dlpack(&tensor, NULL), invalid, "managed is NULL");
    assert_refused(attnzoo_tensor_create_from_dlpack_versioned(NULL, &made.versioned), invalid, "tensor is NULL");
    assert_refused(attnzoo_tensor_create_from_dlpack_versioned(&tensor, NULL), invalid, "managed is NULL");
    made.versioned.version.major = 2;
    assert_refused(attnzoo_tensor_create_from_dlpack_versioned(&tensor, &made.versioned), ATTNZOO_STATUS_UNSUPPORTED,
                   "version 2.3");
    assert_null(tensor);
    assert_int_equal(deleted, 0);

    DLManagedTensor *lent = NULL;
    DLManagedTensorVersioned *lent_versioned = NULL;
    assert_refused(attnzoo_tensor_to_dlpack(&lent, NULL, NULL, NULL), invalid, "tensor is NULL");
    assert_refused(attnzoo_tensor_to_dlpack_versioned(&lent_versioned, NULL, NULL, NULL), invalid, "tensor is NULL");
    assert_ok(attnzoo_tensor_create_from_dlpack(&tensor, &made.unversioned));
    assert_refused(attnzoo_tensor_to_dlpack(NULL, tensor, NULL, NULL), invalid, "managed is NULL");
    assert_refused(attnzoo_tensor_to_dlpack_versioned(NULL, tensor, NULL, NULL), invalid, "managed is NULL");
    attnzoo_tensor_destroy(tensor);
}

static void read_only_stays_read_only(void **state)
{
    (void)state;
    struct produced made;
    produce(&made);
    made.versioned.flags = DLPACK_READ_ONLY_FLAG;
    attnzoo_tensor *tensor = NULL, *other = NULL;
    assert_ok(attnzoo_tensor_create_from_dlpack_versioned(&tensor, &made.versioned));
    assert_ok(attnzoo_tensor_create_readonly(&other, memory, ATTNZOO_DTYPE_FLOAT32, 3, made.shape, NULL));
    /* Outputs are checked for this before anything else about them. */
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    assert_ok(attnzoo_module_prepare(module));
    assert_refused(attnzoo_module_forward(module, NULL, other, other, other, NULL, NULL, tensor, NULL),
                   ATTNZOO_STATUS_INVALID_ARGUMENT, "read-only");
    attnzoo_module_destroy(module);

    DLManagedTensor *unversioned = NULL;
    assert_refused(attnzoo_tensor_to_dlpack(&unversioned, tensor, NULL, NULL), ATTNZOO_STATUS_UNSUPPORTED, "read-only");
    assert_null(unversioned);
    DLManagedTensorVersioned *versioned = NULL;
    assert_ok(attnzoo_tensor_to_dlpack_versioned(&versioned, tensor, NULL, NULL));
    assert_true(versioned->flags == DLPACK_READ_ONLY_FLAG);
    versioned->deleter(versioned);
    attnzoo_tensor_destroy(other);
    attnzoo_tensor_destroy(tensor);
    assert_int_equal(deleted, 1);
}

static void other_flags_change_nothing(void **state)
{
    (void)state;
    struct produced made;
    produce(&made);
    made.versioned.flags = ~(uint64_t)DLPACK_READ_ONLY_FLAG;
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create_from_dlpack_versioned(&tensor, &made.versioned));
    DLManagedTensorVersioned *lent = NULL;
    assert_ok(attnzoo_tensor_to_dlpack_versioned(&lent, tensor, NULL, NULL));
    assert_true(lent->flags == 0);
    lent->deleter(lent);
    attnzoo_tensor_destroy(tensor);
}

static void a_view_described_anew_gives_the_old_memory_back(void **state)
{
    (void)state;
    const int64_t shape[] = {4};
    struct produced made;
    for (int way = 0; way < 4; way++) {
        produce(&made);
        attnzoo_tensor *tensor = NULL;
        assert_ok(attnzoo_tensor_create_from_dlpack(&tensor, &made.unversioned));
        assert_status(attnzoo_tensor_assign(tensor, memory, ATTNZOO_DTYPE_FLOAT32, 0, shape, NULL),
                      ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_status(attnzoo_tensor_set_data(tensor, (char *)memory + 1), ATTNZOO_STATUS_INVALID_ARGUMENT);
        assert_int_equal(deleted, 0);
        if (way == 0)
            assert_ok(attnzoo_tensor_assign(tensor, memory, ATTNZOO_DTYPE_FLOAT32, 1, shape, NULL));
        else if (way == 1)
            assert_ok(attnzoo_tensor_assign_readonly(tensor, memory, ATTNZOO_DTYPE_FLOAT32, 1, shape, NULL));
        else if (way == 2)
            assert_ok(attnzoo_tensor_set_data(tensor, memory));
        else
            assert_ok(attnzoo_tensor_set_readonly_data(tensor, memory));
        assert_int_equal(deleted, 1);
        attnzoo_tensor_destroy(tensor);
        assert_int_equal(deleted, 1);
    }
}

static void a_missing_deleter_is_fine(void **state)
{
    (void)state;
    struct produced made;
    produce(&made);
    made.unversioned.deleter = NULL;
    made.versioned.deleter = NULL;
    attnzoo_tensor *tensor = NULL;
    assert_ok(attnzoo_tensor_create_from_dlpack(&tensor, &made.unversioned));
    attnzoo_tensor_destroy(tensor);
    assert_ok(attnzoo_tensor_create_from_dlpack_versioned(&tensor, &made.versioned));
    attnzoo_tensor_destroy(tensor);
    assert_int_equal(deleted, 0);
}

static void release(void *owner)
{
    (*(int *)owner)++;
}

static void assert_shows_the_view(const DLTensor *lent)
{
    assert_ptr_equal(lent->data, memory + 20);
    assert_int_equal(lent->byte_offset, 0);
    assert_int_equal(lent->device.device_type, kDLCPU);
    assert_int_equal(lent->device.device_id, 0);
    assert_int_equal(lent->ndim, 2);
    assert_int_equal(lent->shape[0], 2);
    assert_int_equal(lent->shape[1], 3);
    assert_int_equal(lent->strides[0], 1);
    assert_int_equal(lent->strides[1], -4);
}

static void what_is_lent_outlives_the_view_and_is_released_once(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 3}, strides[] = {1, -4};
    int released = 0;
    attnzoo_tensor *tensor = NULL;
    DLManagedTensor *unversioned = NULL;
    DLManagedTensorVersioned *versioned = NULL;
    assert_ok(attnzoo_tensor_create(&tensor, memory + 20, ATTNZOO_DTYPE_FLOAT32, 2, shape, strides));
    assert_ok(attnzoo_tensor_to_dlpack(&unversioned, tensor, &released, release));
    assert_ok(attnzoo_tensor_to_dlpack_versioned(&versioned, tensor, &released, release));
    attnzoo_tensor_destroy(tensor);
    assert_shows_the_view(&unversioned->dl_tensor);
    assert_shows_the_view(&versioned->dl_tensor);
    assert_int_equal(versioned->version.major, 1);
    assert_int_equal(versioned->version.minor, 0);
    assert_int_equal(released, 0);
    unversioned->deleter(unversioned);
    assert_int_equal(released, 1);
    /* Back in, as another library's consumer would hold it. */
    assert_ok(attnzoo_tensor_create_from_dlpack_versioned(&tensor, versioned));
    assert_int_equal(released, 1);
    attnzoo_tensor_destroy(tensor);
    assert_int_equal(released, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_strides_are_compact),
        cmocka_unit_test(strides_count_elements_and_the_offset_bytes),
        cmocka_unit_test(element_types_are_translated_both_ways),
        cmocka_unit_test(other_element_types_are_refused),
        cmocka_unit_test(memory_of_other_devices_is_refused),
        cmocka_unit_test(shapes_that_are_no_views_are_refused),
        cmocka_unit_test(null_and_other_versions_are_refused),
        cmocka_unit_test(read_only_stays_read_only),
        cmocka_unit_test(other_flags_change_nothing),
        cmocka_unit_test(a_view_described_anew_gives_the_old_memory_back),
        cmocka_unit_test(a_missing_deleter_is_fine),
        cmocka_unit_test(what_is_lent_outlives_the_view_and_is_released_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
