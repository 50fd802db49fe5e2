/*
 * attnzoo/cpp/handle.hpp: what the owning classes have in common. Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_HANDLE_HPP
#define ATTNZOO_CPP_HANDLE_HPP

#include "error.hpp"

#include <memory>
#include <string>

namespace attnzoo
{

namespace detail
{

/**
 * Owns one handle of the C interface, and destroys it. Moves, and does not copy.
 *
 * What was moved from or released owns nothing: get() is nullptr, and calls on it are errors of status
 * invalid_argument, as those of the C interface with NULL are. It may be destroyed, assigned to and moved again.
 */
template <typename Raw, auto Destroy> class handle
{
  public:
    /** The handle, for functions of the C interface; still owned. nullptr where there is none. */
    Raw *get() noexcept
    {
        return raw_.get();
    }

    /** The handle, for functions of the C interface that only read it. nullptr where there is none. */
    const Raw *get() const noexcept
    {
        return raw_.get();
    }

    /** Gives the handle away: the caller has to destroy it by the C interface, or have it adopted. */
    [[nodiscard]] Raw *release() noexcept
    {
        return raw_.release();
    }

    /** Whether there is a handle. */
    explicit operator bool() const noexcept
    {
        return raw_ != nullptr;
    }

  protected:
    /** Takes a handle over. */
    explicit handle(Raw *owned) noexcept : raw_(owned)
    {
    }

    handle(handle &&) noexcept = default;
    handle &operator=(handle &&) noexcept = default;
    ~handle() = default;

  private:
    struct destroyer {
        void operator()(Raw *raw) const noexcept
        {
            Destroy(raw);
        }
    };

    std::unique_ptr<Raw, destroyer> raw_;
};

/* What a call may have or do without: nullptr is none. An empty handle is refused, which would pass for none. */
template <typename Handle> auto optional(Handle *given, const char *what) -> decltype(given->get())
{
    if (given == nullptr)
        return nullptr;
    if (!*given)
        throw error(status::invalid_argument, std::string("the ") + what + " was moved from or released");
    return given->get();
}

/* Makes a handle by a function of the C interface that stores it where its first argument points. */
template <typename Raw, typename... Parameters, typename... Arguments>
Raw *create(attnzoo_status (*function)(Raw **, Parameters...), Arguments... arguments)
{
    Raw *made = nullptr;
    check(function(&made, arguments...));
    return made;
}

} // namespace detail

} // namespace attnzoo

#endif
