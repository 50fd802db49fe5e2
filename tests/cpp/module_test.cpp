/*
 * tests/cpp/module_test.cpp: modules, their options and calls. The numbers are checked by hand: with scale 1 and an identity
 * for query and key, the scores are 0 and 1, whose softmax is 1 / (1 + e) and e / (1 + e).
 */
#include "testing.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace
{

using attnzoo::const_tensor;
using attnzoo::tensor;

const std::array<float, 4> identity{1, 0, 0, 1};
const std::array<float, 4> values{1, 2, 3, 4};
const double near = 1.0 / (1.0 + std::exp(-1.0));

/* Each of these sums is made of a few roundings of numbers below 4. */
bool is_close(float got, double wanted)
{
    return std::fabs(static_cast<double>(got) - wanted) <
           16.0 * static_cast<double>(std::numeric_limits<float>::epsilon());
}

attnzoo::module dot_product()
{
    attnzoo::module made("scaled_dot_product");
    made.set_option("scale", 1);
    made.prepare();
    return made;
}

} // namespace

/* Whatever can be passed by mistake for one of the four kinds of option is none of them. */
TEST(options_take_their_own_types)
{
    attnzoo::module module("multi_head");
    const char *const text = "true";
    module.set_option("average_heads", true);
    module.set_option("average_heads", text);
    module.set_option("average_heads", "false");
    module.set_option("num_heads", 8);
    module.set_option("num_heads", std::size_t{8});
    module.set_option("num_heads", std::int64_t{8});
    module.set_option("num_heads", static_cast<short>(8));
    module.set_option("num_heads", std::string("8"));
    module.set_option("scale", 0.125);
    module.set_option("scale", 0.125f);
    module.set_option("scale", 2);
    module.set_option("scale", 2u);
    module.set_option("scale", std::string_view("0.5"));
    REQUIRE_REFUSED(invalid_argument, "not int", module.set_option("average_heads", 1));
    REQUIRE_REFUSED(invalid_argument, "not float", module.set_option("num_heads", 8.0));
    REQUIRE_REFUSED(invalid_argument, "not bool", module.set_option("num_heads", true));
    REQUIRE_REFUSED(invalid_argument, "not bool", module.set_option("scale", true));
    REQUIRE_REFUSED(invalid_argument, "63 bits",
                    module.set_option("num_heads", std::numeric_limits<std::uint64_t>::max()));
    attnzoo::module relative("relative_multi_head");
    relative.set_option("flavor", "shaw");
    REQUIRE_REFUSED(invalid_argument, "transformer_xl|shaw", relative.set_option("flavor", "shawl"));
}

TEST(a_call_computes_context_and_attention)
{
    const attnzoo::module module = dot_product();
    REQUIRE(module.mechanism() == "scaled_dot_product");
    const const_tensor query(identity, {2, 2}), value(values, {2, 2});
    std::array<float, 4> context{}, attention{};
    module.forward(query, query, value, tensor(context, {2, 2}), tensor(attention, {2, 2}));
    REQUIRE(is_close(attention[0], near) && is_close(attention[1], 1 - near) && is_close(attention[3], near));
    REQUIRE(is_close(context[0], 3 - 2 * near) && is_close(context[3], 2 + 2 * near));
}

