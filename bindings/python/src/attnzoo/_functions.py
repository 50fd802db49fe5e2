"""Functions: attention without a module, merging of parts, tables of positions."""
from __future__ import annotations

import functools
from ctypes import c_int32, c_int64, c_void_p
from typing import Any, Literal, Optional, Tuple, Union, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _library
from ._checks import flag, real_number, whole_number
from ._errors import InvalidArgumentError, UnknownNameError
from ._executor import Executor
from ._keywords import tells_keywords
from ._library import check
from ._mask import Mask
from ._mechanisms import ScaledDotProduct
from ._views import ArrayLike, View, float_operand, output_operand, output_type

__all__ = ["merge", "relative_positions", "scaled_dot_product", "sinusoidal_positions"]

_merge = _library.slow("merge_contexts", *[c_void_p] * 6)
_fill_positions = _library.slow("fill_sinusoidal_positions", c_void_p, c_int64, c_int64, c_int32)
_ARRANGEMENTS = {"interleaved": 0, "halves": 1}


def _option(value: Any, name: str) -> Optional[float]:
    """What the cache below can tell apart: to it True would be 1, and an array of no axes is no key."""
    return None if value is None else real_number(value, f"option '{name}'")


@functools.lru_cache(maxsize=64)
def _prepared(scale: Optional[float], softcap: Optional[float]) -> ScaledDotProduct:
    return ScaledDotProduct(scale=scale, softcap=softcap).prepare()


@overload
def scaled_dot_product(query: ArrayLike, key: ArrayLike, value: ArrayLike, *, causal: bool = ...,
                       scale: Optional[float] = ..., softcap: Optional[float] = ..., mask: Any = ...,
                       key_lengths: Any = ..., bias: Any = ..., return_attention: Literal[False] = ...,
                       return_log_sum_exp: Literal[False] = ..., out: Any = ..., dtype: DTypeLike = ...,
                       executor: Optional[Executor] = ...) -> NDArray[Any]: ...


@overload
def scaled_dot_product(query: ArrayLike, key: ArrayLike, value: ArrayLike, *, causal: bool = ...,
                       scale: Optional[float] = ..., softcap: Optional[float] = ..., mask: Any = ...,
                       key_lengths: Any = ..., bias: Any = ..., return_attention: bool = ...,
                       return_log_sum_exp: bool = ..., out: Any = ..., dtype: DTypeLike = ...,
                       executor: Optional[Executor] = ...) -> Any: ...


@tells_keywords
def scaled_dot_product(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    causal: bool = False,
    scale: Optional[float] = None,
    softcap: Optional[float] = None,
    mask: Union[Mask, ArrayLike, None] = None,
    key_lengths: Optional[ArrayLike] = None,
    bias: Optional[ArrayLike] = None,
    return_attention: bool = False,
    return_log_sum_exp: bool = False,
    out: Any = None,
    dtype: DTypeLike = None,
    executor: Optional[Executor] = None,
) -> Any:
    """softmax(scale query key^T + bias) value (Vaswani et al. 2017).

    B batch, H query heads, G key and value heads (H % G == 0; query head h reads head h // (H // G)), N queries, M keys.

    **What is taken for an array.** NumPy arrays of float32 and float16, of any strides, and anything with __dlpack__ on
    the CPU (tensors of PyTorch, bfloat16 included; arrays of JAX and others) or with the buffer protocol, are read where
    they lie. So are bfloat16 arrays of ml_dtypes, and a `BFloat16Array`. Other real numbers (float64, integers, lists, other
    byte orders, arrays that are not aligned) are copied to float32: all arithmetic is float32 anyway. Booleans, complex
    numbers, objects and masked arrays are refused with DtypeError.

    Args:
        query: [B, H, N, D]. Leading axes of size 1 may be left out: [H, N, D], [N, D].
        key: [B, G, M, D].
        value: [B, G, M, Dv].
        causal: query i sees key j only if j <= i + M - N; see `Mask` for other ways to count.
        scale: 1/sqrt(D) by default.
        softcap: c > 0 bounds the scores, c tanh(score / c), before bias and mask; 0 is off.
        mask: a `Mask`, or an array that broadcasts to [B, H, N, M]: TRUE MEANS ATTEND.
        key_lengths: [B] whole numbers: keys from there on are not seen, nor read.
        bias: added to the scores; broadcasts to [B, H, N, M].
        return_attention: also return the weights, [B, H, N, M]. Without it no N x M memory is used.
        return_log_sum_exp: also return log(sum(exp(scores))), [B, H, N] in float32, for `merge`.
        out: an array to write the context to; where more is returned, a tuple of as many.
        dtype: of what is returned: float32 or float16. The query's by default; float32 where NumPy does not have that.
        executor: threads; the shared one (`default_executor`) by default.

    Returns:
        The context, [B, H, N, Dv]; or a tuple (context, attention, log_sum_exp) of those asked for. A query that may see
        no key has context 0, never NaN.

    Raises:
        ShapeError, DtypeError, InvalidArgumentError, OverlapError, UnsupportedError, OutOfMemoryError: all are `Error`,
        and say what is wrong with which numbers. Nothing was written then.

    >>> import attnzoo, numpy
    >>> x = numpy.eye(3, dtype=numpy.float32)
    >>> attnzoo.scaled_dot_product(x, x, x, causal=True)[0]
    array([1., 0., 0.], dtype=float32)
    """
    module = _prepared(_option(scale, "scale"), _option(softcap, "softcap"))
    return module(query, key, value, mask=mask, causal=causal, key_lengths=key_lengths, bias=bias,
                  return_attention=return_attention, return_log_sum_exp=return_log_sum_exp, out=out, dtype=dtype,
                  executor=executor)


