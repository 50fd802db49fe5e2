/*
 * tests/cpp/dlpack_test.cpp: DLPack tensors in and out: ownership moves when a call succeeds and not before, and owners live
 * as long as the memory is shown.
 */
#include "support/dlpack.h"
#include "testing.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace
{

/* What a producer hands out, in either form; counts the ends of it. */
template <typename Managed> struct produced {
    std::vector<float> numbers{1, 2, 3, 4};
    std::int64_t sizes[2] = {2, 2};
    Managed managed{};
    int ends = 0;

    produced()
    {
        managed.dl_tensor.data = numbers.data();
        managed.dl_tensor.device.device_type = kDLCPU;
        managed.dl_tensor.ndim = 2;
        managed.dl_tensor.dtype = {kDLFloat, 32, 1};
        managed.dl_tensor.shape = sizes;
        managed.manager_ctx = this;
        managed.deleter = [](Managed *self) { static_cast<produced *>(self->manager_ctx)->ends++; };
    }
};

template <typename Managed> void come_in()
{
    produced<Managed> producer;
    {
        attnzoo::tensor view = attnzoo::tensor::from_dlpack(&producer.managed);
        REQUIRE(view.data() == producer.numbers.data() && view.shape() == attnzoo::shape(2, 2));
        const attnzoo::tensor moved = std::move(view);
        REQUIRE(producer.ends == 0 && moved.dtype() == attnzoo::dtype::float32);
    }
    REQUIRE(producer.ends == 1);
    {
        attnzoo::const_tensor view = attnzoo::const_tensor::from_dlpack(&producer.managed);
        float other[4] = {};
        view.assign(other, {4});
        REQUIRE(producer.ends == 2);
    }
    REQUIRE(producer.ends == 2);
    producer.managed.dl_tensor.device.device_type = kDLCUDA;
    REQUIRE_REFUSED(unsupported, "", attnzoo::tensor::from_dlpack(&producer.managed));
    REQUIRE(producer.ends == 2);
    REQUIRE_REFUSED(invalid_argument, "NULL", attnzoo::tensor::from_dlpack(static_cast<Managed *>(nullptr)));
}

} // namespace

TEST(dlpack_tensors_come_in)
{
    produced<DLManagedTensorVersioned> read_only;
    come_in<DLManagedTensor>();
    read_only.managed.version.major = 1;
    read_only.managed.flags = DLPACK_READ_ONLY_FLAG;
    attnzoo::tensor view = attnzoo::tensor::from_dlpack(&read_only.managed);
    REQUIRE_REFUSED(invalid_argument, "read-only", attnzoo::fill_sinusoidal_positions(view, 0, 1));
}

TEST(versioned_dlpack_tensors_come_in)
{
    produced<DLManagedTensorVersioned> newer;
    newer.managed.version.major = 2;
    REQUIRE_REFUSED(unsupported, "", attnzoo::tensor::from_dlpack(&newer.managed));
    REQUIRE(newer.ends == 0);
    newer.managed.version.major = 1;
    {
        const attnzoo::tensor view = attnzoo::tensor::from_dlpack(&newer.managed);
        REQUIRE(view.size(1) == 2);
    }
    REQUIRE(newer.ends == 1);
}

TEST(dlpack_tensors_keep_their_owner)
{
    auto numbers = std::make_shared<std::vector<float>>(6, 1.0f);
    const std::weak_ptr<std::vector<float>> watch = numbers;
    const void *const data = numbers->data();
    DLManagedTensor *managed = nullptr;
    {
        const attnzoo::tensor view(*numbers, {2, 3});
        managed = view.to_dlpack(std::move(numbers));
    }
    REQUIRE(!watch.expired() && managed->dl_tensor.data == data && managed->dl_tensor.shape[1] == 3);
    managed->deleter(managed);
    REQUIRE(watch.expired());

    auto constant = std::make_shared<const std::vector<float>>(6, 1.0f);
    const std::weak_ptr<const std::vector<float>> constant_watch = constant;
    const attnzoo::const_tensor view(*constant, {6});
    REQUIRE_REFUSED(unsupported, "read-only", static_cast<void>(view.to_dlpack(constant)));
    REQUIRE(constant.use_count() == 1);
    DLManagedTensorVersioned *const versioned = view.to_dlpack_versioned(constant);
    REQUIRE(constant.use_count() == 2 && (versioned->flags & DLPACK_READ_ONLY_FLAG) != 0);
    constant.reset();
    REQUIRE(!constant_watch.expired());
    versioned->deleter(versioned);
    REQUIRE(constant_watch.expired());
}

TEST(dlpack_tensors_tell_when_they_end)
{
    int ends = 0;
    void (*const count)(void *) = [](void *owner) { ++*static_cast<int *>(owner); };
    std::vector<float> numbers(4);
    const attnzoo::tensor view(numbers, {4});
    DLManagedTensor *const managed = view.to_dlpack(&ends, count);
    managed->deleter(managed);
    DLManagedTensorVersioned *const versioned = view.to_dlpack_versioned(&ends, count);
    /* Round and back: the view that takes it over ends it. */
    attnzoo::tensor::from_dlpack(versioned);
    REQUIRE(ends == 2);
    attnzoo::tensor gone(numbers, {4});
    const attnzoo::tensor owner = std::move(gone);
    REQUIRE_REFUSED(invalid_argument, "", static_cast<void>(gone.to_dlpack(&ends, count)));
    REQUIRE(ends == 2);
}