TEST(a_call_takes_mask_and_executor)
{
    const attnzoo::module module = dot_product();
    attnzoo::executor executor(2);
    attnzoo::mask mask;
    mask.set_causal();
    const const_tensor query(identity, {2, 2}), value(values, {2, 2});
    std::array<float, 4> context{};
    tensor view(context, {2, 2});
    attnzoo::call with;
    with.mask = &mask;
    with.executor = &executor;
    module.forward(query, query, value, view, with);
    REQUIRE(context[0] == 1.0f && context[1] == 2.0f && is_close(context[2], 1 + 2 * near));
    std::array<float, 4> again{};
    module.forward(query, query, value, tensor(again, {2, 2}), {&mask});
    REQUIRE(again == context);
    std::array<float, 4> unmasked{}, attention{};
    module.forward(query, query, value, tensor(unmasked, {2, 2}));
    again = {};
    module.forward(query, query, value, tensor(again, {2, 2}), {nullptr});
    REQUIRE(again == unmasked);
    again = {};
    module.forward(query, query, value, tensor(again, {2, 2}), {nullptr, nullptr});
    REQUIRE(again == unmasked);
    again = {};
    module.forward(query, query, value, tensor(again, {2, 2}), {nullptr, nullptr, nullptr});
    REQUIRE(again == unmasked);
    again = {};
    module.forward(query, query, value, tensor(again, {2, 2}), {});
    REQUIRE(again == unmasked);
    again = {};
    module.forward(query, query, value, tensor(again, {2, 2}), tensor(attention, {2, 2}), {nullptr});
    REQUIRE(again == unmasked && attention[0] > 0.0f);
    again = {};
    module.forward({query, query, value}, {tensor(again, {2, 2})}, {nullptr});
    REQUIRE(again == unmasked);
#if __cplusplus >= 202002L
    again = {};
    module.forward(query, query, value, tensor(again, {2, 2}), nullptr, {.mask = &mask, .executor = &executor});
    REQUIRE(again == context);
    again = {};
    module.forward(query, query, value, tensor(again, {2, 2}), {.mask = &mask});
    REQUIRE(again == context);
#endif
}

TEST(refused_calls_leave_outputs_alone)
{
    const attnzoo::module module = dot_product();
    std::array<float, 4> context{7, 7, 7, 7};
    const const_tensor query(identity, {2, 2}), narrow(identity, {4, 1});
    tensor view(context, {2, 2});
    REQUIRE_REFUSED(shape_mismatch, "key", module.forward(query, narrow, query, view));
    REQUIRE_REFUSED(overlap, "context", module.forward(query, query, view, view));
    REQUIRE_REFUSED(invalid_argument, "key", module.forward(query, nullptr, query, view));
    REQUIRE_REFUSED(bad_state, "prepared", attnzoo::module("scaled_dot_product").forward(query, query, query, view));
    REQUIRE_REFUSED(invalid_argument, "read-only", auto other = tensor::adopt(const_tensor(context, {2, 2}).release());
                    module.forward(query, query, query, other));
    REQUIRE((context == std::array<float, 4>{7, 7, 7, 7}));
}

TEST(outputs_tell_their_shapes)
{
    const attnzoo::module module = dot_product();
    std::vector<float> numbers(2 * 3 * 5 * 4);
    const const_tensor query(numbers, {2, 3, 5, 4}), key(numbers.data(), {2, 1, 7, 4}),
        value(numbers.data(), {2, 1, 7, 6});
    REQUIRE(module.output_shape({query, key, value}) == attnzoo::shape(2, 3, 5, 6));
    REQUIRE(module.output_shape({query, key, value}, attnzoo::output::attention) == attnzoo::shape(2, 3, 5, 7));
    std::vector<float> context(attnzoo::element_count(module.output_shape({query, key, value})));
    REQUIRE(context.size() == 2 * 3 * 5 * 6);
    REQUIRE_REFUSED(invalid_argument, "value", static_cast<void>(module.output_shape({query, key})));
    REQUIRE_REFUSED(invalid_argument, "query", static_cast<void>(module.output_shape({})));
    REQUIRE_REFUSED(unsupported, "output",
                    static_cast<void>(module.output_shape({query, key, value}, static_cast<attnzoo::output>(9))));
}