def merge(
    context_a: ArrayLike,
    log_sum_exp_a: ArrayLike,
    context_b: ArrayLike,
    log_sum_exp_b: ArrayLike,
    *,
    out: Optional[Tuple[Any, Any]] = None,
) -> Tuple[Any, Any]:
    """Attention over two disjoint sets of keys, from what was computed over each.

    Args:
        context_a, context_b: [..., Dv], of one shape.
        log_sum_exp_a, log_sum_exp_b: [...] in float32, what return_log_sum_exp=True gives with each.
        out: (context, log_sum_exp) to write to; None in either place has it made. May be context_a and log_sum_exp_a
            themselves, to accumulate in place.

    Returns:
        context [..., Dv] and log_sum_exp [...]. Merge again for a third part; the order makes no difference beyond
        rounding.

    >>> import attnzoo, numpy
    >>> x = numpy.eye(4, dtype=numpy.float32)
    >>> parts = [attnzoo.scaled_dot_product(x, x[s], x[s], return_log_sum_exp=True) for s in (slice(3), slice(3, 4))]
    >>> context, _ = attnzoo.merge(*parts[0], *parts[1])
    >>> bool(numpy.allclose(context, attnzoo.scaled_dot_product(x, x, x)))
    True
    """
    inputs = [float_operand(array, name) for array, name in
              ((context_a, "context_a"), (log_sum_exp_a, "log_sum_exp_a"), (context_b, "context_b"),
               (log_sum_exp_b, "log_sum_exp_b"))]
    results = list(out) if out is not None else [None, None]
    if len(results) != 2:
        raise InvalidArgumentError(f"out has {len(results)} arrays, must have 2")
    sources = (context_a, log_sum_exp_a)
    views = [View() for _ in range(6)]
    pointers = [view.show(operand) for view, operand in zip(views, inputs)]
    kept = []
    for place in range(2):
        if results[place] is None:
            like = inputs[place].array
            results[place] = np.empty(like.shape, like.dtype if like.dtype.kind != "u" and place == 0 else np.float32)
        operand = output_operand(results[place], "out")
        kept.append(operand)
        # In place is one view for both, which the library asks for.
        view = views[place] if results[place] is sources[place] else views[4 + place]
        pointers.append(view.show(operand, writable=True))
    check(_merge(*pointers))
    return results[0], results[1]


def _arrangement(arrangement: str) -> int:
    if not isinstance(arrangement, str) or arrangement not in _ARRANGEMENTS:
        raise UnknownNameError(f"there is no arrangement {arrangement!r}; there are {', '.join(_ARRANGEMENTS)}")
    return _ARRANGEMENTS[arrangement]


def sinusoidal_positions(rows: int, size: int, *, first: int = 0, step: int = 1,
                         arrangement: Literal["interleaved", "halves"] = "interleaved",
                         dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """The sinusoids of positions (Vaswani et al. 2017, section 3.5): row p is for the position first + p * step.

    Args:
        rows: P.
        size: E.
        first: the position of row 0.
        step: from one row to the next.
        arrangement: "interleaved": column 2i is sin, 2i + 1 is cos; "halves": all sines, then all cosines.
        dtype: float32 or float16.

    Returns:
        [P, E].
    """
    number = _arrangement(arrangement)
    shape = whole_number(rows, "rows", least=0), whole_number(size, "size", least=0)
    first, step = whole_number(first, "first"), whole_number(step, "step")
    try:
        table = np.empty(shape, output_type(dtype))
    except ValueError:
        raise InvalidArgumentError(f"a table of {rows} rows of {size} numbers passes what can be addressed") from None
    view = View()
    check(_fill_positions(view.show(output_operand(table, "table"), writable=True), first, step, number))
    return table


def relative_positions(queries: int, keys: int, size: int, *, causal: bool = False,
                       arrangement: Literal["interleaved", "halves"] = "interleaved",
                       dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """The table that relative_multi_head with flavor="transformer_xl" takes as position=.

    Args:
        queries: N.
        keys: M, with those that a cache holds.
        size: E.
        causal: the mask of the call is causal, so that rows for keys behind the query are not needed.
        arrangement: as `sinusoidal_positions`; the code of Dai et al. has "halves".
        dtype: float32 or float16.

    Returns:
        [P, E], P = M + N - 1, or M if causal. Row p is for the distance M - 1 - p.
    """
    queries, keys = whole_number(queries, "queries", least=0), whole_number(keys, "keys", least=0)
    rows = keys if flag(causal, "causal") else max(keys + queries - 1, 0)
    return sinusoidal_positions(rows, size, first=keys - 1, step=-1, arrangement=arrangement, dtype=dtype)
