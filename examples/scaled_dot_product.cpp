/*
 * Scaled dot-product attention with a causal mask, in C++: three queries over three keys, each query seeing the keys up to
 * its own, and the weights it gives them. Built against the installed library:
 *
 *   c++ -std=c++17 scaled_dot_product.cpp $(pkg-config --cflags --libs attnzoo) -o scaled_dot_product
 */
#include <attnzoo/attnzoo.hpp>

#include <cstdio>
#include <exception>
#include <vector>

namespace
{

void run()
{
    /* Rows of [3, 2]. Leading axes of size 1, batch and heads, are left out. */
    const std::vector<float> query_data{1, 0, 0, 1, 1, 1};
    const std::vector<float> key_data{1, 0, 0, 1, 1, 1};
    const std::vector<float> value_data{10, 0, 0, 10, 5, 5};

    /* A module is a mechanism with its options; once prepared it may serve any number of calls and threads. */
    attnzoo::module module("scaled_dot_product");
    module.prepare();
    attnzoo::mask causal;
    causal.set_causal();

    /* Tensors are views: the numbers stay where they are, in vectors that must outlive them. */
    const attnzoo::const_tensor query(query_data, {3, 2});
    const attnzoo::const_tensor key(key_data, {3, 2});
    const attnzoo::const_tensor value(value_data, {3, 2});

    /* The module knows how large its outputs will be. */
    const attnzoo::shape context_shape = module.output_shape({query, key, value});
    const attnzoo::shape attention_shape = module.output_shape({query, key, value}, attnzoo::output::attention);
    std::vector<float> context_data(attnzoo::element_count(context_shape));
    std::vector<float> attention_data(attnzoo::element_count(attention_shape));
    attnzoo::tensor context(context_data, context_shape);
    attnzoo::tensor attention(attention_data, attention_shape);

    module.forward(query, key, value, context, attention, {&causal});

    std::printf("context is %s, attention %s\n", attnzoo::to_string(context_shape).c_str(),
                attnzoo::to_string(attention_shape).c_str());
    for (std::size_t i = 0; i < 3; i++)
        std::printf("query %zu: context %6.3f %6.3f, attention %.3f %.3f %.3f\n", i,
                    static_cast<double>(context_data[2 * i]), static_cast<double>(context_data[2 * i + 1]),
                    static_cast<double>(attention_data[3 * i]), static_cast<double>(attention_data[3 * i + 1]),
                    static_cast<double>(attention_data[3 * i + 2]));
}

} // namespace

int main()
{
    try {
        run();
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
    return 0;
}
