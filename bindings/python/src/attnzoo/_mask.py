"""Masks: which keys a query may see, and biases on the scores. How masks are made, combined, and translated from
PyTorch's; what they mean is the library's affair (attnzoo/mask.h)."""
from __future__ import annotations

from ctypes import c_int32, c_int64, c_void_p
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._checks import flag, whole_number
from ._errors import InvalidArgumentError, ShapeError, UnknownNameError
from ._keywords import tells_keywords
from ._library import Handle, check
from ._mask_join import join
from ._views import (ArrayLike, Operand, View, as_array, boolean_operand, float_operand, integer_operand,
                     refuse_masked)

__all__ = ["Mask"]

_create = _library.quick("mask_create", _library.HANDLES)
_set_causal = _library.quick("mask_set_causal", c_void_p, c_int32)
_set_window = _library.quick("mask_set_window", c_void_p, c_int64, c_int64)
_set_alignment = _library.quick("mask_set_alignment", c_void_p, c_int32)
_set_query_offset = _library.quick("mask_set_query_offset", c_void_p, c_int64)


def _bias_operand(source: ArrayLike, name: str) -> Operand:
    return float_operand(source, name, saturate=True)


_READERS: Tuple[Tuple[str, Callable[[ArrayLike, str], Operand], str], ...] = (
    ("key_lengths", integer_operand, "key_lengths"),
    ("query_lengths", integer_operand, "query_lengths"),
    ("boolean", boolean_operand, "boolean"),
    ("bias", _bias_operand, "bias"),
    ("linear_bias", _bias_operand, "linear_bias"),
    ("segments", integer_operand, "segments"),
    ("query_offset", integer_operand, "query_offsets"),
)
#: What is given as an array: how it is read, and the library's setter.
_ARRAYS: Dict[str, Tuple[Callable[[ArrayLike, str], Operand], Any]] = {
    name: (read, _library.quick(f"mask_set_{setter}", c_void_p, c_void_p))
    for name, read, setter in _READERS
}
#: The axes of each: how many at least and at most, and what they are.
_AXES: Dict[str, Tuple[int, int, str]] = {
    "key_lengths": (1, 1, "be [B]"),
    "query_lengths": (1, 1, "be [B]"),
    "boolean": (1, 4, "broadcast to [B, H, N, M]"),
    "bias": (1, 4, "broadcast to [B, H, N, M]"),
    "linear_bias": (1, 1, "be [H]"),
    "segments": (1, 2, "be [B, M] or [M]"),
    "query_offset": (1, 1, "be a number or [B]"),
}
_ALIGNMENTS = {"bottom-right": 0, "top-left": 1, "lengths": 2}


