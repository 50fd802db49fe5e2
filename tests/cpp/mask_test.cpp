/*
 * tests/cpp/mask_test.cpp: every constraint and bias reaches the mask, and nullptr takes it away again. Each is seen in the
 * attention of two queries over two keys whose scores are all 0: a key has weight 1/2, or 1 alone, or 0 hidden.
 */
#include "testing.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace
{

using attnzoo::const_tensor;
using attnzoo::tensor;
using weights = std::array<float, 4>;

const weights everything{0.5f, 0.5f, 0.5f, 0.5f};
const weights diagonal{1, 0, 0, 1};
const weights first_key{1, 0, 1, 0};
const weights lower{1, 0, 0.5f, 0.5f};

weights attention(const attnzoo::mask &mask)
{
    attnzoo::module module("scaled_dot_product");
    module.prepare();
    const std::array<float, 4> zeros{};
    std::array<float, 4> context{};
    weights seen{};
    const const_tensor query(zeros, {2, 2});
    module.forward(query, query, query, tensor(context, {2, 2}), tensor(seen, {2, 2}), {&mask});
    return seen;
}

} // namespace

TEST(masks_hide_nothing_at_first)
{
    REQUIRE(attention(attnzoo::mask()) == everything);
}

TEST(masks_are_causal_or_not)
{
    attnzoo::mask mask;
    mask.set_causal();
    REQUIRE(attention(mask) == lower);
    mask.set_causal(false);
    REQUIRE(attention(mask) == everything);
}

TEST(masks_have_windows)
{
    attnzoo::mask mask;
    mask.set_window(0, 0);
    REQUIRE(attention(mask) == diagonal);
    mask.set_window(-1, 0);
    REQUIRE(attention(mask) == lower);
    REQUIRE_REFUSED(invalid_argument, "-2", mask.set_window(-2, 0));
}

TEST(masks_say_where_queries_stand)
{
    attnzoo::mask mask;
    mask.set_causal();
    mask.set_query_offset(-1);
    REQUIRE((attention(mask) == weights{0, 0, 1, 0}));
    mask.set_alignment(attnzoo::alignment::top_left);
    REQUIRE(attention(mask) == lower);
    const std::int64_t offsets[] = {1};
    mask.set_query_offsets(const_tensor(offsets, {1}));
    REQUIRE(attention(mask) == everything);
    mask.set_query_offsets(nullptr);
    REQUIRE(attention(mask) == lower);
    const std::int32_t lengths[] = {1};
    mask.set_key_lengths(const_tensor(lengths, {1}));
    mask.set_alignment(attnzoo::alignment::lengths);
    REQUIRE((attention(mask) == weights{0, 0, 1, 0}));
    mask.set_alignment(attnzoo::alignment::bottom_right);
    REQUIRE(attention(mask) == first_key);
}

TEST(masks_have_lengths)
{
    attnzoo::mask mask;
    std::vector<std::int32_t> lengths{1};
    mask.set_key_lengths(const_tensor(lengths, {1}));
    REQUIRE(attention(mask) == first_key);
    /* The view is copied, the memory is not. */
    lengths[0] = 2;
    REQUIRE(attention(mask) == everything);
    lengths[0] = 1;
    mask.set_key_lengths(nullptr);
    REQUIRE(attention(mask) == everything);
    mask.set_query_lengths(const_tensor(lengths, {1}));
    REQUIRE((attention(mask) == weights{0.5f, 0.5f, 0, 0}));
    mask.set_query_lengths(nullptr);
    REQUIRE(attention(mask) == everything);
    REQUIRE_REFUSED(shape_mismatch, "2 axes", mask.set_key_lengths(const_tensor(lengths, {1, 1})));
}

TEST(masks_are_dense)
{
    attnzoo::mask mask;
    const bool allowed[] = {true, false, false, true};
    const std::vector<unsigned char> bytes{1, 0};
    mask.set_boolean(const_tensor(allowed, {2, 2}));
    REQUIRE(attention(mask) == diagonal);
    mask.set_boolean(const_tensor(bytes, attnzoo::dtype::boolean, {1, 2}));
    REQUIRE(attention(mask) == first_key);
    mask.set_boolean(nullptr);
    REQUIRE(attention(mask) == everything);
    const float bias[] = {0, -std::numeric_limits<float>::infinity()};
    mask.set_bias(const_tensor(bias, {1, 2}));
    REQUIRE(attention(mask) == first_key);
    mask.set_bias(nullptr);
    REQUIRE(attention(mask) == everything);
    REQUIRE_REFUSED(dtype_mismatch, "float32", mask.set_boolean(const_tensor(bias, {1, 2})));
}

TEST(masks_have_linear_biases_and_segments)
{
    attnzoo::mask mask;
    const float slopes[] = {1000};
    mask.set_linear_bias(const_tensor(slopes, {1}));
    REQUIRE(attention(mask) == diagonal);
    mask.set_linear_bias(nullptr);
    REQUIRE(attention(mask) == everything);
    const std::int64_t ids[] = {3, 4};
    mask.set_segments(const_tensor(ids, {2}));
    REQUIRE(attention(mask) == diagonal);
    mask.set_segments(nullptr);
    REQUIRE(attention(mask) == everything);
}
