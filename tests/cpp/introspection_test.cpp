/*
 * tests/cpp/introspection_test.cpp: what the library has is told, and agrees with the C interface.
 */
#include "testing.hpp"

#include <algorithm>
#include <string_view>

TEST(mechanisms_and_their_items_are_listed)
{
    const auto mechanisms = attnzoo::mechanisms();
    REQUIRE(static_cast<std::int32_t>(mechanisms.size()) == attnzoo_mechanism_count());
    REQUIRE(std::find(mechanisms.begin(), mechanisms.end(), "location_aware") != mechanisms.end());
    for (const std::string_view mechanism : mechanisms) {
        attnzoo::module module(mechanism);
        REQUIRE(attnzoo::item_count(mechanism, attnzoo::item::mechanism) == 1);
        REQUIRE(attnzoo::item_names(mechanism, attnzoo::item::mechanism).at(0) == mechanism);
        const auto inputs = attnzoo::item_names(mechanism, attnzoo::item::input);
        REQUIRE(inputs.at(static_cast<std::size_t>(attnzoo::input::value)) == "value");
        for (const std::string_view option : attnzoo::item_names(mechanism, attnzoo::item::option))
            REQUIRE(!option.empty());
    }
    const auto options = attnzoo::item_names("scaled_dot_product", attnzoo::item::option);
    REQUIRE(options.size() == 2 && options[0] == "scale" && options[1] == "softcap");
    REQUIRE(attnzoo::item_names("multi_head", attnzoo::item::state).at(1) == "value");
}

TEST(places_that_a_mechanism_does_not_use_have_no_name)
{
    const auto outputs = attnzoo::item_names("additive", attnzoo::item::output);
    REQUIRE(outputs.at(static_cast<std::size_t>(attnzoo::output::context)) == "context");
    for (std::size_t i = 0; i < outputs.size(); i++)
        REQUIRE(outputs[i].empty() == (attnzoo_item_text("additive", ATTNZOO_ITEM_OUTPUT, static_cast<std::int32_t>(i),
                                                         ATTNZOO_FIELD_NAME) == nullptr));
}

TEST(fields_are_told_or_absent)
{
    using attnzoo::field;
    using attnzoo::item;
    REQUIRE(attnzoo::item_text("scaled_dot_product", item::option, 1, field::default_value) == "0");
    REQUIRE(attnzoo::item_text("scaled_dot_product", item::option, 1, field::type) == "float");
    REQUIRE(attnzoo::item_text("scaled_dot_product", item::input, 0, field::shape) == "[B, H, N, D]");
    REQUIRE(attnzoo::item_text("scaled_dot_product", item::input, 0, field::required) == "yes");
    REQUIRE(attnzoo::item_text("additive", item::mechanism, 0, field::source)->find("2015") != std::string_view::npos);
    REQUIRE(attnzoo::item_text("additive", item::mechanism, 0, field::formula).has_value());
    REQUIRE(attnzoo::item_text("additive", item::mechanism, 0, field::summary).has_value());
    REQUIRE(!attnzoo::item_text("additive", item::mechanism, 0, field::bounds));
    REQUIRE(!attnzoo::item_text("additive", item::option, 99, field::name));
    REQUIRE(!attnzoo::item_text("no such mechanism", item::option, 0, field::name));
    REQUIRE_REFUSED(unknown_name, "nonesuch", static_cast<void>(attnzoo::item_count("nonesuch", item::option)));
    REQUIRE_REFUSED(unknown_name, "77", static_cast<void>(attnzoo::item_names("additive", static_cast<item>(77))));
}

TEST(the_version_is_that_of_the_library)
{
    REQUIRE(attnzoo::version_number() == ATTNZOO_VERSION_NUMBER);
    REQUIRE(attnzoo::version_string() == attnzoo_version_string() && attnzoo::version_string() == "1.0.0");
    REQUIRE(attnzoo::build_information().find("BLAS") != std::string_view::npos);
}