class Mask(Handle):
    """Which keys a query may see, and biases on the scores. All that is given holds together.

    B batch, H heads, N queries, M keys. Query i stands at position p(i) = offset + i, key j at j; the offset is M - N
    unless `alignment` or `query_offset` says otherwise. A query that may see no key gets context 0, never NaN.

    Args:
        causal: query i sees key j only if j <= p(i).
        window: (left, right): query i sees only p(i) - left <= j <= p(i) + right; None or -1 for no limit on a side.
            (0, 0) is the diagonal alone.
        key_lengths: [B] whole numbers; batch b sees only keys below key_lengths[b], and the rest is not read.
        query_lengths: [B] whole numbers; queries from query_lengths[b] on see nothing.
        boolean: TRUE MEANS ATTEND. Broadcasts to [B, H, N, M] from the right, so [B, M] is read as [N, M]: for padding
            give [B, 1, 1, M]. bool, or whole numbers with 0 for what is hidden. (In PyTorch's key_padding_mask and
            attn_mask of nn.MultiheadAttention true hides: see `Mask.from_torch`.)
        bias: added to the scores after scale and softcap; broadcasts as `boolean`. -inf hides.
        linear_bias: [H] slopes; adds -slope * |p(i) - j| (ALiBi).
        segments: [B, M] or [M] whole numbers, for sequences packed into one: a query sees only keys with the number
            that stands at its own position.
        alignment: "bottom-right" (offset M - N, the default: the last query stands at the last key), "top-left"
            (offset 0), "lengths" (key length - query length of each batch).
        query_offset: the offset itself, a number for all batches or [B]; negative is legal.

    A mask never changes. Arrays of the types that the library has (bool, int8, uint8, int32 and int64 for `boolean`;
    int32 and int64; float32, float16 and bfloat16) are not copied: the mask keeps them alive and reads them in each
    call. Others are converted when the mask is made. `mask & other` is a mask that hides what either hides.

    Raises:
        DtypeError, ShapeError: an array that cannot be such a constraint. Whether it fits B, H, N and M is
            checked by the call.
        InvalidArgumentError: a number out of bounds, or both an alignment and an offset.

    >>> import attnzoo
    >>> attnzoo.Mask(causal=True, window=(128, 0), key_lengths=[5, 3])
    Mask(causal=True, window=(128, 0), key_lengths=int64[2])
    """

    __slots__ = ("_given",)
    _destroy = staticmethod(_library.quick("mask_destroy", c_void_p, result=None))

    @tells_keywords
    def __init__(
        self,
        *,
        causal: bool = False,
        window: Optional[Sequence[Optional[int]]] = None,
        key_lengths: Optional[ArrayLike] = None,
        query_lengths: Optional[ArrayLike] = None,
        boolean: Optional[ArrayLike] = None,
        bias: Optional[ArrayLike] = None,
        linear_bias: Optional[ArrayLike] = None,
        segments: Optional[ArrayLike] = None,
        alignment: Optional[str] = None,
        query_offset: Optional[Union[int, ArrayLike]] = None,
    ) -> None:
        self._begin()
        if alignment is not None and query_offset is not None:
            raise InvalidArgumentError("alignment and query_offset both say where queries stand: give one of them")
        given: Dict[str, Any] = {}
        if flag(causal, "causal"):
            given["causal"] = True
        if window is not None:
            given["window"] = _read_window(window)
        if alignment is not None:
            if not isinstance(alignment, str) or alignment not in _ALIGNMENTS:
                raise UnknownNameError(f"there is no alignment {alignment!r}; there are {', '.join(_ALIGNMENTS)}")
            given["alignment"] = alignment
        if query_offset is not None and not isinstance(query_offset, (Operand, list, tuple)) and np.ndim(query_offset) == 0:
            given["query_offset"], query_offset = whole_number(query_offset, "query_offset"), None
        arrays = (("key_lengths", key_lengths), ("query_lengths", query_lengths), ("boolean", boolean), ("bias", bias),
                  ("linear_bias", linear_bias), ("segments", segments), ("query_offset", query_offset))
        for name, source in arrays:
            if source is not None:
                given[name] = source if isinstance(source, Operand) else _ARRAYS[name][0](source, name)
                _check_axes(name, given[name].array)
        self._given = given
        self._pointer = _library.make(_create)
        self._set()

    def _set(self) -> None:
        view = None
        for name, value in self._given.items():
            if isinstance(value, Operand):
                # The library copies the view; the operand in _given keeps the memory.
                view = view or View()
                check(_ARRAYS[name][1](self._pointer, view.show(value)))
            elif name == "causal":
                check(_set_causal(self._pointer, 1))
            elif name == "window":
                check(_set_window(self._pointer, *value))
            elif name == "alignment":
                check(_set_alignment(self._pointer, _ALIGNMENTS[value]))
            else:
                check(_set_query_offset(self._pointer, value))

    def __and__(self, other: "Mask") -> "Mask":
        """A mask that hides just what either hides, and adds the biases of both.

        Each of the two goes on counting positions as it does by itself. Where they count them differently, or where lengths
        would have to be joined that positions are counted from, InvalidArgumentError is raised: one mask cannot say that.
        Arrays that both have (`boolean` and `boolean`, say) are joined as they are now, not read in each call.
        """
        if not isinstance(other, Mask):
            return NotImplemented
        return Mask(**join(self._given, other._given))

    def __repr__(self) -> str:
        def text(value: Any) -> str:
            if not isinstance(value, Operand):
                return repr(value)
            kind = "bfloat16" if value.dtype == _library.DTYPE_BFLOAT16 else str(value.array.dtype)
            return f"{kind}{list(value.array.shape)}"

        return f"Mask({', '.join(f'{name}={text(value)}' for name, value in self._given.items())})"

    @classmethod
    @tells_keywords
    def from_torch(
        cls,
        key_padding_mask: Optional[ArrayLike] = None,
        attn_mask: Optional[ArrayLike] = None,
        num_heads: Optional[int] = None,
    ) -> "Mask":
        """The masks of torch.nn.MultiheadAttention's forward(), in which TRUE HIDES, as a mask of this package.

        Args:
            key_padding_mask: [B, M], or [M]; bool, true for keys to hide, or float, added to the scores.
            attn_mask: [N, M] or [B * num_heads, N, M]; bool, true to hide, or float, added to the scores.
            num_heads: needed for an attn_mask of three axes.
        """
        mask = cls()
        if key_padding_mask is not None:
            padding = _read_torch(key_padding_mask, "key_padding_mask", 1, 2)
            mask &= _from_torch(padding.reshape(*padding.shape[:-1], 1, 1, padding.shape[-1]))
        if attn_mask is not None:
            dense = _read_torch(attn_mask, "attn_mask", 2, 3)
            if dense.ndim == 3:
                heads = 0 if num_heads is None else whole_number(num_heads, "num_heads", least=1)
                if heads == 0 or dense.shape[0] % heads != 0:
                    raise InvalidArgumentError(f"an attn_mask with axes {list(dense.shape)}, which are [B * num_heads, "
                                               f"N, M], needs num_heads, which is {num_heads}")
                dense = dense.reshape(dense.shape[0] // heads, heads, *dense.shape[1:])
            mask &= _from_torch(dense)
        return mask


def _check_axes(name: str, array: NDArray[Any]) -> None:
    least, most, wanted = _AXES[name]
    if not least <= array.ndim <= most:
        has = f"the shape {list(array.shape)}" if array.ndim > 0 else "no axes"
        raise ShapeError(f"{name} has {has}, must {wanted}")


def _read_window(window: Sequence[Optional[int]]) -> Tuple[int, int]:
    if isinstance(window, (str, bytes)) or not hasattr(window, "__len__") or len(window) != 2:
        raise InvalidArgumentError(f"window must be a pair (left, right), not {window!r}")
    left, right = (-1 if side is None else whole_number(side, f"{name} of window", least=-1)
                   for side, name in zip(window, ("left", "right")))
    return left, right


def _read_torch(source: ArrayLike, name: str, least: int, most: int) -> NDArray[Any]:
    refuse_masked(source, name)
    array = as_array(source, name)
    if array.dtype.kind not in "bf":
        # PyTorch took bytes once, and their meaning changed.
        raise InvalidArgumentError(f"{name} must be bool or floating point, not {array.dtype}")
    if not least <= array.ndim <= most:
        raise ShapeError(f"{name} has the shape {list(array.shape)}, must have {least} or {most} axes")
    return array


def _from_torch(array: NDArray[Any]) -> Mask:
    return Mask(boolean=~array) if array.dtype == np.bool_ else Mask(bias=array)


CAUSAL = Mask(causal=True)


def as_mask(mask: Union[Mask, ArrayLike, None], causal: bool, bias: ArrayLike, key_lengths: ArrayLike) -> Optional[Mask]:
    """The mask of a call, from what was given with it."""
    own: Optional[Mask] = mask if mask is None or isinstance(mask, Mask) else Mask(boolean=mask)
    if bias is not None or key_lengths is not None:
        given = Mask(causal=causal, bias=bias, key_lengths=key_lengths)
    elif flag(causal, "causal"):
        given = CAUSAL
    else:
        return own
    return given if own is None else own & given
