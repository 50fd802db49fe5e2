"""What mechanisms there are and what each has, as the library tells it: nothing here, or anywhere else in the package,
has a list of its own, so a mechanism that joins the library needs no code here.
"""
from __future__ import annotations

import functools
from ctypes import c_char_p, c_int32
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _library
from ._errors import UnknownNameError

__all__ = ["Description", "Option", "Parameter", "Slot", "describe", "mechanisms"]

_mechanism_count = _library.quick("mechanism_count")
_mechanism_name = _library.quick("mechanism_name", c_int32, result=c_char_p)
_item_count = _library.quick("item_count", c_char_p, c_int32)
_item_text = _library.quick("item_text", c_char_p, c_int32, c_int32, c_int32, result=c_char_p)


class Option(NamedTuple):
    """An option of a mechanism: its name, one line on it, its type, its default and what values it takes."""

    name: str
    summary: str
    type: str
    default: str
    bounds: str


class Parameter(NamedTuple):
    """A parameter (weights) of a mechanism: its name, one line on it, its shape in letters, and whether it is needed."""

    name: str
    summary: str
    shape: str
    required: bool


class Slot(NamedTuple):
    """An input, an output or a field of the state: its name, one line on it, its shape in letters, whether it is needed
    (always there), the number of its place, and its type: "float" or "integer"."""

    name: str
    summary: str
    shape: str
    required: bool
    place: int
    type: str


class Description(NamedTuple):
    """All that the library tells of a mechanism. `print(description)` sets it out for people."""

    name: str
    summary: str
    formula: str
    source: str
    options: Tuple[Option, ...]
    parameters: Tuple[Parameter, ...]
    inputs: Tuple[Slot, ...]
    outputs: Tuple[Slot, ...]
    state: Tuple[Slot, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.summary}", f"  {self.formula}", f"  {self.source}"]
        lines += [f"option {item.name}: {item.type}, default {item.default}, {item.bounds}; {item.summary}"
                  for item in self.options]
        shaped: List[Tuple[str, Sequence[Union[Parameter, Slot]]]] = [
            ("parameter", self.parameters), ("input", self.inputs), ("output", self.outputs), ("state", self.state)]
        for kind, items in shaped:
            lines += [f"{kind} {item.name} {item.shape}{_remark(item)}: {item.summary}" for item in items]
        return "\n".join(lines)


def _remark(item: Union[Parameter, Slot]) -> str:
    remarks = ["integers"] if isinstance(item, Slot) and item.type == "integer" else []
    if not item.required:
        remarks.append("optional")
    return f" ({', '.join(remarks)})" if remarks else ""


def mechanisms() -> Tuple[str, ...]:
    """The names of all mechanisms of the library.

    >>> import attnzoo
    >>> "multi_head" in attnzoo.mechanisms()
    True
    """
    return tuple(_mechanism_name(index).decode() for index in range(_mechanism_count()))


def _text(mechanism: str, item: int, index: int, field: int) -> Optional[str]:
    text: Optional[bytes] = _item_text(mechanism.encode(), item, index, field)
    return None if text is None else text.decode()


def _items(mechanism: str, kind: int, fields: Sequence[int]) -> Iterator[Tuple[int, List[str]]]:
    """The texts of each item of a kind, with its number. A place that the mechanism does not use has no name."""
    for index in range(_item_count(mechanism.encode(), kind)):
        if _text(mechanism, kind, index, _library.FIELD_NAME) is not None:
            yield index, [_text(mechanism, kind, index, field) or "" for field in fields]


def _slots(mechanism: str, kind: int) -> Tuple[Slot, ...]:
    return tuple(Slot(name, summary, shape, required == "yes", place, type_)
                 for place, (name, summary, shape, required, type_) in
                 _items(mechanism, kind, (*_SHAPED, _library.FIELD_TYPE)))


_SHAPED = (_library.FIELD_NAME, _library.FIELD_SUMMARY, _library.FIELD_SHAPE, _library.FIELD_REQUIRED)
_OPTION = (_library.FIELD_NAME, _library.FIELD_SUMMARY, _library.FIELD_TYPE, _library.FIELD_DEFAULT,
           _library.FIELD_BOUNDS)


@functools.lru_cache(maxsize=None)
def describe(mechanism: str) -> Description:
    """All that the library tells of a mechanism: options, parameters, inputs, outputs, state fields, formula, source.

    Raises:
        UnknownNameError: there is no such mechanism.

    >>> import attnzoo
    >>> [option.name for option in attnzoo.describe("scaled_dot_product").options]
    ['scale', 'softcap']
    """
    if mechanism not in mechanisms():
        raise UnknownNameError(f"there is no mechanism {mechanism!r}; there are {', '.join(mechanisms())}")
    summary, formula, source = (_text(mechanism, _library.ITEM_MECHANISM, 0, field) or "" for field in
                                (_library.FIELD_SUMMARY, _library.FIELD_FORMULA, _library.FIELD_SOURCE))
    return Description(
        mechanism, summary, formula, source,
        options=tuple(Option(*texts) for _, texts in _items(mechanism, _library.ITEM_OPTION, _OPTION)),
        parameters=tuple(Parameter(name, summary, shape, required == "yes") for _, (name, summary, shape, required)
                         in _items(mechanism, _library.ITEM_PARAMETER, _SHAPED)),
        inputs=_slots(mechanism, _library.ITEM_INPUT),
        outputs=_slots(mechanism, _library.ITEM_OUTPUT),
        state=_slots(mechanism, _library.ITEM_STATE))
