/*
 * attnzoo/cpp/introspection.hpp: what mechanisms there are and what each has, and which version of the library runs. All
 * texts are static. Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_INTROSPECTION_HPP
#define ATTNZOO_CPP_INTROSPECTION_HPP

#include "error.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnzoo
{

/** The numbers of ATTNZOO_ITEM_. Since 1.0. */
enum class item : std::int32_t {
    /** The mechanism itself: one item. */
    mechanism = ATTNZOO_ITEM_MECHANISM,
    option = ATTNZOO_ITEM_OPTION,
    parameter = ATTNZOO_ITEM_PARAMETER,
    /** By attnzoo::input place. */
    input = ATTNZOO_ITEM_INPUT,
    /** By attnzoo::output place. */
    output = ATTNZOO_ITEM_OUTPUT,
    /** What the mechanism's states hold, by field number. */
    state = ATTNZOO_ITEM_STATE
};

/** The numbers of ATTNZOO_FIELD_. Since 1.0. */
enum class field : std::int32_t {
    name = ATTNZOO_FIELD_NAME,
    /** One line of English. */
    summary = ATTNZOO_FIELD_SUMMARY,
    /**
     * An option's type: "float", "int", "bool" or "choice". Of an input, output or state "float" (float32, float16 or
     * bfloat16) or "integer" (int32 or int64).
     */
    type = ATTNZOO_FIELD_TYPE,
    /** ATTNZOO_FIELD_DEFAULT: an option's default. */
    default_value = ATTNZOO_FIELD_DEFAULT,
    /** What values an option takes. */
    bounds = ATTNZOO_FIELD_BOUNDS,
    /** A shape, such as "[B, H, N, D]". */
    shape = ATTNZOO_FIELD_SHAPE,
    /** "yes" or "no". */
    required = ATTNZOO_FIELD_REQUIRED,
    /** The papers that a mechanism comes from. */
    source = ATTNZOO_FIELD_SOURCE,
    /** What a mechanism computes. */
    formula = ATTNZOO_FIELD_FORMULA
};

/** The names of all mechanisms, in the order of the library's table. Throws std::bad_alloc. Threads: any. Since 1.0. */
inline std::vector<std::string_view> mechanisms()
{
    std::vector<std::string_view> names;
    const std::int32_t count = attnzoo_mechanism_count();
    for (std::int32_t index = 0; index < count; index++)
        names.emplace_back(attnzoo_mechanism_name(index));
    return names;
}

/**
 * How many items of a kind a mechanism has; for inputs and outputs, one more than the highest place it uses.
 *
 * Throws error (unknown_name) if there is no such mechanism or kind. Throws std::bad_alloc. Threads: any. Since 1.0.
 */
inline std::int32_t item_count(text_argument mechanism, item kind)
{
    const std::int32_t count = attnzoo_item_count(detail::c_text(mechanism).c_str(), static_cast<std::int32_t>(kind));
    if (count < 0)
        throw error(status::unknown_name, "no mechanism \"" + std::string(mechanism.get()) + "\" has items of kind " +
                                              std::to_string(static_cast<std::int32_t>(kind)));
    return count;
}

/**
 * One field of one item of a mechanism; nothing if there is no such mechanism, item or index, the item has no such field,
 * or the mechanism has nothing in that place. Throws std::bad_alloc. Threads: any. Since 1.0.
 */
inline std::optional<std::string_view> item_text(text_argument mechanism, item kind, std::int32_t index, field what)
{
    const char *const text = attnzoo_item_text(detail::c_text(mechanism).c_str(), static_cast<std::int32_t>(kind),
                                               index, static_cast<std::int32_t>(what));
    if (text == nullptr)
        return std::nullopt;
    return text;
}

/**
 * The names of all items of a kind that a mechanism has, by index: "" where it has nothing in that place.
 *
 * Throws error (unknown_name) if there is no such mechanism or kind. Throws std::bad_alloc. Threads: any. Since 1.0.
 */
inline std::vector<std::string_view> item_names(text_argument mechanism, item kind)
{
    std::vector<std::string_view> names;
    const std::int32_t count = item_count(mechanism, kind);
    for (std::int32_t index = 0; index < count; index++)
        names.push_back(item_text(mechanism, kind, index, field::name).value_or(""));
    return names;
}

/** The version of the library that runs, major * 10000 + minor * 100 + patch. Threads: any. Since 1.0. */
inline std::int32_t version_number() noexcept
{
    return attnzoo_version_number();
}

/** The version of the library that runs, such as "1.0.0". Threads: any. Since 1.0. */
inline std::string_view version_string() noexcept
{
    return attnzoo_version_string();
}

/** How the library was built and what it runs on, in one line for people and bug reports. Threads: any. Since 1.0. */
inline std::string_view build_information() noexcept
{
    return attnzoo_build_information();
}

} // namespace attnzoo

#endif
