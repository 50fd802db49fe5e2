/*
 * attnzoo/cpp/element.hpp: element types, and which memory a view can be made of: pointers, std::vector, std::array,
 * arrays, std::span where there is one, and whatever else has data() and size() of elements. Include attnzoo/attnzoo.hpp
 * instead.
 */
#ifndef ATTNZOO_CPP_ELEMENT_HPP
#define ATTNZOO_CPP_ELEMENT_HPP

#include "error.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif

namespace attnzoo
{

/** The numbers of ATTNZOO_DTYPE_. Since 1.0. */
enum class dtype : std::int32_t {
    float32 = ATTNZOO_DTYPE_FLOAT32,
    /** IEEE 754 binary16. */
    float16 = ATTNZOO_DTYPE_FLOAT16,
    /** The upper half of a float32. */
    bfloat16 = ATTNZOO_DTYPE_BFLOAT16,
    /** ATTNZOO_DTYPE_BOOL: one byte an element, 0 is false, anything else true. */
    boolean = ATTNZOO_DTYPE_BOOL,
    int32 = ATTNZOO_DTYPE_INT32,
    int64 = ATTNZOO_DTYPE_INT64
};

/** Bytes an element of this type takes; 0 for a number that is no element type. Threads: any. Since 1.0. */
inline std::int64_t dtype_size(dtype type) noexcept
{
    return attnzoo_dtype_size(static_cast<std::int32_t>(type));
}

/** The name of an element type, such as "float32"; "unknown" for one that is none. Static. Threads: any. Since 1.0. */
inline std::string_view dtype_name(dtype type) noexcept
{
    return attnzoo_dtype_name(static_cast<std::int32_t>(type));
}

namespace detail
{

/* Characters are integers to C++, and no numbers to anybody. signed char and unsigned char are int8_t and uint8_t. */
template <typename Type>
inline constexpr bool is_character =
#ifdef __cpp_char8_t
    std::is_same_v<Type, char8_t> ||
#endif
    std::is_same_v<Type, char> || std::is_same_v<Type, wchar_t> || std::is_same_v<Type, char16_t> ||
    std::is_same_v<Type, char32_t>;

/* 0 for a type that is not an element type by itself. */
template <typename Element> constexpr dtype standard_dtype() noexcept
{
    constexpr bool is_number = std::is_integral_v<Element> && std::is_signed_v<Element> && !is_character<Element>;
    if constexpr (std::is_same_v<Element, float>)
        return dtype::float32;
    else if constexpr (std::is_same_v<Element, bool> && sizeof(bool) == 1)
        return dtype::boolean;
    else if constexpr (is_number && sizeof(Element) == 4)
        return dtype::int32;
    else if constexpr (is_number && sizeof(Element) == 8)
        return dtype::int64;
    else
        return dtype{};
}

} // namespace detail

/**
 * The dtype of a C++ type: float is float32, bool is boolean, int32_t is int32 and int64_t is int64. Other types have none,
 * and are refused at compile time. A program with a 16-bit type of its own says so by a specialisation:
 *
 *   template <> struct attnzoo::element_type<my_half> {
 *       static constexpr attnzoo::dtype value = attnzoo::dtype::float16;
 *   };
 *
 * Without one, 16-bit numbers kept as uint16_t are shown by naming the dtype where the view is made. Since 1.0.
 */
template <typename Element> struct element_type {
    /** The dtype; dtype{} where there is none. */
    static constexpr dtype value = detail::standard_dtype<Element>();
};

namespace detail
{

/* Where elements lie, and how many there are; a pointer alone does not know that. */
template <typename Element> struct memory {
    static constexpr std::size_t unknown = (std::numeric_limits<std::size_t>::max)();
    Element *data;
    std::size_t count;
};

template <typename Container> struct is_vector_of_bool : std::false_type {
};
template <typename Allocator> struct is_vector_of_bool<std::vector<bool, Allocator>> : std::true_type {
};

/* Whether the elements outlive the object: those of a span are not its own. */
template <typename Container> struct is_span : std::false_type {
};
#ifdef __cpp_lib_span
template <typename Element, std::size_t Extent> struct is_span<std::span<Element, Extent>> : std::true_type {
};
#endif

template <typename Container, typename = void> struct is_contiguous : std::false_type {
};
template <typename Container>
struct is_contiguous<Container, std::void_t<decltype(std::data(std::declval<Container &>())),
                                            decltype(std::size(std::declval<Container &>()))>> : std::true_type {
};

/* Source is deduced as for a forwarding reference, so that temporaries can be told. */
template <typename Source> auto memory_of(Source &&source)
{
    using plain = std::remove_cv_t<std::remove_reference_t<Source>>;
    if constexpr (std::is_null_pointer_v<plain>) {
        return memory<void>{nullptr, memory<void>::unknown};
    } else if constexpr (std::is_pointer_v<plain>) {
        using element = std::remove_pointer_t<plain>;
        return memory<element>{source, memory<element>::unknown};
    } else {
        static_assert(
            !is_vector_of_bool<plain>::value,
            "std::vector<bool> packs its elements into bits, which no view can show; use std::vector<unsigned "
            "char> and attnzoo::dtype::boolean");
        static_assert(std::is_lvalue_reference_v<Source> || is_span<plain>::value,
                      "a view of a temporary container would outlive its memory; give the container a name");
        static_assert(is_contiguous<plain>::value,
                      "a view is made of a pointer, or of a container whose elements lie side by side: std::vector, "
                      "std::array, an array, std::span");
        using element = std::remove_pointer_t<decltype(std::data(source))>;
        static_assert(!std::is_void_v<element>,
                      "a container of void does not tell what its size() counts; give its data(), or a container of "
                      "elements");
        return memory<element>{std::data(source), std::size(source)};
    }
}

/* dtype_size() at compile time; 0 for a number that is none. */
constexpr std::size_t size_of(dtype type) noexcept
{
    switch (type) {
    case dtype::boolean:
        return 1;
    case dtype::float16:
    case dtype::bfloat16:
        return 2;
    case dtype::float32:
    case dtype::int32:
        return 4;
    case dtype::int64:
        return 8;
    }
    return 0;
}

/* The dtype that follows from the memory's own type. */
template <typename Element> constexpr dtype dtype_of() noexcept
{
    using plain = std::remove_cv_t<Element>;
    if constexpr (std::is_void_v<plain>) {
        static_assert(!std::is_void_v<plain>, "void does not tell its element type; name an attnzoo::dtype");
        return dtype{};
    } else {
        static_assert(
            element_type<plain>::value != dtype{},
            "views show float, bool, int32_t and int64_t; for 16-bit numbers kept as uint16_t and booleans kept "
            "as bytes name an attnzoo::dtype, for a type of your own specialise attnzoo::element_type");
        static_assert(sizeof(plain) == size_of(element_type<plain>::value),
                      "attnzoo::element_type gives this type a dtype of another size");
        return element_type<plain>::value;
    }
}

/* Refuses memory that cannot hold elements of a type that was named: its own is another, or of another size. */
template <typename Element> void require_storage(dtype type)
{
    using plain = std::remove_cv_t<Element>;
    if constexpr (!std::is_void_v<plain>) {
        static_assert(!std::is_same_v<plain, double> && !std::is_same_v<plain, long double>,
                      "views show no double; attnzoo computes in float");
        static_assert(std::is_trivially_copyable_v<plain>, "elements of a view are plain memory");
        constexpr dtype own = element_type<plain>::value;
        if (own != dtype{} && own != type)
            throw error(status::dtype_mismatch, "memory of " + std::string(dtype_name(own)) + " cannot be shown as " +
                                                    std::string(dtype_name(type)));
        if (static_cast<std::int64_t>(sizeof(plain)) != dtype_size(type))
            throw error(status::dtype_mismatch, "memory in elements of " + std::to_string(sizeof(plain)) +
                                                    " bytes cannot be shown as " + std::string(dtype_name(type)));
    }
}

} // namespace detail

} // namespace attnzoo

#endif
