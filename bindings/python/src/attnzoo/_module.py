"""Modules: a mechanism with its options and parameters, whichever it is. What it has is asked of the library
(_introspection.py); the classes by mechanism, in _mechanisms.py, add names and texts only."""
from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_int32, c_int64, c_void_p
from types import MappingProxyType
from typing import Any, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _library
from ._checks import flag, real_number, text, whole_number
from ._errors import BadStateError, Error, InvalidArgumentError, ShapeError, UnknownNameError, UnsupportedError
from ._executor import Executor, default_executor
from ._fork_lock import ForkLock
from ._introspection import Description, Slot, describe
from ._keywords import advice, keyword_names
from ._library import Handle, check
from ._mask import Mask, as_mask
from ._rename import Rename, renamed_parameters
from ._state import State
from ._views import (ArrayLike, Frame, Operand, View, float_operand, integer_operand, output_operand, result_type,
                     return_frame, slot_operand, take_frame)
from .safetensors import read_safetensors

__all__ = ["Module"]

_create = _library.quick("module_create", _library.HANDLES, c_char_p)
_set_option_text = _library.quick("module_set_option_text", c_void_p, c_char_p, c_char_p)
_set_option_float = _library.quick("module_set_option_float", c_void_p, c_char_p, c_double)
_set_option_int = _library.quick("module_set_option_int", c_void_p, c_char_p, c_int64)
_set_option_bool = _library.quick("module_set_option_bool", c_void_p, c_char_p, c_int32)
_set_parameter = _library.slow("module_set_parameter", c_void_p, c_char_p, c_void_p)
_prepare = _library.slow("module_prepare", c_void_p)
_output_shape = _library.quick("module_output_shape", c_void_p, _library.HANDLES, c_int32, c_void_p, c_int32,
                               _library.INT32S, _library.INT64S)
_forward_slots = _library.slow("module_forward_slots", c_void_p, c_void_p, _library.HANDLES, c_int32, c_void_p,
                               c_void_p, _library.HANDLES, c_int32)
_FLOAT32 = np.dtype(np.float32)
_INT64 = np.dtype(np.int64)

Option = Union[bool, int, float, str, None]
Outputs = Union[NDArray[Any], Tuple[NDArray[Any], ...]]
Self = TypeVar("Self", bound="Module")


