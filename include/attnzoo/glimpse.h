/*
 * attnzoo/glimpse.h: glimpses of raw input. Attention takes sequences [B, N, E]: N glimpses of E numbers each. These
 * functions make such of text, images, video and audio, without copying where a view with other strides can show it,
 * and put glimpses back in their places.
 *
 *   text     letters -> indices and one-hot rows          attnzoo_glimpse_letters()
 *            indices -> rows of an embedding table        attnzoo_glimpse_embedding()
 *   images   [H, W, C] -> tiles [N, th * tw * C]          axis_count = 2
 *   video    [T, H, W, C] -> space-time tiles or frames   axis_count = 3
 *   audio    [samples, C] -> windows [N, window * C]      axis_count = 1
 *
 * Tiles. The three kinds of raw input are one: an input of `axis_count` axes that are cut, perhaps with an axis of
 * batches in front and an axis of channels behind. What its rank is tells which of the two there are:
 *
 *   rank = axis_count       [axes]         grey images [H, W], mono audio [samples]: no channels, C = 1
 *   rank = axis_count + 1   [axes, C]
 *   rank = axis_count + 2   [B, axes, C]
 *
 * Along each cut axis tile k starts at k * step and has tile elements. Tiles overlap where step < tile, and leave
 * elements out where step > tile. There are as many as attnzoo_glimpse_tile_count() says. They are counted row-major,
 * the last cut axis fastest, and so are the elements within each, the channels fastest of all. N is the product of
 * the counts, E the product of the tile's sizes and C.
 *
 * All of these run in the calling thread.
 */
#ifndef ATTNZOO_GLIMPSE_H
#define ATTNZOO_GLIMPSE_H

#include "api.h"
#include "status.h"
#include "tensor.h"

ATTNZOO_BEGIN_DECLARATIONS

/** Numbers in the place of a letter's index. An int64_t wherever one is passed. */
enum {
    /** No letter of the alphabet: its one-hot row, or its embedding, is all zero. */
    ATTNZOO_GLIMPSE_NO_LETTER = -1,
    /** As the rule for letters that the alphabet does not have: they are an error. */
    ATTNZOO_GLIMPSE_REFUSE_LETTER = -2
};

/** What becomes of tiles that do not fit within the input. An int32_t wherever one is passed. */
enum {
    /** They are dropped: every tile lies within the input, and what is left at the end is in none. */
    ATTNZOO_GLIMPSE_EDGE_DROP = 0,
    /** They are padded: tiles go on until one reaches the input's last element; beyond it lies padding. */
    ATTNZOO_GLIMPSE_EDGE_PAD = 1
};

/** What bounds tiles. */
enum {
    /** The most axes that are cut. */
    ATTNZOO_GLIMPSE_AXES_MAX = 3
};

