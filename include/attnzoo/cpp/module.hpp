/*
 * attnzoo/cpp/module.hpp: modules and their calls. What each mechanism computes, and of which shapes, is told by
 * attnzoo/module.h. Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_MODULE_HPP
#define ATTNZOO_CPP_MODULE_HPP

/* First: attnzoo.hpp says why. */
#include "introspection.hpp"

#include "argument.hpp"
#include "executor.hpp"
#include "mask.hpp"
#include "state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace attnzoo
{

/** The numbers of ATTNZOO_INPUT_: places in input_views. Since 1.0. */
enum class input : std::int32_t {
    query = ATTNZOO_INPUT_QUERY,
    key = ATTNZOO_INPUT_KEY,
    value = ATTNZOO_INPUT_VALUE,
    /** relative_multi_head, flavor=transformer_xl: the table of positions, [P, E] or [B, P, E]. */
    position = ATTNZOO_INPUT_POSITION,
    /** multi_head with rotary positions: where each query of the call stands, integers [B, N]. */
    query_positions = ATTNZOO_INPUT_QUERY_POSITIONS,
    /** The same for its keys, integers [B, M]. */
    key_positions = ATTNZOO_INPUT_KEY_POSITIONS,
    /** hard, select=sample: one integer, [1], which tells what is drawn. */
    seed = ATTNZOO_INPUT_SEED
};

/** The numbers of ATTNZOO_OUTPUT_: places in output_views. Since 1.0. */
enum class output : std::int32_t {
    context = ATTNZOO_OUTPUT_CONTEXT,
    attention = ATTNZOO_OUTPUT_ATTENTION,
    /** The natural logarithm of the sum of exp(score) over the keys that a query sees. */
    log_sum_exp = ATTNZOO_OUTPUT_LOG_SUM_EXP,
    /** hard: the number of the key that was chosen, integers. */
    index = ATTNZOO_OUTPUT_INDEX,
    /** hard: the natural logarithm of the probability that the key had which was chosen. */
    log_probability = ATTNZOO_OUTPUT_LOG_PROBABILITY,
    /** hard: the entropy of the probabilities that the key was chosen by, in nats. */
    entropy = ATTNZOO_OUTPUT_ENTROPY
};

/**
 * What a call has beside its views, each of which may be nullptr: {&causal}, {&causal, &cache}, {nullptr, nullptr, &pool},
 * or in C++20 {.executor = &pool}. Since 1.0.
 */
struct call {
    /** What may be seen, and biases; none hides nothing. */
    const attnzoo::mask *mask = nullptr;
    /** Carried from call to call; none for a call by itself. */
    attnzoo::state *state = nullptr;
    /** Threads and scratch memory; none runs the call in the calling thread. */
    attnzoo::executor *executor = nullptr;
};

/**
 * A mechanism, its options and its parameters: set them, prepare() once, then call forward() as often as wanted. Moves,
 * and does not copy.
 *
 * Threads: a prepared module never changes, and forward() may run on it in any number of threads at once; before that a call
 * that changes it must not run beside any other use of it. Since 1.0.
 */
class module : public detail::handle<attnzoo_module, attnzoo_module_destroy>
{
  public:
    /**
     * Makes a module with the default options and no parameters.
     *
     * Throws error (unknown_name, with a list of those there are) for a mechanism that the library does not have. Throws
     * std::bad_alloc. Threads: any. Since 1.0.
     */
    explicit module(text_argument mechanism)
        : handle(detail::create(attnzoo_module_create, detail::c_text(mechanism).c_str()))
    {
    }

    /** Takes over a module that the C interface made; nullptr gives an empty one. Since 1.0. */
    static module adopt(attnzoo_module *owned) noexcept
    {
        return module(owned);
    }

    /** The name of the mechanism, static; "" if the module is empty. Threads: any. Since 1.0. */
    std::string_view mechanism() const noexcept
    {
        const char *const name = attnzoo_module_mechanism(get());
        return name == nullptr ? std::string_view() : std::string_view(name);
    }

    /**
     * The place of an input by its name, for input_views::set(): inputs.set(layer.input_place("seed"), seed).
     *
     * Throws error: unknown_name (with a list of those there are) if the mechanism has none of that name, invalid_argument
     * if the module is empty. Throws std::bad_alloc. Threads: any. Since 1.0.
     */
    input input_place(text_argument name) const
    {
        return static_cast<input>(place(item::input, "input", name));
    }

    /** The place of an output by its name, for output_views::set() and output_shape(). As input_place(). Since 1.0. */
    output output_place(text_argument name) const
    {
        return static_cast<output>(place(item::output, "output", name));
    }

    /**
     * Sets an option by a value of its type: bool, an integer, float or double, or text. An integer also sets an option of
     * type float. Text sets any option, as on a command line, and is the only way to set a choice. Other types do not
     * compile.
     *
     * Throws error: invalid_argument if the value is of the wrong type, out of bounds or a null const char *,
     * unknown_name (with a list of those there are), bad_state if the module is prepared already. Throws std::bad_alloc. Since 1.0.
     */
    template <typename Value> void set_option(text_argument name, const Value &value)
    {
        const std::string option = detail::c_text(name);
        if constexpr (std::is_same_v<Value, bool>) {
            check(attnzoo_module_set_option_bool(get(), option.c_str(), value ? 1 : 0));
        } else if constexpr (is_integer<Value>) {
            set_integer(option, value);
        } else if constexpr (std::is_same_v<Value, float> || std::is_same_v<Value, double>) {
            check(attnzoo_module_set_option_float(get(), option.c_str(), static_cast<double>(value)));
        } else {
            static_assert(std::is_convertible_v<const Value &, std::string_view> && !std::is_null_pointer_v<Value>,
                          "an option is a bool, an integer, a float or double, or text");
            const std::string text = detail::c_text(value);
            check(attnzoo_module_set_option_text(get(), option.c_str(), text.c_str()));
        }
    }

    /**
     * Copies a parameter into the module, replacing what was set for that name before; the view may be a temporary.
     *
     * parameter  float32, float16 or bfloat16, any strides. Its shape is checked against the others by prepare().
     *
     * Throws error: unknown_name (with a list of those there are), dtype_mismatch, shape_mismatch for the wrong number of
     * axes, bad_state if the module is prepared already. Throws std::bad_alloc. Since 1.0.
     */
    void set_parameter(text_argument name, input_argument parameter)
    {
        check(attnzoo_module_set_parameter(get(), detail::c_text(name).c_str(), parameter.get()));
    }

    /**
     * Checks options and parameters together and makes the module ready to run. When this throws, the module may be mended
     * and prepared again.
     *
     * Throws error: invalid_argument if a required parameter is missing or options contradict each other, shape_mismatch
     * for a parameter's shape, bad_state if it is prepared already. Throws std::bad_alloc. Since 1.0.
     */
    void prepare()
    {
        check(attnzoo_module_prepare(get()));
    }

    /**
     * Tells the shape that an output would have, so that memory for it can be had: output_shape({query, key, value}). Axes
     * that the query leaves out (batch, heads) are left out here too.
     *
     * inputs   by place; only their shapes are looked at.
     * which    the output.
     * carried  the state of the call, or nullptr.
     *
     * Throws error: invalid_argument if an input is missing, shape_mismatch if they do not fit each other, unsupported if the
     * mechanism has no such output, bad_state if the module is not prepared. Threads: any. Since 1.0.
     */
    shape output_shape(input_arguments inputs, output which = output::context, const state *carried = nullptr) const
    {
        std::int32_t rank = 0;
        std::array<std::int64_t, rank_max> sizes{};
        check(attnzoo_module_output_shape(get(), inputs.data(), inputs.count(), detail::optional(carried, "state"),
                                          static_cast<std::int32_t>(which), &rank, sizes.data()));
        return shape(sizes.data(), static_cast<std::size_t>(rank));
    }

    /**
     * Computes attention, as attnzoo_module_forward() says, without storing it. All views may be temporaries.
     *
     * Throws error: invalid_argument (also for a mask, state or executor that was moved from), shape_mismatch,
     * dtype_mismatch, overlap, unsupported, bad_state, system. Throws std::bad_alloc. Then no output was written, and the
     * state is as it was. Threads: any number at once, each with its own outputs and state. Since 1.0.
     */
    void forward(input_argument query, input_argument key, input_argument value, output_argument context,
                 const call &with = {}) const
    {
        run(query.get(), key.get(), value.get(), context.get(), nullptr, with);
    }

    /** As above, with {nullptr}: a call that has none of the three, and not an attention that is none. Since 1.0. */
    void forward(input_argument query, input_argument key, input_argument value, output_argument context,
                 std::initializer_list<std::nullptr_t> with) const
    {
        static_cast<void>(with);
        run(query.get(), key.get(), value.get(), context.get(), nullptr, {});
    }

    /** As the first, with the attention as a second output. Since 1.0. */
    void forward(input_argument query, input_argument key, input_argument value, output_argument context,
                 output_argument attention, const call &with = {}) const
    {
        run(query.get(), key.get(), value.get(), context.get(), attention.get(), with);
    }

    /**
     * As the first, with inputs and outputs by place, for those beyond query, key, value, context and attention:
     * forward({query, key, value, position}, {context, nullptr, log_sum_exp}). Since 1.0.
     */
    void forward(input_arguments inputs, output_arguments outputs, const call &with = {}) const
    {
        check(attnzoo_module_forward_slots(get(), detail::optional(with.executor, "executor"), inputs.data(),
                                           inputs.count(), detail::optional(with.mask, "mask"),
                                           detail::optional(with.state, "state"), outputs.data(), outputs.count()));
    }

  private:
    template <typename Value>
    static constexpr bool is_integer =
        std::is_integral_v<Value> && !detail::is_character<Value> && sizeof(Value) <= sizeof(std::int64_t);

    explicit module(attnzoo_module *owned) noexcept : handle(owned)
    {
    }

    void run(const attnzoo_tensor *query, const attnzoo_tensor *key, const attnzoo_tensor *value,
             attnzoo_tensor *context, attnzoo_tensor *attention, const call &with) const
    {
        check(attnzoo_module_forward(get(), detail::optional(with.executor, "executor"), query, key, value,
                                     detail::optional(with.mask, "mask"), detail::optional(with.state, "state"),
                                     context, attention));
    }

    std::int32_t place(item kind, const char *what, text_argument name) const
    {
        if (!*this)
            throw error(status::invalid_argument, "the module is empty");
        std::string known;
        const std::int32_t count = item_count(mechanism(), kind);
        for (std::int32_t index = 0; index < count; index++) {
            const std::string_view found = item_text(mechanism(), kind, index, field::name).value_or("");
            if (!found.empty() && found == name.get())
                return index;
            if (!found.empty())
                known.append(known.empty() ? "" : ", ").append(found);
        }
        throw error(status::unknown_name, std::string(mechanism()) + " has no " + what + " \"" +
                                              std::string(name.get()) + "\"; it has " + known);
    }

    bool is_float(std::string_view option) const
    {
        const std::int32_t count = *this ? item_count(mechanism(), item::option) : 0;
        for (std::int32_t index = 0; index < count; index++) {
            if (item_text(mechanism(), item::option, index, field::name) == option)
                return item_text(mechanism(), item::option, index, field::type) == "float";
        }
        return false;
    }

    /* In C++ a 1 is as good as a 1.0 where a floating-point number is wanted; the C interface tells them apart. */
    template <typename Value> void set_integer(const std::string &option, Value value)
    {
        if (is_float(option)) {
            check(attnzoo_module_set_option_float(get(), option.c_str(), static_cast<double>(value)));
            return;
        }
        if constexpr (std::is_unsigned_v<Value> && sizeof(Value) >= sizeof(std::int64_t)) {
            if (value > static_cast<Value>((std::numeric_limits<std::int64_t>::max)()))
                throw error(status::invalid_argument,
                            option + " is " + std::to_string(value) + ", which passes 63 bits");
        }
        check(attnzoo_module_set_option_int(get(), option.c_str(), static_cast<std::int64_t>(value)));
    }
};

inline state::state(const module &owner, std::int64_t batch, std::int64_t capacity)
    : handle(detail::create(attnzoo_state_create, owner.get(), batch, capacity))
{
}

} // namespace attnzoo

#endif
