/*
 * attnzoo/cpp/mask.hpp: masks. What each constraint means, and which key a query sees, is told by attnzoo/mask.h.
 * Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_MASK_HPP
#define ATTNZOO_CPP_MASK_HPP

#include "argument.hpp"

#include <cstdint>

namespace attnzoo
{

/** The numbers of ATTNZOO_ALIGNMENT_. Since 1.0. */
enum class alignment : std::int32_t {
    /** offset = M - N: the last query stands at the last key. The default. */
    bottom_right = ATTNZOO_ALIGNMENT_BOTTOM_RIGHT,
    /** offset = 0: the first query stands at the first key. */
    top_left = ATTNZOO_ALIGNMENT_TOP_LEFT,
    /** offset = key length - query length of each batch. */
    lengths = ATTNZOO_ALIGNMENT_LENGTHS
};

/**
 * Constraints on which keys a query may see, and biases on the scores. Moves, and does not copy.
 *
 * Each setter sets one constraint or bias, replacing what was set for it before; those that take a view remove it where
 * they are given nullptr. A mask copies the view, not the memory behind it: that must hold until the mask is destroyed or
 * given another view. So the view may be a temporary, unless it owns a DLPack tensor.
 *
 * Setters throw error: invalid_argument, dtype_mismatch or shape_mismatch, as the function of the C interface does.
 * Threads: many may read one mask in forward calls; a setter must not run beside any other use of the mask. Since 1.0.
 */
class mask : public detail::handle<attnzoo_mask, attnzoo_mask_destroy>
{
  public:
    /** Makes a mask that hides nothing. Throws std::bad_alloc. Since 1.0. */
    mask() : handle(detail::create(attnzoo_mask_create))
    {
    }

    /** Takes over a mask that the C interface made; nullptr gives an empty one. Since 1.0. */
    static mask adopt(attnzoo_mask *owned) noexcept
    {
        return mask(owned);
    }

    /** Query i sees key j only if j <= p(i). Since 1.0. */
    void set_causal(bool enabled = true)
    {
        check(attnzoo_mask_set_causal(get(), enabled ? 1 : 0));
    }

    /** Query i sees key j only if p(i) - left <= j <= p(i) + right; -1 for no limit on that side. Since 1.0. */
    void set_window(std::int64_t left, std::int64_t right)
    {
        check(attnzoo_mask_set_window(get(), left, right));
    }

    /** Says where the queries' positions start, and drops any explicit offset set before. Since 1.0. */
    void set_alignment(alignment start)
    {
        check(attnzoo_mask_set_alignment(get(), static_cast<std::int32_t>(start)));
    }

    /** Query i stands at offset + i, in every batch; negative is legal. Replaces the alignment. Since 1.0. */
    void set_query_offset(std::int64_t offset)
    {
        check(attnzoo_mask_set_query_offset(get(), offset));
    }

    /** The offset of each batch: [B], int32 or int64; nullptr goes back to bottom-right. Since 1.0. */
    void set_query_offsets(input_argument offsets)
    {
        check(attnzoo_mask_set_query_offsets(get(), offsets.get()));
    }

    /** In batch b only keys j < lengths[b] are seen, and nothing beyond is read: [B], int32 or int64. Since 1.0. */
    void set_key_lengths(input_argument lengths)
    {
        check(attnzoo_mask_set_key_lengths(get(), lengths.get()));
    }

    /** In batch b queries i >= lengths[b] see nothing: [B], int32 or int64. Since 1.0. */
    void set_query_lengths(input_argument lengths)
    {
        check(attnzoo_mask_set_query_lengths(get(), lengths.get()));
    }

    /**
     * Dense boolean mask, TRUE MEANS ATTEND: boolean, int32 or int64, broadcast to [B, H, N, M] from the right, so say
     * [B, 1, 1, M] for padding. Read in place. Since 1.0.
     */
    void set_boolean(input_argument allowed)
    {
        check(attnzoo_mask_set_boolean(get(), allowed.get()));
    }

    /** Added to the scores, -infinity hides: float32, float16 or bfloat16, broadcast as in set_boolean(). Since 1.0. */
    void set_bias(input_argument bias)
    {
        check(attnzoo_mask_set_bias(get(), bias.get()));
    }

    /** Adds -slopes[h] * |p(i) - j| (ALiBi): [H], float32, float16 or bfloat16. Since 1.0. */
    void set_linear_bias(input_argument slopes)
    {
        check(attnzoo_mask_set_linear_bias(get(), slopes.get()));
    }

    /** A query sees only keys with its own segment id: [B, M], int32 or int64. Since 1.0. */
    void set_segments(input_argument ids)
    {
        check(attnzoo_mask_set_segments(get(), ids.get()));
    }

  private:
    explicit mask(attnzoo_mask *owned) noexcept : handle(owned)
    {
    }
};

} // namespace attnzoo

#endif
