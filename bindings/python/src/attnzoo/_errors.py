"""Exceptions: one for each status of the library, each also the built-in exception that a Python user would expect.

How a call's status becomes an exception is in _library.py.
"""
from __future__ import annotations

from typing import Dict, Optional, Type

__all__ = [
    "BadStateError",
    "DtypeError",
    "Error",
    "InvalidArgumentError",
    "OutOfMemoryError",
    "OverlapError",
    "ShapeError",
    "SystemCallError",
    "UnknownNameError",
    "UnsupportedError",
]


class Error(Exception):
    """Something that the library, or this package on its behalf, refused.

    Attributes:
        status: the library's number for this kind of error (`attnzoo/status.h`).
        message: what was wrong, with the names and numbers, in one line.
    """

    status: int = 0
    message: str

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = status

    def __str__(self) -> str:
        # KeyError would print the quotes of a repr.
        return self.message


class InvalidArgumentError(Error, ValueError):
    """An argument breaks a rule: a number out of bounds, a missing parameter, a file that is not what it should be."""

    status = 1


class ShapeError(Error, ValueError):
    """Shapes do not fit each other, or not what the mechanism needs."""

    status = 2


class DtypeError(Error, TypeError):
    """The element type is not one that this place takes."""

    status = 3


class UnsupportedError(Error, ValueError):
    """Well formed, but this library or this mechanism does not have it: an output, an input, a device other than CPU."""

    status = 4


class OutOfMemoryError(Error, MemoryError):
    """Memory could not be had."""

    status = 5


class BadStateError(Error, RuntimeError):
    """Not in the right condition: a module that is prepared already, a state that was made for another module."""

    status = 6


class UnknownNameError(Error, KeyError):
    """No mechanism, option, parameter or field has this name; the message lists those there are."""

    status = 7


class OverlapError(Error, ValueError):
    """An output shares memory with an input, with another output or with itself."""

    status = 8


class SystemCallError(Error, OSError):
    """The operating system refused something other than memory, such as a thread."""

    status = 9


BY_STATUS: Dict[int, Type[Error]] = {
    error.status: error
    for error in (InvalidArgumentError, ShapeError, DtypeError, UnsupportedError, OutOfMemoryError, BadStateError,
                  UnknownNameError, OverlapError, SystemCallError)
}