TEST(outputs_by_place_merge_to_the_whole)
{
    const attnzoo::module module = dot_product();
    const const_tensor query(identity, {2, 2}), value(values, {2, 2});
    std::array<float, 4> whole{}, first{}, second{};
    std::array<float, 2> first_sum{}, second_sum{};
    module.forward(query, query, value, tensor(whole, {2, 2}));
    tensor context(first, {2, 2}), log_sum_exp(first_sum, {2});
    module.forward({query, const_tensor(identity.data(), {1, 2}), const_tensor(values.data(), {1, 2})},
                   {context, nullptr, log_sum_exp});
    REQUIRE(is_close(first_sum[0], 1.0) && is_close(first_sum[1], 0.0) && first[2] == 1.0f);
    attnzoo::input_views inputs;
    const const_tensor last_key(identity.data() + 2, {1, 2}), last_value(values.data() + 2, {1, 2});
    inputs.set(attnzoo::input::value, last_value);
    inputs.set(attnzoo::input::key, last_key);
    inputs.set(attnzoo::input::query, query);
    attnzoo::output_views outputs;
    tensor second_context(second, {2, 2}), second_log(second_sum, {2});
    outputs.set(attnzoo::output::log_sum_exp, second_log);
    outputs.set(attnzoo::output::context, second_context);
    REQUIRE(inputs.count() == 3 && outputs.count() == 3 && outputs.data()[1] == nullptr);
    module.forward(inputs, outputs);
    attnzoo::merge_contexts(context, log_sum_exp, second_context, second_log, context, log_sum_exp);
    for (std::size_t i = 0; i < 4; i++)
        REQUIRE(is_close(first[i], static_cast<double>(whole[i])));
    REQUIRE(is_close(first_sum[0], std::log(1 + std::exp(1.0))));
    attnzoo::merge_contexts(context, log_sum_exp, second_context, second_log, tensor(whole, {2, 2}));
    REQUIRE_REFUSED(invalid_argument, "place", inputs.set(-1, query));
    REQUIRE_REFUSED(invalid_argument, "place", inputs.set(INT64_C(1) << 32, query));
    inputs.set(attnzoo::input::position, query);
    REQUIRE_REFUSED(unsupported, "", module.forward(inputs, outputs));
}

/* For every mechanism that the library has. */
TEST(inputs_and_outputs_have_places_by_name)
{
    for (const std::string_view mechanism : attnzoo::mechanisms()) {
        const attnzoo::module module(mechanism);
        for (const attnzoo::item kind : {attnzoo::item::input, attnzoo::item::output}) {
            std::string known;
            const std::vector<std::string_view> names = attnzoo::item_names(mechanism, kind);
            for (std::size_t index = 0; index < names.size(); index++) {
                if (names[index].empty())
                    continue;
                known += (known.empty() ? "" : ", ") + std::string(names[index]);
                const std::int32_t place =
                    kind == attnzoo::item::input
                        ? static_cast<std::int32_t>(module.input_place(names[index]))
                        : static_cast<std::int32_t>(module.output_place(std::string(names[index])));
                REQUIRE(place == static_cast<std::int32_t>(index));
                const auto type = attnzoo::item_text(mechanism, kind, place, attnzoo::field::type);
                REQUIRE(type == "float" || type == "integer");
            }
            if (kind == attnzoo::item::input)
                REQUIRE_REFUSED(unknown_name, "has no input \"glory\"; it has " + known, module.input_place("glory"));
            else
                REQUIRE_REFUSED(unknown_name, "has no output \"glory\"; it has " + known, module.output_place("glory"));
        }
    }
    attnzoo::module module = dot_product();
    const const_tensor query(identity, {2, 2}), value(values, {2, 2});
    const std::array<std::int32_t, 4> integers{};
    const const_tensor wrong(integers, {2, 2});
    std::array<float, 4> numbers{};
    std::array<float, 2> sums{};
    tensor context(numbers, {2, 2}), log_sum_exp(sums, {2});
    attnzoo::input_views inputs;
    inputs.set(module.input_place("query"), query);
    inputs.set(module.input_place("key"), wrong);
    inputs.set(module.input_place("value"), value);
    attnzoo::output_views outputs;
    outputs.set(module.output_place("context"), context);
    outputs.set(module.output_place("log_sum_exp"), log_sum_exp);
    REQUIRE_REFUSED(dtype_mismatch, "key is int32", module.forward(inputs, outputs));
    inputs.set(module.input_place("key"), query);
    module.forward(inputs, outputs);
    REQUIRE(is_close(sums[0], std::log(1 + std::exp(1.0))));
    REQUIRE(attnzoo::to_string(module.output_shape(inputs, module.output_place("log_sum_exp"))) == "[2]");
    const attnzoo::module moved = std::move(module);
    REQUIRE_REFUSED(invalid_argument, "module", module.input_place("query"));
}

