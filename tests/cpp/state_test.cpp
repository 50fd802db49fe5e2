/*
 * tests/cpp/state_test.cpp: states: a cache that is filled, read, loaded, copied, cut and emptied.
 */
#include "testing.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace
{

using attnzoo::const_tensor;
using attnzoo::tensor;

attnzoo::module identity_heads()
{
    const std::array<float, 4> identity{1, 0, 0, 1};
    attnzoo::module made("multi_head");
    for (const char *name : {"query_proj.weight", "key_proj.weight", "value_proj.weight"})
        made.set_parameter(name, const_tensor(identity, {2, 2}));
    made.prepare();
    return made;
}

/* Feeds one token, and gives its context. */
std::array<float, 2> feed(const attnzoo::module &module, attnzoo::state &state, float first, float second)
{
    const std::array<float, 2> token{first, second};
    std::array<float, 2> context{};
    const const_tensor view(token, {1, 1, 2});
    module.forward(view, view, view, tensor(context, {1, 1, 2}), {nullptr, &state});
    return context;
}

} // namespace

static_assert(!std::is_constructible_v<attnzoo::state, attnzoo::module, int, int>);

TEST(caches_are_filled_and_read)
{
    const attnzoo::module module = identity_heads();
    attnzoo::state state(module, 1, 3);
    REQUIRE(state.length() == 0 && state.capacity() == 3 && state.batch() == 1);
    REQUIRE((feed(module, state, 1, 2) == std::array<float, 2>{1, 2}));
    feed(module, state, 3, 4);
    REQUIRE(state.length() == 2 && state.field_shape(0) == attnzoo::shape(1, 1, 2, 2));
    std::vector<float> keys(attnzoo::element_count(state.field_shape(0)));
    state.get_field(0, tensor(keys, state.field_shape(0)));
    REQUIRE((keys == std::vector<float>{1, 2, 3, 4}));
    REQUIRE_REFUSED(invalid_argument, "field", static_cast<void>(state.field_shape(2)));
    REQUIRE_REFUSED(shape_mismatch, "", state.get_field(0, tensor(keys, {2, 2})));
    const const_tensor token(keys.data(), {1, 1, 2});
    REQUIRE(module.output_shape({token, token, token}, attnzoo::output::attention, &state) ==
            attnzoo::shape(1, 1, 1, 3));
    feed(module, state, 5, 6);
    REQUIRE_REFUSED(invalid_argument, "", feed(module, state, 7, 8));
    REQUIRE(state.length() == 3);
}

TEST(caches_are_loaded_copied_cut_and_emptied)
{
    const attnzoo::module module = identity_heads();
    attnzoo::state state(module, 1, 3), other(module, 1, 4), small(module, 1, 1);
    const std::array<float, 4> kept{1, 2, 3, 4};
    const const_tensor field(kept, {1, 1, 2, 2});
    state.set_fields({field, field});
    REQUIRE(state.length() == 2);
    REQUIRE_REFUSED(invalid_argument, "", state.set_fields({field}));
    REQUIRE_REFUSED(invalid_argument, "", state.set_fields({field, nullptr}));
    REQUIRE_REFUSED(unsupported, "", state.set_fields({field, field, field}));
    REQUIRE(state.length() == 2);
    other.copy_from(state);
    REQUIRE(other.length() == 2 && feed(module, other, 5, 6) == feed(module, state, 5, 6));
    REQUIRE_REFUSED(invalid_argument, "", small.copy_from(state));
    other.truncate(1);
    REQUIRE(other.length() == 1);
    REQUIRE_REFUSED(invalid_argument, "-1", other.truncate(-1));
    other.reset();
    REQUIRE(other.length() == 0 && (feed(module, other, 5, 6) == std::array<float, 2>{5, 6}));
}
