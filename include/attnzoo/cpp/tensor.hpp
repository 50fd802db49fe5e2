/*
 * attnzoo/cpp/tensor.hpp: tensor views. A view describes memory that the caller owns; it never copies or frees it, but
 * that a view made of a DLPack tensor owns that tensor. Include attnzoo/attnzoo.hpp instead.
 *
 *   std::vector<float> numbers(6);
 *   attnzoo::tensor context(numbers, {2, 3});                             float32, may be written
 *   attnzoo::const_tensor query(numbers, {2, 3});                         float32, only read
 *   attnzoo::const_tensor column(numbers.data(), {2}, {3});               any strides
 *   attnzoo::const_tensor half(bits, attnzoo::dtype::float16, {2, 3});    bits: a container or pointer of uint16_t
 *
 * A container's size is checked against the shape: a compact view shows all of it, a view with strides stays inside it. For
 * a part of a container, or strides that run backwards, give a pointer to the element at index 0 of every axis. What a
 * pointer points at cannot be checked.
 *
 * The memory must stay where it is as long as the view is used: a vector that grows, moves or ends leaves its views
 * dangling. Temporary containers are refused at compile time, as are std::vector<bool> (its elements are bits), types
 * that no tensor has, and const memory for a view that may be written.
 */
#ifndef ATTNZOO_CPP_TENSOR_HPP
#define ATTNZOO_CPP_TENSOR_HPP

