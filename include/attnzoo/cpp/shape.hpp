/*
 * attnzoo/cpp/shape.hpp: shapes and strides, one number an axis. Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_SHAPE_HPP
#define ATTNZOO_CPP_SHAPE_HPP

#include "element.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace attnzoo
{

/** The most axes a view may have. Since 1.0. */
inline constexpr std::size_t rank_max = ATTNZOO_RANK_MAX;

namespace detail
{

template <typename Number>
inline constexpr bool is_axis_number = std::is_integral_v<Number> && !std::is_same_v<Number, bool> &&
                                       !is_character<Number> && sizeof(Number) <= sizeof(std::int64_t);

template <typename Number> constexpr std::int64_t to_axis_number(Number number)
{
    if constexpr (std::is_unsigned_v<Number> && sizeof(Number) == sizeof(std::int64_t)) {
        if (number > static_cast<Number>((std::numeric_limits<std::int64_t>::max)()))
            throw error(status::invalid_argument,
                        "a size or stride is " + std::to_string(number) + ", which passes 63 bits");
    }
    return static_cast<std::int64_t>(number);
}

template <typename Container, typename = void> struct is_axis_container : std::false_type {
};
template <typename Container>
struct is_axis_container<Container, std::enable_if_t<is_contiguous<const Container>::value>>
    : std::bool_constant<is_axis_number<std::decay_t<decltype(*std::data(std::declval<const Container &>()))>>> {
};

} // namespace detail

/**
 * Up to rank_max numbers, one an axis, outermost first: the shape or the strides of a view. Written {2, 3} where one is
 * expected, or made of a std::vector, std::array or std::span of integers. It holds its numbers itself. Since 1.0.
 */
class axis_numbers
{
  public:
    /** No axes. As strides: compact row-major. */
    constexpr axis_numbers() noexcept = default;

    /**
     * One number an axis, in braces. Throws error (invalid_argument) if there are more than rank_max or one passes 63
     * bits.
     */
    template <typename Number, std::enable_if_t<detail::is_axis_number<Number>, int> = 0>
    axis_numbers(std::initializer_list<Number> numbers) : axis_numbers(numbers.begin(), numbers.size())
    {
    }

    /**
     * One number an axis, of different integer types. A single one takes braces, so that no integer becomes a shape unseen.
     * Throws error (invalid_argument) if one passes 63 bits.
     */
    template <typename... Numbers,
              std::enable_if_t<(sizeof...(Numbers) > 1) && (detail::is_axis_number<Numbers> && ...), int> = 0>
    constexpr axis_numbers(Numbers... numbers) : rank_(sizeof...(Numbers))
    {
        static_assert(sizeof...(Numbers) <= rank_max, "a view has at most attnzoo::rank_max axes");
        std::size_t axis = 0;
        ((numbers_[axis++] = detail::to_axis_number(numbers)), ...);
    }

    /** count numbers from a pointer on. Throws error (invalid_argument) as above. */
    template <typename Number, std::enable_if_t<detail::is_axis_number<Number>, int> = 0>
    axis_numbers(const Number *numbers, std::size_t count) : rank_(count)
    {
        if (rank_ > rank_max)
            throw error(status::invalid_argument,
                        "rank is " + std::to_string(rank_) + ", must be at most " + std::to_string(rank_max));
        for (std::size_t axis = 0; axis < rank_; axis++)
            numbers_[axis] = detail::to_axis_number(numbers[axis]);
    }

    /** The numbers of a container. Throws error (invalid_argument) as above. */
    template <typename Container, std::enable_if_t<detail::is_axis_container<Container>::value, int> = 0>
    axis_numbers(const Container &numbers) : axis_numbers(std::data(numbers), std::size(numbers))
    {
    }

    /** How many axes. */
    constexpr std::size_t size() const noexcept
    {
        return rank_;
    }

    /** How many axes, as the C interface counts them. */
    constexpr std::int32_t rank() const noexcept
    {
        return static_cast<std::int32_t>(rank_);
    }

    /** The number of an axis, which must be below size(). */
    constexpr std::int64_t operator[](std::size_t axis) const noexcept
    {
        return numbers_[axis];
    }

    /** size() numbers. */
    constexpr const std::int64_t *data() const noexcept
    {
        return numbers_.data();
    }

