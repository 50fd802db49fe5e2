/*
 * A program of someone who has installed the library and writes C++: attention by hand-checked numbers, and an exception.
 * It is compiled as C++17 and C++20.
 */
#include <attnzoo/attnzoo.hpp>

#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

namespace
{

bool refuses_what_does_not_fit(const attnzoo::module &module, const attnzoo::const_tensor &query)
{
    std::vector<float> room(4, -1.0f);
    const std::vector<float> key(4);
    try {
        module.forward(query, attnzoo::const_tensor(key, {4, 1}), query, attnzoo::tensor(room, {2, 2}));
    } catch (const attnzoo::error &refusal) {
        return refusal.status() == attnzoo::status::shape_mismatch && !std::string_view(refusal.what()).empty() &&
               room[0] < 0.0f;
    }
    return false;
}

} // namespace

int main()
{
    const std::vector<float> identity{1, 0, 0, 1}, values{1, 2, 3, 4};
    std::vector<float> context(4);
    attnzoo::module module("scaled_dot_product");
    module.set_option("scale", 1);
    module.prepare();
    attnzoo::mask causal;
    causal.set_causal();
    const attnzoo::const_tensor query(identity, {2, 2}), value(values, {2, 2});
    module.forward(query, query, value, attnzoo::tensor(context, {2, 2}), {&causal});

    /* The first query sees the first key alone; the second has scores 0 and 1. */
    const double second_key = std::exp(1.0) / (1.0 + std::exp(1.0));
    const double expected[4] = {1.0, 2.0, 1.0 + 2.0 * second_key, 2.0 + 2.0 * second_key};
    bool holds = refuses_what_does_not_fit(module, query) && attnzoo::version_number() == ATTNZOO_VERSION_NUMBER;
    for (std::size_t i = 0; i < 4; i++)
        holds = holds && std::fabs(static_cast<double>(context[i]) - expected[i]) < 1e-6;
    std::puts(holds ? "context as expected" : "not as expected");
    return holds ? 0 : 1;
}
