/*
 * tests/cpp/handle_test.cpp: ownership. Handles move, are lent, released and adopted; what was moved from is safe. That none
 * leaks or is destroyed twice is seen by the sanitizers and by valgrind.
 */
#include "testing.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace
{

template <typename Handle>
constexpr bool moves_only = !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle> &&
                            std::is_nothrow_move_constructible_v<Handle> && std::is_nothrow_move_assignable_v<Handle> &&
                            std::is_nothrow_destructible_v<Handle> && sizeof(Handle) == sizeof(void *);

static_assert(moves_only<attnzoo::module> && moves_only<attnzoo::mask> && moves_only<attnzoo::tensor> &&
              moves_only<attnzoo::const_tensor> && moves_only<attnzoo::state> && moves_only<attnzoo::executor>);

/* A raw handle is taken over by name alone, never by accident. */
static_assert(!std::is_constructible_v<attnzoo::mask, attnzoo_mask *> &&
              !std::is_constructible_v<attnzoo::module, attnzoo_module *> &&
              !std::is_convertible_v<attnzoo::mask, bool> && !std::is_convertible_v<int, attnzoo::executor> &&
              !std::is_convertible_v<const char *, attnzoo::module>);

/* What may be written is not made of what may not. */
static_assert(std::is_constructible_v<attnzoo::const_tensor, attnzoo::tensor> &&
              !std::is_constructible_v<attnzoo::tensor, attnzoo::const_tensor> &&
              std::is_convertible_v<const attnzoo::tensor &, attnzoo::input_view> &&
              std::is_convertible_v<const attnzoo::const_tensor &, attnzoo::input_view> &&
              std::is_convertible_v<attnzoo::tensor &, attnzoo::output_view> &&
              !std::is_convertible_v<const attnzoo::tensor &, attnzoo::output_view> &&
              !std::is_convertible_v<attnzoo::const_tensor &, attnzoo::output_view> &&
              !std::is_convertible_v<const attnzoo::tensor &, attnzoo::output_argument> &&
              !std::is_convertible_v<attnzoo::const_tensor &, attnzoo::output_argument>);

/* A temporary view serves for a call, and is not kept. */
static_assert(std::is_convertible_v<attnzoo::const_tensor, attnzoo::input_argument> &&
              std::is_convertible_v<attnzoo::tensor, attnzoo::input_argument> &&
              std::is_convertible_v<attnzoo::tensor, attnzoo::output_argument> &&
              !std::is_convertible_v<attnzoo::const_tensor, attnzoo::input_view> &&
              !std::is_convertible_v<const attnzoo::const_tensor, attnzoo::input_view> &&
              !std::is_convertible_v<attnzoo::tensor, attnzoo::input_view> &&
              !std::is_convertible_v<attnzoo::tensor, attnzoo::output_view>);

/* const reaches the handle. */
static_assert(std::is_same_v<decltype(std::declval<const attnzoo::mask &>().get()), const attnzoo_mask *> &&
              std::is_same_v<decltype(std::declval<attnzoo::mask &>().get()), attnzoo_mask *>);

attnzoo::module prepared(std::string_view mechanism)
{
    attnzoo::module made(mechanism);
    made.prepare();
    return made;
}

template <typename Handle> void move_about(Handle first, Handle second)
{
    const auto *const first_raw = first.get();
    const auto *const second_raw = second.get();
    REQUIRE(first && second && first_raw != second_raw);
    Handle moved(std::move(first));
    REQUIRE(moved.get() == first_raw && !first && first.get() == nullptr); // NOLINT: looking at what was moved from
    second = std::move(moved);
    REQUIRE(second.get() == first_raw && !moved);
    Handle &self = second;
    second = std::move(self);
    REQUIRE(second.get() == first_raw);
    auto *const released = second.release();
    REQUIRE(released == first_raw && !second && second.release() == nullptr);
    first = Handle::adopt(released);
    REQUIRE(first.get() == first_raw);
    std::swap(first, moved);
    REQUIRE(moved.get() == first_raw && !first);
    Handle empty = Handle::adopt(nullptr);
    REQUIRE(!empty);
}

} // namespace

TEST(handles_move_and_are_adopted)
{
    static const float numbers[] = {1, 2};
    float room[2] = {};
    move_about(attnzoo::mask(), attnzoo::mask());
    move_about(attnzoo::module("additive"), attnzoo::module("multi_head"));
    move_about(attnzoo::executor(1), attnzoo::executor(2));
    move_about(attnzoo::const_tensor(numbers, {2}), attnzoo::const_tensor(numbers, {1, 2}));
    move_about(attnzoo::tensor(room, {2}), attnzoo::tensor(room, {1, 2}));
}

