"""The shared library: where it is found, its functions with their C types, its numbers, and how a status becomes an
exception.

Functions that may take long (`slow`) run without the interpreter's lock; the others (`quick`) keep it, which costs less
than giving it up. Nothing here knows NumPy.
"""
from __future__ import annotations

import ctypes
import os
import re
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_void_p
from typing import Any, Callable, Iterable, Tuple

from ._errors import BY_STATUS, BadStateError, Error

RANK_MAX = 8
DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_BOOL, DTYPE_INT32, DTYPE_INT64 = range(1, 7)
ITEM_MECHANISM, ITEM_OPTION, ITEM_PARAMETER, ITEM_INPUT, ITEM_OUTPUT, ITEM_STATE = range(6)
(FIELD_NAME, FIELD_SUMMARY, FIELD_TYPE, FIELD_DEFAULT, FIELD_BOUNDS, FIELD_SHAPE, FIELD_REQUIRED, FIELD_SOURCE,
 FIELD_FORMULA) = range(9)
OUTPUT_CONTEXT, OUTPUT_ATTENTION, OUTPUT_LOG_SUM_EXP = range(3)
GLIMPSE_NO_LETTER, GLIMPSE_REFUSE_LETTER = -1, -2
GLIMPSE_EDGE_DROP, GLIMPSE_EDGE_PAD = range(2)

_NAME = "libattnzoo.so.1"


def _load() -> Tuple[ctypes.CDLL, ctypes.PyDLL]:
    path = os.environ.get("ATTNZOO_LIBRARY") or _NAME
    try:
        return ctypes.CDLL(path), ctypes.PyDLL(path)
    except OSError as error:
        raise ImportError(
            f"the package attnzoo needs the shared library {_NAME}, which could not be loaded ({error}). Install "
            "libattnzoo, or set ATTNZOO_LIBRARY to the path of the file, or LD_LIBRARY_PATH to the folder that it is in"
        ) from error


slow_library, quick_library = _load()


def _declare(library: ctypes.CDLL, name: str, result: Any, arguments: Iterable[Any]) -> Any:
    try:
        function = getattr(library, "attnzoo_" + name)
    except AttributeError as error:
        raise ImportError(f"the library {library._name} has no function attnzoo_{name}: it is older than this "
                          "package, or another library") from error
    function.restype = result
    function.argtypes = list(arguments)
    return function


def quick(name: str, *arguments: Any, result: Any = c_int32) -> Any:
    """A function that returns at once; it is called with the interpreter's lock held."""
    return _declare(quick_library, name, result, arguments)


def slow(name: str, *arguments: Any, result: Any = c_int32) -> Any:
    """A function that may compute, copy or wait for long; other Python threads run meanwhile."""
    return _declare(slow_library, name, result, arguments)


_last_error: Callable[[], bytes] = quick("last_error", result=c_char_p)
_C_FUNCTION = re.compile("attnzoo_[a-z_]+: ")


def failure(status: int) -> Error:
    """The exception for the status that the last call of this thread returned.

    To be made at once, before anything else calls the library: the message is the thread's last one.
    """
    message = _last_error().decode("utf-8", "replace")
    # It begins with a function of C that nobody called from Python.
    called = _C_FUNCTION.match(message)
    return BY_STATUS.get(status, Error)(message[called.end():] if called else message, status)


def check(status: int) -> None:
    """Raises the exception for a status other than 0."""
    if status != 0:
        raise failure(status)


class Handle:
    """Owns one of the library's objects, which goes when this goes."""

    __slots__ = ("_pointer", "__weakref__")
    _pointer: int

    #: Frees the object. On the class, so that it is still there when the interpreter clears modules at its end.
    _destroy: Any = None

    def __del__(self) -> None:
        # A constructor that raised leaves no pointer.
        pointer = getattr(self, "_pointer", None)
        if pointer:
            self._pointer = 0
            type(self)._destroy(pointer)

    def _begin(self) -> None:
        """What a constructor does first: others may be using the object already, whose pointer must not change."""
        if getattr(self, "_pointer", 0):
            raise BadStateError(f"this {type(self).__name__} is made already: __init__() must not be called again")

    def __copy__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be copied so")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled; it belongs to this process")


INT64S = POINTER(c_int64)
HANDLES = POINTER(c_void_p)
INT32S = POINTER(c_int32)


def make(create: Any, *arguments: Any) -> int:
    """Calls a function that makes an object; the pointer to it."""
    made = c_void_p()
    check(create(ctypes.byref(made), *arguments))
    assert made.value is not None
    return made.value


version_number: int = quick("version_number", result=c_int32)()
if version_number // 10000 != 1:
    raise ImportError(f"the package attnzoo is for version 1 of the library, and {slow_library._name} is "
                      f"{version_number}")


def library_version() -> str:
    """The version of the shared library that runs, such as "1.0.0"."""
    text: bytes = quick("version_string", result=c_char_p)()
    return text.decode()


def build_information() -> str:
    """How the library was built and what it runs on, in one line: the CPU path, the BLAS and its threads, the compiler.

    For people and bug reports; its form is not fixed.
    """
    text: bytes = slow("build_information", result=c_char_p)()
    return text.decode()