TEST(views_of_a_call_may_be_temporaries_or_kept)
{
    const attnzoo::module module = dot_product();
    std::array<float, 4> whole{}, context{}, again{};
    const const_tensor query(identity, {2, 2}), value(values, {2, 2});
    module.forward(query, query, value, tensor(whole, {2, 2}));
    module.forward({const_tensor(identity, {2, 2}), const_tensor(identity, {2, 2}), const_tensor(values, {2, 2})},
                   {tensor(context, {2, 2})});
    REQUIRE(context == whole);
    REQUIRE(module.output_shape({const_tensor(identity, {2, 2}), query, const_tensor(values, {2, 2})}) ==
            attnzoo::shape(2, 2));
    tensor view(again, {2, 2});
    const attnzoo::input_view kept_query = query, kept_value = value;
    attnzoo::output_view kept_context = view;
    module.forward(kept_query, kept_query, kept_value, kept_context);
    REQUIRE(again == whole);
    again = {};
    const attnzoo::input_views inputs{kept_query, query, value};
    module.forward(inputs, {kept_context});
    REQUIRE(again == whole);
    again = {};
    attnzoo::output_views outputs{view};
    module.forward({query, query, value}, outputs);
    REQUIRE(again == whole);
}

TEST(positions_are_an_input)
{
    attnzoo::module module("relative_multi_head");
    std::array<float, 4> weight{1, 0, 0, 1}, zeros{};
    for (const char *name : {"query_proj.weight", "key_proj.weight", "value_proj.weight", "pos_proj.weight"})
        module.set_parameter(name, const_tensor(weight, {2, 2}));
    module.set_parameter("u_bias", const_tensor(zeros.data(), {1, 2}));
    module.set_parameter("v_bias", const_tensor(zeros.data(), {1, 2}));
    REQUIRE_REFUSED(unknown_name, "pos_proj.weight",
                    module.set_parameter("position_proj", const_tensor(weight, {2, 2})));
    module.prepare();
    std::array<float, 6> table{};
    tensor position(table, {3, 2});
    attnzoo::fill_sinusoidal_positions(position, 1, -1, attnzoo::sinusoid::halves);
    REQUIRE(is_close(table[0], std::sin(1.0)) && is_close(table[1], std::cos(1.0)) && table[3] == 1.0f);
    std::array<float, 4> context{};
    tensor output(context, {1, 2, 2});
    const const_tensor query(identity, {1, 2, 2}), value(values, {1, 2, 2});
    module.forward({query, query, value, position}, {output});
    /* Query 0 and key 0, at distance 0: s (q . k + q . r) = (1 + sin 0) / sqrt(2); key 1, at distance -1: sin(-1) / sqrt(2). */
    const double second = 1.0 / (1.0 + std::exp((1.0 + std::sin(1.0)) / std::sqrt(2.0)));
    REQUIRE(is_close(context[0], 1 + 2 * second));
}

TEST(sixteen_bits_come_in_and_go_out)
{
    const attnzoo::module module = dot_product();
    /* bfloat16 is the upper half of a float: 1, 2 and 0. */
    const std::vector<std::uint16_t> ones{0x3f80, 0x3f80}, value{0x3f80, 0x4000};
    std::vector<std::uint16_t> context(2);
    const auto type = attnzoo::dtype::bfloat16;
    module.forward(const_tensor(ones, type, {1, 2}), const_tensor(ones, type, {1, 2}),
                   const_tensor(value, type, {1, 2}), tensor(context, type, {1, 2}));
    REQUIRE(context == value);
}

TEST(one_module_serves_many_threads)
{
    const attnzoo::module module = dot_product();
    attnzoo::executor shared(2);
    std::array<std::array<float, 4>, 4> contexts{};
    std::vector<std::thread> threads;
    for (auto &context : contexts)
        threads.emplace_back([&module, &shared, &context] {
            const const_tensor query(identity, {2, 2}), value(values, {2, 2});
            tensor view(context, {2, 2});
            for (int repeat = 0; repeat < 20; repeat++)
                module.forward(query, query, value, view, {nullptr, nullptr, repeat % 2 == 0 ? &shared : nullptr});
        });
    for (std::thread &thread : threads)
        thread.join();
    for (const auto &context : contexts)
        REQUIRE(context == contexts[0] && is_close(context[0], 3 - 2 * near));
}