class Module(Handle):
    """An attention mechanism with its options and parameters; call it with query, key and value.

    This class serves every mechanism that the library has. `MultiHead` and the others are the same with their options
    spelled out.

    Args:
        mechanism: a name that `attnzoo.mechanisms()` lists.
        parameters: arrays by name (`attnzoo.describe(mechanism).parameters`); or load them afterwards.
        options: the mechanism's own (`attnzoo.describe(mechanism).options`); None stands for the default.

    Parameters are copied. At its first call (or by prepare()) a module is checked, and never changes again; from then on
    any number of threads may call it.

    Raises:
        UnknownNameError: no such mechanism, option or parameter.
        InvalidArgumentError: an option's value.

    >>> import attnzoo
    >>> attnzoo.Module("scaled_dot_product", scale=1.0)
    Module('scaled_dot_product', scale=1.0)
    """

    __slots__ = ("_description", "_lock", "_is_prepared", "_options", "_parameter_shapes", "_inputs", "_outputs",
                 "_needs_key", "_needs_value", "_output_types")
    _destroy = staticmethod(_library.slow("module_destroy", c_void_p, result=None))

    def __init__(self, mechanism: str, /, *, parameters: Optional[Mapping[str, ArrayLike]] = None,
                 **options: Option) -> None:
        self._begin()
        self._description = describe(mechanism)
        self._lock = ForkLock()
        self._is_prepared = False
        self._options: Dict[str, Option] = {}
        self._parameter_shapes: Dict[str, Tuple[int, ...]] = {}
        self._inputs = {slot.name: slot for slot in self._description.inputs}
        self._outputs = {slot.name: slot for slot in self._description.outputs}
        self._needs_key, self._needs_value = (name in self._inputs and self._inputs[name].required
                                              for name in ("key", "value"))
        #: By place: None for those that are of the type that a call chooses.
        self._output_types: Dict[int, Optional[np.dtype[Any]]] = {
            slot.place: _INT64 if slot.type == "integer" else None if slot.name in _OF_CHOSEN_TYPE else _FLOAT32
            for slot in self._description.outputs}
        self._pointer = _library.make(_create, text(mechanism, "the name of a mechanism"))
        for name, value in options.items():
            if value is not None:
                self._set_option(name, value)
        self._set_parameters(parameters or {})

    def _set_option(self, name: str, value: Any) -> None:
        kind = next((option.type for option in self._description.options if option.name == name), "")
        encoded, told = text(name, "the name of an option"), f"option '{name}'"
        if kind not in ("float", "int", "bool"):
            # An unknown name comes here, too: the library tells those there are.
            status = _set_option_text(self._pointer, encoded, text(str(value), told))
        elif kind == "bool":
            status = _set_option_bool(self._pointer, encoded, flag(value, told))
        elif kind == "int":
            value = whole_number(value, told)
            status = _set_option_int(self._pointer, encoded, value)
        else:
            value = real_number(value, told)
            status = _set_option_float(self._pointer, encoded, value)
        check(status)
        self._options[name] = value

    @property
    def mechanism(self) -> str:
        """The name of the mechanism."""
        return self._description.name

    @property
    def description(self) -> Description:
        """What the mechanism has: `attnzoo.describe(module.mechanism)`."""
        return self._description

    @property
    def options(self) -> Mapping[str, Option]:
        """The options that were set."""
        return MappingProxyType(self._options)

    @property
    def parameter_shapes(self) -> Mapping[str, Tuple[int, ...]]:
        """The shapes of the parameters that were set, by name."""
        return MappingProxyType(self._parameter_shapes)

    def set_parameter(self, name: str, array: ArrayLike) -> None:
        """Copies one parameter into the module, in the place of what it had by that name.

        Args:
            name: such as "query_proj.weight"; linear layers are y = x W^T + b with W [out, in], as PyTorch has them.
            array: of any type that is taken as a query.

        Raises:
            UnknownNameError, DtypeError, ShapeError; BadStateError: the module is prepared already.
        """
        self._set_parameters({name: array})

    def _set_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Sets all, or none if something is wrong with one: whatever the library would refuse is looked at first."""
        shapes = {parameter.name: parameter.shape for parameter in self._description.parameters}
        operands = {}
        for name, array in parameters.items():
            encoded = text(name, "the name of a parameter")
            operand = operands[encoded] = float_operand(array, name)
            if name in shapes and not _has_axes_of(operand.array.ndim, shapes[name]):
                raise ShapeError(f"{name} has shape {list(operand.array.shape)}, must be {shapes[name]}")
        view = View()
        with self._lock:
            for encoded, operand in operands.items():
                check(_set_parameter(self._pointer, encoded, view.show(operand)))
                self._parameter_shapes[encoded.decode()] = operand.array.shape

    def load_state_dict(self: Self, state_dict: Mapping[str, ArrayLike], prefix: str = "",
                        rename: Rename = None) -> Self:
        """Copies parameters from a mapping of names to arrays or tensors, such as PyTorch's state_dict().

        The names are the library's, or those of torch.nn.MultiheadAttention, which are known without being asked for
        (in_proj_weight and in_proj_bias are split in three). Nothing is passed over in silence: a name behind the prefix
        that is no parameter is an error. After an error the module has the parameters that it had before.

        Args:
            state_dict: arrays by name.
            prefix: only names that begin so are looked at, and the prefix is taken away:
                "decoder.layers.0.self_attn.".
            rename: what other names mean. "huggingface" for attention layers of the transformers library;
                "OLD=NEW", "OLD=" to leave OLD out, "OLD.*=NEW.*", "OLD[A:B]=NEW" for rows A to B - 1 and "OLD[I/N]=NEW"
                for part I, from 1, of N equal parts; a list of such; or a mapping from OLD to NEW (None leaves out).

        Returns:
            The module itself: `layer = attnzoo.MultiHead(num_heads=8).load_state_dict(...)`.

        **State dicts do not tell the number of heads.** Set num_heads; it is 1 otherwise, with no error.

        Raises:
            UnknownNameError: a name is no parameter. UnsupportedError: bias_k or bias_v (add_bias_kv=True of PyTorch).
            InvalidArgumentError: a rule that is none, fits nothing, or gives one parameter twice.
        """
        self._set_parameters(renamed_parameters(self._description, state_dict, prefix, rename))
        return self

    def load_safetensors(self: Self, path: Any, prefix: str = "", rename: Rename = None) -> Self:
        """Copies parameters from a .safetensors file; all else as load_state_dict().

        Args:
            path: of the file. It is mapped, not read: of a large file only what is used comes into memory.
            prefix: as for load_state_dict().
            rename: as for load_state_dict().
        """
        return self.load_state_dict(read_safetensors(path), prefix, rename)

    def prepare(self: Self) -> Self:
        """Checks options and parameters together. The first call does it too; from then on the module never changes.

        Raises:
            InvalidArgumentError: a parameter is missing, options contradict each other.
            ShapeError: a parameter has the wrong shape.
        """
        with self._lock:
            if not self._is_prepared:
                try:
                    check(_prepare(self._pointer))
                except BadStateError:
                    # Done already, by a thread that a fork left no time to say so.
                    pass
                self._is_prepared = True
        return self

    def state(self, batch: int = 1, capacity: int = 0) -> State:
        """An empty state for calls of this module: a cache, or an alignment. See `State`."""
        return State(self, batch, capacity)

    @overload
    def __call__(self, query: ArrayLike, key: Optional[ArrayLike] = ..., value: Optional[ArrayLike] = ..., *,
                 mask: Any = ..., causal: bool = ..., key_lengths: Any = ..., bias: Any = ...,
                 state: Optional[State] = ..., return_attention: Literal[False] = ...,
                 return_log_sum_exp: Literal[False] = ..., outputs: Tuple[()] = ..., out: Any = ...,
                 dtype: DTypeLike = ..., executor: Optional[Executor] = ..., **inputs: ArrayLike) -> NDArray[Any]: ...

    @overload
    def __call__(self, query: ArrayLike, key: Optional[ArrayLike] = ..., value: Optional[ArrayLike] = ..., *,
                 mask: Any = ..., causal: bool = ..., key_lengths: Any = ..., bias: Any = ...,
                 state: Optional[State] = ..., return_attention: bool = ..., return_log_sum_exp: bool = ...,
                 outputs: Union[str, Sequence[str]] = ..., out: Any = ..., dtype: DTypeLike = ...,
                 executor: Optional[Executor] = ..., **inputs: ArrayLike) -> Any: ...

    def __call__(
        self,
        query: ArrayLike,
        key: Optional[ArrayLike] = None,
        value: Optional[ArrayLike] = None,
        *,
        mask: Union[Mask, ArrayLike, None] = None,
        causal: bool = False,
        key_lengths: Optional[ArrayLike] = None,
        bias: Optional[ArrayLike] = None,
        state: Optional[State] = None,
        return_attention: bool = False,
        return_log_sum_exp: bool = False,
        outputs: Union[str, Sequence[str]] = (),
        out: Any = None,
        dtype: DTypeLike = None,
        executor: Optional[Executor] = None,
        **inputs: ArrayLike,
    ) -> Any:
        """Computes attention: the values, summed by how well each key fits each query.

        Args:
            query: [B, N, Eq]; [B, H, N, D] for scaled_dot_product. Leading axes of size 1 may be left out. What kinds of
                arrays are taken is told at `attnzoo.scaled_dot_product`.
            key: [B, M, Ek]; [B, G, M, D]. The query if left out: self-attention. None where the mechanism can do
                without (`description.inputs` tells).
            value: [B, M, Ev]; [B, G, M, Dv]. The key if left out, and the query without one; likewise.
            mask: a `Mask`, or an array for its `boolean`: true means attend.
            causal: as in `Mask`, joined with `mask` as by `&`: it counts positions from the bottom right. So are key_lengths
                and bias. For causal from elsewhere give it to the `Mask` that has the alignment.
            state: carried from call to call; see `State`.
            return_attention: also return the weights, [B, H, N, M]; [B, N, M] with average_heads=True, and for additive
                mechanisms with one head. Without it no N x M memory is used.
            return_log_sum_exp: also return log(sum(exp(scores))), [B, H, N] (scaled_dot_product).
            outputs: names of outputs to return behind those, in this order: "index", ("index", "entropy");
                `description.outputs` tells those there are.
            out: an array to write the context to (NumPy, or a tensor on the CPU by DLPack); where more is returned, a
                tuple of as many, with None for those to be made. May not overlap the inputs.
            dtype: of a context and an attention that are made here: float32 or float16. By default the query's, if
                NumPy has it. Other outputs are float32, or int64 where they are integers.
            executor: threads; the shared one (`default_executor`) by default.
            inputs: what else the mechanism takes, by name: `position`, [P, E] or [B, P, E], for relative_multi_head.
                Where it takes integers, whole numbers of any type will do.

        Returns:
            The context, [B, N, Eo] or [B, H, N, Dv]; a tuple (context, attention, log_sum_exp, *outputs) of those asked
            for, if more was.

        Other Python threads run meanwhile. On an error no output was written, and the state is as it was.
        """
        query_operand = float_operand(query, "query")
        key_operand: Optional[Operand]
        if key is None:
            key_operand = query_operand if self._needs_key else None
        else:
            key_operand = query_operand if key is query else float_operand(key, "key")
        value_operand: Optional[Operand]
        if value is None:
            value_operand = (key_operand or query_operand) if self._needs_value else None
        elif value is key or value is query:
            value_operand = key_operand if value is key else query_operand
        else:
            value_operand = float_operand(value, "value")
        operands: List[Optional[Operand]] = [query_operand, key_operand, value_operand]
        if inputs:
            self._add_inputs(operands, inputs)
        # A flag that is none is refused by as_mask().
        if causal is not False or mask is not None or bias is not None or key_lengths is not None:
            mask = as_mask(mask, causal, bias, key_lengths)
        wanted = [_library.OUTPUT_CONTEXT]
        if flag(return_attention, "return_attention"):
            wanted.append(_library.OUTPUT_ATTENTION)
        if flag(return_log_sum_exp, "return_log_sum_exp"):
            wanted.append(_library.OUTPUT_LOG_SUM_EXP)
        if outputs:
            self._add_outputs(wanted, outputs)
        targets = _read_targets(out, len(wanted))
        results = self._run(operands, wanted, targets, result_type(dtype, query_operand), mask, state, executor)
        return results[0] if len(wanted) == 1 else tuple(results)

    def _add_inputs(self, operands: List[Optional[Operand]], inputs: Mapping[str, ArrayLike]) -> None:
        for name, array in inputs.items():
            slot = self._inputs.get(name)
            if slot is None:
                told = advice(name, [*self._inputs, *_CALL_KEYWORDS])
                if name in _TORCH_MASKS:
                    told = f"masks of PyTorch go in as mask=attnzoo.Mask.from_torch({name}=...)"
                raise TypeError(f"{self.mechanism} has no input '{name}'; {told}")
            if array is None:
                continue
            operands.extend([None] * (slot.place + 1 - len(operands)))
            operands[slot.place] = slot_operand(array, slot)

    def _add_outputs(self, wanted: List[int], outputs: Union[str, Sequence[str]]) -> None:
        for name in (outputs,) if isinstance(outputs, str) else outputs:
            place = self._output(name).place
            if place in wanted:
                raise InvalidArgumentError(f"{name} is asked for twice" if place != _library.OUTPUT_CONTEXT else
                                           "the context comes first always, and is not to be asked for")
            wanted.append(place)

    def _output(self, name: str) -> Slot:
        if name not in self._outputs:
            raise UnsupportedError(f"{self.mechanism} has no output '{name}'; it has {', '.join(self._outputs)}")
        return self._outputs[name]

    def forward(
        self,
        inputs: Mapping[str, ArrayLike],
        outputs: Iterable[str] = ("context",),
        *,
        mask: Optional[Mask] = None,
        state: Optional[State] = None,
        out: Optional[Mapping[str, Any]] = None,
        dtype: DTypeLike = None,
        executor: Optional[Executor] = None,
    ) -> Dict[str, Any]:
        """As calling the module, with inputs and outputs by name: for code that works for any mechanism.

        Args:
            inputs: arrays by the names in `description.inputs`. None is shared or left out by itself.
            outputs: names from `description.outputs`; the context is always among them.
            out: arrays to write to, by output name.

        Returns:
            The outputs by name.
        """
        operands: List[Optional[Operand]] = [None] * (max(slot.place for slot in self._inputs.values()) + 1)
        for name, array in inputs.items():
            if name not in self._inputs:
                raise UnknownNameError(f"{self.mechanism} has no input '{name}'; it has {', '.join(self._inputs)}")
            slot = self._inputs[name]
            operands[slot.place] = slot_operand(array, slot)
        names = list(dict.fromkeys(("context", *outputs, *(out or {}))))
        wanted = [self._output(name).place for name in names]
        query = operands[0] or Operand(np.empty(0, _FLOAT32), _library.DTYPE_FLOAT32)
        results = self._run(operands, wanted, [(out or {}).get(name) for name in names], result_type(dtype, query), mask,
                            state, executor)
        return dict(zip(names, results))

    def _run(self, operands: Sequence[Optional[Operand]], wanted: Sequence[int], targets: Sequence[Any],
             dtype: np.dtype[Any], mask: Optional[Mask], state: Optional[State],
             executor: Optional[Executor]) -> List[Any]:
        if not self._is_prepared:
            self.prepare()
        if mask is not None and not isinstance(mask, Mask):
            raise TypeError(f"mask must be a Mask, not {type(mask).__name__}")
        if state is not None and not isinstance(state, State):
            raise TypeError(f"state must be a State, not {type(state).__name__}")
        if executor is None:
            executor = default_executor()
        elif not isinstance(executor, Executor):
            raise TypeError(f"executor must be an Executor, not {type(executor).__name__}")
        frame = take_frame()
        try:
            _show_inputs(frame, operands)
            if state is None:
                return self._compute(frame, operands, wanted, targets, dtype, mask, None, executor)
            with state.lock:
                state.check_whole()
                return self._compute(frame, operands, wanted, targets, dtype, mask, state, executor)
        finally:
            return_frame(frame)

    def _compute(self, frame: Frame, inputs: Sequence[Optional[Operand]], wanted: Sequence[int], targets: Sequence[Any],
                 dtype: np.dtype[Any], mask: Optional[Mask], state: Optional[State], executor: Executor) -> List[Any]:
        """Makes the outputs that are not there yet, and calls the library."""
        pointer, state_pointer = self._pointer, None if state is None else state._pointer
        results = []
        # Held until the call is over: a view does not keep its array alive.
        operands = []
        output_count = wanted[-1] + 1 if len(wanted) == 1 else max(wanted) + 1
        outputs = frame.outputs
        for place in range(output_count):
            outputs[place] = None
        for place, target in zip(wanted, targets):
            own_type = self._output_types.get(place)
            if target is None:
                status = _output_shape(pointer, frame.inputs, len(inputs), state_pointer, place,
                                       ctypes.byref(frame.rank), frame.shape)
                if status != 0:
                    raise _library.failure(status)
                result = np.empty(frame.shape[:frame.rank.value], own_type or dtype)
                operand = integer_operand(result, "out") if own_type is _INT64 else float_operand(result, "out")
            else:
                result = target
                operand = output_operand(target, "out", own_type is _INT64)
            results.append(result)
            operands.append(operand)
            outputs[place] = frame.output_views[place].show(operand, writable=True)
        seen = None
        if state is not None:
            seen = state.seen
            # The library may know the inputs of either call by where they lie, should this one be interrupted.
            state.seen = (seen, inputs)
        status = _forward_slots(pointer, executor._pointer, frame.inputs, len(inputs),
                                None if mask is None else mask._pointer, state_pointer, outputs, output_count)
        if state is not None:
            # A call that fails, or has no steps, changes nothing: what the library knew before it still does.
            state.seen = inputs if status == 0 and _has_steps(inputs) else seen
        if status != 0:
            raise self._with_axes(_library.failure(status), inputs[0])
        return results

    def _with_axes(self, error: Error, query: Optional[Operand]) -> Error:
        """The error, and where a mask does not fit because the query has no axis for the batch, that too."""
        axes = self._description.inputs[0].shape.strip("[]").split(", ")
        if (not isinstance(error, ShapeError) or not error.message.startswith("the mask's ") or query is None or
                query.array.ndim >= len(axes)):
            return error
        has = query.array.ndim
        return ShapeError(f"{error.message}; the query's {has} axes are [{', '.join(axes[-has:])}], with "
                          f"[{', '.join(axes[:-has])}] = {[1] * (len(axes) - has)}")

    def __repr__(self) -> str:
        options = [f"{name}={value!r}" for name, value in self._options.items()]
        if type(self) is Module:
            options.insert(0, repr(self.mechanism))
        return f"{type(self).__name__}({', '.join(options)})"


def _has_axes_of(axes: int, shape: str) -> bool:
    """Whether so many axes are those of a shape's text; "[..., P, R]" has two or more."""
    named = shape.count(",") + 1
    return axes >= named - 1 if shape.startswith("[...") else axes == named


