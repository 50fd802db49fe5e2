"""Single values on their way to C, which cuts what is too large without a word: whole numbers, real ones, flags, texts.
Arrays are read in _views.py.
"""
from __future__ import annotations

import operator
from typing import Any, Optional

import numpy as np

from ._errors import InvalidArgumentError


def whole_number(value: Any, name: str, least: Optional[int] = None, bits: int = 64) -> int:
    """A Python int of any whole number, NumPy's included, that C's signed type of so many bits can hold.

    Args:
        value: what was given. True and False are no numbers.
        name: what to call it in an error: "capacity", "option 'num_heads'".
        least: the smallest number allowed; by default what the type can hold.
    """
    try:
        number = None if isinstance(value, (bool, np.bool_, np.ma.MaskedArray)) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise InvalidArgumentError(f"{name} is {value!r}, must be a whole number")
    if not -(2**(bits - 1)) <= number < 2**(bits - 1):
        # Very long numbers Python refuses to write out.
        written = str(number) if number.bit_length() < 256 else f"a number of {number.bit_length()} bits"
        raise InvalidArgumentError(f"{name} is {written}, which passes {bits - 1} bits")
    if least is not None and number < least:
        raise InvalidArgumentError(f"{name} is {number}, must be at least {least}")
    return number


def flag(value: Any, name: str) -> bool:
    """A Python bool of True and False, NumPy's included. Texts and numbers are none: "no" would be true."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgumentError(f"{name} is {value!r}, must be True or False")
    return bool(value)


def text(value: Any, name: str, allows_nul: bool = False) -> bytes:
    """A text as C takes it, to which a NUL character would be its end where it is not told the size."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {type(value).__name__}")
    if "\0" in value and not allows_nul:
        raise InvalidArgumentError(f"{name} is {value!r}, which has a NUL character")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{name} is {value!r}, which is no Unicode text") from None


def real_number(value: Any, name: str) -> float:
    """A Python float of any real number, NumPy's and arrays of no axes included. True and False are none."""
    if type(value) is float:
        return value
    number = None
    if not isinstance(value, (bool, np.bool_, str, bytes, np.ma.MaskedArray)) and getattr(value, "dtype", None) != np.bool_:
        try:
            number = float(value) if np.ndim(value) == 0 else None
        except (TypeError, ValueError):
            pass
        except OverflowError:
            raise InvalidArgumentError(f"{name} is a number beyond what a float can hold") from None
    if number is None:
        raise InvalidArgumentError(f"{name} is {value!r}, must be a number")
    return number
