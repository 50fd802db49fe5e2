"""Executors: threads and scratch memory, and the one that calls share which name none."""
from __future__ import annotations

import os
import threading
from ctypes import c_int32, c_void_p
from typing import Optional

from . import _library
from ._checks import whole_number
from ._library import Handle

__all__ = ["Executor", "default_executor", "set_default_executor"]

_create = _library.slow("executor_create", _library.HANDLES, c_int32)
_thread_count = _library.quick("executor_thread_count", c_void_p)


class Executor(Handle):
    """Threads and scratch memory for calls.

    Calls that name no executor share one (`default_executor`). Make your own to choose the number of threads, or so that
    calls from several Python threads run at the same time: calls on one executor take turns. Results are the same to
    the bit, whatever the number of threads. After os.fork() the child may go on using it.

    Args:
        threads: how many threads work on a call, the calling one included; 0 for as many as the process may use (CPU
            affinity and a container's quota are heeded). At most 256.
    """

    __slots__ = ()
    _destroy = staticmethod(_library.slow("executor_destroy", c_void_p, result=None))

    def __init__(self, threads: int = 0) -> None:
        self._begin()
        self._pointer = _library.make(_create, whole_number(threads, "threads", bits=32))

    @property
    def threads(self) -> int:
        """How many threads work on a call, the calling one included."""
        count: int = _thread_count(self._pointer)
        return count

    def __repr__(self) -> str:
        return f"Executor(threads={self.threads})"


_default: Optional[Executor] = None
_lock = threading.Lock()


def default_executor() -> Executor:
    """The executor of calls that name none. It is made at its first use, with as many threads as the process may use."""
    global _default
    executor = _default
    if executor is None:
        with _lock:
            executor = _default
            if executor is None:
                executor = _default = Executor()
    return executor


def set_default_executor(executor: Optional[Executor]) -> None:
    """Says which executor calls use that name none; None goes back to one made at the next use."""
    global _default
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be an Executor or None, not {type(executor).__name__}")
    _default = executor


def _forget_lock() -> None:
    # In a forked child the thread that held it, if any, is gone.
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)
