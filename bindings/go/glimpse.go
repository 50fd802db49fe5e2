package attnzoo

// glimpse.go: text, images, video and audio as sequences that attention takes, and tiles put back in their places.

/*
#include "shim.h"
*/
import "C"

import "unsafe"

// Numbers in the place of a letter's index.
const (
	// NoLetter is no letter of the alphabet, whose row is all zero.
	NoLetter = C.ATTNZOO_GLIMPSE_NO_LETTER
	// RefuseLetter, as the rule for letters that the alphabet does not have, makes them an error.
	RefuseLetter = C.ATTNZOO_GLIMPSE_REFUSE_LETTER
)

// Edge is what becomes of tiles that do not fit within the input.
type Edge int32

const (
	// EdgeDrop: they are dropped, every tile lies within the input.
	EdgeDrop Edge = C.ATTNZOO_GLIMPSE_EDGE_DROP
	// EdgePad: they are padded, tiles go on until one reaches the input's last element.
	EdgePad Edge = C.ATTNZOO_GLIMPSE_EDGE_PAD
)

// GlimpseLetters turns the letters of a text into their places in an alphabet, and each into a row of zeros with a 1 in
// that place. Letters are code points: a text has as many as utf8.RuneCountInString tells. The alphabet has each letter
// once, in the order of their indices.
//
// What a letter is that the alphabet does not have is told by other: an index, which may lie behind the alphabet's own;
// [NoLetter], a row of zeros; or [RefuseLetter], an error that names the letter and its place. What is not UTF-8 is an
// error, too.
//
// Either output may be left out. indices is [N], int32 or int64; oneHot is [N, E], E at least the number of the
// alphabet's letters and more than other.
func GlimpseLetters(text, alphabet string, other int, indices, oneHot Tensor) error {
	var packed views
	err := firstError(packed.add(0, true, "indices", indices), packed.add(1, true, "oneHot", oneHot))
	if err != nil {
		return err
	}
	letters, size := sizedText(text)
	known, knownSize := sizedText(alphabet)
	return check(func() C.attnzoo_status {
		return C.attnzoo_go_glimpse_letters(letters, size, known, knownSize, C.int64_t(other), packed.arguments())
	})
}

// sizedText is a string as C reads it beside its size, to which zeros are letters.
func sizedText(value string) (*C.char, C.int64_t) {
	if value == "" {
		return nil, 0
	}
	bytes := []byte(value)
	return (*C.char)(unsafe.Pointer(&bytes[0])), C.int64_t(len(bytes))
}

// GlimpseEmbedding gathers rows of a table [L, E] by indices [N] or [B, N], int32 or int64, into glimpses [N, E] or
// [B, N, E]: the product of one-hot rows with the table, without that product. [NoLetter] is a row of zeros.
func GlimpseEmbedding(indices, table, glimpses Tensor) error {
	var packed views
	err := firstError(
		packed.add(0, false, "indices", indices),
		packed.add(1, false, "table", table),
		packed.add(2, true, "glimpses", glimpses))
	if err != nil {
		return err
	}
	return check(func() C.attnzoo_status { return C.attnzoo_go_glimpse_embedding(packed.arguments()) })
}

// GlimpseTileCount tells how many tiles there are along an axis of so many elements, each tile step elements behind the
// one before.
func GlimpseTileCount(size, tile, step int, edge Edge) (int, error) {
	var count C.int64_t
	err := check(func() C.attnzoo_status {
		return C.attnzoo_glimpse_tile_count(C.int64_t(size), C.int64_t(tile), C.int64_t(step), C.int32_t(edge), &count)
	})
	return int(count), err
}

// GlimpseTileView is a view of all tiles of an input where they lie, by strides alone; those that do not fit whole are
// dropped.
//
// The input is [axes], [axes, C] or [B, axes, C], of any element type and strides; as many axes are cut as tile has
// sizes, 1 to 3. Along each, tile k starts at k times the step; a nil step is as tile. An image [H, W, C] is seen as
// [rows, columns, th, tw, C], and a sound [samples] as [N, window], which attention takes as it is.
//
// As with [TensorOf], what is wrong is told by [Tensor.Err], or by the first call that is given the tensor. The view
// keeps the slice alive. It is for inputs alone: elements of tiles that overlap are the same memory.
func GlimpseTileView(input Tensor, tile, step []int) Tensor {
	tiling, err := newTiling(tile, step, EdgeDrop)
	if err != nil {
		return Tensor{err: err}
	}
	return input.relaid(func(layout *C.struct_attnzoo_go_layout, arguments C.struct_attnzoo_go_views) C.attnzoo_status {
		return C.attnzoo_go_glimpse_tile_view(&tiling, layout, arguments)
	})
}