#include "handle.hpp"
#include "shape.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace attnzoo
{

namespace detail
{

/* Refuses strides that do not belong to the shape, and containers that the view would not fit. */
template <typename Element> void require_room(const memory<Element> &storage, const shape &sizes, const strides &steps)
{
    if (steps.size() != 0 && steps.size() != sizes.size())
        throw error(status::invalid_argument, "the shape " + to_string(sizes) + " and the strides " + to_string(steps) +
                                                  " do not have the same number of axes");
    if (storage.count == memory<Element>::unknown)
        return;
    if (steps.size() == 0 && !fills(storage.count, sizes))
        throw error(status::shape_mismatch, "a container of " + std::to_string(storage.count) +
                                                " elements is not what the shape " + to_string(sizes) + " takes");
    if (steps.size() != 0 && !has_room(storage.count, sizes, steps))
        throw error(status::shape_mismatch, "a container of " + std::to_string(storage.count) +
                                                " elements has no room for the shape " + to_string(sizes) +
                                                " with the strides " + to_string(steps));
}

inline const std::int64_t *data_or_null(const strides &steps) noexcept
{
    return steps.size() == 0 ? nullptr : steps.data();
}

} // namespace detail

/**
 * A view of memory, as tensor (may be written) or const_tensor (is only read). Both serve as inputs, only a tensor as an
 * output. It moves and does not copy; moving it moves no element. That a view is const means that it will not be
 * pointed elsewhere, so a const tensor is no output. Since 1.0.
 */
template <bool Writable> class basic_tensor : public detail::handle<attnzoo_tensor, attnzoo_tensor_destroy>
{
    using memory_pointer = std::conditional_t<Writable, void *, const void *>;

  public:
    /**
     * A view of memory whose element type tells the dtype: float, bool, int32_t, int64_t, or what
     * attnzoo::element_type has been specialised for.
     *
     * source  a pointer to the element at index 0 of every axis, or an lvalue of a container with data() and size(), or
     *         a std::span. Its elements are const only for a const_tensor.
     * sizes   the shape, 1 to rank_max axes.
     * steps   the strides in elements; none means compact row-major.
     *
     * Throws error: shape_mismatch if a container does not fit; what attnzoo_tensor_create() refuses, which does not take
     * data that are misaligned or NULL; invalid_argument if strides and shape differ in rank. Throws std::bad_alloc.
     * Threads: any. Since 1.0.
     */
    template <typename Source>
    basic_tensor(Source &&source, const attnzoo::shape &sizes, const attnzoo::strides &steps = {})
        : handle(describe(detail::memory_of<Source>(std::forward<Source>(source)), sizes, steps))
    {
    }

    /**
     * A view of memory whose element type is named: uint16_t as dtype::float16 or dtype::bfloat16, bytes (unsigned char,
     * char, std::byte) as dtype::boolean, or void * as anything; nullptr where there are no elements.
     *
     * As the constructor above; throws error (dtype_mismatch) if the memory's elements are of another size or have a dtype of
     * their own that differs. Since 1.0.
     */
    template <typename Source>
    basic_tensor(Source &&source, attnzoo::dtype type, const attnzoo::shape &sizes, const attnzoo::strides &steps = {})
        : handle(describe(detail::memory_of<Source>(std::forward<Source>(source)), type, sizes, steps))
    {
    }

    basic_tensor(basic_tensor &&) noexcept = default;
    basic_tensor &operator=(basic_tensor &&) noexcept = default;

    /** Makes a const_tensor of a tensor, which is then empty. */
    template <bool Other, std::enable_if_t<Other && !Writable, int> = 0>
    basic_tensor(basic_tensor<Other> &&other) noexcept : handle(other.release())
    {
    }

    /**
     * Takes over a view that the C interface made; nullptr gives an empty one. As a tensor it should be writable: if it is
     * not, using it as an output is an invalid_argument error. Since 1.0.
     */
    static basic_tensor adopt(attnzoo_tensor *owned) noexcept
    {
        return basic_tensor(owned);
    }

    /**
     * Makes a view of a DLPack tensor and takes that over, as attnzoo_tensor_create_from_dlpack() says: its deleter runs
     * once, when the view ends or is described anew. When this throws, managed is still the caller's. A mask keeps no hold on
     * such a view: it must live as long as the mask uses it. Since 1.0.
     */
    static basic_tensor from_dlpack(DLManagedTensor *managed)
    {
        return basic_tensor(detail::create(attnzoo_tensor_create_from_dlpack, managed));
    }

    /**
     * As above, of a versioned DLPack tensor. If its flags say read-only, using the view as an output is an
     * invalid_argument error, tensor or not. Since 1.0.
     */
    static basic_tensor from_dlpack(DLManagedTensorVersioned *managed)
    {
        return basic_tensor(detail::create(attnzoo_tensor_create_from_dlpack_versioned, managed));
    }

    /**
     * Makes a DLPack tensor of the memory, which must hold until release_owner(owner) is called by its deleter; so
     * attnzoo_tensor_to_dlpack() says. It belongs to the caller, who hands it to a consumer or runs its deleter.
     *
     * Throws error (unsupported) for a const_tensor, since this structure cannot say read-only. Since 1.0.
     */
    [[nodiscard]] DLManagedTensor *to_dlpack(void *owner, void (*release_owner)(void *owner)) const
    {
        return detail::create(attnzoo_tensor_to_dlpack, get(), owner, release_owner);
    }

    /** As above, keeping a share of the memory's owner until the deleter runs. Throws std::bad_alloc. Since 1.0. */
    template <typename Owner> [[nodiscard]] DLManagedTensor *to_dlpack(std::shared_ptr<Owner> owner) const
    {
        return share(attnzoo_tensor_to_dlpack, std::move(owner));
    }

    /** As to_dlpack(), versioned: its flags say read-only for a const_tensor. Since 1.0. */
    [[nodiscard]] DLManagedTensorVersioned *to_dlpack_versioned(void *owner, void (*release_owner)(void *owner)) const
    {
        return detail::create(attnzoo_tensor_to_dlpack_versioned, get(), owner, release_owner);
    }

    /** As above, keeping a share of the memory's owner until the deleter runs. Throws std::bad_alloc. Since 1.0. */
    template <typename Owner>
    [[nodiscard]] DLManagedTensorVersioned *to_dlpack_versioned(std::shared_ptr<Owner> owner) const
    {
        return share(attnzoo_tensor_to_dlpack_versioned, std::move(owner));
    }

    /**
     * Describes the view anew, in all its parts, without allocating; parameters and errors as the constructors'. When
     * this throws, the view is as it was. Threads: not beside any other use of this view. Since 1.0.
     */
    template <typename Source>
    void assign(Source &&source, const attnzoo::shape &sizes, const attnzoo::strides &steps = {})
    {
        const auto storage = detail::memory_of<Source>(std::forward<Source>(source));
        assign_memory(storage, detail::dtype_of<std::remove_pointer_t<decltype(storage.data)>>(), sizes, steps);
    }

    /** As above, with the element type named. Since 1.0. */
    template <typename Source>
    void assign(Source &&source, attnzoo::dtype type, const attnzoo::shape &sizes, const attnzoo::strides &steps = {})
    {
        assign_memory(detail::memory_of<Source>(std::forward<Source>(source)), type, sizes, steps);
    }

    /**
     * Points the view at other memory of the same dtype, shape and strides, without allocating. source and errors as
     * the constructors'; where the strides are compact, written out or not, a container must have just as many elements.
     * Throws error (dtype_mismatch) if the memory's elements are of another type. When this throws, the view is as it was. Threads: not beside any other use of this view. Since 1.0.
     */
    template <typename Source> void set_data(Source &&source)
    {
        const auto storage = detail::memory_of<Source>(std::forward<Source>(source));
        if (*this) {
            detail::require_storage<std::remove_pointer_t<decltype(storage.data)>>(dtype());
            const attnzoo::shape sizes = shape();
            const attnzoo::strides steps = strides();
            detail::require_room(storage, sizes, detail::is_compact(sizes, steps) ? attnzoo::strides() : steps);
        }
        if constexpr (Writable)
            check(attnzoo_tensor_set_data(get(), writable(storage.data)));
        else
            check(attnzoo_tensor_set_readonly_data(get(), storage.data));
    }

    /** The element type; a number that is none if the view is empty. Threads: any. Since 1.0. */
    attnzoo::dtype dtype() const noexcept
    {
        return static_cast<attnzoo::dtype>(attnzoo_tensor_dtype(get()));
    }

    /** The number of axes; 0 if the view is empty. Threads: any. Since 1.0. */
    std::int32_t rank() const noexcept
    {
        return attnzoo_tensor_rank(get());
    }

    /** The size of an axis, 0 the outermost; -1 if there is no such axis. Threads: any. Since 1.0. */
    std::int64_t size(std::int32_t axis) const noexcept
    {
        return attnzoo_tensor_size(get(), axis);
    }

    /** The stride of an axis in elements; 0 if there is no such axis. Threads: any. Since 1.0. */
    std::int64_t stride(std::int32_t axis) const noexcept
    {
        return attnzoo_tensor_stride(get(), axis);
    }

    /** The sizes of all axes. Threads: any. Since 1.0. */
    attnzoo::shape shape() const
    {
        return axes(attnzoo_tensor_size);
    }

    /** The strides of all axes. Threads: any. Since 1.0. */
    attnzoo::strides strides() const
    {
        return axes(attnzoo_tensor_stride);
    }

    /** How many elements the view has, the product of its sizes; 0 if it is empty. Threads: any. Since 1.0. */
    std::int64_t element_count() const noexcept
    {
        return attnzoo_tensor_element_count(get());
    }

    /** The memory that the view shows, at index 0 of every axis; nullptr if the view is empty. Threads: any. Since 1.0. */
    const void *data() const noexcept
    {
        return attnzoo_tensor_data(get());
    }

  private:
    explicit basic_tensor(attnzoo_tensor *owned) noexcept : handle(owned)
    {
    }

    template <typename Element> static memory_pointer writable(Element *data) noexcept
    {
        static_assert(!Writable || !std::is_const_v<Element>,
                      "const memory cannot be shown by a tensor, which may be written; use attnzoo::const_tensor");
        if constexpr (!Writable || !std::is_const_v<Element>)
            return data;
        else
            return nullptr;
    }

    template <typename Element>
    static attnzoo_tensor *describe(const detail::memory<Element> &storage, const attnzoo::shape &sizes,
                                    const attnzoo::strides &steps)
    {
        return describe(storage, detail::dtype_of<Element>(), sizes, steps);
    }

    template <typename Element>
    static attnzoo_tensor *describe(const detail::memory<Element> &storage, attnzoo::dtype type,
                                    const attnzoo::shape &sizes, const attnzoo::strides &steps)
    {
        detail::require_storage<Element>(type);
        detail::require_room(storage, sizes, steps);
        const auto number = static_cast<std::int32_t>(type);
        const std::int64_t *const step = detail::data_or_null(steps);
        if constexpr (Writable)
            return detail::create(attnzoo_tensor_create, writable(storage.data), number, sizes.rank(), sizes.data(),
                                  step);
        else
            return detail::create(attnzoo_tensor_create_readonly, writable(storage.data), number, sizes.rank(),
                                  sizes.data(), step);
    }

    template <typename Element>
    void assign_memory(const detail::memory<Element> &storage, attnzoo::dtype type, const attnzoo::shape &sizes,
                       const attnzoo::strides &steps)
    {
        detail::require_storage<Element>(type);
        detail::require_room(storage, sizes, steps);
        const auto number = static_cast<std::int32_t>(type);
        const std::int64_t *const step = detail::data_or_null(steps);
        if constexpr (Writable)
            check(attnzoo_tensor_assign(get(), writable(storage.data), number, sizes.rank(), sizes.data(), step));
        else
            check(attnzoo_tensor_assign_readonly(get(), storage.data, number, sizes.rank(), sizes.data(), step));
    }

    axis_numbers axes(std::int64_t (*number)(const attnzoo_tensor *, std::int32_t)) const
    {
        std::array<std::int64_t, rank_max> numbers{};
        for (std::int32_t axis = 0; axis < rank(); axis++)
            numbers[static_cast<std::size_t>(axis)] = number(get(), axis);
        return axis_numbers(numbers.data(), static_cast<std::size_t>(rank()));
    }

    /* The C interface calls release only where it made a DLPack tensor, so until then the share is held here. */
    template <typename Managed, typename Owner>
    Managed *share(attnzoo_status (*function)(Managed **, const attnzoo_tensor *, void *, void (*)(void *)),
                   std::shared_ptr<Owner> owner) const
    {
        auto kept = std::make_unique<std::shared_ptr<Owner>>(std::move(owner));
        void (*const end_share)(void *) = [](void *held) { delete static_cast<std::shared_ptr<Owner> *>(held); };
        Managed *const managed = detail::create(function, get(), static_cast<void *>(kept.get()), end_share);
        static_cast<void>(kept.release());
        return managed;
    }
};

/** A view of memory that may be written. Since 1.0. */
using tensor = basic_tensor<true>;

/** A view of memory that is only read. Since 1.0. */
using const_tensor = basic_tensor<false>;

} // namespace attnzoo

#endif
