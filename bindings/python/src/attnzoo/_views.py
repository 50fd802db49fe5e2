"""From what a user passes to what the library takes: which arrays are used where they lie, which are converted, which
are refused, and the reusable views that a call describes them by.
"""
from __future__ import annotations

import functools
from ctypes import c_int32, c_int64, c_void_p
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _library
from ._dlpack import import_array, is_on_cpu
from ._errors import DtypeError, ShapeError, UnsupportedError
from ._introspection import Slot, describe, mechanisms
from ._library import Handle

__all__ = ["BFloat16Array"]

#: Anything that the package takes for an array: see `attnzoo.scaled_dot_product`. Python has no type for it.
ArrayLike = Any


class BFloat16Array:
    """A NumPy array of uint16 whose bits are to be read as bfloat16, the upper half of a float32.

    NumPy has no such type. Wrap the bits to pass them as an input, a parameter or `out=`. (Tensors of PyTorch with this
    type and arrays of the ml_dtypes package are taken as they are.)

    >>> import attnzoo, numpy
    >>> numpy.asarray(attnzoo.BFloat16Array(numpy.array([0x3F80, 0xC000], numpy.uint16)))
    array([ 1., -2.], dtype=float32)
    """

    __slots__ = ("bits",)

    #: The uint16 array itself, not a copy.
    bits: NDArray[np.uint16]

    def __init__(self, bits: NDArray[np.uint16]) -> None:
        refuse_masked(bits, "bits")
        if not isinstance(bits, np.ndarray) or bits.dtype != np.uint16 or not bits.dtype.isnative:
            raise DtypeError("the bits of a BFloat16Array must be a NumPy array of native uint16")
        self.bits = bits

    @classmethod
    def rounded(cls, values: ArrayLike) -> "BFloat16Array":
        """The values, rounded to the nearest bfloat16 (to even on a tie); NaN stays NaN."""
        refuse_masked(values, "values")
        single = _to_float32(values)
        wide = single.view(np.uint32)
        nearest = (wide + (np.uint32(0x7FFF) + ((wide >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
        quiet = (wide >> np.uint32(16)) | np.uint32(0x40)
        return cls(np.where(np.isnan(single), quiet, nearest).astype(np.uint16))

    @property
    def shape(self) -> Tuple[int, ...]:
        """The sizes of the axes."""
        return self.bits.shape

    def __getitem__(self, index: Any) -> "BFloat16Array":
        return BFloat16Array(np.asarray(self.bits[index]))

    def __array__(self, dtype: Optional[DTypeLike] = None, copy: Optional[bool] = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("NumPy has no bfloat16: to read it as float32 takes a copy")
        # Of an array of no axes NumPy makes a scalar, which is no array.
        wide: NDArray[Any] = np.asarray(self.bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return wide if dtype is None else wide.astype(dtype)

    def __repr__(self) -> str:
        return f"BFloat16Array({np.asarray(self)!r})"


class Operand(NamedTuple):
    """An array that the library can read where it lies, and the library's number for its element type."""

    array: NDArray[Any]
    dtype: int

    def widened(self) -> NDArray[Any]:
        """The numbers as an array that NumPy can calculate with."""
        if self.dtype == _library.DTYPE_BFLOAT16 and self.array.dtype == np.uint16:
            return np.asarray(BFloat16Array(self.array))
        return self.array


_FLOATS: Dict[np.dtype[Any], int] = {
    np.dtype(np.float32): _library.DTYPE_FLOAT32,
    np.dtype(np.float16): _library.DTYPE_FLOAT16,
}
_INTEGERS: Dict[np.dtype[Any], int] = {
    np.dtype(np.int32): _library.DTYPE_INT32,
    np.dtype(np.int64): _library.DTYPE_INT64,
}
_BOOLEANS: Dict[np.dtype[Any], int] = {np.dtype(np.bool_): _library.DTYPE_BOOL, **_INTEGERS}


def _float_number(dtype: np.dtype[Any]) -> Optional[int]:
    """The library's number for a type of NumPy, or None. The bfloat16 of ml_dtypes is known by its name."""
    number = _FLOATS.get(dtype)
    if number is None and dtype.name == "bfloat16" and dtype.itemsize == 2 and dtype.isnative:
        number = _FLOATS[dtype] = _library.DTYPE_BFLOAT16
    return number


def _is_viewable(array: NDArray[Any]) -> bool:
    flags = array.flags
    return flags.aligned and (flags.c_contiguous or all(step % array.itemsize == 0 for step, size in
                                                        zip(array.strides, array.shape) if size > 1))


def _has_masked(source: ArrayLike) -> bool:
    if isinstance(source, (list, tuple)):
        # By the types there are, for lists may be long.
        kinds = set(map(type, source))
        return (any(issubclass(kind, np.ma.MaskedArray) for kind in kinds) or
                (any(issubclass(kind, (list, tuple)) for kind in kinds) and any(map(_has_masked, source))))
    return isinstance(source, np.ma.MaskedArray)


def refuse_masked(source: ArrayLike, name: str) -> None:
    """For whatever NumPy is to make an array of: it would pass over the masks of its own masked arrays."""
    if _has_masked(source):
        raise DtypeError(f"{name} is a masked array, or has one in it, whose mask would be passed over: pass its data and "
                         "a Mask")


def as_array(source: ArrayLike, name: str) -> NDArray[Any]:
    """What NumPy makes of lists and the like. Where that is nothing, it cannot tell which argument it was."""
    try:
        array: NDArray[Any] = np.asarray(source)
    except ValueError as error:
        raise ShapeError(f"{name} makes no array: {error}") from None
    return array


def _to_numpy(source: ArrayLike, name: str, is_read_only_use: bool = True) -> Tuple[NDArray[Any], Optional[int]]:
    """The array of an object, by the way that it offers, and its dtype number where NumPy cannot tell it."""
    refuse_masked(source, name)
    if isinstance(source, np.ndarray):
        return np.asarray(source), None
    if isinstance(source, BFloat16Array):
        return source.bits, _library.DTYPE_BFLOAT16
    if hasattr(source, "__dlpack__"):
        try:
            return import_array(source, name)
        except (DtypeError, UnsupportedError):
            # An element type that the library does not have may be one that NumPy can convert.
            if is_read_only_use and is_on_cpu(source) and hasattr(source, "__array__"):
                return np.asarray(source.__array__()), None
            raise
    array = as_array(source, name)
    if not is_read_only_use:
        raise DtypeError(f"{name} must be an array to write to, not {type(source).__name__}")
    return array, None


def array_in_place(source: ArrayLike, name: str) -> Tuple[NDArray[Any], bool]:
    """An array where it lies, of whatever element type, and whether its uint16 are the bits of bfloat16."""
    array, number = _to_numpy(source, name)
    return array, number == _library.DTYPE_BFLOAT16 and array.dtype == np.uint16


def _refuse(name: str, dtype: np.dtype[Any], wanted: str) -> DtypeError:
    return DtypeError(f"{name} has the element type {dtype}, must be {wanted}")


def _to_float32(values: Any) -> NDArray[np.float32]:
    """A copy in float32, infinite where that cannot hold a number, of which NumPy warns in some places and not in others."""
    with np.errstate(over="ignore"):
        return np.array(values, dtype=np.float32, order="C")


def float_operand(source: ArrayLike, name: str, saturate: bool = False) -> Operand:
    """Numbers for a query, a parameter, a bias: float32, float16 and bfloat16 as they lie, other real numbers converted.

    Args:
        saturate: numbers beyond the range of float32 become its largest instead of infinite, as a bias needs in which
            the lowest float64 is to hide less than -infinity does.
    """
    if type(source) is np.ndarray:
        number = _FLOATS.get(source.dtype)
        if number is not None and source.flags.aligned and _is_viewable(source):
            return Operand(source, number)
    array, number = _to_numpy(source, name)
    if number is None:
        number = _float_number(array.dtype)
    if number is not None and number <= _library.DTYPE_BFLOAT16:
        return Operand(array if _is_viewable(array) else np.array(array, order="C"), number)
    if array.dtype.kind not in "fiu":
        raise _refuse(name, array.dtype, "float32, float16 or bfloat16 (or other real numbers, which are converted)")
    if array.dtype == np.dtype(np.float16).newbyteorder():
        return Operand(array.astype(np.float16), _library.DTYPE_FLOAT16)
    if saturate:
        narrow = _to_float32(array)
        limit = np.finfo(np.float32).max
        return Operand(np.where(np.isinf(narrow) & np.isfinite(array), np.copysign(limit, narrow), narrow),
                       _library.DTYPE_FLOAT32)
    return Operand(_to_float32(array), _library.DTYPE_FLOAT32)


def _plain_array(source: ArrayLike, name: str) -> NDArray[Any]:
    """For booleans and whole numbers, which not every producer passes through DLPack, but does as a NumPy array."""
    if not isinstance(source, np.ndarray) and hasattr(source, "__array__"):
        source = source.__array__()
    return _to_numpy(source, name)[0]


def integer_operand(source: ArrayLike, name: str) -> Operand:
    """Lengths, offsets, segments: int32 and int64 as they lie, other whole numbers as int64."""
    array = _plain_array(source, name)
    if array.dtype.kind not in "iu":
        # An empty list is an array of float64 to NumPy.
        if array.size > 0 or isinstance(source, np.ndarray):
            raise _refuse(name, array.dtype, "whole numbers")
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size > 0 and array.max() >= 2**63:
        raise DtypeError(f"{name} has a number that int64 cannot hold")
    number = _INTEGERS.get(array.dtype)
    if number is None or not _is_viewable(array):
        return Operand(array.astype(np.int64), _library.DTYPE_INT64)
    return Operand(array, number)


def slot_operand(source: ArrayLike, slot: Slot) -> Operand:
    """An input of the type that the mechanism says. One number will do where an array of one is wanted."""
    if slot.type != "integer":
        return float_operand(source, slot.name)
    operand = integer_operand(source, slot.name)
    if operand.array.ndim == 0 and slot.shape == "[1]":
        return Operand(operand.array.reshape(1), operand.dtype)
    return operand


def boolean_operand(source: ArrayLike, name: str) -> Operand:
    """Dense masks: bool and whole numbers, true or not 0 for what may be seen."""
    array = _plain_array(source, name)
    if array.dtype in (np.int8, np.uint8):
        array = array.view(np.bool_)
    number = _BOOLEANS.get(array.dtype)
    if number is not None and _is_viewable(array):
        return Operand(array, number)
    if array.dtype.kind not in "biu":
        raise _refuse(name, array.dtype, "bool, true for what may be seen; numbers to add to the scores are a bias")
    return Operand(array != 0, _library.DTYPE_BOOL)


def output_operand(target: ArrayLike, name: str, is_integer: bool = False) -> Operand:
    """An array to write to, exactly as it is: nothing could be converted."""
    array, number = _to_numpy(target, name, is_read_only_use=False)
    if is_integer:
        number = _INTEGERS.get(array.dtype)
        if number is None:
            raise _refuse(name, array.dtype, "int32 or int64 to be written to")
    elif number is None:
        number = _float_number(array.dtype)
    if number is None or (number > _library.DTYPE_BFLOAT16 and not is_integer):
        raise _refuse(name, array.dtype, "float32, float16 or bfloat16 to be written to")
    if not _is_viewable(array):
        raise DtypeError(f"{name} is not aligned for its element type")
    return Operand(array, number)


def output_type(dtype: DTypeLike) -> np.dtype[Any]:
    """The type of arrays that are made to be written to."""
    chosen = np.dtype(dtype)
    if _float_number(chosen) is None:
        raise DtypeError(f"dtype is {chosen}, must be float32 or float16")
    return chosen


def result_type(dtype: DTypeLike, source: Operand) -> np.dtype[Any]:
    """The type of arrays that are made here for what is computed from an operand: its own unless another is chosen."""
    if dtype is None:
        # Bare bits of bfloat16 are uint16 to NumPy, which is no type for a result.
        return source.array.dtype if source.array.dtype.kind != "u" else np.dtype(np.float32)
    return output_type(dtype)


_assign = _library.quick("tensor_assign", c_void_p, c_void_p, c_int32, c_int32, _library.INT64S, _library.INT64S)
_assign_readonly = _library.quick("tensor_assign_readonly", c_void_p, c_void_p, c_int32, c_int32, _library.INT64S,
                                  _library.INT64S)
_create = _library.quick("tensor_create", _library.HANDLES, c_void_p, c_int32, c_int32, _library.INT64S,
                         _library.INT64S)


@functools.lru_cache(maxsize=512)
def int64s(numbers: Tuple[int, ...]) -> Any:
    """The numbers as the library wants them. Shapes come again and again; the arrays are only read."""
    return (c_int64 * max(len(numbers), 1))(*numbers)


class View(Handle):
    """One of the library's tensor views, described anew for each use. It does not keep memory alive: its user does."""

    __slots__ = ()
    _destroy = staticmethod(_library.quick("tensor_destroy", c_void_p, result=None))

    def __init__(self) -> None:
        self._pointer = _library.make(_create, None, _library.DTYPE_FLOAT32, 1, int64s((0,)), None)

    def show(self, operand: Operand, writable: bool = False) -> int:
        """Describes an array; the pointer to the view. To be written to, the array must allow it."""
        array, number = operand
        steps = None
        if not array.flags.c_contiguous:
            size = array.itemsize
            steps = int64s(tuple([step // size for step in array.strides]))
        assign = _assign if writable and array.flags.writeable else _assign_readonly
        status = assign(self._pointer, array.ctypes.data, number, array.ndim, int64s(array.shape), steps)
        if status != 0:
            raise _library.failure(status)
        return self._pointer


#: As many places as the mechanism has that has most inputs, outputs or state fields.
_PLACES = 1 + max(slot.place for name in mechanisms() for slots in
                  (describe(name).inputs, describe(name).outputs, describe(name).state) for slot in slots)


class Frame:
    """The views and pointers of one call. Calls take a frame from the pool and put it back: a call inside a call, or in
    another thread, has another frame."""

    __slots__ = ("input_views", "output_views", "inputs", "outputs", "rank", "shape")

    def __init__(self) -> None:
        self.input_views = [View() for _ in range(_PLACES)]
        self.output_views = [View() for _ in range(_PLACES)]
        self.inputs = (c_void_p * _PLACES)()
        self.outputs = (c_void_p * _PLACES)()
        self.rank = c_int32()
        self.shape = (c_int64 * _library.RANK_MAX)()


_frames: List[Frame] = []


def take_frame() -> Frame:
    """A frame from the pool, or a new one. pop() and append() are atomic, so threads need no lock."""
    try:
        return _frames.pop()
    except IndexError:
        return Frame()


return_frame = _frames.append