    /** The first number. */
    constexpr const std::int64_t *begin() const noexcept
    {
        return numbers_.data();
    }

    /** Behind the last number. */
    constexpr const std::int64_t *end() const noexcept
    {
        return numbers_.data() + rank_;
    }

    /** Whether there are as many numbers on both sides, and the same. */
    friend constexpr bool operator==(const axis_numbers &left, const axis_numbers &right) noexcept
    {
        if (left.rank_ != right.rank_)
            return false;
        for (std::size_t axis = 0; axis < left.rank_; axis++) {
            if (left.numbers_[axis] != right.numbers_[axis])
                return false;
        }
        return true;
    }

    /** Whether the numbers differ. */
    friend constexpr bool operator!=(const axis_numbers &left, const axis_numbers &right) noexcept
    {
        return !(left == right);
    }

  private:
    std::array<std::int64_t, rank_max> numbers_{};
    std::size_t rank_ = 0;
};

/** Sizes of axes, outermost first; 0 is legal. Since 1.0. */
using shape = axis_numbers;

/** Steps in elements between neighbours along each axis; zero repeats, negative runs backwards. None: compact. Since 1.0. */
using strides = axis_numbers;

/** "[2, 3]". Throws std::bad_alloc. Since 1.0. */
inline std::string to_string(const axis_numbers &numbers)
{
    std::string text = "[";
    for (const std::int64_t number : numbers)
        text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    return text + "]";
}

/**
 * How many elements a shape has, the product of its sizes: what to allocate for an output. 1 where it has no axes.
 *
 * Throws error (invalid_argument) if a size is negative or the product passes std::size_t. Since 1.0.
 */
inline std::size_t element_count(const shape &sizes)
{
    std::size_t count = 1, product = 1;
    for (const std::int64_t size : sizes) {
        const auto factor = static_cast<std::size_t>(size);
        if (size < 0 || static_cast<std::uint64_t>(size) > (std::numeric_limits<std::size_t>::max)() ||
            (factor != 0 && product > (std::numeric_limits<std::size_t>::max)() / factor))
            throw error(status::invalid_argument, "the shape " + to_string(sizes) + " has no number of elements");
        count *= factor;
        product *= factor == 0 ? 1 : factor;
    }
    return count;
}

namespace detail
{

/* Whether count elements from index 0 of every axis on are room for a view. What is wrong with the shape itself is
 * for the C interface to say, so a negative size has room. Nothing here can overflow. */
inline bool has_room(std::size_t count, const shape &sizes, const strides &steps) noexcept
{
    std::uint64_t last = 0;
    for (const std::int64_t size : sizes) {
        if (size <= 0)
            return true;
    }
    for (std::size_t axis = 0; axis < sizes.size(); axis++) {
        const auto moves = static_cast<std::uint64_t>(sizes[axis] - 1);
        if (moves == 0 || steps[axis] == 0)
            continue;
        if (steps[axis] < 0 || count == 0 || moves > (count - 1 - last) / static_cast<std::uint64_t>(steps[axis]))
            return false;
        last += moves * static_cast<std::uint64_t>(steps[axis]);
    }
    return count > last;
}

/* Whether these are the strides that a view has which was given none. Only for those of a view, whose products fit. */
inline bool is_compact(const shape &sizes, const strides &steps) noexcept
{
    std::int64_t step = 1;
    for (std::size_t axis = sizes.size(); axis > 0; axis--) {
        if (sizes[axis - 1] != 1 && steps[axis - 1] != step)
            return false;
        step *= sizes[axis - 1] == 0 ? 1 : sizes[axis - 1];
    }
    return true;
}

/* Whether a compact view has exactly count elements, or is none that the C interface would take. */
inline bool fills(std::size_t count, const shape &sizes) noexcept
{
    std::uint64_t product = 1;
    if (sizes.size() == 0)
        return true;
    for (const std::int64_t size : sizes) {
        if (size < 0)
            return true;
        if (size == 0)
            return count == 0;
    }
    for (const std::int64_t size : sizes) {
        if (static_cast<std::uint64_t>(size) > count / product)
            return false;
        product *= static_cast<std::uint64_t>(size);
    }
    return product == count;
}

} // namespace detail

} // namespace attnzoo

#endif