TEST(a_state_follows_its_module_when_that_moves)
{
    attnzoo::module first("multi_head");
    first.set_option("num_heads", 2);
    float weight[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    for (const char *name : {"query_proj.weight", "key_proj.weight", "value_proj.weight"})
        first.set_parameter(name, attnzoo::const_tensor(weight, {4, 4}));
    first.prepare();
    attnzoo::state one(first, 1, 3), two(first, 1, 3);
    const attnzoo::module second = std::move(first);
    float token[4] = {1, 2, 3, 4}, context[4] = {};
    const attnzoo::const_tensor view(token, {1, 1, 4});
    second.forward(view, view, view, attnzoo::tensor(context, {1, 1, 4}), {nullptr, &one});
    REQUIRE(one.length() == 1 && context[3] == 4.0f);
    move_about(std::move(one), std::move(two));
}

TEST(handles_of_the_c_interface_are_taken_over_whole)
{
    attnzoo_mask *raw = nullptr;
    attnzoo::check(attnzoo_mask_create(&raw));
    attnzoo::mask owner = attnzoo::mask::adopt(raw);
    owner.set_causal();
    attnzoo::check(attnzoo_mask_set_window(owner.get(), 1, 0));
    attnzoo_mask_destroy(owner.release());
}

TEST(what_was_moved_from_refuses_and_does_not_crash)
{
    attnzoo::mask mask;
    attnzoo::mask mask_owner = std::move(mask);
    REQUIRE_REFUSED(invalid_argument, "NULL", mask.set_causal());
    mask = attnzoo::mask();
    mask.set_causal();

    float room[2] = {};
    attnzoo::tensor view(room, {2});
    const attnzoo::tensor view_owner = std::move(view);
    REQUIRE(view.rank() == 0 && view.size(0) == -1 && view.element_count() == 0 && view.data() == nullptr);
    REQUIRE(view.shape() == attnzoo::shape() && view.strides().size() == 0 && view.dtype() == attnzoo::dtype{});
    REQUIRE_REFUSED(invalid_argument, "NULL", view.assign(room, {2}));
    REQUIRE_REFUSED(invalid_argument, "NULL", view.set_data(room));

    attnzoo::module module = prepared("scaled_dot_product");
    const attnzoo::module module_owner = std::move(module);
    REQUIRE(module.mechanism().empty());
    REQUIRE_REFUSED(invalid_argument, "NULL", module.prepare());
    REQUIRE_REFUSED(invalid_argument, "NULL", module.set_option("scale", 1));
    REQUIRE_REFUSED(invalid_argument, "NULL", attnzoo::state(module, 1, 1));

    attnzoo::executor executor(1);
    const attnzoo::executor executor_owner = std::move(executor);
    REQUIRE(executor.thread_count() == 0);

    attnzoo::state state = attnzoo::state::adopt(nullptr);
    REQUIRE(state.length() == -1 && state.capacity() == -1 && state.batch() == -1);
    REQUIRE_REFUSED(invalid_argument, "NULL", state.reset());
    REQUIRE_REFUSED(invalid_argument, "NULL", static_cast<void>(state.field_shape(0)));
}

/* nullptr means "none"; a handle that was moved from must not pass for it, or a mask would be lost in silence. */
TEST(what_was_moved_from_is_not_taken_for_none)
{
    const attnzoo::module module = prepared("scaled_dot_product");
    float numbers[2] = {1, 2}, room[2] = {};
    const attnzoo::const_tensor query(numbers, {2, 1});
    attnzoo::tensor context(room, {2, 1});
    attnzoo::mask mask;
    attnzoo::executor executor(1);
    attnzoo::state state = attnzoo::state::adopt(nullptr);
    const attnzoo::mask mask_owner = std::move(mask);
    const attnzoo::executor executor_owner = std::move(executor);
    REQUIRE_REFUSED(invalid_argument, "mask", module.forward(query, query, query, context, {&mask}));
    REQUIRE_REFUSED(invalid_argument, "state", module.forward(query, query, query, context, {nullptr, &state}));
    REQUIRE_REFUSED(invalid_argument, "executor",
                    module.forward(query, query, query, context, {nullptr, nullptr, &executor}));
    REQUIRE_REFUSED(invalid_argument, "state",
                    static_cast<void>(module.output_shape({query, query, query}, attnzoo::output::context, &state)));
    REQUIRE_REFUSED(invalid_argument, "mask", module.forward({query, query, query}, {context}, {&mask}));
    const attnzoo::tensor context_owner = std::move(context);
    REQUIRE_REFUSED(invalid_argument, "view", module.forward(query, query, query, context));
    REQUIRE_REFUSED(invalid_argument, "view", attnzoo::mask().set_bias(context));
    REQUIRE(room[0] == 0.0f && room[1] == 0.0f);
}
