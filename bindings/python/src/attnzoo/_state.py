"""States: what a mechanism carries from one call to the next."""
from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _library
from ._checks import whole_number
from ._errors import BadStateError, UnknownNameError
from ._fork_lock import ForkLock
from ._library import Handle, check
from ._views import ArrayLike, View, float_operand, output_operand, output_type, return_frame, take_frame

if TYPE_CHECKING:
    from ._module import Module

__all__ = ["State"]

_create = _library.slow("state_create", _library.HANDLES, c_void_p, c_int64, c_int64)
_reset = _library.slow("state_reset", c_void_p)
_truncate = _library.slow("state_truncate", c_void_p, c_int64)
_copy = _library.slow("state_copy", c_void_p, c_void_p)
_length = _library.quick("state_length", c_void_p, result=c_int64)
_capacity = _library.quick("state_capacity", c_void_p, result=c_int64)
_batch = _library.quick("state_batch", c_void_p, result=c_int64)
_field_shape = _library.quick("state_field_shape", c_void_p, c_int32, _library.INT32S, _library.INT64S)
_get_field = _library.slow("state_get_field", c_void_p, c_int32, c_void_p)
_set_fields = _library.slow("state_set_fields", c_void_p, _library.HANDLES, c_int32)


class State(Handle):
    """What a module carries from one call to the next: a cache of keys and values, or where a decoder looked last.

    A cache (`MultiHead`, `RelativeMultiHead`) grows by the M keys of each call, and the call attends over all of them: a
    prompt in one call and then one token a call come to what one causal call would. An alignment (`LocationAware`)
    belongs to one utterance: until the next reset() every call must bring the same keys and values, unchanged.

    Args:
        module: the module that the state is for; it serves no other.
        batch: B of the calls.
        capacity: the most keys that the state can hold. A call that needs more raises an error and changes nothing.

    Calls with one state take turns. In a child of os.fork() a state that a thread of the parent was just using must be
    reset() or set() first. `layer.state(capacity=512)` says the same as `State(layer, 1, 512)`.
    """

    __slots__ = ("module", "lock", "seen")
    _destroy = staticmethod(_library.slow("state_destroy", c_void_p, result=None))

    #: The module that the state is for.
    module: "Module"

    def __init__(self, module: "Module", batch: int = 1, capacity: int = 0) -> None:
        self._begin()
        self.module = module
        module.prepare()
        #: Held by whoever uses the state. For the package's own use, as is `seen`.
        self.lock = ForkLock()
        #: The inputs of the last call that had steps. An alignment knows keys by the place of their memory, so no other
        #: array may come to lie there.
        self.seen: Any = None
        self._pointer = _library.make(_create, module._pointer, whole_number(batch, "batch"),
                                      whole_number(capacity, "capacity"))

    @property
    def length(self) -> int:
        """How many keys the state holds: T of a cache, M of an alignment, 0 when empty."""
        length: int = _length(self._pointer)
        return length

    def __len__(self) -> int:
        return self.length

    def __bool__(self) -> bool:
        # An empty state is a state, and must not be taken for none.
        return True

    @property
    def capacity(self) -> int:
        """The most keys that the state can hold."""
        capacity: int = _capacity(self._pointer)
        return capacity

    @property
    def batch(self) -> int:
        """B of the calls that the state serves."""
        batch: int = _batch(self._pointer)
        return batch

    @property
    def field_names(self) -> Tuple[str, ...]:
        """What the state holds: ("key", "value") of a cache, ("alignment", "cumulative") of an alignment."""
        return tuple(field.name for field in self.module.description.state)

    def fields(self, dtype: DTypeLike = np.float32) -> Dict[str, NDArray[Any]]:
        """Copies of all that the state holds, by name.

        `key` [B, G, T, D] and `value` [B, G, T, Dv] of a cache; `alignment` and `cumulative` [B, H, M] of an alignment.

        Args:
            dtype: float32 or float16. What float32 holds makes a state continue to the bit.
        """
        kind = output_type(dtype)
        with self.lock:
            self.check_whole()
            return {field.name: self._get(field.place, kind) for field in self.module.description.state}

    def _get(self, number: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        rank, shape = c_int32(), (c_int64 * _library.RANK_MAX)()
        check(_field_shape(self._pointer, number, ctypes.byref(rank), shape))
        operand = output_operand(np.empty(shape[:rank.value], dtype), "field")
        view = View()
        check(_get_field(self._pointer, number, view.show(operand, writable=True)))
        return operand.array

    def set(self, fields: Optional[Mapping[str, ArrayLike]] = None, **more: ArrayLike) -> None:
        """Replaces all that the state holds.

        What fields() gave makes the state continue from there. Only `cumulative` may be left out, and only with
        feedback="previous": it then starts as the alignment.

        Args:
            fields: arrays by name; those of field_names, of one length up to the capacity.
            more: the same as keywords: `state.set(key=key, value=value)`.
        """
        arrays = {**(fields or {}), **more}
        numbers = {field.name: field.place for field in self.module.description.state}
        for name in arrays:
            if name not in numbers:
                raise UnknownNameError(f"a state of {self.module.mechanism} holds no '{name}'; it holds "
                                       f"{', '.join(numbers)}")
        operands = {numbers[name]: float_operand(array, name) for name, array in arrays.items()}
        count = max(numbers.values()) + 1
        frame = take_frame()
        try:
            for number in range(count):
                frame.inputs[number] = (frame.input_views[number].show(operands[number]) if number in operands
                                        else None)
            with self.lock:
                check(_set_fields(self._pointer, frame.inputs, count))
                self.seen = None
                self.lock.was_lost = False
        finally:
            return_frame(frame)

    def reset(self) -> None:
        """Empties the state, as though it were new. To be called before each new sequence or utterance."""
        with self.lock:
            check(_reset(self._pointer))
            self.seen = None
            self.lock.was_lost = False

    def truncate(self, length: int) -> None:
        """Forgets all keys of a cache from number `length` on, for instance after a rejected draft of tokens.

        Raises:
            UnsupportedError: the state is no cache.
        """
        number = whole_number(length, "length")
        with self.lock:
            self.check_whole()
            check(_truncate(self._pointer, number))

    def copy(self, capacity: Optional[int] = None) -> "State":
        """A state of its own that holds the same and goes on by itself.

        Args:
            capacity: of the copy; the same as this one's by default. More gives room to a cache that is full.
        """
        with self.lock:
            self.check_whole()
            made = State(self.module, self.batch, self.capacity if capacity is None else capacity)
            check(_copy(made._pointer, self._pointer))
            made.seen = self.seen
            return made

    def check_whole(self) -> None:
        """For the package's own use, with the lock held: what a fork left half done must not be gone on with."""
        if self.lock.was_lost:
            raise BadStateError("another thread was using the state when this process was forked off, and what it holds here "
                                "may be half of a call: reset() or set() it")

    def __copy__(self) -> "State":
        return self.copy()

    def __repr__(self) -> str:
        return f"State({self.module.mechanism}, batch={self.batch}, length={self.length}, capacity={self.capacity})"
