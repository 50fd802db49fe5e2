/*
 * tests/cpp/glimpse_test.cpp: glimpses of text, images and audio reach the C interface and come back.
 */
#include "testing.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace
{

using attnzoo::const_tensor;
using attnzoo::tensor;

} // namespace

TEST(letters_become_rows)
{
    const std::string text = "b\xc3\xa9?";
    REQUIRE(attnzoo::glimpse_letter_count(text) == 3);
    REQUIRE(attnzoo::glimpse_letter_count(std::string_view("a\0b", 3)) == 3);
    std::array<std::int64_t, 3> indices{};
    std::array<float, 9> rows{};
    attnzoo::glimpse_letters(text, "ab\xc3\xa9", attnzoo::no_letter, tensor(indices, {3}), tensor(rows, {3, 3}));
    REQUIRE((indices == std::array<std::int64_t, 3>{1, 2, -1}));
    REQUIRE((rows == std::array<float, 9>{0, 1, 0, 0, 0, 1, 0, 0, 0}));
    REQUIRE_REFUSED(invalid_argument, "U+003F at byte 3",
                    attnzoo::glimpse_letters(text, "ab\xc3\xa9", attnzoo::refuse_letter, tensor(indices, {3})));
    REQUIRE_REFUSED(invalid_argument, "not UTF-8 at byte 1", attnzoo::glimpse_letter_count("a\xff"));
    const std::array<float, 6> table{1, 2, 3, 4, 5, 6};
    std::array<float, 6> glimpses{};
    attnzoo::glimpse_embedding(const_tensor(indices, {3}), const_tensor(table, {3, 2}), tensor(glimpses, {3, 2}));
    REQUIRE((glimpses == std::array<float, 6>{3, 4, 5, 6, 0, 0}));
}

TEST(images_become_tiles_and_come_back)
{
    std::vector<float> picture(20), back(20), tiles(6 * 4);
    for (std::size_t i = 0; i < picture.size(); i++)
        picture[i] = static_cast<float>(i + 1);
    const const_tensor image(picture, {4, 5});
    REQUIRE(attnzoo::glimpse_axes_max == 3);
    REQUIRE(attnzoo::glimpse_tile_count(5, 2, 2) == 2 && attnzoo::glimpse_tile_count(5, 2, 2, attnzoo::edge::pad) == 3);
    const const_tensor view = attnzoo::glimpse_tile_view(image, {2, 2});
    REQUIRE(view.shape() == attnzoo::shape(2, 2, 2, 2) && view.data() == picture.data());
    attnzoo::glimpse_tiles(image, {2, 2}, {}, tensor(tiles, {6, 4}), attnzoo::edge::pad, -1.0);
    REQUIRE(tiles[8] == 5 && tiles[9] == -1);
    attnzoo::glimpse_untile(const_tensor(tiles, {6, 4}), {2, 2}, {2, 2}, tensor(back, {4, 5}), attnzoo::edge::pad);
    REQUIRE(back == picture);
    REQUIRE_REFUSED(unsupported, "cannot be joined", attnzoo::glimpse_flat_view(view, 0, 2));
    REQUIRE_REFUSED(invalid_argument, "tile has 2 axes, step has 1",
                    attnzoo::glimpse_tile_view(image, {2, 2}, attnzoo::shape{2}));
}

TEST(windows_are_seen_where_they_lie)
{
    const std::vector<float> samples(20);
    const const_tensor stereo(samples, {10, 2});
    const const_tensor windows = attnzoo::glimpse_tile_view(stereo, attnzoo::shape{4}, attnzoo::shape{3});
    const const_tensor flat = attnzoo::glimpse_flat_view(windows, 0, 1);
    REQUIRE(flat.shape() == attnzoo::shape(3, 8) && flat.strides() == attnzoo::strides(6, 1));
}
