/*
 * attnzoo/cpp/argument.hpp: how views are handed to functions: one by one, or by place. Views themselves are in
 * tensor.hpp. Include attnzoo/attnzoo.hpp instead.
 *
 * An argument is made where a function is called, and ends with the call, so that what it refers to may be a temporary. What
 * has a name and is kept (input_view, input_views and the same for outputs) is made of views that have names, too: a
 * temporary would be gone when it is used, and does not compile.
 */
#ifndef ATTNZOO_CPP_ARGUMENT_HPP
#define ATTNZOO_CPP_ARGUMENT_HPP

#include "tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace attnzoo
{

/**
 * A view as an input, to be kept: made of a tensor or a const_tensor that has a name, or of nullptr for none. It holds a
 * reference; the view may move, but must live as long as this is used. Since 1.0.
 */
class input_view
{
  public:
    /** Throws error (invalid_argument) if the view was moved from or released. */
    template <bool Writable> input_view(const basic_tensor<Writable> &view) : raw_(detail::optional(&view, "view"))
    {
    }

    /** A temporary view would not outlive this. */
    template <bool Writable> input_view(const basic_tensor<Writable> &&view) = delete;

    /** No view. */
    input_view(std::nullptr_t) noexcept
    {
    }

    /** The view, for functions of the C interface. */
    const attnzoo_tensor *get() const noexcept
    {
        return raw_;
    }

  private:
    const attnzoo_tensor *raw_ = nullptr;
};

/** A view as an output, to be kept: made of a tensor that has a name, or of nullptr for none. As input_view. Since 1.0. */
class output_view
{
  public:
    /** Throws error (invalid_argument) if the view was moved from or released. */
    output_view(tensor &view) : raw_(detail::optional(&view, "view"))
    {
    }

    /** A temporary view would not outlive this. */
    output_view(tensor &&view) = delete;

    /** No view. */
    output_view(std::nullptr_t) noexcept
    {
    }

    /** Only a tensor may be written. */
    output_view(const const_tensor &view) = delete;

    /** The view, for functions of the C interface. */
    attnzoo_tensor *get() const noexcept
    {
        return raw_;
    }

  private:
    attnzoo_tensor *raw_ = nullptr;
};

/**
 * What a function takes as an input: a tensor or a const_tensor, temporaries included, an input_view, or nullptr for none.
 * It is for the time of the call alone; what is kept is an input_view. Since 1.0.
 */
class input_argument
{
  public:
    /** Throws error (invalid_argument) if the view was moved from or released. */
    template <bool Writable> input_argument(const basic_tensor<Writable> &view) : raw_(detail::optional(&view, "view"))
    {
    }

    /** The same view. */
    input_argument(const input_view &view) noexcept : raw_(view.get())
    {
    }

    /** No view. */
    input_argument(std::nullptr_t) noexcept
    {
    }

    input_argument(const input_argument &) = delete;
    input_argument &operator=(const input_argument &) = delete;

    /** The view, for functions of the C interface. */
    const attnzoo_tensor *get() const noexcept
    {
        return raw_;
    }

  private:
    const attnzoo_tensor *raw_ = nullptr;
};

/**
 * What a function takes as an output: a tensor, temporaries included, an output_view, or nullptr for none. As
 * input_argument. Since 1.0.
 */
class output_argument
{
  public:
    /** Throws error (invalid_argument) if the view was moved from or released. */
    output_argument(tensor &view) : raw_(detail::optional(&view, "view"))
    {
    }

    /** As above. */
    output_argument(tensor &&view) : raw_(detail::optional(&view, "view"))
    {
    }

    /** The same view. */
    output_argument(const output_view &view) noexcept : raw_(view.get())
    {
    }

    /** No view. */
    output_argument(std::nullptr_t) noexcept
    {
    }

    /** Only a tensor may be written. */
    output_argument(const const_tensor &view) = delete;

    output_argument(const output_argument &) = delete;
    output_argument &operator=(const output_argument &) = delete;

    /** The view, for functions of the C interface. */
    attnzoo_tensor *get() const noexcept
    {
        return raw_;
    }

  private:
    attnzoo_tensor *raw_ = nullptr;
};

namespace detail
{

/* Views by place, in the form in which the C interface takes them. */
template <typename View, typename Raw> class views
{
  public:
    views() noexcept = default;

    views(std::initializer_list<View> by_place)
    {
        raw_.reserve(by_place.size());
        for (const View &view : by_place)
            raw_.push_back(view.get());
    }

    /** Sets the view in a place, such as attnzoo::input::position; nullptr for none. Throws std::bad_alloc. */
    template <typename Place> void set(Place place, View view)
    {
        const auto number = static_cast<std::int64_t>(place);
        if (number < 0 || number >= static_cast<std::int64_t>(places_max))
            throw error(status::invalid_argument, "no view has the place " + std::to_string(number));
        const auto index = static_cast<std::size_t>(number);
        if (index >= raw_.size())
            raw_.resize(index + 1, nullptr);
        raw_[index] = view.get();
    }

    /** [count()] views, for functions of the C interface. */
    Raw *const *data() const noexcept
    {
        return raw_.data();
    }

    /** How many places there are. */
    std::int32_t count() const noexcept
    {
        return static_cast<std::int32_t>(raw_.size());
    }

  private:
    /* Far more than any mechanism has, and what keeps a wrong number from taking memory. */
    static constexpr std::size_t places_max = 1024;

    std::vector<Raw *> raw_{};
};

/* Views by place for the time of one call: written in braces there, or those that were kept. */
template <typename Argument, typename Kept, typename Raw> class arguments
{
  public:
    arguments() noexcept = default;

    arguments(std::initializer_list<Argument> by_place)
    {
        raw_.reserve(by_place.size());
        for (const Argument &argument : by_place)
            raw_.push_back(argument.get());
        data_ = raw_.data();
        count_ = static_cast<std::int32_t>(raw_.size());
    }

    arguments(const Kept &kept) noexcept : data_(kept.data()), count_(kept.count())
    {
    }

    arguments(const arguments &) = delete;
    arguments &operator=(const arguments &) = delete;

    /** [count()] views, for functions of the C interface. */
    Raw *const *data() const noexcept
    {
        return data_;
    }

    /** How many places there are. */
    std::int32_t count() const noexcept
    {
        return count_;
    }

  private:
    std::vector<Raw *> raw_{};
    Raw *const *data_ = nullptr;
    std::int32_t count_ = 0;
};

} // namespace detail

/**
 * Inputs by place, to be kept for many calls: {query, key, value, position}, with nullptr where there is none, or by set().
 * It holds references to views that have names. Also the fields of a state, by number. Since 1.0.
 */
using input_views = detail::views<input_view, const attnzoo_tensor>;

/** Outputs by place, to be kept: {context, nullptr, log_sum_exp}. As input_views. Since 1.0. */
using output_views = detail::views<output_view, attnzoo_tensor>;

/**
 * What a function takes as inputs by place: {query, key, value, position} written where it is called, temporaries included,
 * or input_views. Since 1.0.
 */
using input_arguments = detail::arguments<input_argument, input_views, const attnzoo_tensor>;

/** What a function takes as outputs by place. As input_arguments. Since 1.0. */
using output_arguments = detail::arguments<output_argument, output_views, attnzoo_tensor>;

} // namespace attnzoo

#endif