// GlimpseFlatView is a view of the same elements as [N, E], or [B, N, E] where batchAxes is not 0, by joining axes,
// where strides can do that: so many leading axes become B, glimpseAxes behind them N, and those behind E, which is 1
// where there are none. Where strides cannot, [Tensor.Err] is [Unsupported] and names the axes that cannot be joined.
//
// Frames of a video [T, H, W, C] become [T, H * W * C] so; tiles narrower than an image do not, which [GlimpseTiles]
// copies.
func GlimpseFlatView(input Tensor, batchAxes, glimpseAxes int) Tensor {
	if batchAxes < 0 || glimpseAxes < 0 || batchAxes > RankMax || glimpseAxes > RankMax {
		return Tensor{err: failure(InvalidArgument, "batchAxes is %d and glimpseAxes %d, must be 0 to %d of the input's axes",
			batchAxes, glimpseAxes, RankMax)}
	}
	return input.relaid(func(layout *C.struct_attnzoo_go_layout, arguments C.struct_attnzoo_go_views) C.attnzoo_status {
		return C.attnzoo_go_glimpse_flat_view(C.int32_t(batchAxes), C.int32_t(glimpseAxes), layout, arguments)
	})
}

// GlimpseTiles copies the tiles of an input into glimpses [N, E], or [B, N, E] where it has batches: an image [H, W, C]
// into [N, th * tw * C], and video and audio likewise.
//
// Input, tile and step are as [GlimpseTileView] takes them; N is the product of what [GlimpseTileCount] tells of each
// axis. Tiles are counted row-major, as are the elements within each. Where a tile passes the input, with [EdgePad],
// stands padding.
func GlimpseTiles(input Tensor, tile, step []int, edge Edge, padding float64, glimpses Tensor) error {
	tiling, packed, err := packTiles(tile, step, edge, "input", input, "glimpses", glimpses)
	if err != nil {
		return err
	}
	return check(func() C.attnzoo_status {
		return C.attnzoo_go_glimpse_tiles(&tiling, C.double(padding), packed.arguments())
	})
}

// GlimpseUntile puts glimpses back in the places that [GlimpseTiles] took them from: the mean where several tiles cover
// an element, 0 where none does. The edge is that with which the tiles were counted.
//
// To draw the weights of N tiles over an image, give a view of them as [N, th * tw] with the strides 1 and 0: each tile
// is then all of its own weight.
func GlimpseUntile(glimpses Tensor, tile, step []int, edge Edge, output Tensor) error {
	tiling, packed, err := packTiles(tile, step, edge, "glimpses", glimpses, "output", output)
	if err != nil {
		return err
	}
	return check(func() C.attnzoo_status { return C.attnzoo_go_glimpse_untile(&tiling, packed.arguments()) })
}

func newTiling(tile, step []int, edge Edge) (C.struct_attnzoo_go_tiling, *Error) {
	tiling := C.struct_attnzoo_go_tiling{axis_count: C.int32_t(len(tile)), edge: C.int32_t(edge)}
	if len(tile) < 1 || len(tile) > C.ATTNZOO_GLIMPSE_AXES_MAX {
		return tiling, failure(InvalidArgument, "tile has %d axes, must have 1 to %d", len(tile), C.ATTNZOO_GLIMPSE_AXES_MAX)
	}
	if len(step) == 0 {
		step = tile
	}
	if len(step) != len(tile) {
		return tiling, failure(InvalidArgument, "tile has %d axes, step has %d", len(tile), len(step))
	}
	for axis := range tile {
		tiling.tile[axis], tiling.step[axis] = C.int64_t(tile[axis]), C.int64_t(step[axis])
	}
	return tiling, nil
}

func packTiles(tile, step []int, edge Edge, inputName string, input Tensor, outputName string,
	output Tensor) (C.struct_attnzoo_go_tiling, *views, error) {
	tiling, failed := newTiling(tile, step, edge)
	if failed != nil {
		return tiling, nil, failed
	}
	packed := &views{}
	return tiling, packed, firstError(packed.add(0, false, inputName, input), packed.add(1, true, outputName, output))
}

// relaid is a view of some of the same elements, whose layout C tells. It begins at the same element.
func (t Tensor) relaid(
	tell func(layout *C.struct_attnzoo_go_layout, arguments C.struct_attnzoo_go_views) C.attnzoo_status) Tensor {
	var packed views
	var layout C.struct_attnzoo_go_layout
	err := packed.add(0, false, "input", t)
	if err == nil {
		err = check(func() C.attnzoo_status { return tell(&layout, packed.arguments()) })
	}
	if err != nil {
		return Tensor{err: err.(*Error)}
	}
	view := Tensor{data: t.data, dtype: t.dtype, rank: int(layout.rank), isReadOnly: true}
	for axis := 0; axis < view.rank; axis++ {
		view.shape[axis], view.strides[axis] = int64(layout.shape[axis]), int64(layout.strides[axis])
	}
	return view
}
