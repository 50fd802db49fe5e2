"""Glimpses: text, images, video and audio as sequences [B, N, E] that attention takes, and tiles put back in their places.

Images, video and audio are one here: an array of so many axes that are cut as a tile has sizes, perhaps with an axis of
batches in front and one of channels behind. What its rank is tells which of the two there are.
"""
from __future__ import annotations

import ctypes
import math
from ctypes import c_char_p, c_double, c_int32, c_int64, c_void_p
from typing import Any, Literal, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _checks, _library
from ._checks import real_number, whole_number
from ._errors import DtypeError, InvalidArgumentError, OutOfMemoryError, ShapeError, UnknownNameError
from ._keywords import tells_keywords
from ._library import check
from ._views import (ArrayLike, BFloat16Array, Operand, View, array_in_place, float_operand, int64s, integer_operand,
                     output_operand, output_type, result_type)

__all__ = ["glimpse_embedding", "glimpse_flat_view", "glimpse_letter_indices", "glimpse_letters", "glimpse_tile_count",
           "glimpse_tile_view", "glimpse_tiles", "glimpse_untile"]

_letter_count = _library.slow("glimpse_letter_count", c_char_p, c_int64, _library.INT64S)
_letters = _library.slow("glimpse_letters", c_char_p, c_int64, c_char_p, c_int64, c_int64, c_void_p, c_void_p)
_embedding = _library.slow("glimpse_embedding", c_void_p, c_void_p, c_void_p)
_tile_count = _library.quick("glimpse_tile_count", c_int64, c_int64, c_int64, c_int32, _library.INT64S)
_tile_view = _library.quick("glimpse_tile_view", _library.HANDLES, c_void_p, c_int32, _library.INT64S, _library.INT64S)
_flat_view = _library.quick("glimpse_flat_view", _library.HANDLES, c_void_p, c_int32, c_int32)
_tiles = _library.slow("glimpse_tiles", c_void_p, c_int32, _library.INT64S, _library.INT64S, c_int32, c_double, c_void_p)
_untile = _library.slow("glimpse_untile", c_void_p, c_int32, _library.INT64S, _library.INT64S, c_int32, c_void_p)
_destroy = _library.quick("tensor_destroy", c_void_p, result=None)
_rank = _library.quick("tensor_rank", c_void_p)
_size = _library.quick("tensor_size", c_void_p, c_int32, result=c_int64)
_stride = _library.quick("tensor_stride", c_void_p, c_int32, result=c_int64)

_OTHERS = {"zero": _library.GLIMPSE_NO_LETTER, "refuse": _library.GLIMPSE_REFUSE_LETTER}
_EDGES = {"drop": _library.GLIMPSE_EDGE_DROP, "pad": _library.GLIMPSE_EDGE_PAD}

Edge = Literal["drop", "pad"]
Other = Union[int, Literal["refuse", "zero"]]
#: One size for each axis that is cut; a whole number where that is one.
Sizes = Union[int, Sequence[int]]


def _other(other: Any) -> int:
    if isinstance(other, str):
        if other not in _OTHERS:
            raise UnknownNameError(f"there is no other={other!r}; there are {', '.join(_OTHERS)}, and any index")
        return _OTHERS[other]
    return whole_number(other, "other", least=0)


def _edge(edge: Any) -> int:
    if not isinstance(edge, str) or edge not in _EDGES:
        raise UnknownNameError(f"there is no edge {edge!r}; there are {', '.join(_EDGES)}")
    return _EDGES[edge]


def _sizes(sizes: Any, name: str, least: Optional[int] = None) -> Tuple[int, ...]:
    if not isinstance(sizes, (list, tuple)) and np.ndim(sizes) == 0:
        return (whole_number(sizes, name, least),)
    return tuple(whole_number(size, f"{name}[{axis}]", least) for axis, size in enumerate(sizes))


def _tiling(tile: Any, step: Any) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    tiles = _sizes(tile, "tile")
    steps = tiles if step is None else _sizes(step, "step")
    if len(steps) != len(tiles):
        raise InvalidArgumentError(f"tile has {len(tiles)} axes, step has {len(steps)}")
    return tiles, steps