#: What a call takes beside the inputs of its mechanism.
_CALL_KEYWORDS = [name for name in keyword_names(Module.__call__) if name not in ("query", "key", "value")]
#: Outputs whose elements are of the type that a call chooses.
_OF_CHOSEN_TYPE = ("context", "attention")
_TORCH_MASKS = keyword_names(Mask.from_torch)[:2]


def _read_targets(out: Any, count: int) -> Sequence[Any]:
    if out is None:
        return (None,) * count
    targets = out if isinstance(out, (tuple, list)) else (out,)
    if len(targets) != count:
        raise InvalidArgumentError(f"out has {len(targets)} arrays, must have as many as are returned, {count}")
    return targets


def _has_steps(operands: Sequence[Optional[Operand]]) -> bool:
    query = operands[0]
    return query is not None and 0 not in query.array.shape[:-1]


def _show_inputs(frame: Frame, operands: Sequence[Optional[Operand]]) -> None:
    inputs, views = frame.inputs, frame.input_views
    previous: Optional[Operand] = None
    pointer: Optional[int] = None
    for place, operand in enumerate(operands):
        # One view for one array: the library then projects it once.
        if operand is None:
            inputs[place] = None
        elif operand is previous:
            inputs[place] = pointer
        else:
            previous, pointer = operand, views[place].show(operand)
            inputs[place] = pointer
