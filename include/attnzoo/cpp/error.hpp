/*
 * attnzoo/cpp/error.hpp: what the C++ interface throws. Include attnzoo/attnzoo.hpp instead.
 *
 * A status that is not OK becomes an exception, with the library's message fetched on the thread that made the call.
 * OUT_OF_MEMORY becomes attnzoo::out_of_memory, a std::bad_alloc, since whoever handles memory handles that; every other
 * one becomes attnzoo::error.
 */
#ifndef ATTNZOO_CPP_ERROR_HPP
#define ATTNZOO_CPP_ERROR_HPP

#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS) && !defined(_CPPUNWIND)
#error "attnzoo/attnzoo.hpp needs exceptions; without them use the C interface, attnzoo/attnzoo.h"
#endif

#include "../attnzoo.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace attnzoo
{

/** The numbers of attnzoo_status. A later library may return others. Since 1.0. */
enum class status : std::int32_t {
    ok = ATTNZOO_STATUS_OK,
    invalid_argument = ATTNZOO_STATUS_INVALID_ARGUMENT,
    shape_mismatch = ATTNZOO_STATUS_SHAPE_MISMATCH,
    dtype_mismatch = ATTNZOO_STATUS_DTYPE_MISMATCH,
    unsupported = ATTNZOO_STATUS_UNSUPPORTED,
    out_of_memory = ATTNZOO_STATUS_OUT_OF_MEMORY,
    bad_state = ATTNZOO_STATUS_BAD_STATE,
    unknown_name = ATTNZOO_STATUS_UNKNOWN_NAME,
    overlap = ATTNZOO_STATUS_OVERLAP,
    system = ATTNZOO_STATUS_SYSTEM
};

/** The name of a status, such as "shape mismatch"; "unknown status" for one that is none. Static. Threads: any. Since 1.0. */
inline std::string_view status_name(status code) noexcept
{
    return attnzoo_status_name(static_cast<attnzoo_status>(code));
}

/** A call that failed. what() is one line of English: the thing, its numbers and the rule. Since 1.0. */
class error : public std::runtime_error
{
  public:
    /** Throws std::bad_alloc if the message cannot be kept. */
    error(attnzoo::status code, const std::string &message) : std::runtime_error(message), code_(code)
    {
    }

    /** Which kind of error; never ok and never out_of_memory where the library threw it. */
    attnzoo::status status() const noexcept
    {
        return code_;
    }

  private:
    attnzoo::status code_;
};

/** A call that failed for want of memory. Throwing and copying it takes none. Since 1.0. */
class out_of_memory : public std::bad_alloc
{
  public:
    /** Keeps as much of the message as there is room for. */
    explicit out_of_memory(std::string_view message) noexcept
    {
        message.copy(text_.data(), text_.size() - 1);
    }

    /** The library's message, as attnzoo_last_error() told it. */
    const char *what() const noexcept override
    {
        return text_.data();
    }

    /** status::out_of_memory. */
    attnzoo::status status() const noexcept
    {
        return attnzoo::status::out_of_memory;
    }

  private:
    std::array<char, 256> text_{};
};

/**
 * Throws what a status means, and does nothing for OK. For functions of the C interface called with the get() of a handle;
 * it must be the next thing on the thread that made the call, for the message to be that call's.
 *
 * Throws attnzoo::out_of_memory or attnzoo::error. Threads: any. Since 1.0.
 */
inline void check(attnzoo_status result)
{
    if (result == ATTNZOO_STATUS_OK)
        return;
    if (result == ATTNZOO_STATUS_OUT_OF_MEMORY)
        throw out_of_memory(attnzoo_last_error());
    throw error(static_cast<status>(result), attnzoo_last_error());
}

/**
 * What a function takes as a name or a text: std::string_view and whatever becomes one, such as "num_heads". A const char *
 * that is null, as std::getenv() may give, is no text, and throws error (invalid_argument). Since 1.0.
 */
class text_argument
{
  public:
    /** Throws error (invalid_argument) for a null pointer. */
    template <typename Text,
              std::enable_if_t<std::is_convertible_v<const Text &, std::string_view> && !std::is_null_pointer_v<Text>,
                               int> = 0>
    text_argument(const Text &text) : text_(view_of(text))
    {
    }

    /** The text. */
    std::string_view get() const noexcept
    {
        return text_;
    }

  private:
    template <typename Text> static std::string_view view_of(const Text &text)
    {
        if constexpr (std::is_pointer_v<Text>) {
            if (text == nullptr)
                throw error(status::invalid_argument, "a text is NULL");
        }
        return text;
    }

    std::string_view text_;
};

namespace detail
{

/* A name that the C interface can read: std::string_view need not end with a NUL, and must not hold one. */
inline std::string c_text(const text_argument &given)
{
    const std::string_view text = given.get();
    if (text.find('\0') != std::string_view::npos)
        throw error(status::invalid_argument,
                    "a text holds a NUL character: \"" + std::string(text.data()) + "\" and more");
    return std::string(text);
}

} // namespace detail

} // namespace attnzoo

#endif