/**
 * Counts the letters of a text in UTF-8: its Unicode code points, each of them one glimpse. Line ends, spaces and a
 * byte order mark are letters, too; a letter with a combining accent behind it is two.
 *
 * @param text   [size] bytes; zeros are letters like any other. May be NULL if size is 0.
 * @param size   how many bytes.
 * @param count  receives the number of letters; untouched on error.
 * @return OK; INVALID_ARGUMENT: text or count is NULL, size is negative, or the text is not UTF-8 (overlong forms and
 *         surrogates are not), with the offset of the byte where it is not.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_letter_count(const char *text, int64_t size, int64_t *count);

/**
 * Turns a text into glimpses, a letter each: its place in an alphabet, and the row of zeros with a 1 in that place.
 *
 *   indices[n] = i  where letter n of the text is letter i of the alphabet
 *   one_hot[n][e] = 1 if e == indices[n], else 0
 *
 * @param text           [size] bytes of UTF-8, as attnzoo_glimpse_letter_count() takes them.
 * @param size           how many bytes.
 * @param alphabet       [alphabet_size] bytes of UTF-8: each letter once, in the order of their indices.
 * @param alphabet_size  how many bytes.
 * @param other          what a letter is that the alphabet does not have: an index from 0 on, which may lie behind the
 *                       alphabet's own; ATTNZOO_GLIMPSE_NO_LETTER; or ATTNZOO_GLIMPSE_REFUSE_LETTER.
 * @param indices        output, [N], int32 or int64, N the number of letters; NULL if it is not wanted.
 * @param one_hot        output, [N, E], float32, float16 or bfloat16, E at least the number of the alphabet's letters
 *                       and more than other; columns behind them are 0. NULL if it is not wanted.
 * @return OK; INVALID_ARGUMENT: NULL where there are bytes, a negative size, text or alphabet is not UTF-8 (the message
 *         has the byte's offset), the alphabet has a letter twice, other is below -2 or passes the type of indices, a
 *         letter is not in the alphabet and is to be refused (the message has its offset), an output is read-only;
 *         SHAPE_MISMATCH; DTYPE_MISMATCH; OVERLAP: an output overlaps itself, the other, the text or the alphabet;
 *         OUT_OF_MEMORY: the alphabet is looked up in a table that takes 4 bytes for each code point up to its highest.
 *         On error no output was written.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_letters(const char *text, int64_t size, const char *alphabet,
                                                   int64_t alphabet_size, int64_t other, attnzoo_tensor *indices,
                                                   attnzoo_tensor *one_hot);

/**
 * Gathers the rows of an embedding table, which is what the product of one-hot rows with it comes to:
 *
 *   glimpses[b][n] = table[indices[b][n]], or zeros where the index is ATTNZOO_GLIMPSE_NO_LETTER
 *
 * @param indices   [N] or [B, N], int32 or int64.
 * @param table     [L, E], float32, float16 or bfloat16: a row for each letter, word, or whatever is counted.
 * @param glimpses  output, [N, E] or [B, N, E], float32, float16 or bfloat16.
 * @return OK; INVALID_ARGUMENT: NULL, glimpses is read-only, an index is neither ATTNZOO_GLIMPSE_NO_LETTER nor 0 to
 *         L - 1 (the message has its place; where E is 0 they are not looked at); SHAPE_MISMATCH; DTYPE_MISMATCH;
 *         OVERLAP. On error no output was written.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_embedding(const attnzoo_tensor *indices, const attnzoo_tensor *table,
                                                     attnzoo_tensor *glimpses);

/**
 * Counts the tiles along one axis:
 *
 *   drop  0 if size < tile, else floor((size - tile) / step) + 1
 *   pad   the least number with which the last element is covered, or with which the next tile would start beyond it:
 *         0 if size = 0, else min(ceil(max(size - tile, 0) / step) + 1, ceil(size / step))
 *
 * @param size   elements along the axis.
 * @param tile   elements of a tile, 1 or more.
 * @param step   from the start of one tile to that of the next, 1 or more.
 * @param edge   an ATTNZOO_GLIMPSE_EDGE_ number.
 * @param count  receives the number; untouched on error.
 * @return OK; INVALID_ARGUMENT: count is NULL, size is negative, tile or step is below 1, no such edge.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_tile_count(int64_t size, int64_t tile, int64_t step, int32_t edge,
                                                      int64_t *count);

/**
 * Makes a view that shows all tiles of an input where they lie, by strides alone; those that do not fit are dropped.
 *
 *   [H, W, C] -> [rows, columns, th, tw, C]        element [r][c][y][x][k] = input[r step_h + y][c step_w + x][k]
 *   [B, T, H, W, C] -> [B, depths, rows, columns, td, th, tw, C]
 *   [samples] -> [N, window]
 *
 * An axis of batches or channels is there where the input has it. The last of these is what attention takes as it is;
 * of others attnzoo_glimpse_flat_view() makes [N, E] where strides can, and attnzoo_glimpse_tiles() by copying.
 *
 * @param view        receives the new view on success, read-only, which the caller owns; untouched otherwise. It shows
 *                    the input's memory, which must outlive every use of it; the input itself need not.
 * @param input       [axes], [axes, C] or [B, axes, C], of any element type and strides.
 * @param axis_count  how many axes are cut, 1 to ATTNZOO_GLIMPSE_AXES_MAX.
 * @param tile        [axis_count] sizes of a tile, outermost first, 1 or more.
 * @param step        [axis_count] from one tile to the next, 1 or more. NULL: as tile.
 * @return OK; INVALID_ARGUMENT: NULL, axis_count, tile or step is out of bounds, the sizes pass 63 bits;
 *         SHAPE_MISMATCH: the input has too few or too many axes; OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_tile_view(attnzoo_tensor **view, const attnzoo_tensor *input,
                                                     int32_t axis_count, const int64_t *tile, const int64_t *step);

/**
 * Makes a view of the same elements as [N, E] or [B, N, E], by joining axes, where strides can do that: the outer of
 * two must step as far as the whole inner one reaches. Frames of a compact video [T, H, W, C] become [T, H * W * C] so,
 * and windows [N, window, C] of compact stereo audio [N, window * C]; tiles narrower than an image do not.
 *
 * @param view          receives the new view on success, read-only, which the caller owns; untouched otherwise. It
 *                      shows the input's memory, as that of attnzoo_glimpse_tile_view() does.
 * @param input         of any element type and strides.
 * @param batch_axes    how many leading axes become B; 0 for a view [N, E].
 * @param glimpse_axes  how many axes behind these become N, 1 or more. Those behind become E, which is 1 where there
 *                      are none.
 * @return OK; INVALID_ARGUMENT: NULL, batch_axes is negative, glimpse_axes below 1, or there are not so many axes;
 *         UNSUPPORTED: no strides can do it, with the two axes that cannot be joined; OUT_OF_MEMORY.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_flat_view(attnzoo_tensor **view, const attnzoo_tensor *input,
                                                     int32_t batch_axes, int32_t glimpse_axes);

/**
 * Copies tiles into glimpses: [H, W, C] -> [N, th * tw * C], and the same for the other kinds of input (above).
 *
 * @param input       [axes], [axes, C] or [B, axes, C], float32, float16 or bfloat16, any strides.
 * @param axis_count  how many axes are cut, 1 to ATTNZOO_GLIMPSE_AXES_MAX.
 * @param tile        [axis_count] sizes of a tile, outermost first, 1 or more.
 * @param step        [axis_count] from one tile to the next, 1 or more. NULL: as tile.
 * @param edge        an ATTNZOO_GLIMPSE_EDGE_ number.
 * @param padding     what stands where a tile passes the input, with ATTNZOO_GLIMPSE_EDGE_PAD; rounded to float32 and to
 *                    the type of glimpses.
 * @param glimpses    output, [N, E], or [B, N, E] where the input has batches; float32, float16 or bfloat16.
 * @return OK; INVALID_ARGUMENT: NULL, a number is out of bounds, glimpses is read-only, sizes pass 63 bits;
 *         SHAPE_MISMATCH; DTYPE_MISMATCH; OVERLAP. On error no output was written.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_tiles(const attnzoo_tensor *input, int32_t axis_count, const int64_t *tile,
                                                 const int64_t *step, int32_t edge, double padding,
                                                 attnzoo_tensor *glimpses);

/**
 * Puts glimpses back in the places that attnzoo_glimpse_tiles() took them from. Where several tiles cover an element,
 * it is their mean; where none does, it is 0. Parts of tiles beyond the output are passed over.
 *
 *   output[y][x][k] = mean over all (r, c) with 0 <= y - r step_h < th and 0 <= x - c step_w < tw
 *                     of glimpses[r columns + c][((y - r step_h) tw + x - c step_w) C + k]
 *
 * Sums are made in double, in the order of the tiles. To draw the weights w [N] of the tiles over an image [H, W], hand
 * over a view of them as [N, th * tw] with the strides 1 and 0: each tile is then all of its own weight.
 *
 * @param glimpses    [N, E], or [B, N, E] where the output has batches; float32, float16 or bfloat16, any strides.
 * @param axis_count  how many axes were cut, 1 to ATTNZOO_GLIMPSE_AXES_MAX.
 * @param tile        [axis_count] sizes of a tile, outermost first, 1 or more.
 * @param step        [axis_count] from one tile to the next, 1 or more. NULL: as tile.
 * @param edge        an ATTNZOO_GLIMPSE_EDGE_ number, that with which the tiles were counted.
 * @param output      output, [axes], [axes, C] or [B, axes, C], float32, float16 or bfloat16.
 * @return OK; INVALID_ARGUMENT: NULL, a number is out of bounds, output is read-only, sizes pass 63 bits;
 *         SHAPE_MISMATCH; DTYPE_MISMATCH; OVERLAP. On error no output was written.
 * Threads: any. Since 1.0.
 */
ATTNZOO_API attnzoo_status attnzoo_glimpse_untile(const attnzoo_tensor *glimpses, int32_t axis_count,
                                                  const int64_t *tile, const int64_t *step, int32_t edge,
                                                  attnzoo_tensor *output);

ATTNZOO_END_DECLARATIONS

#endif
