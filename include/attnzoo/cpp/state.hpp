/*
 * attnzoo/cpp/state.hpp: states. What caches and alignments hold, and how calls continue them, is told by
 * attnzoo/state.h. Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_STATE_HPP
#define ATTNZOO_CPP_STATE_HPP

#include "argument.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace attnzoo
{

class module;

/**
 * What a mechanism carries from one forward call to the next: a key/value cache or an alignment. Moves, and does not copy;
 * copy_from() takes over what another holds. Its module must outlive it, and may move meanwhile.
 *
 * Threads: reading may run beside reading; a call that changes a state must not run beside any other use of it. Since 1.0.
 */
class state : public detail::handle<attnzoo_state, attnzoo_state_destroy>
{
  public:
    /**
     * Makes an empty state for calls of a prepared module. All its memory is allocated here.
     *
     * batch     B of the calls.
     * capacity  the most keys the state can hold; a call that needs more is an error, and changes nothing.
     *
     * Throws error: invalid_argument, bad_state if the module is not prepared, unsupported if the mechanism carries no
     * state. Throws std::bad_alloc. Threads: any. Since 1.0.
     */
    inline state(const module &owner, std::int64_t batch, std::int64_t capacity);

    /** A temporary module would not outlive the state. */
    state(const module &&owner, std::int64_t batch, std::int64_t capacity) = delete;

    /** Takes over a state that the C interface made; nullptr gives an empty handle. Since 1.0. */
    static state adopt(attnzoo_state *owned) noexcept
    {
        return state(owned);
    }

    /** Empties the state, as though it were new: before each new sequence or utterance. Throws error. Since 1.0. */
    void reset()
    {
        check(attnzoo_state_reset(get()));
    }

    /**
     * Forgets all keys of a cache from number length on. Throws error: invalid_argument if length is negative, unsupported
     * if the state is no cache. Since 1.0.
     */
    void truncate(std::int64_t length)
    {
        check(attnzoo_state_truncate(get(), length));
    }

    /**
     * Takes over what another state holds, without allocating. Throws error: invalid_argument if it holds more keys than
     * there is room for, shape_mismatch if the two are not of one kind. When this throws, the state is as it was. Since 1.0.
     */
    void copy_from(const state &source)
    {
        check(attnzoo_state_copy(get(), source.get()));
    }

    /** How many keys the state holds; -1 if the handle is empty. Since 1.0. */
    std::int64_t length() const noexcept
    {
        return attnzoo_state_length(get());
    }

    /** The most keys the state can hold; -1 if the handle is empty. Since 1.0. */
    std::int64_t capacity() const noexcept
    {
        return attnzoo_state_capacity(get());
    }

    /** B of the calls that the state serves; -1 if the handle is empty. Since 1.0. */
    std::int64_t batch() const noexcept
    {
        return attnzoo_state_batch(get());
    }

    /** The shape of a field as it is now. Throws error (invalid_argument) if there is no such field. Since 1.0. */
    shape field_shape(std::int32_t field) const
    {
        std::int32_t rank = 0;
        std::array<std::int64_t, rank_max> sizes{};
        check(attnzoo_state_field_shape(get(), field, &rank, sizes.data()));
        return shape(sizes.data(), static_cast<std::size_t>(rank));
    }

    /**
     * Copies a field out; values has the shape that field_shape() tells. Throws error: invalid_argument, shape_mismatch,
     * dtype_mismatch, overlap; nothing was written then. Since 1.0.
     */
    void get_field(std::int32_t field, output_argument values) const
    {
        check(attnzoo_state_get_field(get(), field, values.get()));
    }

    /**
     * Replaces what the state holds, all fields at once, by number: set_fields({key, value}). Throws error:
     * invalid_argument, shape_mismatch, dtype_mismatch, unsupported; the state is then as it was. Since 1.0.
     */
    void set_fields(input_arguments fields)
    {
        check(attnzoo_state_set_fields(get(), fields.data(), fields.count()));
    }

  private:
    explicit state(attnzoo_state *owned) noexcept : handle(owned)
    {
    }
};

} // namespace attnzoo

#endif
