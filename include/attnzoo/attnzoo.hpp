/*
 * attnzoo/attnzoo.hpp: libattnzoo for C++17 and later. It is the interface of attnzoo/attnzoo.h with owning handles, views
 * of containers and exceptions, and nothing more: every function here calls one there, whose text says in full what it
 * computes. Everything is inline; a program links libattnzoo and nothing else.
 *
 *   attnzoo::module                 a mechanism with its options and parameters    attnzoo/cpp/module.hpp
 *   attnzoo::mask                   which keys a query may see, and biases         attnzoo/cpp/mask.hpp
 *   attnzoo::tensor, const_tensor   views of memory that the caller owns           attnzoo/cpp/tensor.hpp
 *   attnzoo::input_views            views that are handed over by place            attnzoo/cpp/argument.hpp
 *   attnzoo::state                  what is carried from one call to the next      attnzoo/cpp/state.hpp
 *   attnzoo::executor               threads and scratch memory                     attnzoo/cpp/executor.hpp
 *   attnzoo::glimpse_...            sequences of text, images, video, audio      attnzoo/cpp/glimpse.hpp
 *   attnzoo::error, out_of_memory   what a call throws                             attnzoo/cpp/error.hpp
 *
 *   attnzoo::module layer("scaled_dot_product");
 *   layer.prepare();
 *   attnzoo::mask causal;
 *   causal.set_causal();
 *   layer.forward(attnzoo::const_tensor(query, {3, 2}), attnzoo::const_tensor(key, {3, 2}),
 *                 attnzoo::const_tensor(value, {3, 2}), attnzoo::tensor(context, {3, 2}), {&causal});
 *
 * Each class owns its handle, moves, and does not copy. get() lends the handle to functions of the C interface, adopt() takes
 * over one that they made, release() gives it away. What was moved from or released is empty, and may be assigned to again.
 * Using it is never undefined: what can fail throws, and what is noexcept says nothing, 0 or -1, as its text tells.
 *
 * Exceptions are needed, run-time types (-frtti) are not.
 *
 * Names and texts that go in are whatever becomes a std::string_view; those that come out are static. const means what it
 * means in the C interface: what is const may be read by many threads at once. A function that is noexcept cannot fail.
 */
#ifndef ATTNZOO_ATTNZOO_HPP
#define ATTNZOO_ATTNZOO_HPP

#include "attnzoo.h"

/* First, since GCC's -Wshadow holds the field named shape against the type of that name where it knows it already. */
#include "cpp/introspection.hpp"

#include "cpp/argument.hpp"
#include "cpp/error.hpp"
#include "cpp/executor.hpp"
#include "cpp/glimpse.hpp"
#include "cpp/mask.hpp"
#include "cpp/module.hpp"
#include "cpp/state.hpp"
#include "cpp/tensor.hpp"

#include <cstdint>

namespace attnzoo
{

/** The numbers of ATTNZOO_SINUSOID_. Since 1.0. */
enum class sinusoid : std::int32_t {
    /** Column 2i is sin, column 2i + 1 is cos. */
    interleaved = ATTNZOO_SINUSOID_INTERLEAVED,
    /** All sines come first, then all cosines. */
    halves = ATTNZOO_SINUSOID_HALVES
};

/**
 * Fills a table with the sinusoids of positions, as attnzoo_fill_sinusoidal_positions() says: row p stands for the position
 * first + p * step.
 *
 * table  output, [P, E] or [B, P, E], float32, float16 or bfloat16.
 *
 * Throws error: invalid_argument, shape_mismatch, dtype_mismatch, overlap. Threads: any, each with its own table. Since 1.0.
 */
inline void fill_sinusoidal_positions(output_argument table, std::int64_t first, std::int64_t step,
                                      sinusoid arrangement = sinusoid::interleaved)
{
    check(attnzoo_fill_sinusoidal_positions(table.get(), first, step, static_cast<std::int32_t>(arrangement)));
}

/**
 * Merges two partial contexts of the same queries over two disjoint sets of keys, as attnzoo_merge_contexts() says.
 *
 * context      output, [..., Dv]; may be the very view context_a, to accumulate in place.
 * log_sum_exp  output, [...]; may be the very view log_sum_exp_a; nullptr if it is not wanted.
 *
 * Throws error: invalid_argument, shape_mismatch, dtype_mismatch, overlap; no output was written then. Threads: any. Since
 * 1.0.
 */
inline void merge_contexts(input_argument context_a, input_argument log_sum_exp_a, input_argument context_b,
                           input_argument log_sum_exp_b, output_argument context, output_argument log_sum_exp = nullptr)
{
    check(attnzoo_merge_contexts(context_a.get(), log_sum_exp_a.get(), context_b.get(), log_sum_exp_b.get(),
                                 context.get(), log_sum_exp.get()));
}

} // namespace attnzoo

#endif
