"""Two masks in one: what `mask & other` hides. Masks are dictionaries here, of what was given to `Mask` by name, with arrays
as operands; how they are made is told in _mask.py.

What both say is joined one constraint at a time. Causal, window, linear bias and segments count positions, of which one mask
has one kind: they can be joined only where both count alike for every N and M.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ._errors import InvalidArgumentError, ShapeError
from ._views import Operand, integer_operand

Given = Mapping[str, Any]

_LENGTHS = ("key_lengths", "query_lengths")
_PLACES = ("alignment", "query_offset")


def join(one: Given, other: Given) -> Dict[str, Any]:
    """What to give to `Mask` for a mask that hides just what either hides."""
    given: Dict[str, Any] = {}
    for name in dict.fromkeys((*one, *other)):
        if name in _PLACES:
            continue
        if name in one and name in other:
            given[name] = _JOIN[name](name, one[name], other[name])
        else:
            given[name] = one[name] if name in one else other[name]
    given.update(_joined_place(one, other, given))
    return given


def _narrower(name: str, one: Tuple[int, int], other: Tuple[int, int]) -> Tuple[int, int]:
    left, right = (max(sides) if min(sides) < 0 else min(sides) for sides in zip(one, other))
    return left, right


def _add(name: str, one: Operand, other: Operand) -> NDArray[Any]:
    left, right = _broadcast(name, one.widened(), other.widened())
    # Two finite numbers stay finite: the sum of two "lowest" ones is to hide less than -infinity does.
    total: NDArray[Any] = left.astype(np.float64) + right.astype(np.float64)
    return total


def _add_slopes(name: str, one: Operand, other: Operand) -> NDArray[Any]:
    _check_same_shape(name, one.array, other.array)
    return _add(name, one, other)


def _lower(name: str, one: Operand, other: Operand) -> Operand:
    _check_same_shape(name, one.array, other.array)
    # The lengths of one mask joined with themselves go on being read in each call.
    return one if one is other else integer_operand(np.minimum(one.array, other.array), name)


def _both(name: str, one: Operand, other: Operand) -> NDArray[Any]:
    both: NDArray[Any] = np.logical_and(*_broadcast(name, one.array, other.array))
    return both


def _pairs(name: str, one: Operand, other: Operand) -> Any:
    """Segments of which two keys share one just where they share one in either mask: each pair of numbers is a number."""
    if one is other:
        return one
    left, right = (array[0] if array.ndim == 2 and array.shape[0] == 1 else array for array in (one.array, other.array))
    _check_same_shape(name, left, right)
    _, numbers = np.unique(np.stack([left.ravel(), right.ravel()]), axis=1, return_inverse=True)
    return np.asarray(numbers, np.int64).reshape(left.shape)


def _broadcast(name: str, one: NDArray[Any], other: NDArray[Any]) -> Tuple[NDArray[Any], NDArray[Any]]:
    try:
        np.broadcast_shapes(one.shape, other.shape)
    except ValueError:
        raise _misfit(name, one, other) from None
    return one, other


def _check_same_shape(name: str, one: NDArray[Any], other: NDArray[Any]) -> None:
    if one.shape != other.shape:
        raise _misfit(name, one, other)


def _misfit(name: str, one: NDArray[Any], other: NDArray[Any]) -> ShapeError:
    return ShapeError(f"the {name} of two masks to be joined have the shapes {list(one.shape)} and {list(other.shape)}, "
                      "which do not fit each other")


_JOIN: Dict[str, Callable[[str, Any, Any], Any]] = {
    "causal": lambda name, one, other: True,
    "window": _narrower,
    "key_lengths": _lower,
    "query_lengths": _lower,
    "boolean": _both,
    "bias": _add,
    "linear_bias": _add_slopes,
    "segments": _pairs,
}


class _Place(NamedTuple):
    """Where queries stand, so that places that are the same for every N and M compare equal: the position of query 0 is
    key_count + offset - query_count. A count is an operand of [B], or M or N, or 0 where the offset is a number by itself.
    """

    key_count: Any
    query_count: Any
    offset: Any


def _place(given: Given) -> _Place:
    alignment, offset = given.get("alignment", "bottom-right"), given.get("query_offset")
    if offset is not None:
        return _Place(0, 0, offset.array if isinstance(offset, Operand) else offset)
    if alignment == "top-left":
        return _Place(0, 0, 0)
    lengths = [given[name].array if alignment == "lengths" and name in given else None for name in _LENGTHS]
    if lengths[0] is not None and lengths[1] is not None:
        _check_same_shape("lengths", lengths[0], lengths[1])
        return _Place(0, 0, lengths[0].astype(np.int64) - lengths[1].astype(np.int64))
    return _Place("M" if lengths[0] is None else lengths[0], "N" if lengths[1] is None else lengths[1], 0)


def _is_same_place(one: _Place, other: _Place) -> bool:
    return all(isinstance(left, str) == isinstance(right, str) and np.array_equal(left, right)
               for left, right in zip(one, other))


def _counts_positions(given: Given) -> bool:
    return ("causal" in given or "linear_bias" in given or "segments" in given or
            given.get("window", (-1, -1)) != (-1, -1))


def _says_where(given: Given) -> bool:
    return any(name in given for name in _PLACES)


def _joined_place(one: Given, other: Given, joined: Given) -> Dict[str, Any]:
    """The alignment or the offset of the mask that was joined of two."""
    # One that counts nothing but says where queries stand was meant for what it is joined with.
    concerned = [given for given in (one, other) if _counts_positions(given) or _says_where(given)]
    saying = [given for given in concerned if _says_where(given)]
    if not saying:
        return {}
    if len(concerned) == 2 and not _is_same_place(_place(one), _place(other)):
        raise InvalidArgumentError(
            f"the two masks have different positions of queries, {_where(one)} and {_where(other)}, and one mask cannot "
            "have both: say the same alignment or query_offset in each")
    chosen = saying[0]
    if chosen.get("alignment") == "lengths":
        return _place_from_lengths(chosen, joined)
    offset = chosen.get("query_offset")
    if len(saying) == 2 and isinstance(offset, Operand) and offset is not other.get("query_offset"):
        # Equal now, but no longer if one of the two arrays is written to.
        return {"query_offset": offset.array.copy()}
    return {name: chosen[name] for name in _PLACES if name in chosen}


def _place_from_lengths(chosen: Given, joined: Given) -> Dict[str, Any]:
    """The place of a mask that counts from its own lengths, among lengths that may be lower."""
    own, now = ([given.get(name) for name in _LENGTHS] for given in (chosen, joined))
    if all(before is after for before, after in zip(own, now)):
        return {"alignment": "lengths"}
    if all(length is not None for length in own):
        return {"query_offset": _place(chosen).offset}
    # What is missing is M or N, which only the call knows.
    if not all(_are_equal(before, after) for before, after in zip(own, now)):
        raise InvalidArgumentError(
            "a mask with alignment='lengths' counts positions from its own lengths, and those of another mask or of the "
            "call would change them: give that mask both key_lengths and query_lengths, or a query_offset instead")
    return {"alignment": "lengths"}


def _are_equal(one: Optional[Operand], other: Optional[Operand]) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one.array, other.array)


def _where(given: Given) -> str:
    if "query_offset" in given:
        offset = given["query_offset"]
        return f"query_offset={offset.array.tolist() if isinstance(offset, Operand) else offset}"
    if given.get("alignment") != "lengths":
        return f"alignment={given.get('alignment', 'bottom-right')!r}"
    return f"alignment='lengths' with {' and '.join(name for name in _LENGTHS if name in given) or 'no lengths'}"
