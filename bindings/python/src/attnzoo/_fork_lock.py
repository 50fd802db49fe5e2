"""Locks that a forked child can use although the thread that held them in its parent is gone."""
from __future__ import annotations

import os
import threading
from typing import Any

#: How many forks lie between this process and the one that imported the package.
_generation = 0
_renewing = threading.Lock()


def _begin_generation() -> None:
    global _generation, _renewing
    _generation += 1
    _renewing = threading.Lock()


os.register_at_fork(after_in_child=_begin_generation)


class ForkLock:
    """A lock for `with`, free in a child whatever its parent's threads did.

    Attributes:
        was_lost: in the parent a thread held the lock during the fork, so what it guards may be half done here.
    """

    __slots__ = ("_lock", "_generation", "was_lost")

    was_lost: bool

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = _generation
        self.was_lost = False

    def __enter__(self) -> None:
        if self._generation != _generation:
            self._renew()
        self._lock.acquire()

    def __exit__(self, *exception: Any) -> None:
        self._lock.release()

    def _renew(self) -> None:
        with _renewing:
            if self._generation != _generation:
                self.was_lost = self.was_lost or self._lock.locked()
                self._lock = threading.Lock()
                self._generation = _generation
