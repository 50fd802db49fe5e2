/*
 * tests/cpp/error_test.cpp: what is thrown: status and message of the call that failed, on the thread that made it.
 */
#include "testing.hpp"

#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <type_traits>

static_assert(std::is_base_of_v<std::runtime_error, attnzoo::error> &&
              std::is_base_of_v<std::bad_alloc, attnzoo::out_of_memory> &&
              std::is_nothrow_copy_constructible_v<attnzoo::error> &&
              std::is_nothrow_copy_constructible_v<attnzoo::out_of_memory>);

TEST(errors_carry_status_and_message)
{
    REQUIRE_REFUSED(unknown_name, "scaled_dot_product", attnzoo::module("scaled_dot_produkt"));
    attnzoo::module module("scaled_dot_product");
    REQUIRE_REFUSED(unknown_name, "softcap", module.set_option("num_head", 8));
    REQUIRE_REFUSED(invalid_argument, "softcap", module.set_option("softcap", -1.0));
    REQUIRE_REFUSED(unsupported, "state", (module.prepare(), attnzoo::state(module, 1, 1)));
    REQUIRE_REFUSED(bad_state, "prepared", module.set_option("softcap", 1.0));
}

TEST(the_message_is_the_calls_own)
{
    std::string message;
    try {
        attnzoo::executor(-1);
    } catch (const attnzoo::error &refusal) {
        message = refusal.what();
        attnzoo::mask().set_causal();
        REQUIRE(attnzoo_last_error()[0] == '\0' && message == refusal.what());
    }
    REQUIRE(message.find("-1") != std::string::npos);
}

TEST(threads_see_their_own_errors)
{
    std::string messages[2];
    std::thread threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = std::thread([&messages, i] {
            for (int repeat = 0; repeat < 200; repeat++) {
                try {
                    attnzoo::executor(1000 + i);
                } catch (const attnzoo::error &refusal) {
                    messages[i] = refusal.what();
                    if (messages[i].find(std::to_string(1000 + i)) == std::string::npos)
                        return;
                }
            }
        });
    for (int i = 0; i < 2; i++) {
        threads[i].join();
        REQUIRE(messages[i].find(std::to_string(1000 + i)) != std::string::npos);
    }
}

/* Sanitizers end a program that asks for so much. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(want_of_memory_is_a_bad_alloc_with_a_message)
{
    attnzoo::module module("location_aware");
    const float numbers[6] = {1, 2, 3, 4, 5, 6};
    const float *const weight = numbers;
    module.set_parameter("query_proj.weight", attnzoo::const_tensor(weight, {2, 2}));
    module.set_parameter("key_proj.weight", attnzoo::const_tensor(weight, {2, 2}));
    module.set_parameter("location_conv.weight", attnzoo::const_tensor(weight, {2, 1, 3}));
    module.set_parameter("score_proj.weight", attnzoo::const_tensor(weight, {1, 2}));
    module.prepare();
    bool was_thrown = false;
    try {
        if (sizeof(std::size_t) > 4) {
            /* 2^46 keys of a float are within 63 bits and beyond the address space. */
            attnzoo::state state(module, 1, INT64_C(1) << 46);
        } else {
            /* 32 bits count no state that cannot be had; this is one number 2^30 times. */
            attnzoo::module other("additive");
            other.set_parameter("query_proj.weight", attnzoo::const_tensor(weight, {1 << 15, 1 << 15}, {0, 0}));
        }
    } catch (const std::bad_alloc &want) {
        const auto *known = dynamic_cast<const attnzoo::out_of_memory *>(&want);
        REQUIRE(known != nullptr && known->status() == attnzoo::status::out_of_memory);
        REQUIRE(std::string(known->what()).find("bytes") != std::string::npos);
        was_thrown = true;
    }
    REQUIRE(was_thrown);
}
#endif

TEST(out_of_memory_is_its_own_exception)
{
    bool was_thrown = false;
    try {
        attnzoo::check(ATTNZOO_STATUS_OUT_OF_MEMORY);
    } catch (const attnzoo::error &) {
    } catch (const std::bad_alloc &) {
        was_thrown = true;
    }
    REQUIRE(was_thrown);
    const attnzoo::out_of_memory long_text(std::string(5000, 'x'));
    REQUIRE(std::string(long_text.what()) == std::string(255, 'x'));
}

TEST(statuses_have_their_names)
{
    REQUIRE(attnzoo::status_name(attnzoo::status::shape_mismatch) == "shape mismatch");
    REQUIRE(attnzoo::status_name(static_cast<attnzoo::status>(999)) == "unknown status");
    attnzoo::check(ATTNZOO_STATUS_OK);
}

/* Such as std::getenv() gives for a variable that is not set. */
TEST(null_texts_are_refused)
{
    const char *const unset = nullptr;
    attnzoo::module module("scaled_dot_product");
    REQUIRE_REFUSED(invalid_argument, "NULL", module.set_option("scale", unset));
    REQUIRE_REFUSED(invalid_argument, "NULL", module.set_option(unset, 1));
    REQUIRE_REFUSED(invalid_argument, "NULL", module.set_parameter(unset, nullptr));
    REQUIRE_REFUSED(invalid_argument, "NULL", attnzoo::module{unset});
    REQUIRE_REFUSED(invalid_argument, "NULL", static_cast<void>(attnzoo::item_names(unset, attnzoo::item::option)));
}

TEST(names_need_no_nul_and_may_not_hold_one)
{
    const std::string_view longer = "additively";
    REQUIRE(attnzoo::module(longer.substr(0, 8)).mechanism() == "additive");
    using namespace std::string_view_literals;
    REQUIRE_REFUSED(invalid_argument, "NUL", attnzoo::module("additive\0ly"sv));
    attnzoo::module module("relative_multi_head");
    REQUIRE_REFUSED(invalid_argument, "NUL", module.set_option("flavor"sv, "shaw\0"sv));
    REQUIRE_REFUSED(invalid_argument, "NUL", module.set_option("flavor\0"sv, "shaw"sv));
}
