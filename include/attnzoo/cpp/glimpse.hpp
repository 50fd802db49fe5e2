/*
 * attnzoo/cpp/glimpse.hpp: glimpses of text, images, video and audio. Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_GLIMPSE_HPP
#define ATTNZOO_CPP_GLIMPSE_HPP

#include "argument.hpp"
#include "error.hpp"
#include "shape.hpp"
#include "tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace attnzoo
{

/** In the place of a letter's index: no letter of the alphabet, whose row is all zero. Since 1.0. */
inline constexpr std::int64_t no_letter = ATTNZOO_GLIMPSE_NO_LETTER;

/** As the rule for letters that the alphabet does not have: they are an error. Since 1.0. */
inline constexpr std::int64_t refuse_letter = ATTNZOO_GLIMPSE_REFUSE_LETTER;

/** The most axes that are cut. Since 1.0. */
inline constexpr std::size_t glimpse_axes_max = ATTNZOO_GLIMPSE_AXES_MAX;

/** What becomes of tiles that do not fit within the input: the numbers of ATTNZOO_GLIMPSE_EDGE_. Since 1.0. */
enum class edge : std::int32_t {
    /** They are dropped: every tile lies within the input. */
    drop = ATTNZOO_GLIMPSE_EDGE_DROP,
    /** They are padded: tiles go on until one reaches the input's last element. */
    pad = ATTNZOO_GLIMPSE_EDGE_PAD
};

namespace detail
{

/* The steps as the C interface takes them: none are as long as the tiles. */
inline const std::int64_t *steps_or_null(const shape &tile, const shape &step)
{
    if (step.size() != 0 && step.size() != tile.size())
        throw error(status::invalid_argument,
                    "tile has " + std::to_string(tile.size()) + " axes, step has " + std::to_string(step.size()));
    return data_or_null(step);
}

} // namespace detail

/**
 * How many letters, which are code points, a text in UTF-8 has, as attnzoo_glimpse_letter_count() says.
 *
 * Throws error (invalid_argument) if it is not UTF-8. Threads: any. Since 1.0.
 */
inline std::int64_t glimpse_letter_count(const text_argument &text)
{
    std::int64_t count = 0;
    check(attnzoo_glimpse_letter_count(text.get().data(), static_cast<std::int64_t>(text.get().size()), &count));
    return count;
}

/**
 * Turns the letters of a text into indices into an alphabet and one-hot rows, as attnzoo_glimpse_letters() says.
 *
 * other    what a letter is that the alphabet does not have: an index, no_letter, or refuse_letter.
 * indices  output, [N], int32 or int64; nullptr if it is not wanted.
 * one_hot  output, [N, E]; nullptr if it is not wanted.
 *
 * Throws error: invalid_argument, shape_mismatch, dtype_mismatch, overlap; no output was written then. Throws
 * out_of_memory. Threads: any. Since 1.0.
 */
inline void glimpse_letters(const text_argument &text, const text_argument &alphabet, std::int64_t other,
                            output_argument indices, output_argument one_hot = nullptr)
{
    check(attnzoo_glimpse_letters(text.get().data(), static_cast<std::int64_t>(text.get().size()),
                                  alphabet.get().data(), static_cast<std::int64_t>(alphabet.get().size()), other,
                                  indices.get(), one_hot.get()));
}

/**
 * Gathers the rows of an embedding table [L, E] by indices, [N] or [B, N], as attnzoo_glimpse_embedding() says.
 *
 * Throws error: invalid_argument, shape_mismatch, dtype_mismatch, overlap; no output was written then. Threads: any.
 * Since 1.0.
 */
inline void glimpse_embedding(input_argument indices, input_argument table, output_argument glimpses)
{
    check(attnzoo_glimpse_embedding(indices.get(), table.get(), glimpses.get()));
}

/**
 * How many tiles there are along an axis, as attnzoo_glimpse_tile_count() says.
 *
 * Throws error: invalid_argument. Threads: any. Since 1.0.
 */
inline std::int64_t glimpse_tile_count(std::int64_t size, std::int64_t tile, std::int64_t step, edge rule = edge::drop)
{
    std::int64_t count = 0;
    check(attnzoo_glimpse_tile_count(size, tile, step, static_cast<std::int32_t>(rule), &count));
    return count;
}

/**
 * A view of all tiles of an input where they lie, as attnzoo_glimpse_tile_view() says. It shows the input's memory,
 * which must outlive it.
 *
 * tile  the sizes of a tile: as many as axes are cut.
 * step  from one tile to the next; none: as tile.
 *
 * Throws error: invalid_argument, shape_mismatch. Throws out_of_memory. Threads: any. Since 1.0.
 */
inline const_tensor glimpse_tile_view(input_argument input, const shape &tile, const shape &step = {})
{
    return const_tensor::adopt(detail::create(attnzoo_glimpse_tile_view, input.get(), tile.rank(), tile.data(),
                                              detail::steps_or_null(tile, step)));
}

/**
 * A view of the same elements as [N, E], or [B, N, E] where batch_axes is not 0, as attnzoo_glimpse_flat_view() says.
 * It shows the input's memory, which must outlive it.
 *
 * Throws error: invalid_argument; unsupported if no strides can do it. Throws out_of_memory. Threads: any. Since 1.0.
 */
inline const_tensor glimpse_flat_view(input_argument input, std::int32_t batch_axes, std::int32_t glimpse_axes)
{
    return const_tensor::adopt(detail::create(attnzoo_glimpse_flat_view, input.get(), batch_axes, glimpse_axes));
}

/**
 * Copies tiles into glimpses [N, E] or [B, N, E], as attnzoo_glimpse_tiles() says.
 *
 * Throws error: invalid_argument, shape_mismatch, dtype_mismatch, overlap; no output was written then. Threads: any.
 * Since 1.0.
 */
inline void glimpse_tiles(input_argument input, const shape &tile, const shape &step, output_argument glimpses,
                          edge rule = edge::drop, double padding = 0.0)
{
    check(attnzoo_glimpse_tiles(input.get(), tile.rank(), tile.data(), detail::steps_or_null(tile, step),
                                static_cast<std::int32_t>(rule), padding, glimpses.get()));
}

/**
 * Puts glimpses back in the places of their tiles, the mean where several cover an element, as attnzoo_glimpse_untile()
 * says.
 *
 * Throws error: invalid_argument, shape_mismatch, dtype_mismatch, overlap; no output was written then. Threads: any.
 * Since 1.0.
 */
inline void glimpse_untile(input_argument glimpses, const shape &tile, const shape &step, output_argument output,
                           edge rule = edge::drop)
{
    check(attnzoo_glimpse_untile(glimpses.get(), tile.rank(), tile.data(), detail::steps_or_null(tile, step),
                                 static_cast<std::int32_t>(rule), output.get()));
}

} // namespace attnzoo

#endif
