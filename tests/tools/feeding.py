"""Makes arrays that a mechanism takes from what introspection tells of it alone, for tests that run over all mechanisms.

Options stay at their defaults, so that there is one head, or two in all where there are two kinds; all sizes that a model
chooses are the same. What is required is given, and beyond it what the library's own words ask for. A mechanism that this
cannot feed is told by Hungry.
"""
import re
from typing import Callable, Dict, NamedTuple, Optional, Sequence

import numpy as np

BATCH, QUERIES, KEYS, SIZE = 2, 3, 5, 4
_SIZES = {"B": BATCH, "N": QUERIES, "M": KEYS, "T": KEYS, "P": KEYS + QUERIES - 1, "channels": 1,
          # Of these there is one as long as no option says otherwise: heads, or how far something reaches.
          "G": 1, "Hr": 1, "Hw": 1, "W": 1, "S": 1}


class Hungry(Exception):
    """What the library said of a call with all that could be found for it."""


class Item(NamedTuple):
    """A parameter, an input or an output."""
    name: str
    shape: str
    is_required: bool
    is_integer: bool


def axis_size(axis: str, heads: int = 1) -> int:
    """Of an axis such as "D", "Ev'", "H*D", "2k+1" or "(R+W)*C"."""
    product = re.sub(r"(\d)(?=[A-Za-z(])", r"\1*", axis).replace("/", "//")
    numbers = re.sub(r"[A-Za-z]\w*'?", lambda found: str({**_SIZES, "H": heads}.get(found[0], SIZE)), product)
    return int(eval(numbers, {"__builtins__": {}}))  # Digits and signs are all that is left.


def shape_of(text: str, heads: int = 1):
    return tuple(axis_size(axis, heads) for axis in text.strip("[]").split(", ") if axis != "...")


def make(item: Item, random: np.random.Generator, heads: int = 1) -> np.ndarray:
    if item.is_integer:
        return np.zeros(shape_of(item.shape, heads), np.int64)
    return (0.5 * random.standard_normal(shape_of(item.shape, heads))).astype(np.float32)


def feed(items: Sequence[Item], attempt: Callable[[Dict[str, np.ndarray]], Optional[str]],
         random: np.random.Generator) -> Dict[str, np.ndarray]:
    """Arrays by name, with which attempt() returns None; it returns what the library said otherwise."""
    try:
        return _feed(items, attempt, random, 1)
    except Hungry as hungry:
        try:
            return _feed(items, attempt, random, 2)
        except Hungry:
            raise hungry from None


def _feed(items, attempt, random, heads: int) -> Dict[str, np.ndarray]:
    given = {item.name: make(item, random, heads) for item in items if item.is_required}
    while True:
        message = attempt(given)
        if message is None:
            return given
        wanted = next((item for item in items if item.name not in given and
                       re.search(rf"(?<![\w.]){re.escape(item.name)}(?![\w.])", message)), None)
        if wanted is None:
            raise Hungry(message)
        given[wanted.name] = make(wanted, random, heads)