def _make(shape: Tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        return np.empty(shape, dtype)
    except ValueError:
        raise InvalidArgumentError(f"an array of shape {list(shape)} passes what can be addressed") from None
    except MemoryError:
        raise OutOfMemoryError(f"there is no memory for an array of shape {list(shape)} of {dtype}") from None


def _encoded(text: Any, name: str) -> bytes:
    return _checks.text(text, name, allows_nul=True)


def _count_letters(encoded: bytes) -> int:
    count = c_int64()
    check(_letter_count(encoded, len(encoded), ctypes.byref(count)))
    return count.value


@tells_keywords
def glimpse_letters(text: str, alphabet: str, *, other: Other = "refuse", size: Optional[int] = None, out: Any = None,
                    dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """The letters of a text as glimpses: for each a row of zeros, with a 1 in the column of its place in the alphabet.

    A letter is a code point, as it is in a str: line ends and zeros are letters, too, and one with a combining accent
    behind it is two.

    Args:
        text: of N letters.
        alphabet: each letter once, in the order of the columns.
        other: what a letter is that the alphabet does not have: "refuse", an error; "zero", a row of zeros; or an index
            from 0 on, which may lie behind the alphabet's own.
        size: E, the number of columns; by default as many as the alphabet and other need. Those behind are 0.
        out: an array [N, E] to write to.
        dtype: of what is returned: float32 or float16.

    Returns:
        [N, E].

    Raises:
        InvalidArgumentError: a letter is to be refused, with its place in bytes of UTF-8; the alphabet has one twice.
        UnknownNameError, ShapeError, DtypeError, OverlapError, OutOfMemoryError.

    >>> import attnzoo
    >>> attnzoo.glimpse_letters("oz!", "zo", other="zero")
    array([[0., 1.],
           [1., 0.],
           [0., 0.]], dtype=float32)
    """
    encoded, letters, rule = _encoded(text, "text"), _encoded(alphabet, "alphabet"), _other(other)
    if size is not None:
        size = whole_number(size, "size", least=0)
    if out is None:
        columns = max(_count_letters(letters), rule + 1) if size is None else size
        out = _make((_count_letters(encoded), columns), output_type(dtype))
    elif size is not None and np.shape(out)[-1:] != (size,):
        raise ShapeError(f"out has the shape {list(np.shape(out))}, but size is {size}")
    view = View()
    check(_letters(encoded, len(encoded), letters, len(letters), rule, None,
                   view.show(output_operand(out, "out"), writable=True)))
    return out  # type: ignore[no-any-return]


@tells_keywords
def glimpse_letter_indices(text: str, alphabet: str, *, other: Other = "refuse") -> NDArray[np.int64]:
    """The places of a text's letters in an alphabet, for `glimpse_embedding`.

    Args:
        text: of N letters.
        alphabet: each letter once, in the order of their indices.
        other: what a letter is that the alphabet does not have, as in `glimpse_letters`; "zero" is index -1.

    Returns:
        [N].

    Raises:
        As `glimpse_letters`.

    >>> import attnzoo
    >>> attnzoo.glimpse_letter_indices("zoo é", "éoz", other=3)
    array([2, 1, 1, 3, 0])
    """
    encoded, letters = _encoded(text, "text"), _encoded(alphabet, "alphabet")
    indices = np.empty(_count_letters(encoded), np.int64)
    view = View()
    check(_letters(encoded, len(encoded), letters, len(letters), _other(other),
                   view.show(Operand(indices, _library.DTYPE_INT64), writable=True), None))
    return indices


@tells_keywords
def glimpse_embedding(indices: ArrayLike, table: ArrayLike, *, out: Any = None, dtype: DTypeLike = None) -> NDArray[Any]:
    """Rows of an embedding table by their numbers: the product of one-hot rows with it, without that product.

    Args:
        indices: [N] or [B, N] whole numbers, 0 to L - 1, or -1 for a row of zeros.
        table: [L, E], a row for each letter, word, or whatever is counted.
        out: an array [N, E] or [B, N, E] to write to.
        dtype: of what is returned: float32 or float16. The table's by default; float32 where NumPy does not have that.

    Returns:
        [N, E] or [B, N, E].

    Raises:
        InvalidArgumentError: an index has no row, with its place.
        ShapeError, DtypeError, OverlapError.

    >>> import attnzoo
    >>> attnzoo.glimpse_embedding([1, 1, -1], [[1, 2], [3, 4]])
    array([[3., 4.],
           [3., 4.],
           [0., 0.]], dtype=float32)
    """
    numbers, rows = integer_operand(indices, "indices"), float_operand(table, "table")
    if out is None:
        # Where either has another rank the library says so, whatever is there to write to.
        out = _make(numbers.array.shape + rows.array.shape[1:2], result_type(dtype, rows))
    views = View(), View(), View()
    check(_embedding(views[0].show(numbers), views[1].show(rows),
                     views[2].show(output_operand(out, "out"), writable=True)))
    return out  # type: ignore[no-any-return]


def glimpse_tile_count(size: int, tile: int, step: Optional[int] = None, *, edge: Edge = "drop") -> int:
    """How many tiles there are along one axis.

    Args:
        size: elements along the axis.
        tile: elements of a tile.
        step: from the start of one tile to that of the next; as long as the tile by default.
        edge: "drop": those that fit whole; "pad": until one reaches the last element.

    Raises:
        InvalidArgumentError, UnknownNameError.

    >>> import attnzoo
    >>> attnzoo.glimpse_tile_count(10, 4, 3), attnzoo.glimpse_tile_count(11, 4, 3, edge="pad")
    (3, 4)
    """
    numbers = [whole_number(number, name) for number, name in
               ((size, "size"), (tile, "tile"), (tile if step is None else step, "step"))]
    count = c_int64()
    check(_tile_count(*numbers, _edge(edge), ctypes.byref(count)))
    return count.value


def _layout(create: Any, array: NDArray[Any], *arguments: Any) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Shape and strides, in bytes, of a view that the library makes of an array.

    The library is shown the first byte of each element: so it can lay out arrays of every type, whose elements it never
    reads here, and its strides are NumPy's.
    """
    source = View()
    shown = source.show(Operand(array.getfield(np.dtype(np.bool_)), _library.DTYPE_BOOL))
    made = _library.make(create, shown, *arguments)
    try:
        axes = range(_rank(made))
        return tuple(_size(made, axis) for axis in axes), tuple(_stride(made, axis) for axis in axes)
    finally:
        _destroy(made)


def _view_as(create: Any, source: ArrayLike, *arguments: Any) -> Any:
    array, is_bfloat16 = array_in_place(source, "input")
    if array.dtype.hasobject or array.dtype.itemsize == 0:
        raise DtypeError(f"input has the element type {array.dtype}, must be numbers")
    shape, strides = _layout(create, array, *arguments)
    view = np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)
    return BFloat16Array(view) if is_bfloat16 else view


def glimpse_tile_view(input: ArrayLike, tile: Sizes, step: Optional[Sizes] = None) -> Any:
    """All tiles of an array where they lie: a view of its memory, of which nothing is copied.

    Along each cut axis tile k starts at k * step. Tiles that do not fit whole are dropped. The view is read-only, for
    where tiles overlap one element is seen in several; it keeps the array's memory alive.

    Args:
        input: [axes], [axes, C] or [B, axes, C], as many axes between batches and channels as tile has sizes, 1 to 3; of
            any element type and strides. What is no array, such as a list, is made one first.
        tile: the sizes of a tile, outermost first; a whole number where one axis is cut.
        step: from one tile to the next; as tile by default.

    Returns:
        [B, counts, tile, C], B and C where the input has them: [H, W, C] becomes [rows, columns, th, tw, C], and [samples]
        becomes [N, window], which attention takes as it is. See `glimpse_flat_view` and `glimpse_tiles` for [N, E]. It is a
        NumPy array; of bfloat16, where NumPy has no type for it, a `BFloat16Array`.

    Raises:
        InvalidArgumentError, ShapeError, DtypeError.

    >>> import attnzoo, numpy
    >>> attnzoo.glimpse_tile_view(numpy.arange(6), 4, 2)
    array([[0, 1, 2, 3],
           [2, 3, 4, 5]])
    """
    tiles, steps = _tiling(tile, step)
    return _view_as(_tile_view, input, len(tiles), int64s(tiles), int64s(steps))


def glimpse_flat_view(input: ArrayLike, glimpse_axes: int = 1, *, batch_axes: int = 0) -> Any:
    """The same elements as [N, E] or [B, N, E], by joining axes, where strides can do that; nothing is copied.

    Frames of a compact video [T, H, W, C] become [T, H * W * C] so, and windows [N, window, C] of compact stereo audio
    [N, window * C]; tiles narrower than an image do not. NumPy's reshape would copy them then; this says so instead.

    Args:
        input: of any element type and strides.
        glimpse_axes: how many axes behind those of batches become N. Those behind become E, 1 where there are none.
        batch_axes: how many leading axes become B; none by default.

    Returns:
        [N, E], or [B, N, E] with batch_axes; read-only, and it keeps the memory alive. Of bfloat16 as `glimpse_tile_view`.

    Raises:
        UnsupportedError: no strides can do it, with the two axes that cannot be joined.
        InvalidArgumentError, DtypeError.

    >>> import attnzoo, numpy
    >>> attnzoo.glimpse_flat_view(numpy.zeros((5, 4, 6, 3), numpy.uint8)).shape
    (5, 72)
    """
    axes = whole_number(batch_axes, "batch_axes", bits=32), whole_number(glimpse_axes, "glimpse_axes", bits=32)
    return _view_as(_flat_view, input, *axes)


def _glimpses_shape(array: NDArray[Any], tile: Tuple[int, ...], step: Tuple[int, ...], edge: Edge) -> Tuple[int, ...]:
    # Asked for what is wrong with these, of which the counts below would not know.
    _layout(_tile_view, array, len(tile), int64s(tile), int64s(step))
    spare = array.ndim - len(tile)
    batches, cut = array.shape[:max(spare - 1, 0)], array.shape[max(spare - 1, 0):]
    counts = [glimpse_tile_count(size, *each, edge=edge) for size, *each in zip(cut, tile, step)]
    return batches + (math.prod(counts), math.prod(tile) * (array.shape[-1] if spare > 0 else 1))


@tells_keywords
def glimpse_tiles(input: ArrayLike, tile: Sizes, step: Optional[Sizes] = None, *, edge: Edge = "drop",
                  padding: float = 0.0, out: Any = None, dtype: DTypeLike = None) -> NDArray[Any]:
    """Copies the tiles of an array: an image [H, W, C] becomes glimpses [N, th * tw * C], video and audio likewise.

    Tiles are counted row-major, the last cut axis fastest, and so are the elements within each, the channels fastest of
    all.

    Args:
        input: [axes], [axes, C] or [B, axes, C], as many axes between batches and channels as tile has sizes, 1 to 3.
            What is taken for an array is told at `scaled_dot_product`.
        tile: the sizes of a tile, outermost first; a whole number where one axis is cut.
        step: from one tile to the next; as tile by default.
        edge: "drop": tiles that do not fit whole are left out; "pad": they go on until one reaches the last element.
        padding: what stands where a tile passes the input.
        out: an array [N, E] or [B, N, E] to write to.
        dtype: of what is returned: float32 or float16. The input's by default; float32 where NumPy does not have that.

    Returns:
        [N, E], or [B, N, E] where the input has batches.

    Raises:
        ShapeError, DtypeError, InvalidArgumentError, UnknownNameError, OverlapError.

    >>> import attnzoo, numpy
    >>> attnzoo.glimpse_tiles(numpy.arange(8).reshape(2, 4), (2, 2))
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]], dtype=float32)
    """
    operand, (tiles, steps), number = float_operand(input, "input"), _tiling(tile, step), _edge(edge)
    padding = real_number(padding, "padding")
    if out is None:
        out = _make(_glimpses_shape(operand.array, tiles, steps, edge), result_type(dtype, operand))
    views = View(), View()
    check(_tiles(views[0].show(operand), len(tiles), int64s(tiles), int64s(steps), number, padding,
                 views[1].show(output_operand(out, "out"), writable=True)))
    return out  # type: ignore[no-any-return]


@tells_keywords
def glimpse_untile(glimpses: ArrayLike, shape: Sizes, tile: Sizes, step: Optional[Sizes] = None, *, edge: Edge = "drop",
                   out: Any = None, dtype: DTypeLike = None) -> NDArray[Any]:
    """Puts glimpses back in the places that `glimpse_tiles` took them from.

    Where several tiles cover an element it is their mean, where none does it is 0, and what reaches beyond is passed
    over. To draw the weights w [N] of tiles over an image, pass numpy.broadcast_to(w[:, None], (N, th * tw)): each tile
    is then all of its own weight, and nothing is copied.

    Args:
        glimpses: [N, E], or [B, N, E] where the shape has batches.
        shape: [axes], [axes, C] or [B, axes, C] of what they were taken from.
        tile: the sizes of a tile, outermost first; a whole number where one axis was cut.
        step: from one tile to the next; as tile by default.
        edge: that with which the tiles were counted.
        out: an array of that shape to write to.
        dtype: of what is returned: float32 or float16. The glimpses' by default; float32 where NumPy does not have that.

    Returns:
        An array of that shape.

    Raises:
        ShapeError, DtypeError, InvalidArgumentError, UnknownNameError, OverlapError.

    >>> import attnzoo
    >>> attnzoo.glimpse_untile([[1, 1], [5, 5]], 3, 2, 1)
    array([1., 3., 5.], dtype=float32)
    """
    operand, (tiles, steps), number = float_operand(glimpses, "glimpses"), _tiling(tile, step), _edge(edge)
    sizes = _sizes(shape, "shape", least=0)
    if out is None:
        out = _make(sizes, result_type(dtype, operand))
    target = output_operand(out, "out")
    if target.array.shape != sizes:
        raise ShapeError(f"out has the shape {list(target.array.shape)}, must have {list(sizes)}")
    views = View(), View()
    check(_untile(views[0].show(operand), len(tiles), int64s(tiles), int64s(steps), number,
                  views[1].show(target, writable=True)))
    return out  # type: ignore[no-any-return]
